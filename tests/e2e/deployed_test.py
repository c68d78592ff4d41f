"""Runs the DaemonSet of deploy/kustomize in a real container, to detect missing permissions. Uses
the built program instead of the image."""

import os
import subprocess

import pod
import support
from devices import Loop
from kustomize import the, with_components
from support import resource

LOOP = 200000 + os.getpid() % 100000  # a high number, which is not in use


class Deployed(pod.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_programs("losetup")

    def loop(self):
        file = self.dir / "disk"
        file.write_bytes(bytes(1 << 20))
        loop = Loop(LOOP, file)
        self.addCleanup(loop.remove)

    def opened_disk(self):
        """A configuration with a loop device that is found through sysfs and opened by its probe."""
        match = f'path = "/dev/loop{LOOP}"\nudev = {{ subsystem = "block" }}'
        return self.config_map({"disk.toml": resource("example.com/disk", match) + (
            '[resource.health]\nopen = true\nperiod = "100ms"\nfailure_threshold = 1\n')})

    def test_serves_the_configuration_without_privileges(self):
        objects = with_components()
        base = the("ConfigMap", objects)["data"]["patchbay.toml"]
        with support.Kubelet(self.kubelet_dir, pod_resources=self.dir / "p/kubelet.sock") as kubelet:
            process = self.start(objects, self.config_map({"base.toml": base}))
            view = kubelet.wait_listed("patchbay.dev/null")
            self.assertEqual(support.health(view), {f"null::{n}": "Healthy" for n in range(10)})
            shown = self.exec("/patchbay", "devices")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("patchbay.dev/null", shown.stdout)
            for path in ("/dev/x", "/sys/x", "/x", "/etc/patchbay/x", "/run/udev/x"):
                self.assertIn("Read-only file system",
                              self.exec("/usr/bin/touch", path).stderr, path)
            status = self.exec("/usr/bin/cat", "/proc/self/status").stdout
            self.assertIn("CapBnd:\t0000000000000000", status)
            self.assertIn("NoNewPrivs:\t1", status)
            if pod.SECCOMP.exists():
                self.assertIn("Seccomp:\t2", status)
            # PodResources is polled, and an error would be logged.
            self.assertNotIn("pod_resources", process.err.text())
            subprocess.run([*self.runc, "kill", self.name, "TERM"], check=True)
            self.assertEqual(process.wait(), 0)
        self.assertEqual(self.plugin_sockets(), [])

    def disk_of_a_group(self):
        """A configuration with a loop device of the group 4242, which containers get."""
        self.loop()
        os.chown(f"/dev/loop{LOOP}", 0, 4242)
        return self.config_map({"disk.toml": resource("example.com/disk", f'path = "/dev/loop{LOOP}"',
                                                      "grant_group = true")})

    def test_grants_groups_with_the_component_for_cdi(self):
        with support.Kubelet(self.kubelet_dir) as kubelet:
            process = self.start(with_components("cdi"), self.disk_of_a_group())
            kubelet.wait_listed("example.com/disk")
            admitted = kubelet.ask("admit pod c example.com/disk 1")
            self.assertEqual(admitted["response"]["cdi_devices"], ["patchbay.dev/group=gid-4242"], admitted)
            self.assertEqual([file.name for file in (self.dir / "cdi").iterdir()],
                             ["patchbay.dev-group_gid-4242.json"])
            subprocess.run([*self.runc, "kill", self.name, "TERM"], check=True)
            self.assertEqual(process.wait(), 0)

    def test_names_the_component_that_granting_a_group_needs(self):
        with support.Kubelet(self.kubelet_dir) as kubelet:
            self.start(with_components(), self.disk_of_a_group())
            kubelet.wait_listed("example.com/disk")
            refused = kubelet.ask("admit pod c example.com/disk 1")
            self.assertFalse(refused["ok"])
            self.assertIn('enable the component "cdi"', refused["error"])

    def test_component_for_dra_gives_a_token_and_the_directories_of_the_driver(self):
        objects = with_components("dra")
        with support.Kubelet(self.kubelet_dir) as kubelet:
            self.start(objects, self.config_map({"base.toml": the("ConfigMap", objects)["data"]["patchbay.toml"]}))
            kubelet.wait_listed("patchbay.dev/null")
            account = "/var/run/secrets/kubernetes.io/serviceaccount"
            self.assertEqual(self.exec("/usr/bin/cat", f"{account}/token", f"{account}/ca.crt").stdout, "tokenca.crt")
            self.assertIn("Read-only file system", self.exec("/usr/bin/touch", f"{account}/x").stderr)
            for path in ("plugins_registry", "plugins/patchbay.dev"):
                touched = self.exec("/usr/bin/touch", f"/var/lib/kubelet/{path}/x")
                self.assertEqual(touched.returncode, 0, touched.stderr)
                self.assertIn("Read-only file system",
                              self.exec("/usr/bin/touch", f"/var/lib/kubelet/{path}/../x").stderr)
            for directory in ("plugins_registry", "driver"):
                self.assertTrue((self.dir / directory / "x").exists(), directory)

    def test_new_devices_are_listed_but_cannot_be_opened(self):
        with support.Kubelet(self.kubelet_dir) as kubelet:
            self.start(with_components(), self.opened_disk())
            self.assertEqual(kubelet.wait_listed("example.com/disk")["devices"], [])
            self.loop()
            kubelet.wait_view("example.com/disk",
                              lambda v: list(support.health(v).values()) == ["Unhealthy"])
            shown = self.exec("/patchbay", "devices", "--probe").stdout
            self.assertIn("Operation not permitted", shown)

    def test_open_devices_component_permits_open_probes(self):
        self.loop()
        with support.Kubelet(self.kubelet_dir) as kubelet:
            self.start(with_components("open-devices"), self.opened_disk())
            kubelet.wait_view("example.com/disk",
                              lambda v: list(support.health(v).values()) == ["Healthy"])
            shown = self.exec("/patchbay", "devices", "--probe")
            self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)


if __name__ == "__main__":
    support.main()
