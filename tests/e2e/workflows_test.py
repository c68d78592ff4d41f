"""The workflows and the devcontainer call commands that exist, and CI runs every step of .ci/run once."""

import json
import os
import re
import subprocess
import unittest

import support
from support import SOURCE

WORKFLOWS = sorted((SOURCE / ".github/workflows").glob("*.yml"))
# Commands of the image, of a package that is installed before, or of the shell.
KNOWN = {"apt-get", "git"}


def commands(script):
    """The first word of each command of a script."""
    for line in script.splitlines():
        for command in re.split(r"&&|\|\||;|\|", line):
            if command.strip():
                yield command.split()[0]


class Workflows(support.TestCase):
    def load(self, path):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("python3-yaml is not installed") from None
        return yaml.safe_load(path.read_text())

    def jobs(self):
        self.assertTrue(WORKFLOWS)
        for path in WORKFLOWS:
            for name, job in self.load(path)["jobs"].items():
                yield f"{path.name}: {name}", job

    def test_commands_exist(self):
        for name, job in self.jobs():
            scripts = [step["run"] for step in job["steps"] if "run" in step]
            self.assertTrue(scripts)
            for command in (c for script in scripts for c in commands(script)):
                with self.subTest(job=name, command=command):
                    self.assertTrue(command in KNOWN or os.access(SOURCE / command, os.X_OK))

    def test_ci_runs_every_step_once(self):
        listed = subprocess.run([SOURCE / ".ci/run", "--list"], capture_output=True, text=True, timeout=60, check=True)
        steps = self.load(SOURCE / ".github/workflows/ci.yml")["jobs"]["run"]["strategy"]["matrix"]["steps"]
        self.assertEqual(sorted(" ".join(steps).split()), sorted(listed.stdout.split()))

    def test_workflows_cannot_write(self):
        for path in WORKFLOWS:
            with self.subTest(path.name):
                self.assertEqual(self.load(path)["permissions"], {"contents": "read"})

    def test_jobs_run_on_the_release_of_debian_that_the_packages_are_of(self):
        for name, job in self.jobs():
            with self.subTest(name):
                self.assertEqual(job["container"]["image"], "debian:12")
        devcontainer = json.loads((SOURCE / ".devcontainer/devcontainer.json").read_text())
        self.assertEqual(devcontainer["image"], "debian:12")
        for key in ("onCreateCommand", "postCreateCommand"):
            for command in commands(devcontainer[key]):
                self.assertTrue(command in KNOWN or os.access(SOURCE / command, os.X_OK), command)


if __name__ == "__main__":
    support.main()
