"""Runs every example on a host with its devices, and compares the devices it finds and rejects and the
allocations with a golden file. Also tests devices whose network interface is moved into a pod.

examples/NAME.toml describes the host (see host_tree.py) and the allocations, and examples/NAME.golden is
the result; every example has both. examples/NAME.later.toml is the same host after a reboot or after
devices were plugged in again, where all devices must keep their IDs.

    python3 examples_golden_test.py --write    updates the golden files; review the diff
"""

import pathlib
import signal

import golden
import host_tree
from support import EXAMPLES, SOURCE, Daemon, Kubelet, health

HOSTS = SOURCE / "tests/e2e/examples"


class Golden(golden.OnAnotherHost):
    def test_output_matches_golden_files(self):
        for example in EXAMPLES:
            with self.subTest(example=example.name):
                self.compare(example, HOSTS / example.name)

    def test_ids_stay_the_same(self):
        later = sorted(HOSTS.glob("*.later.toml"))
        self.assertTrue(later, "there is no host to come back to")
        for after in later:
            with self.subTest(host=after.name):
                name = after.name.replace(".later", "")
                example = next(e for e in EXAMPLES if e.name == name)
                seen = [self.devices(example, self.host(host)[0])
                        for host in (HOSTS / name, after)]
                ids = [{r["name"]: [d["id"] for d in r["devices"]] for r in document["resources"]}
                       for document in seen]
                self.assertEqual(ids[0], ids[1])
                self.assertNotEqual(seen[0], seen[1], "nothing happened to that host")

    def test_no_unused_host_or_golden_files(self):
        known = {name for e in EXAMPLES
                 for name in (e.name, f"{e.stem}.golden", f"{e.stem}.later.toml")}
        self.assertLessEqual({p.name for p in HOSTS.iterdir()}, known)


class Moved(golden.OnAnotherHost):
    """By a CNI plugin, into the network namespace of a pod."""

    def watch(self, name):
        """Runs an example on its host."""
        example = next(e for e in EXAMPLES if e.stem == name)
        root, _ = self.host(HOSTS / example.name)
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(example, self.kubelet_dir, "--host-root", root))
        return example, pathlib.Path(root), kubelet, daemon

    def test_moved_can_bus_is_unhealthy_until_it_returns(self):
        _, host, kubelet, daemon = self.watch("can-bus")
        resource, pod = "can.example.com/bus", self.dir / "pod"
        before = health(kubelet.wait_listed(resource))
        self.assertEqual(set(before.values()), {"Healthy"})
        self.assertTrue(kubelet.ask(f"admit pod c {resource} {len(before)}")["ok"])
        moved = before | {"1d50:606f-CAND-if00-1": "Unhealthy"}
        for one, other, expected in ((host, pod, moved), (pod, host, before)):
            mark = kubelet.mark()
            host_tree.move_interface("can5", one, other)
            daemon.send(signal.SIGUSR1)
            kubelet.wait_view(resource, lambda v: health(v) == expected, since=mark)

    def test_moved_interface_does_not_change_the_rdma_device(self):
        example, host, kubelet, _ = self.watch("nic-rdma")
        resource, stays, goes = "rdma.example.com/connectx", "0000:5e:00.0", "0000:d8:00.0"
        kubelet.wait_view(resource, lambda v: health(v) == {stays: "Healthy", goes: "Healthy"})
        mark, listed = kubelet.mark(), self.devices(example, str(host))
        host_tree.move_interface("ens1f0np0", host, self.dir / "pod")
        self.assertEqual(self.devices(example, str(host)), listed)
        # This line shows that the daemon has scanned the host.
        (host / "dev/infiniband/uverbs2").unlink()
        kubelet.wait_view(resource, lambda v: health(v) == {stays: "Healthy", goes: "Unhealthy"},
                          since=mark)


if __name__ == "__main__":
    golden.main()
