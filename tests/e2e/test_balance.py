"""What a spool that is too small gives up stands in the ledger, to the sample: the agent says what it put
into its spool, the ledger what came of it."""
import os
import unittest

from fleet import Fleet, main, wait_for
from test_crash import agent_count

SPOOL_AGE_S = 4  # shorter than a window: while the coordinator is away, each chunk but the last goes
GIVEN_UP = 2  # chunks


def is_bare(name):
    """Of a file in the spool: whether only the ledger of its chunk is left (agent/spool_file.h)."""
    return name.startswith("chunk-") and int(name.split("-")[3], 16) == 0


def balance(line):
    return line["delivered"] + line["idle"] + line["skipped"] + sum(line["lost"].values())


class TooSmall(unittest.TestCase):
    def setUp(self):
        self.fleet = self.enterContext(Fleet(["h1"]))
        self.fleet.start_coordinator()
        settings = os.path.join(self.fleet.directory, "agent.yaml")
        with open(settings, "w") as f:
            f.write(f"spool_age: {SPOOL_AGE_S}s\n")
        self.agent = self.fleet.start_agent("h1", options=["--config", settings, "--log-level", "debug"])
        wait_for("the agent to be connected", self.fleet.all_connected)

    def given_up(self):
        return sum(map(is_bare, os.listdir(os.path.join(self.fleet.directory, "spool-h1"))))

    def spooled(self):
        return sum(samples for _, samples in agent_count(self.agent).values())

    def test_what_the_spool_gave_up_is_in_the_ledger_to_the_sample(self):
        self.fleet.burn("h1", 90, "alpha=40")
        session = self.fleet.start_session("host=h1", "--for", "40s")
        wait_for("a chunk to be stored", lambda: self.fleet.session(session)["chunks"] >= 1)
        self.fleet.coordinator.kill()
        wait_for(f"{GIVEN_UP} chunks to be given up", lambda: self.given_up() >= GIVEN_UP, 60)
        self.fleet.start_coordinator()
        self.fleet.wait_session(session)

        ledger = self.fleet.query("ledger", "--session", session)
        total = ledger["total"]
        print("spooled", self.spooled(), "delivered", total["delivered"], "lost", total["lost"])
        self.assertGreater(total["lost"]["spool_dropped"], 0)
        self.assertEqual(total["delivered"] + total["lost"]["spool_dropped"], self.spooled())
        self.assertEqual(total["missing_chunks"], 0)
        self.assertLess(total["uncovered_s"], 2)
        for line in ledger["lines"] + [total]:
            self.assertEqual(balance(line), line["expected"])
        # Whole chunks, as the ledger counts; of a session's first and last chunk `top` takes a part.
        samples = self.fleet.query("top", "--from", "-1h", "--by", "host")["samples"]
        self.assertEqual(samples, total["delivered"])


if __name__ == "__main__":
    main()
