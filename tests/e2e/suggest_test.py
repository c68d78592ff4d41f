"""Runs `suggest` on other hosts, and tests that what it prints finds exactly the devices that it names.

The hosts are those of the examples, suggest/NAME.toml, machines whose output is suggest/NAME.golden, and random ones.

    python3 suggest_test.py --write    updates the golden files; review the diff
"""

import difflib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tomllib
import unittest

import golden
import host_tree
import random_host
from support import PATCHBAY, SOURCE, environment, run, skip_unless_programs

HERE = SOURCE / "tests/e2e"
MACHINES = sorted((HERE / "suggest").glob("*.toml"))
HOSTS = MACHINES + sorted((HERE / "examples").glob("*.toml"))
NOTHING = "this host has no device that containers use\n"
IS_SHARED = "Nothing that stays"
MOST_ENTRIES = 100  # of a file
RANDOM_HOSTS = range(8)  # their seeds
# A pod with the host's /dev, /sys and /run/udev, a ConfigMap, and processes and interfaces of its own.
POD = ["unshare", "-m", "-n", "-p", "-f", "--mount-proc", "sh", "-ec", """
mount --bind "$1/sys" /sys
mount --bind "$1/run" /run
mount -t tmpfs etc /etc
if [ "$2" ]; then mkdir /etc/patchbay; mount --bind "$2" /etc/patchbay; fi
mount --bind "$1/dev" /dev
"$PATCHBAY" suggest
""", "sh"]

# Names with numbers that the kernel gives in the order in which it finds devices.
COUNTED = re.compile(r"\b(tty(?:USB|ACM)|video|v4l-subdev|media|event|mouse|js|input|hidraw|renderD|"
                     r"controlC|[pmh][a-zA-Z]*C(?=\d+D)|card|gpiochip|uverbs|tpm|tpmrm|sr|sg|host|target|ata|spidev|"
                     r"spi|i2c-|apex_|cec|accel|lp|cdc-wdm)(\d+)(?![\da-z])")


def without_comments(toml):
    """The tables of a file, in any order."""
    text = re.sub(r"(?m)^ *#.*\n", "", uncommented(toml))
    return sorted(table.strip("\n") for table in re.split(r"\n\n", text))


def uncommented(toml):
    """The file with the devices that are comments."""
    return re.sub(r"(?m)^#( (?: *(?:\[|[A-Za-z_]+ = )|  +#).*|)$", lambda line: line[1].removeprefix(" "), toml)


class Suggest(golden.OnAnotherHost):
    def suggest(self, root):
        ran = run("suggest", "--host-root", str(root))
        if ran.returncode:
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
        return ran.stdout

    def found(self, toml, root):
        """The devices of a valid file by the names of their resources."""
        config = self.config(toml)
        checked = run("check", "--strict", "-c", str(config))
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)
        document = self.devices(config, root)
        self.assertEqual([r["rejected"] for r in document["resources"] if r["rejected"]], [])
        return {r["name"]: r["devices"] for r in document["resources"]}

    def assert_exact(self, toml, root):
        """Asserts that each match finds one device, with the nodes of its comment."""
        found, toml = self.found(toml, root), re.sub(r"(?m)^#.*\n", "", toml)
        resources = tomllib.loads(toml).get("resource", [])
        for resource, text in zip(resources, re.split(r"(?m)^\[\[resource\]\]$", toml)[1:], strict=True):
            devices = found[resource["name"]]
            matches = text.split("\n\n")[1:]
            if "regex" in resource["match"][0]:
                continue
            self.assertEqual(len(devices), len(resource["match"]), text)
            if "replicas" in resource or "/vfio" in resource["name"]:
                continue
            named = re.findall(r"\(((?:/dev/[^ ,]+(?:, )?)+)\)", re.sub(r"\n *# ", " ", text))
            self.assertEqual(sorted(sorted(names.split(", ")) for names in named),
                             sorted(sorted(d["paths"]) for d in devices if d["paths"]), matches)

    def test_readme_shows_output_of_a_machine(self):
        shown = re.search(r"```text\n(\[\[resource\]\].*?)…\n```", (SOURCE / "README.md").read_text(), re.S)[1]
        self.assertIn(shown, (HERE / "suggest/robot.golden").read_text())

    def test_finds_exactly_what_it_names(self):
        for host in HOSTS:
            with self.subTest(host=str(host.relative_to(HERE))):
                root, _ = self.host(host)
                toml = self.suggest(root)
                if re.search(r"(?m)^\[\[resource\]\]$", toml):
                    self.assert_exact(toml, root)
                if toml and IS_SHARED not in toml:
                    self.assert_exact(uncommented(toml), root)
                shutil.rmtree(root)

    def test_stays_the_same_when_the_kernel_counts_differently(self):
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                text = COUNTED.sub(lambda name: f"{name[1]}{int(name[2]) + 95}", host.read_text())
                later = self.dir / f"{host.stem}-later.toml"
                later.write_text(text)
                self.assertNotEqual(text, host.read_text())
                later_root, _ = self.host(later)
                suggested, again = self.suggest(root), self.suggest(later_root)
                self.assertEqual(without_comments(suggested), without_comments(again))
                ids = [{name: sorted(d["id"] for d in devices) for name, devices in
                        self.found(uncommented(toml), at).items()}
                       for toml, at in ((suggested, root), (again, later_root))]
                self.assertEqual(ids[0], ids[1])

    def booted(self, seed, boot):
        """The root of a random host, its suggestions, and the number in its file of each device with a node."""
        file = self.dir / f"random-{seed}-{boot}.toml"
        file.write_text(random_host.text(seed, boot))
        root, _ = self.host(file)
        devices = tomllib.loads(file.read_text())["sys"].items()
        nodes = {"/dev/" + device.get("node", f"bus/usb/{device['at']}" if "at" in device else path.rpartition("/")[2]):
                 number for number, (path, device) in enumerate(devices)}
        return root, self.suggest(root), nodes

    def test_random_hosts_keep_their_devices_and_ids_after_another_boot(self):
        for seed in RANDOM_HOSTS:
            with self.subTest(seed=seed):
                boots = [self.booted(seed, boot) for boot in range(2)]
                self.assertTrue(boots[0][1])
                self.assertEqual(*(without_comments(toml) for _, toml, _ in boots))
                ids = []
                for root, toml, nodes in boots:
                    self.assert_exact(toml, root)
                    if IS_SHARED not in toml:
                        self.assert_exact(uncommented(toml), root)
                    ids.append({(name, device["id"], *sorted(nodes[path] for path in device["paths"]))
                                for name, devices in self.found(toml, root).items() for device in devices})
                    self.assert_exact_entries(self.asked(root, *self.nodes(root)[0]), root)
                    shutil.rmtree(root)
                self.assertEqual(*ids)

    def asked(self, root, *words):
        """The suggestions for words that name devices."""
        ran = run("suggest", "--host-root", str(root), "-o", "json", *words)
        self.assertEqual((ran.returncode, re.sub(r"\d+ devices request the link .*\n", "", ran.stderr)), (0, ""), words)
        suggestions = json.loads(ran.stdout)
        self.assertTrue(suggestions, words)
        return suggestions

    def listings(self, suggestions, root):
        """The nodes of the device that each entry finds alone; the path of a disk that is mounted."""
        listings = []
        for start in range(0, len(suggestions), MOST_ENTRIES):
            entries = [re.sub(r'(?m)^name = ".*', f'name = "example.com/n{number}"', uncommented(one["entry"]))
                       for number, one in enumerate(suggestions[start:start + MOST_ENTRIES], start)]
            config = self.config("\n".join(entries))
            checked = run("check", "--strict", "-c", str(config))
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)
            for resource, entry in zip(self.devices(config, root)["resources"], entries, strict=True):
                rejected = [r for r in resource["rejected"] if r["reason"].startswith("mounted")]
                self.assertEqual(resource["rejected"], rejected, entry)
                found = [sorted(device["paths"]) for device in resource["devices"]]
                found += [[r["path"]] for r in rejected]
                self.assertEqual(len(found), 1, f"{entry}\n{found}")
                listings.append(found[0])
        return listings

    def assert_exact_entries(self, suggestions, root):
        suggestions = list({one["entry"]: one for one in suggestions}.values())
        for one, listed in zip(suggestions, self.listings(suggestions, root), strict=True):
            if one["kind"] != "vfio":
                self.assertEqual(listed, sorted(path for path in one["devices"] if path.startswith("/dev/")),
                                 one["entry"])

    def nodes(self, root):
        """The device nodes of a host with their numbers, and the links to each."""
        nodes, links = {}, {}
        for directory, _, names in os.walk(f"{root}/dev"):
            for name in names:
                path = pathlib.Path(directory, name)
                info = path.lstat()
                on_host = "/" + str(path.relative_to(root))
                if stat.S_ISLNK(info.st_mode):
                    links.setdefault(os.path.realpath(path).removeprefix(str(root)), []).append(on_host)
                elif stat.S_ISCHR(info.st_mode) or stat.S_ISBLK(info.st_mode):
                    kind = "block" if stat.S_ISBLK(info.st_mode) else "char"
                    nodes[on_host] = f"{kind}/{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}"
        return nodes, links

    def test_entry_of_a_node_finds_exactly_its_device(self):
        for host in HOSTS:
            with self.subTest(host=str(host.relative_to(HERE))):
                root, _ = self.host(host)
                nodes, links = self.nodes(root)
                if not nodes:
                    continue
                suggestions = self.asked(root, *nodes)
                if host in MACHINES:
                    suggestions = [one for node in nodes for one in self.asked(root, node)]
                    self.assertEqual(len(suggestions), len(nodes))
                self.assert_exact_entries(suggestions, root)
                entries = {node: one["entry"] for one in suggestions for node in one["devices"]}
                self.assertEqual(set(nodes) - set(entries), set())
                words = [link for node in links if node in nodes for link in links[node]]
                words += [node.removeprefix("/dev/") for node in nodes]
                for node, number in nodes.items():
                    device = pathlib.Path(f"{root}/sys/dev/{number}")
                    if device.exists() and host in MACHINES and "/bus/usb/" not in node:
                        words.append("/" + str(device.resolve().relative_to(root)))
                for node in {node for one in self.asked(root, *words) for node in one["devices"]}:
                    entries.pop(node, None)
                self.assertEqual([node for node in entries if node in nodes], [])
                shutil.rmtree(root)

    def test_entries_of_ids_ports_addresses_and_names_find_exactly_their_devices(self):
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                words = set(os.listdir(f"{root}/sys/class/net")) if os.path.exists(f"{root}/sys/class/net") else set()
                for bus, vendor, product in (("usb", "idVendor", "idProduct"), ("pci", "vendor", "device")):
                    for device in pathlib.Path(f"{root}/sys/bus/{bus}/devices").glob("*"):
                        if (device / vendor).exists():
                            words |= {device.name, device.name.removeprefix("0000:"),
                                      f"/sys/bus/{bus}/devices/{device.name}",
                                      ":".join((device / file).read_text().strip().removeprefix("0x")
                                               for file in (vendor, product)).upper()}
                self.assertTrue(words)
                words = sorted(word for word in words if word.isprintable() and "[" not in word)
                suggestions = [one for word in words for one in self.asked(root, word)]
                self.assert_exact_entries(suggestions, root)

    def test_entry_of_a_node_finds_it_when_the_kernel_counts_differently(self):
        def counted(text):
            return COUNTED.sub(lambda name: f"{name[1]}{int(name[2]) + 95}", text)
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                later = self.dir / f"{host.stem}-later.toml"
                later.write_text(counted(host.read_text()))
                later_root, _ = self.host(later)
                kept = [one for one in self.asked(root, *self.nodes(root)[0])
                        if "check" not in one["identity"] and "number" not in one["identity"].split()]
                self.assertTrue(kept)
                for one, listed in zip(kept, self.listings(kept, later_root), strict=True):
                    if one["kind"] == "vfio":  # finds other nodes of its functions as well
                        continue
                    self.assertEqual(listed, sorted(counted(path) for path in one["devices"]), one["entry"])

    def test_word_that_names_no_device_is_an_error_with_similar_devices(self):
        root, _ = self.host(HERE / "suggest/workstation.toml")
        for word, similar in (("/dev/video7", "/dev/video0, /dev/video1"), ("046d:0893", "046d:0892"),
                              ("enp7s0", "enp6s0"), ("0000:01:00.7", "0000:01:00.0, 0000:01:00.1"), ("/dev/snd", ""),
                              ("/proc/swaps", ""), ("x\x1b[2J\n", ""), ("*", "")):
            ran = run("suggest", "--host-root", root, word)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("is not a device of this host", ran.stderr)
            self.assertIn(f"similar: {similar}" if similar else "device of this host", ran.stderr)
            self.assertIn("name a device node", ran.stderr)
            self.assertNotIn("\x1b", ran.stderr)

    def test_entries_are_valid_in_both_apis_also_behind_many_buses(self):
        file = self.dir / "nested.toml"
        above, devices = "platform/soc@0/30800000.bus/30a20000.i2c", {}
        for number in range(1, 9):  # multiplexers behind each other
            above += f"/i2c-{number}"
            devices[above] = {"subsystem": "i2c"}
            devices[f"{above}/i2c-dev/i2c-{number}"] = {"subsystem": "i2c-dev", "number": f"89:{number}"}
        devices["platform/soc@0/30800000.bus/30820000.spi/spi_master/spi1"] = {"subsystem": "spi_master"}
        for select in range(2):
            above = f"platform/soc@0/30800000.bus/30820000.spi/spi_master/spi1/spi1.{select}"
            devices[above] = {"subsystem": "spi"}
            devices[f"{above}/spidev/spidev1.{select}"] = {"subsystem": "spidev", "number": f"153:{select}"}
        usb = "pci0000:00/0000:00:14.0/usb1"
        devices |= {"pci0000:00/0000:00:14.0": {"pci": "8086:a36d"}, usb: {"usb": "1d6b:0002", "at": "001/001"}}
        for number, (serial, vendor) in enumerate((("S1T2" * 25, "0403"), ("", "10c4"))):
            port = usb
            for hub in range(1, 7):  # the most that USB has
                port += f"/1-{number + 1}{'.1' * (hub - 1)}"
                devices[port] = {"usb": "05e3:0610" if hub < 6 else f"{vendor}:6010 {serial}".strip(),
                                 "at": f"001/0{number + 1}{hub}"}
            for interface in range(2):
                name = f"ttyUSB{number * 2 + interface}"
                devices[f"{port}/{port.rpartition('/')[2]}:1.{interface}"] = {"interface": f"0{interface}"}
                devices[f"{port}/{port.rpartition('/')[2]}:1.{interface}/{name}/tty/{name}"] = {
                    "subsystem": "tty", "number": f"188:{number * 2 + interface}"}
        file.write_text("[sys]\n" + "".join(f'"{path}" = {random_host.inline(device)}\n'
                                            for path, device in devices.items()))
        for host in (file, *MACHINES):
            root, _ = self.host(host)
            entries = self.suggest(root)
            entries = entries if IS_SHARED in entries else uncommented(entries)
            listed = []
            for api in ("device-plugin", "dra"):
                with self.subTest(host=host.name, api=api):
                    found = [d for devices in self.found(f'[daemon]\napi = "{api}"\n\n{entries}', root).values()
                             for d in devices]
                    listed.append([(d["id"], d["paths"]) for d in found])
                    for device in found:
                        self.assertLessEqual(len(device["id"]), 63)
                        if api == "dra":
                            self.assertRegex(device["slice_name"], r"\A(?=.{1,63}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z")
                            self.assertLessEqual(max(len(str(v)) for v in device["attributes"].values()), 64)
            self.assertEqual(*listed)
            if host == file:
                self.assertEqual(len(listed[0]), 8 + 2 + 4, entries)
            shutil.rmtree(root)

    def test_served_devices_are_left_out_or_comments(self):
        root, _ = self.host(HERE / "suggest/workstation.toml")
        config = self.config(re.sub(r"example\.com", "lab.example.com", uncommented(self.suggest(root))))
        options = ("--host-root", root, "--config", str(config))
        served = run("suggest", *options)
        self.assertEqual(served.returncode, 0, served.stderr)
        self.assertIn("# already served by lab.example.com/sound: 3 devices\n", served.stdout)
        self.assertNotIn("[[resource]]", served.stdout)
        camera = run("suggest", *options, "/dev/video0").stdout
        self.assertIn("because lab.example.com/camera already serves it", " ".join(camera.split()).replace("# ", ""))
        self.assertEqual(re.sub(r"(?m)^#.*\n", "", camera).strip(), "")
        config.write_text("[[resource]]\nname = 1\n")
        broken = run("suggest", *options)
        self.assertEqual((broken.returncode, broken.stdout), (1, ""))
        self.assertIn("error[", broken.stderr)

    def suggest_in_pod(self, root, config=""):
        return subprocess.run([*POD, str(root), str(config)], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env=environment(PATCHBAY=PATCHBAY))

    def test_pod_leaves_out_what_its_configuration_has_and_no_interface_is_offered(self):
        skip_unless_programs("unshare")
        tried = subprocess.run([*POD[:POD.index("sh")], "mount", "-t", "tmpfs", "etc", "/etc"], capture_output=True,
                               text=True)
        if tried.returncode:
            raise unittest.SkipTest(f"a pod cannot be imitated: {tried.stderr.strip()}")
        root, _ = self.host(HERE / "suggest/serial-gateway.toml")
        without = self.suggest_in_pod(root)
        self.assertEqual((without.returncode, without.stderr.count("error")), (0, 0), without.stderr)
        # The routes of the pod are not those of the host, whose interfaces are not in its namespace.
        self.assertNotIn("nic", str(sorted(self.found(without.stdout, root))))
        self.assertIn("enp2s0", without.stdout)
        uarts, serials = (re.search(rf'(?ms)^\[\[resource\]\]\nname = "example.com/{kind}".*?(?=^# |^\[\[|\Z)',
                                    uncommented(without.stdout))[0] for kind in ("uart", "serial"))
        config_map = self.dir / "config-map"
        (config_map / "..2026").mkdir(parents=True)
        (config_map / "..data").symlink_to("..2026")
        for name, text in (("a.toml", uarts), ("b.toml", "[[resource]]\nname = 1\n")):
            (config_map / "..2026" / name).write_text(text)
            (config_map / name).symlink_to(f"..data/{name}")
        broken = self.suggest_in_pod(root, config_map)
        self.assertEqual((broken.returncode, broken.stdout), (0, without.stdout))
        self.assertIn("/etc/patchbay/b.toml", broken.stderr)
        (config_map / "..2026/b.toml").write_text("")
        rest = self.suggest_in_pod(root, config_map)
        self.assertEqual((rest.returncode, rest.stderr), (0, without.stderr))
        self.assertIn("# already served by example.com/uart: 6 devices\n", rest.stdout)
        self.assertNotIn('name = "example.com/uart"', rest.stdout)
        self.assertIn(serials, uncommented(rest.stdout))

    def test_values_of_the_chart_contain_the_file(self):
        root, _ = self.host(HERE / "suggest/robot.toml")
        values = run("suggest", "--host-root", root, "-o", "helm").stdout
        head, config, rest = values.partition("config: |\n")
        self.assertEqual((head, config), ("# Values for the Helm chart of Patchbay.\n", "config: |\n"))
        self.assertEqual(re.sub(r"(?m)^  ", "", rest), self.suggest(root))

    def test_host_without_sys_or_udev_database_has_a_comment(self):
        for missing, text in (("sys", "/sys"), ("run/udev", "udev database")):
            root, _ = self.host(HERE / "suggest/workstation.toml")
            shutil.rmtree(f"{root}/{missing}")
            toml = self.suggest(root)
            self.assertIn(text, toml.partition("[[resource]]")[0])
            self.found(toml, root)
            shutil.rmtree(root)

    def test_empty_host_fails_in_each_format(self):
        (self.dir / "empty").mkdir()
        for output, text in (("toml", ""), ("helm", ""), ("json", "[]\n")):
            ran = run("suggest", "--host-root", str(self.dir / "empty"), "-o", output)
            self.assertEqual((ran.returncode, ran.stdout), (1, text))
            self.assertTrue(ran.stderr.endswith(NOTHING), ran.stderr)
            self.assertIn("/sys", ran.stderr)
            self.assertNotIn("example.com", ran.stderr)

    def test_bytes_that_are_not_text_stay_out_of_the_file(self):
        root, _ = self.host(HERE / "suggest/hostile.toml")
        for file in ("serial", "product", "manufacturer"):
            for path in pathlib.Path(root, "sys/devices").rglob(file):
                path.write_bytes(b"\xff\xfe\x00\"\n[[resource]]\n" + b"a" * 3000)
        toml = self.suggest(root)
        self.assertRegex(toml, r"\A[\n\x20-\x7e\u2026]*\Z")
        self.assert_exact(toml, root)

    def test_output_matches_golden_files(self):
        self.assertTrue(MACHINES)
        for host in MACHINES:
            with self.subTest(host=host.name):
                root, _ = self.host(host)
                toml = self.suggest(root)
                file = host.with_suffix(".golden")
                if golden.WRITE:
                    file.write_text(toml)
                difference = "".join(difflib.unified_diff(
                    file.read_text().splitlines(True) if file.exists() else [], toml.splitlines(True),
                    str(file.relative_to(SOURCE)), "now"))
                self.assertFalse(difference, "\nIf that is better, run it with --write")


if __name__ == "__main__":
    golden.main()
