"""The cluster: all nodes and resources, what is wrong with which of them."""

from panels import (ACCEPTED_OR_REFUSED, BAD, FULL_IS_ODD, GOOD, NEUTRAL, NONE_IS_GOOD,
                    ONE_IS_GOOD, PLAIN, SOME_IS_ODD, UP_OR_DOWN, WARN, bars, by_name, colored,
                    dashboard, increase, labelled, lines, narrow, query, stat, table, to_node,
                    to_page_of_row, variable, words)

NODE = 'node=~"$node"'
BOTH = 'node=~"$node", resource=~"$resource"'

# Two pods of one node, as in a rolling update, tell the same of it: the greater counts.
CAPACITY = f"max by (node, resource, health) (patchbay_devices{{{BOTH}}})"
HEALTHY = f'max by (node, resource) (patchbay_devices{{{BOTH}, health="healthy"}})'
UNHEALTHY = f'max by (node, resource) (patchbay_devices{{{BOTH}, health="unhealthy"}})'
IN_USE = f"max by (node, resource) (patchbay_devices_in_use{{{BOTH}}})"
REGISTERED = f"max by (node, resource) (patchbay_registered{{{BOTH}}})"
SEVERITY = words(v3=("critical", BAD), v2=("warning", WARN), v1=("info", "blue"),
                 v0=("other", PLAIN))
KUBELET_UP = f"max by (node) (patchbay_kubelet_up{{{NODE}}})"
ACCEPTED = f"min by (node) (patchbay_config_last_reload_successful{{{NODE}}})"


def happened(metric, by, more="", labels=BOTH):
    return increase(metric, by, labelled(labels, more))


def firing(severity=""):
    return "ALERTS" + labelled('alertname=~"Patchbay.*", alertstate="firing"',
                               f'severity="{severity}"' if severity else "")


def latency(share):
    return (f"histogram_quantile({share}, sum by (le) (rate(patchbay_rpc_duration_seconds_bucket"
            f'{{{BOTH}, method="Allocate"}}[$__rate_interval])))')


GLANCE = [
    stat("Nodes", "Nodes whose Patchbay is scraped. Fewer than nodes that should have it: see the "
         "alerts PatchbayDown and PatchbayAbsent.",
         f"count(max by (node) (patchbay_build_info{{{NODE}}}))"),
    stat("Kubelets down", "Nodes on which Patchbay does not reach the kubelet. No pod gets a device "
         "there.", f"count({KUBELET_UP} == 0) or vector(0)", steps=NONE_IS_GOOD),
    stat("Resources", "Extended resources that are configured on at least one node.",
         f"count(count by (resource) ({REGISTERED}))"),
    stat("Not registered", "Resources of nodes that their kubelet does not know: pods that ask for "
         "them are not placed there.", f"count({REGISTERED} == 0) or vector(0)",
         steps=NONE_IS_GOOD),
    stat("Capacity", "Units of all resources: devices times replicas, the broken ones included.",
         f"sum({CAPACITY})"),
    stat("Healthy", "Units that the scheduler can count on. Red when there are none.",
         f"sum({HEALTHY})", steps=ONE_IS_GOOD),
    stat("In use", "Units that pods hold, as the kubelets last said.", f"sum({IN_USE})"),
    stat("Configurations refused", "Nodes that go on with an older configuration because the newest "
         "has mistakes. Run `patchbay check` on it.", f"count({ACCEPTED} == 0) or vector(0)",
         steps=NONE_IS_GOOD),
    table("Alerts that fire", """Alerts of dashboards/alerts.yaml that fire now. docs/runbook.md has
          an entry for each: what it means and what to do.""",
          [query(f"3 * {firing('critical')} or 2 * {firing('warning')} or 1 * {firing('info')} "
                 f"or 0 * {firing()}", instant=True, table=True)],
          (24, 6), {"Value": "Severity", "alertname": "Alert", "node": "Node",
                    "resource": "Resource", "device": "Device"}, sort="-Value alertname",
          overrides=[colored("Value", NEUTRAL, SEVERITY), by_name("node", links=[to_node()])]),
]

TABLES = [
    table("By resource", """Each resource over all nodes. Free is what a pod that is created now can
          get; a resource without healthy units has its hardware nowhere, or a pattern that matches
          nothing. Click on a name to see it alone.""",
          [query(f"count by (resource) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (resource) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (resource) ({CAPACITY})", instant=True, table=True),
           query(f"sum by (resource) ({HEALTHY})", instant=True, table=True),
           query(f"sum by (resource) ({IN_USE})", instant=True, table=True),
           query(f"clamp_min(sum by (resource) ({HEALTHY}) - sum by (resource) ({IN_USE}), 0)",
                 instant=True, table=True),
           query("sum by (resource) (increase(patchbay_allocations_total{"
                 f'{BOTH}, result="failure"}}[$__range]))', instant=True, table=True)],
          (11, 9), {"resource": "Resource", "Value #A": "Nodes", "Value #B": "Registered",
                    "Value #C": "Capacity", "Value #D": "Healthy", "Value #E": "In use",
                    "Value #F": "Free", "Value #G": "Errors"}, sort="resource",
          overrides=[by_name("resource", links=[
              {"title": "Show only this resource",
               "url": "/d/patchbay-overview?var-datasource=${datasource}"
                      "&var-page=${page:percentencode}"
                      "&var-resource=${__data.fields.resource:percentencode}&${__url_time_range}"}]),
                     *narrow(A=60, B=85, C=75, D=70, E=60, F=50, G=60),
                     colored("Value #D", ONE_IS_GOOD),
                     by_name("Value #G", decimals=0, cell={"type": "color-text"},
                             thresholds=SOME_IS_ODD)]),
    table("By node", """Each node, with the version that runs there. Click on a name for the
          dashboard of the node, on an address for its page.""",
          [query(f"max by (node, instance, version) (patchbay_build_info{{{NODE}}})", instant=True,
                 table=True),
           query(KUBELET_UP, instant=True, table=True),
           query(ACCEPTED, instant=True, table=True),
           query(f"sum by (node) ({REGISTERED})", instant=True, table=True),
           query(f"sum by (node) ({CAPACITY})", instant=True, table=True),
           query(f"sum by (node) ({HEALTHY})", instant=True, table=True),
           query(f"sum by (node) ({IN_USE})", instant=True, table=True)],
          (13, 9), {"node": "Node", "instance": "Address", "version": "Version",
                    "Value #B": "Kubelet", "Value #C": "Config", "Value #D": "Registered",
                    "Value #E": "Capacity", "Value #F": "Healthy", "Value #G": "In use"},
          sort="node",
          overrides=[by_name("node", links=[to_node()]),
                     by_name("version", width=65),
                     *narrow(B=65, C=80, D=85, E=75, F=70, G=60),
                     by_name("instance", width=125, links=[
                         {"title": "Open the node's page", "targetBlank": True,
                          "url": "${page:raw}${__data.fields.instance:raw}/"}]),
                     colored("Value #B", ONE_IS_GOOD, UP_OR_DOWN),
                     colored("Value #C", ONE_IS_GOOD, ACCEPTED_OR_REFUSED)]),
]

DEVICES = [
    lines("Units", "Capacity, what of it works and what of it pods hold. Where healthy falls below "
          "capacity, devices broke or went; where in use meets healthy, the next pod waits.", "short",
          [query(f"sum({CAPACITY})", "capacity"), query(f"sum({HEALTHY})", "healthy"),
           query(f"sum({IN_USE})", "in use")], whole=True,
          colors={"capacity": "blue", "healthy": GOOD, "in use": WARN}),
    lines("Share in use", "Of the healthy units of each resource, those that pods hold. At 100 % the "
          "next pod that asks for one waits.", "percentunit",
          [query(f"sum by (resource) ({IN_USE}) / (sum by (resource) ({HEALTHY}) > 0)",
                 "{{resource}}")], steps=FULL_IS_ODD),
    lines("Unhealthy units", "Units of each resource that pods cannot get, since the device is broken "
          "or gone. The table below names those that hit a pod.", "short",
          [query(f"sum by (resource) ({UNHEALTHY})", "{{resource}}")], whole=True, stack=True),
    bars("Devices that turned", "How often devices turned healthy or unhealthy. Many of both: a loose "
         "cable, or a probe that is too strict.",
         [query(happened("patchbay_device_health_transitions_total", "to"), "{{to}}")],
         colors={"healthy": GOOD, "unhealthy": BAD}),
    lines("Matched but not advertised", """What matched a resource and is not offered to pods, by
          reason. `patchbay explain` on the node names each path and what to do about it.""", "short",
          [query("sum by (resource, reason) (max by (node, resource, reason) "
                 f"(patchbay_rejected_devices{{{BOTH}}})) > 0", "{{resource}} {{reason}}")],
          whole=True, stack=True),
    lines("Since the host was last seen whole", """Since when a look at the host did not succeed, the
          worst resource of each node. Above a few rescans: a directory cannot be read, or a file
          system hangs; the log of the node says which.""", "s",
          [query("max by (node) (time() - max by (node, resource) "
                 f"(patchbay_discovery_last_success_timestamp_seconds{{{BOTH}}}))", "{{node}}")],
          steps=None),
    table("Pods that hold a broken device", """The device was given to the pod and does not work any
          more. Kubernetes leaves the pod where it is: delete it, so that it gets another, and see to
          the device. Click on a device for its page.""",
          [query("max by (node, instance, resource, device, namespace, pod, container) "
                 f"(patchbay_device_in_use{{{BOTH}}} and on (job, instance, resource, device) "
                 f"(patchbay_device_healthy{{{BOTH}}} == 0))", instant=True, table=True)],
          (24, 6), {"namespace": "Namespace", "pod": "Pod", "container": "Container",
                    "resource": "Resource", "device": "Device", "node": "Node",
                    "instance": "Address"}, sort="pod",
          overrides=[by_name("device", links=[to_page_of_row()]),
                     by_name("node", links=[to_node()])]),
]

KUBELETS = [
    lines("Resources registered", "Resources that the kubelet of each node knows. A dip of seconds is "
          "a restart of the kubelet; one that stays keeps pods from being placed.", "short",
          [query(f"sum by (node) ({REGISTERED})", "{{node}}")], whole=True),
    bars("Registrations", "Attempts to register with a kubelet. Failures that go on are told with "
         "their reason in the log of the node.",
         [query(happened("patchbay_registrations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    bars("Restarts of the kubelet", "How often kubelets came back and had everything registered "
         "again. One that restarts again and again: see its own log.",
         [query(happened("patchbay_kubelet_restarts_total", "node", labels=NODE), "{{node}}")]),
]

ALLOCATIONS = [
    bars("Containers that asked", "Answers to the kubelets, one for each container. A failure keeps "
         "the pod from starting; its event names the reason.",
         [query(happened("patchbay_allocations_total", "result"), "{{result}}")],
         colors={"success": GOOD, "failure": BAD}),
    lines("Time of Allocate", "How long kubelets wait for an answer: 99 of 100 times less than p99. "
          "They admit one pod at a time: above 100 ms, look at `allocate` hooks and at how busy the "
          "node is.", "s",
          [query(latency(0.5), "p50"), query(latency(0.9), "p90"), query(latency(0.99), "p99")],
          colors={"p50": GOOD, "p90": "yellow", "p99": WARN}),
    bars("Calls that failed", "Calls of kubelets by method and gRPC code, without those that went well "
         "and streams that their reader ended. The log of the node has each with its reason.",
         [query(happened("patchbay_rpcs_total", "method, code", 'code!~"OK|CANCELLED"'),
                "{{method}} {{code}}")], colors={"/./": BAD}),
    bars("Hooks that failed", "Runs of hooks that failed. `pre_start` and `allocate` keep a container "
         "from starting; after a failed `release` the next pod finds what the last one left.",
         [query(happened("patchbay_hooks_total", "resource, hook", 'result="failure"') + " > 0",
                "{{resource}} {{hook}}")], size=(12, 8), colors={"/./": BAD}),
    bars("Probes", "Health probes by result. `timeout` and `error` say that the probe did not get to "
         "ask: give it more time, or mend it with `patchbay devices --probe`.",
         [query(happened("patchbay_probes_total", "result"), "{{result}}")], size=(12, 8),
         colors={"success": GOOD, "failure": BAD, "timeout": WARN, "error": "purple"}),
]

CONFIGURATION = [
    bars("Reloads", "How often a configuration was read, the first time included. One that failed "
         "changed nothing: the last good one stays in force.",
         [query(happened("patchbay_config_reloads_total", "result", labels=NODE), "{{result}}")],
         size=(12, 8), colors={"success": GOOD, "failure": BAD}),
    lines("Age of the configuration", "Since when the configuration in force was read. After a change "
          "all nodes fall to 0; one that does not has not got it.", "s",
          [query("time() - max by (node) "
                 f"(patchbay_config_last_reload_success_timestamp_seconds{{{NODE}}})",
                 "{{node}}")], size=(12, 8)),
]

DASHBOARD = dashboard(
    "patchbay-overview", "Patchbay / Overview",
    "Devices that Patchbay serves to the kubelets of a cluster: what there is, what works, what is in "
    "use, and what goes wrong.",
    [("At a glance", GLANCE), ("Resources and nodes", TABLES), ("Devices", DEVICES),
     ("Kubelets", KUBELETS), ("Allocations, hooks and probes", ALLOCATIONS),
     ("Configuration", CONFIGURATION)],
    [variable("node", "Node", "Kubernetes nodes; needs the label `node`, see docs/dashboards.md.",
              "label_values(patchbay_build_info, node)"),
     variable("resource", "Resource", "Extended resources.",
              'label_values(patchbay_registered{node=~"$node"}, resource)')],
    [{"type": "link", "title": "A node", "icon": "dashboard", "tooltip": "One node in detail",
      "url": "/d/patchbay-node?var-datasource=${datasource}&var-page=${page:percentencode}",
      "keepTime": True, "includeVars": False, "asDropdown": False, "targetBlank": False,
      "tags": []}])
