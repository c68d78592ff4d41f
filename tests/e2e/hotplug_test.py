"""Devices that are added and removed: of the real kernel, and in a temporary tree."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

import support
from devices import Loop
from support import PATCHBAY, Daemon, Kubelet, health, resource

# Without the periodic scan, so that only events cause scans.
BLIND = '[daemon]\nrescan = "24h"\n'
NETLINK_KOBJECT_UEVENT = 15


def block_device(node, attribute=""):
    """A match that finds a block device by its kernel properties, without udev."""
    attributes = f", attributes = {{ {attribute} }}" if attribute else ""
    return (f'udev = {{ subsystem = "block", properties = {{ DEVNAME = "{node}" }}{attributes} }}')


def kernel_event_sockets(pid):
    """The sockets of a process that receive kernel events."""
    own = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(os.readlink(fd))
        except FileNotFoundError:
            pass
    table = pathlib.Path(f"/proc/{pid}/net/netlink").read_text()
    rows = [row.split() for row in table.splitlines()]
    kind, inode = rows[0].index("Eth"), rows[0].index("Inode")
    return [row for row in rows[1:]
            if row[kind] == str(NETLINK_KOBJECT_UEVENT) and f"socket:[{row[inode]}]" in own]


class Zram:
    """A block device in memory that can be added and removed, with a free number."""
    CONTROL = pathlib.Path("/sys/class/zram-control")

    def __init__(self, test):
        support.skip_unless_root()
        if not self.CONTROL.exists():
            raise unittest.SkipTest("the kernel has no zram")
        before = set(pathlib.Path("/dev").glob("zram*"))
        self.numbers = []
        self.add()
        test.addCleanup(lambda: [self.remove() for _ in list(self.numbers)])
        self.name = f"zram{self.numbers[-1]}"
        self.node = f"/dev/{self.name}"
        self.remove()
        test.assertEqual(set(pathlib.Path("/dev").glob("zram*")), before)

    def add(self):
        self.numbers.append((self.CONTROL / "hot_add").read_text().strip())

    def remove(self):
        (self.CONTROL / "hot_remove").write_text(self.numbers.pop())

    def set(self, attribute, value):
        """Also makes the kernel send a "change" event."""
        (pathlib.Path("/sys/block") / self.name / attribute).write_text(value)
        (pathlib.Path("/sys/block") / self.name / "uevent").write_text("change")


class Hotplug(support.TestCase):
    def watch(self, name, text, *more):
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(self.config(BLIND + text), self.kubelet_dir, *more))
        view = kubelet.wait_listed(name)
        return kubelet, daemon, view

    def assert_follows(self, name, id, kubelet, add, remove):
        for _ in range(2):
            mark = kubelet.mark()
            add()
            kubelet.wait_view(name, lambda v: health(v).get(id) == "Healthy", since=mark)
            self.assertTrue(kubelet.ask(f"admit p{mark} c {name} 1")["ok"])
            kubelet.ask(f"release p{mark}")
            mark = kubelet.mark()
            remove()
            view = kubelet.wait_view(name, lambda v: health(v).get(id) == "Unhealthy", since=mark)
            self.assertEqual(view["allocatable"], 0)
            self.assertFalse(kubelet.ask(f"admit q{mark} c {name} 1")["ok"])

    def test_path_match_follows_a_loop_device(self):
        probe = Loop()  # skips the test without loop devices
        probe.remove()
        if os.path.exists(probe.path):
            self.skipTest("loop devices cannot be removed")
        loops = []
        self.addCleanup(lambda: [loop.remove() for loop in loops])
        kubelet, _, view = self.watch("example.com/loop", resource(
            "example.com/loop", f"regex = '/dev/loop(?P<number>{probe.number})'"))
        self.assertEqual(view["devices"], [])
        self.assert_follows("example.com/loop", f"loop{probe.number}", kubelet,
                                   add=lambda: loops.append(Loop(probe.number)),
                                   remove=lambda: loops.pop().remove())

    def test_udev_match_follows_a_loop_device(self):
        probe = Loop()
        probe.remove()
        if os.path.exists(probe.path):
            self.skipTest("loop devices cannot be removed")
        loops = []
        self.addCleanup(lambda: [loop.remove() for loop in loops])
        kubelet, _, _ = self.watch("example.com/loop", resource(
            "example.com/loop", block_device(probe.path)))
        self.assert_follows("example.com/loop", f"loop{probe.number}", kubelet,
                                   add=lambda: loops.append(Loop(probe.number)),
                                   remove=lambda: loops.pop().remove())

    def assert_follows_zram(self, match):
        zram = Zram(self)
        kubelet, _, _ = self.watch("example.com/zram", resource("example.com/zram", match(zram)))
        self.assert_follows("example.com/zram", zram.name, kubelet, zram.add, zram.remove)

    def test_path_match_follows_a_zram_device(self):
        self.assert_follows_zram(lambda zram: f'path = "{zram.node}"')

    def test_udev_match_follows_a_zram_device(self):
        self.assert_follows_zram(lambda zram: block_device(zram.node))

    def test_exclusive_resource_takes_a_newly_matching_device(self):
        """Only a kernel event reports the change: the node does not change."""
        zram = Zram(self)
        zram.add()
        free, taken = {zram.name: "Healthy"}, {zram.name: "Unhealthy"}
        kubelet, _, _ = self.watch("example.com/any", (
            resource("example.com/any", f'path = "{zram.node}"') +
            resource("example.com/large", block_device(zram.node, 'disksize = "1048576"'),
                     "exclusive = true")))
        kubelet.wait_view("example.com/any", lambda v: health(v) == free)
        self.assertEqual(kubelet.wait_listed("example.com/large")["devices"], [])
        zram.set("disksize", "1M")
        kubelet.wait_view("example.com/large", lambda v: health(v) == free)
        mark = kubelet.mark()
        if health(kubelet.view("example.com/any")) != taken:
            kubelet.wait_view("example.com/any", lambda v: health(v) == taken, since=mark)
        mark = kubelet.mark()
        zram.set("reset", "1")
        kubelet.wait_view("example.com/any", lambda v: health(v) == free, since=mark)

    def test_follows_a_terminal_behind_a_link(self):
        """Like those of socat."""
        link = self.dir / "modem"
        terminals = []

        def add():
            terminals.append(os.openpty())
            link.symlink_to(os.ttyname(terminals[-1][1]))

        def remove():
            for fd in terminals.pop():
                os.close(fd)
            link.unlink()

        add()
        self.addCleanup(lambda: [remove() for _ in list(terminals)])
        remove()
        kubelet, _, _ = self.watch("example.com/modem",
                                   resource("example.com/modem", f'path = "{link}"'))
        self.assert_follows("example.com/modem", "modem", kubelet, add, remove)
        # The link dangles until there is a terminal with that number again.
        mark = kubelet.mark()
        add()
        kubelet.wait_view("example.com/modem", lambda v: health(v) == {"modem": "Healthy"},
                          since=mark)
        mark = kubelet.mark()
        for fd in terminals.pop():
            os.close(fd)
        kubelet.wait_view("example.com/modem", lambda v: health(v) == {"modem": "Unhealthy"},
                          since=mark)

    def test_follows_network_interfaces(self):
        support.skip_unless_root()
        support.skip_unless_programs("unshare", "nsenter", "ip")
        # The interfaces that /sys shows are those of the namespace it was mounted in.
        within = ["unshare", "--net", "--mount", "sh", "-c",
                  'mount -t sysfs none /sys && exec "$0" "$@"']
        if subprocess.run([*within, "ip", "link", "add", "pb0", "type", "veth"],
                          capture_output=True).returncode != 0:
            self.skipTest("no network namespace, or no veth in it")
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        config = self.config(BLIND + resource(
            "example.com/net",
            'udev = { subsystem = "net", properties = { INTERFACE = "pb*" } }'))
        daemon = self.enterContext(support.Process(
            [*within, PATCHBAY, "run", "--config", str(config), "--kubelet-dir",
             str(self.kubelet_dir), "--listen", "127.0.0.1:0"]))
        kubelet.wait_listed("example.com/net")
        enter = ["nsenter", f"--net=/proc/{daemon.process.pid}/ns/net", "ip", "link"]

        def ip(*arguments):
            subprocess.run([*enter, *arguments], check=True)

        for _ in range(2):
            mark = kubelet.mark()
            ip("add", "pb0", "type", "veth", "peer", "name", "pb1")
            kubelet.wait_view("example.com/net", lambda v: health(v) == {
                "pb0": "Healthy", "pb1": "Healthy"}, since=mark)
            mark = kubelet.mark()
            ip("delete", "pb0")
            kubelet.wait_view("example.com/net", lambda v: health(v) == {
                "pb0": "Unhealthy", "pb1": "Unhealthy"}, since=mark)

    def test_receives_kernel_events_only_if_needed(self):
        for match, sockets in (('path = "/dev/null"', 0), ("count = 1", 0),
                               ('usb = "0403:6001"', 1),
                               ('path = "/dev/null"\nudev = { subsystem = "mem" }', 1)):
            with self.subTest(match=match), Kubelet(self.kubelet_dir) as kubelet, Daemon(
                    self.config(BLIND + resource("example.com/x", match)),
                    self.kubelet_dir) as daemon:
                kubelet.wait_listed("example.com/x")
                self.assertEqual(len(kernel_event_sockets(daemon.process.pid)), sockets)

    def test_follows_a_node_below_host_root(self):
        support.skip_unless_root()
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        node = root / "dev/card7"
        self.try_node(node)
        kubelet, _, _ = self.watch("example.com/card",
                                   resource("example.com/card", 'path = "/dev/card*"'),
                                   "--host-root", str(root))
        self.assert_follows("example.com/card", "card7", kubelet,
                                   add=lambda: support.make_node(node), remove=node.unlink)

    def test_finds_a_node_in_a_directory_created_later(self):
        support.skip_unless_root()
        root = self.dir / "host"
        root.mkdir()
        self.try_node(self.dir / "node")
        kubelet, _, _ = self.watch("example.com/card",
                                   resource("example.com/card", 'path = "/dev/cards/*/control"'),
                                   "--host-root", str(root))
        for part in ("dev", "dev/cards", "dev/cards/7"):
            (root / part).mkdir()
        support.make_node(root / "dev/cards/7/control")
        kubelet.wait_view("example.com/card",
                          lambda v: health(v) == {"7:control": "Healthy"})

    def test_follows_a_retargeted_link(self):
        support.skip_unless_root()
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        self.try_node(self.dir / "node")
        for name in ("tty1", "tty2"):
            support.make_node(root / "dev" / name)
        link = root / "dev/modem"
        link.symlink_to("tty1")
        kubelet, _, _ = self.watch("example.com/modem",
                                   resource("example.com/modem", 'path = "/dev/modem"'),
                                   "--host-root", str(root))
        kubelet.wait_view("example.com/modem", lambda v: health(v) == {"modem": "Healthy"})
        for target in ("tty1", "tty2"):
            link.unlink()
            mark = kubelet.mark()
            link.symlink_to(target)
            admitted = kubelet.ask(f"admit {target} c example.com/modem 1")
            if not admitted["ok"]:  # the scan ran while there was no link
                kubelet.wait_view("example.com/modem",
                                  lambda v: health(v) == {"modem": "Healthy"}, since=mark)
                admitted = kubelet.ask(f"admit {target} c example.com/modem 1")
            self.assertEqual(admitted["response"]["devices"],
                             [{"container_path": "/dev/modem", "host_path": f"/dev/{target}",
                               "permissions": "rw"}])
            kubelet.ask(f"release {target}")

    def test_list_is_correct_after_many_changes(self):
        support.skip_unless_root()
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        self.try_node(root / "dev/keep")
        kubelet, daemon, _ = self.watch(
            "example.com/card",
            resource("example.com/card", 'path = "/dev/card*"', 'forget_after = "1ms"'),
            "--host-root", str(root))
        for round in range(300):
            node = root / f"dev/card{round}"
            support.make_node(node)
            if round % 3:
                node.unlink()
        expected = {f"card{n}": "Healthy" for n in range(0, 300, 3)}
        kubelet.wait_view("example.com/card", lambda v: health(v) == expected)
        self.assertEqual(daemon.get("/healthz")[0], 200)

    def try_node(self, path):
        try:
            support.make_node(path)
            path.unlink()
        except PermissionError as error:
            raise unittest.SkipTest(f"cannot create device nodes: {error}") from None


class Commands(support.TestCase):
    """A command that lists devices and counts its runs."""

    def setUp(self):
        super().setUp()
        self.runs = self.dir / "runs"
        self.list = self.dir / "list.json"
        self.script = self.dir / "list"
        self.runs.write_text("")
        self.lists("one")
        self.prints(f"cat {self.list}")

    def prints(self, shell):
        self.script.write_text(f"#!/bin/sh\necho run >> {self.runs}\n{shell}\n")
        self.script.chmod(0o755)

    def lists(self, *ids):
        self.list.write_text(json.dumps([{"id": id} for id in ids]))

    def run_count(self):
        return len(self.runs.read_text().splitlines())

    def resource(self, more=""):
        match = f'command = ["{self.script}"]\ntimeout = "5m"'
        return resource("example.com/listed", match) + more

    def watch(self, text, *more):
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(self.config(text), self.kubelet_dir, *more))
        return kubelet, daemon

    def test_runs_at_start_and_on_sigusr1(self):
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        files = '\n[[resource.match]]\npath = "/dev/card*"\ntype = "file"\n'
        kubelet, daemon = self.watch(BLIND + self.resource(files), "--host-root", str(root))
        kubelet.wait_view("example.com/listed", lambda v: health(v) == {"one": "Healthy"})
        self.lists("one", "two")
        for number in range(5):
            mark = kubelet.mark()
            (root / f"dev/card{number}").write_text("")
            view = kubelet.wait_view("example.com/listed",
                                     lambda v: f"card{number}" in health(v), since=mark)
            self.assertNotIn("two", health(view))
        self.assertEqual(self.run_count(), 1)
        mark = kubelet.mark()
        daemon.send(signal.SIGUSR1)
        kubelet.wait_view("example.com/listed", lambda v: "two" in health(v), since=mark)
        self.assertEqual(self.run_count(), 2)

    def test_runs_at_each_rescan(self):
        kubelet, _ = self.watch('[daemon]\nrescan = "1s"\n' + self.resource())
        kubelet.wait_listed("example.com/listed")
        self.await_true(lambda: self.run_count() >= 3, "two rescans")
        mark = kubelet.mark()
        self.lists("two")
        kubelet.wait_view("example.com/listed",
                          lambda v: health(v) == {"one": "Unhealthy", "two": "Healthy"}, since=mark)

    def assert_ends_with_its_command(self, daemon, pids):
        code, seconds = daemon.end()
        self.assertEqual(code, 0, daemon.err.text())
        self.assertLess(seconds, 2)
        self.assertEqual(self.plugin_sockets(), [])
        for pid in pids:
            self.assertFalse(is_running(pid), f"{pid} still runs")
        self.assertNotIn("command_failed", daemon.err.text())

    def hang(self, shell):
        """Makes the command and a child of it hang. Returns a function that waits for their process IDs."""
        pids = self.dir / "pids"
        pids.unlink(missing_ok=True)
        self.prints(f"{shell}\nsleep 600 &\necho $$ $! > {pids}.new\nmv {pids}.new {pids}\n"
                    "wait\nsleep 600")

        def await_pids():
            self.await_true(pids.exists, "the command runs")
            return [int(pid) for pid in pids.read_text().split()]

        return await_pids

    def test_hanging_first_run_ends_with_the_daemon(self):
        for shell in ("", "trap '' TERM"):
            with self.subTest(shell=shell):
                await_pids = self.hang(shell)
                with Kubelet(self.kubelet_dir) as kubelet, Daemon(
                        self.config(self.resource(resource("example.com/null",
                                                           'path = "/dev/null"'))),
                        self.kubelet_dir) as daemon:
                    kubelet.wait_listed("example.com/null")
                    self.assert_ends_with_its_command(daemon, await_pids())

    def test_hanging_later_run_ends_with_the_daemon(self):
        kubelet, daemon = self.watch(BLIND + self.resource())
        kubelet.wait_view("example.com/listed", lambda v: health(v) == {"one": "Healthy"})
        self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
        await_pids = self.hang("trap '' TERM")
        daemon.send(signal.SIGUSR1)
        pids = await_pids()
        self.assertEqual(health(kubelet.view("example.com/listed")), {"one": "Healthy"})
        self.assertEqual(daemon.get("/readyz")[0], 200)
        self.assert_ends_with_its_command(daemon, pids)


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "XZ"  # its new parent can reap it late


if __name__ == "__main__":
    support.main()
