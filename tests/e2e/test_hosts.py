"""Several hosts, several sessions: each gets what it asked for and nothing else."""
import datetime
import unittest

from fleet import Fleet, burned_by_now, cores_between, main, wait_for


def running(fleet, host):
    agent = next(a for a in fleet.query("agents")["agents"] if a["host"] == host)
    return agent["running"]


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
        readings = [burned_by_now(burn)]
        session = self.fleet.start_session("host=h1", "--hz", "99", "--for", "10m")
        wait_for("a chunk at 99 Hz", lambda: self.session_chunks(session) >= 1, 40)
        readings.append(burned_by_now(burn))
        before = datetime.datetime.now(datetime.timezone.utc)
        self.fleet.cli("rate", session, "--hz", "199")
        wait_for("199 Hz on the host",
                 lambda: any(r["hz"] == 199 for r in running(self.fleet, "h1")))
        after = datetime.datetime.now(datetime.timezone.utc)
        chunks = self.session_chunks(session)
        wait_for("chunks at 199 Hz", lambda: self.session_chunks(session) >= chunks + 1, 60)
        readings.append(burned_by_now(burn))
        self.fleet.cli("stop", session)
        ended = self.fleet.wait_session(session, "stopped")

        whole = self.top(session)
        self.assertAlmostEqual(whole["coverage"]["hz_min"], 99, delta=1)
        self.assertAlmostEqual(whole["coverage"]["hz_max"], 199, delta=1)
        self.assertAlmostEqual(whole["cores"], cores_between(readings[0], readings[2]), delta=0.07)
        ledger = self.fleet.query("ledger", "--session", session)
        self.assertEqual([line["missing_chunks"] for line in ledger["lines"]], [0])

        slow = self.top(None, ended["created"], stamp(before))
        fast = self.top(None, stamp(after), ended["ends"])
        print(f"99 Hz: {slow['cores']:.3f} cores, 199 Hz: {fast['cores']:.3f}")
        self.assertEqual((round(slow["coverage"]["hz_min"]), round(slow["coverage"]["hz_max"])),
                         (99, 99))
        self.assertEqual((round(fast["coverage"]["hz_min"]), round(fast["coverage"]["hz_max"])),
                         (199, 199))
        self.assertAlmostEqual(slow["cores"], cores_between(*readings[:2]), delta=0.1)
        self.assertAlmostEqual(fast["cores"], cores_between(*readings[1:]), delta=0.1)

    def session_chunks(self, session):
        return self.fleet.session(session)["chunks"]

    def top(self, session, begin=None, end=None):
        window = ["--session", session] if session else ["--from", begin, "--to", end]
        return self.fleet.query("top", *window, "--select", "comm=burn")

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
