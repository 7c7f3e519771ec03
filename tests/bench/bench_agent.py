#!/usr/bin/env python3
"""bench_agent - what the agent costs its host at 99 Hz, beside `perf record -a -g`.

Keeps every CPU busy (burn at 90 %) and measures in turn, BENCH_ROUNDS times: the agent with a
coordinator, then perf. Prints each tool's own CPU seconds for 10 s of profiling, its peak memory and
the bytes that it makes of a sample; the floor is the agent without a session. What the agent takes to
start (kernel symbols, unwind tables and symbols of what already runs) is told apart from what it then
takes all the time. CPU time and medians: elapsed time says nothing on a shared machine.
"""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import fleet  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "1"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))
TICK = os.sysconf("SC_CLK_TCK")
WINDOW = 10  # seconds of a chunk
WANTED_CPU_S = 0.03  # per 10 s at 99 Hz on a busy machine, at most
WANTED_MIB = 16  # resident, beside the unwind tables, at most


def process_cost(pid):
    """CPU seconds, those of its ended children too, and resident bytes, now and at most, of a live
    process."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status") as f:
        status = f.read()
    resident, peak = (int(re.search(key + r":\s+(\d+)", status).group(1)) * 1024
                      for key in ("VmRSS", "VmHWM"))
    return sum(int(ticks) for ticks in fields[11:15]) / TICK, resident, peak


class Work:
    """burn on each CPU at 90 %."""

    def __enter__(self):
        self.children = [subprocess.Popen([fleet.BURN, "600", "alpha=50", "beta=30",
                                           "recurse=10:25"], stdout=subprocess.DEVNULL)
                         for _ in range(os.cpu_count())]
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait()


class Agent:
    """A coordinator and a whole-host agent in a directory of their own."""

    def __init__(self, directory):
        self.socket = os.path.join(directory, "api.sock")
        link = f"ipc://{directory}/agents.sock"
        self.coordinator = fleet.Process("fleetprofd", [
            fleet.COORDINATOR, "--store", f"{directory}/store", "--listen", link,
            "--http-socket", self.socket, "--http", "127.0.0.1:0"], directory)
        fleet.wait_for("the coordinator", lambda: self.cli("status").returncode == 0)
        self.agent = fleet.Process("agent", [
            fleet.AGENT, "--coordinator", link, "--spool", f"{directory}/spool"], directory)
        fleet.wait_for("the agent",
                       lambda: any(a["connected"] for a in self.query("agents")["agents"]))
        self.launch_cpu_s = self.cpu_s()

    def cli(self, *arguments):
        return subprocess.run([fleet.CLI, "--url", f"unix:{self.socket}", *arguments],
                              capture_output=True, text=True)

    def query(self, *arguments):
        return json.loads(self.cli(*arguments, "--json").stdout)

    def cpu_s(self):
        return process_cost(self.agent.popen.pid)[0]

    def maps(self):
        """Kernel memory of its BPF maps and perf buffers, in bytes: the unwind tables are there."""
        agent = self.query("agents")["agents"][0]
        return (agent.get("cost") or {}).get("kernel_map_bytes") or 0

    def measure(self):
        """Of a session, what it takes up to its second chunk, when the symbols of the first have been
        sent, and what it takes from then on, for as long as it lasts."""
        begin = self.cpu_s()
        seconds = 2 * WINDOW + SECONDS
        session = self.query("start", "*", "--hz", "99", "--for", f"{seconds:g}s")["id"]
        fleet.wait_for("the second chunk", lambda: self.chunks(session) > 1, 60)
        before, since = self.cpu_s(), time.monotonic()
        fleet.wait_for("the session to complete",
                       lambda: self.query("sessions", session)["state"] == "completed",
                       SECONDS + 30)
        took = (self.cpu_s() - before) * SECONDS / (time.monotonic() - since)
        ingest = self.query("status")["ingest"]
        resident, peak = process_cost(self.agent.popen.pid)[1:]
        return {"cpu_s": took, "start_cpu_s": before - begin,
                "resident": resident, "peak": peak,
                "samples": self.query("ledger", "--session", session)["total"]["delivered"]
                * SECONDS / seconds,
                "bytes": ingest["bytes"] / max(1, ingest["samples"])}

    def chunks(self, session):
        return sum(line["chunks"] for line in self.query("ledger", "--session", session)["lines"])

    def stop(self):
        self.agent.stop()
        self.coordinator.stop()


def measure_perf(directory):
    data = os.path.join(directory, "perf.data")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    perf = subprocess.Popen(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", "99",
                             "-o", data, "--", "sleep", f"{SECONDS:g}"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while perf.poll() is None:
        try:
            peak = max(peak, process_cost(perf.pid)[2])
        except (OSError, AttributeError):  # it ended between the two looks
            break
        time.sleep(0.2)
    perf.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True)
    counted = re.search(r"SAMPLE events:\s+(\d+)", stats.stdout)
    if counted is None:
        raise RuntimeError(f"perf report: {stats.returncode}\n{stats.stdout}\n{stats.stderr}")
    samples = int(counted[1])
    return {"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "peak": peak, "samples": samples, "bytes": os.path.getsize(data) / max(1, samples)}


def show(name, runs):
    cpu = statistics.median(r["cpu_s"] for r in runs) * 10 / SECONDS
    size = statistics.median(r["bytes"] for r in runs)
    samples = statistics.median(r["samples"] for r in runs)
    peak = max(r["peak"] for r in runs) / 2**20
    print(f"{name:<22} {cpu:>7.3f} CPU-s per 10 s {peak:>7.1f} MiB peak {samples:>7.0f} samples "
          f"{size:>7.1f} bytes a sample")


def show_wanted(agent, ours, idle_cpu_s):
    cpu = statistics.median(r["cpu_s"] for r in ours) * 10 / SECONDS
    resident = max(r["resident"] for r in ours) / 2**20
    print(f"{'agent, no session':<22} {idle_cpu_s * 10 / SECONDS:>7.3f} CPU-s per 10 s (floor)")
    print(f"{'agent, start of each':<22} " + ", ".join(f"{r['start_cpu_s']:.3f}" for r in ours)
          + f" CPU-s up to its second chunk; {agent.launch_cpu_s:.3f} to be connected")
    print(f"reached: {cpu:.3f} CPU-s per 10 s (wanted: at most {WANTED_CPU_S}), {resident:.1f} MiB resident "
          f"(wanted: at most {WANTED_MIB}) and {agent.maps() / 2**20:.1f} MiB of kernel maps")


def main():
    why = fleet.missing() or (None if shutil.which("perf") else "no perf to compare with")
    if why:
        print(f"SKIPPED: {why}")
        return fleet.SKIPPED
    directory = tempfile.mkdtemp(prefix="fleetprof-bench-")
    agent = Agent(directory)
    try:
        idle = agent.cpu_s()
        time.sleep(SECONDS)  # the floor is what an agent with nothing to do takes in that time
        idle = agent.cpu_s() - idle
        ours, theirs = [], []
        with Work():
            for _ in range(ROUNDS):
                ours.append(agent.measure())
                theirs.append(measure_perf(directory))
        print(f"agent at 99 Hz, {os.cpu_count()} busy CPUs, {SECONDS:g} s, {ROUNDS} round(s)")
        show("fleetprof-agent", ours)
        show("perf record -a -g", theirs)
        show_wanted(agent, ours, idle)
    finally:
        agent.stop()
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
