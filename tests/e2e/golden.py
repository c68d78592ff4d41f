"""Compares what a configuration finds and allocates on another host with a golden file.

NAME.toml describes the host (see host_tree.py), and has the list `allocate` and perhaps the name of the `node` and
`probe = true`, which probes the devices. Programs of the host in /usr/local/bin can run. NAME.golden is the result.
The tests that use this module have an option --write, which updates the golden files.
"""

import difflib
import json
import os
import sys

import host_tree
import support
from support import SOURCE, run

WRITE = "--write" in sys.argv
MOST_LINES = 12  # of the devices of one resource; of more the first and the last are shown


def device_line(device):
    words = [device["id"]]
    if device["numa_node"] is not None:
        words.append(f"numa={device['numa_node']}")
    if device["health"] == "Unhealthy":
        words.append(f"Unhealthy: {device['reason']}")
    return "  " + "  ".join(words + device["paths"])


def listing(document):
    """The output of `devices`, as lines."""
    for resource in document["resources"]:
        yield resource["name"]
        lines = [device_line(device) for device in resource["devices"]]
        if len(lines) > MOST_LINES:
            lines[3:-3] = [f"  and {len(lines) - 6} more"]
        yield from lines
        for rejection in resource["rejected"]:
            yield f"  rejected  {rejection['path']}  {rejection['reason']}"


def container(answer):
    """The output of `allocate`, as lines."""
    for node in answer["devices"]:
        yield f"  node   {node['container_path']}  from {node['host_path']}  {node['permissions']}"
    for mount in answer["mounts"]:
        access = "ro" if mount["read_only"] else "rw"
        yield f"  mount  {mount['container_path']}  from {mount['host_path']}  {access}"
    for kind in ("envs", "annotations"):
        for key, value in answer[kind].items():
            yield f"  {kind[:-1]:5}  {key}={value}"
    for device in answer["cdi_devices"]:
        yield f"  cdi    {device['name']}"
    for hook in answer["hooks"]:
        yield f"  {hook['hook']} of {hook['device']}  {' '.join(hook['command'])}"


def run_on(root, *arguments, **env):
    """Runs a command of Patchbay about the host, with the programs of the host before those of this one."""
    return run(*arguments, "--host-root", root, PATH=f"{root}/usr/local/bin:{os.environ['PATH']}", **env)


class OnAnotherHost(support.TestCase):
    def setUp(self):
        support.skip_unless_device_nodes()
        super().setUp()

    def host(self, tree_file):
        """Creates a host. Returns its root and the other keys of its file."""
        root = self.dir / tree_file.stem
        more = host_tree.make(tree_file, root)
        self.assertLessEqual(more.keys(), {"allocate", "node", "probe"}, tree_file)
        return str(root), more

    def devices(self, example, root, node=None, probe=False):
        ran = run_on(root, "devices", *["--probe"] * probe, "-o", "json", "-c", str(example), NODE_NAME=node)
        self.assertEqual(ran.stderr, "")
        self.assertIn(ran.returncode, (0, 1) if probe else (0,))
        return json.loads(ran.stdout)

    def answer(self, config, root, host):
        """The golden file of a configuration that finds all its resources on the host."""
        node = host.get("node")
        document = self.devices(config, root, node, host.get("probe", False))
        lines, granted = ["patchbay devices", *listing(document)], set()
        for words in host.get("allocate", []):
            lines += ["", f"patchbay allocate {words}"]
            ran = run_on(root, "allocate", *words.split(), "-o", "json", "-c", str(config), NODE_NAME=node)
            if ran.returncode == 0:
                lines += container(json.loads(ran.stdout))
                granted.add(words.split()[0])
            else:
                lines += ["  refused  " + line for line in ran.stderr.splitlines()]
        for resource in document["resources"]:
            self.assertTrue(resource["devices"], f"the host has no {resource['name']}")
            self.assertIn(resource["name"], granted, "not allocated")
        return "\n".join(lines).replace(root, "HOST").replace(str(config), "EXAMPLE") + "\n"

    def compare(self, config, tree_file):
        """Compares the answer on the host of the file with the golden file next to it."""
        if not tree_file.exists():
            self.fail(f"describe a host that has what the configuration is for in {tree_file}, as "
                      "host_tree.py says and the others there do")
        golden = tree_file.with_suffix(".golden")
        answer = self.answer(config, *self.host(tree_file))
        if WRITE:
            golden.write_text(answer)
        if not golden.exists():
            self.fail(f"\n{answer}\nIf that is right, run python3 {sys.argv[0]} --write")
        difference = "".join(difflib.unified_diff(
            golden.read_text().splitlines(True), answer.splitlines(True),
            str(golden.relative_to(SOURCE)), "now"))
        if difference:
            self.fail(f"\n{difference}\nIf that is better, run python3 {sys.argv[0]} --write")


def main():
    if WRITE:
        sys.argv.remove("--write")
    support.main()
