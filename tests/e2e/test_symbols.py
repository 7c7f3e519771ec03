"""Names that come after the samples: of a stripped program, by an operator's upload."""
import os
import shutil
import subprocess
import unittest

from fleet import BURN, Fleet, main, wait_for


def names(top):
    return {row["key"][0] for row in top["rows"]}


class LateSymbols(unittest.TestCase):
    def test_an_upload_names_old_samples_of_a_stripped_program(self):
        with Fleet(["h1"]) as fleet:
            stripped = os.path.join(fleet.directory, "stripped")
            shutil.copy(BURN, stripped)
            subprocess.run(["strip", "--strip-all", stripped], check=True)
            fleet.start_coordinator()
            fleet.start_agents()
            burn = fleet.start("stripped", fleet.on_host("h1", [stripped, "30", "alpha=80"]))
            wait_for("the program to begin", burn.log)
            session = fleet.start_session("host=h1", "--for", "4s")
            fleet.wait_session(session)

            def top():
                return fleet.query("top", "--session", session, "--select", "comm=stripped",
                                   "--limit", "0")

            before = top()
            self.assertNotIn("alpha", names(before))
            bare = [n for n in names(before) if n.startswith("stripped+0x")]
            self.assertTrue(bare, "addresses without a name do not vanish")
            self.assertLess(before["names"]["share"], 1)

            # The agent has sent what there was: at most the dynamic symbols.
            said = fleet.cli("symbols", "upload", BURN).stdout
            after = top()
            self.assertIn("alpha", names(after))
            self.assertGreater(after["names"]["share"], before["names"]["share"])
            self.assertEqual(after["samples"], before["samples"])
            total = sum(row["self"]["samples"] for row in after["rows"])
            self.assertEqual(total, after["samples"])
            print(f"{100 * before['names']['share']:.1f} % of frames named, then "
                  f"{100 * after['names']['share']:.1f} %")

            listed = fleet.query("symbols", "list")["tables"]
            ours = [t for t in listed if t["origin"] == "operator"]
            self.assertEqual([os.path.basename(t["path"]) for t in ours], ["stripped"])
            self.assertIn(ours[0]["build_id"], said)
            refused = fleet.cli("symbols", "upload", BURN, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("as good or better", refused.stderr)
            fleet.cli("symbols", "upload", BURN, "--force")


if __name__ == "__main__":
    main()
