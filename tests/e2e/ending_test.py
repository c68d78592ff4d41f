"""The daemon ends quickly, with exit code 0, and without leaving anything behind."""

import os
import signal
import subprocess

import support
from support import PATCHBAY, Daemon, Kubelet, resource

CONFIG = (resource("example.com/null", 'path = "/dev/null"') +
          resource("example.com/seat", "count = 3"))
# Seconds. The process ends itself after less than two; a hang lasts until the end of the test.
LONGEST = 10.0


class Ending(support.TestCase):
    def assert_ended(self, daemon, number=signal.SIGTERM, by_force=False):
        """The daemon ends by itself before the shutdown deadline, unless `by_force` permits the deadline."""
        code, seconds = daemon.end(number)
        self.assertEqual(code, 0, daemon.err.text())
        self.assertLess(seconds, LONGEST)
        if not by_force and "ASAN_OPTIONS" not in os.environ:
            self.assertNotIn("shutdown timed out", daemon.err.text())
        self.assertEqual(self.plugin_sockets(), [])

    def test_stops_on_each_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), Kubelet(self.kubelet_dir) as kubelet, \
                    Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
                kubelet.wait_listed("example.com/null")
                kubelet.wait_listed("example.com/seat")
                self.assertEqual(len(self.plugin_sockets()), 2)
                self.assert_ended(daemon, number)
                kubelet.wait_view("example.com/null", lambda v: v["streams"] == 0)

    def test_stops_cleanly_on_repeated_signals(self):
        for _ in range(10):
            with Kubelet(self.kubelet_dir) as kubelet, \
                    Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
                kubelet.wait_listed("example.com/null")
                for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                    daemon.send(number)
                self.assertEqual(daemon.wait(), 0, daemon.err.text())
                self.assertEqual(self.plugin_sockets(), [])

    def test_stops_right_after_start(self):
        # Many resources, so that the start takes long enough to be interrupted.
        config = self.config("".join(resource(f"example.com/r{i}", "count = 1")
                                     for i in range(128)))
        self.kubelet_dir.mkdir()
        with Daemon(config, self.kubelet_dir) as daemon:
            daemon.err.wait("serving http")
            self.assert_ended(daemon, by_force=True)

    def test_stops_during_registration(self):
        config = self.config("".join(resource(f"example.com/r{i}", "count = 1")
                                     for i in range(50)))
        with Kubelet(self.kubelet_dir) as kubelet, Daemon(config, self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/r7")
            self.assert_ended(daemon)

    def test_stops_while_register_calls_hang(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            kubelet.ask("fault hang")
            with Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
                self.await_true(lambda: len(kubelet.ask("calls")["calls"]) == 2, "two calls")
                self.assert_ended(daemon)

    def test_stops_while_the_kubelet_is_stopped(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/null")
            kubelet.wait_listed("example.com/seat")
            kubelet.send(signal.SIGSTOP)
            try:
                self.assert_ended(daemon)
            finally:
                kubelet.send(signal.SIGCONT)

    def test_stops_after_a_kubelet_crash(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/null")
            kubelet.ask("crash")
            self.assert_ended(daemon)

    def test_keeps_files_of_other_processes(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/null")
            others = self.kubelet_dir / "other.sock"
            others.write_text("")
            self.assert_ended(daemon)
            self.assertTrue(others.exists())
            self.assertTrue((self.kubelet_dir / "kubelet.sock").exists())

    def test_next_run_removes_sockets_of_a_killed_run(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            with Daemon(self.config(CONFIG), self.kubelet_dir) as killed:
                kubelet.wait_listed("example.com/null")
                kubelet.wait_listed("example.com/seat")
                killed.send(signal.SIGKILL)
                killed.wait()
            left = self.plugin_sockets()
            self.assertEqual(len(left), 2)
            mark = kubelet.mark()
            with Daemon(self.config(CONFIG), self.kubelet_dir) as daemon:
                for name in ("example.com/null", "example.com/seat"):
                    kubelet.wait_view(name, lambda v: v["connected"] and
                                      os.path.basename(v["endpoint"]) not in left, since=mark)
                self.assertFalse(set(left) & set(self.plugin_sockets()))
                self.assert_ended(daemon)

    def test_keeps_running_after_its_log_reader_exits(self):
        read, write = os.pipe()
        config = self.config(CONFIG)
        with Kubelet(self.kubelet_dir) as kubelet:
            daemon = subprocess.Popen(
                [PATCHBAY, "run", "-c", config, "--kubelet-dir", self.kubelet_dir, "--listen",
                 "127.0.0.1:0"], stderr=write, env=support.environment())
            os.close(write)
            os.close(read)
            try:
                kubelet.wait_listed("example.com/null")
                kubelet.ask("stop")
                mark = kubelet.mark()
                kubelet.ask("start")
                kubelet.wait_listed("example.com/null", since=mark)
                daemon.send_signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(support.PATIENCE), 0)
            finally:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    support.main()
