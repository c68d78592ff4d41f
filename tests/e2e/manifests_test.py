"""deploy/kustomize: everything builds and is valid, and no component grants more permissions than documented."""

import copy
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import cel
import kustomize
import support
from kustomize import OVERLAYS, of_kind, overlay, pod_of, the, with_components
from pod_rules import (BROKEN_BY, DEVICE_PLUGINS, KUBELET_DIRECTORIES, RULES, broken_rules,
                       host_paths)

MODULES = support.SOURCE / "build/node"
PRIVILEGED = "open-devices"
DRA = "dra"
VERSION = re.search(r"project\(patchbay VERSION (\S+)",
                    (support.SOURCE / "CMakeLists.txt").read_text()).group(1)


def builds():
    """Every overlay, every component on the default overlay, and all components at once."""
    yield from ((f"overlays/{name}", overlay(name)) for name in OVERLAYS)
    yield from ((f"components/{name}", with_components(name)) for name in kustomize.COMPONENTS)
    yield "all components", with_components(*all_components())


def the_config(objects):
    config, = [o for o in of_kind(objects, "ConfigMap") if "dashboard" not in o["metadata"]["name"]]
    return config


def all_components():
    """In a valid order: components that others change precede them."""
    return sorted(kustomize.COMPONENTS, key=lambda name: (name in (DRA, PRIVILEGED), name))


def uses_dra(name):
    return name in (f"components/{DRA}", "all components")


class Manifests(support.TestCase):
    def setUp(self):
        super().setUp()
        kustomize.skip_unless_it_builds()

    def problems(self, objects):
        if not (MODULES / "node_modules/kubernetes-models").is_dir():
            raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")
        support.skip_unless_programs("node")
        ran = subprocess.run(
            ["node", str(support.SOURCE / "tests/e2e/manifests.mjs"), str(MODULES)],
            input=json.dumps(objects), capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def test_objects_are_in_the_namespace(self):
        for name, objects in builds():
            with self.subTest(name):
                self.assertEqual(the("Namespace", objects)["metadata"]["name"], "patchbay")
                others = [o for o in objects if o["kind"] not in kustomize.CLUSTER_SCOPED]
                self.assertEqual({o["metadata"]["namespace"] for o in others}, {"patchbay"})
                enforced = the("Namespace", objects)["metadata"]["labels"]
                self.assertEqual(enforced["pod-security.kubernetes.io/enforce"], "privileged")

    def test_objects_are_valid(self):
        objects = {json.dumps(o, sort_keys=True) for _, built in builds() for o in built}
        self.assertEqual(self.problems([json.loads(text) for text in sorted(objects)]), [])

    def test_validator_rejects_invalid_objects(self):
        def unknown_key(o):
            pod_of(o)["containers"][0]["securityContext"]["readOnlyRootFilesytem"] = True

        def wrong_type(o):
            pod_of(o)["hostNetwork"] = "no"

        def missing(o):
            del o["spec"]["selector"]

        bad = []
        for spoil in (unknown_key, wrong_type, missing):
            daemonset = copy.deepcopy(the("DaemonSet", overlay("default")))
            daemonset["metadata"]["name"] = spoil.__name__
            spoil(daemonset)
            bad.append(daemonset)
        constraints = copy.deepcopy(
            the("SecurityContextConstraints", with_components("openshift")))
        constraints["allowHostPort"] = False
        found = "\n".join(self.problems([*bad, constraints]))
        for said in ("unknown_key", "wrong_type", "missing", "allowHostPort"):
            self.assertIn(said, found)

    def test_grants_no_more_permissions_than_documented(self):
        for name, objects in builds():
            with self.subTest(name):
                broken = set().union(*(rules for component, rules in BROKEN_BY.items()
                                       if name in (f"components/{component}", "all components")))
                self.assertEqual(broken_rules(the("DaemonSet", objects)), broken)
                accounts = of_kind(objects, "ServiceAccount")
                self.assertEqual({o["metadata"]["name"].partition("-dra")[1] for o in accounts},
                                 {"", "-dra"} if uses_dra(name) else {""})
                self.assertEqual({o["automountServiceAccountToken"] for o in accounts}, {False})

    def test_each_rule_detects_a_violation(self):
        for name, (_, spoil) in RULES.items():
            with self.subTest(name):
                daemonset = copy.deepcopy(the("DaemonSet", overlay("default")))
                pod = pod_of(daemonset)
                spoil(pod, pod["containers"][0])
                self.assertIn(name, broken_rules(daemonset))

    def test_every_security_context_setting_is_required(self):
        daemonset = the("DaemonSet", overlay("default"))
        for where in (lambda pod: pod, lambda pod: pod["containers"][0]):
            for key in where(pod_of(daemonset))["securityContext"]:
                if key in ("runAsGroup", "runAsNonRoot"):  # these are redundant
                    continue
                with self.subTest(key):
                    spoiled = copy.deepcopy(daemonset)
                    del where(pod_of(spoiled))["securityContext"][key]
                    self.assertNotEqual(broken_rules(spoiled), set())

    def test_pods_have_the_expected_settings(self):
        for name, objects in builds():
            with self.subTest(name):
                pod = pod_of(the("DaemonSet", objects))
                container = pod["containers"][0]
                self.assertEqual(pod["priorityClassName"], "system-node-critical")
                self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])
                self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 5)
                self.assertEqual(container["args"], ["run", "--wait-for-config"])
                fields = {"NODE_NAME": "spec.nodeName", **({"POD_UID": "metadata.uid"} if uses_dra(name) else {})}
                if name in ("components/net-devices", "all components"):
                    fields["NODE_IPS"] = "status.hostIP"
                self.assertCountEqual(container["env"], [
                    {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}}
                    for variable, path in fields.items()])
                port, = container["ports"]
                self.assertEqual(port["containerPort"], 9478)  # the default of `listen`
                for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
                    self.assertEqual(container[probe]["httpGet"],
                                     {"path": path, "port": port["name"]})
                self.assertEqual(container["resources"].keys(), {"requests", "limits"})
                self.assertNotIn("cpu", container["resources"]["limits"])
                # A file in /dev cannot be created, because /dev is read-only.
                self.assertFalse(container["terminationMessagePath"].startswith("/dev"))
                tools = "-tools" if "tools-image" in name or name in (
                    "all components", "overlays/example-fpga") else ""
                self.assertEqual(container["image"],
                                 f"ghcr.io/patchbay/patchbay:{VERSION}{tools}")

    def test_mounted_configuration_is_valid(self):
        for name, objects in builds():
            with self.subTest(name):
                daemonset = the("DaemonSet", objects)
                suffix = daemonset["metadata"]["name"].removeprefix("patchbay")
                config = the_config(objects)
                self.assertEqual(config["metadata"]["name"], f"patchbay{suffix}")
                volume, = [v for v in pod_of(daemonset)["volumes"] if "configMap" in v]
                self.assertEqual(volume["configMap"], {"name": f"patchbay{suffix}"})
                mount, = [m for m in pod_of(daemonset)["containers"][0]["volumeMounts"]
                          if m["name"] == volume["name"]]
                self.assertEqual(mount["mountPath"], "/etc/patchbay")
                self.check(name, config["data"])

    def check(self, name, data):
        """Checks the files of a ConfigMap with patchbay, and the scripts among them with sh."""
        directory = self.dir / name.replace("/", "-")
        directory.mkdir()
        for file, text in data.items():
            (directory / file).write_text(text)
        ran = support.run("check", "--strict", str(directory))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        for script in directory.glob("*.sh"):
            self.assertIn(f'"/etc/patchbay/{script.name}"', data["patchbay.toml"])
            subprocess.run(["sh", "-n", str(script)], check=True)

    def test_overlays_mount_the_kubelet_directories(self):
        self.assertEqual(set(KUBELET_DIRECTORIES), set(OVERLAYS))
        for name, root in KUBELET_DIRECTORIES.items():
            with self.subTest(name):
                objects = overlay(name)
                pod = pod_of(the("DaemonSet", objects))
                at = {m["name"]: m["mountPath"] for m in pod["containers"][0]["volumeMounts"]}
                paths = host_paths(pod)
                self.assertEqual(paths["device-plugins"], DEVICE_PLUGINS)
                self.assertEqual(paths["pod-resources"], f"{root}/pod-resources")
                # The paths of the configuration, or their defaults, must be mounted.
                config = the("ConfigMap", objects)["data"]["patchbay.toml"]
                said = dict(re.findall(r'^(kubelet_dir|pod_resources|host_root)\s*=\s*"(.*)"',
                                       config, re.MULTILINE))
                self.assertEqual(said.get("kubelet_dir", DEVICE_PLUGINS), at["device-plugins"])
                self.assertEqual(
                    said.get("pod_resources", "/var/lib/kubelet/pod-resources/kubelet.sock"),
                    at["pod-resources"] + "/kubelet.sock")
                host = pathlib.PurePath(said.get("host_root", "/"))
                for volume in ("dev", "sys", "udev"):
                    self.assertEqual(at[volume], str(host / paths[volume].lstrip("/")))
                # A missing one is reported in the events of the pod.
                for volume in pod["volumes"]:
                    if volume["name"] in ("device-plugins", "pod-resources"):
                        self.assertEqual(volume["hostPath"]["type"], "Directory")

    def test_base_does_not_mount_pod_resources(self):
        pod = pod_of(the("DaemonSet", kustomize.kustomize(kustomize.ROOT / "base")))
        self.assertEqual(set(host_paths(pod)), {"device-plugins", "dev", "sys", "udev"})

    def test_update_strategy_surges_unless_hooks_run(self):
        rolling = {name: the("DaemonSet", objects)["spec"]["updateStrategy"]["rollingUpdate"]
                   for name, objects in builds()}
        one_by_one = {"components/release-hook", "all components"}
        for name, update in rolling.items():
            with self.subTest(name):
                surge = {"maxSurge": "10%", "maxUnavailable": 0}
                end_first = {"maxSurge": 0, "maxUnavailable": "10%"}
                self.assertEqual(update, end_first if name in one_by_one else surge)

    def test_two_pods_can_run_on_one_node(self):
        for name, objects in builds():
            with self.subTest(name):
                pod = pod_of(the("DaemonSet", objects))
                self.assertFalse(pod.get("hostNetwork", False))
                ports = [port for container in pod["containers"] for port in container["ports"]]
                self.assertEqual([port for port in ports if "hostPort" in port], [])

    def test_no_example_runs_release_hooks_twice(self):
        for name, objects in builds():
            update = the("DaemonSet", objects)["spec"]["updateStrategy"]["rollingUpdate"]
            for text in the_config(objects)["data"].values():
                self.assertFalse(update["maxSurge"] and "hooks.release" in text, name)

    def test_manifests_equal_the_stored_objects(self):
        """Otherwise `kubectl apply` prints "configured" each time."""
        for name, objects in builds():
            with self.subTest(name):
                pod = pod_of(the("DaemonSet", objects))
                for key in ("hostNetwork", "hostPID", "hostIPC"):
                    self.assertNotIn(key, pod)  # false is dropped
                quota = the("ResourceQuota", objects)["spec"]["hard"]
                self.assertEqual(quota, {"pods": "1M"})  # the shortest of 1000000

    def test_pools_do_not_conflict(self):
        pools = {name: overlay(name) for name in ("default", "example-serial", "example-fpga")}
        seen, selectors, nodes = {}, {}, {}
        # A second apply must not change anything.
        namespaces = [the("Namespace", objects) for objects in pools.values()]
        self.assertEqual([n for n in namespaces if n != namespaces[0]], [])
        for name, objects in pools.items():
            for o in objects:
                instance = o["metadata"]["labels"]["app.kubernetes.io/instance"]
                expected = name.removeprefix("example-") if o["kind"] != "Namespace" else "default"
                self.assertEqual(instance, expected, f"{name}: {o['kind']}")
                identity = (o["kind"], o["metadata"]["name"])
                if o["kind"] != "Namespace":
                    self.assertNotIn(identity, seen, f"{name} and {seen.get(identity)}")
                seen[identity] = name
            daemonset = the("DaemonSet", objects)
            selectors[name] = daemonset["spec"]["selector"]["matchLabels"]
            nodes[name] = pod_of(daemonset)["nodeSelector"]
            labels = daemonset["spec"]["template"]["metadata"]["labels"]
            for other, selector in selectors.items():
                self.assertEqual(selector.items() <= labels.items(), other == name)
        self.assertEqual(len({json.dumps(n, sort_keys=True) for n in nodes.values()}), len(pools))
        names = [n for objects in pools.values() for n in re.findall(
            r'^name +=.*', the("ConfigMap", objects)["data"]["patchbay.toml"], re.MULTILINE)]
        self.assertEqual(len(names), len(set(names)))

    def pool(self, component):
        """The pool of example-serial, whose user has added a component."""
        pool, written = self.dir / "pool", kustomize.ROOT / "overlays/example-serial"
        shutil.copytree(written, pool)
        up = os.path.relpath(kustomize.ROOT, pool)
        text = (written / "kustomization.yaml").read_text().replace("- ../", f"- {up}/overlays/")
        (pool / "kustomization.yaml").write_text(
            f"{text}\ncomponents:\n- {up}/components/{component}\n")
        return kustomize.kustomize(pool)

    def test_pod_monitor_selects_the_pods(self):
        for objects in (with_components("podmonitor"), overlay("example-fpga"),
                        with_components("podmonitor", base="k0s"), self.pool("podmonitor")):
            monitor, daemonset = the("PodMonitor", objects), the("DaemonSet", objects)
            self.assertEqual(monitor["spec"]["selector"], daemonset["spec"]["selector"])
            endpoint, = monitor["spec"]["podMetricsEndpoints"]
            self.assertEqual(endpoint["port"],
                             pod_of(daemonset)["containers"][0]["ports"][0]["name"])
            self.assertIs(endpoint["honorLabels"], True)
            self.assertEqual(endpoint["relabelings"], [{
                "sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}])

    def test_documented_overlays_build(self):
        """The overlay of docs/deploy.md, with this tree instead of a release, and the fields that are added to it."""
        text = (support.SOURCE / "docs/deploy.md").read_text() + (support.SOURCE / "docs/openshift.md").read_text()
        blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        whole, = (block for block in blocks if "kind: Kustomization" in block)
        fields = [block for block in blocks if block.startswith(("images:", "patches:"))]
        self.assertEqual(len(fields), 3)
        (self.dir / "patchbay.toml").write_text(support.resource("example.com/own", "count = 1"))
        up = os.path.relpath(support.SOURCE, self.dir)
        released = re.compile(r"https://github\.com/patchbay/patchbay/(/\S+)\?ref=v(\S+)")
        self.assertEqual({ref for _, ref in released.findall(text.replace("'", " "))}, {VERSION})
        for more in ("", *fields):
            with self.subTest(more):
                (self.dir / "kustomization.yaml").write_text(released.sub(up + r"\1", whole) + more)
                objects = kustomize.kustomize(self.dir)
                self.assertIn("example.com/own",
                              the("ConfigMap", objects)["data"]["patchbay.toml"])
                self.assertEqual(broken_rules(the("DaemonSet", objects)), set())
                self.assertEqual(self.problems(objects), [])

    def test_network_policy_allows_only_http(self):
        objects = with_components("network-policy")
        policy = the("NetworkPolicy", objects)["spec"]
        labels = the("DaemonSet", objects)["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
        self.assertEqual(policy["egress"], [])
        self.assertEqual([i["ports"] for i in policy["ingress"]],
                         [[{"port": "http", "protocol": "TCP"}]])

    def test_only_dra_uses_the_api_server(self):
        kinds = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ValidatingAdmissionPolicy",
                 "ValidatingAdmissionPolicyBinding"}
        for name, objects in builds():
            with self.subTest(name):
                self.assertEqual(kinds & {o["kind"] for o in objects} != set(), uses_dra(name))
                account = pod_of(the("DaemonSet", objects))["serviceAccountName"]
                self.assertEqual("-dra" in account, uses_dra(name))

    def test_dra_permits_its_requests_and_no_others(self):
        objects = with_components(DRA)
        self.assertEqual(the("ClusterRole", objects)["rules"], [
            {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]},
            {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"],
             "verbs": ["get", "list", "watch", "create", "update", "delete"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}])
        self.assertEqual(of_kind(objects, "Role") + of_kind(objects, "RoleBinding"), [])

    def test_dra_names_the_account_of_the_pod(self):
        for name, objects in (("default", with_components(DRA)), ("pool", self.pool(DRA))):
            with self.subTest(name):
                account = pod_of(the("DaemonSet", objects))["serviceAccountName"]
                self.assertIn(account, [o["metadata"]["name"] for o in of_kind(objects, "ServiceAccount")])
                binding = the("ClusterRoleBinding", objects)
                self.assertEqual(binding["subjects"],
                                 [{"kind": "ServiceAccount", "name": account, "namespace": "patchbay"}])
                self.assertEqual(binding["roleRef"]["name"], the("ClusterRole", objects)["metadata"]["name"])
                policy = the("ValidatingAdmissionPolicy", objects)
                bound = the("ValidatingAdmissionPolicyBinding", objects)["spec"]
                self.assertEqual(bound, {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]})
                condition, = policy["spec"]["matchConditions"]
                for user, restricted in ((f"system:serviceaccount:patchbay:{account}", True),
                                         (f"system:serviceaccount:other:a-{account}-b", True),
                                         ("system:serviceaccount:patchbay:patchbay", False),
                                         ("system:serviceaccount:patchbay:mypatchbay-dra", False),
                                         ("system:serviceaccount:patchbay:patchbay-drab", False),
                                         ("my:system:serviceaccount:patchbay:patchbay-dra", False),
                                         ("system:serviceaccount:kube-system:other", False),
                                         ("admin", False)):
                    self.assertEqual(kustomize.restricts(condition["expression"], user), restricted, user)

    def test_objects_of_a_pool_with_dra_have_its_label(self):
        for o in self.pool(DRA):
            if o["kind"] != "Namespace":
                self.assertEqual(o["metadata"]["labels"]["app.kubernetes.io/instance"], "serial", o["kind"])

    def test_documented_directory_of_dra_is_mounted(self):
        block, = re.findall(r"^```yaml\n(components:.*?)^```", (support.SOURCE / "docs/deploy.md").read_text(),
                            re.MULTILINE | re.DOTALL)
        up = os.path.relpath(kustomize.ROOT, self.dir)
        (self.dir / "kustomization.yaml").write_text(
            f"namespace: patchbay\nresources:\n- {up}/overlays/k0s\n" + block.replace("../..", up))
        objects = kustomize.kustomize(self.dir)
        self.assertEqual(host_paths(pod_of(the("DaemonSet", objects)))["plugins-registry"],
                         f"{KUBELET_DIRECTORIES['k0s']}/plugins_registry")
        self.assertEqual(broken_rules(the("DaemonSet", objects)), BROKEN_BY[DRA])

    def test_dra_policy_covers_every_write_of_a_slice(self):
        spec = the("ValidatingAdmissionPolicy", with_components(DRA))["spec"]
        self.assertEqual(spec["failurePolicy"], "Fail")
        rule, = spec["matchConstraints"]["resourceRules"]
        self.assertEqual(rule, {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"],
                                "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["resourceslices"],
                                "scope": "*"})

    def test_dra_policy_permits_only_writes_of_slices_of_the_same_node(self):
        policy = the("ValidatingAdmissionPolicy", with_components(DRA))
        patchbay = "system:serviceaccount:patchbay:patchbay-dra"
        no_claim, other_node = "the token does not name a node", "Patchbay on the node own may only write"
        claim = "authentication.kubernetes.io/node-name"
        extras = {"claim": {claim: ["own"]}, "empty claim": {claim: []}, "no claim": {"example.com/a": ["own"]}}
        slices = {"absent": None, "own": {"spec": {"nodeName": "own"}}, "other": {"spec": {"nodeName": "other"}},
                  "all nodes": {"spec": {"allNodes": True}}}
        before_and_after = list(itertools.product(slices, repeat=2))[1:]  # without two absent ones
        permitted = {("absent", "own"), ("own", "own"), ("own", "absent")}

        for user, extra, (before, after) in itertools.product(
                (patchbay, "system:serviceaccount:kube-system:other", "system:node:own"), extras, before_and_after):
            with self.subTest(user=user, extra=extra, before=before, after=after):
                operation = "CREATE" if before == "absent" else "DELETE" if after == "absent" else "UPDATE"
                request = {"operation": operation, "userInfo": {"username": user, "extra": extras[extra]}}
                message = kustomize.denial(policy, request=request, object=slices[after], oldObject=slices[before])
                if user != patchbay or (extra == "claim" and (before, after) in permitted):
                    self.assertIsNone(message)
                else:
                    self.assertIn(other_node if extra == "claim" else no_claim, message or "permitted")

        # A token without extra fields is an error, which denies the request because of failurePolicy.
        with self.assertRaises(cel.Error):
            kustomize.denial(policy, request={"operation": "CREATE", "userInfo": {"username": patchbay}},
                             object=slices["own"], oldObject=None)

    def test_dra_mounts_a_token_that_expires_and_the_directories_of_the_driver(self):
        pod = pod_of(the("DaemonSet", with_components(DRA)))
        container, = pod["containers"]
        self.assertIs(pod["automountServiceAccountToken"], False)
        volumes = {v.pop("name"): v for v in copy.deepcopy(pod["volumes"])}
        mounts = {m.pop("name"): m for m in copy.deepcopy(container["volumeMounts"])}
        self.assertEqual(mounts["api-access"], {
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True})
        self.assertEqual(volumes["api-access"], {"projected": {"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}})
        # The daemon expects them next to kubelet_dir. The kubelet connects by the path that the driver reports.
        for name, path in (("plugins-registry", "/var/lib/kubelet/plugins_registry"),
                           ("driver", "/var/lib/kubelet/plugins/patchbay.dev"), ("cdi", "/var/run/cdi")):
            self.assertEqual(mounts[name], {"mountPath": path})
            self.assertEqual(volumes[name]["hostPath"]["path"], path)

    def test_dra_opens_the_network_to_the_api_server_only(self):
        objects = with_components("network-policy", DRA)
        egress, = the("NetworkPolicy", objects)["spec"]["egress"]
        self.assertEqual({(p["port"], p["protocol"]) for p in egress.pop("ports")},
                         {(443, "TCP"), (6443, "TCP"), (8443, "TCP"), (16443, "TCP")})
        self.assertEqual(egress, {})

    def test_openshift_constraints_match_the_pod(self):
        objects = with_components("openshift")
        pod = pod_of(the("DaemonSet", objects))
        self.assertEqual(pod["securityContext"]["seLinuxOptions"],
                         {"type": "container_device_plugin_t"})
        constraints = the("SecurityContextConstraints", objects)
        self.assertEqual(constraints["groups"], ["system:serviceaccounts:patchbay"])
        allowed = {key for key, value in constraints.items()
                   if key.startswith("allow") and value and value != []}
        self.assertEqual(allowed, {"allowHostDirVolumePlugin"})
        for components in (("openshift",), ("openshift", DRA)):
            objects = with_components(*components)
            self.assertEqual(set(the("SecurityContextConstraints", objects)["volumes"]),
                             {key for v in pod_of(the("DaemonSet", objects))["volumes"] for key in v if key != "name"})

        opened = with_components("openshift", PRIVILEGED)
        self.assertIs(the("SecurityContextConstraints", opened)["allowPrivilegedContainer"], True)
        self.assertNotIn("seLinuxOptions",
                         pod_of(the("DaemonSet", opened))["securityContext"])

    def test_prometheus_rule_contains_the_alerts(self):
        import yaml
        alerts = support.SOURCE / "dashboards/alerts.yaml"
        rule = the("PrometheusRule", with_components("prometheus-rule"))
        self.assertEqual(rule["spec"], yaml.safe_load(alerts.read_text()),
                         "run scripts/prometheus-rule")

    def test_component_contains_every_dashboard(self):
        found = {}
        for config in of_kind(with_components("grafana-dashboard"), "ConfigMap"):
            if config["metadata"]["labels"].get("grafana_dashboard") == "1":
                found.update(config["data"])
                # kubectl apply stores a copy in an annotation, whose size is limited.
                self.assertLess(len(json.dumps(config)), 256 * 1024, config["metadata"]["name"])
        there = {p.name: p.read_text() for p in (support.SOURCE / "dashboards").glob("*.json")}
        self.assertEqual(found.keys(), there.keys())
        for name, text in there.items():
            self.assertEqual(json.loads(found[name]), json.loads(text))


class Cel(support.TestCase):
    VALUES = {"map": {"key": "a", "list": ["b"], "yes": {"x": "y"}}, "nothing": None}

    def test_evaluates(self):
        for expression, expected in (
                ('"a" == "a"', True), ('"a" != "a"', False), ('"a" + "b" + "c" == "abc"', True),
                ('"a" == "a" || "a" == "b" && "a" == "b"', True),
                ('("a" == "a" || "a" == "b") && "a" == "b"', False),
                ('"a" == "b" ? "1" : "a" == "a" ? "2" : "3"', "2"), ('"a" == "a" ? "1" : map.none', "1"),
                ('map["key"]', "a"), ("map.list[0]", "b"), ("map.?key", ("a",)), ("map.?none", ()),
                ('map[?"list"][0]', ("b",)), ('map[?"list"][1]', ()), ("map.?yes.x", ("y",)), ("map.?none.x", ()),
                ('map.?key.orValue("z")', "a"), ('map.?none.orValue("z")', "z"),
                ('"abc".matches("b")', True), ('"abc".matches("^b")', False),
                ('map.none == "a" || "a" == "a"', True), ('map.none == "a" && "a" == "b"', False)):
            with self.subTest(expression):
                self.assertEqual(cel.evaluate(expression, self.VALUES), expected)

    def test_reports_errors_of_the_api_server(self):
        for expression in ("map.none", "map.list[1]", 'map["none"]', "nothing.key", "nothing.?key",
                           'map.none == "a" || "a" == "b"', '"a" == "a" && map.none == "a"'):
            with self.subTest(expression), self.assertRaises(cel.Error):
                cel.evaluate(expression, self.VALUES)

    def test_rejects_everything_else(self):
        for expression in (
                "", '"a', "'a'", r'"\n"', 'r"a"', "1", "true", "!map", "unknown", "map.", "map.key map", "(map",
                "map[map]", "map[?0]", "map.key[0]", "map.key.x", "map.list.x", "map.size()", "has(map.key)",
                '"a" in map', "[map]", '"a" < "b"', '"a" - "b"', 'map == "a"', "map.key + map", 'map ? "a" : "b"',
                'map.key || "a" == "a"', '"a" == "a" ? "b"', 'map.key.orValue("a")', '"a".matches("(?=a)")',
                '"a" == "a" || unknown', '"a" == "a" ? "b" : !map'):
            with self.subTest(expression), self.assertRaises((ValueError, TypeError, KeyError)):
                cel.evaluate(expression, self.VALUES)


if __name__ == "__main__":
    support.main()
