"""Every example is valid, is in the indexes of examples/README.md, finds devices in the documented form, and runs. On a
host with its devices, what it finds, rejects and allocates is compared with a golden file. Also tests devices whose
network interface is moved into a pod.

examples/NAME.toml describes the host (see host_tree.py) and the allocations, and examples/NAME.golden is
the result; every example has both. examples/NAME.later.toml is the same host after a reboot or after
devices were plugged in again, where all devices must keep their IDs.

    python3 examples_test.py --write    updates the golden files; review the diff
"""

import itertools
import json
import pathlib
import re
import signal
import subprocess
import tomllib

import golden
import host_tree
import support
from support import EXAMPLES, PATCHBAY, SOURCE, Daemon, Kubelet, health, run

HOSTS = SOURCE / "tests/e2e/examples"
INDEX = SOURCE / "examples/README.md"
DEVICE = {"id": str, "health": str, "reason": str, "paths": list,
          "numa_node": (int, type(None)), "variables": dict}


def each_example(test):
    """Calls the test with the path of every example."""
    def tests(self):
        self.assertTrue(EXAMPLES, "there are no examples")
        for example in EXAMPLES:
            with self.subTest(example=example.name):
                test(self, str(example))
    return tests


def on_its_node(*command, example, **options):
    """Runs a command on this host, under the name of the node that the example is for."""
    host = tomllib.loads((HOSTS / pathlib.Path(example).name).read_text())
    return run(*command, "--config", example, NODE_NAME=host.get("node"), **options)


class Examples(support.TestCase):
    @each_example
    def test_check_strict_reports_nothing(self, example):
        ran = run("check", "--strict", example)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertTrue(ran.stdout.startswith("ok: "), ran.stdout)
        self.assertEqual(ran.stderr, "")

    @each_example
    def test_examples_start_with_a_short_comment(self, example):
        schema, empty, *lines = pathlib.Path(example).read_text().splitlines()
        self.assertTrue(schema.startswith("#:schema ") and not empty)
        comment = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
        self.assertIn(len(comment), range(1, 11))
        self.assertEqual(lines[len(comment)], "")

    def test_each_index_lists_every_example(self):
        """And nothing else. By device, the rows are in alphabetical order."""
        files = {e.name for e in EXAMPLES}
        sections = re.split(r"(?m)^## (.*)\n", INDEX.read_text())
        indexes = {heading: re.findall(r"(?m)^\| (?!device |bus |---)(.*?) \| (.*) \|$", text)
                   for heading, text in zip(sections[1::2], sections[2::2]) if heading.startswith("By ")}
        self.assertEqual(set(indexes), {"By device", "By bus"})
        for heading, rows in indexes.items():
            with self.subTest(index=heading):
                links = [link for _, cell in rows for link in re.findall(r"\]\(configs/([^)]*)\)", cell)]
                self.assertEqual(set(links), files)
        names = [name.lower() for name, _ in indexes["By device"]]
        self.assertEqual(names, sorted(names))
        for _, cell in indexes["By bus"]:
            for text, link in re.findall(r"\[([^]]*)\]\(configs/([^)]*)\)", cell):
                self.assertEqual(f"{text}.toml", link)

    @each_example
    def test_check_json_reports_nothing(self, example):
        ran = run("check", "--output", "json", example)
        self.assertEqual(json.loads(ran.stdout), [])

    @each_example
    def test_devices_json_has_the_documented_format(self, example):
        ran = on_its_node("devices", "--output", "json", example=example)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr, "")
        document = json.loads(ran.stdout)
        self.assertEqual(set(document), {"resources"})
        self.assertTrue(document["resources"])
        for resource in document["resources"]:
            self.assert_resource(resource)

    def assert_resource(self, resource):
        self.assertEqual(set(resource), {"name", "api", "devices", "rejected", "missing_mounts",
                                         "unused_excludes", "notes"})
        ids = [d["id"] for d in resource["devices"]]
        self.assertEqual(len(ids), len(set(ids)), resource["name"])
        for device in resource["devices"]:
            self.assertEqual(set(device), set(DEVICE))
            for key, kind in DEVICE.items():
                self.assertIsInstance(device[key], kind, key)
            self.assertIn(device["health"], ("Healthy", "Unhealthy", "not probed"))
            self.assertRegex(device["id"], r"\A[A-Za-z0-9._:@+-]{1,63}\Z")
            self.assertEqual(device["variables"]["id"], device["id"])
            self.assertEqual(device["variables"]["resource"], resource["name"])
        for rejection in resource["rejected"]:
            self.assertEqual(set(rejection), {"path", "reason"})

    @each_example
    def test_devices_prints_a_table(self, example):
        ran = on_its_node("devices", example=example)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"\ARESOURCE +DEVICE +UNITS +HEALTH +PATH\n")

    @each_example
    def test_listed_devices_can_be_allocated(self, example):
        listed = json.loads(on_its_node("devices", "-o", "json", example=example).stdout)
        for resource in listed["resources"]:
            if not resource["devices"]:
                continue
            ran = on_its_node("allocate", resource["name"], "-o", "json", example=example)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(set(json.loads(ran.stdout)),
                             {"envs", "mounts", "devices", "annotations", "cdi_devices", "hooks", "interfaces"})

    @each_example
    def test_try_once_succeeds(self, example):
        ran = on_its_node("try", "--once", example=example, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertNotIn("did not register", ran.stdout)
        self.assertNotIn("http://", ran.stdout)
        listed = json.loads(on_its_node("devices", "-o", "json", example=example).stdout)
        for resource in listed["resources"]:
            expected = ("{} has no device to allocate on this host" if not resource["devices"] else
                        "Devices of {}:" if resource["api"] == "dra" else "A container that requests 1 {} gets ")
            self.assertIn(expected.format(resource["name"]), ran.stdout)


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

    def watch(self, name, files=()):
        """Runs an example on its host, with other contents of these files."""
        example = next(e for e in EXAMPLES if e.stem == name)
        root, _ = self.host(HOSTS / example.name)
        for path, text in files:
            (pathlib.Path(root) / path).write_text(text)
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
        port = "sys/class/infiniband/mlx5_2/ports/1/state"
        example, host, kubelet, _ = self.watch("nic-rdma", [(port, "4: ACTIVE\n")])
        resource, stays, goes = "rdma.example.com/connectx", "0000:5e:00.0", "0000:d8:00.0"
        kubelet.wait_view(resource, lambda v: health(v) == {stays: "Healthy", goes: "Healthy"})
        mark, listed = kubelet.mark(), self.devices(example, str(host))
        host_tree.move_interface("ens1f0np0", host, self.dir / "pod")
        self.assertEqual(self.devices(example, str(host)), listed)
        # This line shows that the daemon has scanned the host.
        (host / "dev/infiniband/uverbs2").unlink()
        kubelet.wait_view(resource, lambda v: health(v) == {stays: "Healthy", goes: "Unhealthy"},
                          since=mark)


class Output(support.TestCase):
    def test_unwritable_output_is_a_failure(self):
        for command in (["devices"], ["check"], ["allocate", "example.com/null"]):
            with self.subTest(command=command), open("/dev/full", "w") as full:
                config = self.config(support.resource("example.com/null", 'path = "/dev/null"'))
                ran = subprocess.run([PATCHBAY, *command, "--config", config], stdout=full,
                                     stderr=subprocess.PIPE, env=support.environment())
                self.assertEqual(ran.returncode, 1)
                self.assertIn(b"cannot write", ran.stderr)


if __name__ == "__main__":
    golden.main()
