"""Programs whose every stack is known are profiled together: each stack reaches the root, has names and
is what gdb says it is. Prints what was reached for each."""
import os
import re
import shutil
import subprocess
import unittest

import zoo
from fleet import Fleet, main, wait_for
from stacks import (commonest, is_named, named_share, read_stacks, share, wait_for_names,
                    weigh)

HZ = 199
SECONDS = 25  # on two CPUs and some 25 programs about 300 samples each
SAMPLES = 100  # fewer say nothing about one in a hundred
WHOLE = 0.99  # share of a deeper stack's samples that are marked so
MOST = 0.5  # share of a program's samples that lie below its anchor, at least

GDB_WALK = """python
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() != gdb.TAILCALL_FRAME: # there is no such frame
        print("frame:", frame.name() or "?")
    frame = frame.older()
end
"""


def unnamed(stack):
    return {f.name for f in stack.frames if f.kind != "mark" and not is_named(f)}


def cut(names, anchor):
    """The names up to the innermost that is `anchor`; [] when there is none."""
    places = [i for i, name in enumerate(names) if name == anchor]
    return names[:places[-1] + 1] if places else []


def plain(name):
    """A function's name without what tells its aliases apart: __GI___qsort_r, qsort_r."""
    return name.split("(")[0].split(".")[0].lstrip("_").replace("GI_", "").lstrip("_")


def gdb_names(pid, script):
    """The functions that a process is in by gdb, outermost first, without those that it infers."""
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "set backtrace past-main on",
         "-x", script], capture_output=True, text=True, timeout=60,
        env={**os.environ, "DEBUGINFOD_URLS": ""})
    return re.findall(r"^frame: (\S+)", done.stdout, re.M)[::-1]


class Zoo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(Fleet(["h1"]))
        animals = zoo.animals(cls.fleet.directory)
        for animal in animals:
            if animal.missing:
                print(f"{animal.name}: SKIPPED: {animal.missing}")
        cls.animals = [a for a in animals if not a.missing]
        cls.processes = {}
        cls.fleet.start_coordinator()
        cls.let_in(a for a in cls.animals if a.early)
        cls.fleet.start_agents()
        cls.let_in(a for a in cls.animals if not a.early)
        zoo.move(cls.fleet.directory)
        cls.session = cls.fleet.start_session("host=h1", "--hz", str(HZ), "--for", f"{SECONDS}s")
        cls.fleet.wait_session(cls.session)
        cls.by_gdb = cls.ask_gdb_and_let_out()
        wait_for_names(cls.fleet, cls.session)
        cls.stacks = {a.name: read_stacks(cls.fleet, cls.session, f"service={a.name}")
                      for a in cls.animals}

    @classmethod
    def let_in(cls, animals):
        for animal in animals:
            command = ["env", "-C", cls.fleet.directory, *animal.command]
            cls.processes[animal.name] = cls.fleet.start(
                animal.name, cls.fleet.on_host("h1", command, f"{animal.name}.service"))
        for name, process in cls.processes.items():
            wait_for(f"{name} to be ready",
                     lambda p=process: "ready" in p.log() or not p.alive(), 60)
            if not process.alive():
                raise AssertionError(f"{name} ended: {process.log()}")

    @classmethod
    def ask_gdb_and_let_out(cls):
        """What gdb says of those that it is asked about, by name. All are ended."""
        asked = [a for a in cls.animals if a.gdb and shutil.which("gdb")]
        for animal in cls.animals:
            if animal not in asked:
                cls.processes[animal.name].kill()
        script = os.path.join(cls.fleet.directory, "walk.gdb")
        with open(script, "w") as f:
            f.write(GDB_WALK)
        answers = {}
        for animal in asked:
            process = cls.processes[animal.name]
            answers[animal.name] = wait_for(
                f"gdb to stop {animal.name} in {animal.anchor}",
                lambda p=process, a=animal: cut(gdb_names(p.popen.pid, script), a.anchor))
            process.kill()
        return answers

    def test_every_stack_reaches_the_root(self):
        print(f"\n{'program':<16} {'samples':>7} {'to the root':>11} {'named':>7}  where others end")
        for animal in self.animals:
            stacks = [s for s in self.stacks[animal.name] if s.is_user()]
            whole = share(stacks, animal.is_whole)
            self.show(animal, stacks, whole)
            with self.subTest(animal.name):
                self.assertGreater(weigh(stacks) * HZ / 1e9, SAMPLES)
                if animal.native and not animal.deeper:
                    self.assertGreaterEqual(whole, animal.whole)

    @staticmethod
    def show(animal, stacks, whole):
        strays = [s for s in stacks if not animal.is_whole(s)]
        ends = ", ".join(f"{100 * part * (1 - whole):.1f} % {end}" for end, part in commonest(
            strays, lambda s: [" < ".join(s.names()[1::-1])]))
        print(f"{animal.name:<16} {weigh(stacks) * HZ / 1e9:>7.0f} {100 * whole:>9.2f} % "
              f"{100 * named_share(stacks):>5.1f} %  {ends}")

    def test_frames_have_names(self):
        for animal in self.animals:
            with self.subTest(animal.name):
                stacks = self.stacks[animal.name]
                self.assertGreaterEqual(named_share(stacks), animal.named, commonest(stacks, unnamed))

    def test_the_known_functions_call_one_another(self):
        for animal in self.animals:
            stacks = self.stacks[animal.name]
            anchored = [s for s in stacks if animal.anchor in map(animal.place, s.names())]
            with self.subTest(animal.name):
                self.assertGreater(weigh(anchored), MOST * weigh(stacks))
                right = share(anchored,
                              lambda s, a=animal: a.skeleton(s.names()) == a.expected())
                self.assertGreaterEqual(right, animal.known, commonest(
                    anchored, lambda s: [";".join(s.names())], 1))

    def test_deeper_stacks_than_a_walk_goes_are_marked_and_counted(self):
        stacks = self.stacks["recursion-300"]
        marked = share(stacks, lambda s: s.mark == "[truncated]")
        self.assertGreaterEqual(marked, WHOLE, commonest(stacks, lambda s: [s.mark]))

    @unittest.skipIf(shutil.which("gdb") is None, "no gdb")
    def test_gdb_sees_the_same_functions(self):
        for animal in filter(lambda a: a.gdb, self.animals):
            with self.subTest(animal.name):
                theirs, ours = self.by_gdb[animal.name], self.commonest_names(animal)
                self.assertEqual(len(ours), len(theirs), f"\n{ours}\n{theirs}")
                for mine, other in zip(ours, theirs):
                    if other != "?" and "+0x" not in mine: # either may lack the library's symbols
                        self.assertTrue(plain(mine) in plain(other) or plain(other) in plain(mine),
                                        f"{mine} here, {other} by gdb")

    def commonest_names(self, animal):
        """The most frequent stack up to the anchor."""
        whole = [s for s in self.stacks[animal.name] if animal.anchor in s.names()]
        names = commonest(whole, lambda s: [tuple(cut(s.names(), animal.anchor))], 1)
        return list(names[0][0]) if names else []


if __name__ == "__main__":
    main()
