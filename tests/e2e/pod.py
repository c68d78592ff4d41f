"""Runs a pod of deploy/kustomize as a real container, like a container runtime.

Omits the network, and seccomp if this machine has no profile (buildah and podman provide one). Uses everything
else that the pod specifies.
"""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

import kustomize
import support
from kustomize import pod_of, the

# The default capabilities of container runtimes.
DEFAULT_CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE "
    "SYS_CHROOT KILL AUDIT_WRITE").split()]


# The profile of CRI-O and podman, for all architectures and capabilities.
SECCOMP = pathlib.Path("/usr/share/containers/seccomp.json")
ARCHITECTURES = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}


def runtime_default(capabilities):
    """The profile RuntimeDefault for this machine and a container with these capabilities, in the format of
    runc; None if this machine has no profile."""
    if not SECCOMP.exists():
        return None
    machine, architecture = ARCHITECTURES[os.uname().machine]

    def is_for_it(rule):
        includes, excludes = rule["includes"], rule["excludes"]
        return (machine in includes.get("arches", [machine]) and
                set(includes.get("caps", [])) <= set(capabilities) and
                not set(excludes.get("caps", [])) & set(capabilities))

    profile = json.loads(SECCOMP.read_text())
    keys = ("names", "action", "errnoRet", "args")
    return {"defaultAction": profile["defaultAction"],
            "defaultErrnoRet": profile["defaultErrnoRet"],
            "architectures": [architecture],
            "syscalls": [{key: rule[key] for key in keys if rule.get(key)}
                         for rule in profile["syscalls"] if is_for_it(rule)]}


def depth(mount):
    return len(pathlib.PurePath(mount["destination"]).parts)


class HostProgram:
    """Replaces an image: the program under test, with the libraries and programs of this host."""

    entrypoint = ["/usr/bin/tini", "-s", "--", "/patchbay"]
    env = ["PATH=/usr/bin"]
    mounts = [{"destination": "/usr", "source": "/usr", "type": "bind", "options": ["rbind", "ro"]}]

    def unpack(self, rootfs):
        (rootfs / "usr").mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (rootfs / name).symlink_to(f"usr/{name}")
        shutil.copy(support.PATCHBAY, rootfs / "patchbay")


class TestCase(support.TestCase):
    image = HostProgram()
    more_env = []

    def setUp(self):
        super().setUp()
        kustomize.skip_unless_it_builds()
        support.skip_unless_root()
        support.skip_unless_programs("runc", "tini")
        self.runc = ["runc", "--root", str(self.dir / "runc")]
        self.name = f"patchbay-pod-{os.getpid()}"

    def host_directories(self):
        """Replacements for directories of the node that this machine does not have."""
        stand_ins = {"/var/lib/kubelet/device-plugins": self.kubelet_dir,
                     "/var/lib/kubelet/pod-resources": self.dir / "p",
                     "/var/lib/kubelet/plugins_registry": self.dir / "plugins_registry",
                     "/var/lib/kubelet/plugins/patchbay.dev": self.dir / "driver",
                     "/var/run/cdi": self.dir / "cdi",
                     "/run/udev": self.dir / "udev"}
        for directory in stand_ins.values():
            directory.mkdir(exist_ok=True)
        return stand_ins

    def token_directory(self):
        """A projected volume with a token for the API server."""
        directory = self.dir / "token"
        directory.mkdir()
        for name in ("token", "ca.crt"):
            (directory / name).write_text(name)
        return directory

    def mounts(self, pod, container, config):
        stand_ins = self.host_directories()
        sources = {}
        for volume in pod["volumes"]:
            if "hostPath" in volume:
                path = volume["hostPath"]["path"]
                sources[volume["name"]] = str(stand_ins.get(path, path))
            else:
                sources[volume["name"]] = str(config if "configMap" in volume else self.token_directory())
        given = [{"destination": m["mountPath"], "source": sources[m["name"]], "type": "bind",
                  "options": ["rbind", "rprivate", "ro" if m.get("readOnly") else "rw"]}
                 for m in container["volumeMounts"]]
        log = self.dir / "termination-log"
        log.touch()
        given.append({"destination": container["terminationMessagePath"], "source": str(log),
                      "type": "bind", "options": ["rbind", "rprivate", "rw"]})
        return given

    def bundle(self, objects, config):
        """An OCI bundle as containerd and CRI-O make one of the pod."""
        pod = pod_of(the("DaemonSet", objects))
        container, context = pod["containers"][0], pod["containers"][0]["securityContext"]
        bundle = self.dir / "bundle"
        bundle.mkdir()
        self.image.unpack(bundle / "rootfs")
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())

        dropped = context["capabilities"]["drop"] == ["ALL"] and not context["privileged"]
        process = spec["process"]
        process["terminal"] = False
        process["args"] = [*self.image.entrypoint, *container["args"]]
        process["env"] = [*self.image.env, "NODE_NAME=node-1", *self.more_env]
        process["user"] = {"uid": pod["securityContext"]["runAsUser"],
                           "gid": pod["securityContext"]["runAsGroup"]}
        process["noNewPrivileges"] = not context["allowPrivilegeEscalation"]
        capabilities = [] if dropped else DEFAULT_CAPABILITIES
        process["capabilities"] = {kind: capabilities
                                   for kind in ("bounding", "effective", "permitted")}
        confined = pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        if confined and not context["privileged"] and (profile := runtime_default(capabilities)):
            spec["linux"]["seccomp"] = profile
        spec["root"]["readonly"] = context["readOnlyRootFilesystem"]
        spec["linux"]["cgroupsPath"] = f"/{self.name}"
        if context["privileged"]:
            spec["linux"]["resources"]["devices"] = [{"allow": True, "access": "rwm"}]

        # In both runtimes, mounts of the pod replace the default ones, also in /dev.
        given = self.mounts(pod, container, config)
        taken = {m["destination"] for m in given}
        own = [m for m in spec["mounts"] if m["destination"] not in taken and
               not (m["destination"].startswith("/dev/") and "/dev" in taken)]
        spec["mounts"] = [*self.image.mounts, *own, *sorted(given, key=depth)]
        (bundle / "config.json").write_text(json.dumps(spec))
        return bundle

    def config_map(self, files):
        """A mounted ConfigMap with these files, like that of the kubelet."""
        directory = self.dir / "config"
        (directory / "..1").mkdir(parents=True)
        (directory / "..data").symlink_to("..1")
        for name, text in files.items():
            (directory / "..1" / name).write_text(text)
            (directory / name).symlink_to(f"..data/{name}")
        return directory

    def start(self, objects, config):
        process = support.Process([*self.runc, "run", "--bundle", str(self.bundle(objects, config)),
                                   self.name])
        self.addCleanup(process.__exit__)
        self.addCleanup(subprocess.run, [*self.runc, "delete", "--force", self.name],
                        capture_output=True)
        try:
            process.err.wait("serving http")
        except AssertionError:
            # An empty container shows whether the machine is the cause.
            self.skip_unless_containers_run()
            raise
        return process

    def skip_unless_containers_run(self):
        bundle = self.dir / "empty"
        (bundle / "rootfs").mkdir(parents=True)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())
        spec["process"].update(terminal=False, args=["/usr/bin/true"])
        spec["mounts"].append({"destination": "/usr", "source": "/usr", "type": "bind",
                               "options": ["rbind", "ro"]})
        for name in ("lib", "lib64"):
            (bundle / "rootfs" / name).symlink_to(f"usr/{name}")
        (bundle / "config.json").write_text(json.dumps(spec))
        ran = subprocess.run([*self.runc, "run", "--bundle", str(bundle), self.name + "-empty"],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        if ran.returncode != 0:
            raise unittest.SkipTest(f"runc does not run here: {ran.stderr.strip()[-300:]}")

    def exec(self, *arguments):
        """`kubectl exec`."""
        return subprocess.run([*self.runc, "exec", self.name, *arguments], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)
