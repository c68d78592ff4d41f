"""The daemon below an init process. Below tini, as in the images: orphans do not stay zombies, signals are
forwarded, and the container ends with the exit code of the daemon. As a service of systemd: it is notified."""

import functools
import os
import pathlib
import re
import signal
import socket
import subprocess

import support
from support import PATCHBAY, Daemon, Kubelet, Process, resource

UNSHARE = ["unshare", "--pid", "--kill-child", "--mount-proc"]
DEVICES = 5
TINI = ["tini", "-s", "--"]
# Leaves a process in its group, which is killed with it, and one in a separate group.
PROBE = """#!/bin/sh
sleep 300 >/dev/null 2>&1 &
daemon=$(setsid --fork sh -c 'echo $$; exec sleep 0.2 >/dev/null 2>&1')
echo $! $daemon >>"$(dirname "$0")/left"
"""
CONFIG = resource("example.com/seat", f"count = {DEVICES}")


def skip_unless_namespaces():
    support.skip_unless_programs("unshare", "setsid", "tini")
    tried = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise support.unittest.SkipTest(f"unshare is not permitted: {tried.stderr.strip()}")


def only_child(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


class ContainedDaemon(Daemon):
    """`patchbay run` in a PID namespace, whose PID 1 is the first program of `wrapper`."""

    def __init__(self, config, kubelet_dir, wrapper=TINI):
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
        for wrapper in (TINI, []):
            with self.subTest(wrapper=wrapper), Kubelet(self.kubelet_dir) as kubelet, \
                    ContainedDaemon(self.config(CONFIG), self.kubelet_dir, wrapper) as daemon:
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


class AsService(support.TestCase):
    """sd_notify(3)."""

    def bind(self, address):
        """The socket of a service manager at this address."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(bound.close)
        bound.settimeout(support.PATIENCE)
        bound.bind(address)
        return lambda: bound.recv(4096).decode()

    def service(self, name, config=CONFIG, *more, **env):
        return Daemon(self.config(config), self.kubelet_dir, *more, NOTIFY_SOCKET=name, **env)

    def test_notifies_when_its_loop_runs_and_when_it_ends(self):
        path, abstract = str(self.dir / "notify"), f"patchbay-{os.getpid()}"
        for address, name in ((path, path), (f"\0{abstract}", f"@{abstract}")):
            receive = self.bind(address)
            with self.subTest(name=name), self.service(name, "not TOML", "--wait-for-config") as daemon:
                self.assertEqual(receive(), "READY=1")
                daemon.err.wait("waiting for a valid configuration")
                self.assertEqual(daemon.end()[0], 0)
                self.assertEqual(receive(), "STOPPING=1")

    def test_notifies_the_watchdog(self):
        path = str(self.dir / "notify")
        receive = self.bind(path)
        with self.service(path, WATCHDOG_USEC="300000") as daemon:
            self.assertEqual([receive() for _ in range(6)], ["READY=1"] + 5 * ["WATCHDOG=1"])
            self.assertEqual(daemon.end()[0], 0)

    def test_does_not_notify_the_watchdog_of_another_process(self):
        path = str(self.dir / "notify")
        receive = self.bind(path)
        with self.service(path, WATCHDOG_USEC="1000", WATCHDOG_PID="1") as daemon:
            daemon.address()
            self.assertEqual(daemon.end()[0], 0)
            self.assertEqual([receive(), receive()], ["READY=1", "STOPPING=1"])

    def test_runs_without_the_socket(self):
        with self.service(str(self.dir / "none")) as daemon:
            daemon.address()
            self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    support.main()
