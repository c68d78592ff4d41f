"""The Helm chart: renders the same objects as deploy/kustomize, rejects invalid values, and grants no more."""

import copy
import hashlib
import itertools
import json
import re
import shutil
import subprocess
import tarfile
import textwrap
import tomllib
import unittest

import chart_readme
import helm
import kustomize
import support
from kustomize import of_kind, pod_of, the, with_components
from pod_rules import BROKEN_BY, KUBELET_DIRECTORIES, broken_rules

# The value that corresponds to each component of deploy/kustomize.
TOGGLES = {
    "cdi": "cdi.enabled=true",
    "dra": "dra.enabled=true",
    "grafana-dashboard": "dashboards.enabled=true",
    "net-devices": "netDevices.enabled=true",
    "network-policy": "networkPolicy.enabled=true",
    "open-devices": "openDevices.enabled=true",
    "openshift": "openshift.enabled=true",
    "pod-resources": "podResources.enabled=true",
    "podmonitor": "podMonitor.enabled=true",
    "prometheus-rule": "prometheusRule.enabled=true",
    "release-hook": "updateStrategy.rollingUpdate.maxSurge=0,updateStrategy.rollingUpdate.maxUnavailable=10%",
    "tools-image": "toolsImage.enabled=true",
}
# Values and a part of the message that rejects them.
INVALID = (
    ("confg=x", "confg"),
    ("config.resource=x", "config"),
    ("image.digest=sha256:1", "image"),
    ("image.repository=registry.example.com/patchbay:1", "image"),
    ("image.pullPolicy=Sometimes", "pullPolicy"),
    ("kubelet.root=var/lib/kubelet", "kubelet"),
    ("openDevices.enabled=maybe", "openDevices"),
    ("openDevices=true", "openDevices"),
    ("existingConfigMap=Not_A_Name", "existingConfigMap"),
    ("pools.Serial.config=x", "Serial"),
    ("pools.serial.image.tag=x", "pools"),
    ("updateStrategy.type=Recreate", "updateStrategy"),
    ("updateStrategy.rollingUpdate.maxSurge=ten", "maxSurge"),
    ("networkPolicy.from[0]=x", "networkPolicy"),
    ("extraVolumes[0].hostPath.path=/x", "extraVolumes"),
)
# Values of a file and a part of the message that rejects them. A text with a line break could add keys to an object.
INVALID_FILES = (
    ({"priorityClassName": "x\n      hostPID: true"}, "priorityClassName"),
    ({"priorityClassName": "High"}, "priorityClassName"),
    ({"kubelet": {"devicePlugins": "/x\n          type: Directory"}}, "devicePlugins"),
    ({"kubelet": {"root": "/x\ny: z"}}, "root"),
    ({"kubelet": {"root": "/x: y"}}, "root"),
    ({"kubelet": {"root": "/x/../y"}}, "root"),
    ({"kubelet": {"podResources": "/x\ny: z"}}, "podResources"),
    ({"pools": {"a": {"kubelet": {"root": "/x\ny: z"}}}}, "root"),
    ({"nameOverride": "x\nhostPID: true"}, "nameOverride"),
    ({"nameOverride": 1}, "nameOverride"),
    ({"fullnameOverride": "x\n  y: z"}, "fullnameOverride"),
    ({"fullnameOverride": "A"}, "fullnameOverride"),
    ({"existingConfigMap": "a..b"}, "existingConfigMap"),
    ({"imagePullSecrets": [{"name": "a\nb: c"}]}, "imagePullSecrets"),
    *(({"image": {"repository": name}}, "repository")
      for name in ("*x", '"', "[x]", "x y", "&x", "x#", "", "Upper/Case", "x/", "/x", "x:1", "x\ny")),
    # Helm removes a key whose value is null.
    *(({key: None}, key) for key in (
        "config", "existingConfigMap", "pools", "image", "imagePullSecrets", "nameOverride", "fullnameOverride",
        "podLabels", "podAnnotations", "nodeSelector", "tolerations", "affinity", "priorityClassName", "resourceQuota",
        "updateStrategy", "resources", "kubelet", "extraEnv", "extraVolumes", "extraVolumeMounts", "podResources", "cdi",
        "netDevices", "dra", "openDevices", "toolsImage", "openshift", "podMonitor", "prometheusRule", "dashboards", "networkPolicy")),
    *(({key: {"enabled": None}}, "enabled") for key in (
        "resourceQuota", "podResources", "cdi", "netDevices", "dra", "openDevices", "toolsImage", "openshift", "podMonitor",
        "prometheusRule", "dashboards", "networkPolicy")),
    *(({"image": {key: None}}, key) for key in ("repository", "tag", "digest", "pullPolicy")),
    *(({"kubelet": {key: None}}, key) for key in ("root", "devicePlugins", "podResources")),
    *(({key: {"labels": None}}, "labels") for key in ("podMonitor", "prometheusRule", "dashboards")),
    ({"pools": {"a": None}}, "pools"),
    *(({"pools": {"a": {key: None}}}, key) for key in (
        "config", "existingConfigMap", "nodeSelector", "tolerations", "affinity", "resources", "kubelet",
        "podResources", "cdi", "netDevices", "dra", "openDevices", "toolsImage")),
    *(({"dra": {"driver": name}}, "driver") for name in (None, "", "Gpu", "a/b", "..", "x\ny", "a" * 48)),
    ({"pools": {"a": {"dra": {"driver": "a/../b"}}}}, "driver"),
    ({"pools": {"a": {"openDevices": {"enabled": None}}}}, "enabled"),
    ({"networkPolicy": {"from": None}}, "from"),
    ({"updateStrategy": {"type": None}}, "type"),
    ({"updateStrategy": {"rollingUpdate": {"maxSurge": None}}}, "maxSurge"),
    *(({"podLabels": {f"app.kubernetes.io/{key}": "x"}}, f"app.kubernetes.io/{key}")
      for key in ("name", "instance", "component")),
    ({"podAnnotations": {"kubectl.kubernetes.io/default-container": "x"}}, "default-container"),
    *(({key: {"labels": {"app.kubernetes.io/version": "x"}}}, "app.kubernetes.io/version")
      for key in ("podMonitor", "prometheusRule", "dashboards")),
    ({"extraEnv": [{"name": "A", "value": 1}]}, "extraEnv"),
    ({"extraEnv": [{"name": "A", "value": True}]}, "extraEnv"),
    ({"extraEnv": [{"name": "A", "value": None}]}, "extraEnv"),
    ({"extraEnv": [{"name": 1, "value": "x"}]}, "extraEnv"),
    ({"extraEnv": [{"name": "A", "valu": "x"}]}, "extraEnv"),
    ({"extraVolumes": [{"name": 1}]}, "extraVolumes"),
    ({"extraVolumeMounts": [{"name": "x", "mountPath": 1}]}, "extraVolumeMounts"),
    ({"resources": {"limit": {"memory": "1Gi"}}}, "limit"),
    ({"resources": {"limits": {"memory": "1 Gi"}}}, "memory"),
    ({"resources": {"limits": {"memory": True}}}, "memory"),
    ({"resources": {"requests": {"cpu": "-1"}}}, "cpu"),
    ({"pools": {"a": {"resources": {"claims": []}}}}, "claims"),
)
# Values that are valid, so that the patterns above do not reject too much.
VALID_FILES = (
    {"image": {"repository": "localhost:5000/a__b/c-d.e"}},
    {"image": {"repository": "patchbay"}},
    {"image": {"repository": "Registry.example.com/team/patchbay"}},
    {"kubelet": {"root": "/mnt/disk-1/kubelet_x/", "podResources": "/run/a+b@c/pod-resources"}},
    {"pools": {"a": {"kubelet": {"root": "/x"}, "podResources": {"enabled": False}}}},
    {"priorityClassName": "a.b-c"},
    {"nodeSelector": {"kubernetes.io/os": None}, "tolerations": [], "updateStrategy": {"rollingUpdate": None}},
    {"resources": {"limits": {"memory": "0.5Gi", "cpu": 1, "example.com/x": "1e3"}, "requests": {"cpu": 0.5}}},
    {"resources": {"limits": None, "requests": {"cpu": "100m"}}},
    {"extraEnv": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]},
    {"podLabels": {"app.kubernetes.io/version": "1", "team": "on"}},
)
# Names that YAML reads as a number, a Boolean or null.
AMBIGUOUS = ("123", "true", "null", "on", "1e3", "0x1f")
POOLS = ("pools.serial.nodeSelector.example\\.com/pool=serial", "pools.serial.openDevices.enabled=true",
         "pools.gpu.existingConfigMap=gpus", "pools.gpu.kubelet.root=/var/lib/k0s/kubelet")


def comparable(objects):
    """The objects without their labels and the Namespace, which Helm does not create; TOML as values."""
    result = {}
    for original in objects:
        if original["kind"] == "Namespace" or "helm.sh/hook" in original["metadata"].get("annotations", {}):
            continue
        o = copy.deepcopy(original)
        o["metadata"].pop("labels", None)
        spec = o.get("spec", {})
        for labels in (spec.get("selector"), spec.get("podSelector")):
            if labels:
                labels.pop("matchLabels")
        if o["kind"] == "DaemonSet":
            spec["template"]["metadata"].pop("labels")
            for key in ("volumes", "containers"):
                pod_of(o)[key].sort(key=lambda one: one["name"])
            for key in ("volumeMounts", "env"):
                pod_of(o)["containers"][0][key].sort(key=lambda one: one["name"])
            context = pod_of(o)["securityContext"]
            if context.get("seLinuxOptions", 0) is None:
                del context["seLinuxOptions"]
        if "patchbay.toml" in o.get("data", {}):
            o["data"] = tomllib.loads(o["data"]["patchbay.toml"])
        if o["kind"] in kustomize.CLUSTER_SCOPED:
            o["metadata"].pop("namespace", None)
        if o["kind"] == "ValidatingAdmissionPolicy":
            # That of the chart is for the account of the release, that of kustomize for each name of an overlay.
            condition, = spec["matchConditions"]
            condition["expression"] = kustomize.restricts(condition["expression"],
                                                          "system:serviceaccount:patchbay:patchbay-dra")
        result[o["kind"], o["metadata"]["name"]] = o
    return result


def names_in(value):
    """Each name, namespace and path in the objects, with the keys and values of labels and selectors."""
    if isinstance(value, list):
        for one in value:
            yield from names_in(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in ("name", "namespace", "path", "image", "serviceAccountName", "priorityClassName"):
                yield one
            elif key in ("labels", "matchLabels", "nodeSelector", "annotations"):
                yield from (*one.keys(), *one.values())
            elif key in ("values", "groups") and all(not isinstance(item, dict) for item in one):
                yield from one
            else:
                yield from names_in(one)


def each(*cases):
    """Each case with Helm 3, and the first one with Helm 4, which reads the same chart."""
    cases = cases or (None,)
    return (*((helm.VERSIONS[0], case) for case in cases), (helm.VERSIONS[1], cases[0]))


class Chart(support.TestCase):
    def setUp(self):
        super().setUp()
        kustomize.skip_unless_it_builds()
        for version in helm.VERSIONS:
            helm.program(version)

    def test_lint_passes(self):
        for version, _ in each():
            with self.subTest(helm=version):
                ran = helm.helm(version, "lint", "--strict", str(helm.CHART))
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_defaults_equal_the_default_overlay(self):
        for version, _ in each():
            with self.subTest(helm=version):
                self.assertEqual(comparable(helm.render(version)), comparable(kustomize.overlay("default")))

    def test_without_pod_resources_it_equals_the_base(self):
        base = kustomize.kustomize(kustomize.ROOT / "base")
        for version, _ in each():
            with self.subTest(helm=version):
                self.assertEqual(comparable(helm.render(version, "podResources.enabled=false")), comparable(base))

    def test_each_toggle_equals_its_component(self):
        self.assertEqual(sorted(TOGGLES), kustomize.COMPONENTS)
        for version, (component, toggle) in each(*TOGGLES.items()):
            with self.subTest(helm=version, case=(component, toggle)):
                expected = with_components(component) if component != "pod-resources" else kustomize.overlay("default")
                self.assertEqual(comparable(helm.render(version, toggle)), comparable(expected))

    def test_all_toggles_equal_all_components(self):
        components = sorted(set(TOGGLES) - {"pod-resources"}, key=lambda name: (name in ("dra", "open-devices"), name))
        for version, _ in each():
            with self.subTest(helm=version):
                self.assertEqual(comparable(helm.render(version, *TOGGLES.values())),
                                 comparable(with_components(*components)))

    def test_kubelet_directories_equal_the_overlays(self):
        for version, (name, root) in each(*KUBELET_DIRECTORIES.items()):
            with self.subTest(helm=version, case=(name, root)):
                if name.startswith("example") or name == "own":
                    continue
                self.assertEqual(comparable(helm.render(version, f"kubelet.root={root}")),
                                 comparable(kustomize.overlay(name)))

    def test_grants_no_more_permissions_than_documented(self):
        combinations = ((), *((toggle,) for toggle in TOGGLES.values()), tuple(TOGGLES.values()), POOLS)
        for version, settings in each(*combinations):
            with self.subTest(helm=version, case=settings):
                objects = helm.render(version, *settings)
                for daemonset in of_kind(objects, "DaemonSet"):
                    on = {component for component in BROKEN_BY if TOGGLES[component] in settings}
                    if daemonset["metadata"]["name"].endswith("-serial"):
                        on.add("open-devices")
                    self.assertEqual(broken_rules(daemonset), set().union(*(BROKEN_BY[name] for name in on)))
                accounts = of_kind(objects, "ServiceAccount")
                self.assertEqual(len(accounts), 2 if TOGGLES["dra"] in settings else 1)
                self.assertEqual({o["automountServiceAccountToken"] for o in accounts}, {False})

    def from_values(self, version, values, release="patchbay", namespace="patchbay"):
        """Runs `helm template` with a file of values."""
        path = self.dir / "values.json"
        path.write_text(json.dumps(values))
        return helm.helm(version, "template", release, str(helm.CHART), "--namespace", namespace, "--values", str(path))

    def objects_from_values(self, version, values, **names):
        import yaml
        ran = self.from_values(version, values, **names)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [o for o in yaml.safe_load_all(ran.stdout) if o]

    def test_rejects_invalid_values_of_a_file(self):
        for version, (values, message) in each(*INVALID_FILES):
            with self.subTest(helm=version, case=values):
                ran = self.from_values(version, values)
                self.assertNotEqual(ran.returncode, 0, "accepted")
                self.assertIn("schema", ran.stderr)
                self.assertIn(message, ran.stderr)

    def test_accepts_valid_values_of_a_file(self):
        for version, values in each(*VALID_FILES):
            with self.subTest(helm=version, case=values):
                self.objects_from_values(version, values)

    def test_names_are_strings(self):
        enabled = {key: {"enabled": True} for key in (
            "openshift", "podMonitor", "prometheusRule", "dashboards", "networkPolicy")}
        for version, name in each(*AMBIGUOUS):
            pool = {"config": "x = 1", "nodeSelector": {"pool": name}}
            cases = ({"nameOverride": name}, {"fullnameOverride": name, "pools": {name: pool}},
                     {"pools": {name: {**pool, "existingConfigMap": name}}}, {"priorityClassName": name})
            for values in cases:
                with self.subTest(helm=version, case=values):
                    objects = self.objects_from_values(version, {**enabled, **values}, release=name, namespace=name)
                    self.assertEqual([text for text in names_in(objects) if not isinstance(text, str)], [])
                    daemonset = the("DaemonSet", objects)
                    labels = daemonset["spec"]["template"]["metadata"]["labels"]
                    self.assertEqual(labels["app.kubernetes.io/instance"], name)
                    self.assertEqual(daemonset["metadata"]["namespace"], name)
                    self.assertEqual(labels.get("app.kubernetes.io/component", name), name)

    def test_shortened_names_are_valid(self):
        """Objects have names of at most 50 characters and a suffix; the last character is a letter or a digit."""
        cases = (({"fullnameOverride": "a" * 48 + "---b"}, "patchbay"),
                 ({"nameOverride": "a" * 39 + "---b"}, "patchbay"),
                 ({}, "a" * 49 + ".b"))
        for version, (values, release) in each(*cases):
            with self.subTest(helm=version, case=(values, release)):
                for o in self.objects_from_values(version, values, release=release):
                    self.assertRegex(o["metadata"]["name"], r"\A[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")

    def test_every_text_of_the_values_stays_one_text(self):
        text = 'on: "x" # {{ .Values }}\n\t- \u2028'
        values = {"podAnnotations": {"a": text}, "podLabels": {"b": text}, "extraEnv": [{"name": "A", "value": text}],
                  "nodeSelector": {"c": text}, "tolerations": [{"key": text, "operator": "Exists"}]}
        for version, _ in each():
            with self.subTest(helm=version):
                daemonset = the("DaemonSet", self.objects_from_values(version, values))
                metadata, pod = daemonset["spec"]["template"]["metadata"], pod_of(daemonset)
                self.assertEqual(metadata["annotations"]["a"], text)
                self.assertEqual(metadata["labels"]["b"], text)
                self.assertIn({"name": "A", "value": text}, pod["containers"][0]["env"])
                self.assertEqual(pod["nodeSelector"]["c"], text)
                self.assertEqual(pod["tolerations"][0]["key"], text)

    def test_templates_quote_values(self):
        """Each value that a template prints is quoted, or is a map or a helper that prints YAML."""
        printed = re.compile(r"\{\{-?(.*?)-?\}\}")
        control = re.compile(r"(range|if|else|end|with)\b|\$\w+ :?=")
        known = re.compile(r"\| quote$|\| toJson$|^toYaml |^include \"patchbay\.\w*[lL]abels\" |\.enabled$|^\$open$"
                           r"|^base \$path$|^\.Files\.Get ")
        for path in sorted((helm.CHART / "templates").rglob("*.yaml")):
            for line in path.read_text().splitlines():
                for expression in map(str.strip, printed.findall(line)):
                    if not control.match(expression):
                        with self.subTest(template=path.name, line=line.strip()):
                            self.assertRegex(expression, known)

    def test_on_delete_has_no_rolling_update(self):
        for version, _ in each():
            with self.subTest(helm=version):
                objects = self.objects_from_values(version, {"updateStrategy": {"type": "OnDelete"}})
                self.assertEqual(the("DaemonSet", objects)["spec"]["updateStrategy"], {"type": "OnDelete"})

    def test_without_a_priority_class_there_is_no_quota(self):
        for version, _ in each():
            with self.subTest(helm=version):
                objects = self.objects_from_values(version, {"priorityClassName": ""})
                self.assertEqual(of_kind(objects, "ResourceQuota"), [])
                self.assertNotIn("priorityClassName", pod_of(the("DaemonSet", objects)))
                objects = self.objects_from_values(version, {"priorityClassName": "high"})
                expression, = the("ResourceQuota", objects)["spec"]["scopeSelector"]["matchExpressions"]
                self.assertEqual(expression["values"], ["high"])

    def test_check_pod_runs_on_the_nodes_of_its_pool(self):
        toleration = {"key": "serial", "operator": "Exists"}
        values = {"tolerations": [], "nodeSelector": {"zone": "a"},
                  "pools": {"serial": {"nodeSelector": {"pool": "serial"}, "tolerations": [toleration]}, "rest": {}}}
        for version, _ in each():
            with self.subTest(helm=version):
                objects = self.objects_from_values(version, values)
                pods = {o["metadata"]["name"]: o["spec"] for o in of_kind(objects, "Pod")}
                for daemonset in of_kind(objects, "DaemonSet"):
                    check = pods.pop(f"{daemonset['metadata']['name']}-check")
                    for key in ("nodeSelector", "tolerations"):
                        self.assertEqual(check.get(key), pod_of(daemonset).get(key))
                self.assertEqual(pods, {})
                serial, = (o for o in of_kind(objects, "Pod") if "-serial-" in o["metadata"]["name"])
                self.assertEqual(serial["spec"]["tolerations"], [toleration])
                self.assertEqual(serial["spec"]["nodeSelector"],
                                 {"kubernetes.io/os": "linux", "zone": "a", "pool": "serial"})

    def test_no_selector_selects_the_check_pod(self):
        """A DaemonSet adopts pods that its selector matches, and deletes those it did not plan."""
        for version, values in each({}, {"pools": {"check": {}, "serial": {}}}):
            with self.subTest(helm=version, case=values):
                objects = self.objects_from_values(version, {
                    **values, "podMonitor": {"enabled": True}, "networkPolicy": {"enabled": True}})
                selectors = [o["spec"].get("selector") or o["spec"].get("podSelector") for o in objects
                             if o["kind"] in ("DaemonSet", "NetworkPolicy", "PodMonitor")]
                self.assertGreaterEqual(len(selectors), 3)
                for pod, selector in itertools.product(of_kind(objects, "Pod"), selectors):
                    self.assertFalse(selector["matchLabels"].items() <= pod["metadata"]["labels"].items())

    def test_check_pod_has_no_access_to_the_node(self):
        for version, settings in each((), tuple(TOGGLES.values())):
            with self.subTest(helm=version, case=settings):
                check, = of_kind(helm.render(version, *settings), "Pod")
                pod = check["spec"]
                self.assertTrue(all("hostPath" not in volume for volume in pod["volumes"]))
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertFalse(pod["automountServiceAccountToken"])
                self.assertFalse(pod["containers"][0]["securityContext"]["privileged"])
                self.assertEqual(pod["containers"][0]["securityContext"]["capabilities"], {"drop": ["ALL"]})

    def test_check_pod_passes_with_the_default_configuration(self):
        for version, _ in each():
            with self.subTest(helm=version):
                objects = helm.render(version)
                check, = of_kind(objects, "Pod")
                self.assertEqual(check["spec"]["containers"][0]["args"], ["check", "/etc/patchbay"])
                for name, text in the("ConfigMap", objects)["data"].items():
                    (self.dir / name).write_text(text)
                ran = subprocess.run([support.PATCHBAY, "check", "--strict", str(self.dir)], capture_output=True,
                                     text=True, timeout=60)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_pools_have_separate_selectors_and_configurations(self):
        for version, _ in each():
            with self.subTest(helm=version):
                objects = helm.render(version, *POOLS)
                serial, = (o for o in of_kind(objects, "DaemonSet") if o["metadata"]["name"] == "patchbay-serial")
                gpu, = (o for o in of_kind(objects, "DaemonSet") if o["metadata"]["name"] == "patchbay-gpu")
                self.assertEqual(pod_of(serial)["nodeSelector"],
                                 {"kubernetes.io/os": "linux", "example.com/pool": "serial"})
                self.assertEqual(pod_of(gpu)["nodeSelector"], {"kubernetes.io/os": "linux"})
                selectors = [o["spec"]["selector"]["matchLabels"] for o in (serial, gpu)]
                for daemonset, selector in zip((serial, gpu), selectors, strict=True):
                    labels = daemonset["spec"]["template"]["metadata"]["labels"]
                    self.assertEqual([set(s.items()) <= set(labels.items()) for s in selectors],
                                     [s is selector for s in selectors])
                self.assertEqual([o["metadata"]["name"] for o in of_kind(objects, "ConfigMap")], ["patchbay-serial"])
                config, = (v["configMap"]["name"] for v in pod_of(gpu)["volumes"] if v["name"] == "config")
                self.assertEqual(config, "gpus")
                directory, = (v["hostPath"]["path"] for v in pod_of(gpu)["volumes"] if v["name"] == "pod-resources")
                self.assertEqual(directory, "/var/lib/k0s/kubelet/pod-resources")

    def test_only_pools_with_dra_have_a_token(self):
        values = {"kubelet": {"root": "/var/lib/k0s/kubelet"}, "networkPolicy": {"enabled": True},
                  "pools": {"gpu": {"dra": {"enabled": True, "driver": "gpu.example.com"}}, "rest": {}}}
        for version, _ in each():
            with self.subTest(helm=version):
                objects = self.objects_from_values(version, values, release="a", namespace="b")
                gpu, rest = (pod_of(o) for o in of_kind(objects, "DaemonSet"))
                self.assertEqual((gpu["serviceAccountName"], rest["serviceAccountName"]),
                                 ("a-patchbay-dra", "a-patchbay"))
                self.assertEqual([v["name"] for v in rest["volumes"] if "projected" in v], [])
                self.assertEqual([v["name"] for v in gpu["volumes"] if "projected" in v], ["api-access"])
                paths = {v["name"]: v["hostPath"]["path"] for v in gpu["volumes"] if "hostPath" in v}
                self.assertEqual(paths["plugins-registry"], "/var/lib/k0s/kubelet/plugins_registry")
                self.assertEqual(paths["driver"], "/var/lib/kubelet/plugins/gpu.example.com")
                mounts = {m["name"]: m["mountPath"] for m in gpu["containers"][0]["volumeMounts"]}
                self.assertEqual(mounts["driver"], paths["driver"])
                condition, = the("ValidatingAdmissionPolicy", objects)["spec"]["matchConditions"]
                self.assertEqual(condition["expression"],
                                 'request.userInfo.username == "system:serviceaccount:b:a-patchbay-dra"')
                self.assertEqual(the("ClusterRoleBinding", objects)["subjects"],
                                 [{"kind": "ServiceAccount", "name": "a-patchbay-dra", "namespace": "b"}])

    def test_values_are_rendered(self):
        for version, _ in each():
            with self.subTest(helm=version):
                pod = pod_of(the("DaemonSet", helm.render(
                    version, "image.repository=registry.example.com:5000/patchbay", f"image.digest=sha256:{'0' * 64}",
                    "image.pullPolicy=Always", "imagePullSecrets[0].name=registry", "priorityClassName=high",
                    "extraEnv[0].name=A,extraEnv[0].value=b", "extraVolumes[0].name=scripts",
                    "extraVolumes[0].configMap.name=scripts",
                    "extraVolumeMounts[0].name=scripts,extraVolumeMounts[0].mountPath=/scripts")))
                container, = pod["containers"]
                self.assertEqual(container["image"], f"registry.example.com:5000/patchbay@sha256:{'0' * 64}")
                self.assertEqual(container["imagePullPolicy"], "Always")
                self.assertEqual(pod["imagePullSecrets"], [{"name": "registry"}])
                self.assertEqual(pod["priorityClassName"], "high")
                self.assertIn({"name": "A", "value": "b"}, container["env"])
                self.assertIn({"name": "scripts", "configMap": {"name": "scripts"}}, pod["volumes"])
                self.assertIn({"name": "scripts", "mountPath": "/scripts"}, container["volumeMounts"])

    def test_configuration_is_rendered_unchanged(self):
        text = 'a = """\n{{ .Values }}\n  # tab:\\t"\n"""\n'
        (self.dir / "own.toml").write_text(text)
        for version, _ in each():
            with self.subTest(helm=version):
                import yaml
                ran = helm.template(version, "--set-file", f"config={self.dir / 'own.toml'}")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(the("ConfigMap", list(filter(None, yaml.safe_load_all(ran.stdout))))["data"],
                                 {"patchbay.toml": text})

    def converted(self, name):
        """The documents that `patchbay convert --output helm` writes for a file of another plugin."""
        import yaml
        program = "smarter-device-manager" if name.startswith("smarter") else "generic-device-plugin"
        ran = subprocess.run([support.PATCHBAY, "convert", "--from", program, "--output", "helm",
                              str(support.SOURCE / "tests/unit/convert/files" / name)],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return list(yaml.safe_load_all(ran.stdout))

    def test_converted_values_are_valid_for_the_chart(self):
        import yaml
        cases = (("helmrelease-config-maps.yaml", "kernel.org/zigbee", {"kubernetes.io/arch": "amd64"}),
                 ("helmrelease-anchors.yaml", "devic.es/fuse", {}),
                 ("helmrelease-metrics.yaml", "example.com/tun", {}),
                 ("generic-daemonset.yaml", "squat.ai/capture", {}),
                 ("values-text.yaml", "devic.es/dri", {"pool": "media"}),
                 ("values-without-image.yaml", "example.com/kvm", {"pool": "media"}),
                 ("smarter-values.yaml", "smarter-devices/snd", {}),
                 ("generic-config.yaml", "devices.example.com/modem", {}))
        for version, (name, resource, selector) in each(*cases):
            with self.subTest(helm=version, case=name):
                values = self.converted(name)[-1]
                if values.get("kind") == "HelmRelease":
                    values = values["spec"]["values"]
                (self.dir / "values.yaml").write_text(yaml.safe_dump(values))
                ran = helm.template(version, "--values", str(self.dir / "values.yaml"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                objects = [o for o in yaml.safe_load_all(ran.stdout) if o]
                self.assertEqual(pod_of(the("DaemonSet", objects))["nodeSelector"],
                                 {"kubernetes.io/os": "linux", **selector})
                text = the("ConfigMap", objects)["data"]["patchbay.toml"]
                self.assertIn(resource, [r["name"] for r in tomllib.loads(text)["resource"]])
                (self.dir / "own.toml").write_text(text)
                ran = subprocess.run([support.PATCHBAY, "check", str(self.dir / "own.toml")],
                                     capture_output=True, text=True, timeout=60)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_converted_pools_have_a_daemonset_for_each_choice_of_nodes(self):
        import yaml
        cases = (("two-daemonsets.yaml", "squat.ai/render", {"gpu": "intel"}, 8, {"gpu": "amd"}, 2),
                 ("two-helmreleases.yaml", "devic.es/render", {"kubernetes.io/arch": "amd64"}, 4,
                  {"kubernetes.io/arch": "arm64"}, 2))
        for version, (name, resource, *expected) in each(*cases):
            with self.subTest(helm=version, case=name):
                values = self.converted(name)[-1]
                if values.get("kind") == "HelmRelease":
                    values = values["spec"]["values"]
                (self.dir / "values.yaml").write_text(yaml.safe_dump(values))
                ran = helm.template(version, "--values", str(self.dir / "values.yaml"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                objects = [o for o in yaml.safe_load_all(ran.stdout) if o]
                configs = {o["metadata"]["name"]: o["data"]["patchbay.toml"]
                           for o in objects if o["kind"] == "ConfigMap"}
                replicas = {}
                for daemonset in (o for o in objects if o["kind"] == "DaemonSet"):
                    pod = daemonset["spec"]["template"]["spec"]
                    config, = [v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v]
                    counts = {r["name"]: r["replicas"] for r in tomllib.loads(configs[config])["resource"]}
                    replicas[json.dumps(pod["nodeSelector"])] = counts[resource]
                self.assertEqual(replicas, {
                    json.dumps(selector | {"kubernetes.io/os": "linux"}): count
                    for selector, count in zip(expected[::2], expected[1::2])})

    def test_converted_release_keeps_its_settings(self):
        source, release = self.converted("helmrelease-config-maps.yaml")
        self.assertEqual(release["metadata"], {"name": "device-plugin", "namespace": "kube-system"})
        spec = release["spec"]
        self.assertEqual(spec["interval"], "30m")
        self.assertEqual(spec["upgrade"], {"cleanupOnFail": True})
        self.assertNotIn("chartRef", spec)
        self.assertTrue((support.SOURCE / spec["chart"]["spec"]["chart"] / "Chart.yaml").is_file())
        self.assertEqual((source["kind"], source["metadata"]),
                         ("GitRepository", {"name": "patchbay", "namespace": "kube-system"}))
        self.assertEqual(spec["chart"]["spec"]["sourceRef"], {"kind": "GitRepository", "name": "patchbay"})
        self.assertEqual(spec["values"]["resources"], {"requests": {"cpu": "5m"}})
        self.assertEqual(spec["values"]["priorityClassName"], "system-node-critical")
        self.assertEqual([t["key"] for t in spec["values"]["tolerations"]], ["node-role.kubernetes.io/control-plane"])

    def test_invalid_values_are_rejected(self):
        for version, (setting, named) in each(*INVALID):
            with self.subTest(helm=version, case=(setting, named)):
                ran = helm.template(version, "--set", setting)
                self.assertNotEqual(ran.returncode, 0, ran.stdout)
                self.assertIn(named, ran.stderr)

    def test_objects_are_valid(self):
        if not (helm.MODULES / "node_modules/kubernetes-models").is_dir():
            raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")
        for version, settings in each((), tuple(TOGGLES.values()), POOLS):
            with self.subTest(helm=version, case=settings):
                ran = subprocess.run(
                    ["node", str(support.SOURCE / "tests/e2e/manifests.mjs"), str(helm.MODULES)],
                    input=json.dumps(helm.render(version, *settings)), capture_output=True, text=True, timeout=120)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(json.loads(ran.stdout), [])

    def test_notes_name_the_next_command(self):
        # Helm prints the notes only after an installation, so they are rendered as the value of a YAML key.
        chart = self.dir / "chart"
        shutil.copytree(helm.CHART, chart)
        notes = (chart / "templates/NOTES.txt").read_text()
        (chart / "templates/notes.yaml").write_text("notes: |\n" + textwrap.indent(notes, "  "))
        (chart / "templates/NOTES.txt").unlink()
        for version, config in each("x = 1", ""):
            with self.subTest(helm=version, config=config):
                ran = helm.helm(version, "template", "patchbay", str(chart), "--namespace", "devices",
                                "--show-only", "templates/notes.yaml", "--set", f"config={config}")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("helm test patchbay --namespace devices", ran.stdout)
                self.assertIn("kubectl label namespace devices", ran.stdout)
                self.assertEqual("configuration of patchbay is empty" in ran.stdout, not config)
                self.assertNotIn("device-classes", ran.stdout)
        for version, _ in each():
            ran = helm.helm(version, "template", "patchbay", str(chart), "--namespace", "devices", "--show-only",
                            "templates/notes.yaml", "--set", "dra.enabled=true")
            self.assertIn("--namespace devices exec daemonset/patchbay -- patchbay device-classes |", ran.stdout)

    def test_package_is_reproducible_and_complete(self):
        for version, _ in each():
            with self.subTest(helm=version):
                digests = []
                for name in ("one", "two"):
                    to = self.dir / version / name
                    to.mkdir(parents=True)
                    ran = helm.helm(version, "package", str(helm.CHART), "--destination", str(to))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    package, = to.glob("*.tgz")
                    self.assertLess(package.stat().st_size, 60 * 1024)
                    digests.append(self.contents(package))
                self.assertEqual(*digests)
                self.assertIn("patchbay/files/alerts.yaml", digests[0])

    def contents(self, package):
        with tarfile.open(package) as archive:
            return {member.name: hashlib.sha256(archive.extractfile(member).read()).hexdigest()
                    for member in archive if member.isfile()}

    def test_version_matches_the_project(self):
        version = re.search(r"project\(patchbay VERSION (\S+)",
                            (support.SOURCE / "CMakeLists.txt").read_text()).group(1)
        text = (helm.CHART / "Chart.yaml").read_text()
        self.assertIn(f"\nversion: {version}\n", text)
        self.assertIn(f"\nappVersion: {version}\n", text)

    def test_readme_is_generated_from_the_values(self):
        self.assertEqual((helm.CHART / "README.md").read_text(), chart_readme.readme(helm.CHART / "values.yaml"),
                         "run tests/e2e/chart_readme.py")


if __name__ == "__main__":
    support.main()
