"""Real containers, created by runc from the answers of Patchbay as a container runtime does."""

import json
import os
import shutil
import stat
import subprocess
import unittest

import support


# The directory of the metadata of claims in containers (KEP-5304).
METADATA = "/var/run/kubernetes.io/dra-device-attributes"


def device_entry(container_path, host_path):
    """A device node for the runtime, with the number, owner and mode of the resolved host path."""
    info = os.stat(host_path)
    return {"path": container_path, "type": "b" if stat.S_ISBLK(info.st_mode) else "c",
            "major": os.major(info.st_rdev), "minor": os.minor(info.st_rdev),
            "fileMode": stat.S_IMODE(info.st_mode), "uid": info.st_uid, "gid": info.st_gid}


def cdi_edits(directory, names):
    """Looks up CDI devices like a container runtime: each name is in exactly one file of the directory."""
    edits = {}
    for file in sorted(directory.glob("*.json")):
        spec = json.loads(file.read_text())
        for device in spec["devices"]:
            name = f"{spec['kind']}={device['name']}"
            assert name not in edits, name
            edits[name] = device["containerEdits"]
    return [edits[name] for name in names]


def apply_cdi(spec, edits, host_root=""):
    """Applies CDI edits like a container runtime of a host whose root directory is `host_root`."""
    process, linux = spec["process"], spec["linux"]
    for edit in edits:
        assert set(edit) <= {"env", "deviceNodes", "mounts", "hooks", "additionalGids"}, edit
        for hook in edit.get("hooks", []):
            assert set(hook) == {"hookName", "path", "args", "timeout"}, hook
            spec.setdefault("hooks", {}).setdefault(hook["hookName"], []).append(
                {key: hook[key] for key in ("path", "args", "timeout")})
        process["env"] += edit.get("env", [])
        process["user"].setdefault("additionalGids", []).extend(edit.get("additionalGids", []))
        for node in edit.get("deviceNodes", []):
            assert set(node) <= {"path", "hostPath", "type", "major", "minor", "fileMode", "uid", "gid", "permissions"}, node
            host = device_entry(node["path"], host_root + node.get("hostPath", node["path"]))
            # Without an owner, the node belongs to the user of the container.
            owner = {key: process["user"][key] for key in ("uid", "gid") if process["user"][key] > 0}
            entry = host | owner | {key: node[key] for key in host if key in node}
            linux["devices"].append(entry)
            linux["resources"]["devices"].append({
                "allow": True, "type": entry["type"], "major": entry["major"], "minor": entry["minor"],
                "access": node["permissions"]})
        for mount in edit.get("mounts", []):
            # The directory of the driver is not below the root of another host.
            root = "" if mount["containerPath"].startswith(METADATA) else host_root
            spec["mounts"].append({"destination": mount["containerPath"], "source": root + mount["hostPath"],
                                   "type": "bind", "options": mount["options"]})


class TestCase(support.TestCase):
    def setUp(self):
        super().setUp()
        support.skip_unless_root()
        support.skip_unless_programs("runc", "busybox")

    def bundle(self, responses, script, extra_devices=(), extra_env=(), user=0, cdi_dir=None, claim=None,
               host_root=""):
        """An OCI bundle of busybox with the content of the responses or of a claim, like a container runtime of a host
        whose root directory is `host_root`."""
        bundle = self.dir / "bundle"
        rootfs = bundle / "rootfs"
        for name in ("bin", "dev", "proc", "tmp", "opt"):
            (rootfs / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), rootfs / "bin/busybox")
        for applet in ("sh", "env", "head", "cat", "dd", "touch", "mknod", "echo", "ls", "stat", "wc"):
            os.symlink("busybox", rootfs / "bin" / applet)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())

        process = spec["process"]
        process["terminal"] = False
        process["args"] = ["/bin/sh", "-c", script]
        process["env"] = ["PATH=/bin", *extra_env]
        process["user"] = {"uid": user, "gid": user}
        for capabilities in process["capabilities"].values():
            capabilities.append("CAP_MKNOD")
        spec["root"]["readonly"] = False
        linux = spec["linux"]
        linux["cgroupsPath"] = f"/patchbay-test-{os.getpid()}"
        linux["devices"] = list(extra_devices)
        linux["resources"]["devices"] = [{"allow": False, "access": "rwm"}]
        for response in responses:
            process["env"] += [f"{key}={value}" for key, value in response["envs"].items()]
            for mount in response["mounts"]:
                spec["mounts"].append({
                    "destination": mount["container_path"], "source": f"{host_root}{mount['host_path']}",
                    "type": "bind",
                    "options": ["rbind", "ro" if mount["read_only"] else "rw"]})
            for device in response["devices"]:
                entry = device_entry(device["container_path"], f"{host_root}{device['host_path']}")
                linux["devices"].append(entry)
                linux["resources"]["devices"].append({
                    "allow": True, "type": entry["type"], "major": entry["major"],
                    "minor": entry["minor"], "access": device["permissions"]})
            if cdi_dir:
                apply_cdi(spec, cdi_edits(cdi_dir, response["cdi_devices"]))
        if claim:
            apply_cdi(spec, cdi_edits(cdi_dir, claim["cdi_devices"]), str(host_root))
        (bundle / "config.json").write_text(json.dumps(spec))
        return bundle

    def run_container(self, bundle, node=None):
        """Runs a container, on the host or in the network namespace of a node."""
        state = self.dir / "runc"
        name = f"patchbay-test-{os.getpid()}"
        runc = ["runc", "--root", str(state)]
        self.addCleanup(subprocess.run, [*runc, "delete", "--force", name], capture_output=True)
        command = [*runc, "run", "--bundle", str(bundle), name]
        if node:
            return node.run(*command, text=True, stdin=subprocess.DEVNULL)
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)

    def skip_unless_containers_run(self):
        ran = self.run_container(self.bundle([], "echo hello"))
        shutil.rmtree(self.dir / "bundle")
        if ran.stdout != "hello\n":
            raise unittest.SkipTest(f"runc does not run here: {ran.stderr.strip()[-300:]}")
