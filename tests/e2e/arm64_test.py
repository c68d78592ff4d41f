"""The image for arm64, compiled on another machine, and its program run by qemu."""

import subprocess

import elf
import images
import support
import third_party

EXAMPLE = support.SOURCE / "examples/configs/everyday.toml"


class Arm64(support.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_programs("qemu-aarch64")
        self.image = images.image("patchbay", "arm64")
        self.rootfs = self.dir / "rootfs"
        self.image.unpack(self.rootfs)
        self.program = self.rootfs / "usr/bin/patchbay"

    def run_there(self, *arguments):
        ran = subprocess.run(["qemu-aarch64", "-L", str(self.rootfs), str(self.program), *arguments],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                             env=support.environment())
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_image_has_architecture_arm64(self):
        self.assertEqual(self.image.description["architecture"], "arm64")
        self.assertIn("AArch64", elf.readelf("--file-header", self.program))
        self.assertEqual(elf.missing_hardening(self.program), set())
        total = sum(images.files(self.rootfs).values())
        print(f"patchbay for arm64: {total / 1_000_000:.1f} MB")
        self.assertLessEqual(total, 22_000_000)

    def test_image_contains_library_notices(self):
        notices, bill = third_party.read(self.rootfs / "usr/share/doc/patchbay")
        self.assertEqual(third_party.problems(bill), [])
        uses = third_party.uses(bill)
        self.assertEqual({uses[name] for name in ("libc6", "libstdc++6", "libudev1")}, {"loaded at run time"})
        self.assertEqual(uses["libgrpc++-dev"], "linked statically")
        arches = {third_party.purl_of(component["purl"])[2]["arch"] for component in bill["components"]}
        self.assertEqual(arches, {"arm64", "all"})  # the compiler's own parts are in packages of any architecture
        self.assertIn("grpc", third_party.sources(notices))

    def test_program_runs_in_qemu(self):
        here = support.run("--version").stdout
        self.assertEqual(self.run_there("--version").split()[:2], here.split()[:2])
        for example in support.EXAMPLES:
            self.assertIn("ok: ", self.run_there("check", str(example)))

    def test_devices_match_native_build(self):
        config = self.config(support.resource("example.com/memory", 'path = "/dev/{null,zero,full}"'))
        there = self.run_there("devices", "--config", str(config), "--output", "json")
        here = support.run("devices", "--config", str(config), "--output", "json").stdout
        self.assertIn("/dev/full", there)
        self.assertEqual(there, here)


if __name__ == "__main__":
    support.main()
