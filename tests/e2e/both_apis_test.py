"""Both APIs give a container the same: for each example, on a host with its devices (see host_tree.py), the answer to
Allocate is compared with the CDI file of a claim, and so are real containers that are created from them."""

import json
import os
import re
import shutil

import containers
import host_tree
import support
from support import EXAMPLES, SOURCE, Cluster, Daemon, run

HOSTS = SOURCE / "tests/e2e/examples"
# Prints the variables, the owner and mode of each node, and what opening it returns.
SCRIPT = """env
for node in NODES; do
  stat -c '%n %A %u %g %t %T' $node
  if error=$(head -c 0 $node 2>&1); then echo "$node opens"; else echo "$error"; fi
done
"""


def without_programs(text):
    """The example without its hooks and probes: their programs are for the devices of a real host."""
    sections = re.split(r"(?m)^(?=\s*\[)", text)
    return "".join(s for s in sections if not re.match(r"\s*\[resource\.(hooks|health)\b", s))


class BothApis(containers.TestCase):
    maxDiff = None

    def test_give_a_container_the_same(self):
        self.skip_unless_containers_run()
        # Interfaces cannot move from a host that is made up; e2e.net_device has both APIs.
        examples = [e for e in EXAMPLES if "net_device" not in e.read_text()]
        for count, example in enumerate(examples):
            with self.subTest(example=example.name):
                # The directory is short because paths of sockets are.
                self.compare_apis(example, self.dir / f"k{count}")

    def compare_apis(self, example, kubelet):
        root = self.dir / example.stem
        node = host_tree.make(HOSTS / example.name, root).get("node", "rack-1")
        (kubelet / "device-plugins").mkdir(parents=True)
        text = without_programs(example.read_text())
        self.assertNotIn("[daemon", text)
        plugin, dra = self.dir / "plugin.toml", self.dir / "dra.toml"
        plugin.write_text(text)
        with Cluster(kubelet, node) as cluster:
            dra.write_text(f'[daemon]\napi = "dra"\n{cluster.daemon_keys}{text}')
            # With the programs of the host before those of this one.
            env = {"NODE_NAME": node, "PATH": f"{root}/usr/local/bin:{os.environ['PATH']}"}
            listed = self.read("devices", "--config", str(dra), "--host-root", str(root), **env)["resources"]
            # The units of Allocate by the names of devices in ResourceSlices.
            units = {r["name"]: {d["slice_name"]: d["id"] + ("::0" if d["slots"] else "") for d in r["devices"]}
                     for r in listed}
            with Daemon(dra, kubelet / "device-plugins", "--host-root", str(root), **env):
                cluster.succeed(f"await_published {sum(map(len, units.values()))}")
                for count, (name, devices) in enumerate(units.items()):
                    with self.subTest(resource=name):
                        cluster.succeed(f"class {name}")
                        claim = cluster.succeed(f"prepare claim-{count} {name}")
                        unit = devices[claim["devices"][0]]
                        answer = self.read("allocate", name, unit, "--config", str(plugin), "--host-root", str(root),
                                           **env)
                        self.compare_containers(answer, claim, cluster.cdi_dir, root)
                    cluster.succeed(f"release claim-{count}")

    def read(self, *arguments, **env):
        ran = run(*arguments, "--output", "json", **env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def compare_containers(self, answer, claim, cdi_dir, root):
        script = SCRIPT.replace("NODES", " ".join(node["container_path"] for node in answer["devices"]))
        for user in (0, 1000):
            given = []
            for api in ({"responses": [answer]}, {"responses": [], "claim": claim}):
                bundle = self.bundle(script=script, user=user, cdi_dir=cdi_dir, host_root=root, **api)
                spec = json.loads((bundle / "config.json").read_text())
                ran = self.run_container(bundle)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                given.append({
                    "env": sorted(spec["process"]["env"]),
                    "user": {"additionalGids": []} | spec["process"]["user"],
                    # Only a claim has metadata.
                    "mounts": sorted((m for m in spec["mounts"] if not m["destination"].startswith(containers.METADATA)),
                                     key=lambda mount: mount["destination"]),
                    "nodes": sorted(spec["linux"]["devices"], key=lambda node: node["path"]),
                    "cgroup": sorted(spec["linux"]["resources"]["devices"], key=json.dumps),
                    "seen": sorted(ran.stdout.splitlines())})
                shutil.rmtree(bundle)
            with self.subTest(user=user):
                self.assertEqual(*given)


if __name__ == "__main__":
    support.main()
