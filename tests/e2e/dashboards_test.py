"""The dashboards as files: complete, in order, and of metrics that there are."""

import json
import re
import subprocess
import sys
import tempfile
import unittest

import observability
import support
from support import SOURCE

WIDTH = 24

class Dashboards(unittest.TestCase):
    def setUp(self):
        self.maxDiff = None
        self.boards = observability.dashboards()
        self.assertEqual([b["uid"] for b in self.boards], ["patchbay-node", "patchbay-overview"])

    def each(self):
        for board in self.boards:
            for panel in observability.panels(board):
                with self.subTest(dashboard=board["uid"], panel=panel["title"]):
                    yield board, panel

    def test_are_what_their_source_makes(self):
        ran = subprocess.run([sys.executable, "-B", str(SOURCE / "dashboards/generate"), "--check"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_say_what_each_panel_is_for_and_in_which_unit(self):
        for _, panel in self.each():
            self.assertGreater(len(panel["description"]), 15)
            shows = panel["fieldConfig"]["defaults"]
            self.assertTrue(shows["unit"])
            if shows["unit"] == "none":  # 1234567 as it is; right for what is shown as a word
                self.assertTrue(shows["mappings"])
            self.assertTrue(panel["targets"])

    def test_ask_the_data_source_that_was_chosen(self):
        for board in self.boards:
            for uid in re.findall(r'"uid": "([^"]*)"', json.dumps(board)):
                self.assertIn(uid, ("${datasource}", board["uid"]))
            self.assertNotIn("__inputs", board)
            names = [v["name"] for v in board["templating"]["list"]]
            self.assertEqual(names[:3], ["datasource", "node", "resource"])

    def test_use_only_variables_that_they_have(self):
        builtin = {"__rate_interval", "__interval", "__range", "__url_time_range", "__data",
                   "__field", "__all"}
        for board in self.boards:
            have = {v["name"] for v in board["templating"]["list"]} | builtin
            used = re.findall(r"\$\{?(\w+)", json.dumps(board))
            self.assertEqual(set(used) - have, set())

    def test_lead_to_each_other_and_to_the_page_of_a_device(self):
        text = {board["uid"]: json.dumps(board) for board in self.boards}
        self.assertIn('"/d/patchbay-overview?', text["patchbay-node"])
        self.assertIn('"/d/patchbay-node?', text["patchbay-overview"])
        for board in self.boards:
            self.assertRegex(text[board["uid"]],
                             r'"\$\{page:raw\}\$\{\S+:raw\}/#resource=\$\{\S+\}&device=\$\{\S+\}"')

    def test_lay_no_panel_over_another(self):
        for board in self.boards:
            taken = set()
            for panel in board["panels"]:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                         for y in range(place["y"], place["y"] + place["h"])}
                self.assertLessEqual(place["x"] + place["w"], WIDTH, panel["title"])
                self.assertFalse(cells & taken, panel["title"])
                taken |= cells
            numbers = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(numbers), len(set(numbers)))

    def named(self, title):
        return [panel for _, panel in self.each() if panel["title"] == title]

    def test_count_in_whole_numbers(self):
        for _, panel in self.each():
            if panel["fieldConfig"]["defaults"].get("custom", {}).get("drawStyle") == "bars":
                for target in panel["targets"]:
                    self.assertTrue(target["expr"].startswith("round("), target["expr"])

    def test_draw_what_went_wrong_in_no_colour_of_what_went_well(self):
        for title, series in (("Probes that got no answer", "example.com/card timeout"),
                              ("Registrations", "example.com/card failure"),
                              ("Hooks that failed", "example.com/card release"),
                              ("Calls that failed", "Allocate INTERNAL")):
            for panel in self.named(title):
                colours = {p["value"]["fixedColor"] for o in panel["fieldConfig"]["overrides"]
                           if o["matcher"]["id"] == "byRegexp"
                           and re.search(o["matcher"]["options"].strip("/"), series)
                           for p in o["properties"] if p["id"] == "color"}
                named = [o for o in panel["fieldConfig"]["overrides"]
                         if o["matcher"]["options"] == "failure"]
                self.assertTrue(named or colours & {"red", "orange", "purple"}, title)

    def test_show_the_worst_alerts_first(self):
        support.skip_unless_programs("promtool")
        panel, = self.named("Alerts that fire")
        self.assertEqual(panel["options"]["sortBy"][0], {"displayName": "Severity", "desc": True})
        shown = panel["fieldConfig"]["overrides"]
        words = next(p["value"][0]["options"] for o in shown if o["matcher"]["options"] == "Value"
                     for p in o["properties"] if p["id"] == "mappings")
        self.assertEqual([words[rank]["text"] for rank in sorted(words, reverse=True)],
                         ["critical", "warning", "info", "other"])
        labels = '{alertname="PatchbayX%s", alertstate="firing", severity="%s"}'
        ranks = {word["text"]: int(rank) for rank, word in words.items()}
        test = {"tests": [{
            "interval": "1m",
            "input_series": [{"series": "ALERTS" + labels % (n, word), "values": "1"}
                             for n, word in enumerate(ranks)],
            "promql_expr_test": [{
                "expr": panel["targets"][0]["expr"], "eval_time": "0m",
                "exp_samples": [{"labels": labels % (n, word), "value": rank}
                                for n, (word, rank) in enumerate(ranks.items())]}]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(test, file)  # JSON is YAML
            file.flush()
            ran = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True,
                                 text=True, timeout=support.PATIENCE)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_ask_only_for_what_there_is(self):
        families = {row.split()[0] for row in observability.golden()}
        asked = {}
        for board in self.boards:
            for where, query in observability.queries(board):
                asked[where] = observability.metrics_of(query)
        for rule in observability.rules():
            asked[rule["alert"]] = observability.metrics_of(rule["expr"])
        for where, metrics in asked.items():
            self.assertLessEqual(metrics, families, where)
        everything = set().union(*asked.values())
        shown_elsewhere = {"process_virtual_memory_bytes", "process_threads"}
        self.assertEqual({f for f in families if f.startswith(("patchbay_", "process_"))} -
                         everything, shown_elsewhere)


if __name__ == "__main__":
    support.main()
