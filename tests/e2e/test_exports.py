"""What other tools read from the exports is what `top` says."""
import json
import os
import re
import shutil
import subprocess
import unittest

from fleet import TOP, Fleet, main
from stacks import wait_for_names

# Installed by tests/run; see there.
NODE_MODULES = os.path.join(TOP, "build", "node_modules")


def plain(name):
    return re.sub(r" \((partial-)?inline\)$", "", name.strip())


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(Fleet(["h1"]))
        cls.fleet.start_coordinator()
        cls.fleet.start_agents()
        cls.fleet.burn("h1", 20, "alpha=40", "beta=20", "delta=10", "recurse=10:20")
        cls.session = cls.fleet.start_session("host=h1", "--for", "12s")
        cls.fleet.wait_session(cls.session)
        wait_for_names(cls.fleet, cls.session)  # the answers compared have the same ones
        cls.top = cls.fleet.query("top", "--session", cls.session, "--limit", "0")

    def export(self, form):
        path = os.path.join(self.fleet.directory, f"profile.{form}")
        self.fleet.cli("export", "--session", self.session, "--format", form, "-o", path)
        return path

    def test_go_pprof_gives_the_same_order_and_totals(self):
        if shutil.which("go") is None:
            self.skipTest("no go (package golang-go)")
        done = subprocess.run(
            ["go", "tool", "pprof", "-top", "-unit=ns", "-sample_index=cpu", "-nodecount=1000000",
             "-nodefraction=0", "-edgefraction=0", self.export("pprof")],
            check=True, capture_output=True, text=True,
            env={**os.environ, "HOME": self.fleet.directory, "PPROF_BINARY_PATH": "/nonexistent"})
        rows = re.findall(r"^\s*(\d+)(?:ns)?\s+[\d.]+%\s+[\d.]+%\s+(\d+)(?:ns)?\s+[\d.]+%\s+(.+)$",
                          done.stdout, re.M)
        theirs = {}
        for flat, cum, name in rows:  # a function that is inlined may have a row of its own
            before = theirs.get(plain(name), (0, 0))
            theirs[plain(name)] = (before[0] + int(flat), before[1] + int(cum))
        self.assertTrue(theirs, done.stdout)

        ours = {}
        for row in self.top["rows"]:  # pprof has one row a name, we one a name and binary
            flat, cum = ours.get(row["key"][0], (0, 0))
            ours[row["key"][0]] = (flat + row["self"]["weight_ns"], cum + row["total"]["weight_ns"])
        for name, (flat, cum) in ours.items():
            self.assertIn(name, theirs)
            self.assertAlmostEqual(theirs[name][0], flat, delta=max(2, flat * 1e-6))
        for name in ("alpha", "beta", "delta", "recurse", "main"):
            self.assertAlmostEqual(theirs[name][1], ours[name][1], delta=ours[name][1] * 1e-6 + 2)
        total = sum(flat for flat, _ in theirs.values())
        self.assertAlmostEqual(total, self.top["weight_ns"], delta=self.top["weight_ns"] * 1e-6)

        order = [row["key"][0] for row in self.top["rows"]][:3]
        self.assertEqual([plain(name) for _, _, name in rows][:3], order)

    def test_pprof_has_build_ids_mappings_and_the_period(self):
        if shutil.which("go") is None:
            self.skipTest("no go (package golang-go)")
        raw = subprocess.run(["go", "tool", "pprof", "-raw", self.export("pprof")], check=True,
                             capture_output=True, text=True,
                             env={**os.environ, "HOME": self.fleet.directory}).stdout
        period = int(re.search(r"^Period: (\d+)$", raw, re.M).group(1))
        self.assertAlmostEqual(period, 1e9 / 99, delta=1e6)
        mappings = raw[raw.index("Mappings"):]
        burn = next(line for line in mappings.splitlines() if "/burn" in line)
        self.assertRegex(burn, r"\b[0-9a-f]{40}\b")

    def test_speedscope_passes_its_schema(self):
        path = self.export("speedscope")
        with open(path) as f:
            profile = json.load(f)
        total = sum(sum(p["weights"]) for p in profile["profiles"])
        self.assertAlmostEqual(total, self.top["weight_ns"], delta=self.top["weight_ns"] * 1e-6)
        schema = os.path.join(NODE_MODULES, "speedscope", "dist", "release",
                              "file-format-schema.json")
        if not os.path.exists(schema):
            self.skipTest("speedscope's schema is not installed (tests/run does)")
        script = ("const Ajv=require('ajv');const fs=require('fs');"
                  "const ajv=new Ajv({strict:false});"
                  "const ok=ajv.compile(JSON.parse(fs.readFileSync(process.argv[1])));"
                  "if(!ok(JSON.parse(fs.readFileSync(process.argv[2])))){"
                  "console.error(ok.errors);process.exit(1)}")
        done = subprocess.run(["node", "-e", script, schema, path], capture_output=True, text=True,
                              env={**os.environ, "NODE_PATH": NODE_MODULES})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_collapsed_totals_are_equal(self):
        total, leaves = 0, {}
        with open(self.export("collapsed")) as f:
            for line in f:
                stack, weight = line.rsplit(" ", 1)
                leaf = stack.split(";")[-1]
                leaves[leaf] = leaves.get(leaf, 0) + int(weight)
                total += int(weight)
        self.assertAlmostEqual(total, self.top["weight_ns"], delta=self.top["weight_ns"] * 1e-6)
        alpha = next(r for r in self.top["rows"] if r["key"] == ["alpha"])
        self.assertAlmostEqual(leaves["alpha"], alpha["self"]["weight_ns"], delta=1000)

    def test_the_flame_page_holds_the_session(self):
        path = os.path.join(self.fleet.directory, "flame.html")
        self.fleet.cli("flame", "--session", self.session, "-o", path)
        with open(path) as f:
            page = f.read()
        data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
        flame = json.loads(data.group(1))
        self.assertAlmostEqual(flame["total"][0], self.top["weight_ns"],
                               delta=self.top["weight_ns"] * 1e-6)
        self.assertIn("alpha", flame["names"])
        self.assertNotRegex(page, r'(src|href)="https?:')


if __name__ == "__main__":
    main()
