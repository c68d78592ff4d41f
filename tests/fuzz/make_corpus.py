#!/usr/bin/env python3
"""Writes the seeds of the fuzzers that read protobuf messages: corpus/<fuzzer>/<seed>. protoc encodes
them from the text below. All other seeds are text files, written by hand."""

import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"

# (fuzzer, seed): the bytes before the message, its type, and the message.
SEEDS = {
    ("device_plugin", "allocate"): ("a", "v1beta1.AllocateRequest", """
        container_requests { devices_ids: "null" devices_ids: "zero" }
        container_requests { }"""),
    ("device_plugin", "allocate_replicas"): ("a", "v1beta1.AllocateRequest", """
        container_requests { devices_ids: "zero::2" devices_ids: "null::0" devices_ids: "null::0" }"""),
    ("device_plugin", "allocate_refused"): ("a", "v1beta1.AllocateRequest", """
        container_requests { devices_ids: "random" devices_ids: "gone1" devices_ids: "what::7" }"""),
    ("device_plugin", "prefer"): ("p", "v1beta1.PreferredAllocationRequest", """
        container_requests {
          available_device_ids: "full::0" available_device_ids: "full::1" available_device_ids: "null::0"
          available_device_ids: "urandom::2" available_device_ids: "zero::1"
          must_include_device_ids: "null::0" allocation_size: 3 }"""),
    ("device_plugin", "prefer_whole"): ("p", "v1beta1.PreferredAllocationRequest", """
        container_requests {
          available_device_ids: "full" available_device_ids: "zero" available_device_ids: "random"
          allocation_size: 2 }
        container_requests { must_include_device_ids: "zero" allocation_size: -1 }"""),
    ("device_plugin", "prestart"): ("s", "v1beta1.PreStartContainerRequest",
                                    'devices_ids: "null" devices_ids: "gone1" devices_ids: "null"'),
    ("device_plugin", "prestart_unknown"): ("s", "v1beta1.PreStartContainerRequest",
                                            'devices_ids: "nu\\tll" devices_ids: ""'),
    ("dra_plugin", "prepare"): ("p", "k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesRequest", """
        claims { namespace: "default" uid: "3f2c-11" name: "abc" }
        claims { namespace: "default" uid: "3f2c-12" name: "abcd" }
        claims { namespace: "default" uid: "3f2c-13" name: "abcde" }"""),
    ("dra_plugin", "prepare_beta"): ("P", "k8s.io.kubelet.pkg.apis.dra.v1beta1.NodePrepareResourcesRequest", """
        claims { namespace: "default" uid: "3f2c-11" name: "abc" }
        claims { namespace: "other" uid: "3f2c-11" name: "abc" }"""),
    ("dra_plugin", "prepare_refused"): ("p", "k8s.io.kubelet.pkg.apis.dra.v1.NodePrepareResourcesRequest", """
        claims { namespace: "../x" uid: "u" name: "abc" }
        claims { namespace: "default" uid: "../../etc/passwd" name: "abc" }
        claims { namespace: "default" uid: "" name: "a/b" }"""),
    ("dra_plugin", "unprepare"): ("u", "k8s.io.kubelet.pkg.apis.dra.v1.NodeUnprepareResourcesRequest", """
        claims { namespace: "default" uid: "3f2c-11" name: "ab" }
        claims { namespace: "default" uid: "3f2c-12" name: "abc" }"""),
    ("dra_plugin", "unprepare_beta"): ("U", "k8s.io.kubelet.pkg.apis.dra.v1beta1.NodeUnprepareResourcesRequest", """
        claims { namespace: "default" uid: "3f2c-11" name: "ab" }"""),
    ("dra_plugin", "health"): ("h", "v1.NodeWatchResourcesRequest", ""),
    ("dra_plugin", "health_alpha"): ("H", "v1alpha1.NodeWatchResourcesRequest", ""),
    ("dra_plugin", "info"): ("g", "pluginregistration.InfoRequest", ""),
    ("dra_plugin", "registered"): ("r", "pluginregistration.RegistrationStatus",
                                   "plugin_registered: true"),
    ("dra_plugin", "not_registered"): ("r", "pluginregistration.RegistrationStatus",
                                       'error: "no\\nversion\\033 matches"'),
    ("register", "good"): ("", "v1beta1.RegisterRequest", """
        version: "v1beta1" endpoint: "patchbay-0.sock" resource_name: "fpga.example.com/U_250.x"
        options { pre_start_required: true get_preferred_allocation_available: true }"""),
    ("register", "refused"): ("", "v1beta1.RegisterRequest", """
        version: "v1alpha1" endpoint: "../../x//./y" resource_name: "requests.x.kubernetes.io/a/b-" """),
    ("pod_resources", "pods"): ("", "v1.ListPodResourcesResponse", """
        pod_resources {
          name: "p" namespace: "ns"
          containers {
            name: "c"
            devices { resource_name: "a.b/x" device_ids: "1" topology { nodes { id: 0 } } }
            devices { resource_name: "a.b/x" device_ids: "1" topology { nodes { id: 1 } } }
            devices { resource_name: "a.b/y" device_ids: "1::0" device_ids: "1::6" }
          }
        }
        pod_resources { name: "q" containers { devices { resource_name: "" device_ids: "" } } }"""),
    ("pod_resources", "claims"): ("", "v1.ListPodResourcesResponse", """
        pod_resources {
          name: "p" namespace: "ns"
          containers {
            name: "c"
            dynamic_resources {
              claim_name: "p-serial-x7k2p" claim_namespace: "ns"
              claim_resources {
                cdi_devices { name: "patchbay.dev/claim=uid-main" }
                driver_name: "patchbay.dev" pool_name: "n/a.b/x" device_name: "tty-0" share_id: "s"
              }
              claim_resources { driver_name: "patchbay.dev" pool_name: "" device_name: "tty-1" }
            }
          }
        }"""),
}

for (fuzzer, seed), (before, message, text) in SEEDS.items():
    folder = HERE / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    protos = sorted(p.name for p in PROTO.glob("*.proto"))
    encoded = subprocess.run(["protoc", f"--encode={message}", f"-I{PROTO}", *protos],
                             input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    (folder / seed).write_bytes(before.encode() + encoded)
