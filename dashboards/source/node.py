"""One node: each of its devices over time, who holds it, and how Patchbay itself does there."""

from panels import (ACCEPTED_OR_REFUSED, BAD, FULL_IS_ODD, GOOD, HEALTH, NONE_IS_GOOD,
                    ONE_IS_GOOD, RESULTS, SOME_IS_ODD, UP_OR_DOWN, WARN, bars, by_name, colored,
                    dashboard, event, increase, labelled, lines, narrow, query, stat, table,
                    timeline, to_page, variable, words)

NODE = 'node="$node"'
BOTH = 'node="$node", resource=~"$resource"'
DEVICE = 'node="$node", resource=~"$resource", device=~"$device"'

# Two pods of one node, as in a rolling update, tell the same of it: the greater counts.
REGISTERED = f"max by (resource) (patchbay_registered{{{BOTH}}})"
IN_USE = f"max by (resource) (patchbay_devices_in_use{{{BOTH}}})"
HEALTHY = f"max by (resource, device) (patchbay_device_healthy{{{DEVICE}}})"
HELD = ("max by (resource, device, namespace, pod, container) "
        f"(patchbay_device_in_use{{{DEVICE}}})")


def units(health):
    return f'sum(max by (resource) (patchbay_devices{{{BOTH}, health="{health}"}}))'


def rate(metric, by, more=""):
    return f"sum by ({by}) (rate({metric}{labelled(BOTH, more)}[$__rate_interval]))"


def happened(metric, by, more="", labels=BOTH):
    return increase(metric, by, labelled(labels, more))


def quantile(share, metric, by, more=""):
    return f"histogram_quantile({share}, {rate(metric + '_bucket', 'le, ' + by, more)})"


GLANCE = [
    stat("Version", "What runs on the node.", f"max by (version) (patchbay_build_info{{{NODE}}})",
         legend="{{version}}", spark=False),
    stat("Kubelet", "Whether Patchbay reaches the kubelet. If not, no pod gets a device.",
         f"max(patchbay_kubelet_up{{{NODE}}})", steps=ONE_IS_GOOD, spark=False,
         mappings=UP_OR_DOWN),
    stat("Who holds what", "Whether the kubelet says which pod holds which device. If not, what is "
         "shown of it is what it said last; see docs/holders.md.",
         f"max(patchbay_pod_resources_up{{{NODE}}})", steps=ONE_IS_GOOD, spark=False,
         mappings=words(v1=("known", GOOD), v0=("unknown", BAD))),
    stat("Configuration", "Whether the newest configuration was accepted. If not, the last good one "
         "is in force; `patchbay check` says what is wrong with the newest.",
         f"min(patchbay_config_last_reload_successful{{{NODE}}})", steps=ONE_IS_GOOD, spark=False,
         mappings=ACCEPTED_OR_REFUSED),
    stat("Not registered", "Resources that the kubelet does not know.",
         f"count({REGISTERED} == 0) or vector(0)", steps=NONE_IS_GOOD),
    stat("Healthy units", "Units that pods can get or have.", units("healthy"), steps=ONE_IS_GOOD),
    stat("Unhealthy units", "Units of devices that are broken or gone.", units("unhealthy"),
         steps=NONE_IS_GOOD),
    stat("Units in use", "Units that pods hold.", f"sum({IN_USE})"),
]

DEVICES = [
    timeline("Devices over time", """Each device while it is listed. Where a line ends the device was
             dropped: it was gone for `forget_after`, or its resource went. Click for the page of the
             device, which says why it is unhealthy.""",
             [query(HEALTHY, "{{resource}} {{device}}")], HEALTH, (24, 10),
             [to_page("__field.labels")]),
    table("Devices", """Every device that is listed now, where it is, and whether it works. Click on
          a device for its page.""",
          [query(HEALTHY, instant=True, table=True),
           query("max by (resource, device, path, numa_node) "
                 f"(patchbay_device_info{{{DEVICE}}})", instant=True, table=True),
           query(f"count by (resource, device) ({HELD})", instant=True, table=True)],
          (12, 9), {"resource": "Resource", "device": "Device", "Value #A": "Health",
                    "path": "First node", "numa_node": "NUMA", "Value #C": "Holders"},
          sort="device", overrides=[by_name("device", links=[to_page("__data.fields")]),
                                    by_name("numa_node", width=65), *narrow(A=80, C=70),
                                    colored("Value #A", ONE_IS_GOOD, HEALTH)]),
    table("Who holds what", """Containers that hold a device now, and whether it still works. A
          broken one does not come back to its pod by itself: delete the pod, so that it gets
          another.""",
          [query(f"{HELD} * on (resource, device) group_left () {HEALTHY} or {HELD} - 2",
                 instant=True, table=True)],
          (12, 9), {"namespace": "Namespace", "pod": "Pod", "container": "Container",
                    "resource": "Resource", "device": "Device", "Value": "Health"},
          sort="pod",
          overrides=[by_name("device", links=[to_page("__data.fields")]),
                     by_name("namespace", width=90), by_name("Value", width=80),
                     colored("Value", ONE_IS_GOOD, HEALTH + words(**{"v-1": ("not listed", WARN)}))]),
    table("Log of transitions", """Each time a device turned, as far as two scrapes can tell; the
          bars beside it count also what came and went between them. The log of Patchbay has the
          reason.""",
          [query(f"{HEALTHY} != {HEALTHY.replace('})', '} offset $__interval)')}", table=True)],
          (12, 8), {"Time": "Time", "resource": "Resource", "device": "Device", "Value": "Became"},
          sort="-Time", overrides=[by_name("device", links=[to_page("__data.fields")]),
                                   colored("Value", ONE_IS_GOOD, HEALTH)]),
    bars("Devices that turned", "How often devices turned healthy or unhealthy. Many of both: a loose "
         "cable, or a probe that is too strict.",
         [query(happened("patchbay_device_health_transitions_total", "to"), "{{to}}")],
         size=(12, 8), colors={"healthy": GOOD, "unhealthy": BAD}),
    lines("Share in use", "Of the healthy units of each resource, those that pods hold. At 100 % the "
          "next pod that asks for one here waits.", "percentunit",
          [query(f'{IN_USE} / '
                 f'(max by (resource) (patchbay_devices{{{BOTH}, health="healthy"}}) > 0)',
                 "{{resource}}")], size=(12, 8), steps=FULL_IS_ODD),
    lines("Matched but not advertised", """What matched a resource and is not offered to pods, by
          reason. `patchbay explain` names each path and what to do about it.""", "short",
          [query(f"max by (resource, reason) (patchbay_rejected_devices{{{BOTH}}}) > 0",
                 "{{resource}} {{reason}}")], size=(12, 8), whole=True, stack=True),
]

PROBES = [
    bars("Probes", "Health probes by result. `failure` and `timeout` are a sick device; `error` is a "
         "probe that cannot be run.",
         [query(happened("patchbay_probes_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD, "timeout": WARN, "error": "purple"}),
    lines("Time of probes", "How long probes take: half of them less than p50, 99 of 100 less than "
          "p99. Near their `timeout` a busy node makes devices unhealthy: give them more time, or a "
          "cheaper question.", "s",
          [query(quantile(0.5, "patchbay_probe_duration_seconds", "resource"), "{{resource}} p50"),
           query(quantile(0.99, "patchbay_probe_duration_seconds", "resource"),
                 "{{resource}} p99")]),
    bars("Probes that got no answer", "Probes by resource that ran into their `timeout` or could not "
         "be run. `patchbay devices --probe` on the node shows which, and what they print.",
         [query(happened("patchbay_probes_total", "resource, result", 'result=~"timeout|error"')
                + " > 0",
                "{{resource}} {{result}}")], colors=RESULTS),
]

DISCOVERY = [
    lines("Looks at the host", "How often the host is searched for devices. Beyond one a minute, "
          "watched directories change; a resource with many: narrow its pattern.", "ops",
          [query(rate("patchbay_discovery_scans_total", "resource"), "{{resource}}")]),
    lines("Time of a look", "How long a search takes; 99 of 100 are faster. If it is slow, narrow the "
          "pattern or the directories it walks.", "s",
          [query(quantile(0.99, "patchbay_discovery_duration_seconds", "resource"),
                 "{{resource}}")]),
    lines("Since the host was last seen whole", """Since when a look did not succeed. Above a few
          rescans: a directory cannot be read, or a file system hangs.""", "s",
          [query("time() - max by (resource) "
                 f"(patchbay_discovery_last_success_timestamp_seconds{{{BOTH}}})",
                 "{{resource}}")]),
    stat("Devices of two resources", "Devices with a node that another resource has as well: the "
         "kubelet may give it out twice. The log names both.",
         f"sum(max by (resource) (patchbay_shared_devices{{{BOTH}}}))", steps=SOME_IS_ODD,
         size=(4, 7)),
    bars("Reloads", "How often the configuration was read, the first time included. One that failed "
         "changed nothing.",
         [query(happened("patchbay_config_reloads_total", "result", labels=NODE), "{{result}}")],
         size=(10, 7), colors={"success": GOOD, "failure": BAD}),
    lines("Age of the configuration", "Since when the configuration in force was read. It falls to 0 "
          "when a change arrives.", "s",
          [query("time() - max(patchbay_config_last_reload_success_timestamp_seconds"
                 f"{{{NODE}}})", "in force")], size=(10, 7)),
]

KUBELET = [
    timeline("Registered", "Whether the kubelet knows each resource. A gap of seconds is a restart of "
             "the kubelet; one that stays keeps pods from being placed here.",
             [query(REGISTERED, "{{resource}}")],
             words(v1=("registered", GOOD), v0=("not registered", BAD)), (12, 8)),
    bars("Registrations", "Attempts to register. Failures that go on are told with their reason in "
         "the log.",
         [query(happened("patchbay_registrations_total", "resource, result") + " > 0",
                "{{resource}} {{result}}")], size=(12, 8), colors=RESULTS),
    lines("Streams", "Open ListAndWatch streams of each resource. 1 is normal, 0 means that the "
          "kubelet does not hear of changes, more than 1 that somebody else listens.", "short",
          [query(f"max by (resource) (patchbay_list_watch_streams{{{BOTH}}})", "{{resource}}")],
          whole=True),
    lines("Lists sent", "Device lists sent to the kubelet, which writes its checkpoint for each. Many "
          "are devices that flap.", "ops",
          [query(rate("patchbay_list_watch_updates_total", "resource"), "{{resource}}")]),
    bars("Restarts of the kubelet", "How often the kubelet came back and had everything registered "
         "again.", [query(happened("patchbay_kubelet_restarts_total", "node", labels=NODE),
                          "{{node}}")]),
    bars("Containers that asked", "Answers to the kubelet, one for each container. A failure keeps the "
         "pod from starting; its event names the reason.",
         [query(happened("patchbay_allocations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    bars("Devices handed out", "Devices that containers were given. Far above what is in use: pods "
         "that start again and again.",
         [query(happened("patchbay_allocated_devices_total", "resource"), "{{resource}}")]),
    bars("Calls that failed", "Calls of the kubelet by method and gRPC code, without those that went "
         "well and streams that their reader ended. The log has each with its reason.",
         [query(happened("patchbay_rpcs_total", "method, code", 'code!~"OK|CANCELLED"'),
                "{{method}} {{code}}")], colors={"/./": BAD}),
    lines("Time of calls", "How long the kubelet waits for an answer; 99 of 100 are faster. An "
          "`allocate` hook is part of Allocate, `pre_start` of PreStartContainer.", "s",
          [query(quantile(0.99, "patchbay_rpc_duration_seconds", "method",
                          'method!="ListAndWatch"'), "{{method}}")]),
    bars("Hooks", "Runs of hooks by result. A failed `pre_start` or `allocate` keeps a container from "
         "starting.",
         [query(happened("patchbay_hooks_total", "hook, result") + " > 0", "{{hook}} {{result}}")],
         colors=RESULTS),
    lines("Time of hooks", "How long hooks take for all devices of a container; 99 of 100 are faster. "
          "While `allocate` runs the kubelet admits no other pod.", "s",
          [query(quantile(0.99, "patchbay_hook_duration_seconds", "hook, result"),
                 "{{hook}} {{result}}")]),
]

PROCESS = [
    lines("Processor", "Share of a core. Idle it is near 0; what it costs are probes and devices that "
          "come and go.", "percentunit",
          [query(f"sum by (instance) (rate(process_cpu_seconds_total{{{NODE}}}[$__rate_interval]) "
                 "and on (job, instance) patchbay_build_info)", "{{instance}}")], size=(6, 7)),
    lines("Memory", "Memory in use. It grows with the number of devices, not with time.", "bytes",
          [query(f"max by (instance) (process_resident_memory_bytes{{{NODE}}} "
                 "and on (job, instance) patchbay_build_info)", "{{instance}}")], size=(6, 7)),
    lines("File descriptors", "Open descriptors and their limit. Near it, nothing new can be opened.",
          "short",
          [query(f"max(process_open_fds{{{NODE}}} and on (job, instance) patchbay_build_info)",
                 "open"),
           query(f"max(process_max_fds{{{NODE}}} and on (job, instance) patchbay_build_info)",
                 "limit")], size=(6, 7), whole=True, colors={"limit": BAD}),
    lines("Up for", "Since when the process runs. It falls to 0 at each restart; see the previous log "
          "of the pod for why.", "s",
          [query(f"time() - max(process_start_time_seconds{{{NODE}}} "
                 "and on (job, instance) patchbay_build_info)", "up")], size=(6, 7)),
]

DASHBOARD = dashboard(
    "patchbay-node", "Patchbay / Node",
    "One node that Patchbay serves: its devices over time, who holds what, probes, and the kubelet.",
    [("At a glance", GLANCE), ("Devices", DEVICES), ("Probes", PROBES),
     ("Discovery and configuration", DISCOVERY), ("Kubelet", KUBELET), ("Process", PROCESS)],
    [variable("node", "Node", "A Kubernetes node; needs the label `node`, see docs/dashboards.md.",
              "label_values(patchbay_build_info, node)", several=False),
     variable("resource", "Resource", "Extended resources of the node.",
              'label_values(patchbay_registered{node="$node"}, resource)'),
     variable("device", "Device", "Devices of these resources.",
              'label_values(patchbay_device_healthy{node="$node", resource=~"$resource"}, device)',
              sort=3),
     variable("instance", "Address", "Where the node's page is, after what stands in Pages at.",
              'query_result(patchbay_build_info{node="$node"})', several=False,
              regex='/instance="([^"]+)"/')],
    [{"type": "link", "title": "All nodes", "icon": "dashboard", "tooltip": "The whole cluster",
      "url": "/d/patchbay-overview?var-datasource=${datasource}&var-page=${page:percentencode}",
      "keepTime": True, "includeVars": False, "asDropdown": False, "targetBlank": False,
      "tags": []},
     {"type": "link", "title": "Page of this node", "icon": "external link",
      "tooltip": "What Patchbay itself shows of the node", "url": "${page:raw}${instance:raw}/",
      "keepTime": False, "includeVars": False, "asDropdown": False, "targetBlank": True,
      "tags": []}],
    [event("Kubelet restarts", f"changes(patchbay_kubelet_restarts_total{{{NODE}}}[2m]) > 0",
           "The kubelet restarted", "purple"),
     event("Configuration", "changes(patchbay_config_last_reload_success_timestamp_seconds"
           f"{{{NODE}}}[2m]) > 0", "A configuration came in force", "blue"),
     event("Refused", f'changes(patchbay_config_reloads_total{{{NODE}, result="failure"}}[2m]) > 0',
           "A configuration was refused", "red")])
