"""An ordinary compile - make, a shell, gcc, as and ld, hundreds of processes that live for some
milliseconds - has whole and named stacks, with what the distribution ships and nothing else."""
import os
import shutil
import unittest

from fleet import Fleet, main
from stacks import (commonest, is_named, named_share, read_stacks, share, wait_for_names,
                    weigh)

HZ = 499
SECONDS = 15
SAMPLES = 1000  # fewer say little about three in a hundred
WHOLE = 0.97  # share of the user samples that reach the root
NAMED = 0.95  # share of the frames that have a name

FILES = 40  # of the project; each takes some 100 ms to compile
SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
"""
FUNCTION = """
int part_{file}_{number}(const char *text, int count)
{{
    char buffer[256];
    int sum = {number};

    for (int i = 0; i < count; i++) {{
        snprintf(buffer, sizeof(buffer), "%s %d", text, i * sum);
        sum += (int)strlen(buffer) + buffer[i % 100] * {file};
        switch (sum % 5) {{
        case 0: sum ^= i; break;
        case 1: sum = sum * 3 + atoi(buffer); break;
        default: sum--;
        }}
    }}
    return sum;
}}
"""
MAKEFILE = """OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
all: program
program: $(OBJECTS)
	gcc -o $@ $^
%.o: %.c
	@test -n "$(CC)" && echo "$@" | sed s/x/x/ >/dev/null
	gcc -O2 -g -c -o $@ $<
clean:
	rm -f program *.o
"""


def write_project(directory):
    os.mkdir(directory)
    for number in range(FILES):
        with open(os.path.join(directory, f"part{number}.c"), "w") as f:
            f.write(SOURCE + "".join(FUNCTION.format(file=number, number=i) for i in range(40)))
    with open(os.path.join(directory, "main.c"), "w") as f:
        f.write("int main(void)\n{\n    return 0;\n}\n")
    with open(os.path.join(directory, "Makefile"), "w") as f:
        f.write(MAKEFILE)


def missing_tools():
    return [tool for tool in ("make", "gcc", "ld", "as") if shutil.which(tool) is None]


def unnamed_in(stack):
    """The binaries of frames without a name."""
    return {f.binary for f in stack.frames if f.kind != "mark" and not is_named(f)}


@unittest.skipIf(missing_tools(), f"not installed: {missing_tools()}")
class Compile(unittest.TestCase):
    def test_a_compile_has_whole_and_named_stacks(self):
        with Fleet(["h1"]) as fleet:
            project = os.path.join(fleet.directory, "project")
            write_project(project)
            fleet.start_coordinator()
            fleet.start_agents()
            loop = (f"cd {project}; while [ ! -e enough ]; do "
                    "make -s -j2 && make -s clean || exit; echo built; done")
            build = fleet.start("make", fleet.on_host("h1", ["sh", "-c", loop], "build.service"))
            session = fleet.start_session("host=h1", "--hz", str(HZ), "--for", f"{SECONDS}s")
            fleet.wait_session(session)
            self.assertTrue(build.alive(), build.log())
            with open(os.path.join(project, "enough"), "w"):
                pass
            self.assertEqual(build.popen.wait(60), 0, build.log())
            wait_for_names(fleet, session)
            self.judge(read_stacks(fleet, session, "service=build"))

    def judge(self, stacks):
        self.assertGreater(weigh(stacks) * HZ / 1e9, SAMPLES)
        user = [s for s in stacks if s.is_user()]
        whole = share(user, lambda s: s.is_whole())
        named = named_share(stacks)
        cut = [s for s in user if not s.is_whole()]
        print(f"\ncompile: {weigh(stacks) * HZ / 1e9:.0f} samples, "
              f"{100 * whole:.2f} % of the user samples reach the root "
              f"(wanted {100 * WHOLE:.0f} %), {100 * named:.2f} % of the frames are named "
              f"(wanted {100 * NAMED:.0f} %)")
        print("cut:", commonest(cut, lambda s: [tuple(s.names()[:2])], 5))
        print("unnamed:", commonest(stacks, unnamed_in, 8))
        self.assertGreaterEqual(whole, WHOLE)
        self.assertGreaterEqual(named, NAMED)


if __name__ == "__main__":
    main()
