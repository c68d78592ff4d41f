"""The configuration of a running `patchbay run` changes: a file, a directory, a ConfigMap's mount."""

import os
import pathlib
import signal
import time

import support
from support import Daemon, Kubelet, resource

NULL = resource("example.com/null", 'path = "/dev/null"')
SEAT = "example.com/seat"


def seats(count):
    return resource(SEAT, f"count = {count}")


class Reloading(support.TestCase):
    def begin(self, config, *more):
        kubelet = self.enterContext(Kubelet(self.kubelet_dir))
        daemon = self.enterContext(Daemon(config, self.kubelet_dir, *more))
        kubelet.wait_listed(SEAT)
        kubelet.wait_listed("example.com/null")
        self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
        self.null = kubelet.view("example.com/null")
        return kubelet, daemon

    def await_seats(self, kubelet, count):
        kubelet.wait_view(SEAT, lambda view: view["capacity"] == count)

    def expect_unchanged(self, kubelet):
        now = kubelet.view("example.com/null")
        for key in ("endpoint", "lists", "connections", "registrations"):
            self.assertEqual(now[key], self.null[key], key)

    def test_reloads_a_written_and_a_replaced_file(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        config.write_text(NULL + seats(2))
        self.await_seats(kubelet, 2)
        new = config.with_name(".new")
        new.write_text(NULL + seats(3))
        new.rename(config)
        self.await_seats(kubelet, 3)
        self.expect_unchanged(kubelet)
        self.assertEqual(daemon.end()[0], 0)

    def test_changes_the_level_of_the_log(self):
        def text(level, count):
            return f'[daemon]\nlog_level = "{level}"\n' + NULL + seats(count)

        def restart_kubelet():
            kubelet.ask("stop")
            mark = kubelet.mark()
            kubelet.ask("start")
            kubelet.wait_listed(SEAT, since=mark)

        config = pathlib.Path(self.config(text("info", 1)))
        kubelet, daemon = self.begin(config)
        restart_kubelet()
        self.assertNotIn(" debug ", daemon.err.text())
        config.write_text(text("debug", 2))
        self.await_seats(kubelet, 2)
        restart_kubelet()
        daemon.err.wait(" debug registration ")
        config.write_text(text("error", 3))
        self.await_seats(kubelet, 3)
        restart_kubelet()
        self.assertEqual(daemon.end()[0], 0)
        self.assertEqual(daemon.err.text().count("info kubelet restarted"), 2)  # not the third time

    def test_ignores_a_partially_written_file(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        text = NULL + seats(2)
        with open(config, "w") as file:
            file.write(text[:len(text) // 2])
            file.flush()
            # Another file in the directory, which is not part of the configuration.
            (config.parent / "notes").write_text("x")
            file.write(text[len(text) // 2:])
        self.await_seats(kubelet, 2)
        self.assertNotIn("config reload failed", daemon.err.text())
        self.expect_unchanged(kubelet)

    def test_waits_for_a_file_that_is_open_for_writing(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config, "--log-level", "debug")
        config.write_text(NULL + seats(2))  # read 100 ms later
        with open(config, "w") as file:
            file.write(NULL)  # valid by itself, without the seats
            file.flush()
            daemon.err.wait("configuration file is still open for writing")
            file.write(seats(3))
        self.await_seats(kubelet, 3)
        self.assertNotIn("resource removed", daemon.err.text())
        self.expect_unchanged(kubelet)

    def test_rejects_an_empty_file(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        config.write_text("")
        daemon.err.wait("the configuration has no resources; if that is intended, restart patchbay")
        self.assertIn("patchbay_config_last_reload_successful 0", daemon.get("/metrics")[1])
        config.write_text(NULL + seats(2))
        self.await_seats(kubelet, 2)
        self.expect_unchanged(kubelet)

    def test_reloads_a_swapped_configmap(self):
        mount = self.dir / "mount"
        mount.mkdir()

        def swap(generation, text):
            """Like the kubelet."""
            data = mount / f"..{generation}"
            data.mkdir()
            (data / "patchbay.toml").write_text(text)
            (mount / "..data_tmp").symlink_to(data.name)
            old = os.readlink(mount / "..data") if (mount / "..data").is_symlink() else None
            (mount / "..data_tmp").rename(mount / "..data")
            if old:
                (mount / old / "patchbay.toml").unlink()
                (mount / old).rmdir()

        swap(1, NULL + seats(1))
        (mount / "patchbay.toml").symlink_to("..data/patchbay.toml")
        etc = self.dir / "etc"
        etc.symlink_to(mount)
        for config in (etc / "patchbay.toml", etc):
            with self.subTest(config=config.name):
                swap(f"{config.name}-1", NULL + seats(1))
                kubelet, daemon = self.begin(config)
                swap(f"{config.name}-2", NULL + seats(2))
                self.await_seats(kubelet, 2)
                swap(f"{config.name}-3", NULL + seats(3))
                self.await_seats(kubelet, 3)
                self.expect_unchanged(kubelet)
                self.assertEqual(daemon.end()[0], 0)
                kubelet.ask("stop")

    def test_recovers_from_an_invalid_file(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        config.write_text(NULL + seats(2) + "color = 1\n")
        daemon.err.wait("config reload failed")
        self.assertIn("unknown-key", daemon.err.text())
        self.assertEqual(daemon.get("/readyz")[0], 200)
        self.assertIn("patchbay_config_last_reload_successful 0", daemon.get("/metrics")[1])
        config.write_text(NULL + seats(2))
        self.await_seats(kubelet, 2)
        self.await_true(
            lambda: "patchbay_config_last_reload_successful 1" in daemon.get("/metrics")[1],
            "the reload is counted")
        self.expect_unchanged(kubelet)

    def test_sighup_reloads(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        for count in range(1, 4):
            at, _ = daemon.err.wait("")
            daemon.send(signal.SIGHUP)
            self.await_true(
                lambda: daemon.err.text().count("configuration reloaded") >= count, "reloaded")
        self.expect_unchanged(kubelet)
        self.assertEqual(daemon.err.text().count("configuration reloaded"), 3)
        self.assertEqual(daemon.end()[0], 0)

    def test_stopped_kubelet_does_not_block_other_resources(self):
        # Like a stopped process: not even data that gRPC has written leaves the socket.
        def units(count):
            return (f'[[resource]]\nname = "example.com/units"\nreplicas = {count}\n'
                    f'[[resource.match]]\npath = "/dev/zero"\nid = "{"long-" * 8}"\n')

        config = pathlib.Path(self.config(NULL + seats(1) + units(10000)))
        kubelet, daemon = self.begin(config)
        kubelet.wait_listed("example.com/units")
        kubelet.send(signal.SIGSTOP)
        try:
            # Until the socket is full. There is one list per second.
            for number in (1, 2, 3):
                due = time.monotonic() + 1
                self.await_true(lambda: time.monotonic() > due, "a second has passed")
                config.write_text(NULL + seats(1) + units(10000 - number))
                self.await_true(
                    lambda: daemon.err.text().count("configuration reloaded") >= number, "reloaded")
            before = self.plugin_sockets()
            config.write_text(NULL + seats(1))
            self.await_true(lambda: len(set(before) & set(self.plugin_sockets())) == 2,
                            "the socket of the removed resource is removed")
            config.write_text(NULL + seats(1) + resource("example.com/other", "count = 1"))
            self.await_true(lambda: set(self.plugin_sockets()) - set(before),
                            "the new resource has a socket")
        finally:
            kubelet.send(signal.SIGCONT)
        kubelet.wait_listed("example.com/other")
        self.assertEqual(daemon.end()[0], 0)

    def test_flags_override_a_reloaded_file(self):
        config = pathlib.Path(self.config(NULL + seats(1)))
        kubelet, daemon = self.begin(config)
        config.write_text('[daemon]\nlisten = "127.0.0.1:1"\npod_resources = ""\n' + NULL +
                          seats(2))
        self.await_seats(kubelet, 2)
        _, line = daemon.err.wait("need a restart to take effect")
        self.assertIn("pod_resources", line)
        self.assertNotIn("listen", line)
        config.write_text('[daemon]\npod_resources = ""\n' + NULL + seats(3))
        self.await_seats(kubelet, 3)
        config.write_text('[daemon]\npod_resources = ""\n' + NULL + seats(4))
        self.await_seats(kubelet, 4)
        self.assertEqual(daemon.err.text().count("need a restart to take effect"), 1)
        self.expect_unchanged(kubelet)


class Waiting(support.TestCase):
    def test_exits_on_an_invalid_file_at_start(self):
        config = self.config("[[resource]]\n")
        with Daemon(config, self.kubelet_dir) as daemon:
            self.assertEqual(daemon.wait(), 1)
            self.assertIn("missing-key", daemon.err.text())

    def test_wait_for_config_waits_for_a_valid_file(self):
        config = pathlib.Path(self.config(""))
        config.unlink()
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(config, self.kubelet_dir, "--wait-for-config") as daemon:
            _, line = daemon.err.wait("waiting for a valid configuration")
            address = line.rsplit("address=", 1)[1].strip()
            self.assertEqual(support.get(address, "/healthz")[0], 200)
            status, body = support.get(address, "/readyz")
            self.assertEqual(status, 503)
            self.assertIn(str(config), body)
            self.assertIn("patchbay_config_last_reload_successful 0",
                          support.get(address, "/metrics")[1])
            config.write_text("nonsense")
            daemon.err.wait("configuration error")
            config.write_text(seats(2))
            kubelet.wait_view(SEAT, lambda view: view["capacity"] == 2)
            self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
            self.assertEqual(daemon.end()[0], 0)

    def test_wait_for_config_ends_with_a_file_without_resources(self):
        """As at the start, when such a file is valid."""
        config = pathlib.Path(self.config("nonsense"))
        with Kubelet(self.kubelet_dir) as kubelet, \
                Daemon(config, self.kubelet_dir, "--wait-for-config") as daemon:
            daemon.err.wait("waiting for a valid configuration")
            config.write_text("")
            daemon.err.wait("configuration has no resources")
            self.await_true(lambda: daemon.get("/readyz")[0] == 200, "ready")
            config.write_text(seats(2))
            kubelet.wait_view(SEAT, lambda view: view["capacity"] == 2)
            self.assertEqual(daemon.end()[0], 0)

    def test_stops_while_waiting_for_a_valid_file(self):
        with Daemon(self.config("x"), self.kubelet_dir, "--wait-for-config") as daemon:
            daemon.err.wait("waiting for a valid configuration")
            self.assertEqual(daemon.end()[0], 0)


if __name__ == "__main__":
    support.main()
