"""The Debian package: its content, and that it is installed, runs, is upgraded, removed and purged, in a
Debian without systemd running and in one that it has booted.
"""

import functools
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

import debian_root
import documents_test
import support

BUILD = pathlib.Path(support.PATCHBAY).parents[1]
UNIT = "patchbay.service"
PAGE = support.SOURCE / "docs/package.md"
# Prepended to its commands: dpkg replaces apt, because all dependencies are installed.
APT = """set -e
apt() {
  case $1 in
    install) dpkg -i /root/patchbay.deb ;;
    remove) dpkg -r "$2" ;;
    purge) dpkg -P "$2" ;;
  esac
}
"""
RANDOM = support.resource("example.com/random", 'path = "/dev/urandom"')
ODD = support.resource("example.com/odd", 'path = "/dev/odd*"') + """
[resource.health]
open         = true
period       = "100ms"
before_first = "unhealthy"
"""


def run(*command, **more):
    """Runs a command on this machine. Returns its output; a failure includes it."""
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=600, **more)
    if ran.returncode != 0:
        raise AssertionError(f"{command} ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout


@functools.cache
def built():
    """The package of the existing build."""
    shutil.rmtree(BUILD / "package", ignore_errors=True)
    run("cpack", "--config", str(BUILD / "CPackConfig.cmake"), cwd=BUILD)
    deb, = (BUILD / "package").glob("*.deb")
    return deb


class PackageCase(support.TestCase):
    @classmethod
    def setUpClass(cls):
        support.skip_unless_device_nodes()
        support.skip_unless_programs("cpack", "dpkg-shlibdeps", "mmdebstrap", "unshare", "nsenter")
        cls.deb = built()

    def field(self, name):
        return run("dpkg-deb", "-f", str(self.deb), name).strip()

    def root(self):
        packages = [re.sub(r" .*", "", p) for p in self.field("Depends").split(", ")] + ["systemd"]
        root = debian_root.Root(self.dir / "r", debian_root.archive(BUILD, packages))
        # /tmp can be a private mount there, so it cannot be used for files of this machine.
        shutil.copy(self.deb, root.path / "root/patchbay.deb")
        return root

    def ok(self, ran):
        self.assertEqual(ran.returncode, 0, f"{ran.args}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def next_version(self, root):
        """The same package with a higher version, in `root`."""
        tree = self.dir / "next"
        run("dpkg-deb", "-R", str(self.deb), str(tree))
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1+1", control.read_text()))
        run("dpkg-deb", "-b", str(tree), str(root.path / "root/next.deb"))


class Package(PackageCase):
    def test_lintian_reports_no_errors(self):
        support.skip_unless_programs("lintian")
        print(run("lintian", "--allow-root", "--fail-on", "error", str(self.deb)))

    def test_package_contains_readable_files(self):
        listed = run("dpkg-deb", "-c", str(self.deb)).splitlines()
        paths = {line.split()[-1] for line in listed}
        for path in ("usr/bin/patchbay", "usr/bin/patchbay-try", "usr/share/man/man1/patchbay.1.gz", "etc/patchbay/patchbay.toml",
                     "usr/share/man/man5/patchbay.toml.5.gz", "usr/lib/systemd/system/" + UNIT,
                     "usr/share/bash-completion/completions/patchbay",
                     "usr/share/zsh/vendor-completions/_patchbay", "usr/share/patchbay/alerts.yaml",
                     "usr/share/fish/vendor_completions.d/patchbay.fish",
                     "usr/share/doc/patchbay/copyright", "usr/share/doc/patchbay/changelog.gz",
                     "usr/share/doc/patchbay/NOTICES.gz", "usr/share/doc/patchbay/sbom.cdx.json",
                     *(f"usr/share/doc/patchbay/examples/{p.name}" for p in support.EXAMPLES)):
            self.assertIn("./" + path, paths)
        for line in listed:
            self.assertRegex(line, r"^(-rw-r--r--|[-d]rwxr-xr-x) root/root ")

    def test_install_writes_only_below_the_prefix(self):
        prefix = self.dir / "prefix"
        run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
        self.assertIn(f"ExecStart={prefix}/bin/patchbay run",
                      (prefix / "lib/systemd/system" / UNIT).read_text())
        self.assertEqual(sorted(p.name for p in prefix.iterdir()), ["bin", "lib", "share"])

    def test_installs_upgrades_and_removes_in_a_chroot(self):
        root = self.root()
        before = root.files()
        self.ok(root.run("dpkg", "-i", "/root/patchbay.deb"))
        # Checks the unit with the systemd of this Debian.
        self.assertEqual(root.run("systemd-analyze", "verify", "--man=no", UNIT).stderr, "")
        exposure = self.ok(root.run("systemd-analyze", "security", "--offline=yes", "--threshold=25",
                                    "--no-pager", UNIT))
        print(exposure.splitlines()[-1])

        self.assertIn(self.field("Version").rsplit("-", 1)[0], self.ok(root.run("patchbay", "--version")))
        self.assertEqual(self.ok(root.run("patchbay", "check")), "ok: 1 resource\n")
        self.assertIn("patchbay.dev/null", self.ok(root.run("patchbay", "try", "--once")))

        config = root.path / "etc/patchbay/patchbay.toml"
        config.write_text(RANDOM)
        self.next_version(root)
        self.ok(root.run("dpkg", "-i", "/root/next.deb"))
        self.assertEqual(config.read_text(), RANDOM)

        self.ok(root.run("dpkg", "-r", "patchbay"))
        self.assertFalse((root.path / "usr/bin/patchbay").exists())
        self.assertEqual(config.read_text(), RANDOM)
        self.ok(root.run("dpkg", "-P", "patchbay"))
        self.assertEqual(root.files() - {"root/next.deb"}, before)


class Node(PackageCase):
    """The package on a node: a Debian that has booted, and a kubelet."""

    def setUp(self):
        super().setUp()
        self.root_of_node = self.root()
        self.kubelet_dir = self.root_of_node.path / "var/lib/kubelet/device-plugins"
        self.node = debian_root.Booted(self.root_of_node)
        self.node.__enter__()
        self.addCleanup(self.node.__exit__)

    def systemctl(self, *arguments):
        return self.ok(self.node.run("systemctl", *arguments))

    def install(self, deb="patchbay.deb"):
        self.ok(self.node.run("dpkg", "-i", "/root/" + deb))

    def show(self, name):
        return self.systemctl("show", "-P", name, UNIT).strip()

    def assert_runs(self, wanted="active"):
        self.assertEqual(self.show("ActiveState"), wanted, self.log())

    def log(self):
        return self.node.run("journalctl", "--no-pager", "-o", "cat", "-u", UNIT).stdout

    def configure(self, text):
        (self.root_of_node.path / "etc/patchbay/patchbay.toml").write_text(text)

    def plug_in(self, name, minor):
        """A device of the misc driver, which any user with permission can open."""
        self.ok(self.node.run("mknod", "/dev/" + name, "c", "10", minor))

    def test_service_starts_before_the_kubelet(self):
        self.install()
        self.assert_runs()
        self.assertEqual(self.show("UnitFileState"), "enabled")
        with support.Kubelet(self.kubelet_dir) as kubelet:
            view = kubelet.wait_listed("patchbay.dev/null")
            self.assertEqual(len(view["devices"]), 10)

            # After SIGKILL it is restarted, and the leftover sockets are removed.
            self.systemctl("kill", "-s", "KILL", UNIT)
            self.await_true(lambda: self.show("NRestarts") == "1", "the service restarted")
            kubelet.wait_listed("patchbay.dev/null", since=kubelet.mark())
            self.await_true(lambda: len(self.plugin_sockets()) == 1, "one socket remains")

            # The removal of a mounted directory causes no event; a scan detects it.
            self.configure('[daemon]\nrescan = "1s"\n' + RANDOM)
            self.systemctl("reload", UNIT)
            kubelet.wait_listed("example.com/random")

        # Like `kubeadm reset`, which removes the directory. The service creates its socket again whenever it is
        # removed, possibly between the removal of the files and that of the directory.
        self.await_true(lambda: subprocess.run(["rm", "-rf", str(self.kubelet_dir)], capture_output=True).returncode == 0,
                        "the directory is removed")
        self.await_true(lambda: self.show("NRestarts") == "2", "the service restarted")
        self.await_true(self.kubelet_dir.exists, "the directory exists again")
        with support.Kubelet(self.kubelet_dir) as kubelet:
            kubelet.wait_listed("example.com/random")

    def test_service_does_not_wait_for_a_slow_kubelet(self):
        """Like k3s, which is ready when it has joined its cluster; at boot both start at the same time."""
        unit = self.root_of_node.path / "etc/systemd/system/k3s.service"
        unit.write_text("[Service]\nType=notify\nTimeoutStartSec=0\nExecStart=sleep infinity\n")
        self.install()
        self.systemctl("stop", UNIT)
        self.systemctl("daemon-reload")
        self.systemctl("start", "--no-block", "k3s.service", UNIT)
        self.await_true(lambda: self.show("ActiveState") == "active", "it is started")
        self.assertEqual(self.systemctl("show", "-P", "ActiveState", "k3s.service").strip(), "activating")

    def test_opens_devices_only_with_a_drop_in(self):
        self.install()
        self.plug_in("odd0", "237")  # loop-control
        self.configure(ODD)
        with support.Kubelet(self.kubelet_dir) as kubelet:
            kubelet.wait_listed("example.com/odd")
            self.await_true(lambda: "Operation not permitted" in self.log(), "the probe has no permission")

            drop_in = self.root_of_node.path / f"etc/systemd/system/{UNIT}.d/devices.conf"
            drop_in.parent.mkdir()
            drop_in.write_text(documents_test.blocks(PAGE, "ini")[0].text)
            self.systemctl("daemon-reload")
            mark = kubelet.mark()
            self.systemctl("restart", UNIT)
            kubelet.wait_view("example.com/odd",
                              lambda v: set(support.health(v).values()) == {"Healthy"}, mark)
            # All mounts of devtmpfs share their content, so the read-only one shows it.
            self.plug_in("odd1", "229")  # fuse
            kubelet.wait_view("example.com/odd",
                              lambda v: support.health(v) == {"odd0": "Healthy", "odd1": "Healthy"}, mark)

    def test_serves_dra_with_a_drop_in(self):
        self.install()
        root = self.root_of_node.path
        for name in ("ca.crt", "token"):
            (root / "etc/patchbay" / name).write_text("")
        self.configure('[daemon.kubernetes]\nserver = "https://127.0.0.1:1"\nca = "/etc/patchbay/ca.crt"\n'
                       'token_file = "/etc/patchbay/token"\n'
                       + RANDOM.replace("[[resource]]", '[[resource]]\napi = "dra"', 1))
        drop_in = root / f"etc/systemd/system/{UNIT}.d/dra.conf"
        drop_in.parent.mkdir()
        drop_in.write_text(documents_test.blocks(PAGE, "ini")[1].text)
        registry = root / "var/lib/kubelet/plugins_registry"
        self.assertFalse(registry.exists())
        self.systemctl("daemon-reload")
        self.systemctl("restart", UNIT)
        self.await_true(lambda: (registry / "patchbay.dev-reg.sock").is_socket(), "the driver waits for the kubelet")
        self.assertTrue((root / "var/lib/kubelet/plugins/patchbay.dev/dra.sock").is_socket())
        self.ok(self.node.run("test", "-d", "/var/run/cdi"))

    def test_installs_the_program_for_interfaces_with_a_drop_in(self):
        self.install()
        root = self.root_of_node.path
        self.configure('[[resource]]\nname = "example.com/lan"\nmatch = [{udev = {subsystem = "net", driver = "none"}}]\n'
                       "[[resource.net_device]]\n")
        drop_in = root / f"etc/systemd/system/{UNIT}.d/net.conf"
        drop_in.parent.mkdir()
        drop_in.write_text(documents_test.blocks(PAGE, "ini")[3].text)
        self.systemctl("daemon-reload")
        self.systemctl("restart", UNIT)
        net = root / "var/lib/kubelet/plugins/patchbay.dev/net"
        self.await_true((net / "results").is_dir, "the directories exist")
        self.await_true((net / "patchbay-net").is_file, "the program is installed")
        self.assertEqual((net / "patchbay-net").stat().st_mode & 0o777, 0o755)

    def test_documented_commands_succeed(self):
        script = "".join(block.text for block in documents_test.blocks(PAGE, "sh"))
        script = re.sub(r"(?m)^(cmake|cpack) .*\n", "", script)  # how to build it
        said = self.ok(self.node.run("bash", "-c", APT + script))
        for part in ("active (running)", "ok: 1 resource", "configuration loaded"):
            self.assertIn(part, said)

    def test_service_is_upgraded_removed_and_purged(self):
        before = self.root_of_node.files()
        self.install()
        self.configure(RANDOM)
        self.next_version(self.root_of_node)
        process = self.show("MainPID")
        self.install("next.deb")
        self.assert_runs()
        self.assertNotEqual(self.show("MainPID"), process)
        self.assertEqual((self.root_of_node.path / "etc/patchbay/patchbay.toml").read_text(), RANDOM)

        # The settings of the administrator for the service remain.
        self.systemctl("disable", "--now", UNIT)
        self.install()
        self.assert_runs("inactive")
        self.assertEqual(self.show("UnitFileState"), "disabled")

        self.systemctl("enable", "--now", UNIT)
        with support.Kubelet(self.kubelet_dir) as kubelet:
            kubelet.wait_listed("example.com/random")
            self.ok(self.node.run("dpkg", "-r", "patchbay"))
            self.assertEqual(self.plugin_sockets(), [])
        self.assertEqual(self.show("LoadState"), "not-found")

        # A socket of a killed run, and one of Patchbay in a pod of this node.
        with socket.socket(socket.AF_UNIX) as dead, socket.socket(socket.AF_UNIX) as live:
            dead.bind(str(self.kubelet_dir / "patchbay-dead.sock"))
            live.bind(str(self.kubelet_dir / "patchbay-live.sock"))
            live.listen()
            dead.close()
            self.ok(self.node.run("dpkg", "-P", "patchbay"))
            self.assertEqual(self.plugin_sockets(), ["patchbay-live.sock"])
        shutil.rmtree(self.kubelet_dir.parent)
        self.assertEqual(self.root_of_node.files() - {"root/next.deb"}, before)


if __name__ == "__main__":
    support.main()
