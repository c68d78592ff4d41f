"""Every example is valid, finds devices in the documented form, and runs."""

import itertools
import json
import pathlib
import subprocess

import support
from support import EXAMPLES, PATCHBAY, run

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

    def test_index_lists_every_example(self):
        index = (support.SOURCE / "examples/README.md").read_text()
        for example in EXAMPLES:
            self.assertIn(f"[{example.stem}](configs/{example.name})", index)

    @each_example
    def test_check_json_reports_nothing(self, example):
        ran = run("check", "--output", "json", example)
        self.assertEqual(json.loads(ran.stdout), [])

    @each_example
    def test_devices_json_has_the_documented_format(self, example):
        ran = run("devices", "--output", "json", "--config", example)
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
        ran = run("devices", "--config", example)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"\ARESOURCE +DEVICE +UNITS +HEALTH +PATH\n")

    @each_example
    def test_listed_devices_can_be_allocated(self, example):
        listed = json.loads(run("devices", "-o", "json", "-c", example).stdout)
        for resource in listed["resources"]:
            if not resource["devices"]:
                continue
            ran = run("allocate", resource["name"], "-o", "json", "-c", example)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(set(json.loads(ran.stdout)),
                             {"envs", "mounts", "devices", "annotations", "cdi_devices", "hooks"})

    @each_example
    def test_try_once_succeeds(self, example):
        ran = run("try", "--once", "--config", example, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertNotIn("did not register", ran.stdout)
        self.assertNotIn("http://", ran.stdout)
        listed = json.loads(run("devices", "-o", "json", "-c", example).stdout)
        for resource in listed["resources"]:
            expected = ("A container that requests 1 {} gets " if resource["devices"]
                        else "{} has no device to allocate on this host")
            self.assertIn(expected.format(resource["name"]), ran.stdout)


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
    support.main()
