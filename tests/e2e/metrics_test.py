"""A real scrape of a running daemon, checked by promtool."""

import re
import subprocess

import observability
import support
from support import Daemon, Kubelet, resource

CONFIG = (resource("example.com/null", 'path = "/dev/null"', "replicas = 3") +
          resource("example.com/seat", "count = 3") +
          '[resource.health]\ncommand = ["true"]\n[resource.hooks.release]\ncommand = ["true"]\n' +
          resource("example.com/none", 'path = "/dev/no-such-device*"') +
          resource("example.com/clash", 'path = "/dev/{zero,full}"\nid = "same"'))


def families(text):
    """`name type label label` of every family of a scrape, with its labels sorted."""
    types, labels, family = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split()
            types[family] = kind
            labels[family] = set()
        elif not line.startswith("#"):
            assert line.startswith(family), line
            labels[family] |= set(re.findall(r'[{,](\w+)="', line)) - {"le"}
    return {" ".join([name, kind, *sorted(labels[name])]) for name, kind in types.items()}


class Metrics(support.TestCase):
    def setUp(self):
        super().setUp()
        socket = self.dir / "pods.sock"
        kubelet = self.enterContext(Kubelet(self.kubelet_dir, pod_resources=socket))
        daemon = self.enterContext(Daemon(
            self.config(f'[daemon]\npod_resources = "{socket}"\n{CONFIG}'), self.kubelet_dir))
        for name in ("null", "seat", "none", "clash"):
            kubelet.wait_listed(f"example.com/{name}")
        self.assertTrue(kubelet.ask("admit a c example.com/null 2")["ok"])
        self.assertTrue(kubelet.ask("admit b c example.com/seat 1")["ok"])
        self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
        self.await_true(lambda: 'pod="b"' in daemon.get("/metrics")[1], "the pods are known")
        status, self.text = daemon.get("/metrics")
        self.assertEqual(status, 200)

    def test_promtool_accepts_metrics(self):
        support.skip_unless_programs("promtool")
        ran = subprocess.run(["promtool", "check", "metrics"], input=self.text, text=True,
                             capture_output=True, timeout=support.PATIENCE)
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (0, ""))

    def test_families_match_the_golden_file(self):
        self.assertEqual(families(self.text), observability.golden(without=("dra",)))

    def test_families_match_the_documentation(self):
        helps = dict(re.findall(r"^# HELP (\w+) (.*)$", self.text, re.M))
        self.maxDiff = None
        expected = {}
        for row in families(self.text):
            name, kind, *labels = row.split()
            expected[name] = (kind, " ".join(labels), helps[name])
        # unit_metrics compares those of DRA.
        families_of_dra = {row.split()[0] for row in observability.golden() - families(self.text)}
        documented = observability.documented()
        self.assertEqual(len(families_of_dra), 10)
        self.assertLessEqual(families_of_dra, documented.keys())
        self.assertEqual({name: documented[name] for name in documented.keys() - families_of_dra}, expected)

    def test_values_match_events(self):
        for sample in (
                'patchbay_kubelet_up 1',
                'patchbay_kubelet_restarts_total 0',
                'patchbay_config_last_reload_successful 1',
                'patchbay_resource_registered{resource="example.com/null"} 1',
                'patchbay_list_watch_streams{resource="example.com/seat"} 1',
                'patchbay_units{resource="example.com/seat",health="healthy"} 3',
                'patchbay_units{resource="example.com/none",health="healthy"} 0',
                'patchbay_rejected_devices{resource="example.com/clash",reason="duplicate_id"} 2',
                'patchbay_allocations_total{resource="example.com/null",result="success"} 1',
                'patchbay_allocated_units_total{resource="example.com/null"} 2',
                'patchbay_allocated_units_total{resource="example.com/seat"} 1',
                'patchbay_pod_resources_up 1',
                'patchbay_units_in_use{resource="example.com/null"} 2',
                'patchbay_device_in_use{resource="example.com/null",device="null",'
                'namespace="default",pod="a",container="c"} 1'):
            name, value = sample.rsplit(" ", 1)
            self.assertEqual(self.sample(name), value, sample)

    def sample(self, series):
        """The value of a series, with its labels in any order."""
        def parsed(text):
            name, _, labels = text.partition("{")
            return name, frozenset(re.findall(r'\w+="[^"]*"', labels))
        for line in self.text.splitlines():
            if not line.startswith("#") and parsed(line.rsplit(" ", 1)[0]) == parsed(series):
                return line.rsplit(" ", 1)[1]
        raise AssertionError(f"there is no {series}")


if __name__ == "__main__":
    support.main()
