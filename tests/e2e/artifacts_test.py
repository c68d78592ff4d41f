"""The files of a release, as `scripts/release --dry-run` makes them for this machine; and the checks before one."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest

import documents_test
import helm
import images
import support
import third_party

MB = 1_000_000
DIST = support.SOURCE / "build/dist"
SCRIPT = support.SOURCE / "scripts/release"
VERSION = re.search(r"project\(patchbay VERSION (\S+)", (support.SOURCE / "CMakeLists.txt").read_text())[1]
ARCH = images.own_arch()
CHART = f"patchbay-{VERSION}.tgz"
DEB = f"patchbay_{VERSION}-1_{ARCH}.deb"
ONE, TOOLS = f"patchbay-{VERSION}-linux-{ARCH}", f"patchbay-{VERSION}-tools-linux-{ARCH}"


def run(*command, **options):
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=2700, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{command} ended with {ran.returncode}: {ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    return ran.stdout


class Files(support.TestCase):
    @classmethod
    def setUpClass(cls):
        images.skip_unless_they_build()
        shutil.rmtree(DIST, ignore_errors=True)
        run(SCRIPT, "--dry-run", VERSION)

    def test_all_files_exist_with_checksums(self):
        names = {path.name for path in DIST.iterdir()}
        self.assertEqual(names, {CHART, DEB, f"{ONE}.oci.tar", f"{TOOLS}.oci.tar", f"{ONE}.cdx.json",
                                 f"{ONE}.NOTICES.txt", "SHA256SUMS"})
        verified = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)
        self.assertEqual({line.removesuffix(": OK") for line in verified.splitlines()}, names - {"SHA256SUMS"})

    def test_package_has_version_and_commit(self):
        for field, expected in (("Version", f"{VERSION}-1"), ("Architecture", ARCH), ("Package", "patchbay")):
            self.assertEqual(run("dpkg-deb", "-f", DIST / DEB, field).strip(), expected)
        run("dpkg-deb", "-x", DIST / DEB, self.dir / "deb")
        revision = run("git", "-C", support.SOURCE, "rev-parse", "--short", "HEAD").strip()
        self.assertIn(f"{VERSION} ({revision})", run(self.dir / "deb/usr/bin/patchbay", "--version"))
        bill = json.loads((self.dir / "deb/usr/share/doc/patchbay/sbom.cdx.json").read_text())
        self.assertEqual(third_party.problems(bill), [])
        self.assertEqual(third_party.uses(bill)["libgrpc++-dev"], "linked statically")

    def test_images_have_architecture_and_tag(self):
        for name, tag in ((ONE, VERSION), (TOOLS, f"{VERSION}-tools")):
            with self.subTest(image=name), tarfile.open(DIST / f"{name}.oci.tar") as archive:
                def read(path):
                    return json.load(archive.extractfile(path))

                def blob(digest):
                    return read(f"blobs/{digest.replace(':', '/')}")

                manifest, = read("index.json")["manifests"]
                self.assertEqual(manifest["annotations"]["org.opencontainers.image.ref.name"], tag)
                config = blob(blob(manifest["digest"])["config"]["digest"])
                self.assertEqual((config["architecture"], config["os"]), (ARCH, "linux"))
                self.assertEqual(config["config"]["Labels"]["org.opencontainers.image.version"], VERSION)

    def test_sbom_is_valid(self):
        bill = json.loads((DIST / f"{ONE}.cdx.json").read_text())
        self.assertEqual(third_party.problems(bill), [])
        self.assertEqual(bill["metadata"]["component"]["version"], VERSION)
        self.assertEqual({third_party.purl_of(c["purl"])[2]["arch"] for c in bill["components"]} - {"all"}, {ARCH})
        self.assertEqual({third_party.purl_of(c["purl"])[2]["upstream"].split("@")[0] for c in bill["components"]},
                         set(third_party.sources((DIST / f"{ONE}.NOTICES.txt").read_text())))

    def test_documented_verification_commands_succeed(self):
        """Without a registry there is no signature to verify."""
        script = "".join(block.text for block in documents_test.blocks(support.SOURCE / "docs/release.md", "sh"))
        script = re.sub(r"(?m)^cosign (?:.*\\\n)*.*\n|^git .*\n", "", script).replace("linux-amd64", f"linux-{ARCH}")
        script = re.sub(r"\b0\.1\.0\b", VERSION, script)
        said = run("bash", "-euc", script, cwd=DIST)
        self.assertIn(f"{CHART}: OK\n", said)
        self.assertRegex(said, r"(?m)^libgrpc\+\+-dev \S+ Apache-2\.0$")

    def test_files_stay_within_size_limits(self):
        for name, limit in ((CHART, 60_000), (f"{ONE}.oci.tar", 10.5 * MB), (f"{TOOLS}.oci.tar", 47 * MB)):
            size = (DIST / name).stat().st_size
            print(f"{name}: {size / MB:.2f} MB")
            self.assertLessEqual(size, limit, name)


class ChartArchive(support.TestCase):
    def made(self):
        run(SCRIPT, "--chart")
        return (DIST / CHART).read_bytes()

    def test_chart_archive_is_reproducible(self):
        one = self.made()
        source = helm.CHART / "values.yaml"
        os.utime(source)  # an archive of helm has the time of each file
        self.assertEqual(hashlib.sha256(self.made()).digest(), hashlib.sha256(one).digest())
        with tarfile.open(DIST / CHART) as archive:
            for member in archive:
                self.assertTrue(member.isfile() or member.isdir(), member.name)
                self.assertEqual((member.uid, member.gid, member.uname, member.mode & 0o7022), (0, 0, "", 0))

    def test_chart_archive_matches_helm_package(self):
        import yaml
        self.made()
        for version in helm.VERSIONS:
            with self.subTest(helm=version):
                to = self.dir / version
                ran = helm.helm(version, "package", str(helm.CHART), "--destination", str(to))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                packaged, ours = self.contents(to / CHART), self.contents(DIST / CHART)
                metadata = "patchbay/Chart.yaml"
                self.assertEqual(*(yaml.safe_load(files.pop(metadata)) for files in (packaged, ours)))
                self.assertEqual(ours, packaged)
                shown = helm.helm(version, "template", "patchbay", str(DIST / CHART))
                self.assertEqual(shown.returncode, 0, shown.stderr)
                self.assertIn(f"/patchbay:{VERSION}\n", shown.stdout.replace('"', ""))

    def contents(self, package):
        with tarfile.open(package) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


class Checks(support.TestCase):
    """In a copy of the project, where a file or a program differs."""

    def setUp(self):
        super().setUp()
        self.copy = self.dir / "copy"
        run("git", "clone", "--quiet", "--shared", support.SOURCE, self.copy)
        shutil.copytree(support.SOURCE / "scripts", self.copy / "scripts", dirs_exist_ok=True)

    def refused(self, *arguments, **environment):
        ran = subprocess.run([self.copy / "scripts/release", *arguments], capture_output=True, text=True, timeout=60,
                             stdin=subprocess.DEVNULL, env=os.environ | environment)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        return ran.stderr

    def test_version_mismatch_in_each_file_is_reported(self):
        for name, line in (("CMakeLists.txt", f"project(patchbay VERSION {VERSION}"),
                           ("deploy/helm/patchbay/Chart.yaml", f"\nversion: {VERSION}"),
                           ("deploy/helm/patchbay/Chart.yaml", f"appVersion: {VERSION}"),
                           ("deploy/kustomize/base/kustomization.yaml", f"newTag: {VERSION}"),
                           ("deploy/kustomize/components/tools-image/kustomization.yaml", f"newTag: {VERSION}-tools"),
                           ("Dockerfile", f"ARG VERSION={VERSION}")):
            with self.subTest(file=name, line=line):
                path = self.copy / name
                text = path.read_text()
                self.assertEqual(text.count(line), 1)
                path.write_text(text.replace(line, line.replace(VERSION, "9.8.7")))
                self.assertIn(name, self.refused("--chart", VERSION))
                path.write_text(text)

    def programs(self):
        """A directory with programs of the names that publishing needs. A check that passes would run them."""
        directory = self.dir / "bin"
        directory.mkdir()
        for name in ("buildah", "cosign", "gh", "helm"):
            (directory / name).write_text(f"#!/bin/sh\ntouch {self.dir}/published\n")
            (directory / name).chmod(0o755)
        return f"{directory}:{os.environ['PATH']}"

    def test_publish_requires_tag_and_changelog_section(self):
        git = ("git", "-C", self.copy, "-c", "user.name=test", "-c", "user.email=test@example.com")
        path = {"PATH": self.programs()}
        changelog = self.copy / "CHANGELOG.md"
        changelog.write_text(changelog.read_text().replace("## [Unreleased]", f"## [{VERSION}1]"))
        self.assertIn("not committed", self.refused("--publish", **path))
        run(*git, "add", "--all")
        run(*git, "commit", "--quiet", "--message=test: no section of the version")
        self.assertIn(f"no tag v{VERSION}", self.refused("--publish", **path))
        run(*git, "tag", f"v{VERSION}")
        self.assertIn(f'no section "## [{VERSION}]"', self.refused("--publish", **path))
        changelog.write_text(changelog.read_text().replace(f"## [{VERSION}1]", f"## [{VERSION}] - 2026-01-01"))
        run(*git, "commit", "--quiet", "--all", "--message=test: a section of the version")
        run(*git, "tag", "--force", f"v{VERSION}")
        ran = subprocess.run([self.copy / "scripts/release", "--publish"], capture_output=True, text=True, timeout=60,
                             env=os.environ | path)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"patchbay-{VERSION}-linux-amd64.oci.tar is missing", ran.stderr)
        self.assertFalse((self.dir / "published").exists())

    def test_option_after_the_version_is_rejected(self):
        ran = subprocess.run([self.copy / "scripts/release", VERSION, "--dry-run"], capture_output=True, text=True,
                             timeout=60, env=os.environ | {"PATH": self.programs()})
        self.assertEqual(ran.returncode, 2)
        self.assertIn("before the version", ran.stderr)

    def test_invalid_version_is_rejected(self):
        for version in ("v1.2.3", "1.2", "1.2.3-rc.1", "../1.2.3", ""):
            if version:
                self.assertIn("is not a version", self.refused("--chart", version))


class Version(support.TestCase):
    def test_version_is_the_newest_in_the_changelog(self):
        text = (support.SOURCE / "CHANGELOG.md").read_text()
        newest = re.findall(r"(?m)^## \[(.*?)\]", text)[0]
        self.assertIn(newest, ("Unreleased", VERSION))


if __name__ == "__main__":
    support.main()
