"""Checks the files of the alerts: promtool tests for each alert, annotations, and runbook entries."""

import re
import unittest

import observability
import support


def anchors():
    """The runbook's headings of alerts, by the anchor that GitHub generates for them."""
    titles = re.findall(r"^## (Patchbay\w+)$", observability.RUNBOOK.read_text(), re.M)
    return {title.lower(): title for title in titles}


class Alerts(unittest.TestCase):
    def setUp(self):
        self.maxDiff = None
        self.rules = {rule["alert"]: rule for rule in observability.rules()}

    def test_each_alert_is_tested_firing_and_silent(self):
        fires, silent = set(), set()
        for test in observability.parsed(observability.ALERTS_TEST)["tests"]:
            cases = test["alert_rule_test"]
            fires |= {case["alertname"] for case in cases if case["exp_alerts"]}
            # A test in which the alert fires later does not show that it stays silent without a fault.
            if not any(case["exp_alerts"] for case in cases):
                silent |= {case["alertname"] for case in cases}
        self.assertEqual(fires, set(self.rules))
        self.assertEqual(silent, set(self.rules))

    def test_each_alert_has_a_severity_and_all_annotations(self):
        for name, rule in self.rules.items():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"), name)
            self.assertEqual({"summary", "description", "runbook_url"}, set(rule["annotations"]),
                             name)

    def test_aggregations_and_joins_keep_clusters_apart(self):
        grouped = 0
        for name, rule in self.rules.items():
            for labels in re.findall(r"\b(?:by|on|ignoring|without) \(([^)]*)\)", rule["expr"]):
                self.assertIn("cluster", labels.split(", "), name)
                grouped += 1
        self.assertGreater(grouped, 5)

    def test_runbook_has_an_entry_for_each_alert_and_no_others(self):
        self.assertEqual(set(anchors().values()), set(self.rules))
        for name, rule in self.rules.items():
            url, anchor = rule["annotations"]["runbook_url"].split("#")
            self.assertEqual((url, anchors()[anchor]), (observability.RUNBOOK_URL, name))

    def test_runbook_entries_have_all_parts(self):
        text = observability.RUNBOOK.read_text()
        for name, entry in zip(re.findall(r"^## (Patchbay\w+)$", text, re.M),
                               re.split(r"^## Patchbay\w+$", text, flags=re.M)[1:]):
            for part in ("**Meaning.**", "**Impact.**", "**Diagnosis.**", "**Mitigation.**"):
                self.assertIn(part, entry, name)

    def test_runbook_names_only_existing_panels(self):
        titles = {panel["title"] for board in observability.dashboards()
                  for panel in observability.panels(board)}
        text = " ".join(observability.RUNBOOK.read_text().split())
        named = re.findall(r"\*([^*]+)\* (?:panel|table)", text)
        self.assertGreater(len(named), 4)
        self.assertLessEqual(set(named), titles)

    def test_runbook_names_only_existing_commands(self):
        help_text = support.run("--help")
        existing = set(re.findall(r"^  (\w+) ", help_text.stdout, re.M))
        self.assertIn("explain", existing)
        code = re.findall(r"`[^`\n]+`|^\$ .*$", observability.RUNBOOK.read_text(), re.M)
        named = set(re.findall(r"\bpatchbay ([a-z]+)\b", " ".join(code)))
        self.assertGreater(len(named), 2)
        self.assertLessEqual(named, existing)


if __name__ == "__main__":
    support.main()
