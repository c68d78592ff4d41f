"""Devices that come and go: of the real kernel, and in a tree of the test's own."""

import os
import pathlib
import stat
import time
import unittest

import support
from devices import Loop
from support import Daemon, Kubelet, health, resource

# Without the safety net: what is seen, is seen by watching.
BLIND = '[daemon]\nrescan = "24h"\n'


class Hotplug(support.TestCase):
    def watch(self, name, text, *more):
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(self.config(BLIND + text), self.kubelet_dir, *more))
        view = kubelet.wait_listed(name)
        return kubelet, daemon, view

    def assert_comes_and_goes(self, name, id, kubelet, add, remove):
        for _ in range(2):
            mark = kubelet.mark()
            start = time.monotonic()
            add()
            kubelet.wait_view(name, lambda v: health(v).get(id) == "Healthy", since=mark)
            self.assertLess(time.monotonic() - start, 5)
            self.assertTrue(kubelet.ask(f"admit p{mark} c {name} 1")["ok"])
            kubelet.ask(f"release p{mark}")
            mark = kubelet.mark()
            remove()
            view = kubelet.wait_view(name, lambda v: health(v).get(id) == "Unhealthy", since=mark)
            self.assertEqual(view["allocatable"], 0)
            self.assertFalse(kubelet.ask(f"admit q{mark} c {name} 1")["ok"])

    def test_loop_device_of_the_kernel(self):
        probe = Loop()  # skips where there are none
        probe.remove()
        if os.path.exists(probe.path):
            self.skipTest("loop devices cannot be removed")
        loops = []
        self.addCleanup(lambda: [loop.remove() for loop in loops])
        kubelet, _, view = self.watch("example.com/loop", resource(
            "example.com/loop", f"regex = '/dev/loop(?P<number>{probe.number})'"))
        self.assertEqual(view["devices"], [])
        self.assert_comes_and_goes("example.com/loop", f"loop{probe.number}", kubelet,
                                   add=lambda: loops.append(Loop(probe.number)),
                                   remove=lambda: loops.pop().remove())

    def test_compressed_memory_of_the_kernel(self):
        control = pathlib.Path("/sys/class/zram-control")
        support.skip_unless_root()
        if not control.exists():
            self.skipTest("the kernel has no zram")
        before = set(pathlib.Path("/dev").glob("zram*"))
        numbers = []

        def add():
            numbers.append((control / "hot_add").read_text().strip())

        def remove():
            (control / "hot_remove").write_text(numbers.pop())

        add()
        self.addCleanup(lambda: [remove() for _ in list(numbers)])
        number = numbers[-1]
        remove()
        self.assertEqual(set(pathlib.Path("/dev").glob("zram*")), before)
        kubelet, _, _ = self.watch("example.com/zram",
                                   resource("example.com/zram", f'path = "/dev/zram{number}"'))
        self.assert_comes_and_goes("example.com/zram", f"zram{number}", kubelet, add, remove)

    def test_node_in_a_tree_of_its_own(self):
        support.skip_unless_root()
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        node = root / "dev/card7"
        self.try_node(node)
        kubelet, _, _ = self.watch("example.com/card",
                                   resource("example.com/card", 'path = "/dev/card*"'),
                                   "--host-root", str(root))
        self.assert_comes_and_goes("example.com/card", "card7", kubelet,
                                   add=lambda: self.make(node), remove=node.unlink)

    def test_directory_that_is_not_there_yet(self):
        support.skip_unless_root()
        root = self.dir / "host"
        root.mkdir()
        self.try_node(self.dir / "node")
        kubelet, _, _ = self.watch("example.com/card",
                                   resource("example.com/card", 'path = "/dev/cards/*/control"'),
                                   "--host-root", str(root))
        for part in ("dev", "dev/cards", "dev/cards/7"):
            (root / part).mkdir()
        self.make(root / "dev/cards/7/control")
        kubelet.wait_view("example.com/card",
                          lambda v: health(v) == {"7:control": "Healthy"})

    def test_link_that_is_retargeted(self):
        support.skip_unless_root()
        root = self.dir / "host"
        (root / "dev").mkdir(parents=True)
        self.try_node(self.dir / "node")
        for name in ("tty1", "tty2"):
            self.make(root / "dev" / name)
        link = root / "dev/modem"
        link.symlink_to("tty1")
        kubelet, _, _ = self.watch("example.com/modem",
                                   resource("example.com/modem", 'path = "/dev/modem"'),
                                   "--host-root", str(root))
        kubelet.wait_view("example.com/modem", lambda v: health(v) == {"modem": "Healthy"})
        for target in ("tty1", "tty2"):
            link.unlink()
            link.symlink_to(target)
            admitted = kubelet.ask(f"admit {target} c example.com/modem 1")
            if not admitted["ok"]:  # seen in the moment without a link
                kubelet.wait_view("example.com/modem",
                                  lambda v: health(v) == {"modem": "Healthy"},
                                  since=kubelet.mark())
                admitted = kubelet.ask(f"admit {target} c example.com/modem 1")
            self.assertEqual(admitted["response"]["devices"],
                             [{"container_path": "/dev/modem", "host_path": f"/dev/{target}",
                               "permissions": "rw"}])
            kubelet.ask(f"release {target}")

    def test_storm_of_changes_ends_with_the_truth(self):
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
            self.make(node)
            if round % 3:
                node.unlink()
        expected = {f"card{n}": "Healthy" for n in range(0, 300, 3)}
        kubelet.wait_view("example.com/card", lambda v: health(v) == expected)
        self.assertEqual(daemon.get("/healthz")[0], 200)

    @staticmethod
    def make(path):
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))

    def try_node(self, path):
        try:
            self.make(path)
            path.unlink()
        except PermissionError as error:
            raise unittest.SkipTest(f"no device nodes can be made: {error}") from None


if __name__ == "__main__":
    support.main()
