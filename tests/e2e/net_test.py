"""Runs the hook patchbay-net between real network namespaces, by itself and by runc.

The kernel destroys virtual interfaces with their namespace, so the hook does not move them. A second program that
differs only in this moves veth pairs here. The namespace in which the tests run it stands for that of the host.
"""

import collections
import json
import os
import re
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

    def __init__(self, test, *options):
        self.holder = subprocess.Popen(["unshare", *options, "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
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

    def traced(self, *inject, options=("--name", "lan0")):
        """Runs the hook with faults that strace injects. Sets its exit code and the lines of its system calls."""
        support.skip_unless_programs("strace")
        trace = self.dir / "trace"
        ran = self.host.run("strace", "-o", str(trace), *(word for one in inject for word in ("-e", f"inject={one}")), VIRTUAL,
                            *self.arguments(*options), input=self.state().encode())
        if not trace.exists() or not trace.stat().st_size:
            self.skipTest("processes cannot be traced here")
        self.calls = [line for line in trace.read_text().splitlines() if re.match(r"\w+\(", line)]
        self.code, self.error = ran.returncode, ran.stderr.decode()

    def faults(self, *names, options, error="ENOMEM"):
        """Runs the hook without a fault, and with an error at each of its system calls of these names. Yields them."""
        self.traced(options=options)
        counts = collections.Counter(line.split("(")[0] for line in self.calls)
        yield ""
        for name in names:
            for when in range(1, counts[name] + 1):
                fault = f"{name}:error={error}:when={when}"
                self.traced(fault, options=options)
                yield fault

    def answer(self, name, text):
        """Returns the number of the first recvfrom of the last traced run that has an answer with this text."""
        receives = [line for line in self.calls if line.startswith("recvfrom(")]
        return next(number for number, line in enumerate(receives, 1) if name in line and text in line)

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
        for status, is_completed in (("0 0", False), ("moving 0", True), (f"{NOT_RETURNED} 12", True)):
            with self.subTest(status=status):
                (self.status / "hw").write_text(f"{status} {self.pod.inode()} container-1\n")
                self.assertEqual(self.hook("--name", "lan0", "--up", "--address", "192.0.2.7/24"), 0, self.error)
                inside = self.pod.interfaces()["lan0"]
                self.assertEqual("UP" in inside["flags"], is_completed)
                self.assertEqual([a["local"] for a in inside["addr_info"] if a["scope"] == "global"],
                                 ["192.0.2.7"] if is_completed else [])
                self.assertEqual((self.status / "hw").read_text(), f"0 0 {self.pod.inode()} container-1\n")

    def test_completes_a_move_after_another_container_was_refused(self):
        self.assertEqual(self.hook("--name", "lan0"), 0, self.error)
        (self.status / "hw").write_text(f"moving 0 {self.pod.inode()} container-1\n")
        self.add_interface("hw1", "02:00:5e:10:00:02")
        self.assert_refused(OTHER_HARDWARE, state=self.state(Namespace(self).pid))
        self.assertEqual(self.hook("--up"), 0, self.error)
        self.assertIn("UP", self.pod.interfaces()["lan0"]["flags"])

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

    def test_error_of_any_system_call_leaves_a_state_that_the_next_run_completes(self):
        self.host.ip("link", "set", "hw0", "up")
        options = ("--name", "lan0", "--up", "--mtu", "1400", "--address", "192.0.2.7/24")

        def pod_has_it():
            inside = self.pod.interfaces().get("lan0", {"flags": [], "mtu": 0, "addr_info": []})
            return ("UP" in inside["flags"], inside["mtu"], [a["local"] for a in inside["addr_info"] if a["scope"] == "global"])

        complete = (True, 1400, ["192.0.2.7"])
        for fault in self.faults("socket", "setns", "fsopen", "fsmount", "openat", "readlinkat", "getdents64", "sendto",
                                 "recvfrom", "write", "renameat", options=options):
            with self.subTest(fault=fault):
                if self.code:
                    self.assertIn(self.code, range(NO_CONTAINER, NO_STATUS + 1), self.error)
                    on_host = self.host.interfaces().get("hw0")
                    if on_host:
                        self.assertEqual(("UP" in on_host["flags"], on_host["mtu"]), (True, 1500))
                    else:
                        self.assertIn(self.code, (NOT_RETURNED, NO_STATUS))
                    self.assertEqual(self.hook(*options), 0, self.error)
                self.assertEqual(pod_has_it(), complete)
            self.pod.ip("link", "del", "lan0")
            self.add_interface()
            self.host.ip("link", "set", "hw0", "up")

    def test_few_descriptors(self):
        for limit in range(3, 20):
            with self.subTest(limit=limit):
                ran = self.host.run("prlimit", f"--nofile={limit}", VIRTUAL, *self.arguments("--up"), input=self.state().encode())
                if ran.returncode == 0:
                    break
                self.assertIn(ran.returncode, (NO_STATUS, NO_PERMISSION, NOT_MOVED))
                self.assertIn("hw0", self.host.interfaces())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("UP", self.pod.interfaces()["hw0"]["flags"])

    def test_interface_comes_back_if_it_cannot_be_configured(self):
        self.host.ip("link", "set", "hw0", "up")
        self.pod.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        for options in (("--mtu", "1"), ("--mtu", "1400", "--address", "192.0.2.7/24", "--address", "2001:db8::7/64"),
                        ("--name", "a:b"), ("--name", "a b"), ("--name", "%d%d")):
            with self.subTest(options=options):
                self.assert_refused(NOT_MOVED if "--name" in options else NOT_CONFIGURED, "--name", "lan0", *options)
                self.assertEqual(self.host.interfaces()["hw0"]["mtu"], 1500)
                self.assertEqual(list(self.pod.interfaces()), ["lo"])
                self.assertRegex((self.status / "hw").read_text(), rf"^2\d \d+ {self.pod.inode()} container-1\n$")

    def test_interface_comes_back_although_its_name_is_taken(self):
        self.assertEqual(self.hook("--name", "lan0", "--up"), 0, self.error)
        (self.status / "hw").unlink()
        self.add_interface("lan0", "02:00:5e:10:00:02")
        self.assertEqual(self.hook("--mtu", "1"), NOT_CONFIGURED, self.error)
        self.assertEqual(list(self.pod.interfaces()), ["lo"])
        back = [one for one in self.host.interfaces().values() if one["address"] == ADDRESS]
        self.assertEqual([("UP" in one["flags"], one["ifname"][:3]) for one in back], [(True, "dev")])

    def test_interface_comes_back_although_it_gets_another_name_at_the_same_time(self):
        for fault in self.faults("readlinkat", options=("--name", "lan0", "--mtu", "1"), error="ENOENT"):
            self.assertIn(self.code, (NOT_CONFIGURED, AWAY, OTHER_HARDWARE), fault)
            if "hw0" not in self.host.interfaces():
                self.assertEqual(self.code, AWAY, fault)
                self.pod.ip("link", "del", "lan0")
                self.add_interface()

    def test_interface_that_the_pod_exchanges_before_it_comes_back_stays_down(self):
        self.host.ip("link", "set", "hw0", "up")
        index = json.loads(self.host.ip("-json", "link", "show", "hw0"))[0]["ifindex"]
        options = ("--name", "lan0", "--mtu", "1")
        self.traced(options=options)
        sends = [line for line in self.calls if line.startswith("sendto(")]
        # Found inside, and its MTU refused; the next one moves it back.
        is_mtu = [bool(re.search(r"IFLA_MTU}, 1\b|\\x08\\x00\\x04\\x00\\x01\\x00\\x00\\x00", line)) for line in sends]
        send = is_mtu.index(True) + 2
        self.assertEqual((self.code, sum(is_mtu)), (NOT_CONFIGURED, 1))
        (self.dir / "trace").unlink()
        other = Namespace(self)
        hook = subprocess.Popen(["nsenter", f"--net=/proc/{self.host.pid}/ns/net", "strace", "-o", str(self.dir / "trace"), "-e",
                                 f"inject=sendto:delay_enter=2000000:when={send}", VIRTUAL, *self.arguments(*options)],
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(hook.communicate)
        hook.stdin.write(self.state().encode())
        hook.stdin.close()
        hook.stdin = None
        while not (self.dir / "trace").exists() or (self.dir / "trace").read_text().count("sendto(") < send - 1:
            self.assertIsNone(hook.poll())
        self.pod.ip("link", "set", "lan0", "netns", str(other.pid))
        self.pod.ip("link", "add", "mine", "index", str(index), "type", "veth")
        self.assertEqual(hook.wait(support.PATIENCE), NOT_RETURNED)
        self.assertEqual([name for name, one in self.host.interfaces().items() if "UP" in one["flags"]], [])
        self.assertNotIn("hw0", self.host.interfaces())

    def test_interface_with_as_many_names_as_the_kernel_allows(self):
        # A pod can add them, and they stay when the interface comes back.
        self.host.run("ip", "-force", "-batch", "-", input=b"".join(
            b"link property add dev hw0 altname %0120d\n" % number for number in range(600)))
        self.assertEqual(self.hook(), 0, self.error)

    def test_pod_with_a_user_namespace(self):
        options = ("--user", "--map-root-user")
        if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
            self.skipTest("user namespaces cannot be created here")
        pod = Namespace(self, *options)
        self.assertEqual(self.hook("--up", state=self.state(pod.pid)), 0, self.error)
        self.assertIn("UP", pod.interfaces()["hw0"]["flags"])

    def test_dump_that_was_interrupted_is_read_again(self):
        self.traced()
        self.assertEqual(self.code, 0, self.error)
        self.pod.ip("link", "del", "lan0")
        self.add_interface()
        # The header of NLMSG_DONE with NLM_F_MULTI | NLM_F_DUMP_INTR.
        self.traced(f"recvfrom:poke_exit=@arg2=1400000003001200:when={self.answer('NLMSG_DONE', 'NLM_F_MULTI')}")
        self.assertEqual(self.code, 0, self.error)

    def test_links_and_pipes_in_the_directory_are_replaced(self):
        outside = self.dir / "outside"
        outside.write_text("outside")
        for create in (os.symlink, os.link, lambda _, path: os.mkfifo(path)):
            for name in ("hw", ".hw"):
                create(outside, self.status / name)
            self.assertEqual(self.hook("--name", "lan0"), 0, self.error)
            self.assertEqual(os.listdir(self.status), ["hw"])
            self.assertEqual((self.status / "hw").read_text(), f"0 0 {self.pod.inode()} container-1\n")
            self.assertEqual(outside.read_text(), "outside")
            (self.status / "hw").unlink()
            self.pod.ip("link", "del", "lan0")
            self.add_interface()


class Refusal(NetTest):
    def test_only_the_test_program_moves_virtual_interfaces(self):
        self.assert_refused(IS_VIRTUAL, program=PROGRAM)

    def test_interfaces_that_the_kernel_does_not_return(self):
        """By its kind, because some of these, such as IPoIB, belong to a device of a bus."""
        self.host.ip("link", "del", "hw0")
        if self.host.run("ip", "link", "add", "hw0", "address", ADDRESS, "type", "ifb").returncode:
            self.skipTest("interfaces of the kind ifb cannot be created here")
        self.assert_refused(IS_VIRTUAL)

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
        options = ("--node-address", "192.0.2.1")
        for fault in self.faults("sendto", "recvfrom", options=options):
            self.assertIn(self.code, range(AWAY, NO_STATUS), fault)
            self.assertIn("hw0", self.host.interfaces(), fault)
        # NLMSG_DONE with an error in place of the first address.
        answer = self.answer("RTM_NEWADDR", "")
        number = int(re.search(r"RTM_NEWADDR.*?nlmsg_seq=(\d+)", "\n".join(self.calls)).group(1))
        self.traced(f"recvfrom:poke_exit=@arg2=1400000003000200{number:02x}00000000000000f4ffffff:when={answer}", options=options)
        self.assertEqual(self.code, NOT_MOVED, self.error)
        self.assertIn("hw0", self.host.interfaces())
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
        self.host.ip("link", "set", "hw0", "master", "bridge0")
        for fault in self.faults("openat", "readlinkat", "getdents64", options=()):
            self.assertIn(self.code, range(NO_CONTAINER, NO_STATUS + 1), fault)
            self.assertIn("hw0", self.host.interfaces(), fault)
        self.host.ip("link", "set", "hw0", "nomaster")
        arguments = self.arguments()
        arguments[arguments.index(ADDRESS)] = "02:00:5e:10:00:07"
        self.assert_refused(MEMBER, arguments=arguments)

    def test_name_that_exists_in_the_pod(self):
        self.host.ip("addr", "add", "192.0.2.1/24", "dev", "hw0")
        self.pod.ip("link", "add", "eth0", "type", "veth")
        self.pod.ip("link", "property", "add", "dev", "eth0", "altname", "wan")
        for name in ("eth0", "wan"):
            self.assert_refused(NAME_TAKEN, "--name", name)
        self.assertEqual([a["local"] for a in self.host.interfaces()["hw0"]["addr_info"]], ["192.0.2.1"])
        self.pod.ip("link", "add", "hw0", "type", "veth")
        self.assert_refused(NAME_TAKEN)

    def test_container_without_a_namespace_of_its_own(self):
        self.assert_refused(HOST_NETWORK, state=self.state(self.host.pid))
        self.assertTrue((self.status / "hw").read_text().startswith(f"{HOST_NETWORK} 0 "))

    def test_process_that_has_ended(self):
        gone = Namespace(self)
        gone.end()
        self.assert_refused(NO_CONTAINER, state=self.state(gone.pid))

    def test_process_that_ends_during_the_wait_for_the_lock_and_another_one_gets_its_number(self):
        script = """if True:
            import fcntl, os, subprocess, sys
            def holder():
                made = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                made.stdout.readline()
                return made
            first = holder()
            lock = os.open(sys.argv[1], os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            hook = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
            hook.stdin.write(b'{"pid": %d}' % first.pid)
            hook.stdin.close()
            while f"-> FLOCK  ADVISORY  WRITE {hook.pid} " not in open("/proc/locks").read():
                assert hook.poll() is None
            first.communicate()
            with open("/proc/sys/kernel/ns_last_pid", "w") as last:
                last.write(str(first.pid - 1))
            second = holder()
            assert second.pid == first.pid, (second.pid, first.pid)
            os.close(lock)
            code = hook.wait()
            second.communicate()
            sys.exit(code)
        """
        ran = self.host.run("unshare", "--pid", "--fork", "--mount-proc", "python3", "-c", script, str(self.status), VIRTUAL,
                            *self.arguments(), text=True)
        self.assertEqual(ran.returncode, NO_CONTAINER, ran.stderr)
        self.assertIn("hw0", self.host.interfaces())

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
                        ["--node-address", "192.0.2.1/24"], ["--device", "eth0"], ["--status", "relative"], ["--status", "/" + "a" * 1023],
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
