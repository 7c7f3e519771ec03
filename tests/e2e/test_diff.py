"""A change that was made is the change that is reported."""
import json
import os
import re
import unittest

from fleet import Fleet, burned_by_now, cores_between, main


class PlantedChange(unittest.TestCase):
    def test_doubled_work_comes_first_with_the_right_sign_and_size(self):
        with Fleet(["h1"]) as fleet:
            fleet.start_coordinator()
            fleet.start_agents()
            sessions, truths = [], []
            for alpha in (12, 24):
                burn = fleet.burn("h1", 60, f"alpha={alpha}", "beta=12", "delta=6")
                begin = burned_by_now(burn)
                sessions.append(fleet.start_session("host=h1", "--for", "20s"))
                fleet.wait_session(sessions[-1])
                truths.append(cores_between(begin, burned_by_now(burn), "alpha"))
                burn.stop()

            diff = fleet.query("diff", *sessions, "--limit", "0")
            first = diff["rows"][0]
            print(f"alpha: {first['cores_delta']:+.3f} cores "
                  f"[{first['cores_delta_low']:+.3f}, {first['cores_delta_high']:+.3f}], "
                  f"true {truths[1] - truths[0]:+.3f}")
            self.assertEqual(first["key"], ["alpha"])
            self.assertEqual(first["verdict"], "more")
            # Its own interval, half as wide again: the truth lies outside 95 % intervals too.
            margin = 0.75 * (first["cores_delta_high"] - first["cores_delta_low"])
            self.assertAlmostEqual(first["cores_delta"], truths[1] - truths[0], delta=margin)
            self.assertLess(margin, 0.12)

            beta = next(r for r in diff["rows"] if r["key"] == ["beta"])
            self.assertLess(abs(beta["cores_delta"]), 0.06)

            self.check_flame(fleet, sessions)
            back = fleet.query("diff", *reversed(sessions), "--limit", "1")["rows"][0]
            self.assertEqual((back["key"], back["verdict"]), (["alpha"], "less"))

    def check_flame(self, fleet, sessions):
        """The differential page holds both sides, each with its own total."""
        path = os.path.join(fleet.directory, "flame.html")
        fleet.cli("flame", *sessions, "-o", path)
        with open(path) as f:
            data = re.search(r'<script id="data" type="application/json">(.*?)</script>', f.read(),
                             re.S)
        flame = json.loads(data.group(1))
        sides = [fleet.query("top", "--session", s)["weight_ns"] for s in sessions]
        for side, total in zip(("total", "total_b"), sides):
            self.assertAlmostEqual(flame[side][0], total, delta=1e-6 * total)
        alpha = [i for i, f in enumerate(flame["function"]) if f >= 0
                 and flame["names"][f] == "alpha"]
        self.assertTrue(any(flame["self_b"][i] > flame["self"][i] > 0 for i in alpha))


if __name__ == "__main__":
    main()
