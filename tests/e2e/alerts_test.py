"""The alerts as files: each is tried both ways, and leads to what is to be done."""

import re
import unittest

import observability
import support


def anchors():
    """The headings of the runbook that are alerts, by the anchor that GitHub makes of them."""
    titles = re.findall(r"^## (Patchbay\w+)$", observability.RUNBOOK.read_text(), re.M)
    return {title.lower(): title for title in titles}


class Alerts(unittest.TestCase):
    def setUp(self):
        self.maxDiff = None
        self.rules = {rule["alert"]: rule for rule in observability.rules()}

    def test_are_tried_firing_and_not_firing(self):
        fires, silent = set(), set()
        for test in observability.parsed(observability.ALERTS_TEST)["tests"]:
            cases = test["alert_rule_test"]
            fires |= {case["alertname"] for case in cases if case["exp_alerts"]}
            # Not yet firing is one thing, never firing where all is well another.
            if not any(case["exp_alerts"] for case in cases):
                silent |= {case["alertname"] for case in cases}
        self.assertEqual(fires, set(self.rules))
        self.assertEqual(silent, set(self.rules))

    def test_say_how_bad_it_is_and_what_it_is(self):
        for name, rule in self.rules.items():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"), name)
            self.assertEqual({"summary", "description", "runbook_url"}, set(rule["annotations"]),
                             name)

    def test_lead_to_the_runbook_and_it_has_no_others(self):
        self.assertEqual(set(anchors().values()), set(self.rules))
        for name, rule in self.rules.items():
            url, anchor = rule["annotations"]["runbook_url"].split("#")
            self.assertEqual((url, anchors()[anchor]), (observability.RUNBOOK_URL, name))

    def test_have_entries_that_help(self):
        text = observability.RUNBOOK.read_text()
        for name, entry in zip(re.findall(r"^## (Patchbay\w+)$", text, re.M),
                               re.split(r"^## Patchbay\w+$", text, flags=re.M)[1:]):
            for part in ("**Meaning.**", "**Impact.**", "**Diagnosis.**", "**Mitigation.**"):
                self.assertIn(part, entry, name)

    def test_name_commands_that_there_are(self):
        said = support.run("--help")
        there_are = set(re.findall(r"^  (\w+) ", said.stdout, re.M))
        self.assertIn("explain", there_are)
        code = re.findall(r"`[^`\n]+`|^\$ .*$", observability.RUNBOOK.read_text(), re.M)
        named = set(re.findall(r"\bpatchbay ([a-z]+)\b", " ".join(code)))
        self.assertGreater(len(named), 2)
        self.assertLessEqual(named, there_are)


if __name__ == "__main__":
    support.main()
