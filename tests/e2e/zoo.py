"""zoo - the programs of tests/workloads/zoo and what is known of their stacks."""
import dataclasses
import glob
import os
import shutil
import subprocess

from fleet import BUILD, TOP
from stacks import is_named

CAGE = os.path.join(BUILD, "tests", "workloads", "zoo")
SOURCES = os.path.join(TOP, "tests", "workloads", "zoo")
LIFE = "600"  # seconds; all is ended when the test has what it wants

DEEP = ["main", *(f"d{i:02}" for i in range(1, 9)), "d09_run_time_frame", "d10", "d11", "d12", "d13",
        "hop", "hop_inner", "d14_callback", "d15_compare", "d16", "d17", "d18", "d19", "d20",
        "call_leaf"]
NAMELESS = ("libc.so.", "ld-linux-")
GO_ROOTS = {"runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0",
            "runtime.rt0_go", "runtime.rt0_go.abi0", "runtime.mcall", "runtime.morestack"}


@dataclasses.dataclass
class Animal:
    name: str
    command: list
    chain: list  # functions that call one another, outermost first
    anchor: str = None  # the innermost that is in every such stack; None: the last of the chain
    roots: frozenset = frozenset({"_start"})  # names that the outermost frame may have
    native: bool = True  # whether nearly all samples must reach the root
    gdb: bool = False  # whether gdb can say the same
    early: bool = False  # whether it runs before the agent does
    deeper: bool = False  # than a walk goes: marked so instead of reaching the root
    missing: str = None  # why it cannot run here
    whole: float = 0.99  # share of its samples that reach the root, at least
    named: float = 0.95  # share of its frames that have a name
    known: float = 0.98  # share of its samples at the anchor whose frames are the known ones

    def __post_init__(self):
        self.anchor = self.anchor or self.chain[-1]

    def place(self, name):
        """Which function of the chain has this name; None: it is no part of it. Managed languages and C++
        say more than a function's name: its state, its arguments."""
        if name in self.chain:
            return name
        return next((c for c in self.chain if name.startswith(c + "(")
                     or (not self.native and c in name)), None)

    def skeleton(self, names):
        """Of a stack's names, outermost first, those of the chain up to the anchor."""
        known = [place for place in map(self.place, names) if place]
        while known and known[-1] != self.anchor:
            known.pop()
        return known

    def is_whole(self, stack):
        """Whether a stack begins where the program does. Distributions ship the C library and the
        dynamic linker without the names of where threads and programs begin in them."""
        first = stack.frames[0]
        return stack.is_whole() and (first.name in self.roots or (
            first.binary.startswith(NAMELESS) and not is_named(first)))

    def expected(self):
        return self.skeleton(self.chain)


def caged(name, *arguments):
    return [os.path.join(CAGE, name), *arguments]


def find_python():
    """A Python that has perf trampolines (3.12 and later)."""
    candidates = [shutil.which("python3"), shutil.which("python3.12"), shutil.which("python3.13"),
                  *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3")))]
    for candidate in filter(None, candidates):
        probe = "import sys; sys.exit(not hasattr(sys, 'activate_stack_trampoline'))"
        if subprocess.run([candidate, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    return None


def deep(mode, last):
    return Animal(f"deep-{mode}", caged("deep", LIFE, mode), DEEP + [last], anchor="call_leaf",
                  gdb=True, early=True)


def native_animals(directory):
    copies = os.path.join(directory, "copies")
    os.mkdir(copies)
    library = os.path.join(CAGE, "libhop.so")
    return [
        deep("user", "leaf_user"), deep("kernel", "leaf_kernel"), deep("vdso", "leaf_vdso"),
        deep("signal", "leaf_signal"), deep("plt", "leaf_plt"),
        Animal("static-pie", caged("deep_static_pie", LIFE, "user"), DEEP + ["leaf_user"],
               gdb=True),
        Animal("recursion-100", caged("recursion", LIFE, "100"),
               ["main", "stack", *["recurse"] * 100, "leaf"], gdb=True),
        Animal("recursion-300", caged("recursion", LIFE, "300"), ["recurse"] * 126 + ["leaf"],
               deeper=True),
        Animal("debug-frame", caged("debug_frame", LIFE, "20"),
               ["main", "stack", *["recurse"] * 20, "leaf"], gdb=True),
        # A frame of 200 KB is more than a copy of the stack holds, and until its tables are there the
        # kernel sends copies: the first samples of a session.
        Animal("realigned", caged("realigned", LIFE),
               ["main", "stack", "aligned", "wide", "wider", "leaf"], gdb=True, whole=0.9,
               known=0.88),
        Animal("many", caged("many", LIFE, library, copies),
               ["main", "stack", *["nest", "hop", "hop_inner"] * 6, "nest", "leaf"], gdb=True,
               early=True),
        Animal("inlined", caged("inlined", LIFE),
               ["main", "stack", "zoo::attempt", "zoo::guarded", "zoo::Spinner<unsigned long>::work"],
               missing=absent("inlined", "a C++ compiler (g++)")),
        Animal("trampoline", caged("trampoline", LIFE),
               ["main", "stack", "evaluate", "py::outer:/zoo/trampoline.py", "evaluate",
                "py::middle:/zoo/trampoline.py", "evaluate", "py::inner:/zoo/trampoline.py",
                "evaluate", "leaf"]),
        # A process that ends has given its memory back before its last moments on a CPU, and one that
        # is being born has no more than clone's frame.
        Animal("storm-processes", caged("storm", LIFE, "processes"), ["main", "live_briefly", "leaf"],
               whole=0.95),
        Animal("storm-threads", caged("storm", LIFE, "threads"),
               ["thread", "live_briefly", "leaf"],
               roots=frozenset({"_start", "clone3", "__clone3", "clone", "__clone"})),
        Animal("crab", caged("crab", LIFE),
               ["main", "crab::main", "crab::twice", "crab::leaf"],
               missing=absent("crab", "a Rust compiler (rustc)")),
    ]


def absent(name, what):
    return None if os.path.exists(os.path.join(CAGE, name)) else f"no {what} when the zoo was built"


def managed_animals():
    python = find_python()
    return [
        # Stripped of its debug information, Go is walked over frame pointers: a leaf that makes no frame
        # hides its caller, and the threads' own stacks begin without a mark.
        Animal("gopher", caged("gopher", LIFE), ["main.outer", "main.leaf"], anchor="main.leaf",
               whole=0.95, roots=frozenset(GO_ROOTS), missing=absent("gopher", "Go compiler (golang-go)")),
        Animal("snake", [python, "-X", "perf", os.path.join(SOURCES, "snake.py"), LIFE],
               [f"py::{name}:{SOURCES}/snake.py" for name in ("main", "outer", "middle", "leaf")],
               native=False,
               missing=None if python else "no Python with perf trampolines (3.12 or later)"),
        Animal("owl", ["node", "--perf-basic-prof", os.path.join(SOURCES, "owl.js"), LIFE],
               ["leaf"], native=False,  # its callers are interpreted, all by one builtin
               missing=None if shutil.which("node") else "no Node.js (nodejs)"),
        Animal("bean", ["java", "-XX:+PreserveFramePointer", "-XX:CompileCommand=quiet",
                        "-XX:CompileCommand=dontinline,Bean::*", "-cp", CAGE, "Bean", LIFE],
               ["Bean.dig", "Bean.outer", "Bean.middle", "Bean.leaf"],
               roots=frozenset({"clone3", "__clone3", "_start"}), native=False,
               # What is compiled after the map was written has no name, nor what is interpreted.
               named=0.85, known=0.3,
               missing=absent("Bean.class", "Java compiler (openjdk-17-jdk-headless)")
               or (None if shutil.which("java") else "no Java")),
    ]


def moved_animals(directory):
    """Programs whose file is not, or no longer, where its mapping says."""
    name = os.path.join(directory, "{}").format
    for copy in ("deleted", "replaced"):
        shutil.copy(os.path.join(CAGE, "deep"), name(copy))
    os.mkdir(name("private"))
    private = ('mount -t tmpfs zoo "$1" && cp "$2" "$1/hidden" && exec "$1/hidden" "$3" user')
    return [
        Animal("deleted", [name("deleted"), LIFE, "user"], DEEP + ["leaf_user"], early=True),
        Animal("replaced", [name("replaced"), LIFE, "user"], DEEP + ["leaf_user"]),
        Animal("hidden", ["unshare", "--pid", "--kill-child", "--mount", "sh", "-c", private, "sh",
                          name("private"), os.path.join(CAGE, "deep"), LIFE],
               DEEP + ["leaf_user"]),
    ]


def move(directory):
    """Takes the files of `deleted` and `replaced` away from them."""
    os.unlink(os.path.join(directory, "deleted"))
    other = os.path.join(directory, "other")
    shutil.copy(os.path.join(CAGE, "recursion"), other)
    os.replace(other, os.path.join(directory, "replaced"))


def animals(directory):
    return native_animals(directory) + moved_animals(directory) + managed_animals()
