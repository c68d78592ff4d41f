"""Creates docs/images/dashboard-*.png: the dashboards of two nodes over a minute and a half.

The daemons, the scrapes and the results of the queries are real. The kubelets are built-in ones, and the
hosts are simulated with directories. page/dashboard.html renders the panels similarly to Grafana, which
is not needed. The script tests nothing; check the pictures before you commit them.
"""

import json
import os
import pathlib
import shutil
import tempfile
import time
from contextlib import ExitStack

import host_tree
import observability
import png
import support
from browser import Browser, skip_unless_browser
from observability import Prometheus, substituted
from support import SOURCE, Daemon, Kubelet

HERE = pathlib.Path(__file__).parent / "page"
IMAGES = SOURCE / "docs/images"
RATE = "4s"  # Grafana's $__rate_interval for one scrape per second
SECONDS = 90
ALVEO, CONSOLE, CAMERA, KVM = ("fpga.example.com/alveo", "serial.example.com/console",
                               "video.example.com/camera", "devices.example.com/kvm")

# Rows that are expanded. The others are collapsed, to limit the height of the pictures.
OPEN = {"patchbay-overview": ["At a glance", "Resources and nodes", "Devices"],
        "patchbay-node": ["At a glance", "Devices", "Probes"]}

# A probe that reads the fault of each card from the file `broken` next to it, or hangs.
CARD_OK = """#!/bin/sh
trouble=$(grep "^$1 " "$(dirname "$0")/broken" | cut -d ' ' -f 2-)
[ "$trouble" = hangs ] && exec sleep 60
[ -z "$trouble" ] || { echo "$trouble"; exit 1; }
"""
MORE = """
[resource.hooks.allocate]
command = ["allow-guest"]
[resource.hooks.pre_start]
command = ["/bin/true"]
"""


class Node:
    """A daemon with its kubelet and its simulated host."""

    def __init__(self, stack, directory, name, address):
        self.dir = directory / name
        host_tree.make(HERE / "host.toml", self.dir / "host")
        self.script("card-ok", CARD_OK)
        self.script("allow-guest", "#!/bin/sh\nexit 0\n")
        self.broken()
        pods = self.dir / "pods.sock"
        text = (HERE / "patchbay.toml").read_text()
        text = text.replace("  failure_threshold", '  timeout = "1s"\n  failure_threshold')
        self.text = (f'[daemon]\nhost_root = "{self.dir}/host"\npod_resources = "{pods}"\n'
                     f'rescan = "5s"\n{text}{MORE}')
        self.configure(self.text)
        self.kubelet = stack.enter_context(Kubelet(self.dir / "k", pod_resources=pods))
        self.daemon = stack.enter_context(
            Daemon(self.dir / "patchbay.toml", self.dir / "k", listen=address, NODE_NAME=name,
                   PATH=f"{self.dir}:{os.environ['PATH']}"))
        for resource in (ALVEO, CONSOLE, CAMERA, KVM):
            self.kubelet.wait_listed(resource)

    def script(self, name, text):
        new = self.dir / f"{name}.new"
        new.write_text(text)
        new.chmod(0o755)
        new.rename(self.dir / name)

    def broken(self, **cards):
        self.script("broken", "".join(f"{card} {what}\n" for card, what in cards.items()))

    def configure(self, text):
        self.script("patchbay.toml", text)

    def pod(self, name, container, resource, number):
        self.kubelet.ask(f"admit {name} {container} {resource} {number}")
        self.kubelet.ask(f"start_container {name} {container}")

    def unlink(self, path):
        (self.dir / "host" / path).unlink()


def story(one, two):
    """Yields (second, event), ordered by time."""
    dma = {"0000:a1:00.0": "DMA self test failed: timeout on channel 1"}
    frame = {"video3": "no frame for 10 s"}
    yield 4, lambda: one.pod("place-and-route-0", "vivado", ALVEO, 1)
    yield 6, lambda: two.pod("android-ci-90ab", "emulator", KVM, 2)
    yield 9, lambda: one.pod("bench-recorder-1", "gst", CAMERA, 1)
    yield 12, lambda: one.pod("android-ci-55c9", "emulator", KVM, 3)
    yield 15, lambda: two.pod("board-farm-lab3-k2", "conserver", CONSOLE, 4)
    yield 18, lambda: one.pod("board-farm-lab2-x7", "conserver", CONSOLE, 2)
    yield 20, lambda: one.broken(**frame)
    yield 26, lambda: one.pod("hil-regression-8d4k", "runner", ALVEO, 2)
    yield 30, lambda: one.broken()
    yield 34, lambda: two.pod("place-and-route-1", "vivado", ALVEO, 3)
    yield 36, lambda: one.broken(**frame)
    yield 40, lambda: two.kubelet.ask("restart")
    yield 43, lambda: one.kubelet.ask("restart")
    yield 46, lambda: one.broken(video2="hangs")
    yield 48, lambda: one.kubelet.ask("release place-and-route-0")
    yield 50, lambda: one.script("allow-guest", "#!/bin/sh\necho no license left; exit 1\n")
    yield 51, lambda: one.pod("android-ci-71f0", "emulator", KVM, 1)
    yield 53, lambda: one.script("allow-guest", "#!/bin/sh\nsleep 0.05\n")
    yield 55, lambda: one.pod("android-ci-71f0", "emulator", KVM, 1)
    yield 58, lambda: one.unlink("dev/video4")
    yield 60, lambda: one.broken(**dma)
    yield 62, lambda: one.pod("place-and-route-2", "vivado", ALVEO, 1)
    yield 66, lambda: two.pod("bench-recorder-2", "gst", CAMERA, 2)
    yield 70, lambda: one.configure(one.text + "an error\n")
    yield 74, lambda: two.kubelet.ask("release board-farm-lab3-k2")
    yield 78, lambda: one.broken(**dma, **frame)
    yield 82, lambda: one.pod("android-ci-8e21", "emulator", KVM, 2)


def live(one, two, prometheus):
    """Runs the story and returns its start and end time."""
    prometheus.serve({"rack-7-node-3": one.daemon.address(), "rack-7-node-4": two.daemon.address()})
    while prometheus.value("sum(patchbay_kubelet_up)") != 2:
        time.sleep(0.1)
    start = int(time.time()) + 1
    for second, happens in [*story(one, two), (SECONDS, lambda: None)]:
        time.sleep(max(0.0, start + second - time.time()))
        happens()
    return start, start + SECONDS


def shown(dashboard, prometheus, start, end):
    """The dashboard with the results of its queries, for page/dashboard.html."""
    node = "rack-7-node-3" if dashboard["uid"] == "patchbay-node" else ".*"
    variables = {"cluster": ".*", "node": node, "resource": ".*", "device": ".*",
                 "__rate_interval": RATE, "__range": f"{SECONDS}s"}

    def over_time(expression):
        return prometheus.ask("query_range", query=substituted(expression, variables), start=start,
                              end=end, step=observability.STEP)["result"]

    def answer(target):
        if not target["instant"]:
            return over_time(target["expr"])
        return prometheus.ask("query", query=substituted(target["expr"], variables),
                              time=end)["result"]

    for panel in observability.panels(dashboard):
        panel["answers"] = [answer(target) for target in panel["targets"]]
    for event in dashboard["annotations"]["list"]:
        event["answer"] = over_time(event["expr"])
    values = {"datasource": "Prometheus", "page": "http://", "node": node,
              "instance": "127.0.7.3:9478"}
    return {"dashboard": dashboard, "start": start, "end": end, "open": OPEN[dashboard["uid"]],
            "chosen": {k: v.replace(".*", "All") for k, v in values.items()}}


def main():
    support.skip_unless_programs("prometheus")
    support.skip_unless_device_nodes()
    skip_unless_browser()
    with ExitStack() as stack:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        one = Node(stack, directory, "rack-7-node-3", "127.0.7.3:9478")
        two = Node(stack, directory, "rack-7-node-4", "127.0.7.4:9478")
        prometheus = stack.enter_context(Prometheus(directory))
        start, end = live(one, two, prometheus)
        browser = stack.enter_context(Browser())
        for dashboard in observability.dashboards():
            browser.do(open=(HERE / "dashboard.html").as_uri(), width=1440, height=900, dark=True)
            what = shown(dashboard, prometheus, start, end)
            browser.see(f"draw({json.dumps(what)})")
            picture = IMAGES / f"{dashboard['uid'].replace('patchbay', 'dashboard')}.png"
            browser.do(picture=str(picture), full=True)
            png.shrink(picture)
            print(f"{picture.name}: {picture.stat().st_size} bytes", *browser.do(problems=True))


if __name__ == "__main__":
    main()
