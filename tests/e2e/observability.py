"""Access to metric families, dashboards, alerts and the runbook, and a Prometheus server for tests."""

import json
import math
import re
import time
import unittest
import urllib.parse

import support
from support import SOURCE, Process

DASHBOARDS = sorted((SOURCE / "dashboards").glob("*.json"))
ALERTS = SOURCE / "dashboards/alerts.yaml"
ALERTS_TEST = SOURCE / "dashboards/alerts_test.yaml"
RUNBOOK = SOURCE / "docs/runbook.md"
RUNBOOK_URL = "https://github.com/patchbay/patchbay/blob/main/docs/runbook.md"
GOLDEN = SOURCE / "tests/unit/metrics/metrics.golden"
REFERENCE = SOURCE / "docs/metrics.md"
STEP = "1s"  # of scrapes and of ranges


def golden(without=()):
    """The rows `name type label label` of all metric families, `without` those of some conditions."""
    rows = (line.split(None, 1) for line in GOLDEN.read_text().splitlines()
            if line and not line.startswith("#"))
    return {row for condition, row in rows if condition not in without}


def documented():
    """The tables in docs/metrics.md, as name: (type, labels, help)."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$", REFERENCE.read_text(), re.M)
    found = {name: (kind, " ".join(sorted(re.findall(r"`(\w+)`", labels))), help_text)
             for name, kind, labels, help_text in rows}
    assert len(found) == len(rows), "docs/metrics.md lists a family twice"
    return found


def dashboards():
    return [json.loads(file.read_text()) for file in DASHBOARDS]


def panels(dashboard):
    return [p for p in dashboard["panels"] if p["type"] != "row"]


def queries(dashboard):
    """Yields the place and the PromQL of all queries of panels and annotations, but not of variables."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield f"{dashboard['uid']}: {panel['title']} {target['refId']}", target["expr"]
    for event in dashboard["annotations"]["list"]:
        yield f"{dashboard['uid']}: {event['name']}", event["expr"]


def parsed(file):
    """The contents of a YAML file."""
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("python3-yaml is not installed") from None
    return yaml.safe_load(file.read_text())


def rules():
    return [rule for group in parsed(ALERTS)["groups"] for rule in group["rules"]]


def metrics_of(expression):
    """The names of the patchbay_* and process_* families in an expression."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) if "_seconds_" in name else name
            for name in re.findall(r"\b(?:patchbay|process)_\w+", expression)}


def substituted(expression, variables):
    """A query with its variables replaced, as Grafana sends it."""
    for name, value in {"__rate_interval": "10s", "__interval": STEP, "__range": "5m",
                        **variables}.items():
        expression = re.sub(rf"\$({name}\b|\{{{name}\}})", value, expression)
    assert "$" not in expression, expression
    return expression


class Prometheus(Process):
    """A server with the rules of dashboards/, without their `for`, and with targets from a file."""

    def __init__(self, directory):
        self._targets = directory / "targets.json"
        rules = parsed(ALERTS)
        for rule in rules["groups"][0]["rules"]:
            rule.pop("for", None)
        # JSON is YAML.
        (directory / "rules.yaml").write_text(json.dumps(rules))
        (directory / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": STEP, "scrape_timeout": STEP, "evaluation_interval": STEP},
            "rule_files": ["rules.yaml"],
            # Like a PodMonitor with honorLabels and the label `node`; see docs/dashboards.md.
            "scrape_configs": [{"job_name": "patchbay", "honor_labels": True,
                                # Changes made before it watches the file are found by the refresh.
                                "file_sd_configs": [{"files": [self._targets.name],
                                                     "refresh_interval": "1s"}]}]}))
        self.serve({})
        super().__init__(["prometheus", f"--config.file={directory}/prometheus.yaml",
                          f"--storage.tsdb.path={directory}/tsdb",
                          "--web.listen-address=127.0.0.1:0"])
        _, line = self.err.wait('msg="Listening on"')
        self._address = re.search(r"address=(\S+)", line)[1]
        self.err.wait("Server is ready")

    def serve(self, nodes, clusters=None):
        """Sets the targets: addresses by node name, and the label `cluster` of some of the nodes."""
        self._targets.with_suffix(".new").write_text(json.dumps([
            {"targets": [address],
             "labels": {"node": node, "namespace": "kube-system", "pod": f"patchbay-{node}",
                        "container": "patchbay",
                        **({"cluster": clusters[node]} if node in (clusters or {}) else {})}}
            for node, address in nodes.items()]))
        self._targets.with_suffix(".new").rename(self._targets)

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        _, body = support.get(self._address, f"/api/v1/{path}?{query}")
        answer = json.loads(body)
        if answer["status"] != "success":
            raise AssertionError(f"{path} {parameters}: {answer['error']}")
        return answer["data"]

    def value(self, expression):
        """The current value of the first series, or None."""
        result = self.ask("query", query=expression)["result"]
        return float(result[0]["value"][1]) if result else None

    def values(self, expression, start):
        """The numbers of all series since `start`, without NaN."""
        result = self.ask("query_range", query=expression, start=start, end=time.time(),
                          step=STEP)["result"]
        return {float(v) for series in result for _, v in series["values"]
                if not math.isnan(float(v))}

    def has_data(self, expression, start):
        """Whether there was a number at any time since `start`."""
        return bool(self.values(expression, start))

    def firing(self):
        """The labels of all firing alerts."""
        return [a["labels"] for a in self.ask("alerts")["alerts"] if a["state"] == "firing"]

    def up(self):
        """The number of targets that respond."""
        return sum(t["health"] == "up" for t in self.ask("targets")["activeTargets"])
