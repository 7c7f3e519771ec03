#!/usr/bin/env python3
"""bench_victim - what a profiled program pays: its own CPU time for fixed work beside the agent, beside an
empty BPF program on the same clock (the floor) and beside `perf record -a -g` (the peer).

All take turns within each of BENCH_ROUNDS rounds, in rotating order, and each is compared with the run
without a profiler of its own round: elapsed time and single runs say nothing on a shared machine. The cost
of a sample holds the timer interrupt, which is most of it in a virtual machine. Eight rounds or more make
numbers that mean something.
"""
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_agent import Agent, fleet  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "1"))
WORK = os.environ.get("BENCH_WORK", "5000")  # victim's rounds: some 1 CPU-s
RATES = (999, 4999)
WANTED = 1.12  # times what a sample of an empty program costs, at most
BENCH = os.path.join(fleet.BUILD, "tests", "bench")


def victims_cpu_s():
    """CPU seconds that one victim on each CPU took for its work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [os.path.join(BENCH, "victim"), WORK]
    for child in [subprocess.Popen(command) for _ in range(os.cpu_count())]:
        child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def nothing(_rate):
    yield


@contextlib.contextmanager
def empty_program(rate):
    clock = subprocess.Popen([os.path.join(BENCH, "empty_clock"), str(rate)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    clock.stdout.readline()
    yield
    clock.communicate()


def perf(directory):
    @contextlib.contextmanager
    def beside(rate):
        data = os.path.join(directory, "perf.data")
        recorder = subprocess.Popen(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F",
                                     str(rate), "-o", data], stderr=subprocess.DEVNULL)
        fleet.wait_for("perf to record",
                       lambda: os.path.exists(data) and os.path.getsize(data) > 0)
        yield
        recorder.terminate()
        recorder.wait()
        os.unlink(data)
    return beside


def ours(agent):
    @contextlib.contextmanager
    def beside(rate):
        session = agent.query("start", "*", "--hz", str(rate), "--for", "10m")["id"]
        fleet.wait_for("the first sample", lambda: any(
            host["state"] == "first_sample" for host in agent.query("sessions", session)["hosts"]))
        yield
        agent.cli("stop", session)
        fleet.wait_for("the session to stop",
                       lambda: agent.query("sessions", session)["state"] == "stopped")
    return beside


def take_turns(beside, rate):
    """CPU seconds by name, one number a round."""
    taken = {name: [] for name in beside}
    names = list(beside)
    for number in range(ROUNDS):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            with beside[name](rate):
                taken[name].append(victims_cpu_s())
    return taken


def median(values):
    return statistics.median(values)


def show(rate, taken):
    alone, floor = taken["alone"], taken["empty program"]
    print(f"{rate} Hz, {os.cpu_count()} victims, {median(alone):.2f} CPU-s alone, {ROUNDS} round(s)")
    cost_us = {}
    for name in list(taken)[1:]:
        more = [beside / without - 1 for beside, without in zip(taken[name], alone)]
        times = [beside / empty for beside, empty in zip(taken[name], floor)]
        cost_us[name] = median(more) / (1 + median(more)) / rate * 1e6
        print(f"  {name:<18} {100 * median(more):>+6.2f} % CPU "
              f"[{100 * min(more):+.2f}, {100 * max(more):+.2f}], {cost_us[name]:>6.2f} us a sample; "
              f"the victim's CPU {median(times):.3f} x that beside the empty program")
    if cost_us["empty program"] > 0:  # in few rounds noise may eat it up
        print("  a sample costs {:.2f} x that of the empty program (wanted: at most {}), perf's {:.2f} x"
              .format(*(cost_us[name] / cost_us["empty program"] if name else WANTED
                        for name in ("fleetprof-agent", None, "perf record -a -g"))))


def main():
    why = fleet.missing() or (None if shutil.which("perf") else "no perf to compare with")
    if why:
        print(f"SKIPPED: {why}")
        return fleet.SKIPPED
    directory = tempfile.mkdtemp(prefix="fleetprof-bench-")
    agent = Agent(directory)
    try:
        beside = {"alone": nothing, "empty program": empty_program,
                  "fleetprof-agent": ours(agent), "perf record -a -g": perf(directory)}
        for rate in RATES:
            show(rate, take_turns(beside, rate))
    finally:
        agent.stop()
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
