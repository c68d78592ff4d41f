"""The daemon as PID 1, as in a container whose image has no init: orphans do not stay
zombies, signals are forwarded, and the container ends with the exit code of the daemon."""

import functools
import os
import pathlib
import re
import signal
import subprocess

import support
from support import PATCHBAY, Daemon, Kubelet, Process, resource

UNSHARE = ["unshare", "--pid", "--kill-child", "--mount-proc"]
DEVICES = 5
WATCHDOG = 90.0  # seconds; it waits for 30 until it kills
# Leaves a process in its group, which is killed with it, and one in a separate group.
PROBE = """#!/bin/sh
sleep 300 >/dev/null 2>&1 &
daemon=$(setsid --fork sh -c 'echo $$; exec sleep 0.2 >/dev/null 2>&1')
echo $! $daemon >>"$(dirname "$0")/left"
"""
CONFIG = resource("example.com/seat", f"count = {DEVICES}")


def skip_unless_namespaces():
    support.skip_unless_programs("unshare", "setsid")
    tried = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise support.unittest.SkipTest(f"unshare is not permitted: {tried.stderr.strip()}")


def stop(pid):
    """Sends SIGSTOP and waits until every thread has stopped."""
    os.kill(pid, signal.SIGSTOP)
    states = set()
    while states != {"T"}:
        try:
            states = {re.match(r"\d+ \(.*\) (.)", stat.read_text(), re.DOTALL)[1]
                      for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")}
        except (FileNotFoundError, ProcessLookupError):  # a thread has just ended
            pass


def only_child(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


class ContainedDaemon(Daemon):
    """`patchbay run` as PID 1 of a PID namespace."""

    def __init__(self, config, kubelet_dir, *wrapper):
        Process.__init__(self, [*UNSHARE, *wrapper, PATCHBAY, "run", "--config", str(config),
                                "--kubelet-dir", str(kubelet_dir), "--listen", "127.0.0.1:0"])

    @functools.cached_property
    def init(self):
        """The host PID of PID 1, when the daemon is ready."""
        self.address()
        return only_child(self.process.pid)

    def send(self, number):
        os.kill(self.init, number)

    def processes(self):
        """The states of all processes in the namespace, by their IDs there."""
        states = {}
        for stat in pathlib.Path(f"/proc/{self.init}/root/proc").glob("[0-9]*/stat"):
            try:
                pid, state = re.match(r"(\d+) \(.*\) (.)", stat.read_text(), re.DOTALL).groups()
            except (FileNotFoundError, ProcessLookupError):
                continue
            states[int(pid)] = state
        return states

    def probes(self):
        return sum(int(n) for n in re.findall(r"^patchbay_probes_total{.*} (\d+)$",
                                              self.get("/metrics")[1], re.MULTILINE))


class AsInit(support.TestCase):
    def setUp(self):
        skip_unless_namespaces()
        super().setUp()

    def test_reaps_orphans(self):
        probe = self.dir / "probe"
        probe.write_text(PROBE)
        probe.chmod(0o755)
        config = self.config(
            CONFIG + f'[resource.health]\ncommand = ["{probe}"]\nperiod = "1s"\ntimeout = "20s"\n')
        with ContainedDaemon(config, self.kubelet_dir) as daemon:
            self.await_true(lambda: daemon.probes() >= DEVICES, "every device is probed")
            left = {int(pid) for pid in (self.dir / "left").read_text().split()}
            self.assertGreaterEqual(len(left), 2 * DEVICES)

            def all_reaped():
                states = daemon.processes()
                return left.isdisjoint(states) and "Z" not in states.values()

            self.await_true(all_reaped, "leftover processes are reaped")

    def test_stops_on_sigterm(self):
        for wrapper in ([], ["env", "--ignore-signal=CHLD"]):
            with self.subTest(wrapper=wrapper), Kubelet(self.kubelet_dir) as kubelet, \
                    ContainedDaemon(self.config(CONFIG), self.kubelet_dir, *wrapper) as daemon:
                kubelet.wait_listed("example.com/seat")
                self.assertEqual(len(self.plugin_sockets()), 1)
                self.assertEqual(daemon.end()[0], 0, daemon.err.text())
                self.assertEqual(self.plugin_sockets(), [])

    def test_returns_the_exit_code_of_a_killed_daemon(self):
        with ContainedDaemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            os.kill(only_child(daemon.init), signal.SIGKILL)
            self.assertEqual(daemon.wait(), 128 + signal.SIGKILL)

    def test_forwards_sigusr1(self):
        with ContainedDaemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            daemon.send(signal.SIGUSR1)
            daemon.err.wait("rescanning devices after SIGUSR1")

    def test_replaces_a_stopped_process(self):
        """During that time, the kubelet waits for an Allocate call without a deadline."""
        with Kubelet(self.kubelet_dir) as kubelet, \
                ContainedDaemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            first = kubelet.wait_listed("example.com/seat")
            stopped = only_child(daemon.init)
            stop(stopped)
            mark = kubelet.mark()
            self.assertFalse(kubelet.ask("admit a c example.com/seat 1", timeout=WATCHDOG)["ok"])
            daemon.err.wait("process was stopped or its loop hung; killed it, starting a new one "
                            "kills=1")
            kubelet.wait_view("example.com/seat", lambda v: v["connected"] and
                              v["endpoint"] != first["endpoint"] and v["allocatable"] == DEVICES,
                              since=mark)
            self.assertNotEqual(only_child(daemon.init), stopped)
            self.assertTrue(kubelet.ask("admit b c example.com/seat 1")["ok"])
            _, line = daemon.err.wait("serving http", start=self.line_of(daemon, "kills=1"))
            address = line.rsplit("address=", 1)[1].strip()
            self.assertIn("\npatchbay_watchdog_kills_total 1\n",
                          support.get(address, "/metrics")[1])
            self.assertEqual(daemon.end()[0], 0, daemon.err.text())

    def line_of(self, daemon, text):
        return daemon.err.wait(text)[0]

    def test_kills_a_stopped_process_on_sigterm(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                ContainedDaemon(self.config(CONFIG), self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/seat")
            stop(only_child(daemon.init))
            self.assertEqual(daemon.end()[0], 128 + signal.SIGKILL)
            self.assertIn("killed it, exiting kills=1", daemon.err.text())


if __name__ == "__main__":
    support.main()
