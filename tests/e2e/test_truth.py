"""A workload whose profile is known is reported as it is."""
import unittest

from fleet import Fleet, burned_by_now, cores_between, main

POINTS = 3  # percentage points that a share may be off at 99 Hz over 20 s


def rows(top, name_at=0):
    return {row["key"][name_at]: row for row in top["rows"]}


class KnownTruth(unittest.TestCase):
    def test_three_functions_are_ranked_by_what_they_burn(self):
        with Fleet(["h1"]) as fleet:
            fleet.start_coordinator()
            fleet.start_agents()
            burn = fleet.burn("h1", 60, "alpha=54", "beta=27", "delta=9")
            begin = burned_by_now(burn)
            session = fleet.start_session("host=h1", "--hz", "99", "--for", "20s")
            fleet.wait_session(session)
            end = burned_by_now(burn)
            top = fleet.query("top", "--session", session, "--select", "comm=burn", "--limit", "0")

            ours = [r["key"][0] for r in top["rows"] if r["key"][0] in ("alpha", "beta", "delta")]
            self.assertEqual(ours, ["alpha", "beta", "delta"])
            for name in ours:
                # Its clock also ran while interrupts did their work on top of the function.
                share = 100 * rows(top)[name]["total"]["share"]
                expected = 100 * cores_between(begin, end, name) / cores_between(begin, end)
                print(f"{name}: {share:.1f} % measured, {expected:.1f} % by its own clock")
                self.assertLess(abs(share - expected), POINTS)
            cores = cores_between(begin, end)
            print(f"cores: {top['cores']:.3f} measured, {cores:.3f} by its own clock")
            # The readings lie a little outside the session: its start and its draining.
            self.assertLess(abs(top["cores"] - cores), 0.15 * cores)

    def test_services_are_told_apart_and_recursion_counts_once(self):
        with Fleet(["h1"]) as fleet:
            fleet.start_coordinator()
            fleet.start_agents()
            burns = {"checkout": fleet.burn("h1", 60, "alpha=40", unit="checkout.service"),
                     "cart": fleet.burn("h1", 60, "alpha=20", "recurse=20:40",
                                        unit="cart.service")}
            begin = {name: burned_by_now(burn) for name, burn in burns.items()}
            session = fleet.start_session("host=h1", "--for", "20s")
            fleet.wait_session(session)
            truth = {(name, f): cores_between(begin[name], burned_by_now(burn), f)
                     for name, burn in burns.items() for f in ("alpha", "recurse", "total")}

            services = rows(fleet.query("top", "--session", session, "--by", "service"))
            for name in burns:
                self.assertAlmostEqual(services[name]["self"]["cores"], truth[name, "total"],
                                       delta=0.06)

            both = fleet.query("top", "--session", session, "--by", "service,function",
                               "--limit", "0")
            cell = {tuple(r["key"]): r for r in both["rows"]}
            for name in burns:
                self.assertAlmostEqual(cell[name, "alpha"]["total"]["cores"], truth[name, "alpha"],
                                       delta=0.06)

            recurse = cell["cart", "recurse"]
            self.assertGreater(recurse["total"]["samples"], 100)
            self.assertLessEqual(recurse["total"]["samples"], services["cart"]["self"]["samples"])
            self.assertAlmostEqual(recurse["total"]["cores"], recurse["self"]["cores"], delta=0.02)


if __name__ == "__main__":
    main()
