"""The README's first command: builds, profiles this machine, prints and serves the result."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

from fleet import TOP, main, wait_for

QUICKSTART = os.path.join(TOP, "quickstart")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def logs():
    """What coordinator and agent of the last run said."""
    state = os.path.join(TOP, "build", "quickstart", "state")
    text = ""
    for name in ("fleetprofd.log", "agent.log"):
        with open(os.path.join(state, name)) as log:
            text += f"\n{name}:\n{log.read()}"
    return text


class Quickstart(unittest.TestCase):
    def setUp(self):
        os.environ["FLEETPROF_PORT"] = str(free_port())

    def test_once_prints_the_ranking_and_ends(self):
        done = subprocess.run([QUICKSTART, "--once"], capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("[kernel]", done.stdout, done.stderr + logs())
        self.assertRegex(done.stdout, r"(?m)^.*\b(lost|loss)\b.*$")
        self.assertIn("flame", done.stdout)
        self.assertIn("fleetprof start", done.stdout)

    def test_json_prints_the_ranking_alone(self):
        started = time.monotonic()
        done = subprocess.run([QUICKSTART, "--once", "--json"], capture_output=True, text=True,
                              timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr)
        top = json.loads(done.stdout)
        print(f"second run: {time.monotonic() - started:.1f} s, of which 10 are the profile")
        self.assertGreater(top["samples"], 0, done.stderr + logs())
        kinds = {row["binary"] for row in top["rows"]}
        self.assertIn("[kernel]", kinds)
        self.assertTrue(kinds - {"[kernel]"})
        unnamed = [r for r in top["rows"] if "+0x" in r["key"][0]]
        self.assertLess(len(unnamed), len(top["rows"]) / 2)

    def test_it_serves_until_interrupted(self):
        with tempfile.TemporaryFile("w+") as out:
            quick = subprocess.Popen([QUICKSTART], stdout=out, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            try:
                url = wait_for("the address of the flame graph", lambda: self.address(out), 400)
                with urllib.request.urlopen(url, timeout=20) as page:
                    self.assertIn(b'id="data"', page.read())
                self.assertIsNone(quick.poll())
            finally:
                os.killpg(quick.pid, signal.SIGINT)
                status = quick.wait(30)
            self.assertEqual(status, 0)
            with self.assertRaises(OSError):
                urllib.request.urlopen(url, timeout=5)

    @staticmethod
    def address(out):
        out.seek(0)
        text = out.read()
        at = text.find("http://127.0.0.1:")
        if at < 0 or "Ctrl-C" not in text:
            return None
        return text[at:].split()[0]


if __name__ == "__main__":
    main()
