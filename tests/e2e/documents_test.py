"""Checks README, docs/ and other pages: runs every command, checks every configuration and every link.

The blocks of a page are one shell session, in the order of the page, in a directory with copies of the files
that they use. There is no cluster, so kubectl fails when it connects; an invalid flag or argument, or a manifest
that does not build, fails before that.
"""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import host_tree
import kustomize
import support
from support import PATCHBAY, SOURCE

PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "CHANGELOG.md",
         SOURCE / "SECURITY.md", SOURCE / "CODE_OF_CONDUCT.md", SOURCE / "examples/README.md",
         *sorted((SOURCE / "docs").glob("*.md"))]
PUBLISHED = re.compile(r"https://github\.com/patchbay/patchbay//([^?\s']*)\?ref=v[0-9.]*")

# Commands that are not run, by their beginning.
NOT_RUN = {
    "scripts/test": "it runs this test",
    "ctest": "it runs this test or the tests next to it",
    "helm ": "there is no cluster here; e2e.helm renders the chart",
    "talosctl ": "there is no node of Talos here",
    "apiclient ": "there is no node of Bottlerocket here",
    "docker ": "there is no engine here; e2e.image builds from the same Dockerfile",
    "cmake --build": "it builds what is running",
    "cmake --preset release": "it builds and runs the benchmarks, for many minutes",
    "PATCHBAY_SOAK_SECONDS=": "ten minutes; .ci/run has a shorter one",
    "PATCHBAY_CHAOS_SECONDS=": "ten minutes; .ci/run has a shorter one",
    "python3 -B tests/e2e/dashboard_pictures.py": "it takes minutes and creates pictures",
}
# Pages whose commands are run by other tests.
RUN_ELSEWHERE = {
    "package.md": "e2e.package runs them in a Debian that it boots",
    "release.md": "e2e.artifacts runs those that need no registry, on the files of a release",
}
# Commands whose documented exit code is not 0, by page and end of the command.
MEANT_TO_FAIL = {
    ("health.md", "--probe"): 1,  # it shows a device that fails
    ("runbook.md", "grep patchbay"): 1,  # there are no pods
    ("hooks.md", "try --once --config patchbay.toml"): 1,  # it shows a hook that fails
}

# The configuration of pages whose commands have no --config.
SERVED = "".join(support.resource(f"example.com/{name}", f'path = "/dev/{node}"')
                 for name, node in (("modem", "null"), ("meter", "zero"), ("serial", "full")))

KUBECTL = """#!/bin/sh
# {real}, and a cluster that does not exist.
case $1 in kustomize) exec {real} "$@" ;; esac
said=$({real} --server=http://127.0.0.1:1 "$@" 2>&1)
status=$?
case $said in
  *'connection refused'* | *'was refused'*) ;;
  *) echo "$said"; [ $status -eq 0 ] || exit $status ;;
esac
# The downloaded file, on the page that has it.
case " $* " in *' get '*' -o yaml '*) cat kube-system.yaml; exit ;; esac
# Commands for the pod are run here.
while [ $# -gt 0 ]; do
  if [ "$1" = -- ]; then shift; "$@"; exit; fi
  shift
done
"""


class Block:
    def __init__(self, page, language, text):
        self.page, self.language, self.text = page, language, text


def blocks(page, *languages):
    """The fenced blocks of these languages."""
    found, open_as, lines = [], None, []
    for line in page.read_text().splitlines():
        if open_as is None and (fence := re.match(r"\s*```(\w+)$", line)):
            open_as, lines = fence[1], []
        elif open_as is not None and line.strip() == "```":
            if open_as in languages:
                found.append(Block(page, open_as, textwrap.dedent("\n".join(lines)) + "\n"))
            open_as = None
        elif open_as is not None:
            lines.append(line)
    assert open_as is None, f"{page}: a block has no end"
    return found


def commands(block):
    """The commands of a block: all of `sh`; the lines after `$` of `console`, with their continuations."""
    if block.language == "sh":
        return block.text
    typed, goes_on = [], False
    for line in block.text.splitlines():
        if line.startswith("$ "):
            typed.append(line[2:])
        elif goes_on:
            typed.append(line)
        goes_on = "\n".join(typed).count("'") % 2 == 1 or line.endswith(("|", "\\"))
    return "\n".join(typed) + "\n"


def is_run(line):
    return not any(line.startswith(beginning) for beginning in NOT_RUN)


def slug(heading):
    """The anchor that a heading gets."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(page):
    return re.sub(r"^\s*```.*?^\s*```$", "", page.read_text(), flags=re.S | re.M)


class Documents(support.TestCase):
    def test_link_targets_exist(self):
        anchors = {page: {slug(h) for h in re.findall(r"^#+ (.*)$", prose(page), re.M)} for page in PAGES}
        links = 0
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
                if re.match(r"[a-z]+://|mailto:", target):
                    continue
                links += 1
                path, _, anchor = target.partition("#")
                to = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.name, link=target):
                    self.assertTrue(to.exists())
                    if anchor:
                        self.assertIn(anchor, anchors[to])
        self.assertGreater(links, 50)

    def test_security_page_lists_existing_tests(self):
        build = pathlib.Path(PATCHBAY).parents[1]
        listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True)
        tests = re.findall(r"Test +#\d+: (\S+)", listed.stdout)
        table = prose(SOURCE / "docs/security.md").partition("\n## Tests for these statements\n")[2].partition("\n## ")[0]
        cells = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
        self.assertGreater(len(cells), 10)
        for cell in cells:
            for is_fuzzer, name in re.findall(r"(the fuzzer )?`([^`]+)`", cell):
                with self.subTest(test=name):
                    if is_fuzzer:
                        self.assertTrue((SOURCE / f"tests/fuzz/{name}_fuzz.cc").exists())
                    elif name.startswith("e2e."):
                        self.assertTrue((SOURCE / f"tests/e2e/{name[4:]}_test.py").exists())
                    else:
                        self.assertTrue(any(fnmatch.fnmatchcase(test, name) for test in tests))

    def test_every_page_is_in_the_readme_or_in_the_index(self):
        linked = {(page.parent / target.partition("#")[0]).resolve()
                  for page in (SOURCE / "README.md", SOURCE / "docs/README.md")
                  for target in re.findall(r"\]\(([^)\s]+)\)", prose(page))}
        for page in PAGES[1:]:
            with self.subTest(page=page.name):
                self.assertIn(page, linked)

    def test_check_accepts_configurations(self):
        checked = 0
        for page in PAGES:
            if page.name == "diagnostics.md":  # its examples have errors, which other tests check
                continue
            for number, block in enumerate(blocks(page, "toml")):
                with self.subTest(page=page.name, block=number):
                    ran = support.run("check", str(self.config(block.text)))
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr + block.text)
                    checked += 1
        self.assertGreater(checked, 10)

    def test_yaml_and_json_blocks_are_valid(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        for page in PAGES:
            for block in blocks(page, "yaml"):
                with self.subTest(page=page.name):
                    self.assertTrue(list(yaml.safe_load_all(block.text)))
            for block in blocks(page, "json"):
                with self.subTest(page=page.name):
                    json.loads(block.text)

    def test_mentioned_commands_and_flags_exist(self):
        """`patchbay diff OLD NEW --output json` within a sentence: the command and its flags."""
        helps, mentioned = {}, set()
        for page in PAGES:
            for command, rest in re.findall(r"`patchbay ([a-z][a-z-]*)([^`]*)`", prose(page)):
                mentioned.add(command)
                if command not in helps:
                    helps[command] = support.run(command, "--help")
                with self.subTest(page=page.name, command=command + rest):
                    self.assertEqual(helps[command].returncode, 0)
                    for flag in re.findall(r"(?<=[\s\[])--[a-z-]+", rest):
                        self.assertIn(flag, helps[command].stdout)
        offered = set(re.findall(r"^  ([a-z-]+) {2,}", support.run("--help").stdout.split("Subcommands:")[1],
                                 re.M))
        self.assertEqual(mentioned, offered)

    def test_quoted_log_messages_exist(self):
        source = "".join(p.read_text() for p in sorted((SOURCE / "src").rglob("*.cc")))
        source = re.sub(r'"\s*\n\s*"', "", source)
        texts = re.findall(r"the log: \*([^*]+)\*", (SOURCE / "docs/operations.md").read_text())
        self.assertGreater(len(texts), 1)
        for text in texts:
            with self.subTest(text=text):
                self.assertIn(text, source)


# The host of the first example of docs/discovery.md.
MODEMS = """
[dev]
"/dev/x{0..210}" = "file"
[below]
usb1 = "pci0000:00/0000:00:14.0/usb1"
[sys]
"usb1/1-1" = { usb = "0403:6001 A9007YHT", at = "001/002" }
"usb1/1-1/1-1:1.0" = { interface = "00", driver = "ftdi_sio" }
"usb1/1-1/1-1:1.0/ttyUSB0" = { subsystem = "usb-serial", driver = "ftdi_sio" }
"usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0" = { subsystem = "tty", number = "188:0" }
"usb1/1-2" = { usb = "1e0e:9001", at = "001/003" }
"usb1/1-2/1-2:1.0" = { interface = "00", driver = "option" }
"usb1/1-2/1-2:1.0/ttyUSB1" = { subsystem = "usb-serial", driver = "option" }
"usb1/1-2/1-2:1.0/ttyUSB1/tty/ttyUSB1" = { subsystem = "tty", number = "188:1" }
"""


class Explained(support.TestCase):
    def test_explain_example_matches_output(self):
        support.skip_unless_root()
        page = SOURCE / "docs/discovery.md"
        (self.dir / "host.toml").write_text(MODEMS)
        host_tree.make(self.dir / "host.toml", self.dir / "host")
        config = self.config(blocks(page, "toml")[0].text)
        whole, of_path = blocks(page, "console")[:2]
        for block in (whole, of_path):
            command, _, shown = block.text.partition("\n")
            self.assertTrue(command.startswith("$ patchbay explain example.com/modem"), command)
            ran = support.run(*command.split()[2:], "--config", str(config), "--host-root",
                              str(self.dir / "host"))
            self.assertEqual(ran.stdout, shown)


class Tried(support.TestCase):
    def test_example_of_dynamic_resource_allocation_matches_output(self):
        page = SOURCE / "docs/dra.md"
        config = self.config(blocks(page, "toml")[0].text)
        command, _, shown = blocks(page, "console")[0].text.partition("\n")
        self.assertEqual(command, "$ NODE_NAME=node-1 patchbay try --once --config patchbay.toml")
        ran = support.run("try", "--once", "--config", str(config), NODE_NAME="node-1")
        self.assertEqual((ran.stdout, ran.returncode), (shown, 0), ran.stderr)


class Sessions(support.TestCase):
    """One test for each page that has commands; they are added below."""

    def setUp(self):
        super().setUp()
        support.skip_unless_root()
        support.skip_unless_programs("unshare", "curl", "jq", "losetup", "mkfs.ext4", "blkdiscard", "file")
        for able, what in ((["unshare", "--net", "true"], "a network of its own"),
                           (["losetup", "--find"], "a loop device")):
            if subprocess.run(able, capture_output=True).returncode != 0:
                self.skipTest(f"there is not {what} to be had here")
        self.world = self.dir / "patchbay"
        self.programs = self.dir / "bin"
        self.programs.mkdir()
        for part in ("dashboards", "deploy", "docs", "examples", "scripts", "sim", "src", "tests"):
            shutil.copytree(SOURCE / part, self.world / part,
                            ignore=shutil.ignore_patterns("__pycache__"))
        (self.world / "build/dev/src").mkdir(parents=True)
        for place in (self.programs, self.world / "build/dev/src"):
            for name in ("patchbay", "patchbay-try"):
                (place / name).symlink_to(pathlib.Path(PATCHBAY).with_name(name))
        # It installs and builds, which is already done.
        (self.world / "scripts/try").write_text(
            (SOURCE / "scripts/try").read_text().replace("\ninstall_packages build\nbuild dev patchbay patchbay-try\n", "\n"))
        kubectl = self.programs / "kubectl"
        kubectl.write_text(KUBECTL.format(real=shutil.which("kubectl")))
        kubectl.chmod(0o755)

    def prepare(self, page):
        """Creates files that a page assumes."""
        configuration = (SOURCE / "examples/configs/everyday.toml").read_text()
        toml = [block.text for block in blocks(page, "toml")]
        foreign = SOURCE / "tests/unit/convert/files"
        files = {
            "migration.md": {"daemonset.yaml": (foreign / "generic-daemonset.yaml").read_text(),
                             "configmap.yaml": (foreign / "smarter-configmap.yaml").read_text(),
                             "kube-system.yaml": (foreign / "kube-system.yaml").read_text(),
                             "helmrelease.yaml": (foreign / "helmrelease-config-maps.yaml").read_text()},
            "README.md": {"/tmp/patchbay.toml": toml[0] if toml else ""},
            "getting-started.md": {"first.toml": toml[0] if toml else "",
                                   "first-pod.yaml": "".join(b.text for b in blocks(page, "yaml"))},
            "dra.md": {"patchbay.toml": toml[0] if toml else ""},
            "reload.md": dict(zip(("old.toml", "new.toml"), toml)),
            "operations.md": {"old.toml": configuration, "new.toml": configuration},
            "deploy.md": {"patchbay.toml": configuration,
                          "kustomization.yaml": next((b.text for b in blocks(page, "yaml")
                                                      if "kind: Kustomization" in b.text), "")},
        }.get(page.name, {})
        for name, text in files.items():
            (self.world / name).write_text(self.here(text))

    def here(self, text):
        """Replaces the published repository by this one."""
        return PUBLISHED.sub(lambda url: f"../{self.world.name}/{url[1]}", text)

    def run_page(self, page):
        if any("kubectl" in commands(block) for block in blocks(page, "sh", "console")):
            kustomize.skip_unless_it_builds()
        self.prepare(page)
        script = ["cd " + str(self.world),
                  # Not a relative path: pages change the directory.
                  f"trap 'echo \"$? $BASH_COMMAND\" >> {self.dir}/failed' ERR",
                  # `sleep 3` of a page is too short on a busy machine.
                  "curl() { command curl --retry 20 --retry-delay 1 --retry-connrefused \"$@\"; }",
                  "ip link set lo up"]
        if page.name == "api.md":
            script.append("patchbay try --listen 127.0.0.1:9478 > /dev/null &")
        for block in blocks(page, "sh", "console"):
            script += [line for line in self.here(commands(block)).splitlines() if is_run(line)]
        # A job that the page has stopped can end before it is stopped again.
        script.append(f"jobs -p | xargs -r kill 2>/dev/null || true; wait; echo > {self.dir}/ended")
        path = self.dir / "session.sh"
        path.write_text("\n".join(script) + "\n")
        env = support.environment(
            PATH=f"{self.programs}:{os.environ['PATH']}", HOME=str(self.dir),
            PATCHBAY_CONFIG=str(self.config(SERVED)))
        ran = subprocess.run(["unshare", "--net", "bash", str(path)], capture_output=True, text=True,
                             timeout=150, stdin=subprocess.DEVNULL, env=env)
        said = f"{ran.stdout}\n{ran.stderr}"
        self.assertTrue((self.dir / "ended").exists(), f"a command of the page ended the session\n{said}")
        failed = (self.dir / "failed").read_text().splitlines() if (self.dir / "failed").exists() else []
        meant = {(end, code) for (name, end), code in MEANT_TO_FAIL.items() if name == page.name}
        for line in failed:
            code, _, command = line.partition(" ")
            self.assertTrue(any(command.endswith(end) and int(code) == c for end, c in meant),
                            f"{command}: exit code {code}\n{said}")
        self.assertNotIn("command not found", said)
        return said


def a_session(page):
    def test(self):
        self.run_page(page)
    return test


for _page in PAGES:
    if _page.name not in RUN_ELSEWHERE and any(is_run(line) for block in blocks(_page, "sh", "console")
           for line in commands(block).splitlines()):
        setattr(Sessions, "test_" + re.sub(r"\W", "_", str(_page.relative_to(SOURCE))), a_session(_page))


if __name__ == "__main__":
    support.main()
