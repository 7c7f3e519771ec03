"""fleet - a small fleet on one machine, for the end-to-end tests.

Each host is a network namespace, a UTS name and a cgroup v2 directory; the coordinator sits in a
namespace of its own, on the bridge that joins them. Everything is real: the daemons, eBPF, LMDB, the
network. Waiting is always for a condition, with a deadline.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("FLEETPROF_BUILD", os.path.join(TOP, "build", "debug"))
SKIPPED = 77  # what ctest takes for a skip

COORDINATOR = os.path.join(BUILD, "coordinator", "fleetprofd")
AGENT = os.path.join(BUILD, "agent", "fleetprof-agent")
CLI = os.path.join(BUILD, "coordinator", "cli", "fleetprof")
BURN = os.path.join(BUILD, "tests", "workloads", "burn")

ADDRESS = "10.77.0.{}"  # inside namespaces made here; never leaves them


def cgroup2_root():
    """Where cgroup v2 is mounted: the root on a unified machine, a subdirectory on a hybrid one."""
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    return None


def missing():
    """What this machine lacks for end-to-end tests; None when nothing."""
    if os.geteuid() != 0:
        return "needs root (network namespaces, BPF)"
    if cgroup2_root() is None:
        return "no cgroup v2 hierarchy is mounted"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "the kernel has no BTF"
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        return "needs ip and nsenter (packages iproute2 and util-linux)"
    return None


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_for(what, condition, seconds=30):
    """Polls until `condition` returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.1)


class Process:
    """A child whose output is kept in a file and shown when a test fails."""

    def __init__(self, name, command, directory):
        self.name = name
        self.log_path = os.path.join(directory, f"{name}.{time.monotonic_ns()}.log")
        with open(self.log_path, "wb") as log:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=subprocess.STDOUT)

    def alive(self):
        return self.popen.poll() is None

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def kill(self):
        self.popen.kill()
        self.popen.wait()

    def stop(self, seconds=20):
        """SIGTERM; returns the exit status."""
        if self.alive():
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {seconds} s\n{self.log()}")


class Fleet:
    def __init__(self, hosts):
        self.tag = f"fp{os.getpid()}"
        self.hosts = list(hosts)
        self.directory = tempfile.mkdtemp(prefix="fleetprof-e2e-")
        self.cgroup = os.path.join(cgroup2_root(), self.tag)
        self.socket = os.path.join(self.directory, "api.sock")
        self.coordinator = None
        self.agents = {}
        self.processes = []

    # ---- the network and the cgroups ----

    def netns(self, name):
        return f"{self.tag}-{name}"

    def __enter__(self):
        try:
            self.build_network()
            for host in self.hosts:
                os.makedirs(self.host_cgroup(host))
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def build_network(self):
        hub = self.netns("hub")
        run("ip", "netns", "add", hub)
        run("ip", "-n", hub, "link", "set", "lo", "up")
        run("ip", "-n", hub, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", hub, "addr", "add", ADDRESS.format(1) + "/24", "dev", "br0")
        run("ip", "-n", hub, "link", "set", "br0", "up")
        for number, host in enumerate(self.hosts, 2):
            space = self.netns(host)
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", hub, "link", "add", f"v{number}", "type", "veth",
                "peer", "name", "eth0", "netns", space)
            run("ip", "-n", hub, "link", "set", f"v{number}", "master", "br0", "up")
            run("ip", "-n", space, "addr", "add", ADDRESS.format(number) + "/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")

    def __exit__(self, kind, error, trace):
        if error is not None and kind is not unittest.SkipTest:
            self.show_logs()
        for process in reversed(self.processes):
            if process.alive():
                process.kill()
        for space in ["hub"] + self.hosts:
            subprocess.run(["ip", "netns", "del", self.netns(space)], stderr=subprocess.DEVNULL)
        self.remove_cgroups()
        shutil.rmtree(self.directory, ignore_errors=True)

    def remove_cgroups(self):
        for directory, _, _ in os.walk(self.cgroup, topdown=False):
            with contextlib.suppress(OSError):
                wait_for("the cgroup to empty", lambda d=directory: self.try_rmdir(d), 5)

    @staticmethod
    def try_rmdir(directory):
        try:
            os.rmdir(directory)
        except OSError:
            return False
        return True

    def show_logs(self):
        for process in self.processes:
            lines = process.log().splitlines()
            print(f"---- {process.name}: {len(lines)} lines, the last 40 ----", file=sys.stderr)
            print("\n".join(lines[-40:]), file=sys.stderr)

    def host_cgroup(self, host, unit=None):
        return os.path.join(self.cgroup, host, *([unit] if unit else []))

    def on_host(self, host, command, unit=None):
        """The command line that runs `command` inside the host's namespaces and cgroup."""
        cgroup = self.host_cgroup(host, unit)
        os.makedirs(cgroup, exist_ok=True)
        script = 'hostname "$1"; echo $$ > "$2/cgroup.procs"; shift 2; exec "$@"'
        return ["nsenter", f"--net=/run/netns/{self.netns(host)}", "unshare", "--uts",
                "sh", "-c", script, "sh", host, cgroup, *command]

    def start(self, name, command):
        process = Process(name, command, self.directory)
        self.processes.append(process)
        return process

    # ---- the daemons ----

    def start_coordinator(self, *options):
        command = ["nsenter", f"--net=/run/netns/{self.netns('hub')}", COORDINATOR,
                   "--store", os.path.join(self.directory, "store"),
                   "--listen", f"tcp://{ADDRESS.format(1)}:7100", "--insecure-plain",
                   "--http-socket", self.socket, "--http", "127.0.0.1:7180", *options]
        self.coordinator = self.start("fleetprofd", command)
        wait_for("the coordinator to answer", self.answers)
        return self.coordinator

    def answers(self):
        if not self.coordinator.alive():
            raise AssertionError("the coordinator ended:\n" + self.coordinator.log())
        return self.cli("status", check=False).returncode == 0

    def start_agent(self, host, *labels, options=(), program=(AGENT,)):
        """`program` ends with the agent's file; before it stands what is to start that, if anything."""
        command = [*program, "--coordinator", f"tcp://{ADDRESS.format(1)}:7100", "--insecure-plain",
                   "--host", host,
                   "--spool", os.path.join(self.directory, f"spool-{host}"),
                   "--scope-cgroup", self.host_cgroup(host), *options]
        for label in labels:
            command += ["--label", label]
        self.agents[host] = self.start(f"agent-{host}", self.on_host(host, command))
        return self.agents[host]

    def start_agents(self, **labels):
        """One on every host; `labels` gives a list of labels by host name. Waits until all are in."""
        for host in self.hosts:
            self.start_agent(host, *labels.get(host, []))
        wait_for("every agent to be connected", self.all_connected)

    def all_connected(self):
        connected = [a["host"] for a in self.query("agents")["agents"] if a["connected"]]
        return set(connected) >= set(self.agents)

    def burn(self, host, seconds, *work, unit=None):
        process = self.start(f"burn-{host}", self.on_host(host, [BURN, str(seconds), *work], unit))
        wait_for("burn to begin", process.log)
        return process

    # ---- what an operator does ----

    def cli(self, *arguments, check=True):
        done = subprocess.run([CLI, "--url", f"unix:{self.socket}", *arguments],
                              capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"fleetprof {' '.join(arguments)}: exit {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def query(self, *arguments):
        """A command with --json, decoded."""
        return json.loads(self.cli(*arguments, "--json").stdout)

    def start_session(self, selector, *options):
        return self.query("start", selector, *options)["id"]

    def session(self, ident):
        return self.query("sessions", ident)

    def wait_session(self, ident, state="completed", seconds=90):
        return wait_for(f"session {ident} to be {state}",
                        lambda: (s := self.session(ident))["state"] == state and s, seconds)

    def wait_host_state(self, ident, host, state, seconds=30):
        def reached():
            return any(h["host"] == host and h["state"] == state
                       for h in self.session(ident)["hosts"])
        return wait_for(f"{host} to be {state} in {ident}", reached, seconds)


def burned(process, seconds=60):
    """What a burn program that ends by itself took, in CPU seconds by function and wall seconds."""
    process.popen.wait(seconds)
    return json.loads(process.log().strip().splitlines()[-1])


def burned_by_now(process):
    """The same of one that still runs. The machine is shared: what a program was to burn and what it
    got differ, so tests compare with the latter."""
    lines = process.log().count("\n")
    process.popen.send_signal(signal.SIGUSR1)
    wait_for("burn to answer", lambda: process.log().count("\n") > lines)
    return json.loads(process.log().strip().splitlines()[-1])


def cores_between(before, after, *functions):
    """Cores that the functions took between two readings."""
    taken = sum(after[f] - before[f] for f in functions or ["total"])
    return taken / (after["wall_s"] - before["wall_s"])


def main():
    why = missing()
    if why is not None:
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
