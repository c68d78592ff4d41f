"""The dashboard of one node: each device over time, the pods that use it, and Patchbay's own state."""

from panels import (BAD, BAD_IF_ANY, BAD_IF_FULL, BAD_IF_ZERO, CLUSTER, GOOD, HEALTH, RESULTS,
                    UP_OR_DOWN, VALID_OR_INVALID, WARN, WARN_IF_ANY, annotation, bars, by_name,
                    colored, dashboard, dashboard_link, increase, lines, mappings, narrow, query,
                    selector, stat, table, timeline, to_page, variable)

NODE = f'{CLUSTER}, node="$node"'
RESOURCE = f'{NODE}, resource=~"$resource"'
DEVICE = f'{RESOURCE}, device=~"$device"'

# During a rolling update two pods of the node report the same gauges; max counts them once. `cluster`
# keeps nodes of the same name in different clusters apart.
REGISTERED = f"max by (cluster, resource) (patchbay_resource_registered{{{RESOURCE}}})"
IN_USE = f"max by (cluster, resource) (patchbay_units_in_use{{{RESOURCE}}})"
HEALTHY = f"max by (cluster, resource, device) (patchbay_device_healthy{{{DEVICE}}})"
USAGE = ("max by (cluster, resource, device, namespace, pod, container) "
         f"(patchbay_device_in_use{{{DEVICE}}})")
# Restricts the process_* metrics, which every exporter on the node has, to those of Patchbay.
IS_PATCHBAY = f"and on (cluster, job, instance) patchbay_build_info{{{NODE}}}"


def units(health):
    return f'sum(max by (cluster, resource) (patchbay_units{{{RESOURCE}, health="{health}"}}))'


def rate(metric, by, more=""):
    return f"sum by ({by}) (rate({metric}{selector(RESOURCE, more)}[$__rate_interval]))"


def counted(metric, by, more="", labels=RESOURCE):
    return increase(metric, by, selector(labels, more))


def quantile(share, metric, by):
    return f"histogram_quantile({share}, {rate(metric + '_bucket', 'le, ' + by)})"


GLANCE = [
    stat("Version", "The version of Patchbay on the node.",
         f"max by (version) (patchbay_build_info{{{NODE}}})", legend="{{version}}", spark=False),
    stat("Kubelet", "Whether Patchbay reaches the kubelet. While it is down, no pod gets a device.",
         f"min(max by (cluster) (patchbay_kubelet_up{{{NODE}}}))", steps=BAD_IF_ZERO, spark=False,
         values=UP_OR_DOWN),
    stat("PodResources API", "Whether the kubelet reports which pods use which devices. While it is "
         "down, the panels show the last known device usage; see docs/metrics.md.",
         f"min(max by (cluster) (patchbay_pod_resources_up{{{NODE}}}))", steps=BAD_IF_ZERO,
         spark=False, values=UP_OR_DOWN),
    stat("Configuration", "Whether the latest configuration is valid. If it is invalid, the last "
         "valid one stays in use; `patchbay check` shows the errors.",
         f"min(patchbay_config_last_reload_successful{{{NODE}}})", steps=BAD_IF_ZERO, spark=False,
         values=VALID_OR_INVALID),
    stat("Unregistered resources", "Resources that are not registered with the kubelet.",
         f"count({REGISTERED} == 0) or vector(0)", steps=BAD_IF_ANY),
    stat("Healthy units", "Units that can be allocated to pods, including those in use.",
         units("healthy"), steps=BAD_IF_ZERO),
    stat("Unhealthy units", "Units of devices that are broken or missing.", units("unhealthy"),
         steps=BAD_IF_ANY),
    stat("Units in use", "Units that pods use.", f"sum({IN_USE})"),
]

DEVICES = [
    timeline("Device health", """Health of each device while it is listed. A line ends when the device
             is removed from the list: it was missing for `forget_after`, or its resource was removed.
             Click a device for its page, which shows why it is unhealthy.""",
             [query(HEALTHY, "{{resource}} {{device}}")], HEALTH, (24, 10),
             [to_page("__field.labels")]),
    table("Devices", """All devices that are listed now, with their location and health. Click a device
          for its page.""",
          [query(HEALTHY, instant=True, table=True),
           query("max by (cluster, resource, device, path, numa_node) "
                 f"(patchbay_device_info{{{DEVICE}}})", instant=True, table=True),
           query(f"count by (cluster, resource, device) ({USAGE})", instant=True, table=True)],
          (12, 9), {"resource": "Resource", "device": "Device", "Value #A": "Health",
                    "path": "Device node", "numa_node": "NUMA", "Value #C": "Containers"},
          sort="device", overrides=[by_name("device", links=[to_page("__data.fields")]),
                                    by_name("numa_node", width=65), *narrow(A=80, C=90),
                                    colored("Value #A", BAD_IF_ZERO, HEALTH)]),
    table("Device usage", """Containers that use a device now, and the health of the device. A pod with
          an unhealthy device does not get another one by itself: delete the pod so that its
          replacement does.""",
          [query(f"{USAGE} * on (cluster, resource, device) group_left () {HEALTHY} or {USAGE} - 2",
                 instant=True, table=True)],
          (12, 9), {"namespace": "Namespace", "pod": "Pod", "container": "Container",
                    "resource": "Resource", "device": "Device", "Value": "Health"},
          sort="pod",
          overrides=[by_name("device", links=[to_page("__data.fields")]),
                     by_name("namespace", width=90), by_name("Value", width=80),
                     colored("Value", BAD_IF_ZERO,
                             HEALTH + mappings(**{"v-1": ("not listed", WARN)}))]),
    table("Health transition log", """Health transitions of single devices, as far as they are visible
          in two consecutive data points. The Health transitions panel also counts shorter ones. The
          log of Patchbay has the reason of each.""",
          [query(f"{HEALTHY} != {HEALTHY.replace('})', '} offset $__interval)')}", table=True)],
          (12, 8), {"Time": "Time", "resource": "Resource", "device": "Device", "Value": "Health"},
          sort="-Time", overrides=[by_name("device", links=[to_page("__data.fields")]),
                                   colored("Value", BAD_IF_ZERO, HEALTH)]),
    bars("Health transitions", "Number of times devices became healthy or unhealthy. Many transitions "
         "in both directions indicate a loose cable or a probe that is too strict.",
         [query(counted("patchbay_device_health_transitions_total", "to"), "{{to}}")],
         size=(12, 8), colors={"healthy": GOOD, "unhealthy": BAD}),
    lines("Utilization", "Units in use as a share of the healthy units of each resource. At 100 %, the "
          "next pod that requests one is not scheduled to this node.", "percentunit",
          [query(f'{IN_USE} / '
                 f'(max by (cluster, resource) (patchbay_units{{{RESOURCE}, health="healthy"}}) > 0)',
                 "{{resource}}")], size=(12, 8), steps=BAD_IF_FULL),
    lines("Matched but not advertised", """Devices that match a resource but are not advertised to the
          kubelet, by reason. `patchbay explain` shows each path and how to fix it.""", "short",
          [query("max by (cluster, resource, reason) "
                 f"(patchbay_rejected_devices{{{RESOURCE}}}) > 0", "{{resource}} {{reason}}")],
          size=(12, 8), whole=True, stack=True),
]

PROBES = [
    bars("Probes", "Health probes by result. `failure` and `timeout` indicate a failing device, "
         "`error` a probe that cannot run.",
         [query(counted("patchbay_probes_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD, "timeout": WARN, "error": "purple"}),
    lines("Probe duration", "Median and 99th percentile of the duration of health probes, estimated "
          "from histogram buckets: a probe that timed out after 1 s may appear as up to 5 s. If the "
          "duration is near the `timeout`, a busy node can make devices unhealthy: raise the timeout "
          "or use a cheaper probe.", "s",
          [query(quantile(0.5, "patchbay_probe_duration_seconds", "resource"), "{{resource}} p50"),
           query(quantile(0.99, "patchbay_probe_duration_seconds", "resource"),
                 "{{resource}} p99")]),
    bars("Probe timeouts and errors", "Probes of each resource that exceeded their `timeout` or could "
         "not run. `patchbay devices --probe` on the node shows which ones, and their output.",
         [query(counted("patchbay_probes_total", "resource, result", 'result=~"timeout|error"')
                + " > 0",
                "{{resource}} {{result}}")], colors=RESULTS),
]

DISCOVERY = [
    lines("Discovery scans", "Rate of scans of the host for devices. More than one per minute means "
          "that watched directories keep changing; narrow the pattern of the resource.", "ops",
          [query(rate("patchbay_discovery_scans_total", "resource"), "{{resource}}")]),
    lines("Scan duration (p99)", "99th percentile of the duration of a scan. If scans are slow, narrow "
          "the pattern or the directories that it covers.", "s",
          [query(quantile(0.99, "patchbay_discovery_duration_seconds", "resource"),
                 "{{resource}}")]),
    lines("Time since last complete scan", """Time since the last scan that could read everything. If
          it exceeds a few rescan periods, a directory cannot be read or a file system hangs.""", "s",
          [query("time() - max by (cluster, resource) "
                 f"(patchbay_discovery_last_success_timestamp_seconds{{{RESOURCE}}})",
                 "{{resource}}")]),
    stat("Devices claimed by two resources", "Devices with a device node that another resource also "
         "lists, so it may be allocated twice. The log names both resources.",
         f"sum(max by (cluster, resource) (patchbay_shared_devices{{{RESOURCE}}}))",
         steps=WARN_IF_ANY, size=(5, 7)),
    bars("Configuration reloads", "Number of times the configuration was read, including the first "
         "time, by result. A failed reload changes nothing.",
         [query(counted("patchbay_config_reloads_total", "result", labels=NODE), "{{result}}")],
         size=(10, 7), colors={"success": GOOD, "failure": BAD}),
    lines("Configuration age", "Time since the current configuration was loaded. It drops to 0 when a "
          "change is applied.", "s",
          [query("time() - max by (cluster) "
                 f"(patchbay_config_last_reload_success_timestamp_seconds{{{NODE}}})", "age")],
          size=(9, 7)),
]

KUBELET = [
    timeline("Registration status", "Whether each resource is registered with the kubelet. A gap of "
             "seconds is a restart of the kubelet. While a resource is not registered, pods that "
             "request it are not scheduled to this node.",
             [query(REGISTERED, "{{resource}}")],
             mappings(v1=("registered", GOOD), v0=("not registered", BAD)), (12, 8)),
    bars("Registrations", "Attempts to register with the kubelet, by result. Persistent failures are "
         "logged with the reason.",
         [query(counted("patchbay_registrations_total", "resource, result") + " > 0",
                "{{resource}} {{result}}")], size=(12, 8), colors=RESULTS),
    lines("ListAndWatch streams", "Open ListAndWatch streams of each resource. 1 is normal; 0 means "
          "that the kubelet gets no updates; more than 1 means that another client is connected.",
          "short",
          [query(f"max by (cluster, resource) (patchbay_list_watch_streams{{{RESOURCE}}})",
                 "{{resource}}")],
          whole=True),
    lines("Device list updates", "Rate of device lists sent to the kubelet, which writes a checkpoint "
          "for each. A high rate means that devices flap.", "ops",
          [query(rate("patchbay_list_watch_updates_total", "resource"), "{{resource}}")]),
    bars("Kubelet restarts", "Number of kubelet restarts detected. Every resource registers again "
         "after each.", [query(counted("patchbay_kubelet_restarts_total", "cluster, node",
                                       labels=NODE), "{{node}}")]),
    bars("Allocations", "Allocate requests, one per container, by result. A failure rejects the pod; "
         "the pod's events have the reason.",
         [query(counted("patchbay_allocations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    bars("Allocated units", "Units allocated to containers. A number far above the units in use means "
         "that pods restart repeatedly.",
         [query(counted("patchbay_allocated_units_total", "resource"), "{{resource}}")]),
    bars("Failed gRPC calls", "Calls from the kubelet by method and gRPC status code, without OK and "
         "without streams that the client ended. The log has the reason of each.",
         [query(counted("patchbay_rpcs_total", "method, code", 'code!~"OK|CANCELLED"'),
                "{{method}} {{code}}")], colors={"/./": BAD}),
    lines("gRPC latency (p99)", "99th percentile of the duration of calls from the kubelet. It "
          "includes `allocate` hooks for Allocate and `pre_start` hooks for PreStartContainer.", "s",
          [query(quantile(0.99, "patchbay_rpc_duration_seconds", "method"), "{{method}}")]),
    bars("Hook runs", "Runs of hooks by result. If `pre_start` or `allocate` fails, the container "
         "does not start.",
         [query(counted("patchbay_hooks_total", "hook, result") + " > 0", "{{hook}} {{result}}")],
         colors=RESULTS),
    lines("Hook duration (p99)", "99th percentile of the duration of hooks, for all devices of a "
          "container. The kubelet admits no other pod while an `allocate` hook runs.", "s",
          [query(quantile(0.99, "patchbay_hook_duration_seconds", "hook, result"),
                 "{{hook}} {{result}}")]),
]

DRA = [
    stat("API server", "Whether the API server answers Patchbay. While it does not, devices are not "
         "published and new claims are not prepared.",
         f"min(max by (cluster) (patchbay_api_server_up{{{NODE}}}))", steps=BAD_IF_ZERO, spark=False,
         values=UP_OR_DOWN, size=(4, 8)),
    lines("ResourceSlices", "Slices of each resource that the API server stores. While there are none, "
          "no pod gets a device of the resource on this node.", "short",
          [query(f"max by (cluster, resource) (patchbay_resource_slices{{{RESOURCE}}})",
                 "{{resource}}")], size=(10, 8), whole=True),
    bars("Slice writes", "Attempts to create, update or delete a slice, by result. Many writes mean "
         "that devices flap; the log has the reason of each failure.",
         [query(counted("patchbay_resource_slice_writes_total", "result"), "{{result}}")],
         size=(10, 8), colors={"success": GOOD, "failure": BAD}),
    lines("Prepared claims", "Claims of each resource that are prepared on this node.", "short",
          [query(f"max by (cluster, resource) (patchbay_prepared_claims{{{RESOURCE}}})",
                 "{{resource}}")], size=(12, 8), whole=True),
    bars("Claim calls", "Claims that the kubelet asked to prepare or to release, by result. After a "
         "failure the pod waits in ContainerCreating or Terminating; the log has the reason.",
         [query(counted("patchbay_claim_prepares_total", "result"), "prepare {{result}}"),
          query(counted("patchbay_claim_unprepares_total", "result"), "release {{result}}")],
         size=(12, 8), colors={"prepare success": GOOD, "release success": "super-light-green",
                               "/failure/": BAD}),
    lines("Claim prepare duration (p99)", "99th percentile of the time to prepare a claim, including "
          "its hooks. The kubelet waits 45 seconds at most.", "s",
          [query(quantile(0.99, "patchbay_claim_prepare_duration_seconds", "resource"),
                 "{{resource}}")], size=(12, 8)),
    bars("API requests", "Requests to the API server, by verb and HTTP status, or the kind of error if "
         "there was no response. 403 means that permissions are missing.",
         [query(counted("patchbay_api_requests_total", "verb, code", labels=NODE),
                "{{verb}} {{code}}")], size=(12, 8)),
    lines("Health streams", "Streams by which the kubelet gets the health of devices. Without one, the "
          "status of pods does not have it.", "short",
          [query(f"max by (cluster) (patchbay_health_streams{{{NODE}}})", "streams")],
          size=(12, 6), whole=True),
    lines("Dropped fields", "Fields of ResourceSlices that the API server does not store, because it "
          "is too old or a feature gate is off.", "short",
          [query(f"max by (cluster, field) (patchbay_api_dropped_fields{{{NODE}}})", "{{field}}")],
          size=(12, 6), whole=True),
]

PROCESS = [
    lines("CPU", "CPU usage as a share of one core. It is near 0 when idle; probes and devices that "
          "appear and disappear use CPU.", "percentunit",
          [query("sum by (cluster, instance) "
                 f"(rate(process_cpu_seconds_total{{{NODE}}}[$__rate_interval]) {IS_PATCHBAY})",
                 "{{instance}}")], size=(6, 7)),
    lines("Memory", "Resident memory. It grows with the number of devices, not over time.", "bytes",
          [query("max by (cluster, instance) "
                 f"(process_resident_memory_bytes{{{NODE}}} {IS_PATCHBAY})", "{{instance}}")],
          size=(6, 7)),
    lines("File descriptors", "Open file descriptors and their limit. At the limit, nothing new can be "
          "opened.", "short",
          [query(f"max by (cluster) (process_open_fds{{{NODE}}} {IS_PATCHBAY})", "open"),
           query(f"max by (cluster) (process_max_fds{{{NODE}}} {IS_PATCHBAY})", "limit")],
          size=(6, 7), whole=True, colors={"limit": BAD}),
    lines("Uptime", "Time since the process started. It drops to 0 at each restart; the log of the "
          "previous container has the reason.", "s",
          [query(f"time() - max by (cluster) (process_start_time_seconds{{{NODE}}} {IS_PATCHBAY})",
                 "uptime")], size=(6, 7)),
]

DASHBOARD = dashboard(
    "patchbay-node", "Patchbay / Node",
    "One node: its devices over time, the pods that use them, probes, discovery, and the kubelet.",
    [("At a glance", GLANCE), ("Devices", DEVICES), ("Probes", PROBES),
     ("Discovery and configuration", DISCOVERY), ("Kubelet", KUBELET),
     ("Dynamic Resource Allocation", DRA), ("Process", PROCESS)],
    [variable("node", "Node", "A Kubernetes node, by the label `node`; see docs/dashboards.md. If "
              "several clusters have a node of this name, also select the cluster.",
              f"label_values(patchbay_build_info{{{CLUSTER}}}, node)", several=False),
     variable("resource", "Resource", "Extended resources of the node.",
              f"label_values(patchbay_resource_registered{{{NODE}}}, resource)"),
     variable("device", "Device", "Devices of these resources.",
              f"label_values(patchbay_device_healthy{{{RESOURCE}}}, device)", sort=3),
     variable("instance", "Address", "The node's address, which follows the Node page URL prefix in "
              "links.", f"query_result(patchbay_build_info{{{NODE}}})", several=False,
              regex='/instance="([^"]+)"/')],
    [dashboard_link("Overview", "All nodes and resources", "overview"),
     {"type": "link", "title": "Node page", "icon": "external link",
      "tooltip": "Patchbay's own status page of this node", "url": "${page:raw}${instance:raw}/",
      "keepTime": False, "includeVars": False, "asDropdown": False, "targetBlank": True,
      "tags": []}],
    [annotation("Kubelet restarts", f"changes(patchbay_kubelet_restarts_total{{{NODE}}}[2m]) > 0",
                "Kubelet restarted", "purple"),
     annotation("Configuration reloads", "changes("
                f"patchbay_config_last_reload_success_timestamp_seconds{{{NODE}}}[2m]) > 0",
                "Configuration reloaded", "blue"),
     annotation("Reload failures",
                f'changes(patchbay_config_reloads_total{{{NODE}, result="failure"}}[2m]) > 0',
                "Configuration reload failed", "red")])
