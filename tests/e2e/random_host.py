"""Random hosts for the tests of `suggest`, as text for host_tree.py.

A host has devices on USB, on PCI and on the board. Those of the same seed are the same machine: with another `boot` the
kernel finds them in another order, so that all its numbers change.
"""

import json
import random
import re

SERIALS = ("", "", "0001", "123456", "00000000", "SAME", "SAME", "A {x}*?[1] ", 'Q"\\#')
ADAPTERS = (("0403:6011", "ftdi_sio", 4), ("0403:6010", "ftdi_sio", 2), ("0403:6001", "ftdi_sio", 1),
            ("10c4:ea60", "cp210x", 1), ("1a86:7523", "ch341-uart", 1))
CARDS = {"serial": (1, 4), "can": (1, 2), "nic": (1, 4), "gpu": (1, 1), "disk": (1, 1), "npu": (1, 1), "vfio": (1, 2)}


class _Machine:
    """Collects devices by their place. A name of the kernel has a number in angle brackets, tty<USB 7>: the 7th of all,
    which numbers() replaces."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        self.devices = {}
        self.has_places = self.choose.random() < 0.8  # udev knows ID_PATH
        self.seen = 0

    def counted(self, counter):
        self.seen += 1
        return f"<{counter} {self.seen}>"

    def add(self, path, place="", **device):
        if place and self.has_places:
            device.setdefault("udev", {})["ID_PATH"] = place
        self.devices[path] = device
        return path

    # Devices of USB, at a port.

    def usb_adapter(self, port, place):
        numbers, driver, ports = self.choose.choice(ADAPTERS)
        device = self.usb(port, place, numbers)
        for number in range(ports):
            interface = f"{device}/{port}:1.{number}"
            self.add(interface, interface=f"{number:02x}", driver=driver)
            name = "ttyUSB" + self.counted("ttyUSB")
            self.add(f"{interface}/{name}", subsystem="usb-serial", driver=driver, attributes={"port_number": "0"})
            self.add(f"{interface}/{name}/tty/{name}", f"{place}:1.{number}", subsystem="tty", number="188:*")

    def usb_acm(self, port, place):
        device = self.usb(port, place, "2341:0043")
        self.add(f"{device}/{port}:1.0", interface="00", driver="cdc_acm")
        name = "ttyACM" + self.counted("ttyACM")
        self.add(f"{device}/{port}:1.0/tty/{name}", f"{place}:1.0", subsystem="tty", number="166:*")

    def usb_modem(self, port, place):
        device = self.usb(port, place, "1e0e:9001")
        for number in range(self.choose.randint(1, 4)):
            interface, name = f"{device}/{port}:1.{number}", "ttyUSB" + self.counted("ttyUSB")
            self.add(interface, interface=f"{number:02x}", driver="option")
            self.add(f"{interface}/{name}", subsystem="usb-serial", driver="option1")
            self.add(f"{interface}/{name}/tty/{name}", f"{place}:1.{number}", subsystem="tty", number="188:*")
        self.add(f"{device}/{port}:1.4", interface="04", driver="qmi_wwan")
        self.add(f"{device}/{port}:1.4/usbmisc/cdc-wdm{self.counted('cdc-wdm')}", subsystem="usbmisc", number="180:*")

    def usb_camera(self, port, place):
        device = self.usb(port, place, "046d:0825")
        self.add(f"{device}/{port}:1.0", interface="00", driver="uvcvideo")
        for index in range(self.choose.randint(1, 4)):
            name = "video" + self.counted("video")
            self.add(f"{device}/{port}:1.0/video4linux/{name}", f"{place}:1.0", subsystem="video4linux", number="81:*",
                     attributes={"name": "UVC Camera", "index": str(index)})

    def usb_sound(self, port, place):
        device = self.usb(port, place, "0d8c:0014")
        self.add(f"{device}/{port}:1.0", interface="00", driver="snd-usb-audio")
        self.sound(f"{device}/{port}:1.0", f"{place}:1.0")

    def sound(self, above, place):
        card = self.counted("sound")
        self.add(f"{above}/sound/card{card}", place, subsystem="sound")
        self.add(f"{above}/sound/card{card}/controlC{card}", place, subsystem="sound", number="116:*",
                 node=f"snd/controlC{card}")
        self.add(f"{above}/sound/card{card}/pcmC{card}D0p", subsystem="sound", number="116:*",
                 node=f"snd/pcmC{card}D0p")

    def usb_keys(self, port, place):
        device = self.usb(port, place, "1050:0407")
        for number in range(2):
            interface = f"{device}/{port}:1.{number}"
            self.add(interface, interface=f"{number:02x}", driver="usbhid",
                     attributes={"bInterfaceProtocol": self.choose.choice(("00", "01"))})
            hid = f"{interface}/0003:1050:0407.{self.counted('hid')}"
            self.add(hid, subsystem="hid", driver="hid-generic")
            self.add(f"{hid}/hidraw/hidraw{self.counted('hidraw')}", subsystem="hidraw", number="240:*")

    def usb_can(self, port, place):
        device = self.usb(port, place, "1d50:606f")
        self.add(f"{device}/{port}:1.0", interface="00", driver="gs_usb")
        for number in range(self.choose.randint(1, 2)):
            self.interface(f"{device}/{port}:1.0", f"{place}:1.0", "280", "can", number)

    def usb_radio(self, port, place):
        self.usb(port, place, "0bda:2838")

    def usb(self, port, place, numbers):
        serial = self.choose.choice(SERIALS + (f"S{self.choose.randrange(10**6)}", ) * 4)
        above = self.ports[port.rpartition(".")[0] or port.partition("-")[0]]
        self.ports[port] = f"{above}/{port}"
        at = f"{port.partition('-')[0]}/{self.counted('at')}"
        return self.add(self.ports[port], place, usb=f"{numbers} {serial}" if serial else numbers, at=at)

    # Devices of PCI, at an address.

    def pci_serial(self, path, place, count):
        for number in range(count):
            self.add(f"{path}/{place[4:]}:0/{place[4:]}:0.{number}/tty/ttyS{self.counted('ttyS')}", subsystem="tty",
                     number="4:*", attributes={"type": "4", "port": f"0x{0x3000 + number * 8:X}"})

    def pci_can(self, path, place, count):
        for number in range(count):
            self.interface(path, place, "280", "can", number)

    def pci_nic(self, path, place, count):
        for number in range(count):
            self.interface(path, place, "1", "eth", number)

    def interface(self, above, place, kind, counter, port):
        name = counter + self.counted(counter)
        self.add(f"{above}/net/{name}", place, subsystem="net", ifindex=self.counted("ifindex"),
                 attributes={"type": kind, "dev_port": str(port), "dev_id": "0x0"}, uevent={"INTERFACE": name})

    def pci_gpu(self, path, place, _):
        for name in ("card", "renderD"):
            counted = name + self.counted(name)
            self.add(f"{path}/drm/{counted}", place, subsystem="drm", number="226:*", node=f"dri/{counted}")
        self.sound(path, place)

    def pci_npu(self, path, place, _):
        name = "accel" + self.counted("accel")
        self.add(f"{path}/accel/{name}", place, subsystem="accel", number="261:*", node=f"accel/{name}")

    def pci_disk(self, path, place, _):
        controller = "nvme" + self.counted("nvme")
        self.add(f"{path}/nvme/{controller}", subsystem="nvme", number="241:*")
        disk = self.add(f"{path}/nvme/{controller}/{controller}n1", place, subsystem="block", devtype="disk",
                        number="259:*")
        if self.choose.random() < 0.7:
            self.devices[disk].setdefault("udev", {})["ID_SERIAL"] = f"Disk_{self.choose.randrange(10**6)}"

    def pci_vfio(self, path, place, _):
        pass

    # Devices of the board.

    def board(self, number):
        soc = f"platform/{number:x}000000"
        kind = self.choose.choice(("gpio", "i2c", "spi", "tpm", "uart"))
        if kind == "gpio":
            self.add(f"{soc}.gpio", subsystem="platform", driver="pinctrl")
            self.add(f"{soc}.gpio/gpiochip{self.counted('gpiochip')}", subsystem="gpio", number="254:*")
        elif kind == "i2c":
            self.add(f"{soc}.i2c", subsystem="platform", driver="i2c")
            bus = "i2c-" + self.counted("i2c")
            self.add(f"{soc}.i2c/{bus}", subsystem="i2c")
            self.add(f"{soc}.i2c/{bus}/i2c-dev/{bus}", subsystem="i2c-dev", number="89:*")
        elif kind == "spi":
            self.add(f"{soc}.spi", subsystem="platform", driver="spi")
            bus = self.counted("spi")
            self.add(f"{soc}.spi/spi_master/spi{bus}", subsystem="spi_master")
            for select in range(self.choose.randint(1, 2)):
                device = f"{soc}.spi/spi_master/spi{bus}/spi{bus}.{select}"
                self.add(device, subsystem="spi", driver="spidev")
                self.add(f"{device}/spidev/spidev{bus}.{select}", subsystem="spidev", number="153:*")
        elif kind == "tpm":
            self.add(f"{soc}.tpm", subsystem="platform", driver="tpm_tis")
            self.add(f"{soc}.tpm/tpmrm/tpmrm{self.counted('tpmrm')}", subsystem="tpmrm", number="253:*")
        else:
            self.add(f"{soc}.serial", subsystem="platform", driver="uart")
            self.add(f"{soc}.serial/{number:x}000000.serial:0/{number:x}000000.serial:0.0/tty/"
                     f"ttyS{self.counted('ttyS')}", subsystem="tty", number="4:*", attributes={"type": "4"})

    def fill(self, free, place, kinds):
        """Puts devices into free ports of a bus."""
        while free:
            port = free.pop()
            at = place + port.partition("-")[2]
            if self.choose.random() < 0.25 and port.count(".") < 2:
                self.usb(port, at, "05e3:0610")
                free += [f"{port}.{number}" for number in range(1, self.choose.randint(2, 5))]
            elif self.choose.random() < 0.5:
                # Several of one kind, which have to be distinguished.
                getattr(self, self.choose.choice(kinds[:1] * 3 + kinds))(port, at)

    def build(self):
        kinds = [name for name in dir(self) if name.startswith("usb_")]
        self.ports = {}
        for controller in range(self.choose.randint(1, 3)):
            address = f"0000:00:{0x14 + controller:02x}.0"
            if self.choose.random() < 0.7:
                place = f"pci-{address}"
                above = self.add(f"pci0000:00/{address}", place, pci="8086:a36d", driver="xhci_hcd")
            else:
                name = f"xhci-hcd.{self.counted('auto')}.auto"
                place = f"platform-{name}"
                self.add(f"platform/fc{controller}00000.usb", subsystem="platform", driver="dwc3")
                above = self.add(f"platform/fc{controller}00000.usb/{name}", subsystem="platform", driver="xhci-hcd")
            for product in ("0002", "0003"):  # USB 2, and USB 3 with the same numbers of ports
                bus = self.counted("bus")
                self.ports[bus] = f"{above}/usb{bus}"
                self.add(self.ports[bus], usb=f"1d6b:{product} {address}", at=f"{bus}/{self.counted('at')}")
                self.fill([f"{bus}-{port}" for port in range(1, 7)], f"{place}-usb-0:", kinds)
        for slot in range(self.choose.randint(0, 6)):
            kind = self.choose.choice(list(CARDS))
            for function in range(self.choose.choice((1, 1, 2))):
                address = f"0000:{slot + 1:02x}:00.{function}"
                path = self.add(f"pci0000:00/0000:00:1c.{slot}/{address}", f"pci-{address}",
                                pci="15b3:1017", driver="vfio-pci" if kind == "vfio" else "driver")
                getattr(self, f"pci_{kind}")(path, f"pci-{address}", self.choose.randint(*CARDS[kind]))
        for number in range(self.choose.randint(0, 5)):
            self.board(0xfe0 + number)


def text(seed, boot):
    """The machine of a seed, as its kernel counts it after one of its boots."""
    machine = _Machine(seed)
    machine.build()
    order = random.Random(f"{seed} {boot}")
    toml = ["[sys]"]
    minors = iter(order.sample(range(256), 256))
    for path, device in machine.devices.items():
        if device.get("number", "").endswith("*"):
            device["number"] = device["number"].replace("*", str(next(minors)))
        toml.append(f"{json.dumps(path)} = {inline(device)}")
    numbers, counts = {}, {}
    found = re.findall(r"<([a-zA-Z0-9-]+) (\d+)>", "\n".join(toml))
    unique = sorted(set(found))
    order.shuffle(unique)
    for counter, seen in unique:
        first = 128 if counter == "renderD" else order.randrange(1, 3)
        counts[counter] = counts.get(counter, first - 1) + 1
        numbers[seen] = f"{counts[counter]:03}" if counter == "at" else str(counts[counter])
    counted = re.sub(r"<[a-zA-Z0-9-]+ (\d+)>", lambda name: numbers[name[1]], "\n".join(toml)) + "\n"
    return re.sub(r'"at" = "(\d+)/', lambda at: f'"at" = "{int(at[1]):03}/', counted)


def inline(value):
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)
