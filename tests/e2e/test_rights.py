"""An agent that is a plain user with a few capabilities sees what these let it see, and says what the
others would have shown."""
import os
import shutil
import unittest

from fleet import AGENT, BURN, SKIPPED, Fleet, main, wait_for
from stacks import ADDRESS, read_stacks

PLAIN_USER = 65534
OTHER_USER = 65533  # whose processes are looked at
ENOUGH = ("bpf", "perfmon", "sys_ptrace")
KPTR_RESTRICT = "/proc/sys/kernel/kptr_restrict"


def as_user(user, capabilities=()):
    """What starts a program as `user`, who gets no more rights than these, whatever it executes."""
    rights = ",".join(["-all"] + ["+" + c for c in capabilities])
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--no-new-privs",
            "--inh-caps", rights, "--ambient-caps", rights, "--bounding-set", rights]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


class PlainUser(unittest.TestCase):
    def setUp(self):
        self.fleet = self.enterContext(Fleet(["h1"]))
        os.chmod(self.fleet.directory, 0o711)
        self.fleet.start_coordinator()

    def within_reach(self, program):
        """A copy that every user can execute: the build may lie where only root comes."""
        return shutil.copy(program, self.fleet.directory)

    def start_agent(self, *capabilities):
        spool = os.path.join(self.fleet.directory, "spool-h1")
        os.mkdir(spool)
        os.chown(spool, PLAIN_USER, PLAIN_USER)
        program = as_user(PLAIN_USER, capabilities) + [self.within_reach(AGENT)]
        return self.fleet.start_agent("h1", program=program)

    def degraded(self):
        wait_for("the agent to be connected", self.fleet.all_connected)
        return self.fleet.query("agents")["agents"][0]["degraded"]

    def burn(self):
        command = as_user(OTHER_USER) + [self.within_reach(BURN), "60", "alpha=40", "beta=20"]
        burn = self.fleet.start("burn", self.fleet.on_host("h1", command))
        wait_for("burn to begin", burn.log)

    def sample(self):
        session = self.fleet.start_session("host=h1", "--hz", "199", "--for", "4s")
        self.fleet.wait_session(session)
        return session

    def burned_names(self, session):
        return {f.name for s in read_stacks(self.fleet, session, "comm=burn") for f in s.frames}

    def test_with_three_capabilities_it_names_the_functions_of_another_user(self):
        self.start_agent(*ENOUGH)
        self.assertNotIn("CAP_SYS_PTRACE", self.degraded())
        self.burn()
        session = self.sample()
        wait_for("names", lambda: self.burned_names(session) >= {"alpha", "beta", "main"})

    def test_without_ptrace_it_samples_on_and_says_what_it_cannot_read(self):
        agent = self.start_agent("bpf", "perfmon")
        self.assertRegex(self.degraded(), "processes of other users cannot be read.*CAP_SYS_PTRACE")
        self.burn()
        session = self.sample()
        self.assertGreater(sum(s.weight_ns for s in read_stacks(self.fleet, session, "comm=burn")), 0)
        self.assertTrue(self.burned_names(session).isdisjoint({"alpha", "beta"}))
        self.assertEqual(agent.stop(), 0, agent.log())

    def hide_kernel_addresses(self):
        """From plain users; root goes on seeing them."""
        with open(KPTR_RESTRICT) as f:
            before = f.read()
        if before.strip() != "0":
            return
        try:
            write(KPTR_RESTRICT, "1")
        except OSError as error:
            self.skipTest(f"kernel addresses cannot be hidden here: {error}")
        self.addCleanup(write, KPTR_RESTRICT, before)

    def test_without_syslog_kernel_frames_are_addresses_and_it_says_so(self):
        self.hide_kernel_addresses()
        self.start_agent(*ENOUGH)
        self.assertRegex(self.degraded(), "kernel functions have no names.*CAP_SYSLOG")
        busy = self.fleet.on_host("h1", ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"])
        self.fleet.start("busy", busy)
        frames = {f for s in read_stacks(self.fleet, self.sample(), "comm=dd") for f in s.frames}
        kernel = [f.name for f in frames if f.name.startswith("[kernel]")]
        self.assertTrue(kernel, frames)
        self.assertEqual([name for name in kernel if ADDRESS.search(name) is None], [])
        self.assertNotIn("vfs_read", {f.name for f in frames})

    def assert_does_not_start(self, *capabilities):
        agent = self.start_agent(*capabilities)
        wait_for("the agent to end", lambda: not agent.alive())
        self.assertNotEqual(agent.popen.returncode, 0)
        said = agent.log().splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], 'event=not_started why=".*CAP_BPF.*CAP_PERFMON')
        os.rmdir(os.path.join(self.fleet.directory, "spool-h1"))

    def test_without_the_two_that_sampling_needs_it_names_them_and_ends(self):
        for capabilities in ((), ("bpf",), ("perfmon",)):
            with self.subTest(capabilities=capabilities):
                self.assert_does_not_start(*capabilities)


if __name__ == "__main__":
    if shutil.which("setpriv") is None:
        print("SKIPPED: needs setpriv (package util-linux)")
        raise SystemExit(SKIPPED)
    main()
