"""The two pages in a headless browser, on data whose sums are known."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ.get("FLEETPROF_BUILD", "build/debug")
PAGE = os.path.join(BUILD, "coordinator", "web", "flame.html")
PLACEHOLDER = "<!--FLEETPROF-DATA-->"
SKIPPED = 77  # what ctest takes for a skip
S = 10**9

COVERAGE = {"from": "2026-11-30T21:00:00.000Z", "to": "2026-11-30T21:00:10.000Z",
            "hosts_wanted": 3, "hosts_covered": 2, "covered_share": 0.8, "samples": 990,
            "hz_min": 99, "hz_max": 99, "lost_share": 0.01}


def profile(**changes):
    """main calls work, which recurses once and calls a kernel function: 10 s over a window of 10 s."""
    data = {"event": "cpu", "title": "a made-up window",
            "names": ["main", "work", "sys_read", "</script><b>evil"],
            "binaries": ["/usr/bin/a", "/usr/bin/a", "[kernel]", None],
            "kinds": ["native", "native", "kernel", "mark"],
            "parent": [0, 0, 1, 2, 2, 1], "function": [-1, 0, 1, 1, 2, 3],
            "self": [0, 0, 4 * S, 3 * S, 2 * S, 1 * S],
            "total": [10 * S, 10 * S, 9 * S, 3 * S, 2 * S, 1 * S],
            "window_ns": 10 * S, "coverage": COVERAGE}
    data.update(changes)
    return data


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="fleetprof-page-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def render(self, data, script=""):
        """The document as it is after `script` ran in the page with that data."""
        with open(PAGE) as f:
            source = f.read()
        self.assertEqual(source.count(PLACEHOLDER), 1)
        text = json.dumps(data).replace("<", "\\u003c") if data is not None else None
        element = f'<script id="data" type="application/json">{text}</script>' if text else ""
        source = source.replace(PLACEHOLDER, element)
        if script:
            source = source.replace("</body>", f"<script>setTimeout(() => {{{script}}}, 50)</script></body>")
        return self.dump(source)

    def dump(self, source):
        path = os.path.join(self.directory, "page.html")
        with open(path, "w") as f:
            f.write(source)
        done = subprocess.run(
            [browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,700",
             f"--user-data-dir={self.directory}/profile", "--virtual-time-budget=5000",
             "--dump-dom", "file://" + path], capture_output=True, text=True, timeout=90)
        self.assertIn("<html", done.stdout, done.stderr[-2000:])
        return done.stdout

    def rows(self, document):
        """The table's cells, a list a row."""
        body = re.search(r'<table id="table">.*?<tbody>(.*?)</tbody>', document, re.S).group(1)
        return [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.S)]
                for row in re.findall(r"<tr.*?</tr>", body, re.S)]

    def assert_shows(self, text, document):
        """Without printing the whole page when it does not."""
        if text not in document:
            self.fail(f"{text!r} is not in the page")

    def assert_ready(self, document, value="true"):
        self.assertRegex(document, f'<html[^>]*data-ready="{value}"')

    def test_the_table_has_self_and_total_and_counts_recursion_once(self):
        document = self.render(profile())
        self.assert_ready(document)
        self.assertEqual(self.rows(document), [
            ["work", "0.700", "70.0%", "0.900", "90.0%"],
            ["sys_read", "0.200", "20.0%", "0.200", "20.0%"],
            ["&lt;/script&gt;&lt;b&gt;evil", "0.100", "10.0%", "0.100", "10.0%"],
            ["main", "0", "0.00%", "1.000", "100.0%"]])

    def test_coverage_says_what_is_missing(self):
        document = self.render(profile())
        line = re.search(r'<div id="coverage">(.*?)</div></div>', document, re.S).group(1)
        for part in ("2 of 3 hosts", "990 samples at 99 Hz", "1.00% lost", "80.0% of the window"):
            self.assertIn(part, line)
        self.assertEqual(line.count('class="warn"'), 3)

    def test_zoom_search_and_the_way_back(self):
        click = "byId('stage').dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: 5, clientY: " \
                "byId('stage').getBoundingClientRect().top + 2.5 * ROW_HEIGHT}));"
        search = "byId('search').value = 'read'; byId('search').dispatchEvent(new Event('input'));"
        document = self.render(profile(), click)
        self.assertEqual(self.rows(document)[0], ["work", "0.700", "77.8%", "0.900", "100.0%"])
        self.assert_shows("aria-current", document)
        document = self.render(profile(), search)
        self.assertEqual([row[0] for row in self.rows(document)], ["sys_read"])
        self.assertRegex(document, r'id="found"[^>]*><b>20.0%, 0.200 cores</b>')
        escape = "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));"
        document = self.render(profile(), search + click + escape + escape + escape)
        self.assertEqual(self.rows(document), self.rows(self.render(profile())))

    def test_a_bad_expression_is_said_to_be_one(self):
        document = self.render(profile(), "byId('search').value = '('; byId('regex').click();"
                                          "byId('search').dispatchEvent(new Event('input'));")
        self.assert_shows("not a regular expression", document)
        self.assertEqual(len(self.rows(document)), 4)

    def test_a_difference_keeps_what_vanished_and_tells_noise_from_change(self):
        document = self.render(profile(
            self_b=[0, 0, 8 * S, 6 * S, 0, 1.02 * S], total_b=[0] * 6, window_b_ns=10 * S,
            coverage_b=COVERAGE | {"samples": 1500}))
        self.assertEqual(self.rows(document), [
            ["work", "0.700", "1.400", "+0.700", "+0.500"],
            ["sys_read", "0.200", "0", "−0.200", "−0.200"],
            ["&lt;/script&gt;&lt;b&gt;evil", "0.100", "0.102", "+0.002", "+0.002"],
            ["main", "0", "0", "0", "+0.502"]])
        changes = re.findall(r'<td class="number (more|less|soft)">', document)
        self.assertEqual(changes, ["more", "less", "soft", "soft"])

    def test_a_node_of_one_side_alone_is_as_wide_as_it_was(self):
        document = self.render(
            profile(self_b=[0] * 6, total_b=[0] * 6, window_b_ns=10 * S, coverage_b=COVERAGE),
            "const m = new FlameModel(JSON.parse(byId('data').textContent));"
            "document.body.dataset.widths = [...m.width].map((w) => w.toFixed(6)).join(); m.layOut('b');"
            "document.body.dataset.widthsB = [...m.width].map((w) => w.toFixed(6)).join();")
        self.assert_shows('data-widths="1.000000,1.000000,0.900000,0.300000,0.200000,0.100000"', document)
        zeros = ",".join(["0.000000"] * 6)
        self.assert_shows(f'data-widths-b="{zeros}"', document)

    def test_nothing_broken_and_lying_data_are_answered_in_words(self):
        nothing = profile(parent=[0], function=[-1], self=[0], total=[0])
        self.assert_shows("No samples here", self.render(nothing))
        for data, why in ((None, "carries no data"),
                          (profile(self=[1]), "different lengths"),
                          (profile(parent=[0, 0, 1, 2, 5, 1]), "comes before its parent")):
            document = self.render(data)
            self.assert_ready(document, "failed")
            self.assert_shows(why, document)

    def test_the_overview_links_each_session_to_its_pictures(self):
        answers = {
            "status": {"version": "0.1.0", "agents": {"known": 2, "connected": 1}, "sessions":
                       {"running": 1, "total": 1}, "store": {"catalog_bytes": 1, "chunk_bytes": 2},
                       "ingest": {"samples": 1234}},
            "sessions": {"sessions": [{"id": "00ff", "selector": "", "hz": 99, "owner": "root",
                                       "state": "running", "created": COVERAGE["from"], "samples": 7,
                                       "lost": 0, "hosts": [{"host": "h1", "reason": ""}]}]},
            "agents": {"agents": []}}
        with open(os.path.join(BUILD, "coordinator", "web", "index.html")) as f:
            source = f.read()
        fake = f"const canned = {json.dumps(answers)}; window.fetch = async (path) => " \
               "({ok: true, json: async () => canned[path.split('/').pop()]});"
        document = self.dump(source.replace("</main>", f"</main><script>{fake}</script>"))
        self.assert_ready(document)
        self.assert_shows("1 of 2 agents connected", document)
        self.assert_shows('href="/flame?session=00ff"', document)
        self.assert_shows('href="/api/v1/export?session=00ff&amp;format=pprof"', document)
        self.assertRegex(document, r'<p class="empty soft">No agent has said hello')

    def test_it_asks_nobody_for_anything(self):
        for page in ("flame.html", "index.html"):
            with open(os.path.join(BUILD, "coordinator", "web", page)) as f:
                text = f.read()
            self.assertNotRegex(text, r"(src|href|action)=\"(https?:)?//")
            self.assertNotRegex(text, r"url\(|@import|<link rel=\"stylesheet\"|<script src")
            self.assertIn("default-src 'none'", text)


def main():
    if browser() is None:
        print("SKIPPED: no chromium here (package chromium)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
