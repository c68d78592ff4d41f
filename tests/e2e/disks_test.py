"""Disks that the host uses are not advertised, and no hook runs for them, through both APIs."""

import json
import subprocess

import support
from devices import Loop
from support import PATCHBAY, Process, environment, resource

HOOKS = """  [resource.hooks.allocate]
  command = ["/bin/sh", "-c", "echo allocate >> $1", "sh", "{ran}"]
  [resource.hooks.pre_start]
  command = ["/bin/sh", "-c", "echo pre_start >> $1", "sh", "{ran}"]
  [resource.hooks.release]
  command = ["/bin/sh", "-c", "echo release >> $1", "sh", "{ran}"]
"""
IN_USE = "is in use, and no hook runs for a disk in use"


class Disks(support.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_root()
        support.skip_unless_programs("losetup", "mkfs.ext2", "mount", "umount")
        file = self.dir / "disk"
        with file.open("wb") as disk:
            disk.truncate(8 << 20)
        self.disk = Loop(file=file)
        self.addCleanup(self.disk.remove)
        self.ran = self.dir / "ran"
        subprocess.run(["mkfs.ext2", "-q", "-F", self.disk.path], check=True)

    def mount(self):
        at = self.dir / "mounted"
        at.mkdir()
        if subprocess.run(["mount", "-o", "ro", self.disk.path, str(at)], capture_output=True).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(at)], check=True)
        return at

    def config_with(self, match="", api="device-plugin"):
        return self.config(resource("example.com/disk", f'path = "{self.disk.path}"\n{match}', f'api = "{api}"') +
                           HOOKS.replace("{ran}", str(self.ran)))

    def devices(self, config):
        ran = support.run("devices", "-o", "json", "-c", str(config))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)["resources"][0]

    def try_once(self, config):
        with Process([PATCHBAY, "try", "--config", str(config), "--once"], env=environment()) as process:
            code = process.wait()
            return code, process.out.text() + process.err.text()

    def test_a_mounted_disk_is_rejected_with_its_mount(self):
        config = self.config_with()
        self.assertEqual([d["paths"] for d in self.devices(config)["devices"]], [[self.disk.path]])
        at = self.mount()
        found = self.devices(config)
        self.assertEqual(found["devices"], [])
        self.assertEqual([r["path"] for r in found["rejected"]], [self.disk.path])
        self.assertIn(f"mounted: it is mounted at {at}", found["rejected"][0]["reason"])

    def test_hooks_run_only_while_the_disk_is_free(self):
        for api in "device-plugin", "dra":
            with self.subTest(api=api):
                config = self.config_with("allow_mounted = true", api)
                code, said = self.try_once(config)
                self.assertEqual(code, 0, said)
                self.assertIn("pre_start\n", self.ran.read_text())
                self.ran.unlink()
        self.mount()
        for api in "device-plugin", "dra":
            with self.subTest(api=api):
                config = self.config_with("allow_mounted = true", api)
                self.assertEqual(len(self.devices(config)["devices"]), 1)
                code, said = self.try_once(config)
                self.assertEqual(code, 1, said)
                self.assertIn(IN_USE, said)
                self.assertFalse(self.ran.exists())


if __name__ == "__main__":
    support.main()
