"""A program whose waits are known is reported as waiting where, how and how long it does."""
import os
import unittest

from fleet import BUILD, Fleet, main, wait_for

WAITER = os.path.join(BUILD, "tests", "workloads", "waiter")
SECONDS = 12
HZ = 99
BLOCKED, TO_RUN = "[blocked]", "[waiting to run]"


class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One session of each event around the whole life of the program."""
        cls.fleet = cls.enterClassContext(Fleet(["h1"]))
        cls.fleet.start_coordinator()
        cls.fleet.start_agents()
        cls.session = cls.fleet.start_session("host=h1", "--event", "offcpu", "--hz", str(HZ),
                                              "--for", "60s")
        cls.on_cpu = cls.fleet.start_session("host=h1", "--hz", str(HZ), "--for", "60s")
        for session in (cls.session, cls.on_cpu):
            wait_for("the agent to sample", lambda s=session: cls.fleet.session(s)["states"].get(
                "attached", 0) + cls.fleet.session(s)["states"].get("first_sample", 0) == 1)
        waiter = cls.fleet.start("waiter", cls.fleet.on_host("h1", [WAITER, str(SECONDS)]))
        waiter.popen.wait(SECONDS + 30)
        cls.truth = {}
        for line in waiter.log().splitlines():
            what, seconds = line.split()
            cls.truth[what] = cls.truth.get(what, 0) + float(seconds)
        for session in (cls.session, cls.on_cpu):
            cls.fleet.cli("stop", session)
            cls.fleet.wait_session(session, "stopped")

    def top(self, *options, session=None):
        return self.fleet.query("top", "--session", session or self.session, "--select",
                                "comm=waiter", "--limit", "0", *options)

    def seconds_in(self, function, *options):
        rows = self.top(*options)["rows"]
        return sum(r["total"]["samples"] / HZ for r in rows if r["key"][0] == function)

    def test_waits_are_as_long_as_they_were(self):
        for function in ("wait_much", "wait_some", "wait_little", "wait_long", "wait_short",
                         "wait_locked_out"):
            with self.subTest(function):
                measured, truth = self.seconds_in(function), self.truth[function]
                print(f"{function}: {measured:.2f} s measured, {truth:.2f} s by its own clock")
                # Waits below the period of 10 ms are drawn by chance, each an independent draw.
                chance = 4 * (truth / HZ) ** 0.5 if not function.startswith(("wait_long", "wait_lock")) else 0.1
                self.assertLess(abs(measured - truth), 0.05 * truth + chance)

    def test_shares_are_within_three_points(self):
        names = ("wait_much", "wait_some", "wait_little")
        measured = {name: self.seconds_in(name) for name in names}
        for name in names:
            share = 100 * measured[name] / sum(measured.values())
            expected = 100 * self.truth[name] / sum(self.truth[n] for n in names)
            print(f"{name}: {share:.1f} % measured, {expected:.1f} % by its own clock")
            self.assertLess(abs(share - expected), 3)

    def test_kinds_are_told_apart(self):
        kinds = {(r["key"][0], r["key"][1]): r["self"]["samples"] / HZ
                 for r in self.top("--by", "thread,function")["rows"]}
        for hog in ("hog_a", "hog_b"):
            measured = kinds.get((hog, TO_RUN), 0)
            print(f"{hog}: {measured:.2f} s waiting to run, {self.truth[hog]:.2f} s off the CPU")
            self.assertLess(abs(measured - self.truth[hog]), 0.1 * self.truth[hog] + 0.5)
            self.assertLess(kinds.get((hog, BLOCKED), 0), 0.5)
        for thread, truth in (("long_sleeper", "wait_long"), ("locked_out", "wait_locked_out")):
            print(f"{thread}: {kinds[thread, BLOCKED]:.2f} s blocked, {self.truth[truth]:.2f} s true")
            self.assertLess(abs(kinds[thread, BLOCKED] - self.truth[truth]), 0.2)
        self.assertLess(kinds.get(("long_sleeper", TO_RUN), 0), 0.5)

    def test_each_event_has_its_own_answers(self):
        functions = {r["key"][0] for r in self.top(session=self.on_cpu)["rows"]}
        self.assertIn("burn", functions)
        self.assertNotIn(BLOCKED, functions)
        window = ("--from", "-10m", "--select", "comm=waiter", "--limit", "0")
        self.assertEqual(self.fleet.query("top", *window)["event"], "cpu")
        both = self.fleet.query("top", "--event", "offcpu", *window)
        self.assertEqual(both["event"], "offcpu")
        self.assertEqual(both["samples"], self.top()["samples"])

    def test_the_ledger_balances(self):
        total = self.fleet.query("ledger", "--session", self.session)["total"]
        print("ledger:", total)
        self.assertGreater(total["delivered"], 0)
        self.assertEqual(total["expected"], total["delivered"] + total["idle"] + total["skipped"] +
                         sum(total["lost"].values()))


if __name__ == "__main__":
    main()
