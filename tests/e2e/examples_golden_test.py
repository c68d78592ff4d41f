"""Runs every example on a host with its devices, and compares the devices it finds and rejects and the
allocations with a golden file. Also tests devices whose network interface is moved into a pod.

examples/NAME.toml describes the host (see host_tree.py) and the allocations, and examples/NAME.golden is
the result; every example has both. examples/NAME.later.toml is the same host after a reboot or after
devices were plugged in again, where all devices must keep their IDs.

    python3 examples_golden_test.py --write    updates the golden files; review the diff
"""

import difflib
import json
import pathlib
import signal
import sys

import host_tree
import support
from support import EXAMPLES, SOURCE, Daemon, Kubelet, health, run

HOSTS = SOURCE / "tests/e2e/examples"
WRITE = "--write" in sys.argv
MOST_LINES = 12  # of the devices of one resource; of more the first and the last are shown


def device_line(device):
    words = [device["id"]]
    if device["numa_node"] is not None:
        words.append(f"numa={device['numa_node']}")
    if device["health"] != "Healthy":
        words.append(f"{device['health']}: {device['reason']}")
    return "  " + "  ".join(words + device["paths"])


def listing(document):
    """The output of `devices`, as lines."""
    for resource in document["resources"]:
        yield resource["name"]
        lines = [device_line(device) for device in resource["devices"]]
        if len(lines) > MOST_LINES:
            lines[3:-3] = [f"  and {len(lines) - 6} more"]
        yield from lines
        for rejection in resource["rejected"]:
            yield f"  rejected  {rejection['path']}  {rejection['reason']}"


def container(answer):
    """The output of `allocate`, as lines."""
    for node in answer["devices"]:
        yield f"  node   {node['container_path']}  from {node['host_path']}  {node['permissions']}"
    for mount in answer["mounts"]:
        access = "ro" if mount["read_only"] else "rw"
        yield f"  mount  {mount['container_path']}  from {mount['host_path']}  {access}"
    for kind in ("envs", "annotations"):
        for key, value in answer[kind].items():
            yield f"  {kind[:-1]:5}  {key}={value}"
    for device in answer["cdi_devices"]:
        yield f"  cdi    {device['name']}"
    for hook in answer["hooks"]:
        yield f"  {hook['hook']} of {hook['device']}  {' '.join(hook['command'])}"


class OnAnotherHost(support.TestCase):
    def setUp(self):
        support.skip_unless_device_nodes()
        super().setUp()

    def host(self, tree_file):
        """Creates a host. Returns its root and the allocations of its file."""
        root = self.dir / tree_file.stem
        more = host_tree.make(tree_file, root)
        self.assertLessEqual(more.keys(), {"allocate"}, tree_file)
        return str(root), more.get("allocate", [])

    def devices(self, example, root):
        ran = run("devices", "-o", "json", "-c", str(example), "--host-root", root)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return json.loads(ran.stdout)


class Golden(OnAnotherHost):
    def answer(self, example, root, allocations):
        document = self.devices(example, root)
        lines, granted = ["patchbay devices", *listing(document)], set()
        for words in allocations:
            lines += ["", f"patchbay allocate {words}"]
            ran = run("allocate", *words.split(), "-o", "json", "-c", str(example),
                      "--host-root", root)
            if ran.returncode == 0:
                lines += container(json.loads(ran.stdout))
                granted.add(words.split()[0])
            else:
                lines += ["  refused  " + line for line in ran.stderr.splitlines()]
        for resource in document["resources"]:
            self.assertTrue(resource["devices"], f"the host has no {resource['name']}")
            self.assertIn(resource["name"], granted, "not allocated")
        return "\n".join(lines).replace(root, "HOST").replace(str(example), "EXAMPLE") + "\n"

    def test_each_gives_its_golden_answer(self):
        for example in EXAMPLES:
            with self.subTest(example=example.name):
                tree_file, golden = HOSTS / example.name, HOSTS / f"{example.stem}.golden"
                if not tree_file.exists():
                    self.fail(f"describe a host that has what the example is for in {tree_file}, as "
                              "host_tree.py says and the others there do")
                answer = self.answer(example, *self.host(tree_file))
                if WRITE:
                    golden.write_text(answer)
                if not golden.exists():
                    self.fail(f"\n{answer}\nIf that is right, run python3 {__file__} --write")
                difference = "".join(difflib.unified_diff(
                    golden.read_text().splitlines(True), answer.splitlines(True),
                    str(golden.relative_to(SOURCE)), "now"))
                if difference:
                    self.fail(f"\n{difference}\nIf that is better, run python3 {__file__} --write")

    def test_ids_stay_as_they_are(self):
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

    def test_no_host_or_answer_is_left_over(self):
        known = {name for e in EXAMPLES
                 for name in (e.name, f"{e.stem}.golden", f"{e.stem}.later.toml")}
        self.assertLessEqual({p.name for p in HOSTS.iterdir()}, known)


class Moved(OnAnotherHost):
    """By a CNI plugin, into the network namespace of a pod."""

    def watch(self, name):
        """Runs an example on its host."""
        example = next(e for e in EXAMPLES if e.stem == name)
        root, _ = self.host(HOSTS / example.name)
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(example, self.kubelet_dir, "--host-root", root))
        return example, pathlib.Path(root), kubelet, daemon

    def test_bus_is_unhealthy_until_it_is_back(self):
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

    def test_rdma_adapter_stays_what_it_is(self):
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
    if WRITE:
        sys.argv.remove("--write")
    support.main()
