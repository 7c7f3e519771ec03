"""Names from a debuginfod server: for old samples of a stripped program, whatever else the server
sends for others. The server is this file, run in the coordinator's network on loopback."""
import http.server
import os
import shutil
import subprocess
import sys
import unittest

from fleet import BURN, Fleet, main, wait_for

PORT = 8002
LIMIT = 8 << 20  # of a debug file; burn's has less


class Server(http.server.BaseHTTPRequestHandler):
    """Sends FOLDER/BUILD-ID, whatever it is; FOLDER/BUILD-ID.endless: bytes without end, or
    .silent: nothing. What is asked for goes to stdout."""
    folder = None

    def do_GET(self):
        ident = self.path.split("/")[2]
        path = os.path.join(self.folder, ident)
        print("asked", ident, flush=True)
        if os.path.exists(path + ".silent"):
            self.rfile.read()  # until the client has gone
        elif os.path.exists(path + ".endless"):
            self.send_response(200)
            self.end_headers()
            sent = 0
            try:
                while sent < 100 * LIMIT:
                    sent += self.wfile.write(b"\x7fELF" * 16384)
            except OSError:
                pass
            print("cut" if sent < 100 * LIMIT else "not cut", ident, flush=True)
        elif os.path.exists(path):
            self.send_response(200)
            self.end_headers()
            with open(path, "rb") as f:
                shutil.copyfileobj(f, self.wfile)
        else:
            self.send_error(404)

    def log_message(self, *_):
        pass


def serve(folder):
    Server.folder = folder
    print("serving", flush=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Server).serve_forever()


def names(top):
    return {row["key"][0] for row in top["rows"]}


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return text.split("Build ID: ")[1].split()[0]


class Programs:
    """Copies of burn, each with a build id of its own, stripped, with its debug file aside."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.folder = os.path.join(fleet.directory, "debug")
        os.mkdir(self.folder)

    def make(self, name):
        """Returns the stripped program, its build id and its debug file."""
        whole, debug, program = (os.path.join(self.fleet.directory, name + end)
                                 for end in (".whole", ".debug", ""))
        with open(BURN, "rb") as f:
            image = f.read()
        old = bytes.fromhex(build_id(BURN))
        new = (name.encode() * len(old))[:len(old)]
        assert image.count(old) == 1
        with open(whole, "wb") as f:
            f.write(image.replace(old, new))
        subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
        subprocess.run(["strip", "--strip-all", "-o", program, whole], check=True)
        os.chmod(program, 0o755)
        return program, new.hex(), debug

    def publish(self, path, ident):
        """At once or not at all, for the server may be asked at any moment."""
        shutil.copy(path, os.path.join(self.folder, ident + ".new"))
        os.rename(os.path.join(self.folder, ident + ".new"), os.path.join(self.folder, ident))

    def mark(self, ident, how):
        with open(os.path.join(self.folder, f"{ident}.{how}"), "w"):
            pass


class Debuginfod(unittest.TestCase):
    def sample(self, fleet, programs):
        """Runs them side by side; returns the session, ended."""
        for program in programs:
            burn = fleet.start(os.path.basename(program),
                               fleet.on_host("h1", [program, "60", "alpha=20"]))
            wait_for("the program to begin", burn.log)
        session = fleet.start_session("host=h1", "--for", "4s")
        fleet.wait_session(session)
        return session

    def counters(self, fleet):
        link = fleet.query("status")["link"]
        return {n.removeprefix("debuginfod_"): v for n, v in link.items() if n.startswith("debuginfod_")}

    def start_server(self, fleet, folder):
        server = fleet.start("debuginfod", [
            "nsenter", f"--net=/run/netns/{fleet.netns('hub')}", sys.executable,
            os.path.abspath(__file__), "--serve", folder])
        wait_for("the server", server.log)
        return server

    def configure(self, fleet):
        """Starts the coordinator with the server in its configuration."""
        path = os.path.join(fleet.directory, "fleetprofd.yaml")
        with open(path, "w") as f:
            f.write(f"debuginfod:\n  - http://127.0.0.1:{PORT}\ndebuginfod_bytes: {LIMIT}\n")
        return fleet.start_coordinator("--config", path)

    def top(self, fleet, session, comm):
        return fleet.query("top", "--session", session, "--select", f"comm={comm}", "--limit", "0")

    def test_a_server_names_old_samples_and_its_faults_are_bounded(self):
        with Fleet(["h1"]) as fleet:
            programs = Programs(fleet)
            good, good_id, good_debug = programs.make("good")
            wrong, wrong_id, _ = programs.make("wrong")
            endless, endless_id, _ = programs.make("endless")
            absent, absent_id, _ = programs.make("absent")
            programs.publish(good_debug, good_id)
            programs.publish(good_debug, wrong_id)
            programs.mark(endless_id, "endless")
            server = self.start_server(fleet, programs.folder)

            fleet.start_coordinator()  # without a server: nobody is asked
            fleet.start_agents()
            session = self.sample(fleet, [good, wrong, endless, absent])
            self.assertNotIn("alpha", names(self.top(fleet, session, "good")))
            self.assertEqual(set(self.counters(fleet).values()), {0})
            self.assertNotIn("asked", server.log())
            self.assertEqual(fleet.coordinator.stop(), 0)

            self.configure(fleet)
            for ident in (good_id, wrong_id, endless_id, absent_id):
                wait_for(f"{ident} to be asked for", lambda i=ident: f"asked {i}" in server.log(), 60)
            wait_for("the refusals", lambda: self.counters(fleet)["refused"] == 2)
            wait_for("the name", lambda: "alpha" in names(self.top(fleet, session, "good")))
            self.assertNotIn("alpha", names(self.top(fleet, session, "wrong")))
            self.assertIn(f"\ncut {endless_id}", server.log())
            wait_for("all answers", lambda: (c := self.counters(fleet))["asked"] == sum(
                v for n, v in c.items() if n != "asked"))

            listed = [t for t in fleet.query("symbols", "list", "--limit", "0")["tables"]
                      if t["origin"] == "debuginfod"]
            self.assertEqual([t["build_id"] for t in listed], [good_id])
            self.assertEqual(listed[0]["from"], f"http://127.0.0.1:{PORT}")
            log = server.log()
            for ident in (good_id, wrong_id, endless_id, absent_id):
                self.assertEqual(log.count(f"asked {ident}"), 1)
            left = os.listdir(os.path.join(fleet.directory, "store"))
            self.assertFalse([f for f in left if f.startswith("debuginfod")])
            print(f"{self.counters(fleet)}")

    def test_a_silent_server_holds_up_nothing(self):
        with Fleet(["h1"]) as fleet:
            programs = Programs(fleet)
            silent, silent_id, _ = programs.make("silent")
            server = self.start_server(fleet, programs.folder)
            self.configure(fleet)
            fleet.start_agents()
            programs.mark(silent_id, "silent")
            session = self.sample(fleet, [silent])
            wait_for("the question", lambda: f"asked {silent_id}" in server.log(), 60)
            self.assertTrue(self.top(fleet, session, "silent")["rows"])
            again = fleet.start_session("host=h1", "--for", "2s")
            fleet.wait_session(again)
            self.assertTrue(self.top(fleet, again, "silent")["rows"])
            self.assertEqual(fleet.coordinator.stop(), 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
