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
}

for (fuzzer, seed), (before, message, text) in SEEDS.items():
    folder = HERE / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    protos = sorted(p.name for p in PROTO.glob("*.proto"))
    encoded = subprocess.run(["protoc", f"--encode={message}", f"-I{PROTO}", *protos],
                             input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    (folder / seed).write_bytes(before.encode() + encoded)
