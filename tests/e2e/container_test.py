"""A real container, created from the response of `patchbay allocate`."""

import json
import os
import shutil
import stat
import subprocess
import unittest

import support
from devices import Loop
from support import resource, run

LETTER = b"written by the host\n"
SCRIPT = """
echo "env DISK=$DISK DISK_0=$DISK_0 FULL=$FULL"
echo "disk $(head -n 1 /dev/disk0 2>&1)"
echo "mount $(cat /opt/vendor/file 2>&1)"
try() {
  what=$1
  shift
  if error=$("$@" 2>&1); then echo "$what: allowed"; else echo "$what: $error"; fi
}
try "write the disk" dd if=/dev/zero of=/dev/disk0 bs=512 count=1
try "fill the full device" dd if=/dev/zero of=/dev/patchbay/full bs=1 count=1
try "write the mount" touch /opt/vendor/new
try "open the other" dd if=/dev/other of=/dev/null bs=512 count=1
try "make the other" mknod /tmp/other b $OTHER
try "open what was made" dd if=/tmp/other of=/dev/null bs=512 count=1
"""


def device_entry(container_path, host_path):
    """A device node for the runtime: the numbers are those of the resolved host path."""
    info = os.stat(host_path)
    return {"path": container_path, "type": "b" if stat.S_ISBLK(info.st_mode) else "c",
            "major": os.major(info.st_rdev), "minor": os.minor(info.st_rdev), "fileMode": 0o666,
            "uid": 0, "gid": 0}


class Container(support.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_root()
        support.skip_unless_programs("runc", "busybox", "losetup")

    def allocate(self, config, name):
        ran = run("allocate", name, "--output", "json", "--config", str(config))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def bundle(self, responses, script, extra_devices=(), extra_env=()):
        """An OCI bundle of busybox with the content of the responses, like a container runtime."""
        bundle = self.dir / "bundle"
        rootfs = bundle / "rootfs"
        for name in ("bin", "dev", "proc", "tmp", "opt"):
            (rootfs / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), rootfs / "bin/busybox")
        for applet in ("sh", "head", "cat", "dd", "touch", "mknod", "echo", "ls"):
            os.symlink("busybox", rootfs / "bin" / applet)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())

        process = spec["process"]
        process["terminal"] = False
        process["args"] = ["/bin/sh", "-c", script]
        process["env"] = ["PATH=/bin", *extra_env]
        for capabilities in process["capabilities"].values():
            capabilities.append("CAP_MKNOD")
        spec["root"]["readonly"] = False
        linux = spec["linux"]
        linux["cgroupsPath"] = f"/patchbay-test-{os.getpid()}"
        linux["devices"] = list(extra_devices)
        linux["resources"]["devices"] = [{"allow": False, "access": "rwm"}]
        for response in responses:
            process["env"] += [f"{key}={value}" for key, value in response["envs"].items()]
            for mount in response["mounts"]:
                spec["mounts"].append({
                    "destination": mount["container_path"], "source": mount["host_path"],
                    "type": "bind",
                    "options": ["rbind", "ro" if mount["read_only"] else "rw"]})
            for device in response["devices"]:
                entry = device_entry(device["container_path"], device["host_path"])
                linux["devices"].append(entry)
                linux["resources"]["devices"].append({
                    "allow": True, "type": entry["type"], "major": entry["major"],
                    "minor": entry["minor"], "access": device["permissions"]})
        (bundle / "config.json").write_text(json.dumps(spec))
        return bundle

    def run_container(self, bundle):
        state = self.dir / "runc"
        name = f"patchbay-test-{os.getpid()}"
        runc = ["runc", "--root", str(state)]
        self.addCleanup(subprocess.run, [*runc, "delete", "--force", name], capture_output=True)
        return subprocess.run([*runc, "run", "--bundle", str(bundle), name], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)

    def skip_unless_containers_run(self):
        ran = self.run_container(self.bundle([], "echo hello"))
        shutil.rmtree(self.dir / "bundle")
        if ran.stdout != "hello\n":
            raise unittest.SkipTest(f"runc does not run here: {ran.stderr.strip()[-300:]}")

    def test_container_gets_only_the_allocated_devices(self):
        self.skip_unless_containers_run()
        disk, other = self.loop(1, LETTER), self.loop(2, b"another disk\n")
        vendor = self.dir / "vendor"
        vendor.mkdir()
        (vendor / "file").write_text("from the vendor")
        config = self.config(
            resource("example.com/disk", f"regex = '/dev/loop(?P<number>{disk.number})'") +
            '[[resource.device_node]]\ncontainer_path = "/dev/disk{slot}"\npermissions = "r"\n'
            f'[[resource.mount]]\nhost_path = "{vendor}"\ncontainer_path = "/opt/vendor"\n'
            '[resource.env]\nDISK = "/dev/disk{slot}"\n"DISK_{slot}" = "{path} {number}"\n' +
            resource("example.com/full", 'path = "/dev/full"') +
            '[[resource.device_node]]\ncontainer_path = "/dev/patchbay/{name}"\n'
            '[resource.env]\nFULL = "{major}:{minor}"\n')
        responses = [self.allocate(config, "example.com/disk"),
                     self.allocate(config, "example.com/full")]
        other_entry = device_entry("/dev/other", other.path)
        ran = self.run_container(self.bundle(
            responses, SCRIPT, extra_devices=[other_entry],
            extra_env=[f"OTHER={other_entry['major']} {other_entry['minor']}"]))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        said = dict(line.split(": ", 1) for line in ran.stdout.splitlines() if ": " in line)
        lines = ran.stdout.splitlines()

        self.assertIn(f"env DISK=/dev/disk0 DISK_0={disk.path} {disk.number} FULL=1:7", lines)
        self.assertIn("disk " + LETTER.decode().strip(), lines)
        self.assertIn("mount from the vendor", lines)
        self.assertIn("No space left on device", said["fill the full device"])
        self.assertIn("Read-only file system", said["write the mount"])
        # Only "r" was granted. The device cgroup rejects the rest with EPERM; file modes would cause EACCES.
        for what in ("write the disk", "open the other", "open what was made"):
            self.assertIn("Operation not permitted", said[what], what)
        self.assertEqual(said["make the other"], "allowed")

    def test_container_can_write_to_a_writable_device(self):
        self.skip_unless_containers_run()
        disk = self.loop(1, b"")
        config = self.config(resource("example.com/disk", f'path = "{disk.path}"'))
        ran = self.run_container(self.bundle(
            [self.allocate(config, "example.com/disk")],
            f"echo written by the container | dd of={disk.path} conv=fsync 2>/dev/null"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(disk.path, "rb") as device:
            self.assertTrue(device.read(64).startswith(b"written by the container\n"))

    def loop(self, which, content):
        file = self.dir / f"disk{which}"
        file.write_bytes(content.ljust(1 << 20, b"\0"))
        loop = Loop(30000 + which + 10 * (os.getpid() % 10000), file)
        self.addCleanup(loop.remove)
        return loop


if __name__ == "__main__":
    support.main()
