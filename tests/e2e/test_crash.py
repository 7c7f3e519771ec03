"""Nothing acknowledged is lost, nothing counts twice, everyone comes back: chunks and samples are
counted on both sides of each crash."""
import os
import re
import time
import unittest

from fleet import Fleet, main, wait_for


def agent_count(process):
    """What the agent says it has put into its spool: {profiler: (chunks, samples)}."""
    found = re.findall(r"event=chunk_spooled profiler=(\w+) sequence=(\d+) samples=(\d+)",
                       process.log())
    count = {}
    for profiler, _, samples in found:
        chunks, total = count.get(profiler, (0, 0))
        count[profiler] = (chunks + 1, total + int(samples))
    return count


def chunk_count(process):
    """Chunks that the agent has said to be in its spool, whole: a file there may still be in the making."""
    return sum(chunks for chunks, _ in agent_count(process).values())


class Crash(unittest.TestCase):
    def setUp(self):
        self.fleet = self.enterContext(Fleet(["h1", "h2"]))
        self.fleet.start_coordinator()
        for host in self.fleet.hosts:
            self.fleet.start_agent(host, options=["--log-level", "debug"])
        wait_for("every agent to be connected", self.fleet.all_connected)
        for host in self.fleet.hosts:
            self.fleet.burn(host, 150, "alpha=30", "beta=10")

    def stored(self):
        """What the store holds: {profiler: (chunks, samples)}, from the ledger."""
        lines = self.fleet.query("ledger", "--from", "-1h")["lines"]
        return {line["profiler"]: (line["chunks"], line["delivered"]) for line in lines}

    def assert_both_sides_agree(self, *agents):
        spooled = {}
        for agent in agents:
            for profiler, (chunks, samples) in agent_count(agent).items():
                before = spooled.get(profiler, (0, 0))
                spooled[profiler] = (before[0] + chunks, before[1] + samples)
        self.assertTrue(spooled)
        wait_for("every spooled chunk to be stored", lambda: self.stored() == spooled, 30)
        print("chunks and samples on both sides:", sorted(spooled.values()))
        top = self.fleet.query("top", "--from", "-1h", "--by", "host")
        self.assertEqual(top["samples"], sum(samples for _, samples in spooled.values()))

    def wait_chunks(self, session, count, seconds=60):
        wait_for(f"{count} chunks", lambda: self.fleet.session(session)["chunks"] >= count, seconds)

    def test_coordinator_killed_in_the_middle_of_a_session(self):
        session = self.fleet.start_session("*", "--for", "45s")
        self.wait_chunks(session, 2)
        self.fleet.coordinator.kill()
        self.fleet.start_coordinator()
        wait_for("the agents to be back", self.fleet.all_connected)
        self.assertEqual(self.fleet.session(session)["state"], "running")
        done = self.fleet.wait_session(session)
        self.assertEqual({h["state"] for h in done["hosts"]}, {"ended"})
        self.assert_both_sides_agree(*self.fleet.agents.values())
        self.assertEqual(self.fleet.query("ledger", "--session", session)["total"]
                         ["missing_chunks"], 0)

    def test_agent_killed_its_spool_is_sent_and_the_gap_is_in_the_ledger(self):
        session = self.fleet.start_session("host=h1", "--for", "60s")
        self.wait_chunks(session, 1)
        # The coordinator goes first, so that the next chunk stays in the agent's spool.
        first_agent = self.fleet.agents["h1"]
        self.fleet.coordinator.kill()
        spooled = chunk_count(first_agent)
        wait_for("one more chunk in the spool", lambda: chunk_count(first_agent) > spooled, 30)
        first_agent.kill()
        killed_at = time.monotonic()
        self.fleet.start_coordinator()
        # The outage is what the ledger must tell: long enough to be told from a window's edge.
        wait_for("an outage of 3 s", lambda: time.monotonic() >= killed_at + 3)
        self.assertFalse(self.connected("h1"))
        gap_at_least = time.monotonic() - killed_at
        second_agent = self.fleet.start_agent("h1", options=["--log-level", "debug"])
        self.fleet.wait_host_state(session, "h1", "first_sample")
        gap_at_most = time.monotonic() - killed_at + 12  # and the chunk that died with the agent
        self.fleet.wait_session(session)
        self.assert_both_sides_agree(first_agent, second_agent)

        ledger = self.fleet.query("ledger", "--session", session)
        print("the gap:", ledger["total"]["uncovered_s"], "s,", ledger["total"]["uncovered_samples"],
              "samples, between", round(gap_at_least, 1), "and", round(gap_at_most, 1), "s")
        self.assertEqual(len({line["profiler"] for line in ledger["lines"]}), 2)
        self.assertGreater(ledger["total"]["uncovered_s"], gap_at_least)
        self.assertLess(ledger["total"]["uncovered_s"], gap_at_most)
        self.assertGreater(ledger["total"]["uncovered_samples"], 0)

    def connected(self, host):
        return any(a["host"] == host and a["connected"]
                   for a in self.fleet.query("agents")["agents"])

    def test_coordinator_away_for_a_minute(self):
        session = self.fleet.start_session("*", "--for", "90s")
        self.wait_chunks(session, 2)
        self.fleet.coordinator.kill()
        spools = [os.path.join(self.fleet.directory, f"spool-{h}") for h in self.fleet.hosts]
        # A minute is six windows: each agent has as many chunks to keep.
        enough = {agent: chunk_count(agent) + 6 for agent in self.fleet.agents.values()}
        wait_for("a minute's chunks in every spool",
                 lambda: all(chunk_count(agent) >= n for agent, n in enough.items()), 90)
        self.fleet.start_coordinator()
        wait_for("the agents to be back", self.fleet.all_connected)
        self.fleet.wait_session(session)
        self.assert_both_sides_agree(*self.fleet.agents.values())
        wait_for("the spools to empty", lambda: not any(os.listdir(s) for s in spools))
        total = self.fleet.query("ledger", "--session", session)["total"]
        self.assertEqual(total["missing_chunks"], 0)
        self.assertLess(total["uncovered_s"], 2 * len(spools))


if __name__ == "__main__":
    main()
