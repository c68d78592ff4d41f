"""The images of the Dockerfile, built by scripts/images."""

import functools
import json
import pathlib
import re
import subprocess
import unittest

import support

SCRIPT = support.SOURCE / "scripts/images"
# Without a Debian mirror that has this architecture, no image can be built.
LACKING = re.compile(r"E: (Failed to fetch|Unable to fetch|Unable to locate package \S+:arm64|apt-get update .*failed).*")


def buildah(*arguments, timeout=60):
    ran = subprocess.run([SCRIPT, "buildah", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=timeout)
    if ran.returncode != 0:
        raise AssertionError(f"buildah {' '.join(arguments)}: {ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def skip_unless_they_build():
    support.skip_unless_root()
    support.skip_unless_programs("buildah", "mmdebstrap", "readelf")


class Image:
    """An image for the machine `arch`, `target` of the Dockerfile. Built once."""

    mounts = []

    def __init__(self, target, arch):
        ran = subprocess.run([SCRIPT, target, arch], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             timeout=1500)
        output = ran.stdout + ran.stderr
        if ran.returncode != 0 and (lacking := LACKING.search(output)):
            raise unittest.SkipTest(lacking[0])
        if ran.returncode != 0:
            raise AssertionError(output[-6000:])
        self.name = ran.stdout.strip()
        self.description = json.loads(buildah("inspect", "--type", "image", self.name))["OCIv1"]
        self.config = self.description["config"]
        self.entrypoint = self.config["Entrypoint"]
        self.env = self.config["Env"]

    def unpack(self, rootfs):
        """Its files in a container."""
        container = buildah("from", "--pull-never", self.name)
        try:
            # Not shutil.copytree, which would read device nodes to their end.
            subprocess.run(["cp", "-a", buildah("mount", container), str(rootfs)], check=True,
                           timeout=120)
        finally:
            buildah("rm", container)


@functools.cache
def image(target, arch):
    skip_unless_they_build()
    return Image(target, arch)


def own_arch():
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                          check=True).stdout.strip()


def files(rootfs):
    """The paths in a container of everything except directories, and their sizes."""
    root = pathlib.Path(rootfs)
    return {"/" + str(path.relative_to(root)): path.lstat().st_size
            for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}
