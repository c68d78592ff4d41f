"""The images of the Dockerfile: their content, and that they serve a kubelet as in the DaemonSet of
deploy/kustomize."""

import os
import pathlib
import stat
import subprocess

import elf
import host_tree
import images
import kustomize
import pod
import support
import third_party
from kustomize import the, with_components

MB = 1_000_000  # uncompressed, the sum of all files
DOC = "/usr/share/doc/patchbay"
LABELS = "created description documentation licenses revision source title url vendor version".split()
# Programs that probes and hooks can use; example-fpga runs sh and od.
TOOLS = "sh od cat head tail cut tr sort test expr timeout grep sed awk find xargs lspci lsusb udevadm"
CARD = "0000:21:00.1"


def image(target):
    return images.image(target, images.own_arch())


def git(*arguments):
    return subprocess.run(["git", "-C", support.SOURCE, *arguments], capture_output=True, text=True, check=True,
                          env=os.environ | {"TZ": "UTC"}).stdout.strip()


class Files(support.TestCase):
    def setUp(self):
        super().setUp()
        self.patchbay = image("patchbay")
        self.tools = image("tools")
        self.rootfs = self.dir / "rootfs"

    def test_images_have_labels_and_entrypoint(self):
        for config in (self.patchbay.config, self.tools.config):
            self.assertEqual(config["Entrypoint"], ["/usr/bin/tini", "-s", "--", "/usr/bin/patchbay"])
            self.assertEqual(config["Cmd"], ["run"])
            self.assertEqual(config["User"], "0:0")
            labels = {key.removeprefix("org.opencontainers.image."): value
                      for key, value in config["Labels"].items() if "opencontainers" in key}
            self.assertEqual(sorted(labels), LABELS)
            self.assertNotIn("", labels.values())
            self.assertEqual(labels["revision"], git("rev-parse", "--short", "HEAD"))
            version = support.run("--version").stdout.split()[1]
            self.assertEqual(labels["version"], version)
            self.assertTrue(labels["documentation"].endswith(f"/v{version}/docs"))
            self.assertEqual(labels["created"],
                             git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"))

    def test_contains_only_the_program_and_its_libraries(self):
        self.patchbay.unpack(self.rootfs)
        found = images.files(self.rootfs)
        program = self.rootfs / "usr/bin/patchbay"
        wanted, queue = {"patchbay"}, [program]
        while queue:
            for name in elf.needed(queue.pop()):
                if name not in wanted:
                    wanted.add(name)
                    queue.append(next(self.rootfs.rglob(name)))
        others = {path for path in found if pathlib.Path(path).name not in wanted}
        self.assertEqual(others, {"/lib", "/lib64", "/usr/bin/tini", f"{DOC}/LICENSE", f"{DOC}/NOTICES.gz", f"{DOC}/sbom.cdx.json"})
        self.assertFalse([name for name in wanted if "grpc" in name or "ssl" in name])
        self.assertNotIn("/usr/bin/patchbay-try", found)
        total = sum(found.values())
        print(f"patchbay: {total / MB:.1f} MB, the program {program.stat().st_size / MB:.1f}")
        self.assertLessEqual(total, 23 * MB)

    def test_images_contain_library_notices(self):
        texts = []
        for image in (self.patchbay, self.tools):
            rootfs = self.dir / image.name.partition(":")[2]
            image.unpack(rootfs)
            notices, bill = third_party.read(rootfs / DOC.lstrip("/"))
            self.assertEqual(third_party.problems(bill), [])
            texts.append(notices)
        self.assertEqual(*texts)
        # grpc, OpenSSL and their dependencies are linked into the program; the others are files of the image, or headers.
        uses = third_party.uses(bill)
        self.assertEqual({name for name, use in uses.items() if use == "loaded at run time"},
                         {"libc6", "libgcc-s1", "libprometheus-cpp-core1.0", "libstdc++6", "libtomlplusplus3", "libudev1"})
        self.assertEqual(uses["tini"], "shipped as a program")
        for name in ("libabsl-dev", "libgrpc++-dev", "libgrpc-dev", "libprotobuf-dev", "libre2-dev", "libssl-dev", "libyaml-cpp-dev"):
            self.assertEqual(uses[name], "linked statically")
        for name in ("libboost1.81-dev", "libcli11-dev", "libexpected-dev", "libfmt-dev", "libspdlog-dev"):
            self.assertEqual(uses[name], "compiled in from headers")
        for source in ("boost1.81", "grpc", "fmtlib", "openssl", "systemd", "tini", "zlib"):
            self.assertIn(source, third_party.sources(notices))
        for source in ("googletest", "google-benchmark", "linux"):
            self.assertNotIn(source, third_party.sources(notices))

    def test_program_is_hardened(self):
        self.patchbay.unpack(self.rootfs)
        self.assertEqual(elf.missing_hardening(self.rootfs / "usr/bin/patchbay"), set())

    def test_tools_image_contains_programs_for_probes(self):
        self.tools.unpack(self.rootfs)
        total = sum(images.files(self.rootfs).values())
        print(f"patchbay:tools: {total / MB:.1f} MB")
        self.assertLessEqual(total, 114 * MB)
        for tool in TOOLS.split():
            found = [p for d in ("usr/bin", "usr/sbin") for p in [self.rootfs / d / tool]
                     if p.is_symlink() or p.exists()]
            self.assertTrue(found, tool)


class Served(pod.TestCase):
    def test_serves_a_kubelet_as_deployed(self):
        self.image = image("patchbay")
        objects = with_components()
        base = the("ConfigMap", objects)["data"]["patchbay.toml"]
        with support.Kubelet(self.kubelet_dir, pod_resources=self.dir / "p/kubelet.sock") as kubelet:
            process = self.start(objects, self.config_map({"patchbay.toml": base}))
            view = kubelet.wait_listed("patchbay.dev/null")
            self.assertEqual(support.health(view), {f"null::{n}": "Healthy" for n in range(10)})
            shown = self.exec("patchbay", "devices")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("patchbay.dev/null", shown.stdout)
            self.assertIn(f"({git('rev-parse', '--short', 'HEAD')})", self.exec("patchbay", "--version").stdout)
            for shell in ("sh", "/bin/sh", "/bin/bash", "/bin/busybox"):
                self.assertNotEqual(self.exec(shell, "-c", "true").returncode, 0, shell)
            subprocess.run([*self.runc, "kill", self.name, "TERM"], check=True)
            self.assertEqual(process.wait(), 0)
        self.assertEqual(self.plugin_sockets(), [])


class Probed(pod.TestCase):
    """The overlay example-fpga, whose probe is a script, on a node that has its cards."""

    more_env = ["SYSTEMD_DEVICE_VERIFY_SYSFS=0"]  # for libudev: this /sys is of files

    def host_directories(self):
        directories = super().host_directories()
        host = self.dir / "host"
        return directories | {"/dev": host / "dev", "/sys": host / "sys",
                              "/run/udev": host / "run/udev"}

    def test_tools_image_runs_the_probe_of_example_fpga(self):
        host = self.dir / "host"
        host_tree.make(support.SOURCE / "tests/e2e/examples/fpga-xilinx.toml", host)
        os.mknod(host / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))  # for runc
        card = host / "sys/bus/pci/devices" / CARD
        (card / "config").write_bytes(b"\xee\x10\x05\x50")
        objects = kustomize.overlay("example-fpga")
        self.image = image("tools")
        files = the("ConfigMap", objects)["data"]
        with support.Kubelet(self.kubelet_dir) as kubelet:
            self.start(objects, self.config_map(files))
            kubelet.wait_view("fpga.example.com/alveo",
                              lambda v: support.health(v).get(CARD) == "Healthy")
            probed = self.exec("patchbay", "devices", "--probe", "--output", "json")
            self.assertIn(CARD, probed.stdout)
            (card / "config").write_bytes(b"\xff\xff\xff\xff")
            shown = self.exec("patchbay", "devices", "--probe")
            self.assertIn("the card does not answer any more", shown.stdout)


if __name__ == "__main__":
    support.main()
