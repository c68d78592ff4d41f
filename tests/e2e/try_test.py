"""`patchbay try` prints a report, runs until Ctrl-C, and leaves no files behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import support
from support import PATCHBAY, Lines, Process, environment, get, resource

CONFIG = (resource("example.com/null", 'path = "/dev/null"', "replicas = 2") +
          '[resource.env]\nNULL = "{path}"\n' +
          resource("example.com/none", 'path = "/dev/no-such-device*"'))


class Try(support.TestCase):
    def setUp(self):
        super().setUp()
        self.temp = self.dir / "tmp"
        self.temp.mkdir()
        self.command = [PATCHBAY, "try", "--config", str(self.config(CONFIG))]
        self.env = environment(TMPDIR=str(self.temp))

    def assert_clean(self):
        self.assertEqual(list(self.temp.iterdir()), [])

    def test_once_prints_a_report(self):
        with Process([*self.command, "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertEqual(process.err.text(), "")
            lines = process.out.all()
        self.assertRegex(lines[0], r"\ARESOURCE +REGISTERED +CAPACITY +ALLOCATABLE +DEVICES\Z")
        self.assertRegex(lines[1], r"\Aexample.com/null +yes +2 +2 +null::0 null::1\Z")
        self.assertRegex(lines[2], r"\Aexample.com/none +yes +0 +0 +\(none\)\Z")
        report = "\n".join(lines[3:])
        self.assertRegex(report, r"A container that requests 1 example.com/null gets null::[01]:\n"
                                 r"  device      /dev/null rw\n"
                                 r"  env         NULL=/dev/null\n")
        self.assertIn("example.com/none has no device to allocate on this host", report)
        self.assertNotIn("http://", report)
        self.assert_clean()

    def test_without_a_configuration_it_is_a_demonstration(self):
        if os.path.exists("/etc/patchbay"):
            self.skipTest("this machine has a configuration")
        with Process([PATCHBAY, "try", "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertIn("this is a demonstration of /dev/null", process.err.text())
            self.assertIn("`patchbay try --config FILE`", process.err.text())
            self.assertRegex(process.out.text(), r"patchbay.dev/null +yes +3 +3 ")
            self.assertIn("device      /dev/demonstration rw  from /dev/null", process.out.text())
        for arguments, variables in ((("--config", "/etc/patchbay"), {}), ((), {"PATCHBAY_CONFIG": "/etc/patchbay"})):
            with self.subTest(arguments=arguments, variables=variables), \
                    Process([PATCHBAY, "try", "--once", *arguments], env=environment(**variables)) as process:
                self.assertEqual(process.wait(), 1)
                self.assertIn("error[unreadable-file]", process.err.text())
        self.assert_clean()

    def test_once_probes_each_device(self):
        config = self.config(resource("a.com/good", 'path = "/dev/null"',
                                      '[resource.health]\nfile = "/proc/self/comm"\nmatches = ".*"\n'
                                      'before_first = "unhealthy"\ninitial_delay = "1h"\n') +
                             resource("a.com/bad", 'path = "/dev/zero"',
                                      '[resource.health]\ncommand = ["/bin/no-such-probe", "{path}"]\n') +
                             resource("a.com/none", 'path = "/dev/full"'))
        with Process([PATCHBAY, "try", "--config", str(config), "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 1, process.err.text())
            report = "\n".join(process.out.all())
        self.assertIn("A container that requests 1 a.com/good gets null:", report)
        self.assertRegex(report, r"\n\nRESOURCE +DEVICE +PROBE +TOOK +REASON\n")
        self.assertRegex(report, r"\na.com/good +null +success ")
        self.assertRegex(report, r"\na.com/bad +zero +error .*cannot run /bin/no-such-probe: No such file "
                                 r"or directory; .*the image with tools")
        self.assertNotRegex(report, r"\na.com/none +full +-")
        self.assert_clean()

    def test_explains_why_nothing_can_be_allocated(self):
        config = self.config(resource("a.com/null", 'path = "/dev/null"',
                                      '[[resource.device_node]]\nhost_path = "/dev/no-such-node"\n'))
        with Process([PATCHBAY, "try", "--config", str(config), "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 1, process.err.text())
            report = "\n".join(process.out.all())
        self.assertIn('a.com/null has no device to allocate on this host: the device "null" is unhealthy: '
                      "/dev/no-such-node of device_node is missing", report)

    def test_prints_the_notes_on_devices(self):
        """Only those of what the container gets; of a claim, all, because the scheduler chooses the device."""
        support.skip_unless_device_nodes()
        dev = self.dir / "host/dev"
        dev.mkdir(parents=True)
        for name in ("card0", "card1", "tape0", "tape1"):
            support.make_node(dev / name)
            os.chmod(dev / name, 0o660)
        config = self.config(
            f'[daemon]\nhost_root = "{self.dir}/host"\n' +
            resource("a.com/card", 'path = "/dev/card*"', "grant_group = true") +
            resource("a.com/tape", 'path = "/dev/tape*"', 'api = "dra"\ngrant_group = true'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)], env=self.env) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            report = process.out.text()
        admitted = re.search("A container that requests 1 a.com/card gets (card[01]):", report)[1]
        self.assertEqual(re.findall("(?m)^note: (.*?): /dev/.*?: group is root: a container that is not root cannot "
                                    "open it; set the group by udev, with this rule", report),
                         [admitted, "tape0", "tape1"])
        self.assert_clean()

    def test_runs_until_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number), Process(self.command, env=self.env) as process:
                process.out.wait("Press Ctrl-C to end.")
                _, line = process.out.wait("Metrics: http://")
                address = re.search("http://(.*)/metrics", line)[1]
                self.await_true(lambda: get(address, "/readyz") == (200, "ok\n"), "ready")
                self.assertIn('patchbay_resource_registered{resource="example.com/null"} 1',
                              get(address, "/metrics")[1])
                self.assertEqual(len(list(self.temp.iterdir())), 1)
                process.send(number)
                self.assertEqual(process.wait(), 0, process.err.text())
                self.assert_clean()

    def test_sigusr1_runs_commands_again(self):
        """No event runs a command, and the next rescan is too late for this test."""
        found = self.dir / "found"
        found.write_text("[]")
        config = self.config('[daemon]\nrescan = "1h"\n' +
                             resource("a.com/listed", f'command = ["/bin/cat", "{found}"]'))
        with Process([PATCHBAY, "try", "--config", str(config)], env=self.env) as process:
            _, line = process.out.wait("Metrics: http://")
            address = re.search("http://(.*)/metrics", line)[1]
            process.out.wait("Press Ctrl-C to end.")
            for number in (1, 2):
                found.write_text(json.dumps([{"id": str(i)} for i in range(number)]))
                process.send(signal.SIGUSR1)
                listed = f'patchbay_units{{health="healthy",resource="a.com/listed"}} {number}'
                self.await_true(lambda: listed in get(address, "/metrics")[1], listed)
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assert_clean()

    def test_reloads_a_changed_file(self):
        config = self.config(CONFIG)
        with Process(self.command, env=self.env) as process:
            process.out.wait("Press Ctrl-C to end.")
            _, line = process.out.wait("Metrics: http://")
            address = re.search("http://(.*)/metrics", line)[1]
            config.write_text(CONFIG + resource("example.com/new", 'path = "/dev/zero"'))
            process.out.wait("Configuration reloaded.")
            served = 'patchbay_resource_registered{resource="example.com/new"} 1'
            self.await_true(lambda: served in get(address, "/metrics")[1], served)
            config.write_text("")
            process.err.wait("config reload failed")
            self.assertIn(served, get(address, "/metrics")[1])
            config.write_text(CONFIG)
            self.await_true(lambda: served not in get(address, "/metrics")[1], "removed")
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertEqual(process.out.all().count("Configuration reloaded."), 2)
            self.assert_clean()

    def test_lists_resources_of_other_nodes(self):
        config = self.config(CONFIG + resource("example.com/n", 'path = "/dev/zero"', 'on_nodes = ["desk"]'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)],
                     env={**self.env, "NODE_NAME": "vm"}) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertIn('example.com/n: not for this node (vm); on_nodes = ["desk"]',
                          process.out.all())

    def test_dra_prepares_a_claim_of_each_resource(self):
        """A resource of each API, shared devices, more devices than are shown, and a host without devices."""
        config = self.config(
            resource("a.com/plugin", 'path = "/dev/null"') +
            resource("a.com/shared", 'path = "/dev/zero"',
                     'api = "dra"\nreplicas = 3\n[resource.env]\nZERO = "{path}"\n'
                     '[resource.attributes]\nsite = "hall 3"\n'
                     '[[resource.mount]]\nhost_path = "/etc/os-release"\n') +
            resource("a.com/many", "count = 10", 'api = "dra"\n') +
            resource("a.com/none", 'path = "/dev/no-such-device*"', 'api = "dra"\n'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)],
                     env={**self.env, "NODE_NAME": "desk"}) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertEqual(process.err.text(), "")
            report = process.out.text()
        first, second = re.split(r"\n\nRESOURCE +PUBLISHED +POOL +GENERATION +SLICES +DEVICES\n", report)
        self.assertRegex(first, r"(?m)^a.com/plugin +yes +1 +1 +null$")
        self.assertIn("A container that requests 1 a.com/plugin gets null:\n", first)
        self.assertNotIn("a.com/shared", first)
        self.assertRegex(second, r"(?m)^a.com/shared +yes +desk/a.com/shared +1 +1 +1$")
        self.assertRegex(second, r"(?m)^a.com/many +yes +desk/a.com/many +1 +1 +10$")
        self.assertRegex(second, r"(?m)^a.com/none +yes +desk/a.com/none +1 +1 +0$")
        self.assertIn("\n\nDevices of a.com/shared:\n"
                      '  zero  id=zero path=/dev/zero site="hall 3" slots=3\n'
                      "A container with the claim default/shared.a.com gets zero:\n"
                      "  device      /dev/zero rw\n"
                      "  mount       /etc/os-release ro\n"
                      "  env         ZERO=/dev/zero\n", second)
        self.assertIn("\n  7  id=7\n  and 2 more\n", second)
        self.assertIn("a.com/none has no device to allocate on this host", second)
        self.assert_clean()

    def test_dra_alone_prints_no_table_of_device_plugins(self):
        config = self.config(resource("a.com/x", 'path = "/dev/zero"', 'api = "dra"\n') +
                             resource("a.com/n", 'path = "/dev/full"', 'on_nodes = ["desk"]'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)],
                     env={**self.env, "NODE_NAME": "vm"}) as process:
            self.assertEqual(process.wait(), 0, process.err.text())
            lines = process.out.all()
        self.assertEqual(lines[0], 'a.com/n: not for this node (vm); on_nodes = ["desk"]')
        self.assertEqual(lines[1], "")
        self.assertRegex(lines[2], r"\ARESOURCE +PUBLISHED +POOL ")
        self.assertNotIn("REGISTERED", "\n".join(lines))
        self.assert_clean()

    def test_dra_runs_the_hooks_of_a_claim(self):
        ran = self.dir / "ran"

        def hook(name, script):
            return f'[resource.hooks.{name}]\ncommand = {json.dumps(["/bin/sh", "-c", script])}\n'

        def note(name):
            return hook(name, f"echo {name} >> {ran}")
        entry = resource("a.com/x", "count = 1", 'api = "dra"\n' + note("allocate") + note("release") + "{}")
        config = self.dir / "hooks.toml"
        for pre_start, code, reason, hooks in (
                (note("pre_start"), 0, "A container with the claim default/x.a.com gets 0:",
                 "allocate\npre_start\nrelease\n"),
                (hook("pre_start", "echo no medium >&2; exit 1"), 1, "a.com/x: prepare dynamic resources: ",
                 "allocate\nrelease\n")):
            with self.subTest(code=code):
                config.write_text(entry.format(pre_start))
                ran.unlink(missing_ok=True)
                with Process([PATCHBAY, "try", "--once", "--config", str(config)], env=self.env) as process:
                    self.assertEqual(process.wait(), code, process.err.text())
                    self.assertIn(reason, process.out.text())
                self.assertEqual(ran.read_text(), hooks)
                self.assert_clean()
        self.assertRegex(process.out.text(), 'pre_start hook of a.com/x failed for "0": .*exit code 1: no medium')

    def test_dra_explains_why_no_device_can_be_allocated(self):
        config = self.config(resource("a.com/null", 'path = "/dev/null"',
                                      'api = "dra"\n[[resource.device_node]]\nhost_path = "/dev/no-such-node"\n'))
        with Process([PATCHBAY, "try", "--config", str(config), "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 1, process.err.text())
            report = process.out.text()
        self.assertIn("null  id=null path=/dev/null taint=patchbay.dev/unhealthy:NoSchedule\n", report)
        self.assertIn('a.com/null has no device to allocate on this host: the device "null" is unhealthy: '
                      "/dev/no-such-node of device_node is missing", report)
        self.assert_clean()

    def test_dra_explains_why_a_resource_is_not_served(self):
        """Its first scan does not end within the time that the report waits."""
        config = self.config(resource("a.com/slow", 'command = ["/bin/sleep", "600"]\ntimeout = "5m"',
                                      'api = "dra"\n'))
        with Process([PATCHBAY, "try", "--config", str(config), "--once"], env=self.env) as process:
            self.assertEqual(process.wait(timeout=60), 1, process.err.text())
            report = process.out.text()
        self.assertRegex(report, r"(?m)^a.com/slow +no *$")
        self.assertIn("a.com/slow is not served: the first scan of the host has not completed", report)
        self.assert_clean()

    def test_dra_needs_a_valid_node_name(self):
        config = self.config(resource("a.com/x", "count = 1", 'api = "dra"\n'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)],
                     env={**self.env, "NODE_NAME": "Node_1"}) as process:
            self.assertEqual(process.wait(), 1)
            self.assertIn('Node \\"Node_1\\" is invalid', process.err.text())
            self.assertIn("set NODE_NAME to a valid name", process.err.text())
        self.assert_clean()

    def test_dra_runs_until_interrupted(self):
        """[daemon.kubernetes] names an API server that does not exist, and is not used."""
        (self.dir / "file").write_text("x")
        entry = (f'[daemon]\nrescan = "1h"\n[daemon.kubernetes]\nserver = "https://127.0.0.1:1"\n'
                 f'ca = "{self.dir}/file"\ntoken_file = "{self.dir}/file"\n')
        found = self.dir / "found"
        found.write_text("[]")
        one = entry + resource("a.com/x", f'command = ["/bin/cat", "{found}"]', 'api = "dra"\n')
        config = self.config(one)
        with Process([PATCHBAY, "try", "--config", str(config)], env=self.env) as process:
            _, line = process.out.wait("Metrics: http://")
            address = re.search("http://(.*)/metrics", line)[1]
            process.out.wait("Press Ctrl-C to end.")
            self.await_true(lambda: get(address, "/readyz") == (200, "ok\n"), "ready")
            found.write_text('[{"id": "late"}]')
            process.send(signal.SIGUSR1)
            listed = 'patchbay_units{health="healthy",resource="a.com/x"} 1'
            self.await_true(lambda: listed in get(address, "/metrics")[1], listed)
            config.write_text(one + resource("a.com/y", "count = 2", 'api = "dra"\n'))
            process.out.wait("Configuration reloaded.")
            served = 'patchbay_resource_registered{resource="a.com/y"} 1'
            self.await_true(lambda: served in get(address, "/metrics")[1], served)
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertEqual(process.err.text(), "")
        self.assert_clean()

    def test_dra_that_begins_with_a_reload_needs_a_restart(self):
        config = self.config(CONFIG)
        with Process(self.command, env=self.env) as process:
            process.out.wait("Press Ctrl-C to end.")
            config.write_text(CONFIG + resource("a.com/x", "count = 1", 'api = "dra"\n'))
            _, line = process.err.wait("a request to the API server failed")
            self.assertIn("restart it", line)
            time.sleep(1)
            self.assertNotIn("driver sockets cannot be created", process.err.text())
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.err.text())
        self.assert_clean()

    def test_dra_exits_while_a_hook_hangs(self):
        started = self.dir / "started"
        script = f"echo $$ > {started}; sleep 600"
        config = self.config(resource(
            "a.com/x", "count = 1",
            'api = "dra"\n[resource.hooks.allocate]\ntimeout = "30s"\n'
            f'command = {json.dumps(["/bin/sh", "-c", script])}\n'))
        with Process([PATCHBAY, "try", "--once", "--config", str(config)], env=self.env) as process:
            self.await_true(started.exists, "the hook")
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 1, process.err.text())
        self.assert_clean()

    def start_on_a_terminal(self):
        """Returns the other end of the terminal, and the process ID."""
        controller, terminal = os.openpty()
        pid = os.fork()
        if pid == 0:
            os.close(controller)
            os.login_tty(terminal) if hasattr(os, "login_tty") else self.login_tty(terminal)
            os.execvpe(self.command[0], self.command, {**self.env, "TERM": "xterm"})
        os.close(terminal)
        return controller, pid

    def test_exits_when_its_terminal_closes(self):
        controller, pid = self.start_on_a_terminal()
        with os.fdopen(controller, "rb", buffering=0) as screen:
            text = b""
            while b"Press Ctrl-C to end." not in text:
                text += screen.read(4096)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assert_clean()

    def test_metrics_contain_device_usage(self):
        with Process(self.command, env=self.env) as process:
            _, line = process.out.wait("Metrics: http://")
            address = re.search("http://(.*)/metrics", line)[1]
            held = ('patchbay_device_in_use{container="container",device="null",'
                    'namespace="default",pod="try",resource="example.com/null"} 1')
            for line in (held, "patchbay_pod_resources_up 1"):
                self.await_true(lambda: line in get(address, "/metrics")[1], line)
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.err.text())
            self.assertEqual(process.err.text(), "")
            self.assert_clean()

    def test_runs_the_pre_start_hook(self):
        config = self.dir / "hooks.toml"
        for command, code, said in ((["/bin/sh", "-c", f"echo $1 >> {self.dir}/ran", "sh", "{id}"],
                                     0, "The container starts"),
                                    (["/bin/sh", "-c", "echo no medium >&2; exit 1"],
                                     1, "pre_start hook of a.com/x failed for \"0\": /bin/sh ended with exit code 1: "
                                     "no medium")):
            config.write_text('[[resource]]\nname = "a.com/x"\n[[resource.match]]\ncount = 1\n'
                              f'[resource.hooks.pre_start]\ncommand = {json.dumps(command)}\n')
            with Process([PATCHBAY, "try", "--once", "--config", str(config)],
                         env=self.env) as process:
                self.assertEqual(process.wait(), code, process.err.text())
                self.assertIn(said, "\n".join(process.out.all()))
        self.assertEqual((self.dir / "ran").read_text(), "0\n")

    def test_exits_on_ctrl_c(self):
        controller, pid = self.start_on_a_terminal()
        try:
            with os.fdopen(controller, "rb", buffering=0) as screen:
                lines = Lines(self.text_of(screen))
                lines.wait("Press Ctrl-C to end.")
                os.write(controller, b"\x03")
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
                pid = None
                lines.wait_end()
                # Colors, and nothing else that controls a terminal.
                self.assertNotIn("\x1b", re.sub(r"\x1b\[[0-9;]*m", "", lines.text()))
        finally:
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self.assert_clean()

    @staticmethod
    def login_tty(terminal):
        """Makes the terminal this process's own, so that its keys become signals."""
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(terminal, fd)

    @staticmethod
    def text_of(screen):
        """Yields the lines on a terminal. Reading from a closed terminal is an error."""
        text = b""
        while True:
            try:
                chunk = screen.read(4096)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, text = (text + chunk).split(b"\n")
            yield from (line.decode().rstrip("\r") for line in lines)
        if text:
            yield text.decode()

    def test_exits_cleanly_on_repeated_sigint(self):
        for _ in range(10):
            with Process(self.command, env=self.env) as process:
                process.out.wait("Press Ctrl-C to end.")
                for _ in range(5):
                    process.send(signal.SIGINT)
                self.assertEqual(process.wait(), 0, process.err.text())
                self.assert_clean()

    def test_exits_if_interrupted_before_the_report(self):
        with Process(self.command, env=self.env) as process:
            self.await_true(lambda: list(self.temp.iterdir()), "its directory")
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(timeout=5), 0, process.err.text())
            self.assert_clean()

    def test_accepts_a_long_temporary_directory(self):
        long = self.temp / ("x" * 80)
        long.mkdir()
        self.env["TMPDIR"] = str(long)
        with Process([*self.command, "--once"], env=self.env) as process:
            self.assertEqual(process.wait(), 0, process.err.text() + process.out.text())
        self.assertEqual(list(long.iterdir()), [])

    def test_rejects_an_invalid_file(self):
        config = self.config("[[resource]]\n")
        with Process([PATCHBAY, "try", "-c", str(config)], env=self.env) as process:
            self.assertEqual(process.wait(), 1)
            self.assertIn("error[", process.err.text())
        self.assert_clean()

    def test_fails_if_the_port_is_in_use(self):
        with Process(self.command, env=self.env) as first:
            _, line = first.out.wait("Metrics: http://")
            address = re.search("http://(.*)/metrics", line)[1]
            with Process([*self.command, "--listen", address], env=self.env) as second:
                self.assertEqual(second.wait(), 1)
                self.assertIn("in use", second.err.text())
            self.assertEqual(len(list(self.temp.iterdir())), 1)

    def test_exits_with_an_empty_file(self):
        config = self.config("")
        with Process([PATCHBAY, "try", "--once", "-c", str(config)], env=self.env) as process:
            self.assertIn(process.wait(), (0, 1))
        self.assert_clean()


class Script(support.TestCase):
    """scripts/try without installing and building, and with a program that prints its arguments."""

    def setUp(self):
        super().setUp()
        self.first = self.config(CONFIG, "first.toml")
        scripts = self.dir / "scripts"
        scripts.mkdir()
        shutil.copy(support.SOURCE / "scripts/try", scripts)
        (scripts / "common.sh").write_text(
            f'set -euo pipefail\nroot={self.dir}\n'
            'install_packages() { echo installs; }\nbuild() { :; }\n')
        self.add_program("patchbay-try", 'echo "$@"')
        self.add_program("patchbay", 'echo "a $1ion"')

    def add_program(self, name, text):
        program = self.dir / "build/dev/src" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def run_script(self, *arguments, **variables):
        return subprocess.run([str(self.dir / "scripts/try"), *arguments], capture_output=True, text=True,
                              env=support.environment(**variables), timeout=support.PATIENCE)

    def test_uses_the_everyday_example_by_default(self):
        everyday = f"--config {self.dir}/examples/configs/everyday.toml"
        first = str(self.first)
        for arguments, variables, given in (
                (("--once",), {}, f"{everyday} --once"),
                (("--once",), {"PATCHBAY_CONFIG": ""}, f"{everyday} --once"),
                (("--once",), {"PATCHBAY_CONFIG": first}, "--once"),
                (("-c", first, "--once"), {}, f"-c {first} --once"),
                ((f"-c{first}",), {}, f"-c{first}"),
                (("--config", first), {}, f"--config {first}"),
                ((f"--config={first}",), {"PATCHBAY_CONFIG": "/no/such"}, f"--config={first}")):
            with self.subTest(arguments=arguments, variables=variables):
                ran = self.run_script(*arguments, **variables)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                shown, _, suggested = ran.stdout.partition("\n\n")
                self.assertEqual(shown.rstrip(), f"installs\n{given}")
                self.assertEqual(suggested.endswith("\n\na suggestion\n"), "--once" in arguments)

    def test_ends_with_the_code_of_try(self):
        self.add_program("patchbay-try", "exit 1")
        self.add_program("patchbay", "exit 3")
        self.assertEqual(self.run_script("--once").returncode, 1)

    def test_reports_a_missing_file_before_building(self):
        for arguments, variables in ((("-c", "/no/such"), {}), (("--config=/no/such",), {}),
                                     ((), {"PATCHBAY_CONFIG": "/no/such"})):
            with self.subTest(arguments=arguments, variables=variables):
                ran = self.run_script(*arguments, **variables)
                self.assertEqual((ran.returncode, ran.stdout), (1, ""))
                self.assertIn("there is no configuration /no/such", ran.stderr)


if __name__ == "__main__":
    support.main()
