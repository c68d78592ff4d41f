"""A real Prometheus scrapes real daemons: every panel gets data and every alert fires.

There are two nodes, each with a built-in kubelet, and one of them with an API server. Without faults no alert may fire. Then the test causes
every fault and waits until each query of the dashboards returns data and each alert fires. At the end it
stops the kubelet, and then Patchbay itself. The first node has no label `cluster`, the second has one.
"""

import re
import subprocess
import time
import unittest

import observability
import support
from observability import Prometheus, substituted
from support import Cluster, Daemon, Kubelet, resource

PATIENCE = 90.0  # seconds; the whole test takes about 20
PAUSE = 0.1  # seconds between two checks; Prometheus scrapes once a second

WITHOUT_FAULTS = (resource("example.com/seat", "count = 4", 'env_separator = ","') + """
[resource.health]
file = "/state/{id}"
equals = "ok"
period = "200ms"
failure_threshold = 1
[resource.hooks.allocate]
command = ["/bin/true"]
[resource.hooks.pre_start]
command = ["/bin/true"]
""" + resource("example.com/card", 'path = "/cards/*"\ntype = "file"', 'forget_after = "1s"') +
                  resource("example.com/port", "count = 4", 'api = "dra"'))

FAULTS = (resource("example.com/full", "count = 1") +
          resource("example.com/refused", "count = 1") +
          resource("example.com/none", 'path = "/cards/no-such*"') +
          resource("example.com/clash", 'path = "/cards/{a,b}*"\ntype = "file"\nid = "same"') +
          resource("example.com/stale", 'command = ["/bin/false"]') +
          resource("example.com/broken", "count = 1") + """
[resource.hooks.allocate]
command = ["/bin/false"]
""" + resource("example.com/faulty", "count = 1", 'api = "dra"') + """
[resource.hooks.allocate]
command = ["/bin/false"]
""" + resource("example.com/tainted", "count = 1", 'api = "dra"') + """
[resource.health]
file = "/no/such/file"
equals = "ok"
period = "200ms"
failure_threshold = 1
""" + resource("example.com/slow", "count = 1") + """
[resource.health]
command = ["/bin/sleep", "60"]
period = "200ms"
timeout = "100ms"
""" + resource("example.com/unrunnable", "count = 1") + """
[resource.health]
command = ["/no/such/probe"]
period = "200ms"
""")

# The alerts that the faults cause, with some of their labels.
FIRING = {
    "PatchbayResourceNotRegistered": {"node": "n1", "resource": "example.com/refused"},
    "PatchbayDevicesUnhealthy": {"node": "n1", "resource": "example.com/seat"},
    "PatchbayDeviceInUseUnhealthy": {"node": "n1", "namespace": "default", "pod": "holder",
                                     "container": "main"},
    "PatchbayNoDevices": {"node": "n1", "resource": "example.com/card"},
    "PatchbayResourceWithoutDevices": {"resource": "example.com/none"},
    "PatchbayCapacityExhausted": {"resource": "example.com/full"},
    "PatchbayReloadFailed": {"node": "n1"},
    "PatchbayAllocationErrors": {"node": "n1", "resource": "example.com/broken"},
    "PatchbayProbeTimeouts": {"node": "n1", "resource": "example.com/slow", "result": "timeout"},
    "PatchbayDiscoveryStale": {"node": "n1", "resource": "example.com/stale"},
    "PatchbayHoldersUnknown": {"cluster": "c2", "node": "n2"},
    "PatchbayClaimPrepareErrors": {"node": "n1", "resource": "example.com/faulty"},
}
LATER = {"PatchbayApiServerUnreachable": {"node": "n1"}, "PatchbayKubeletDown": {"node": "n1"},
         "PatchbayDown": {"node": "n1"}, "PatchbayAbsent": {}}
# These need a process that hangs for half a minute, a log that is not read, or slices that were never written:
# alerts_test.yaml tests them.
SILENT = {"PatchbayLogLinesDropped", "PatchbaySlicesNotPublished"}

VARIABLES = {"patchbay-overview": {"cluster": ".*", "node": ".*", "resource": ".*"},
             "patchbay-node": {"cluster": ".*", "node": "n1", "resource": ".*", "device": ".*"}}


class OnPrometheus(support.TestCase):
    def setUp(self):
        support.skip_unless_programs("prometheus")
        super().setUp()
        self.host = self.dir / "host"
        (self.host / "state").mkdir(parents=True)
        (self.host / "cards").mkdir()
        for card in "ab":
            (self.host / "cards" / card).touch()
        for seat in range(4):
            self.set_seat(seat, "ok")
        self.cluster = self.enterContext(Cluster(self.dir / "n1", "n1"))
        self.kubelet, self.daemon = self.node("n1", WITHOUT_FAULTS, self.host,
                                              more_keys=self.cluster.daemon_keys)
        self.cluster.succeed("await_published 4")
        self.cluster.succeed("class example.com/port")
        for name in ("seat", "card"):
            self.kubelet.wait_listed(f"example.com/{name}")
        self.admit("holder", "seat", 4)
        self.kubelet.ask("release holder")
        self.await_true(lambda: self.daemon.get("/readyz")[0] == 200, "ready")

    def set_seat(self, seat, state):
        file = self.host / "state" / f"{seat}.new"
        file.write_text(state)
        file.rename(self.host / "state" / str(seat))

    def daemon_keys(self, pods):
        return f'[daemon]\npod_resources = "{pods}"\nrescan = "1s"\n'

    def node(self, name, resources, host, has_pods=True, more_keys=""):
        directory = self.dir / name
        directory.mkdir(exist_ok=True)
        pods = directory / "pods.sock"
        kubelet = self.enterContext(
            Kubelet(directory / "k", pod_resources=pods if has_pods else ""))
        config = self.config(self.daemon_keys(pods) + more_keys + resources, f"{name}.toml")
        return kubelet, self.enterContext(
            Daemon(config, directory / "k", "--host-root", str(host), NODE_NAME=name))

    def admit(self, pod, name, n):
        return self.kubelet.ask(f"admit {pod} main example.com/{name} {n}")

    def eventually(self, condition, what, timeout=PATIENCE):
        """Waits for a condition that depends on the next scrapes, and creates load during that time."""
        deadline = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), deadline, what())
            self.load()
            time.sleep(PAUSE)

    def load(self):
        """Starts and removes a pod of each API."""
        self.admit("guest", "seat", 1)
        self.kubelet.ask("start_container guest main")
        self.kubelet.ask("release guest")
        self.cluster.succeed("prepare guest example.com/port")
        self.cluster.succeed("release guest")

    def test_every_panel_has_data_and_every_alert_fires(self):
        self.prometheus = self.enterContext(Prometheus(self.dir))
        self.start = time.time()
        self.no_alert_fires_without_faults()
        self.break_everything()
        self.panels_have_data()
        self.variables_have_values()
        self.queries_return_only_the_chosen_cluster()
        for name, labels in FIRING.items():
            self.alert_fires(name, labels)
        self.alert_fires("PatchbayDeviceInUseUnhealthy", {"device": self.held})
        self.rules_are_healthy()

        self.cluster.succeed("stop_server")
        self.alert_fires("PatchbayApiServerUnreachable", LATER["PatchbayApiServerUnreachable"])
        self.kubelet.ask("stop")
        self.alert_fires("PatchbayKubeletDown", LATER["PatchbayKubeletDown"])
        self.daemon.end()
        self.alert_fires("PatchbayDown", LATER["PatchbayDown"])
        self.other.end()
        self.alert_fires("PatchbayAbsent", LATER["PatchbayAbsent"])
        self.assertEqual({*FIRING, *LATER, *SILENT}, {r["alert"] for r in observability.rules()})

    def no_alert_fires_without_faults(self):
        self.prometheus.serve({"n1": self.daemon.address()})
        self.eventually(lambda: self.prometheus.up() == 1, lambda: "n1 is not scraped")
        self.eventually(lambda: (self.prometheus.value(
            'sum(increase(patchbay_allocations_total{result="success"}[1m]))') or 0) > 0,
            lambda: "the load is not visible")
        self.eventually(
            lambda: (self.prometheus.value("count_over_time(patchbay_kubelet_up[1m])") or 0) >= 4,
            lambda: "there are less than four scrapes")
        self.rules_are_healthy()
        # On a busy machine a scrape may exceed its timeout, so a single check is not enough.
        self.eventually(lambda: self.prometheus.firing() == [], self.prometheus.firing)

    def break_everything(self):
        self.other_kubelet, self.other = self.node("n2", resource("example.com/seat", "count = 2"),
                                                   self.host, has_pods=False)
        self.prometheus.serve({"n1": self.daemon.address(), "n2": self.other.address()},
                              clusters={"n2": "c2"})
        self.kubelet.ask("fault unknown_error example.com/refused")
        self.cluster.succeed("drop_fields")
        config = self.dir / "n1.toml"
        text = self.daemon_keys(self.dir / "n1/pods.sock") + self.cluster.daemon_keys + WITHOUT_FAULTS + FAULTS
        config.write_text(text)
        for name in ("full", "broken"):
            self.kubelet.wait_listed(f"example.com/{name}")
        # increase() ignores what was counted before the first scrape of a series.
        for failures in ('patchbay_allocations_total{resource="example.com/broken", result="failure"}',
                         'patchbay_claim_prepares_total{resource="example.com/faulty", result="failure"}'):
            self.eventually(lambda: self.prometheus.value(failures) == 0,
                            lambda: "the new resources are not scraped")
        before = self.kubelet.mark()
        self.kubelet.ask("restart")
        for name in ("seat", "full", "broken"):
            self.kubelet.wait_view(f"example.com/{name}",
                                   lambda v: v["connected"] and v["allocatable"] > 0, before)
        self.assertTrue(self.admit("filler", "full", 1)["ok"])
        self.assertFalse(self.admit("failing", "broken", 1)["ok"])
        self.cluster.succeed("await_published 5")
        self.cluster.succeed("class example.com/faulty")
        self.assertFalse(self.cluster.ask("prepare failing example.com/faulty")["ok"])
        self.held = self.admit("holder", "seat", 3)["ids"][0]
        self.set_seat(self.held, "broken")
        for card in "ab":
            (self.host / "cards" / card).unlink()
        config.write_text(text + "an error\n")

    def panels_have_data(self):
        wanted = {where: substituted(expression, VARIABLES[dashboard["uid"]])
                  for dashboard in observability.dashboards()
                  for where, expression in observability.queries(dashboard)}

        def all_have_data():
            for where in [w for w, q in wanted.items() if self.prometheus.has_data(q, self.start)]:
                del wanted[where]
            return not wanted

        self.eventually(all_have_data, lambda: "no data for\n" + "\n".join(
            f"{where}\n  {query}" for where, query in wanted.items()))

    def variables_have_values(self):
        for dashboard in observability.dashboards():
            for one in dashboard["templating"]["list"]:
                if one["type"] != "query":
                    continue
                text = substituted(one["query"]["query"], VARIABLES[dashboard["uid"]])
                where = f"{dashboard['uid']}: variable {one['name']}"
                if text.startswith("label_values("):
                    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", text).groups()
                    self.eventually(lambda: self.prometheus.ask(f"label/{label}/values", **{"match[]": series}),
                                    lambda: where)
                else:
                    query = re.fullmatch(r"query_result\((.*)\)", text)[1]
                    found = []
                    # A scrape that was late on a busy machine leaves no value for a moment.
                    self.eventually(
                        lambda: found.extend(self.prometheus.ask("query", query=query)["result"]) or found,
                        lambda: where)
                    labels = ", ".join(f'{k}="{v}"' for k, v in found[0]["metric"].items())
                    value = re.search(one["regex"].strip("/"), labels)[1]
                    self.assertEqual(value, self.daemon.address(), where)

    def queries_return_only_the_chosen_cluster(self):
        for dashboard in observability.dashboards():
            variables = VARIABLES[dashboard["uid"]]
            for where, expression in observability.queries(dashboard):
                if "ALERTS" in expression:  # also shows alerts without a cluster; see dashboards_test.py
                    continue
                query = substituted(expression, {**variables, "cluster": "no-such-cluster"})
                values = self.prometheus.values(query, self.start)
                # `or vector(0)` is the only result.
                self.assertLessEqual(values, {0.0} if "vector(0)" in query else set(), where)
        count = 'count by (cluster, node) (patchbay_build_info{cluster=~"%s"})'
        for cluster, nodes in ((".*", {"n1", "n2"}), ("c2", {"n2"}), ("", {"n1"})):
            def found():
                result = self.prometheus.ask("query", query=count % cluster)["result"]
                return {series["metric"]["node"] for series in result}
            self.eventually(lambda: found() == nodes, lambda: f"{cluster}: {found()}")

    def rules_are_healthy(self):
        def loaded():
            groups = self.prometheus.ask("rules")["groups"]
            return {r["name"]: r["health"] for g in groups for r in g["rules"]}
        names = {r["alert"] for r in observability.rules()}
        self.eventually(lambda: loaded() == {name: "ok" for name in names}, loaded)

    def alert_fires(self, name, labels):
        expected = {"alertname": name, **labels}.items()
        self.await_true(
            lambda: any(expected <= alert.items() for alert in self.prometheus.firing()),
            f"{name} {labels} does not fire", PATIENCE)


class Promtool(unittest.TestCase):
    def run_on(self, command, file):
        support.skip_unless_programs("promtool")
        ran = subprocess.run(["promtool", *command.split(), file.name], cwd=file.parent,
                             capture_output=True, text=True, timeout=5 * support.PATIENCE)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_promtool_accepts_the_alerts(self):
        self.run_on("check rules", observability.ALERTS)

    def test_alerts_fire_and_stay_silent_as_expected(self):
        self.run_on("test rules", observability.ALERTS_TEST)


if __name__ == "__main__":
    support.main()
