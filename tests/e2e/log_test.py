"""A log that is not read does not block Patchbay, and dropped lines are reported."""

import fcntl
import itertools
import os
import re
import signal
import subprocess
import time

import support
from support import PATCHBAY, Kubelet, health, resource

# Seconds. The process ends itself after less than two; a hang lasts until the end of the test.
LONGEST = 10.0
LOUD = 6
# Prints as much as is kept of it, in bytes that the log escapes.
HOOK = """#!/bin/sh
head -c 1000 /dev/zero | tr '\\0' '\\1'
exit 1
"""


class StalledDaemon:
    """`patchbay run`, whose log is read only up to its first line and is then full."""

    def __init__(self, test, *arguments):
        self.read, write = os.pipe()
        test.addCleanup(os.close, self.read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        self.process = subprocess.Popen(
            [PATCHBAY, "run", "--listen", "127.0.0.1:0", "--log-level", "debug", *arguments],
            stderr=write, env=support.environment())
        test.addCleanup(self._kill)
        self.text = ""
        self.address = self._read_until(r"serving http address=(\S+)")[1]
        # Another open file description, so that the flags of the daemon's one do not change.
        filler = os.open(f"/proc/self/fd/{write}", os.O_WRONLY | os.O_NONBLOCK)
        os.close(write)
        try:
            while True:
                os.write(filler, b"." * 4096)
        except BlockingIOError:
            pass
        os.close(filler)

    def _kill(self):
        self.process.kill()
        self.process.wait()

    def _read_until(self, pattern):
        while not (found := re.search(pattern, self.text)):
            part = os.read(self.read, 4096)
            if not part:
                raise AssertionError(f"{pattern} never came; there was:\n{self.text[-4000:]}")
            self.text += part.decode(errors="replace")
        return found

    def dropped(self):
        text = support.get(self.address, "/metrics")[1]
        return int(re.search(r"^patchbay_log_lines_dropped_total (\d+)$", text, re.M)[1])

    def read_report(self):
        """The number of dropped lines that the log reports."""
        return int(self._read_until(r"warning log lines dropped count=(\d+)\n")[1])

    def end(self):
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(support.PATIENCE), time.monotonic() - start


class StalledLog(support.TestCase):
    def setUp(self):
        support.skip_unless_device_nodes()
        super().setUp()
        self.dev = self.dir / "host/dev"
        self.dev.mkdir(parents=True)
        self.node("card0")

    def node(self, name):
        support.make_node(self.dev / name)

    def start(self, kubelet, more=""):
        config = self.config(resource("example.com/card", 'path = "/dev/card*"') + more)
        daemon = StalledDaemon(self, "--config", config, "--kubelet-dir", self.kubelet_dir,
                               "--host-root", self.dir / "host")
        kubelet.wait_listed("example.com/card")
        return daemon

    def test_does_not_block_the_daemon(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            daemon = self.start(kubelet)
            self.assertTrue(kubelet.ask("admit a c example.com/card 1")["ok"])
            mark = kubelet.mark()
            self.node("card1")
            kubelet.wait_view("example.com/card", lambda v: health(v).get("card1") == "Healthy",
                              since=mark)
            self.assertEqual(support.get(daemon.address, "/healthz")[0], 200)
            code, seconds = daemon.end()
            self.assertEqual(code, 0)
            self.assertLess(seconds, LONGEST)
            self.assertEqual(self.plugin_sockets(), [])

    def test_drops_and_counts_lines(self):
        hook = self.dir / "hook"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        names = [f"example.com/loud{i}" for i in range(LOUD)]
        more = "".join(
            resource(name, "count = 1") + f'[resource.hooks.allocate]\ncommand = ["{hook}"]\n'
            for name in names)
        with Kubelet(self.kubelet_dir) as kubelet:
            daemon = self.start(kubelet, more)
            for name in names:
                kubelet.wait_listed(name)
            pods = itertools.count()
            while (dropped := daemon.dropped()) == 0:
                for pod in itertools.islice(pods, 100):
                    # Not the same line again, which would be skipped.
                    self.assertFalse(kubelet.ask(f"admit p{pod} c {names[pod % LOUD]} 1")["ok"])
            self.assertEqual(daemon.read_report(), dropped)
            # There is space again: the next line is written, and no other is dropped.
            daemon.process.send_signal(signal.SIGUSR1)
            daemon._read_until("rescanning devices after SIGUSR1")
            self.assertEqual(daemon.dropped(), dropped)
            self.assertEqual(daemon.end()[0], 0)


class NoThread(support.TestCase):
    """A user other than root, for whom the kernel limits processes and threads."""

    @staticmethod
    def without_leaks():
        """Leak detection needs a thread."""
        options = os.environ.get("ASAN_OPTIONS")
        return options and f"{options}:detect_leaks=0"

    def test_stops_in_time(self):
        support.skip_unless_root()
        support.skip_unless_programs("setpriv", "prlimit")
        os.chmod(self.dir, 0o755)
        self.kubelet_dir.mkdir()
        os.chown(self.kubelet_dir, 54321, 54321)
        config = self.config(resource("example.com/seat", "count = 1"))
        user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--inh-caps=-all",
                "--bounding-set=-all"]
        daemon = support.Process([*user, PATCHBAY, "run", "--config", str(config), "--kubelet-dir",
                                  str(self.kubelet_dir), "--listen", "127.0.0.1:0"],
                                 env=support.environment(ASAN_OPTIONS=self.without_leaks()))
        with daemon:
            daemon.err.wait("serving http")
            # prlimit needs a capability of root that containers rarely have; the user itself needs none.
            subprocess.run([*user, "prlimit", f"--pid={daemon.process.pid}", "--nproc=1:1"],
                           check=True)
            start = time.monotonic()
            daemon.send(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0, daemon.err.text())
            self.assertLess(time.monotonic() - start, LONGEST)

    def test_reports_a_fatal_error_at_start(self):
        support.skip_unless_root()
        support.skip_unless_programs("setpriv", "prlimit")
        os.chmod(self.dir, 0o755)
        config = self.config(resource("example.com/seat", "count = 1"))
        daemon = support.Process(["prlimit", "--nproc=1:1", "setpriv", "--reuid=54321",
                                  "--regid=54321", "--clear-groups", "--inh-caps=-all",
                                  "--bounding-set=-all", PATCHBAY, "run", "--config", str(config),
                                  "--kubelet-dir", str(self.kubelet_dir), "--listen",
                                  "127.0.0.1:0"])
        with daemon:
            self.assertEqual(daemon.wait(), 1, daemon.err.text())
            self.assertIn("fatal error", daemon.err.text())


class Descriptors(support.TestCase):
    def run_limited(self, limit, *arguments):
        return support.Process(["prlimit", f"--nofile={limit}", PATCHBAY, "run", "--config",
                                str(self.config_path), "--kubelet-dir", str(self.kubelet_dir),
                                "--listen", "127.0.0.1:0", *arguments])

    def setUp(self):
        support.skip_unless_programs("prlimit")
        super().setUp()
        self.config_path = self.config(resource("example.com/seat", "count = 1"))

    def test_reports_a_low_limit_in_one_line(self):
        for limit in (10, 12, 16, 20, 24, 30, 40, 64, 100):
            with self.subTest(limit=limit), self.run_limited(f"{limit}:{limit}") as daemon:
                self.assertEqual(daemon.wait(), 1, daemon.err.text())
                self.assertRegex(daemon.err.text(),
                                 rf"^patchbay: too few file descriptors: .* need \d+, and the limit "
                                 rf"of this process is {limit}; raise it .*\Z")

    def test_raises_the_soft_limit(self):
        seats = [f"example.com/r{i}" for i in range(40)]
        self.config_path.write_text("".join(resource(name, "count = 1") for name in seats))
        with Kubelet(self.kubelet_dir) as kubelet, self.run_limited("64:4096") as daemon:
            for name in seats:
                kubelet.wait_listed(name)
            daemon.send(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0, daemon.err.text())

    def test_limit_of_754_allows_120_resources(self):
        names = [f"example.com/r{i}" for i in range(121)]
        self.config_path.write_text("".join(resource(name, "count = 1") for name in names))
        with self.run_limited("754:754") as daemon:
            self.assertEqual(daemon.wait(), 1, daemon.err.text())
            self.assertIn("too few file descriptors: 121 ", daemon.err.text())
        del names[-1]
        self.config_path.write_text("".join(resource(name, "count = 1") for name in names))
        with Kubelet(self.kubelet_dir) as kubelet, self.run_limited("754:754") as daemon:
            for name in names:
                kubelet.wait_listed(name)
            self.assertTrue(kubelet.ask(f"admit a c {names[-1]} 1")["ok"])
            daemon.send(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0, daemon.err.text())

    def test_start_fails_with_too_many_resources(self):
        seats = "".join(resource(f"example.com/r{i}", "count = 1") for i in range(100))
        self.config_path.write_text(seats)
        with self.run_limited("300:300") as daemon:
            self.assertEqual(daemon.wait(), 1, daemon.err.text())
            self.assertRegex(daemon.err.text(), "cannot start .*too few file descriptors: 100 ")

    def test_reload_with_too_many_resources_is_rejected(self):
        with Kubelet(self.kubelet_dir) as kubelet, self.run_limited("300:300") as daemon:
            kubelet.wait_listed("example.com/seat")
            self.config_path.write_text("".join(
                resource(f"example.com/r{i}", "count = 1") for i in range(100)))
            daemon.send(signal.SIGHUP)
            daemon.err.wait("too few file descriptors: 100 ")
            self.assertTrue(kubelet.ask("admit a c example.com/seat 1")["ok"])
            daemon.send(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0, daemon.err.text())

    def test_opens_closed_standard_descriptors(self):
        """Otherwise a socket would become stderr and receive the log."""
        with Kubelet(self.kubelet_dir) as kubelet:
            daemon = subprocess.Popen(
                ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", PATCHBAY, "run", "--config",
                 self.config_path, "--kubelet-dir", self.kubelet_dir, "--listen", "127.0.0.1:0"],
                env=support.environment())
            try:
                kubelet.wait_listed("example.com/seat")
                for fd in range(3):
                    self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/{fd}"), "/dev/null")
                daemon.send_signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(support.PATIENCE), 0)
            finally:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    support.main()
