"""Runs the hook patchbay-net between real network namespaces, by itself and by runc.

The kernel destroys virtual interfaces with their namespace, so the hook does not move them. A second program that
differs only in this moves veth pairs here. The namespace in which the tests run it stands for that of the host.
"""

import json
import os
import subprocess

import containers
import support
from support import SOURCE

PROGRAM = os.environ.get("PATCHBAY_NET", str(SOURCE / "build/dev/net/patchbay-net"))
VIRTUAL = os.environ.get("PATCHBAY_NET_VIRTUAL", str(SOURCE / "build/dev/net/patchbay-net-virtual"))
ADDRESS = "02:00:5e:10:00:01"

# Exit codes of net/net_result.h.
(USAGE, BAD_STATE, NO_CONTAINER, NO_PERMISSION, HOST_NETWORK, LOCKED, AWAY, AMBIGUOUS, OTHER_HARDWARE, IS_VIRTUAL, WIRELESS,
 MEMBER, DEFAULT_ROUTE, NODE_ADDRESS, NAME_TAKEN, NOT_MOVED, NOT_CONFIGURED, NOT_RETURNED, NO_STATUS) = range(10, 29)


class Namespace:
    """A network namespace, which a process holds."""

    def __init__(self, test):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, start_new_session=True)
        self.pid = self.holder.pid
        test.addCleanup(self.end)
        self.holder.stdout.readline()

    def end(self):
        self.holder.communicate()

    def run(self, *command, **how):
        return subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", *command], capture_output=True,
                              timeout=support.PATIENCE, **how)

    def ip(self, *arguments):
        ran = self.run("ip", *arguments, text=True)
        assert ran.returncode == 0, (arguments, ran.stderr)
        return ran.stdout

    def interfaces(self):
        return {one["ifname"]: one for one in json.loads(self.ip("-json", "addr", "show"))}

    def inode(self):
        return os.stat(f"/proc/{self.pid}/ns/net").st_ino


class NetTest(containers.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_programs("ip", "unshare", "nsenter")
        if subprocess.run(["unshare", "--net", "ip", "link", "add", "type", "veth"], capture_output=True).returncode:
            self.skipTest("network namespaces or veth pairs cannot be created here")
        self.host, self.pod = Namespace(self), Namespace(self)
        self.status = self.dir / "status"
        self.status.mkdir()
        self.peers = 0
        self.add_interface()

    def add_interface(self, name="hw0", address=ADDRESS):
        # The kernel removes the peer of an interface some time after its namespace.
        self.peers += 1
        self.host.ip("link", "add", name, "address", address, "type", "veth", "peer", "name", f"peer{self.peers}")

    def arguments(self, *options):
        return ["--device", "/devices/virtual", "--hardware-address", ADDRESS, "--status", str(self.status / "hw"),
                *options]

    def state(self, pid=None, **more):
        return json.dumps({"ociVersion": "1.0.2", "id": "container-1", "status": "creating",
                           "pid": pid or self.pod.pid, "bundle": "/"} | more)

    def hook(self, *options, state=None, program=VIRTUAL, arguments=None):
        """Runs the hook on the host. Returns its exit code."""
        ran = self.host.run(program, *(self.arguments(*options) if arguments is None else arguments),
                            input=(self.state() if state is None else state).encode())
        self.error = ran.stderr.decode()
        self.assertEqual(bool(ran.returncode), bool(self.error), self.error)
        return ran.returncode

    def assert_refused(self, code, *options, **how):
        """Asserts that the hook ends with this code, and that the host has the interface as before."""
        before = self.host.interfaces()
        self.assertEqual(self.hook(*options, **how), code, self.error)
        after = self.host.interfaces()
        self.assertEqual({name: (one["address"], "UP" in one["flags"]) for name, one in before.items()},
                         {name: (one["address"], "UP" in one["flags"]) for name, one in after.items()})


class Move(NetTest):
    def test_moves_renames_and_configures(self):
        self.assertEqual(self.hook("--name", "lan0", "--up", "--mtu", "1400", "--address", "192.0.2.7/24",
                                   "--address", "2001:db8::7/64"), 0, self.error)
        self.assertNotIn("hw0", self.host.interfaces())
        inside = self.pod.interfaces()["lan0"]
        self.assertEqual((inside["address"], inside["mtu"]), (ADDRESS, 1400))
        self.assertIn("UP", inside["flags"])
        self.assertEqual([(a["local"], a["prefixlen"]) for a in inside["addr_info"] if a["scope"] == "global"],
                         [("192.0.2.7", 24), ("2001:db8::7", 64)])
        self.assertEqual((self.status / "hw").read_text(), f"0 0 {self.pod.inode()} container-1\n")

    def test_keeps_the_name_of_the_host_with_any_bytes(self):
        for name in (b"hw0", b"\x01\x1b[2Jx\xff\"'\\$`;|", b"-name"):
            with self.subTest(name=name):
                pod = Namespace(self)
                self.host.run("ip", "link", "set", "dev", "hw0", "name", name)
                self.assertEqual(self.hook(state=self.state(pod.pid)), 0, self.error)
                self.assertIn(name, pod.run("ip", "-oneline", "link", "show").stdout)
                pod.end()
                self.add_interface()

    def test_does_nothing_for_other_containers_of_the_pod(self):
        self.assertEqual(self.hook("--name", "lan0", "--address", "192.0.2.7/24"), 0, self.error)
        self.pod.ip("addr", "del", "192.0.2.7/24", "dev", "lan0")
        self.pod.ip("link", "set", "lan0", "name", "mine")
        for _ in range(10):
            self.assertEqual(self.hook("--name", "lan0", "--up", "--address", "192.0.2.7/24"), 0, self.error)
        inside = self.pod.interfaces()["mine"]
        self.assertEqual([a for a in inside["addr_info"] if a["scope"] == "global"], [])
        self.assertNotIn("UP", inside["flags"])

    def test_two_containers_at_once_get_one_interface(self):
        command = ["nsenter", f"--net=/proc/{self.host.pid}/ns/net", VIRTUAL, *self.arguments("--name", "lan0", "--up")]
        hooks = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
        for hook in hooks:
            hook.stdin.write(self.state().encode())
        for hook in hooks:
            hook.stdin.close()
        self.assertEqual([(hook.wait(support.PATIENCE), hook.stderr.read()) for hook in hooks], [(0, b"")] * 8)
        for hook in hooks:
            hook.stderr.close()
        self.assertIn("UP", self.pod.interfaces()["lan0"]["flags"])

    def test_completes_a_move_that_was_interrupted(self):
        self.assertEqual(self.hook("--name", "lan0"), 0, self.error)
        for namespace, is_completed in ((self.pod.inode() + 1, False), (self.pod.inode(), True)):
            (self.status / "hw").write_text(f"moving 0 {namespace} container-1\n")
            self.assertEqual(self.hook("--name", "lan0", "--up", "--address", "192.0.2.7/24"), 0, self.error)
            inside = self.pod.interfaces()["lan0"]
            self.assertEqual("UP" in inside["flags"], is_completed)
            self.assertEqual([a["local"] for a in inside["addr_info"]], ["192.0.2.7"] if is_completed else [])

    def test_killed_at_any_system_call_leaves_a_state_that_the_next_run_completes(self):
        support.skip_unless_programs("strace")
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
            self.skipTest("processes cannot be traced here")
        options = self.arguments("--name", "lan0", "--up", "--address", "192.0.2.7/24")
        calls = 0
        while calls < 40:
            calls += 1
            pod = Namespace(self)
            killed = self.host.run("strace", "-f", "-o", "/dev/null", "-e", f"inject=sendto,renameat,openat:signal=KILL:when={calls}",
                                   VIRTUAL, *options, input=self.state(pod.pid).encode())
            self.assertEqual(self.hook(arguments=options, state=self.state(pod.pid)), 0, self.error)
            inside = pod.interfaces()["lan0"]
            self.assertIn("UP", inside["flags"])
            self.assertEqual([a["local"] for a in inside["addr_info"] if a["scope"] == "global"], ["192.0.2.7"])
            pod.ip("link", "del", "lan0")
            pod.end()
            self.add_interface()
            if killed.returncode == 0:
                break
        self.assertEqual(killed.returncode, 0, killed.stderr)
        self.assertGreater(calls, 10)

    def test_interface_comes_back_if_it_cannot_be_configured(self):
        self.host.ip("link", "set", "hw0", "up")
        self.pod.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        for options in (("--mtu", "1"), ("--mtu", "1400", "--address", "192.0.2.7/24", "--address", "2001:db8::7/64")):
            with self.subTest(options=options):
                self.assert_refused(NOT_CONFIGURED, "--name", "lan0", *options)
                self.assertEqual(list(self.pod.interfaces()), ["lo"])
                self.assertRegex((self.status / "hw").read_text(), rf"^{NOT_CONFIGURED} \d+ {self.pod.inode()} container-1\n$")


class Refusal(NetTest):
    def test_only_the_test_program_moves_virtual_interfaces(self):
        self.assert_refused(IS_VIRTUAL, program=PROGRAM)

    def test_default_routes(self):
        self.host.ip("link", "set", "hw0", "up")
        self.host.ip("link", "set", "peer1", "up")
        self.host.ip("addr", "add", "192.0.2.1/24", "dev", "hw0")
        self.host.ip("-6", "addr", "add", "2001:db8::1/64", "dev", "hw0", "nodad")
        routes = [("-4", "route", "add", "default", "via", "192.0.2.9"),
                  ("-4", "route", "add", "default", "dev", "hw0", "table", "100"),
                  ("-6", "route", "add", "default", "via", "2001:db8::9"),
                  ("-4", "route", "add", "default", "nexthop", "via", "192.0.2.8", "nexthop", "via", "192.0.2.9"),
                  ("-6", "route", "add", "default", "nexthop", "via", "2001:db8::8", "nexthop", "via", "2001:db8::9")]
        for route in routes:
            with self.subTest(route=route):
                self.host.ip(*route)
                self.assert_refused(DEFAULT_ROUTE)
                self.host.ip(*route[:2], "del", *route[3:])
        self.host.ip("nexthop", "add", "id", "7", "via", "192.0.2.9", "dev", "hw0")
        self.host.ip("route", "add", "default", "nhid", "7")
        self.assert_refused(DEFAULT_ROUTE)

    def test_addresses_of_the_node(self):
        self.host.ip("addr", "add", "192.0.2.1/24", "dev", "hw0")
        self.host.ip("addr", "add", "2001:db8::1/64", "dev", "hw0")
        for address in ("192.0.2.1", "2001:db8:0::1"):
            self.assert_refused(NODE_ADDRESS, "--node-address", "198.51.100.1", "--node-address", address)
        self.assertEqual(self.hook("--node-address", "192.0.2.2"), 0, self.error)

    def test_members_of_others_and_what_others_are_on(self):
        for options in (("add", "on", "link", "hw0", "type", "vlan", "id", "5"), ("add", "on", "link", "hw0", "type", "macvlan"),
                        ("add", "on", "address", "02:00:5e:10:00:07", "type", "bridge"), ("add", "on", "type", "vrf", "table", "9")):
            with self.subTest(options=options):
                added = self.host.run("ip", "link", *options)
                if added.returncode:
                    continue  # not in this kernel; the bridge is in every one
                if "link" not in options:
                    self.host.ip("link", "set", "hw0", "master", "on")
                self.assert_refused(MEMBER)
                self.host.ip("link", "del", "on")
        self.host.ip("link", "add", "bridge0", "address", "02:00:5e:10:00:07", "type", "bridge")
        arguments = self.arguments()
        arguments[arguments.index(ADDRESS)] = "02:00:5e:10:00:07"
        self.assert_refused(MEMBER, arguments=arguments)

    def test_name_that_exists_in_the_pod(self):
        self.pod.ip("link", "add", "eth0", "type", "veth")
        self.assert_refused(NAME_TAKEN, "--name", "eth0")
        self.pod.ip("link", "add", "hw0", "type", "veth")
        self.assert_refused(NAME_TAKEN)

    def test_container_without_a_namespace_of_its_own(self):
        self.assert_refused(HOST_NETWORK, state=self.state(self.host.pid))
        self.assertTrue((self.status / "hw").read_text().startswith(f"{HOST_NETWORK} 0 "))

    def test_process_that_has_ended(self):
        gone = Namespace(self)
        gone.end()
        self.assert_refused(NO_CONTAINER, state=self.state(gone.pid))

    def test_interface_of_another_container(self):
        other = Namespace(self)
        self.assertEqual(self.hook(state=self.state(other.pid)), 0, self.error)
        self.add_interface("hw1", "02:00:5e:10:00:02")
        self.assert_refused(OTHER_HARDWARE)
        self.assertIn("hw0", other.interfaces())
        self.host.ip("link", "del", "hw1")
        arguments = self.arguments()
        arguments[1] = "/devices/pci0000:00/0000:00:1f.6"
        self.assert_refused(AWAY, arguments=arguments)

    def test_several_interfaces_of_one_place(self):
        self.add_interface("twin", ADDRESS)
        self.assert_refused(AMBIGUOUS)

    def test_states_that_are_not_valid(self):
        for state in ("", "{}", self.state()[:-1], self.state(pid="1"), self.state() + " " * (1 << 20), "\0" * 5000,
                      self.state(pid=f"/proc/{self.pod.pid}/ns/net")):
            self.assert_refused(BAD_STATE, state=state)
        self.assertEqual(self.hook(state=self.state(annotations={"a": "x" * 900000})), 0, self.error)

    def test_arguments_that_are_not_valid(self):
        for options in (["--mtu", "0"], ["--mtu", "1x"], ["--mtu"], ["--name", ""], ["--name", "a" * 16], ["--unknown", "1"], ["x"],
                        ["--address", "192.0.2.1"], ["--address", "192.0.2.1/33"], ["--address", "192.0.2.256/24"],
                        ["--address", "::g/64"], ["--address", "2001:db8::1/129"], ["--address", "1" * 60 + "/24"],
                        ["--node-address", "192.0.2.1/24"], ["--device", "eth0"], ["--status", "relative"], ["--status", "/" + "a" * 250],
                        ["--hardware-address", "02:"], ["--hardware-address", "02:zz"], ["--hardware-address", ":".join(["00"] * 33)],
                        ["--dev-port", "-1"], ["--dev-id", "65536"], *([["--address", "192.0.2.1/24"] * 17])):
            with self.subTest(options=options):
                self.assert_refused(USAGE, *options)
        self.assert_refused(USAGE, arguments=[])

    def test_status_directory_that_is_missing_or_locked(self):
        arguments = self.arguments()
        arguments[-1] = str(self.dir / "missing/hw")
        self.assert_refused(NO_STATUS, arguments=arguments)
        lock = subprocess.Popen(["flock", str(self.status), "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.addCleanup(lock.communicate)
        lock.stdout.readline()
        self.assert_refused(LOCKED)
        self.assertIn("8 seconds", self.error)


class Containers(NetTest):
    """The hook as runc runs it."""

    def pod_bundle(self, script, options):
        bundle = self.bundle([], script)
        spec = json.loads((bundle / "config.json").read_text())
        for namespace in spec["linux"]["namespaces"]:
            if namespace["type"] == "network":
                namespace["path"] = f"/proc/{self.pod.pid}/ns/net"
        spec["hooks"] = {"createRuntime": [{"path": VIRTUAL, "args": ["patchbay-net", *self.arguments(*options)], "timeout": 10}]}
        (bundle / "config.json").write_text(json.dumps(spec))
        os.symlink("busybox", bundle / "rootfs/bin/ip")
        return bundle

    def run_in_host(self, bundle):
        name = f"patchbay-net-{os.getpid()}"
        runc = ["runc", "--root", str(self.dir / "runc")]
        self.addCleanup(subprocess.run, [*runc, "delete", "--force", name], capture_output=True)
        return self.host.run(*runc, "run", "--bundle", str(bundle), name, stdin=subprocess.DEVNULL, text=True)

    def test_pod_keeps_its_interface_over_ten_restarts(self):
        self.skip_unless_containers_run()
        bundle = self.pod_bundle("ip addr show can0", ["--name", "can0", "--up", "--address", "192.0.2.7/24"])
        for restart in range(11):
            ran = self.run_in_host(bundle)
            self.assertEqual(ran.returncode, 0, (restart, ran.stderr))
            self.assertIn("192.0.2.7/24", ran.stdout)
        self.assertNotIn("hw0", self.host.interfaces())

    def test_container_does_not_start_without_its_interface(self):
        self.skip_unless_containers_run()
        bundle = self.pod_bundle("echo started", [])
        self.pod.ip("link", "add", "hw0", "type", "veth")
        ran = self.run_in_host(bundle)
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout, "")
        self.assertIn("the pod has an interface with this name", ran.stderr)


if __name__ == "__main__":
    support.main()
