"""The images of the Dockerfile, built by buildah without an engine, from a Debian of mmdebstrap."""

import functools
import json
import os
import pathlib
import re
import subprocess
import unittest

import support

# Layers of earlier runs, as with an engine; can be removed at any time.
STORE = support.SOURCE / "build/images"
BASE = "docker.io/library/debian:bookworm-slim"
MERGED = "/usr/share/mmdebstrap/hooks/merged-usr"  # as in the original, without usrmerge and its Perl
# Where there is no mirror of Debian, or none with this architecture, nothing can be built.
LACKING = re.compile(r"E: (Failed to fetch|Unable to fetch|Unable to locate package \S+:arm64).*")


def buildah(*arguments, timeout=60):
    return subprocess.run(
        ["buildah", "--root", str(STORE / "root"), "--runroot", str(STORE / "run"), *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout)


def built(*arguments, timeout=60):
    ran = buildah(*arguments, timeout=timeout)
    if ran.returncode != 0:
        raise AssertionError(f"buildah {' '.join(arguments)}: {ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def skip_unless_they_build():
    support.skip_unless_root()
    support.skip_unless_programs("buildah", "mmdebstrap", "readelf")
    make_base()


@functools.cache
def make_base():
    """debian:bookworm-slim, or its content, without a registry."""
    if buildah("inspect", "--type", "image", BASE).returncode == 0:
        return
    STORE.mkdir(parents=True, exist_ok=True)
    tree = STORE / "base.tar"
    ran = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--include=usr-is-merged",
         f"--hook-dir={MERGED}", "--dpkgopt=path-exclude=/usr/share/man/*",
         "--dpkgopt=path-exclude=/usr/share/locale/*", "bookworm", str(tree)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    if ran.returncode != 0:
        raise unittest.SkipTest(f"mmdebstrap has no Debian to offer: {ran.stderr.strip()[-300:]}")
    try:
        container = built("from", "scratch")
    except AssertionError as error:
        raise unittest.SkipTest(f"buildah makes no containers here: {error}") from None
    built("add", "--quiet", container, str(tree), "/", timeout=300)
    built("commit", "--quiet", "--rm", container, BASE, timeout=300)
    tree.unlink()


class Image:
    """An image for the machine `arch`, `target` of the Dockerfile. Built once."""

    mounts = []

    def __init__(self, target, arch, **arguments):
        self.name = f"patchbay:{target}-{arch}"
        arguments["BUILDPLATFORM"] = f"linux/{own_arch()}"  # not set by buildah of Debian
        given = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        if ccache := os.environ.get("PATCHBAY_CCACHE"):
            given.append(f"--volume={ccache}:/ccache")
        ran = buildah("bud", "--isolation", "chroot", "--pull-never", "--layers", "--platform",
                      f"linux/{arch}", "--target", target, *given, "--tag", self.name,
                      str(support.SOURCE), timeout=1200)
        output = ran.stdout + ran.stderr
        if ran.returncode != 0 and (lacking := LACKING.search(output)):
            raise unittest.SkipTest(lacking[0])
        if ran.returncode != 0:
            raise AssertionError(output[-6000:])
        self.description = json.loads(built("inspect", "--type", "image", self.name))["OCIv1"]
        self.config = self.description["config"]
        self.entrypoint = self.config["Entrypoint"]
        self.env = self.config["Env"]

    def unpack(self, rootfs):
        """Its files in a container."""
        container = built("from", "--pull-never", self.name)
        try:
            # Not shutil.copytree, which would read device nodes to their end.
            subprocess.run(["cp", "-a", built("mount", container), str(rootfs)], check=True,
                           timeout=120)
        finally:
            built("rm", container)


@functools.cache
def image(target, arch, **arguments):
    skip_unless_they_build()
    return Image(target, arch, **arguments)


def own_arch():
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                          check=True).stdout.strip()


def files(rootfs):
    """The paths in a container of everything except directories, and their sizes."""
    root = pathlib.Path(rootfs)
    return {"/" + str(path.relative_to(root)): path.lstat().st_size
            for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}
