"""Validates /api/v1/status of the real daemon against the schema in docs/api.md."""

import copy
import http.client
import json
import re

import schema
import support
from support import SOURCE, Daemon, Kubelet, resource

SCHEMA = json.loads(re.search(r"```json\n(.*?)```", (SOURCE / "docs/api.md").read_text(),
                              re.S).group(1))
HEALTH = '[resource.health]\nperiod = "1s"\nfailure_threshold = 1\n'


class Status(support.TestCase):
    def config(self, text, name="patchbay.toml"):
        """A configuration that does not use the PodResources socket of this machine."""
        own = "pod_resources" in text
        return super().config(text if own else f'{text}[daemon]\npod_resources = ""\n', name)

    def get(self, daemon):
        code, body = daemon.get("/api/v1/status")
        self.assertEqual(code, 200)
        status = json.loads(body)
        self.assertEqual(schema.problems(SCHEMA, status), [])
        return status

    def await_status(self, daemon, wanted, what):
        found = {}

        def holds():
            found.update(self.get(daemon))
            return wanted(found)

        self.await_true(holds, what)
        return found

    @staticmethod
    def resources(status):
        return {r["name"]: r for r in status["resources"]}

    @staticmethod
    def devices(status, name):
        return {d["id"]: d for d in Status.resources(status)[name]["devices"]}

    def test_contains_the_complete_state(self):
        socket = self.dir / "pods.sock"
        probe = f'{HEALTH}command = ["/bin/sh", "-c", "echo $0 is tired; test $0 != full", "{{id}}"]\n'
        text = (f'[daemon]\npod_resources = "{socket}"\n' +
                resource("example.com/card", 'path = "/dev/{zero,full}"',
                         'description = "cards"\nreplicas = 2') + probe +
                resource("example.com/clash", 'path = "/dev/{zero,full}"\nid = "same"') +
                resource("example.com/none", 'path = "/dev/no-such-device*"') +
                resource("example.com/seat", "count = 3"))
        with Kubelet(self.kubelet_dir, pod_resources=socket) as kubelet, \
                Daemon(self.config(text), self.kubelet_dir, NODE_NAME="rack-1") as daemon:
            for name in ("card", "clash", "none", "seat"):
                kubelet.wait_listed(f"example.com/{name}")
            kubelet.wait_view("example.com/card",
                              lambda view: "Unhealthy" in support.health(view).values())
            self.assertTrue(kubelet.ask("admit a c example.com/card 2")["ok"])
            status = self.await_status(
                daemon, lambda s: all(r["registered"] and r["in_use"] is not None
                                      for r in s["resources"]) and
                self.resources(s)["example.com/card"]["in_use"] == 2 and
                all(d["last_probe"] for d in self.devices(s, "example.com/card").values()),
                "the status is complete")
            card = self.resources(status)["example.com/card"]
            for key, value in {"description": "cards", "state": "registered", "state_reason": "",
                               "streams": 1, "replicas": 2, "capacity": 4, "allocatable": 2,
                               "in_use": 2, "rejected": []}.items():
                self.assertEqual(card[key], value, key)
            devices = self.devices(status, "example.com/card")
            self.assertEqual(devices["zero"]["health"], "Healthy")
            self.assertEqual(devices["zero"]["last_probe"]["result"], "success")
            self.assertEqual(devices["zero"]["last_probe"]["message"], "")
            self.assertEqual(devices["zero"]["in_use_by"],
                             [{"namespace": "default", "pod": "a", "container": "c"}])
            self.assertEqual(devices["full"]["health"], "Unhealthy")
            self.assertEqual(devices["full"]["last_probe"]["result"], "failure")
            self.assertIn("full is tired", devices["full"]["reason"])
            self.assertEqual(devices["full"]["in_use_by"], [])
            self.assertEqual(len(self.resources(status)["example.com/clash"]["rejected"]), 2)
            self.assertEqual(self.resources(status)["example.com/none"]["capacity"], 0)
            self.assertEqual(status["node"], "rack-1")
            self.assertEqual({k: v for k, v in status["kubelet"].items() if k != "up_changed_at"},
                             {"up": True, "restarts": 0, "pod_resources_up": True,
                              "socket": f"{self.kubelet_dir}/kubelet.sock"})
            self.assertEqual(card["probe"]["command"][0], "/bin/sh")
            self.assertEqual((card["probe"]["kind"], card["probe"]["period_seconds"]), ("command", 1))
            self.assertGreater(devices["zero"]["next_probe"], devices["zero"]["last_probe"]["at"])
            change, = [t for t in status["transitions"] if t["resource"] == "example.com/card"]
            self.assertEqual((change["device"], change["from"], change["to"]), ("full", "Healthy", "Unhealthy"))
            self.assertEqual(change["reason"], devices["full"]["reason"])
            why, = self.resources(status)["example.com/none"]["explanation"]
            self.assertEqual(why["match"], 'path = "/dev/no-such-device*"')
            self.assertRegex(why["lines"][0], r"^scanned: /dev/?: \d+ names, none of them matches no-such-device\*$")
            self.assertEqual(card["explanation"], [])
            up_since, registered_since = status["kubelet"]["up_changed_at"], card["registered_changed_at"]
            self.assertEqual(status["config"]["path"], str(self.dir / "patchbay.toml"))
            self.assertTrue(status["config"]["successful"])

            kubelet.ask("stop")
            status = self.await_status(
                daemon, lambda s: not s["kubelet"]["up"] and
                all(r["state"] == "waiting" for r in s["resources"]), "the kubelet is down")
            for each in status["resources"]:
                self.assertIn("the kubelet's socket does not exist", each["state_reason"])
            self.assertGreater(status["kubelet"]["up_changed_at"], up_since)
            self.assertGreater(self.resources(status)["example.com/card"]["registered_changed_at"], registered_since)
            kubelet.ask("start")
            self.await_status(daemon, lambda s: s["kubelet"]["restarts"] == 1 and
                              all(r["registered"] for r in s["resources"]), "registered again")
            kubelet.ask("fault unknown_error")
            kubelet.ask("restart")
            status = self.await_status(
                daemon, lambda s: all(r["state"] == "retrying" and
                                      "rejected the registration" in r["state_reason"]
                                      for r in s["resources"]), "the kubelet rejects registrations")

    def test_contains_dynamic_resource_allocation(self):
        (self.dir / "token").write_text("a.b.c")
        config = self.config(
            resource("example.com/seat", "count = 2", 'api = "dra"') +
            resource("example.com/chair", "count = 1") +
            f'[daemon]\npod_resources = ""\ncdi_dir = "{self.dir}/cdi"\n[daemon.kubernetes]\n'
            f'server = "https://127.0.0.1:1"\nca = "{self.dir}/ca"\ntoken_file = "{self.dir}/token"\n')
        with Daemon(config, self.kubelet_dir) as daemon:
            status = self.await_status(
                daemon, lambda s: s["dra"] and s["dra"]["api_server"]["error"] and s["resources"][1]["dra"],
                "the error of the API server")
        self.assertEqual((status["dra"]["driver"], status["dra"]["claims"]), ("patchbay.dev", []))
        self.assertEqual(status["dra"]["api_server"]["url"], "https://127.0.0.1:1")
        self.assertFalse(status["dra"]["api_server"]["up"])
        chair, seat = status["resources"]
        self.assertEqual((chair["api"], chair["dra"]), ("device-plugin", None))
        self.assertEqual(seat["dra"]["device_class"], "seat.example.com")
        self.assertEqual((seat["api"], seat["dra"]["slices"], seat["dra"]["current"]), ("dra", 0, False))

    def test_devices_match_the_devices_command(self):
        config = self.config(resource("example.com/null", 'path = "/dev/null"') +
                             resource("example.com/usb", "regex = '/dev/(?P<what>zero|full)'") +
                             resource("example.com/clash", 'path = "/dev/{zero,full}"\nid = "same"') +
                             resource("example.com/seat", "count = 12"))
        ran = support.run("devices", "-o", "json", "-c", str(config))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        printed = {r["name"]: r for r in json.loads(ran.stdout)["resources"]}
        with Daemon(config, self.kubelet_dir) as daemon:
            status = self.await_status(
                daemon, lambda s: len(s["resources"]) == len(printed) and
                all(r["last_scan"] for r in s["resources"]), "scanned")
        for name, served in self.resources(status).items():
            shared = {"name": name, "api": served["api"], "rejected": served["rejected"],
                      "missing_mounts": served["missing_mounts"],
                      "unused_excludes": served["unused_excludes"], "notes": served["notes"], "devices": [
                {k: v for k, v in d.items() if k not in ("in_use_by", "last_probe", "next_probe")}
                for d in served["devices"]]}
            self.assertEqual(shared, printed[name])
            self.assertTrue(all(d["in_use_by"] is None for d in served["devices"]))

    def test_contains_diagnostics_of_a_rejected_reload(self):
        good = resource("example.com/null", 'path = "/dev/null"')
        config = self.config(good)
        with Daemon(config, self.kubelet_dir) as daemon:
            before = self.get(daemon)["config"]
            self.assertEqual((before["successful"], before["diagnostics"]), (True, []))
            config.write_text(good + "descripton = 1\n")
            refused = self.await_status(daemon, lambda s: not s["config"]["successful"],
                                        "refused")["config"]
            self.assertEqual(refused["loaded_at"], before["loaded_at"])
            self.assertGreater(refused["read_at"], before["read_at"])
            self.assertEqual(refused["reason"], "the configuration has errors")
            finding, = refused["diagnostics"]
            self.assertEqual((finding["file"], finding["line"], finding["column"], finding["code"]),
                             (str(config), len(good.splitlines()) + 1, 1, "unknown-key"))
            config.write_text("")
            self.await_status(daemon, lambda s: "no resource" in s["config"]["reason"], "empty")
            config.write_text(good + resource("example.com/zero", 'path = "/dev/zero"'))
            status = self.await_status(daemon, lambda s: s["config"]["successful"], "accepted")
            self.assertGreater(status["config"]["loaded_at"], before["loaded_at"])
            self.assertEqual(len(status["resources"]), 2)

    def test_is_served_without_a_valid_configuration(self):
        config = self.config("nonsense = 1\n")
        with Daemon(config, self.kubelet_dir, "--wait-for-config") as daemon:
            _, line = daemon.err.wait("waiting for a valid configuration")
            code, body = support.get(line.rsplit("address=", 1)[1].strip(), "/api/v1/status")
            status = json.loads(body)
            self.assertEqual((code, schema.problems(SCHEMA, status)), (200, []))
            self.assertEqual(status["resources"], [])
            self.assertEqual(status["config"]["loaded_at"], None)
            self.assertEqual(status["config"]["diagnostics"][0]["line"], 1)

    def test_has_the_resources_of_other_nodes(self):
        lab = resource("example.com/lab", "count = 1", 'description = "of the lab"\non_nodes = ["lab-*", "desk"]')
        config = self.config(resource("example.com/seat", "count = 3") + lab)
        with Daemon(config, self.kubelet_dir, NODE_NAME="rack-1") as daemon:
            status = self.await_status(daemon, lambda s: s["hidden_resources"], "started")
            self.assertEqual(status["hidden_resources"], [
                {"name": "example.com/lab", "description": "of the lab", "on_nodes": ["lab-*", "desk"]}])
            config.write_text(config.read_text().replace('"desk"', '"rack-?"'))
            self.await_status(daemon, lambda s: not s["hidden_resources"] and len(s["resources"]) == 2, "served")

    def test_has_the_last_transitions(self):
        directory = self.dir / "dev"
        directory.mkdir()
        match = f'path = "{directory}/*"\ntype = "file"'
        with Daemon(self.config(resource("example.com/card", match, 'forget_after = "1ms"')),
                    self.kubelet_dir) as daemon:
            self.await_status(daemon, lambda s: s["resources"] and s["resources"][0]["last_scan"], "scanned")
            for i in range(60):  # each device appears, fails and is removed
                (directory / f"card{i}").touch()
            self.await_status(daemon, lambda s: len(s["resources"][0]["devices"]) == 60, "there")
            self.assertEqual(len(self.get(daemon)["transitions"]), 60)
            for file in directory.iterdir():
                file.unlink()
            status = self.await_status(daemon, lambda s: not s["resources"][0]["devices"], "gone")
            self.assertEqual(len(status["transitions"]), 100)
            self.assertEqual(status["transitions"][0]["to"], None)
            times = [t["at"] for t in status["transitions"]]
            self.assertEqual(times, sorted(times, reverse=True))

    def test_a_removed_resource_leaves_no_transitions(self):
        seat, card = resource("example.com/seat", "count = 3"), resource("example.com/card", "count = 2")
        config = self.config(seat + card)
        with Kubelet(self.kubelet_dir) as kubelet, Daemon(config, self.kubelet_dir) as daemon:
            kubelet.wait_listed("example.com/card")
            kubelet.wait_listed("example.com/seat")
            self.await_status(daemon, lambda s: all(r["registered"] for r in s["resources"]), "registered")
            config.write_text(config.read_text().replace(card, ""))
            status = self.await_status(daemon, lambda s: len(s["resources"]) == 1, "removed")
            self.assertEqual(status["transitions"], [])

    def test_returns_304_if_unchanged(self):
        with Daemon(self.config(resource("example.com/seat", "count = 3")),
                    self.kubelet_dir) as daemon:
            self.await_status(daemon, lambda s: s["resources"] and s["resources"][0]["devices"],
                              "scanned")
            connection = http.client.HTTPConnection(daemon.address(), timeout=support.PATIENCE)
            self.addCleanup(connection.close)

            def ask(tag):
                connection.request("GET", "/api/v1/status", headers={"If-None-Match": tag})
                response = connection.getresponse()
                return response.status, response.headers["ETag"], response.read()

            cut = re.compile(rb'"generated_at":"[^"]*"')
            tag = None

            def is_unchanged():
                nonlocal tag
                status, tag, first = ask("")
                again, second = ask(tag), ask("")[2]
                # Without the time of the response, an unchanged status has the same bytes.
                return status == 200 and again == (304, tag, b"") and cut.sub(b"", first) == cut.sub(b"", second)

            # Parts of the daemon may still be starting.
            self.await_true(is_unchanged, "an unchanged status")
            with Kubelet(self.kubelet_dir) as kubelet:
                kubelet.wait_listed("example.com/seat")
                self.await_true(lambda: ask(tag)[0] == 200, "a new status")


class Schema(support.TestCase):
    """The checker rejects invalid values."""

    GOOD = {"version": "", "revision": "", "node": "", "generated_at": "2026-01-02T03:04:05.678Z",
            "config": {"path": "", "successful": True, "reason": "", "loaded_at": None,
                       "read_at": None, "diagnostics": [], "diagnostics_left_out": 0},
            "kubelet": {"up": True, "up_changed_at": "2026-01-02T03:04:05.678Z", "socket": "",
                        "restarts": 0, "pod_resources_up": None},
            "dra": {"driver": "patchbay.dev", "registered": True, "registration_error": "",
                    "api_server": {"url": "", "up": False, "error": ""}, "dropped_fields": ["taints"],
                    "claims": [{"uid": "", "namespace": "", "name": "", "devices": [
                        {"resource": "", "device": "", "request": "", "admin_access": False}]}]},
            "resources": [], "hidden_resources": [], "transitions": []}

    def test_rejects_invalid_values(self):
        self.assertEqual(schema.problems(SCHEMA, self.GOOD), [])
        for path, bad in ((["version"], 1), (["generated_at"], "yesterday"), (["new"], 1),
                          (["kubelet", "restarts"], -1), (["kubelet", "restarts"], True),
                          (["kubelet", "up"], None), (["dra", "claims"], [{}]),
                          (["dra", "api_server"], ""), (["config", "diagnostics"], [{}]),
                          (["resources"], [None]), (["resources"], {})):
            status = copy.deepcopy(self.GOOD)
            target = status
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = bad
            self.assertNotEqual(schema.problems(SCHEMA, status), [], path)
        self.assertNotEqual(schema.problems(SCHEMA, {}), [])


if __name__ == "__main__":
    support.main()
