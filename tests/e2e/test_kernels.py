"""On Debian's kernels 5.10, 6.1 and 6.12 the agent's programs load, run and walk stacks to their root.

Each kernel boots in a virtual machine by software emulation, with an initramfs that holds the probe
(tests/kernels/probe.c) and a program without frame pointers. The kernels come as packages from where
this machine gets its own, by an apt configuration beside the machine's, and are not installed. They
are kept in a cache. Emulation is 15 to 50 times slower than the machine: nothing is timed here.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from fleet import BUILD, SKIPPED, TOP

CACHE = os.environ.get("FLEETPROF_KERNEL_CACHE", os.path.join(TOP, "build", "kernels"))
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
META_PACKAGE = "linux-image-cloud-amd64"
PROBE = os.path.join(BUILD, "tests", "kernels", "probe")
PROGRAM = os.path.join(BUILD, "tests", "workloads", "zoo", "deep")

# What each kernel must do: the suite that has it, and the variants of the walk that it must take.
KERNELS = {"5.10": ("bullseye", "compat"), "6.1": ("bookworm", "fast"),
           "6.12": ("bookworm-backports", "fast")}

# 6.12 dies early in about every fourth boot under qemu 7.2's emulation, whatever the CPU model.
BOOTS_MAX = 5
BOOT_SECONDS = 90

# The address space of some kernels is random by more bits than the sanitizers can place a shadow in.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
echo 28 > /proc/sys/vm/mmap_rnd_bits
echo 3 > /proc/sys/kernel/printk
/probe /deep 600 user
/bin/busybox echo "probe ended with $?"
/bin/busybox reboot -f
"""


def missing():
    """What this machine lacks for virtual machines; None when nothing."""
    if shutil.which("qemu-system-x86_64") is None:
        return "no qemu-system-x86_64 (package qemu-system-x86)"
    if shutil.which("busybox") is None:
        return "no busybox (package busybox-static)"
    if os.uname().machine != "x86_64":
        return "the kernels are for x86-64"
    return None


# ---- kernels ----

def package_source():
    """Where this machine gets Debian's packages from."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)",
                             "Created-By: Packages"], capture_output=True, text=True).stdout
    return next((line.split()[0] for line in listed.splitlines() if line.endswith(" bookworm")),
                None)


def apt(suite, directory, program, *arguments):
    """Runs apt with lists, cache and sources of its own for one suite."""
    os.makedirs(os.path.join(directory, "lists", "partial"), exist_ok=True)
    os.makedirs(os.path.join(directory, "cache", "archives", "partial"), exist_ok=True)
    sources = os.path.join(directory, "sources.list")
    open(os.path.join(directory, "status"), "w").close()
    with open(sources, "w") as f:
        f.write(f"deb [signed-by={KEYRING}] {package_source()} {suite} main\n")
    options = {"Dir::State": directory, "Dir::State::status": os.path.join(directory, "status"),
               "Dir::Cache": os.path.join(directory, "cache"), "Dir::Etc::sourcelist": sources,
               "Dir::Etc::sourceparts": "/dev/null", "Acquire::Languages": "none",
               "APT::Sandbox::User": "root"}
    command = [program] + [f"-o{k}={v}" for k, v in options.items()] + list(arguments)
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=120)
    if done.returncode != 0:
        raise unittest.SkipTest(f"{program} {arguments[0]} ({suite}): {done.stderr.strip()[-200:]}")
    return done.stdout


def kernel_image(version, suite):
    """The path of the kernel, fetched when the cache does not have it."""
    image = os.path.join(CACHE, f"vmlinuz-{version}")
    if os.path.exists(image):
        return image
    if package_source() is None:
        raise unittest.SkipTest("apt knows no source of Debian 12's packages")
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        apt(suite, directory, "apt-get", "update")
        depends = apt(suite, directory, "apt-cache", "depends", META_PACKAGE)
        package = re.search(rf"Depends: (linux-image-{re.escape(version)}\.\S+)", depends)
        if package is None:
            raise unittest.SkipTest(f"{suite} has no kernel {version}: {depends.strip()}")
        apt(suite, directory, "apt-get", "download", package[1])
        unpacked = os.path.join(directory, "unpacked")
        subprocess.run(["dpkg", "-x", *glob.glob(os.path.join(directory, "*.deb")), unpacked],
                       check=True)
        os.rename(glob.glob(os.path.join(unpacked, "boot", "vmlinuz-*"))[0], image)
    return image


# ---- the machine's file system ----

def libraries(program):
    """The paths of the shared libraries of a program, the loader among them."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def make_initramfs(directory):
    """One archive that every kernel boots; its path."""
    root = os.path.join(directory, "root")
    files = {"/bin/busybox": shutil.which("busybox"), "/probe": PROBE, "/deep": PROGRAM}
    for program in (PROBE, PROGRAM):
        files.update({library: library for library in libraries(program)})
    for path, source in files.items():
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(source), target)
    with open(os.path.join(root, "init"), "w") as f:
        f.write(INIT)
    os.chmod(os.path.join(root, "init"), 0o755)
    archive = os.path.join(directory, "initramfs.gz")
    subprocess.run(f"find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > {archive}",
                   shell=True, check=True, cwd=root)
    return archive


# ---- booting ----

def boot(image, initramfs):
    """Everything that the machine said on its console."""
    command = ["qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max,la57=off",
               "-smp", "2", "-m", "1024", "-kernel", image, "-initrd", initramfs,
               "-append", "console=ttyS0 quiet panic=-1", "-nographic", "-no-reboot",
               "-nodefaults", "-serial", "stdio"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=BOOT_SECONDS)
        return done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").decode(errors="replace") + "\n[out of time]"


def probe_on(image, initramfs):
    """What the probe found; boots again when the machine died before it had an answer."""
    for attempt in range(1, BOOTS_MAX + 1):
        said = boot(image, initramfs)
        answer = re.search(r"^probe (\{.*\})\s*$", said, re.MULTILINE)
        if answer is not None:
            return json.loads(answer[1]), attempt
    raise AssertionError(f"no answer in {BOOTS_MAX} boots; the last one said:\n{said[-3000:]}")


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.initramfs = make_initramfs(cls.directory.name)

    def walks_to_the_root_on(self, version):
        suite, variant = KERNELS[version]
        found, attempt = probe_on(kernel_image(version, suite), self.initramfs)
        print(f"\n{version}: {json.dumps(found)} (boot {attempt})", flush=True)
        self.assertNotIn("refused", found)
        self.assertTrue(found["kernel"].startswith(version + "."), found["kernel"])
        self.assertEqual(found["variant"], variant)
        self.assertGreaterEqual(found["samples"], 100)
        self.assertEqual(found["lost"], 0)
        return found

    def test_the_agent_sees_stacks_on_5_10(self):
        self.walks_to_the_root_on("5.10")

    def test_the_agent_sees_stacks_on_6_1(self):
        self.walks_to_the_root_on("6.1")

    def test_the_agent_sees_stacks_on_6_12(self):
        self.walks_to_the_root_on("6.12")


if __name__ == "__main__":
    why = missing()
    if why is not None:
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
