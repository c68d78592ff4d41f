"""`patchbay run` against a kubelet in another process: registered, and registered again."""

import json
import os
import pty
import re
import subprocess

import support
from support import Daemon, Kubelet, health, resource

NULL = resource("example.com/null", 'path = "/dev/null"')
ZERO = resource("example.com/zero", 'path = "/dev/{zero,full}"')
THREE = NULL + ZERO + resource("example.com/seat", "count = 3")
NAMES = ["example.com/null", "example.com/seat", "example.com/zero"]


LINE = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) \w"


class Registering(support.TestCase):
    def test_registers_every_resource_and_lists_its_devices(self):
        for profile in ("sync", "async", "multi"):
            with self.subTest(profile=profile), Kubelet(self.kubelet_dir, profile) as kubelet, \
                    Daemon(self.config(THREE), self.kubelet_dir) as daemon:
                for name in NAMES:
                    kubelet.wait_listed(name)
                self.assertEqual(kubelet.ask("resources")["resources"], NAMES)
                self.assertEqual(health(kubelet.view("example.com/zero")),
                                 {"full": "Healthy", "zero": "Healthy"})
                self.assertEqual(sorted(health(kubelet.view("example.com/seat"))), ["0", "1", "2"])
                calls = kubelet.ask("calls")["calls"]
                self.assertEqual(sorted(c["resource"] for c in calls), NAMES)
                for call in calls:
                    self.assertEqual(call["version"], "v1beta1")
                    self.assertNotIn("/", call["endpoint"])
                admitted = kubelet.ask("admit pod container example.com/zero 2")
                self.assertTrue(admitted["ok"], admitted)
                self.assertEqual(sorted(d["host_path"] for d in admitted["response"]["devices"]),
                                 ["/dev/full", "/dev/zero"])
                self.assertEqual(daemon.end()[0], 0)

    def test_reports_an_invalid_host_root_and_kubelet_dir(self):
        config = self.config('[daemon]\nhost_root = "/no/such"\n' + THREE)
        self.kubelet_dir.write_text("")
        with Daemon(config, self.kubelet_dir) as daemon:
            daemon.err.wait("host_root is not a directory")
            daemon.err.wait("the kubelet's directory, or one of its parents, is a file; correct kubelet_dir")
            self.assertEqual(daemon.end()[0], 0)

    def test_registers_after_ten_kubelet_restarts(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(THREE), self.kubelet_dir) as daemon:
            for name in NAMES:
                kubelet.wait_listed(name)
            for _ in range(10):
                # Counts restart with every start, so a list belongs to this run.
                kubelet.ask("stop")
                mark = kubelet.mark()
                kubelet.ask("start")
                for name in NAMES:
                    kubelet.wait_listed(name, since=mark)
            for name in NAMES:
                view = kubelet.wait_view(name, lambda v: v["streams"] == 1, since=mark)
                self.assertTrue(view["connected"])
                self.assertEqual(kubelet.view(name)["streams"], 1, name)
            self.await_true(lambda: len(self.plugin_sockets()) == 3,
                            "a socket for each resource and no other")
            self.await_true(
                lambda: "patchbay_kubelet_restarts_total 10" in daemon.get("/metrics")[1],
                "ten restarts are counted")
            self.assertEqual(daemon.end()[0], 0)

    def test_registers_after_restarts_without_pause(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(THREE), self.kubelet_dir) as daemon:
            for name in NAMES:
                kubelet.wait_listed(name)
            for _ in range(10):
                mark = kubelet.mark()
                kubelet.ask("restart")
            for name in NAMES:
                kubelet.wait_listed(name, since=mark, timeout=60)
                kubelet.wait_view(name, lambda v: v["connected"] and v["streams"] == 1, since=mark)
            self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready again")
            for name in NAMES:
                self.assertEqual(kubelet.view(name)["streams"], 1, name)

    def test_registers_after_a_kubelet_crash(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(THREE), self.kubelet_dir):
            for name in NAMES:
                kubelet.wait_listed(name)
            kubelet.ask("crash")
            mark = kubelet.mark()
            kubelet.ask("start")
            for name in NAMES:
                kubelet.wait_listed(name, since=mark)

    def test_retries_on_a_stale_kubelet_socket(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            kubelet.ask("crash")
            with Daemon(self.config(THREE), self.kubelet_dir) as daemon:
                daemon.address()
                failed = re.compile(r'^patchbay_registrations_total\{.*"failure"\} [1-9]', re.M)
                self.await_true(lambda: failed.search(daemon.get("/metrics")[1]),
                                "a failed attempt")
                mark = kubelet.mark()
                kubelet.ask("start")
                for name in NAMES:  # immediately, regardless of the back-off
                    kubelet.wait_listed(name, since=mark)

    def test_registers_after_a_hanging_kubelet_restarts(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            kubelet.ask("fault hang")
            with Daemon(self.config(THREE), self.kubelet_dir):
                self.await_true(lambda: len(kubelet.ask("calls")["calls"]) == 3, "three calls")
                mark = kubelet.mark()
                kubelet.ask("stop")
                kubelet.ask("fault none")
                kubelet.ask("start")
                for name in NAMES:
                    kubelet.wait_listed(name, since=mark, timeout=10)

    def test_retries_if_the_kubelet_never_connects(self):
        with Kubelet(self.kubelet_dir) as kubelet:
            kubelet.ask("fault never_dial example.com/null")
            with Daemon(self.config(THREE), self.kubelet_dir) as daemon:
                kubelet.wait_listed("example.com/zero")
                kubelet.wait_listed("example.com/seat")
                missing = (503, "example.com/null is not registered with the kubelet\n")
                self.await_true(lambda: daemon.get("/readyz") == missing, "only one is not registered")
                kubelet.ask("fault none example.com/null")
                # It registers again after a timeout of 20 s.
                kubelet.wait_listed("example.com/null", timeout=40)

    def test_registers_a_hundred_resources(self):
        names = [f"example.com/r{i}" for i in range(100)]
        config = self.config("".join(resource(name, "count = 2") for name in names))
        with Kubelet(self.kubelet_dir) as kubelet, Daemon(config, self.kubelet_dir) as daemon:
            for name in names:
                kubelet.wait_listed(name)
            kubelet.ask("stop")
            mark = kubelet.mark()
            kubelet.ask("start")
            for name in names:
                kubelet.wait_listed(name, since=mark)
            self.assertEqual(daemon.end()[0], 0)
            self.assertEqual(self.plugin_sockets(), [])

    def test_registers_again_after_a_broken_stream(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(THREE), self.kubelet_dir):
            for name in NAMES:
                kubelet.wait_listed(name)
            mark = kubelet.mark()
            kubelet.ask("drop example.com/zero")
            # If the old stream ends while the new one is set up, this kubelet closes the new one, as real ones
            # do, and the plugin registers again only when it has waited for a stream for 20 seconds.
            kubelet.wait_view("example.com/zero",
                              lambda v: v["connected"] and v["streams"] == 1 and v["connections"] > 1,
                              since=mark, timeout=3 * support.PATIENCE)
            self.assertEqual(kubelet.view("example.com/null")["registrations"], 1)

    def test_recreates_a_deleted_plugin_socket(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(NULL), self.kubelet_dir):
            first = kubelet.wait_listed("example.com/null")["endpoint"]
            os.unlink(first)
            view = kubelet.wait_view("example.com/null",
                                     lambda v: v["connected"] and v["endpoint"] != first)
            self.assertTrue(os.path.exists(view["endpoint"]))

    def test_registers_in_a_replaced_directory(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(NULL), self.kubelet_dir):
            kubelet.wait_listed("example.com/null")
            kubelet.ask("stop")
            # The daemon removes its socket and creates another one at the same time.
            self.await_true(lambda: subprocess.run(["rm", "-rf", self.kubelet_dir],
                                                   capture_output=True).returncode == 0, "the directory is removed")
            mark = kubelet.mark()
            kubelet.ask("start")
            kubelet.wait_listed("example.com/null", since=mark)

    def test_rejected_resource_does_not_affect_others(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(THREE), self.kubelet_dir) as daemon:
            for name in NAMES:
                kubelet.wait_listed(name)
            kubelet.ask("fault unknown_error example.com/null")
            kubelet.ask("stop")
            mark = kubelet.mark()
            kubelet.ask("start")
            kubelet.wait_listed("example.com/zero", since=mark)
            kubelet.wait_listed("example.com/seat", since=mark)
            # The list can arrive before the response to Register.
            missing = (503, "example.com/null is not registered with the kubelet\n")
            self.await_true(lambda: daemon.get("/readyz") == missing, "only the rejected one is not registered")
            kubelet.ask("fault none example.com/null")
            kubelet.wait_listed("example.com/null", since=mark)


class Waiting(support.TestCase):
    def test_waits_for_a_missing_directory(self):
        with Daemon(self.config(NULL), self.kubelet_dir) as daemon:
            self.assertEqual(daemon.get("/readyz")[0], 503)
            self.assertFalse(self.kubelet_dir.exists())
            with Kubelet(self.kubelet_dir) as kubelet:
                kubelet.wait_listed("example.com/null")
                self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
                self.assertEqual(daemon.end()[0], 0)

    def test_waits_for_missing_parent_directories(self):
        deep = self.dir / "a/b/c"
        with Daemon(self.config(NULL), deep) as daemon:
            daemon.address()
            with Kubelet(deep) as kubelet:
                kubelet.wait_listed("example.com/null")

    def test_stops_while_waiting(self):
        with Daemon(self.config(NULL), self.kubelet_dir) as daemon:
            daemon.address()
            code, seconds = daemon.end()
            self.assertEqual(code, 0)
            self.assertLess(seconds, 2)
            self.assertFalse(self.kubelet_dir.exists())

    def test_accepts_a_trailing_slash(self):
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(NULL), f"{self.kubelet_dir}/"):
            kubelet.wait_listed("example.com/null")
            kubelet.ask("stop")
            mark = kubelet.mark()
            kubelet.ask("start")
            kubelet.wait_listed("example.com/null", since=mark)


class Logging(support.TestCase):
    def test_every_line_is_json_if_requested(self):
        self.kubelet_dir.mkdir()
        config = self.config(NULL + resource("example.com/also", 'path = "/dev/null"'))
        with Daemon(config, self.kubelet_dir, "--log-format", "json") as daemon:
            daemon.err.wait('"message":"serving http"')
            self.assertEqual(daemon.end()[0], 0)
            lines = [json.loads(line) for line in daemon.err.text().splitlines()]
        for line in lines:
            self.assertLessEqual({"time", "level", "message"}, line.keys())
        warnings = [line for line in lines
                    if line["message"] == "configuration has warnings; run patchbay check to see them"]
        self.assertEqual([(line["level"], line["warnings"]) for line in warnings], [("warning", 1)])
        self.assertIn("shutting down", [line["message"] for line in lines])

    def test_log_reports_an_empty_configuration(self):
        """As the DaemonSet of the Helm chart without a `config`."""
        with Kubelet(self.kubelet_dir), \
                Daemon(self.config("# nothing yet\n"), self.kubelet_dir, "--wait-for-config") as daemon:
            _, line = daemon.err.wait("configuration has no resources")
        self.assertRegex(line, LINE)
        self.assertIn("write [[resource]] with a name and a [[resource.match]]", line)

    def test_check_reports_a_standard_input_that_cannot_be_read(self):
        directory = os.open(self.dir, os.O_RDONLY)
        self.addCleanup(os.close, directory)
        ran = subprocess.run([support.PATCHBAY, "check", "-"], stdin=directory, capture_output=True, text=True,
                             timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("<stdin> cannot be read: Is a directory", ran.stderr)

    def test_configuration_errors_are_json(self):
        config = self.config('[[resource]]\nname = "null"\n')
        with Daemon(config, self.kubelet_dir, "--log-format", "json") as daemon:
            self.assertEqual(daemon.wait(), 1)
            lines = [json.loads(line) for line in daemon.err.text().splitlines()]
        self.assertIn("bad-value", [line.get("code") for line in lines])
        self.assertNotIn("configuration loaded", [line["message"] for line in lines])

    def test_initial_load_is_logged_like_a_reload(self):
        self.kubelet_dir.mkdir()
        text_with_warning = NULL + resource("example.com/also", 'path = "/dev/null"')
        for text, more, warning_count in ((text_with_warning, (), 1),
                                          (text_with_warning, ("--wait-for-config",), 1),
                                          (text_with_warning, ("--log-level", "error"), 0),
                                          ('[daemon]\nlog_level = "error"\n' + text_with_warning, (), 0),
                                          ('[daemon]\nlog_level = "error"\n' + text_with_warning,
                                           ("--log-level", "warning"), 1)):
            with self.subTest(more=more, text=text), Kubelet(self.kubelet_dir) as kubelet, \
                    Daemon(self.config(text), self.kubelet_dir, *more) as daemon:
                kubelet.wait_listed("example.com/null")
                self.assertEqual(daemon.end()[0], 0)
                lines = daemon.err.all()
                for line in lines:
                    self.assertRegex(line, LINE)
                warnings = [line for line in lines if " warning configuration has warnings; " in line]
                self.assertEqual(len(warnings), warning_count, lines)
                if warning_count:
                    self.assertIn(" warnings=1", warnings[0])

    def test_terminal_shows_errors_with_their_source(self):
        text_with_warning = NULL + resource("example.com/also", 'path = "/dev/null"')

        def shown(text, *more):
            config = self.config(text)
            master, slave = pty.openpty()
            try:
                ran = subprocess.run(
                    [support.PATCHBAY, "run", "-c", str(config), "--kubelet-dir",
                     str(self.kubelet_dir), "--listen", "192.0.2.1:1", *more], stdin=subprocess.DEVNULL, stderr=slave,
                    env=support.environment(NO_COLOR="1"), timeout=support.PATIENCE)
                os.set_blocking(master, False)
                self.assertEqual(ran.returncode, 1)
                return os.read(master, 1 << 16).decode().replace("\r\n", "\n")
            finally:
                os.close(master)
                os.close(slave)

        broken = text_with_warning + "mtach = 1\n"
        self.assertIn("error[unknown-key]: ", shown(broken))
        self.assertRegex(shown(broken), r"(?m)^ +\^$")
        lines = [json.loads(line) for line in shown(broken, "--log-format", "json").splitlines()]
        self.assertIn("unknown-key", [line.get("code") for line in lines])
        self.assertIn("patchbay: the configuration has 1 warning; run `patchbay check --config ",
                      shown(text_with_warning).splitlines()[0])
        line, = shown(text_with_warning, "--log-level", "error").splitlines()
        self.assertIn(" error cannot start ", line)
        line, = shown(text_with_warning + "mtach = 1\n", "--log-level", "error").splitlines()
        self.assertRegex(line, LINE)
        self.assertIn(" code=unknown-key ", line)


class Refusing(support.TestCase):
    def test_rejects_an_invalid_file(self):
        self.kubelet_dir.mkdir()
        config = self.config('[[resource]]\nname = "null"\nreplcas = 2\n')
        with Daemon(config, self.kubelet_dir) as daemon:
            self.assertEqual(daemon.wait(), 1)
            err = daemon.err.text()
            self.assertIn(f"at={config}:2:8 code=bad-value reason=", err)
            self.assertIn(f"at={config}:3:1 code=unknown-key reason=", err)
            self.assertNotIn("serving http", err)
            self.assertEqual(daemon.out.text(), "")
        self.assertEqual(list(self.kubelet_dir.iterdir()), [])

    def test_rejects_a_missing_file(self):
        with Daemon(self.dir / "none.toml", self.kubelet_dir) as daemon:
            self.assertEqual(daemon.wait(), 1)
            self.assertIn("none.toml code=unreadable-file reason=", daemon.err.text())

    def test_fails_if_the_port_is_in_use(self):
        self.kubelet_dir.mkdir()
        config = self.config(NULL)
        with Daemon(config, self.kubelet_dir) as first:
            address = first.address()
            with Daemon(config, self.kubelet_dir, listen=address) as second:
                self.assertEqual(second.wait(), 1)
                self.assertIn("cannot start", second.err.text())
                self.assertIn(address, second.err.text())
                self.assertIn("in use", second.err.text())
            self.assertEqual(first.get("/healthz")[0], 200)

    def test_rejects_an_invalid_address(self):
        with Daemon(self.config(NULL), self.kubelet_dir, listen="nowhere") as daemon:
            self.assertEqual(daemon.wait(), 2)

    def test_rejects_a_directory_too_long_for_sockets(self):
        with Daemon(self.config(NULL), "/tmp/" + "x" * 50) as daemon:
            self.assertEqual(daemon.wait(), 2)
            self.assertIn("--kubelet-dir", daemon.err.text())


class Nodes(support.TestCase):
    CONFIG = (resource("example.com/rack", 'path = "/dev/null"', 'on_nodes = ["rack-*"]') +
              resource("example.com/desk", 'path = "/dev/zero"', 'on_nodes = ["desk"]') +
              resource("example.com/all", 'path = "/dev/full"'))

    def registered(self, node_name, *expected):
        self.kubelet_dir = self.dir / f"k-{node_name}"  # a separate node
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(self.config(self.CONFIG), self.kubelet_dir, NODE_NAME=node_name) as daemon:
            for name in expected:
                kubelet.wait_listed(name)
            self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
            self.assertEqual(sorted(kubelet.ask("resources")["resources"]), sorted(expected))
            for name in ("rack", "desk", "all"):
                served = f'patchbay_resource_registered{{resource="example.com/{name}"}}' in \
                    daemon.get("/metrics")[1]
                self.assertEqual(served, f"example.com/{name}" in expected)

    def test_register_only_resources_for_the_node(self):
        self.registered("rack-17", "example.com/rack", "example.com/all")
        self.registered("desk", "example.com/desk", "example.com/all")
        self.registered("elsewhere", "example.com/all")

    def test_use_the_host_name_by_default(self):
        self.registered("", "example.com/all")

    def test_devices_and_allocate_apply_on_nodes(self):
        config = self.config(self.CONFIG)
        listed = support.run("devices", "-o", "json", "-c", str(config), NODE_NAME="rack-1")
        self.assertEqual([r["name"] for r in json.loads(listed.stdout)["resources"]],
                         ["example.com/rack", "example.com/all"])
        refused = support.run("allocate", "example.com/desk", "-c", str(config), NODE_NAME="rack-1")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("rack-1", refused.stderr)


if __name__ == "__main__":
    support.main()
