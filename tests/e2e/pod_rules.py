"""Rules for the permissions of a DaemonSet of deploy/kustomize, each with a change that breaks it."""

import json

from kustomize import pod_of

KUBELET_DIRECTORIES = {
    # The device plugin directory does not depend on --root-dir, pod directories do.
    "own": "/var/lib/kubelet",
    "default": "/var/lib/kubelet",
    "k3s": "/var/lib/kubelet",
    "rke2": "/var/lib/kubelet",
    "k0s": "/var/lib/k0s/kubelet",
    "microk8s": "/var/snap/microk8s/common/var/lib/kubelet",
    "example-serial": "/var/lib/kubelet",
    "example-fpga": "/var/lib/kubelet",
}
DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins"
CDI = "/var/run/cdi"
DRIVER = {"/var/lib/kubelet/plugins/patchbay.dev",
          *(f"{root}/plugins_registry" for root in KUBELET_DIRECTORIES.values())}
NET = "/var/lib/kubelet/plugins/patchbay.dev/net"
HOST_PATHS = {DEVICE_PLUGINS, CDI, NET, *DRIVER, "/dev", "/sys", "/run/udev",
              *(f"{root}/pod-resources" for root in KUBELET_DIRECTORIES.values())}


def context(pod, container, key):
    """The setting of the container, otherwise that of the pod."""
    return container.get("securityContext", {}).get(key, pod.get("securityContext", {}).get(key))


def host_paths(pod):
    return {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}


def mounts_of(pod, container, host_path):
    return [m for m in container["volumeMounts"] if host_paths(pod).get(m["name"]) == host_path]


def mounted_read_only(pod, container, host_path):
    mounts = mounts_of(pod, container, host_path)
    return bool(mounts) and all(m.get("readOnly") is True for m in mounts)


def writable(pod, container):
    return {host_paths(pod).get(m["name"], m["name"]) for m in container["volumeMounts"]
            if m.get("readOnly") is not True}


def set_context(**keys):
    return lambda pod, container: container["securityContext"].update(keys)


def set_pod(**keys):
    return lambda pod, container: pod.update(keys)


def set_mounts(**keys):
    return lambda pod, container: [m.update(keys) for m in container["volumeMounts"]]


def add_volume(**volume):
    return lambda pod, container: pod["volumes"].append({"name": "more", **volume})


# name: (a check of a pod and its container, a change that breaks the rule)
RULES = {
    "runs as root, which creating a socket requires": (
        lambda p, c: context(p, c, "runAsUser") == 0, set_context(runAsUser=1000)),
    "all capabilities dropped": (
        lambda p, c: context(p, c, "capabilities") == {"drop": ["ALL"]},
        set_context(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]})),
    "not privileged": (
        lambda p, c: context(p, c, "privileged") is False, set_context(privileged=True)),
    "no privilege escalation": (
        lambda p, c: context(p, c, "allowPrivilegeEscalation") is False,
        set_context(allowPrivilegeEscalation=True)),
    "read-only root file system": (
        lambda p, c: context(p, c, "readOnlyRootFilesystem") is True,
        set_context(readOnlyRootFilesystem=False)),
    "seccomp RuntimeDefault": (
        lambda p, c: context(p, c, "seccompProfile") == {"type": "RuntimeDefault"},
        set_context(seccompProfile={"type": "Unconfined"})),
    "default AppArmor profile": (
        lambda p, c: context(p, c, "appArmorProfile") is None,
        set_context(appArmorProfile={"type": "Unconfined"})),
    "default /proc mount": (
        lambda p, c: context(p, c, "procMount") is None, set_context(procMount="Unmasked")),
    "separate network namespace": (
        lambda p, c: not p.get("hostNetwork", False), set_pod(hostNetwork=True)),
    "separate PID and IPC namespaces": (
        lambda p, c: not p.get("hostPID", False) and not p.get("hostIPC", False),
        set_pod(hostPID=True)),
    "no host port": (
        lambda p, c: not any("hostPort" in port for port in c["ports"]),
        lambda p, c: c["ports"][0].update(hostPort=9478)),
    "no service account token": (
        lambda p, c: p.get("automountServiceAccountToken") is False,
        set_pod(automountServiceAccountToken=True)),
    "no token for the API server": (
        lambda p, c: not any("projected" in v for v in p["volumes"]),
        add_volume(projected={"sources": [{"serviceAccountToken": {"path": "token"}}]})),
    "no other container": (
        lambda p, c: p["containers"] == [c] and not p.get("initContainers"),
        set_pod(initContainers=[{"name": "more"}])),
    "no secret, and no other volumes": (
        lambda p, c: all({"configMap", "hostPath", "projected"} & v.keys() for v in p["volumes"]) and
        "secret" not in json.dumps([c.get("env"), c.get("envFrom")]).lower(),
        add_volume(secret={"secretName": "more"})),
    "/dev read-only": (
        lambda p, c: mounted_read_only(p, c, "/dev"), set_mounts(readOnly=False)),
    "/sys read-only": (
        lambda p, c: mounted_read_only(p, c, "/sys"), set_mounts(readOnly=False)),
    "only the socket directory is writable": (
        lambda p, c: writable(p, c) - {CDI, NET, *DRIVER} == {DEVICE_PLUGINS}, set_mounts(readOnly=False)),
    "no CDI directory": (
        lambda p, c: CDI not in host_paths(p).values(), add_volume(hostPath={"path": CDI})),
    "no directory of programs for the container runtime": (
        lambda p, c: NET not in host_paths(p).values(), add_volume(hostPath={"path": NET})),
    "no directory of a DRA driver": (
        lambda p, c: not DRIVER & set(host_paths(p).values()),
        add_volume(hostPath={"path": "/var/lib/kubelet/plugins_registry"})),
    "no other host path": (
        lambda p, c: set(host_paths(p).values()) <= HOST_PATHS, add_volume(hostPath={"path": "/"})),
    "no mounts given to the node": (
        lambda p, c: not any(m.get("mountPropagation") == "Bidirectional" for m in c["volumeMounts"]),
        set_mounts(mountPropagation="Bidirectional")),
    "no subPath, which is never updated": (
        lambda p, c: not any("subPath" in key for m in c["volumeMounts"] for key in m),
        set_mounts(subPath="patchbay.toml")),
}
# The rules that a component breaks on purpose.
BROKEN_BY = {"open-devices": {"not privileged", "no privilege escalation"}, "cdi": {"no CDI directory"},
             "net-devices": {"no CDI directory", "no directory of programs for the container runtime"},
             "dra": {"no CDI directory", "no directory of a DRA driver", "no token for the API server"}}


def broken_rules(daemonset):
    pod = pod_of(daemonset)
    return {name for name, (holds, _) in RULES.items() if not holds(pod, pod["containers"][0])}
