"""Several hosts, several sessions: each gets what it asked for and nothing else."""
import datetime
import unittest

from fleet import Fleet, burned_by_now, cores_between, main, wait_for


def running(fleet, host):
    agent = next(a for a in fleet.query("agents")["agents"] if a["host"] == host)
    return agent["running"]


def mark(burn):
    """A moment, and what the program had burned by then: between two marks nothing is left out."""
    reading = burned_by_now(burn)
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"), reading


class ThreeHosts(unittest.TestCase):
    def setUp(self):
        self.fleet = self.enterContext(Fleet(["h1", "h2", "h3"]))
        self.fleet.start_coordinator()
        self.fleet.start_agents(h1=["service=web"], h2=["service=web"], h3=["service=db"])

    def test_a_session_for_two_hosts_leaves_the_third_alone(self):
        for host in self.fleet.hosts:
            self.fleet.burn(host, 30, "alpha=20")
        session = self.fleet.start_session("service=web", "--for", "8s")
        for host in ("h1", "h2"):
            self.fleet.wait_host_state(session, host, "first_sample")
        self.assertEqual(running(self.fleet, "h3"), [])
        done = self.fleet.wait_session(session)

        self.assertEqual({h["host"] for h in done["hosts"]}, {"h1", "h2"})
        top = self.fleet.query("top", "--session", session, "--by", "host")
        self.assertEqual({r["key"][0] for r in top["rows"]}, {"h1", "h2"})
        self.assertEqual(top["coverage"]["hosts_covered"], 2)
        ledger = self.fleet.query("ledger", "--from", "-5m")
        self.assertEqual({line["host"] for line in ledger["lines"]}, {"h1", "h2"})

    def test_a_rate_change_shows_in_the_period_and_not_in_the_cores(self):
        burn = self.fleet.burn("h1", 120, "alpha=50", "beta=20")
        session = self.fleet.start_session("host=h1", "--hz", "99", "--for", "10m")
        self.fleet.wait_host_state(session, "h1", "first_sample")
        slow = [mark(burn)]
        wait_for("a chunk at 99 Hz", lambda: self.session_chunks(session) >= 1, 40)
        slow.append(mark(burn))
        self.fleet.cli("rate", session, "--hz", "199")
        wait_for("199 Hz on the host",
                 lambda: any(r["hz"] == 199 for r in running(self.fleet, "h1")))
        fast = [mark(burn)]
        chunks = self.session_chunks(session)
        wait_for("a chunk at 199 Hz", lambda: self.session_chunks(session) >= chunks + 2, 60)
        fast.append(mark(burn))
        self.fleet.cli("stop", session)
        self.fleet.wait_session(session, "stopped")

        ledger = self.fleet.query("ledger", "--session", session)
        self.assertEqual([line["missing_chunks"] for line in ledger["lines"]], [0])
        for hz, ((begin, before), (end, after)) in ((99, slow), (199, fast)):
            top = self.fleet.query("top", "--from", begin, "--to", end, "--select", "comm=burn")
            truth = cores_between(before, after)
            print(f"{hz} Hz: {top['cores']:.3f} cores measured, {truth:.3f} by its own clock")
            self.assertEqual((round(top["coverage"]["hz_min"]), round(top["coverage"]["hz_max"])),
                             (hz, hz))
            self.assertAlmostEqual(top["cores"], truth, delta=0.1)

    def session_chunks(self, session):
        return self.fleet.session(session)["chunks"]

    def test_stopping_one_of_two_sessions_leaves_the_other_running(self):
        self.fleet.burn("h1", 60, "alpha=30")
        wide = self.fleet.start_session("*", "--hz", "49", "--for", "10m")
        narrow = self.fleet.start_session("host=h1", "--hz", "199", "--for", "10m")
        self.fleet.wait_host_state(wide, "h1", "first_sample")
        wait_for("the higher rate on h1", lambda: any(r["hz"] == 199
                                                      for r in running(self.fleet, "h1")))
        profiler = running(self.fleet, "h1")[0]["profiler"]

        self.fleet.cli("stop", narrow)
        wait_for("the lower rate on h1", lambda: any(r["hz"] == 49
                                                     for r in running(self.fleet, "h1")))
        self.assertEqual(running(self.fleet, "h1")[0]["profiler"], profiler)
        self.fleet.wait_session(narrow, "stopped")
        self.assertEqual(self.fleet.session(wide)["state"], "running")

        before = self.fleet.session(wide)["samples"]
        wait_for("more samples of the other session",
                 lambda: self.fleet.session(wide)["samples"] > before, 40)
        self.fleet.cli("stop", wide)
        self.fleet.wait_session(wide, "stopped")
        wait_for("nothing to run", lambda: running(self.fleet, "h1") == [])


if __name__ == "__main__":
    main()
