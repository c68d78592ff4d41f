"""Creates the /dev, /sys and /run/udev of another host in a directory, from a TOML file.

[dev]                                     # nodes without a sysfs device, and other files
"/dev/kvm"                = "char 10:232"
"/dev/nvidia{0..3}"       = "char 195:0+" # {0..3} or {a,b}; with + the minor numbers increase
"/dev/serial/by-id/modem" = "link ../../ttyUSB0"
"/opt/tools/version"      = "file 1.0"
"/usr/local/bin/tool"     = "program echo 1.0"   # a shell script
"/var/lib/empty"          = "dir"

[below]                                   # names for the beginnings of paths in /sys/devices
usb1 = "pci0000:00/0000:00:14.0/usb1"

[sys]                                     # devices, parents before their children
"usb1/1-2"            = { usb = "0403:6001 A9007YHT", at = "001/004" }
"usb1/1-2/1-2:1.0"    = { interface = "00", driver = "cdc_acm" }
"usb1/1-2/1-2:1.0/tty/ttyACM0" = { subsystem = "tty", number = "166:0" }

A device has a `subsystem` ("class/gpio" for the class, where a bus has the same name) and perhaps a
`driver`, a `devtype`, a `number` with a `node` (as in DEVNAME; else the name of the device), an
`ifindex`, `attributes` (a value that begins with "-> " is a link), `uevent` (more of what the kernel
says), `udev` (properties in its database) and `links` (that udev makes below /dev; the first of
several devices that request a link has it). In short: `usb`, vendor, product and perhaps a serial
number, with the place below /dev/bus/usb that it is `at`; `interface`, of a USB device; `pci`, vendor
and device.
"""

import itertools
import os
import pathlib
import re
import stat
import tomllib

# The others are classes; sysfs keeps the devices of these elsewhere.
BUSES = {"acpi", "amba", "cec", "gpio", "hid", "i2c", "iio", "media", "mmc", "pci", "platform", "scsi", "sdio", "serio",
         "spi", "usb", "usb-serial", "vchiq-bus", "virtio"}
KEYS = {"subsystem", "driver", "devtype", "number", "node", "ifindex", "attributes", "uevent",
        "udev", "links", "usb", "at", "interface", "pci"}


def make(tree_file, root):
    """Creates the host of the file in `root`. Returns the other keys of the file."""
    document = tomllib.loads(pathlib.Path(tree_file).read_text())
    tree = _Tree(pathlib.Path(root))
    for pattern, what in document.pop("dev", {}).items():
        tree.add_all(pattern, what)
    below = document.pop("below", {})
    for path, device in document.pop("sys", {}).items():
        first, _, rest = path.partition("/")
        tree.add_device(f"/sys/devices/{below.get(first, first)}/{rest}".rstrip("/"), device)
    if (tree.root / "proc/1/net/route").exists():
        interfaces = sorted((tree.root / "sys/class/net").glob("*"))
        tree.file("/proc/1/net/dev", "".join(f"{interface.name:>6}: 0 0 0 0\n" for interface in interfaces))
    return document


def move_interface(name, root, to):
    """Moves a network interface from the /sys of one host to that of another, like a move between network
    namespaces."""
    link = root / "sys/class/net" / name
    for path in (link.resolve(), link):
        there = to / path.relative_to(root)
        there.parent.mkdir(parents=True, exist_ok=True)
        path.rename(there)


def _expand(pattern):
    """The paths of a pattern with {a,b} and {0..9}."""
    parts = []
    for text, choice in re.findall(r"([^{]+)|\{([^}]*)\}", pattern):
        numbers = re.fullmatch(r"(\d+)\.\.(\d+)", choice)
        if numbers:
            parts.append([str(n) for n in range(int(numbers[1]), int(numbers[2]) + 1)])
        else:
            parts.append([text] if text else choice.split(","))
    return ["".join(choice) for choice in itertools.product(*parts)]


class _Tree:
    def __init__(self, root):
        self.root = root
        for directory in ("dev", "run/udev/data", "sys/bus", "sys/class", "sys/devices"):
            (root / directory).mkdir(parents=True)

    def place(self, path):
        """Returns the path on this host for an absolute path of that host, and creates its directory."""
        local = self.root / path.lstrip("/")
        local.parent.mkdir(parents=True, exist_ok=True)
        return local

    def file(self, path, text):
        self.place(path).write_text(text)

    def link(self, path, target):
        self.place(path).symlink_to(target)

    def link_to(self, path, target):
        """Creates a relative link to another absolute path, like those of sysfs."""
        self.link(path, os.path.relpath(target, os.path.dirname(path)))

    def node(self, path, kind, number):
        major, minor = map(int, number.split(":"))
        mode = stat.S_IFBLK if kind == "block" else stat.S_IFCHR
        os.mknod(self.place(path), mode | 0o660, os.makedev(major, minor))

    def add_all(self, pattern, what):
        kind, _, rest = what.partition(" ")
        for count, path in enumerate(_expand(pattern)):
            if kind in ("char", "block"):
                major, minor = rest.rstrip("+").split(":")
                self.node(path, kind, f"{major}:{int(minor) + count * rest.endswith('+')}")
            elif kind == "link":
                self.link(path, rest)
            elif kind == "file":
                self.file(path, rest)
            elif kind == "program":
                self.file(path, f"#!/bin/sh\n{rest}\n")
                self.place(path).chmod(0o755)
            elif kind == "dir":
                self.place(path).mkdir()
            else:
                raise ValueError(f"{path}: there is no kind {kind}")

    def add_scsi_ancestors(self, path):
        """Adds the ports, hosts and targets above a SCSI device, whose names have numbers that the kernel counts."""
        for above in re.finditer(r"/(?:ata\d+|host\d+|target\d+:\d+:\d+)(?=/)", path):
            if not self.place(path[:above.end()] + "/uevent").exists():
                self.file(path[:above.end()] + "/uevent", "")

    def add_device(self, path, device):
        if not device.keys() <= KEYS:
            raise ValueError(f"{path}: unknown keys {device.keys() - KEYS}")
        device = _in_full(device)
        self.add_scsi_ancestors(path)
        name = os.path.basename(path)
        number = device.get("number")
        node = device.get("node", name.replace("!", "/") if number else None)
        uevent = {"MAJOR": number and number.split(":")[0],
                  "MINOR": number and number.split(":")[1],
                  "DEVNAME": node, "DEVTYPE": device.get("devtype"),
                  "IFINDEX": device.get("ifindex"), "DRIVER": device.get("driver"),
                  **device.get("uevent", {})}
        self.file(f"{path}/uevent", "".join(f"{k}={v}\n" for k, v in uevent.items() if v))
        for key, value in device.get("attributes", {}).items():
            if value.startswith("-> "):
                self.link(f"{path}/{key}", value[3:])
            else:
                self.file(f"{path}/{key}", value + "\n")
        if "ifindex" in device:
            self.file(f"{path}/ifindex", device["ifindex"] + "\n")
        self._add_to_subsystem(path, name, device)
        kind = "block" if device["subsystem"] == "block" else "char"
        if number:
            self.file(f"{path}/dev", number + "\n")
            self.link_to(f"/sys/dev/{kind}/{number}", path)
            self.node(f"/dev/{node}", kind, number)
        links = device.get("links", [])
        entries = [f"S:{link}" for link in links]
        entries += [f"E:{k}={v}" for k, v in device.get("udev", {}).items()]
        if entries:
            subsystem = device["subsystem"].removeprefix("class/")
            key = (f"{kind[0]}{number}" if number else
                   f"n{device['ifindex']}" if "ifindex" in device else f"+{subsystem}:{name}")
            text = "".join(f"{entry}\n" for entry in ["I:4711", *entries, "V:1"])
            self.file(f"/run/udev/data/{key}", text)
        for link in links:
            requests = "/run/udev/links/" + link.replace("\\", r"\x5c").replace("/", r"\x2f")
            if not self.place(requests).is_dir():
                self.link_to(f"/dev/{link}", f"/dev/{node}")
            self.link(f"{requests}/{key}", f"0:/dev/{node}")

    def _add_to_subsystem(self, path, name, device):
        subsystem = device["subsystem"]
        is_bus = subsystem in BUSES
        subsystem = subsystem.removeprefix("class/")
        home = f"/sys/bus/{subsystem}" if is_bus else f"/sys/class/{subsystem}"
        self.link_to(f"{path}/subsystem", home)
        self.link_to(f"{home}/devices/{name}" if is_bus else f"{home}/{name}", path)
        if "driver" in device:
            self.link_to(f"{path}/driver", f"/sys/bus/{subsystem}/drivers/{device['driver']}")


def _in_full(device):
    """Expands the short forms; explicit keys have precedence."""
    short = {}
    if "usb" in device:
        numbers, _, serial = device["usb"].partition(" ")
        vendor, product = numbers.split(":")
        bus, address = map(int, device["at"].split("/"))
        short = {"subsystem": "usb", "devtype": "usb_device", "driver": "usb",
                 "number": f"189:{(bus - 1) * 128 + address - 1}",
                 "node": f"bus/usb/{device['at']}",
                 "attributes": {"idVendor": vendor, "idProduct": product}}
        if serial:
            short["attributes"]["serial"] = serial
    elif "pci" in device:
        vendor, number = device["pci"].split(":")
        short = {"subsystem": "pci",
                 "attributes": {"vendor": f"0x{vendor}", "device": f"0x{number}"}}
    elif "interface" in device:
        short = {"subsystem": "usb", "devtype": "usb_interface",
                 "attributes": {"bInterfaceNumber": device["interface"]}}
    attributes = short.get("attributes", {}) | device.get("attributes", {})
    return short | device | {"attributes": attributes}
