"""The dashboard of all nodes and resources of one or more clusters."""

from panels import (BAD, BAD_IF_ANY, BAD_IF_FULL, BAD_IF_ZERO, CLUSTER, CLUSTER_OF_ROW, GOOD,
                    NEUTRAL, PLAIN, UP_OR_DOWN, VALID_OR_INVALID, WARN, WARN_IF_ANY, bars, by_name,
                    colored, dashboard, dashboard_link, dashboard_url, increase, lines, mappings,
                    narrow, query, selector, stat, table, to_node, to_page_of_row, variable)

NODE = f'{CLUSTER}, node=~"$node"'
RESOURCE = f'{NODE}, resource=~"$resource"'

# During a rolling update two pods of one node report the same gauges; max counts them once.
CAPACITY = f"max by (cluster, node, resource, health) (patchbay_units{{{RESOURCE}}})"
HEALTHY = f'max by (cluster, node, resource) (patchbay_units{{{RESOURCE}, health="healthy"}})'
UNHEALTHY = f'max by (cluster, node, resource) (patchbay_units{{{RESOURCE}, health="unhealthy"}})'
IN_USE = f"max by (cluster, node, resource) (patchbay_units_in_use{{{RESOURCE}}})"
REGISTERED = f"max by (cluster, node, resource) (patchbay_resource_registered{{{RESOURCE}}})"
SEVERITY = mappings(v3=("critical", BAD), v2=("warning", WARN), v1=("info", "blue"),
                    v0=("other", PLAIN))
KUBELET_UP = f"max by (cluster, node) (patchbay_kubelet_up{{{NODE}}})"
CONFIG_VALID = f"min by (cluster, node) (patchbay_config_last_reload_successful{{{NODE}}})"


def counted(metric, by, more="", labels=RESOURCE):
    return increase(metric, by, selector(labels, more))


def firing(severity=""):
    """Firing alerts of the chosen clusters, and those without a cluster, such as PatchbayAbsent."""
    return "ALERTS" + selector('alertname=~"Patchbay.*", alertstate="firing", cluster=~"$cluster|"',
                               f'severity="{severity}"' if severity else "")


def latency(share):
    return (f"histogram_quantile({share}, sum by (le) (rate(patchbay_rpc_duration_seconds_bucket"
            f'{{{RESOURCE}, method="Allocate"}}[$__rate_interval])))')


GLANCE = [
    stat("Nodes", "Nodes on which Patchbay is scraped. If nodes are missing, see the alerts "
         "PatchbayDown and PatchbayAbsent.",
         f"count(max by (cluster, node) (patchbay_build_info{{{NODE}}}))"),
    stat("Kubelets down", "Nodes on which Patchbay cannot reach the kubelet. Pods do not get devices "
         "there.", f"count({KUBELET_UP} == 0) or vector(0)", steps=BAD_IF_ANY),
    stat("Resources", "Extended resources that are configured on at least one node.",
         f"count(count by (resource) ({REGISTERED}))"),
    stat("Unregistered resources", "Resources of nodes that are not registered with the kubelet. Pods "
         "that request them are not scheduled to these nodes.",
         f"count({REGISTERED} == 0) or vector(0)", steps=BAD_IF_ANY),
    stat("Capacity", "Units of all resources, healthy or not: devices times replicas.",
         f"sum({CAPACITY})"),
    stat("Healthy units", "Units that can be allocated to pods, including those in use.",
         f"sum({HEALTHY})", steps=BAD_IF_ZERO),
    stat("Units in use", "Units that pods use, as last reported by the kubelets.", f"sum({IN_USE})"),
    stat("Invalid configurations", "Nodes that still use an older configuration because the latest one "
         "is invalid. Run `patchbay check` on it.", f"count({CONFIG_VALID} == 0) or vector(0)",
         steps=BAD_IF_ANY),
    table("Firing alerts", """Alerts of dashboards/alerts.yaml that fire now. docs/runbook.md describes
          what each means and what to do.""",
          [query(f"3 * {firing('critical')} or 2 * {firing('warning')} or 1 * {firing('info')} "
                 f"or 0 * {firing()}", instant=True, table=True)],
          (24, 6), {"Value": "Severity", "alertname": "Alert", "cluster": "Cluster", "node": "Node",
                    "resource": "Resource", "device": "Device"}, sort="-Value alertname",
          overrides=[colored("Value", NEUTRAL, SEVERITY), by_name("node", links=[to_node()])]),
]

TABLES = [
    table("Resource summary", """Each resource of each cluster over all nodes. Free units are available
          to new pods. If a resource has no healthy units, no node has the hardware or the match is
          wrong. Click a resource to show only this one.""",
          [query(f"count by (cluster, resource) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (cluster, resource) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (cluster, resource) ({CAPACITY})", instant=True, table=True),
           query(f"sum by (cluster, resource) ({HEALTHY})", instant=True, table=True),
           query(f"sum by (cluster, resource) ({IN_USE})", instant=True, table=True),
           query(f"clamp_min(sum by (cluster, resource) ({HEALTHY}) "
                 f"- sum by (cluster, resource) ({IN_USE}), 0)", instant=True, table=True),
           query("sum by (cluster, resource) (increase(patchbay_allocations_total{"
                 f'{RESOURCE}, result="failure"}}[$__range]))', instant=True, table=True)],
          (11, 9), {"cluster": "Cluster", "resource": "Resource", "Value #A": "Nodes",
                    "Value #B": "Registered", "Value #C": "Capacity", "Value #D": "Healthy",
                    "Value #E": "In use", "Value #F": "Free", "Value #G": "Errors"}, sort="resource",
          overrides=[by_name("resource", links=[
              {"title": "Show only this resource",
               "url": dashboard_url("overview") + CLUSTER_OF_ROW +
                      "&var-resource=${__data.fields.resource:percentencode}&${__url_time_range}"}]),
                     *narrow(A=60, B=85, C=75, D=70, E=60, F=50, G=60),
                     colored("Value #D", BAD_IF_ZERO),
                     by_name("Value #G", decimals=0, cell={"type": "color-text"},
                             thresholds=WARN_IF_ANY)]),
    table("Node summary", """Each node with its version of Patchbay. Click a node for its dashboard, or
          an address for its status page.""",
          [query(f"max by (cluster, node, instance, version) (patchbay_build_info{{{NODE}}})",
                 instant=True, table=True),
           query(KUBELET_UP, instant=True, table=True),
           query(CONFIG_VALID, instant=True, table=True),
           query(f"sum by (cluster, node) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (cluster, node) ({CAPACITY})", instant=True, table=True),
           query(f"sum by (cluster, node) ({HEALTHY})", instant=True, table=True),
           query(f"sum by (cluster, node) ({IN_USE})", instant=True, table=True)],
          (13, 9), {"cluster": "Cluster", "node": "Node", "instance": "Address",
                    "version": "Version", "Value #B": "Kubelet", "Value #C": "Config",
                    "Value #D": "Registered", "Value #E": "Capacity", "Value #F": "Healthy",
                    "Value #G": "In use"},
          sort="node",
          overrides=[by_name("node", links=[to_node()]),
                     by_name("version", width=65),
                     *narrow(B=65, C=80, D=85, E=75, F=70, G=60),
                     by_name("instance", width=125, links=[
                         {"title": "Open the node page", "targetBlank": True,
                          "url": "${page:raw}${__data.fields.instance:raw}/"}]),
                     colored("Value #B", BAD_IF_ZERO, UP_OR_DOWN),
                     colored("Value #C", BAD_IF_ZERO, VALID_OR_INVALID)]),
]

DEVICES = [
    lines("Units", "Capacity, healthy units, and units in use. If fewer units are healthy than the "
          "capacity, devices are broken or missing. If all healthy units are in use, the next pod "
          "stays Pending.", "short",
          [query(f"sum({CAPACITY})", "capacity"), query(f"sum({HEALTHY})", "healthy"),
           query(f"sum({IN_USE})", "in use")], whole=True,
          colors={"capacity": "blue", "healthy": GOOD, "in use": WARN}),
    lines("Utilization", "Units in use as a share of the healthy units of each resource. At 100 %, the "
          "next pod that requests one stays Pending.", "percentunit",
          [query(f"sum by (cluster, resource) ({IN_USE}) "
                 f"/ (sum by (cluster, resource) ({HEALTHY}) > 0)", "{{resource}} {{cluster}}")],
          steps=BAD_IF_FULL),
    lines("Unhealthy units", "Units of each resource that cannot be allocated because their device is "
          "broken or missing. The table below shows the pods that are affected.", "short",
          [query(f"sum by (cluster, resource) ({UNHEALTHY})", "{{resource}} {{cluster}}")],
          whole=True, stack=True),
    bars("Health transitions", "Number of times devices became healthy or unhealthy. Many transitions "
         "in both directions indicate a loose cable or a probe that is too strict.",
         [query(counted("patchbay_device_health_transitions_total", "to"), "{{to}}")],
         colors={"healthy": GOOD, "unhealthy": BAD}),
    lines("Matched but not advertised", """Devices that match a resource but are not advertised to the
          kubelet, by reason. `patchbay explain` on the node shows each path and how to fix it.""",
          "short",
          [query("sum by (cluster, resource, reason) (max by (cluster, node, resource, reason) "
                 f"(patchbay_rejected_devices{{{RESOURCE}}})) > 0",
                 "{{resource}} {{reason}} {{cluster}}")],
          whole=True, stack=True),
    lines("Time since last complete scan", """Time since the last scan that could read everything, for
          the most outdated resource of each node. If it exceeds a few rescan periods, a directory
          cannot be read or a file system hangs; the log of the node has the reason.""", "s",
          [query("max by (cluster, node) (time() - max by (cluster, node, resource) "
                 f"(patchbay_discovery_last_success_timestamp_seconds{{{RESOURCE}}}))",
                 "{{node}} {{cluster}}")],
          steps=None),
    table("Pods using unhealthy devices", """Pods whose device became unhealthy. Kubernetes does not
          restart or move them: delete the pod so that its replacement gets another device, and fix the
          device. Click a device for its page.""",
          [query("max by (cluster, node, instance, resource, device, namespace, pod, container) "
                 f"(patchbay_device_in_use{{{RESOURCE}}} "
                 "and on (cluster, job, instance, resource, device) "
                 f"(patchbay_device_healthy{{{RESOURCE}}} == 0))", instant=True, table=True)],
          (24, 6), {"namespace": "Namespace", "pod": "Pod", "container": "Container",
                    "resource": "Resource", "device": "Device", "cluster": "Cluster", "node": "Node",
                    "instance": "Address"}, sort="pod",
          overrides=[by_name("device", links=[to_page_of_row()]),
                     by_name("node", links=[to_node()])]),
]

KUBELETS = [
    lines("Registered resources", "Resources that are registered with the kubelet of each node. A dip "
          "of seconds is a restart of the kubelet. While a resource is not registered, pods that "
          "request it are not scheduled to the node.", "short",
          [query(f"sum by (cluster, node) ({REGISTERED})", "{{node}} {{cluster}}")], whole=True),
    bars("Registrations", "Attempts to register with a kubelet, by result. Persistent failures are "
         "logged on the node with the reason.",
         [query(counted("patchbay_registrations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    bars("Kubelet restarts", "Number of kubelet restarts detected. Every resource registers again after "
         "each. If a kubelet restarts repeatedly, check its log.",
         [query(counted("patchbay_kubelet_restarts_total", "cluster, node", labels=NODE),
                "{{node}} {{cluster}}")]),
]

ALLOCATIONS = [
    bars("Allocations", "Allocate requests, one per container, by result. A failure rejects the pod; "
         "the pod's events have the reason.",
         [query(counted("patchbay_allocations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    lines("Allocate latency", "Percentiles of the duration of Allocate calls. A kubelet admits one pod "
          "at a time: above 100 ms, check `allocate` hooks and the load of the node.", "s",
          [query(latency(0.5), "p50"), query(latency(0.9), "p90"), query(latency(0.99), "p99")],
          colors={"p50": GOOD, "p90": "yellow", "p99": WARN}),
    bars("Failed gRPC calls", "Calls from kubelets by method and gRPC status code, without OK and "
         "without streams that the client ended. The log of the node has the reason of each.",
         [query(counted("patchbay_rpcs_total", "method, code", 'code!~"OK|CANCELLED"'),
                "{{method}} {{code}}")], colors={"/./": BAD}),
    bars("Failed hooks", "Failed runs of hooks. If `pre_start` or `allocate` fails, the container does "
         "not start. If `release` fails, the next pod may find the device as the last one left it.",
         [query(counted("patchbay_hooks_total", "resource, hook", 'result="failure"') + " > 0",
                "{{resource}} {{hook}}")], size=(12, 8), colors={"/./": BAD}),
    bars("Probes", "Health probes by result. `timeout` and `error` mean that the probe did not "
         "complete: raise its timeout, or fix it with the help of `patchbay devices --probe`.",
         [query(counted("patchbay_probes_total", "result"), "{{result}}")], size=(12, 8),
         colors={"success": GOOD, "failure": BAD, "timeout": WARN, "error": "purple"}),
]

CONFIGURATION = [
    bars("Configuration reloads", "Number of times a configuration was read, including the first time, "
         "by result. A failed reload changes nothing: the last valid configuration stays in use.",
         [query(counted("patchbay_config_reloads_total", "result", labels=NODE), "{{result}}")],
         size=(12, 8), colors={"success": GOOD, "failure": BAD}),
    lines("Configuration age", "Time since the current configuration was loaded. After a change it "
          "drops to 0 on all nodes; a node where it does not has not received the change.", "s",
          [query("time() - max by (cluster, node) "
                 f"(patchbay_config_last_reload_success_timestamp_seconds{{{NODE}}})",
                 "{{node}} {{cluster}}")], size=(12, 8)),
]

DASHBOARD = dashboard(
    "patchbay-overview", "Patchbay / Overview",
    "The devices that Patchbay advertises to the kubelets of a cluster: capacity, health, usage, and "
    "errors.",
    [("At a glance", GLANCE), ("Resources and nodes", TABLES), ("Devices", DEVICES),
     ("Kubelets", KUBELETS), ("Allocations, hooks and probes", ALLOCATIONS),
     ("Configuration", CONFIGURATION)],
    [variable("node", "Node", "Kubernetes nodes, by the label `node`; see docs/dashboards.md.",
              f"label_values(patchbay_build_info{{{CLUSTER}}}, node)"),
     variable("resource", "Resource", "Extended resources.",
              f"label_values(patchbay_resource_registered{{{NODE}}}, resource)")],
    [dashboard_link("Node dashboard", "One node in detail", "node")])
