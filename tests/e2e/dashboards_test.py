"""Checks the files of the dashboards: panels, variables, links, layout, and queries of existing metrics."""

import json
import re
import subprocess
import sys
import tempfile
import unittest

import observability
import support
from support import SOURCE

WIDTH = 24  # of Grafana's grid
VARIABLES = ["datasource", "cluster", "node", "resource"]  # the first ones, in this order


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

    def test_dashboards_match_their_source(self):
        ran = subprocess.run([sys.executable, "-B", str(SOURCE / "dashboards/generate"), "--check"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_each_panel_has_a_description_a_unit_and_queries(self):
        for _, panel in self.each():
            self.assertGreater(len(panel["description"]), 15)
            shows = panel["fieldConfig"]["defaults"]
            self.assertTrue(shows["unit"])
            if shows["unit"] == "none":  # prints 1234567 unscaled; only for values mapped to words
                self.assertTrue(shows["mappings"])
            self.assertTrue(panel["targets"])

    def test_queries_use_the_chosen_data_source(self):
        for board in self.boards:
            for uid in re.findall(r'"uid": "([^"]*)"', json.dumps(board)):
                self.assertIn(uid, ("${datasource}", board["uid"]))
            self.assertNotIn("__inputs", board)
            names = [v["name"] for v in board["templating"]["list"]]
            self.assertEqual(names[:len(VARIABLES)], VARIABLES)

    def test_only_defined_variables_are_used(self):
        builtin = {"__rate_interval", "__interval", "__range", "__url_time_range", "__data",
                   "__field", "__all"}
        for board in self.boards:
            have = {v["name"] for v in board["templating"]["list"]} | builtin
            used = re.findall(r"\$\{?(\w+)", json.dumps(board))
            self.assertEqual(set(used) - have, set())

    def test_cluster_variable_selects_all_by_default(self):
        for board in self.boards:
            cluster = board["templating"]["list"][VARIABLES.index("cluster")]
            self.assertEqual(cluster["query"]["query"], "label_values(patchbay_build_info, cluster)")
            # .* also matches series without the label.
            self.assertEqual((cluster["label"], cluster["multi"], cluster["includeAll"],
                              cluster["allValue"], cluster["current"]["value"]),
                             ("Cluster", True, True, ".*", ["$__all"]))

    def test_each_query_selects_by_cluster(self):
        for board in self.boards:
            queries = list(observability.queries(board))
            for variable in board["templating"]["list"]:
                if variable["type"] == "query" and variable["name"] != "cluster":
                    queries.append((variable["name"], variable["query"]["query"]))
            for where, query in queries:
                with self.subTest(where):
                    names = re.findall(r"\b(?:(?:patchbay|process)_\w+|ALERTS)", query)
                    # An alert without a cluster, such as PatchbayAbsent, concerns all clusters.
                    selected = re.findall(r'\b(?:(?:patchbay|process)_\w+\{cluster=~"\$cluster"'
                                          r'|ALERTS\{[^}]*, cluster=~"\$cluster\|")[,}]', query)
                    self.assertTrue(names)
                    self.assertEqual(len(selected), len(names), query)

    def test_aggregations_by_node_and_joins_keep_clusters_apart(self):
        grouped = 0
        for board in self.boards:
            for where, query in observability.queries(board):
                for kind, text in re.findall(r"\b(by|on|ignoring|without) \(([^)]*)\)", query):
                    labels = text.split(", ")
                    # Sums of events over clusters are meaningful, values of single nodes are not.
                    if kind != "by" or {"node", "instance", "device", "pod"} & set(labels):
                        self.assertIn("cluster", labels, where)
                        grouped += 1
        self.assertGreater(grouped, 20)

    def test_tables_do_not_merge_rows_of_two_clusters(self):
        for board, panel in self.each():
            if panel["type"] != "table":
                continue
            for target in panel["targets"]:
                if "ALERTS" not in target["expr"]:
                    self.assertRegex(target["expr"], r"\bby \(cluster, ")

    def test_dashboards_link_to_each_other_and_to_device_pages(self):
        text = {board["uid"]: json.dumps(board) for board in self.boards}
        self.assertIn('"/d/patchbay-overview?', text["patchbay-node"])
        self.assertIn('"/d/patchbay-node?', text["patchbay-overview"])
        for board in self.boards:
            self.assertRegex(text[board["uid"]],
                             r'"\$\{page:raw\}\$\{\S+:raw\}/#resource=\$\{\S+\}&device=\$\{\S+\}"')

    def test_links_between_dashboards_keep_the_cluster(self):
        for board in self.boards:
            urls = re.findall(r'"url": "(/d/[^"]*)"', json.dumps(board))
            self.assertTrue(urls)
            for url in urls:
                self.assertRegex(url, r"&(\$\{cluster:queryparam\}"
                                      r"|var-cluster=\$\{__data\.fields\.cluster:percentencode\})(&|$)")
        for board, panel in self.each():
            if "var-cluster=${__data.fields.cluster" in json.dumps(panel):
                shown = next(t["options"]["include"]["pattern"] for t in panel["transformations"]
                             if t["id"] == "filterFieldsByName")
                self.assertIn("^cluster$", shown.split("|"))

    def test_panels_do_not_overlap(self):
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
        found = [panel for _, panel in self.each() if panel["title"] == title]
        self.assertTrue(found, title)
        return found

    def test_event_counts_are_whole_numbers(self):
        for _, panel in self.each():
            if panel["fieldConfig"]["defaults"].get("custom", {}).get("drawStyle") == "bars":
                for target in panel["targets"]:
                    self.assertTrue(target["expr"].startswith("round("), target["expr"])

    def test_failures_have_warning_colors(self):
        for title, series in (("Probe timeouts and errors", "example.com/card timeout"),
                              ("Registrations", "example.com/card failure"),
                              ("Failed hooks", "example.com/card release"),
                              ("Failed gRPC calls", "Allocate INTERNAL")):
            for panel in self.named(title):
                colors = {p["value"]["fixedColor"] for o in panel["fieldConfig"]["overrides"]
                          if o["matcher"]["id"] == "byRegexp"
                          and re.search(o["matcher"]["options"].strip("/"), series)
                          for p in o["properties"] if p["id"] == "color"}
                named = [o for o in panel["fieldConfig"]["overrides"]
                         if o["matcher"]["options"] == "failure"]
                self.assertTrue(named or colors & {"red", "orange", "purple"}, title)

    def test_firing_alerts_are_sorted_by_severity(self):
        support.skip_unless_programs("promtool")
        panel, = self.named("Firing alerts")
        self.assertEqual(panel["options"]["sortBy"][0], {"displayName": "Severity", "desc": True})
        shown = panel["fieldConfig"]["overrides"]
        words = next(p["value"][0]["options"] for o in shown if o["matcher"]["options"] == "Value"
                     for p in o["properties"] if p["id"] == "mappings")
        self.assertEqual([words[rank]["text"] for rank in sorted(words, reverse=True)],
                         ["critical", "warning", "info", "other"])
        labels = '{alertname="PatchbayX%s", alertstate="firing", severity="%s"}'
        ranks = {word["text"]: int(rank) for rank, word in words.items()}
        for chosen in (".*", "c1"):  # alerts without a cluster are shown for each
            expression = observability.substituted(panel["targets"][0]["expr"], {"cluster": chosen})
            self.assert_promql(
                ["ALERTS" + labels % (n, word) for n, word in enumerate(ranks)], expression,
                [{"labels": labels % (n, word), "value": rank}
                 for n, (word, rank) in enumerate(ranks.items())])

    def test_firing_alerts_of_other_clusters_are_hidden(self):
        support.skip_unless_programs("promtool")
        panel, = self.named("Firing alerts")
        labels = '{alertname="PatchbayX", alertstate="firing", severity="info", cluster="%s"}'
        series = ["ALERTS" + labels % cluster for cluster in ("c1", "c2", "c3")]
        for chosen, expected in (("c1", ["c1"]), ("(c1|c3)", ["c1", "c3"]),
                                 (".*", ["c1", "c2", "c3"])):
            expression = observability.substituted(panel["targets"][0]["expr"], {"cluster": chosen})
            self.assert_promql(series, expression,
                               [{"labels": labels % c, "value": 1} for c in expected])

    def assert_promql(self, series, expression, expected):
        """Checks the result of an expression over series that have the value 1."""
        test = {"tests": [{
            "interval": "1m",
            "input_series": [{"series": one, "values": "1"} for one in series],
            "promql_expr_test": [{"expr": expression, "eval_time": "0m",
                                  "exp_samples": expected}]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(test, file)  # JSON is YAML
            file.flush()
            ran = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True,
                                 text=True, timeout=support.PATIENCE)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_only_existing_metrics_are_queried_and_nearly_all_are_used(self):
        families = {row.split()[0] for row in observability.golden()}
        queried = {}
        for board in self.boards:
            for where, query in observability.queries(board):
                queried[where] = observability.metrics_of(query)
        for rule in observability.rules():
            queried[rule["alert"]] = observability.metrics_of(rule["expr"])
        for where, metrics in queried.items():
            self.assertLessEqual(metrics, families, where)
        used = set().union(*queried.values())
        shown_elsewhere = {"process_virtual_memory_bytes", "process_threads"}
        self.assertEqual({f for f in families if f.startswith(("patchbay_", "process_"))} - used,
                         shown_elsewhere)


if __name__ == "__main__":
    support.main()
