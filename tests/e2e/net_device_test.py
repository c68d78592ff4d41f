"""Network interfaces that move into real containers, from the response of the daemon to the status page.

The daemon sees the /sys of another host, in which a platform device has the interface. A veth pair stands for it: the
kernel destroys it with its namespace, so that only the test moves it back.
"""

import json
import os
import pathlib
import signal
import subprocess

import containers
import host_tree
import support
from net_test import ADDRESS, DEFAULT_ROUTE, VIRTUAL, Namespace
from support import Cluster, Daemon, Kubelet, health, resource

HOST = """
[sys]
"platform/fec0" = {subsystem = "platform", driver = "fec"}
[sys."platform/fec0/net/hw0"]
subsystem = "net"
ifindex = "7"
uevent = {INTERFACE = "hw0"}
attributes = {address = "%s", addr_assign_type = "0", dev_id = "0x0", dev_port = "0", type = "1"}
""" % ADDRESS
ENTRY = 'udev = {subsystem = "net"}'
NET = '[[resource.net_device]]\nname = "lan{slot}"\nmtu = 1400\naddresses = ["192.0.2.1{slot}/24"]\n'
SCRIPT = "/bin/busybox ip addr show lan0"


class NetDevice(containers.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_programs("ip", "unshare", "nsenter")
        self.root, self.away = self.dir / "host", self.dir / "away"
        tree = self.dir / "tree.toml"
        tree.write_text(HOST)
        host_tree.make(tree, self.root)
        self.cdi_dir = self.dir / "cdi"
        self.cdi_dir.mkdir()
        self.net_dir = self.kubelet_dir.parent / "plugins/patchbay.dev/net"

    def daemon(self, **env):
        config = self.config(f'[daemon]\nkubelet_dir = "{self.kubelet_dir}"\ncdi_dir = "{self.cdi_dir}"\n'
                             'pod_resources = ""\n' + resource("example.com/lan", ENTRY) + NET)
        return Daemon(config, self.kubelet_dir, "--host-root", str(self.root), **env)

    def device(self, daemon):
        """The only device in the status of the daemon; None before the first scan."""
        status = json.loads(daemon.get("/api/v1/status")[1])
        devices = status["resources"][0]["devices"]
        return devices[0] if devices else None

    def move_away(self, daemon):
        self.away.mkdir(exist_ok=True)
        host_tree.move_interface("hw0", self.root, self.away)
        daemon.send(signal.SIGUSR1)

    def move_back(self, daemon):
        host_tree.move_interface("hw0", self.away, self.root)
        daemon.send(signal.SIGUSR1)

    def test_moves_into_a_container_and_stays_over_ten_restarts(self):
        self.skip_unless_containers_run()
        node, pod = Namespace(self), Namespace(self)
        if node.run("ip", "link", "add", "hw0", "address", ADDRESS, "type", "veth", "peer", "name", "peer").returncode:
            self.skipTest("veth pairs cannot be created here")
        with Kubelet(self.kubelet_dir) as kubelet, self.daemon(NODE_IPS="198.51.100.7,2001:db8::1,x") as daemon:
            self.assertEqual(health(kubelet.wait_listed("example.com/lan")), {"fec0": "Healthy"})
            answer = kubelet.ask("admit pod c example.com/lan 1")
            self.assertTrue(answer["ok"], answer)
            names = answer["response"]["cdi_devices"]
            self.assertEqual(names, ["patchbay.dev/net=example.com_2flan_3dfec0-0"])
            (hook,) = containers.cdi_edits(self.cdi_dir, names)[0]["hooks"]
            self.assertEqual((hook["hookName"], hook["path"]), ("createRuntime", str(self.net_dir / "patchbay-net")))
            self.assertTrue(os.access(hook["path"], os.X_OK))
            self.assertEqual(hook["args"][1:], [
                "--device", "/devices/platform/fec0", "--dev-port", "0", "--dev-id", "0", "--hardware-address", ADDRESS,
                "--name", "lan0", "--up", "--mtu", "1400", "--address", "192.0.2.10/24",
                "--node-address", "198.51.100.7", "--node-address", "2001:db8::1",
                "--status", str(next((self.net_dir / "interfaces").iterdir())).replace("interfaces", "results")[:-5]])
            bundle = self.bundle([answer["response"]], SCRIPT, cdi_dir=self.cdi_dir)
            self.let_runc_move_a_veth(bundle, pod)
            for restart in range(11):
                ran = self.run_container(bundle, node)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("192.0.2.10/24", ran.stdout, restart)
                self.assertIn("mtu 1400", ran.stdout)
            self.assertNotIn("hw0", node.interfaces())

            self.move_away(daemon)
            self.await_true(lambda: self.device(daemon)["in_pod"], "the device is in a pod")
            self.assertEqual(self.device(daemon)["health"], "Healthy")
            devices = support.run("devices", "--config", str(self.dir / "patchbay.toml"), "--host-root", str(self.root))
            self.assertIn("hw0 (in a pod)", devices.stdout, devices.stderr)

        with Kubelet(self.kubelet_dir) as kubelet, self.daemon() as daemon:
            self.assertEqual(health(kubelet.wait_listed("example.com/lan")), {"fec0": "Healthy"})
            self.assertTrue(self.device(daemon)["in_pod"])
            self.move_back(daemon)
            self.await_true(lambda: not self.device(daemon)["in_pod"], "the device is on the host again")

            pod.ip("link", "set", "lan0", "netns", str(node.pid), "name", "lan0")
            node.ip("link", "set", "lan0", "up")
            node.ip("route", "add", "default", "dev", "lan0")
            mark = kubelet.mark()
            self.assertNotEqual(self.run_container(bundle, node).returncode, 0)
            kubelet.wait_view("example.com/lan", lambda view: health(view) == {"fec0": "Unhealthy"}, mark)
            self.assertIn("default route", self.device(daemon)["reason"])
            (result,) = (self.net_dir / "results").iterdir()
            self.assertTrue(result.read_text().startswith(f"{DEFAULT_ROUTE} "))

    def let_runc_move_a_veth(self, bundle, pod):
        """Puts the container into the namespace of a pod, and the program for virtual interfaces in the place of the
        one that the daemon has installed."""
        file = bundle / "config.json"
        spec = json.loads(file.read_text())
        for namespace in spec["linux"]["namespaces"]:
            if namespace["type"] == "network":
                namespace["path"] = f"/proc/{pod.pid}/ns/net"
        (hook,) = spec["hooks"]["createRuntime"]
        hook["path"] = VIRTUAL
        hook["args"][hook["args"].index("--device") + 1] = "/devices/virtual"
        file.write_text(json.dumps(spec))

    def test_claims_have_the_hook_and_metadata(self):
        with Cluster(self.dir, "rack-1") as cluster:
            config = self.config(f'[daemon]\n{cluster.daemon_keys}' + resource("example.com/lan", ENTRY, 'api = "dra"') + NET)
            with Daemon(config, self.kubelet_dir, "--host-root", str(self.root), NODE_NAME="rack-1"):
                cluster.succeed("await_published 1")
                cluster.succeed("class example.com/lan")
                claim = cluster.succeed("prepare claim example.com/lan")
                (edit,) = containers.cdi_edits(pathlib.Path(cluster.cdi_dir), claim["cdi_devices"])
                self.assertIn("192.0.2.10/24", edit["hooks"][0]["args"])
                metadata = json.loads(pathlib.Path(edit["mounts"][0]["hostPath"]).read_text().splitlines()[0])
                self.assertEqual(metadata["requests"][0]["devices"][0]["networkData"],
                                 {"interfaceName": "lan0", "ips": ["192.0.2.10/24"], "hardwareAddress": ADDRESS})

    def test_a_device_whose_files_cannot_be_written_is_unhealthy(self):
        self.net_dir.parent.mkdir(parents=True)
        self.net_dir.write_text("in the way")
        with Kubelet(self.kubelet_dir) as kubelet, self.daemon() as daemon:
            self.assertEqual(health(kubelet.wait_listed("example.com/lan")), {"fec0": "Unhealthy"})
            self.assertIn('enable the component "net-devices"', self.device(daemon)["reason"])

    def test_a_place_without_programs_is_unhealthy(self):
        self.net_dir.mkdir(parents=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", str(self.net_dir)], capture_output=True)
        if mounted.returncode:
            self.skipTest("file systems cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(self.net_dir)])
        with Kubelet(self.kubelet_dir) as kubelet, self.daemon() as daemon:
            self.assertEqual(health(kubelet.wait_listed("example.com/lan")), {"fec0": "Unhealthy"})
            self.assertIn("noexec", self.device(daemon)["reason"])


if __name__ == "__main__":
    support.main()
