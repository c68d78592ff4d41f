"""The output of deploy/kustomize: overlays and components, built by kubectl, as objects."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import cel
import support

ROOT = support.SOURCE / "deploy/kustomize"
OVERLAYS = sorted(p.parent.name for p in ROOT.glob("overlays/*/kustomization.yaml"))
COMPONENTS = sorted(p.parent.name for p in ROOT.glob("components/*/kustomization.yaml"))
OLDEST = (1, 27)  # the first kubectl whose kustomize supports all fields in use


def skip_unless_it_builds():
    try:
        import yaml  # noqa: F401
    except ImportError:
        raise unittest.SkipTest("python3-yaml is not installed") from None
    support.skip_unless_programs("kubectl")
    version = kubectl_version()
    if version < OLDEST:
        raise unittest.SkipTest("kubectl is %d.%d and has to be %d.%d or newer" % (version + OLDEST))


@functools.cache
def kubectl_version():
    ran = subprocess.run(["kubectl", "version", "--client", "--output", "json"],
                         capture_output=True, text=True, timeout=60)
    version = json.loads(ran.stdout)["clientVersion"]
    return int(version["major"]), int(version["minor"].rstrip("+"))


def kustomize(directory):
    import yaml
    ran = subprocess.run(["kubectl", "kustomize", str(directory)], capture_output=True, text=True,
                         timeout=60)
    if ran.returncode != 0:
        raise AssertionError(f"kubectl kustomize {directory}: {ran.stderr}")
    return list(yaml.safe_load_all(ran.stdout))


@functools.cache
def overlay(name):
    return kustomize(ROOT / "overlays" / name)


@functools.cache
def with_components(*names, base="default"):
    """An overlay of a user: an existing one with these components."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
    try:
        up = pathlib.Path(os.path.relpath(ROOT, directory))
        lines = ["namespace: patchbay", "resources:", f"- {up}/overlays/{base}", "components:",
                 *(f"- {up}/components/{name}" for name in names)]
        (directory / "kustomization.yaml").write_text("\n".join(lines) + "\n")
        return kustomize(directory)
    finally:
        shutil.rmtree(directory)


# kustomize sets a namespace on those that it does not know; the API server ignores it.
CLUSTER_SCOPED = ("Namespace", "ClusterRole", "ClusterRoleBinding", "SecurityContextConstraints",
                  "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


def of_kind(objects, kind):
    return [o for o in objects if o["kind"] == kind]


def the(kind, objects):
    found = of_kind(objects, kind)
    assert len(found) == 1, f"{len(found)} objects are a {kind}"
    return found[0]


def restricts(condition, user):
    """Whether a match condition of the policy for DRA applies to a user."""
    return cel.evaluate(condition, {"request": {"userInfo": {"username": user}}})


class Variables(dict):
    """The variables of a policy by name. As in the API server, each is evaluated when an expression uses it."""

    def __init__(self, expressions, values):
        super().__init__(expressions)
        self.values_of_request = {**values, "variables": self}

    def __getitem__(self, name):
        return cel.evaluate(super().__getitem__(name), self.values_of_request)


def denial(policy, **values):
    """The message with which a ValidatingAdmissionPolicy denies a request, or None. Errors are of cel."""
    spec = policy["spec"]
    if not all(cel.evaluate(c["expression"], values) for c in spec["matchConditions"]):
        return None
    values["variables"] = Variables({v["name"]: v["expression"] for v in spec["variables"]}, values)
    for validation in spec["validations"]:
        if not cel.evaluate(validation["expression"], values):
            expression = validation.get("messageExpression")
            return cel.evaluate(expression, values) if expression else validation["message"]
    return None


def pod_of(daemonset):
    return daemonset["spec"]["template"]["spec"]
