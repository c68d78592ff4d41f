"""Real containers, created from the responses of `patchbay allocate` and of the daemon."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import containers
import support
from containers import device_entry
from devices import Loop
from support import Cluster, Daemon, Kubelet, resource, run

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


class Container(containers.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_programs("losetup")

    def allocate(self, config, name):
        ran = run("allocate", name, "--output", "json", "--config", str(config))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

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

    def test_granted_group_opens_the_device_for_a_user(self):
        self.skip_unless_containers_run()
        node = self.dir / "gated"
        os.mknod(node, stat.S_IFCHR, os.makedev(1, 7))  # /dev/full
        os.chown(node, 0, 4242)
        node.chmod(0o660)
        script = "ls -ln /dev/gated; head -c 3 /dev/gated | wc -c; echo x > /dev/gated"
        for granted in (True, False):
            with self.subTest(granted=granted):
                cdi_dir = self.dir / f"cdi-{granted}"
                cdi_dir.mkdir()
                answer = self.admit(
                    f'[daemon]\ncdi_dir = "{cdi_dir}"\n' +
                    resource("example.com/gated", f'path = "{node}"',
                             "grant_group = true" if granted else "") +
                    '[[resource.device_node]]\ncontainer_path = "/dev/gated"\n',
                    "example.com/gated")
                ran = self.run_container(
                    self.bundle([answer], script, user=1000, cdi_dir=cdi_dir))
                shutil.rmtree(self.dir / "bundle")
                self.assertRegex(ran.stdout, r"^crw-rw---- +1 0 +4242 +1, +7 ")
                if granted:
                    self.assertEqual(answer["cdi_devices"], ["patchbay.dev/group=gid-4242"])
                    self.assertIn("\n3\n", ran.stdout)
                    self.assertIn("No space left on device", ran.stderr)
                else:
                    self.assertEqual((answer["cdi_devices"], list(cdi_dir.iterdir())), ([], []))
                    self.assertIn("Permission denied", ran.stderr)  # EACCES: the mode of the node
                    self.assertNotIn("\n3\n", ran.stdout)

    def test_container_gets_only_the_devices_of_its_claim(self):
        self.skip_unless_containers_run()
        disk, other = self.loop(1, LETTER), self.loop(2, b"another disk\n")
        script = ('ls -ln /dev/disk0; head -n 1 /dev/disk0; echo "DISK=$DISK"; cat /opt/vendor/file\n'
                  f"cat {containers.METADATA}/resourceclaims/claim/*/patchbay.dev-metadata.json\n"
                  "dd if=/dev/zero of=/dev/disk0 bs=512 count=1; dd if=/dev/other of=/dev/null bs=512 count=1")
        entry = (resource("example.com/disk", 'path = "/dev/vendor-disk"', 'api = "dra"\ngrant_group = true') +
                 '[[resource.device_node]]\ncontainer_path = "/dev/disk{slot}"\npermissions = "r"\n'
                 '[[resource.mount]]\nhost_path = "/vendor"\ncontainer_path = "/opt/vendor"\n'
                 '[resource.env]\nDISK = "{id} in /dev/disk{slot}"\n')
        root = self.dir / "host"
        for directory in ("dev", "vendor"):
            (root / directory).mkdir(parents=True)
        (root / "vendor/file").write_text("from the vendor\n")
        node = root / "dev/vendor-disk"
        os.mknod(node, stat.S_IFBLK, os.stat(disk.path).st_rdev)
        os.chown(node, 0, 4242)
        node.chmod(0o660)
        with Cluster(self.dir, "rack-1") as cluster, \
                Daemon(self.config(f"[daemon]\n{cluster.daemon_keys}{entry}"), self.kubelet_dir,
                       "--host-root", str(root), NODE_NAME="rack-1"):
            cluster.succeed("await_published 1")
            cluster.succeed("class example.com/disk")
            claim = cluster.succeed("prepare claim example.com/disk")
            denied = device_entry("/dev/other", other.path) | {"fileMode": 0o666}
            ran = self.run_container(self.bundle(
                [], script, extra_devices=[denied], user=1000, cdi_dir=cluster.cdi_dir, claim=claim, host_root=root))
            cluster.succeed("release claim")
            self.assertEqual(cluster.ask("claim_files")["files"], 0)
        lines = ran.stdout.splitlines()
        self.assertRegex(lines[0], r"^brw-rw---- +1 0 +4242 ")
        self.assertEqual(lines[1:-1], [LETTER.decode().strip(), "DISK=vendor-disk in /dev/disk0", "from the vendor"],
                         ran.stderr)
        metadata = json.loads(lines[-1])
        self.assertEqual(metadata["kind"], "DeviceMetadata")
        device = metadata["requests"][0]["devices"][0]
        self.assertEqual((device["driver"], device["pool"], device["name"]),
                         ("patchbay.dev", "rack-1/example.com/disk", claim["devices"][0]))
        self.assertEqual(device["attributes"]["id"], {"string": "vendor-disk"})
        # Only "r" was granted, and the other disk was not. File modes would cause EACCES.
        self.assertIn("/dev/disk0': Operation not permitted", ran.stderr)
        self.assertIn("/dev/other': Operation not permitted", ran.stderr)

    def runs_with(self, mounts=(), devices=()):
        """Whether runc starts a container with these mounts and nodes, and what it writes to its output."""
        response = {
            "envs": {}, "cdi_devices": [],
            "mounts": [{"host_path": str(host), "container_path": path, "read_only": read_only}
                       for host, path, read_only in mounts],
            "devices": [{"host_path": host, "container_path": path, "permissions": "rw"}
                        for host, path in devices]}
        ran = self.run_container(self.bundle([response], "ls -l /dev/x /dev/x/full 2>/dev/null; true"))
        subprocess.run(["runc", "--root", str(self.dir / "runc"), "delete", "--force",
                        f"patchbay-test-{os.getpid()}"], capture_output=True)
        shutil.rmtree(self.dir / "bundle")
        return ran.returncode == 0, ran.stdout

    def assert_allocates(self, text, expected):
        """Whether a resource with /dev/full can be allocated, and `check` has nothing to say."""
        config = self.config(resource("example.com/full", 'path = "/dev/full"') + text)
        allocated = run("allocate", "example.com/full", "--config", str(config))
        checked = run("check", "--strict", str(config))
        self.assertEqual((allocated.returncode == 0, checked.returncode == 0), (expected, expected),
                         (text, allocated.stderr, checked.stdout, checked.stderr))

    def test_paths_below_proc_are_refused_as_by_runc(self):
        self.skip_unless_containers_run()
        file = self.dir / "file"
        file.write_text("from the host")
        for path in ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg",
                     "/proc/diskstats", "/proc/swaps", "/proc/version", "/proc/sys/kernel/hostname",
                     "/proc/self/comm", "/proc/new", "/proc/cpuinfo/x", "/proc//./version"):
            with self.subTest(path=path):
                starts, _ = self.runs_with([(file, path, True)])
                self.assert_allocates(f'[[resource.mount]]\nhost_path = "{file}"\ncontainer_path = "{path}"\n', starts)
        for path in ("/proc/full", "/sys/full"):
            with self.subTest(path=path):
                starts, _ = self.runs_with(devices=[("/dev/full", path)])
                self.assertFalse(starts)
                self.assert_allocates(f'[[resource.device_node]]\ncontainer_path = "{path}"\n', False)

    def test_nodes_and_mounts_that_hide_each_other_are_refused(self):
        self.skip_unless_containers_run()
        directory = self.dir / "directory"
        directory.mkdir()
        file = self.dir / "file"
        file.write_text("from the host")

        def parts(mount, path, node, read_only):
            return (f'[[resource.device_node]]\ncontainer_path = "{node}"\n[[resource.mount]]\nhost_path = "{mount}"\n'
                    f'container_path = "{path}"\nread_only = {str(read_only).lower()}\n')

        # The container gets the file.
        starts, output = self.runs_with([(file, "/dev/x", True)], [("/dev/full", "/dev/x")])
        self.assertTrue(starts and output.startswith("-"), output)
        self.assert_allocates(parts(file, "/dev/x", "/dev/x", True), False)
        # The container does not start, or the node is created on the host.
        self.assertFalse(self.runs_with([(directory, "/dev/x", True)], [("/dev/full", "/dev/x/full")])[0])
        self.assertEqual(list(directory.iterdir()), [])
        self.assertTrue(self.runs_with([(directory, "/dev/x", False)], [("/dev/full", "/dev/x/full")])[0])
        self.assertTrue((directory / "full").is_char_device())
        for read_only in (True, False):
            self.assert_allocates(parts(directory, "/dev/x", "/dev/x/full", read_only), False)
        # The same node in the mount.
        for mount, path, node in (("/dev/full", "/dev/x", "/dev/x"), ("/dev", "/dev/x", "/dev/x/full")):
            starts, output = self.runs_with([(mount, path, True)], [("/dev/full", node)])
            self.assertTrue(starts and "1,   7" in output, output)
            self.assert_allocates(parts(mount, path, node, True), True)

    def admit(self, text, name):
        """The response of a running daemon to the built-in kubelet."""
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.dir))
        with Kubelet(directory) as kubelet, Daemon(self.config(text), directory):
            kubelet.wait_listed(name)
            answer = kubelet.ask(f"admit pod c {name} 1")
            self.assertTrue(answer["ok"], answer)
            return answer["response"]

    def loop(self, which, content):
        file = self.dir / f"disk{which}"
        file.write_bytes(content.ljust(1 << 20, b"\0"))
        loop = Loop(30000 + which + 10 * (os.getpid() % 10000), file)
        self.addCleanup(loop.remove)
        return loop


if __name__ == "__main__":
    support.main()
