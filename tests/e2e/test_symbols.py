"""Names that come after the samples: of stripped programs, by an operator's upload."""
import os
import shutil
import subprocess
import unittest

from fleet import BUILD, BURN, Fleet, main, wait_for

INLINED = os.path.join(BUILD, "tests", "workloads", "zoo", "inlined")


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

    @unittest.skipUnless(os.path.exists(INLINED), "no C++ compiler when the zoo was built")
    def test_an_uploaded_debug_file_names_functions_inlined_in_old_samples(self):
        with Fleet(["h1"]) as fleet:
            stripped = os.path.join(fleet.directory, "stripped")
            debug = os.path.join(fleet.directory, "stripped.debug")
            subprocess.run(["strip", "--strip-all", "-o", stripped, INLINED], check=True)
            subprocess.run(["objcopy", "--only-keep-debug", INLINED, debug], check=True)
            fleet.start_coordinator()
            fleet.start_agents()
            program = fleet.start("stripped", fleet.on_host("h1", [stripped, "60"]))
            wait_for("the program to begin", program.log)
            session = fleet.start_session("host=h1", "--for", "4s")
            fleet.wait_session(session)
            program.kill()

            def top():
                return fleet.query("top", "--session", session, "--select", "comm=stripped",
                                   "--limit", "0")

            def rows(answer, function):
                return [r for r in answer["rows"] if r["key"][0].startswith(function)]

            before = top()
            self.assertEqual(rows(before, "zoo::"), [])
            said = fleet.cli("symbols", "upload", debug).stdout
            self.assertIn("quality lines", said)
            after = top()
            self.assertEqual(after["samples"], before["samples"])
            self.assertTrue(rows(after, "zoo::Spinner<unsigned long>::work"))
            inlined = rows(after, "zoo::mix")
            self.assertTrue(inlined, "a function that exists inside of others alone")
            spent = sum(r["self"]["samples"] for r in inlined)
            print(f"{spent} of {after['samples']} samples are in inlined functions")
            self.assertGreater(spent, after["samples"] / 2)


if __name__ == "__main__":
    main()
