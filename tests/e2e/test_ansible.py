"""The Ansible roles, run for real on a host that is a mount namespace: /etc, /usr/local and /var are
overlays there, so this machine keeps its own. What they install is then run as its units say."""
import configparser
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import fleet
from fleet import BUILD, SKIPPED, TOP, Process, wait_for

ANSIBLE = os.path.join(TOP, "ansible")
PLAYBOOK = os.path.join(ANSIBLE, "site.yml")
EXAMPLE = os.path.join(ANSIBLE, "inventory.example.yml")
NEEDED = ("ansible-playbook", "ansible-lint", "yamllint", "systemd-analyze", "setpriv", "unshare")
NOBODY = 65534  # stands for the account that DynamicUser makes

# Libraries that need no package of ours: the C library, and the sanitizers of a debug build.
ALWAYS_THERE = {"libc6", "libasan8", "libubsan1", "libtsan2"}

# A fresh package list keeps the roles from asking the network for one.
# An empty /run hides this machine's systemd, if there is one: nothing is enabled or started.
SET_UP = """
mount -t tmpfs tmpfs "$1/layers"
for d in etc usr/local var; do
    mkdir -p "$1/layers/$d/upper" "$1/layers/$d/work"
    mount -t overlay overlay -o "lowerdir=/$d,upperdir=$1/layers/$d/upper,workdir=$1/layers/$d/work" "/$d"
done
mount -t tmpfs tmpfs /run
mkdir -p /var/lib/apt/periodic
touch /var/lib/apt/periodic/update-success-stamp
echo ready
exec sleep infinity
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Unit(dict):
    """The [Service] section of a unit. Of a setting that is given twice, the last counts."""

    def __init__(self, text):
        parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
        parser.optionxform = str
        parser.read_string(text)
        super().__init__(parser["Service"])

    def capabilities(self):
        return self.get("AmbientCapabilities", "").lower().replace("cap_", "").split()


class Host:
    """A mount namespace, held by a process that sleeps in it."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="fleetprof-ansible-")
        os.chmod(self.directory, 0o755)
        os.mkdir(self.path("layers"))
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", SET_UP, "sh", self.directory],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        answer = self.holder.stdout.readline()
        if answer != "ready\n":
            self.close()
            raise unittest.SkipTest(f"no overlays in a mount namespace here: {answer.strip()}")

    def path(self, name):
        return os.path.join(self.directory, name)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def enter(self, *command):
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *command]

    def read(self, path):
        return run(*self.enter("cat", path))

    def play(self, inventory):
        """Runs the playbook; returns what it says it did."""
        text = run(*self.enter("ansible-playbook", "-i", inventory, PLAYBOOK),
                   env=environment(self.directory))
        recap = re.search(r"^host\s*: ok=\d+\s+changed=(\d+)\s+unreachable=0\s+failed=0", text, re.M)
        if recap is None:
            raise AssertionError(text)
        return {"changed": int(recap[1]), "text": text}

    def start(self, name, account, *command):
        """What systemd does for the unit `name` before and at ExecStart, as far as we need it."""
        unit = Unit(self.read(f"/etc/systemd/system/{name}.service"))
        for kind, parent in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")):
            if kind in unit:
                run(*self.enter("install", "-d", "-m", unit[kind + "Mode"], "-o", account, "-g",
                                account, os.path.join(parent, unit[kind])))
        capabilities = ",".join(["-all"] + ["+" + c for c in unit.capabilities()])
        return Process(name, self.enter(
            "setpriv", "--reuid", account, "--regid", account, "--clear-groups", "--no-new-privs",
            "--inh-caps", capabilities, "--ambient-caps", capabilities, "--bounding-set",
            capabilities, *shlex.split(unit["ExecStart"]), *command), self.directory)


def environment(home):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": home, "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCAL_TEMP": os.path.join(home, "ansible"),
            "ANSIBLE_REMOTE_TEMP": os.path.join(home, "ansible")}


def keys_of(config_c):
    """The keys that a program knows, from its table."""
    with open(os.path.join(TOP, config_c)) as source:
        return set(re.findall(r"^    KEY\((\w+),", source.read(), re.M))


def keys_written(text):
    return set(re.findall(r"^(\w+):", text, re.M))


def packages_needed(program):
    """The Debian packages of the libraries that a program itself names."""
    named = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", program)))
    paths = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", program)))
    files = [os.path.realpath(paths[n]) for n in named if n in paths]
    owners = run("dpkg", "-S", *("*/" + os.path.basename(f) for f in files))
    return {line.split(":")[0] for line in owners.splitlines()
            if line.split(": ", 1)[1] in files + ["/usr" + f for f in files] +
            [f.removeprefix("/usr") for f in files]}


class Sources(unittest.TestCase):
    """What can be said without a host."""

    def setUp(self):
        self.home = self.enterContext(tempfile.TemporaryDirectory())

    def check(self, *command):
        run(*command, cwd=ANSIBLE, env=environment(self.home))

    def test_the_playbook_is_sound_with_the_example(self):
        self.check("ansible-playbook", "--syntax-check", "-i", EXAMPLE, PLAYBOOK)

    def test_ansible_lint_finds_nothing(self):
        self.check("ansible-lint", "--offline", "--profile", "production", ".")

    def test_yamllint_finds_nothing(self):
        self.check("yamllint", "--strict", ".")


class OneHost(unittest.TestCase):
    """Coordinator and agent on one host, with every variable of the configuration set."""

    @classmethod
    def setUpClass(cls):
        cls.host = Host()
        cls.addClassCleanup(cls.host.close)
        url = f"tcp://127.0.0.1:{free_port()}"
        variables = {
            "ansible_connection": "local", "ansible_become": False,
            "ansible_python_interpreter": "/usr/bin/python3", "fleetprof_build_dir": BUILD,
            "coordinator_listen": [url], "coordinator_http_port": 0, "coordinator_operators": ["games"],
            "agent_coordinator": url, "agent_host": "web-1", "agent_labels": {"service": "a: #b"},
            "agent_scope_cgroup": fleet.cgroup2_root(),
            "agent_process_environment": ["APP_VERSION"], "agent_process_arguments": ["--shard"],
        }
        inventory = cls.host.path("inventory.json")
        with open(inventory, "w") as f:
            json.dump({"all": {"vars": variables, "children": {
                "coordinator": {"hosts": {"host": {}}}, "agents": {"hosts": {"host": {}}}}}}, f)
        cls.first = cls.host.play(inventory)
        cls.second = cls.host.play(inventory)

    def start(self, name, account, *command):
        process = self.host.start(name, account, *command)
        self.addCleanup(process.kill)
        return process

    def fleetprof(self, *command):
        """As an operator, who is in the group and nothing more."""
        return run(*self.host.enter("setpriv", "--reuid", "games", "--regid", "games", "--init-groups",
                                    "/usr/local/bin/fleetprof", *command))

    def test_a_second_run_changes_nothing(self):
        self.assertGreater(self.first["changed"], 0)
        self.assertEqual(self.second["changed"], 0, self.second["text"])

    def test_systemd_accepts_the_units(self):
        units = [f"/etc/systemd/system/{u}.service" for u in ("fleetprofd", "fleetprof-agent")]
        self.assertEqual(run(*self.host.enter("systemd-analyze", "verify", "--man=no", *units)), "")

    def test_the_files_have_the_keys_that_the_programs_have(self):
        for source, file in (("coordinator/config.c", "fleetprofd"), ("agent/config.c", "fleetprof-agent")):
            with self.subTest(file):
                written = keys_written(self.host.read(f"/etc/fleetprof/{file}.yaml"))
                self.assertEqual(written, keys_of(source))

    def test_the_packages_hold_every_library(self):
        for role, programs in (("coordinator", ("coordinator/fleetprofd", "coordinator/cli/fleetprof")),
                               ("agent", ("agent/fleetprof-agent",))):
            with open(os.path.join(ANSIBLE, "roles", role, "defaults", "main.yml")) as f:
                listed = set(re.findall(r"^  - (lib\S+|zlib\S+)$", f.read(), re.M))
            for program in programs:
                with self.subTest(program):
                    needed = packages_needed(os.path.join(BUILD, program)) - ALWAYS_THERE
                    self.assertTrue(needed)
                    self.assertLessEqual(needed, listed)

    def test_the_agent_waits_for_a_coordinator_and_ends_in_order(self):
        agent = self.start("fleetprof-agent", str(NOBODY))
        wait_for("the agent", lambda: "event=started" in agent.log())
        self.assertEqual(agent.stop(), 0, agent.log())

    def test_both_work_with_the_rights_that_their_units_give(self):
        coordinator = self.start("fleetprofd", "fleetprof")
        agent = self.start("fleetprof-agent", str(NOBODY))
        agents = wait_for("the agent", self.connected)
        self.assertEqual(agents[0]["host"], "web-1")
        self.assertEqual(agents[0]["labels"]["service"], "a: #b")
        # Something must be on a CPU, and in the kernel: an idle host rightly has an empty profile.
        busy = Process("busy", self.host.enter("dd", "if=/dev/zero", "of=/dev/null", "bs=64k"),
                       self.host.directory)
        self.addCleanup(busy.kill)
        self.fleetprof("start", "service=a: #b", "--for", "2s", "--wait", "--json")
        rows = json.loads(self.fleetprof("top", "--session", "last", "--json"))["rows"]
        self.assertTrue(rows, agent.log())
        kernel = [row["key"][0] for row in rows if row["binary"] == "[kernel]"]
        self.assertTrue([name for name in kernel if "+0x" not in name], kernel)  # CAP_SYSLOG
        self.assertEqual(agent.stop(), 0, agent.log())
        self.assertEqual(coordinator.stop(), 0, coordinator.log())

    def connected(self):
        try:
            agents = json.loads(self.fleetprof("agents", "--json"))
        except AssertionError:  # the coordinator is not up yet
            return None
        agents = agents["agents"] if isinstance(agents, dict) else agents
        return agents if agents and agents[0]["connected"] else None


def main():
    lacking = [tool for tool in NEEDED if shutil.which(tool) is None]
    if lacking:
        print(f"SKIPPED: needs {', '.join(lacking)}")
        sys.exit(SKIPPED)
    fleet.main()


if __name__ == "__main__":
    main()
