"""stacks - the stacks of a session as the coordinator has them, and what can be said of them: whether
they reach the root, and how many of their frames have a name."""
import collections
import re

from fleet import wait_for

# kind: native, kernel, named (by the host: JIT code, kernel modules) or mark (why a stack is cut)
Frame = collections.namedtuple("Frame", "name binary kind")

ADDRESS = re.compile(r"\+0x[0-9a-f]+$")  # binary+0xoffset: what stands where a name is not known
SETTLED = 40  # looks, some 4 s or more, without a new name
NO_NAMES = {"[jit]", "[unknown]", "[unnamed]"}


def is_named(frame):
    return frame.name not in NO_NAMES and ADDRESS.search(frame.name) is None


class Stack:
    def __init__(self, frames, weight_ns):
        self.frames = frames  # outermost first; the kernel's come last
        self.weight_ns = weight_ns
        self.user = [f for f in frames if f.kind == "native"]
        self.mark = frames[0].name if frames and frames[0].kind == "mark" else None

    def names(self):
        return [f.name for f in self.frames]

    def is_user(self):
        """Whether there was a user stack to walk: kernel threads and processes that are being made have none."""
        return self.mark is not None or bool(self.user)

    def is_whole(self):
        return self.mark is None


def read_stacks(fleet, session, selector=None):
    select = ["--select", selector] if selector else []
    tree = fleet.query("flame", "--session", session, *select)
    functions = [Frame(*f) for f in zip(tree["names"], tree["binaries"], tree["kinds"])]
    paths, stacks = [()], []
    for parent, function, self_ns in list(zip(tree["parent"], tree["function"], tree["self"]))[1:]:
        paths.append(paths[parent] + (functions[function],))
        if self_ns > 0:
            stacks.append(Stack(paths[-1], self_ns))
    return stacks


def weigh(stacks, wanted=lambda stack: True):
    return sum(s.weight_ns for s in stacks if wanted(s))


def share(stacks, wanted):
    return weigh(stacks, wanted) / max(1, weigh(stacks))


def named_share(stacks):
    """Of all frames, each counted as often as it was sampled."""
    frames = sum(s.weight_ns * sum(f.kind != "mark" for f in s.frames) for s in stacks)
    named = sum(s.weight_ns * sum(f.kind != "mark" and is_named(f) for f in s.frames) for s in stacks)
    return named / max(1, frames)


def commonest(stacks, what, limit=3):
    """The most frequent values of `what(stack)`, with their share."""
    weights = collections.Counter()
    for stack in stacks:
        for value in what(stack):
            weights[value] += stack.weight_ns
    total = max(1, weigh(stacks))
    return [(value, weight / total) for value, weight in weights.most_common(limit)]


def wait_for_names(fleet, session):
    """Symbols arrive after the samples that they name: waits until nothing more gets a name."""
    shares = []

    def settled():
        shares.append(named_share(read_stacks(fleet, session)))
        return len(shares) >= SETTLED and len(set(shares[-SETTLED:])) == 1

    wait_for("symbols to arrive", settled, 60)
