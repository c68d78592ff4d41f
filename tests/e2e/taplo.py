"""Runs the linter of taplo, the TOML toolkit of common editors."""

import pathlib
import re
import subprocess
import unittest

import support

TAPLO = support.SOURCE / "build/node/node_modules/.bin/taplo"


def skip_unless_installed():
    support.skip_unless_programs("node")
    if not TAPLO.exists():
        raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")


def lint(paths, schema=None):
    """Returns the rejected files with their errors. Without `schema`, the `#:schema` line of each file
    applies."""
    paths = [pathlib.Path(path) for path in paths]
    command = [TAPLO, "lint", "--no-auto-config", "--colors", "never"]
    if schema:
        command += ["--schema", pathlib.Path(schema).as_uri()]
    ran = subprocess.run([*command, *paths], capture_output=True, text=True, timeout=120,
                         stdin=subprocess.DEVNULL, env=support.environment())
    said = ran.stdout + ran.stderr
    refused = {pathlib.Path(path) for path in re.findall(r'invalid file .*path="(.*)"', said)}
    found = re.search(r"found files total=(\d+)", said)
    if (not found or int(found[1]) != len(paths) or not refused <= set(paths) or
            (ran.returncode != 0) != bool(refused)):
        raise AssertionError(f"taplo did not check {len(paths)} files:\n{said[-2000:]}")
    return {path: re.findall(rf"^(?:error: (.*)\n *┌─ {re.escape(str(path))}:.*)", said, re.M)
            for path in refused}
