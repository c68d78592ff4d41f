"""Compiles the dashboards against the types of @grafana/schema.

It uses two versions: the oldest Grafana with complete types, and a recent one.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

import observability
import support
from support import SOURCE

MODULES = SOURCE / "build/node/node_modules"
SCHEMAS = ("grafana-schema-10", "@grafana/schema")

# `Plain` replaces enumerations with their values. `percentChangeColorMode` was added later and is optional in
# practice, so it is omitted for both versions. `Event` adds the keys of annotations that the Prometheus data
# source (grafana-prometheus) reads, which are missing in the types.
TYPES = """
import type { AnnotationQuery, Dashboard } from "SCHEMA";
import type * as stat from "SCHEMA/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as table from "SCHEMA/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as lines from "SCHEMA/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
import type * as states from "SCHEMA/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen";

type Plain<T> = T extends string ? `${T}`
  : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Event = AnnotationQuery & { expr: string; step: string; titleFormat: string;
  textFormat: string; tagKeys: string; useValueForTime: boolean };
export type Board = Plain<Omit<Dashboard, "annotations"> & { annotations: { list: Event[] } }>;
export interface Options {
  "stat": Plain<Omit<stat.Options, "percentChangeColorMode">>; "table": Plain<table.Options>;
  "timeseries": Plain<lines.Options>; "state-timeline": Plain<states.Options>;
}
export interface Custom {
  "stat": {}; "table": Plain<table.FieldConfig>;
  "timeseries": Plain<lines.FieldConfig>; "state-timeline": Plain<states.FieldConfig>;
}
"""


def program(dashboard):
    """A TypeScript program that compiles if the dashboard is valid."""
    lines = ['import type { Board, Custom, Options } from "./types";',
             f"export const board: Board = {json.dumps(dashboard, indent=1)};"]
    for panel in observability.panels(dashboard):
        kind, number = json.dumps(panel["type"]), panel["id"]
        custom = panel["fieldConfig"]["defaults"].get("custom", {})
        lines += [f"export const o{number}: Options[{kind}] = {json.dumps(panel['options'])};",
                  f"export const c{number}: Custom[{kind}] = {json.dumps(custom)};"]
    return "\n".join(lines)


def compile_all(dashboards, schema):
    """Returns the output of tsc, which is empty without errors."""
    with tempfile.TemporaryDirectory(prefix="pb-", dir="/tmp") as directory:
        at = pathlib.Path(directory)
        (at / "node_modules").symlink_to(MODULES)
        (at / "types.ts").write_text(TYPES.replace("SCHEMA", schema))
        for i, dashboard in enumerate(dashboards):
            (at / f"board{i}.ts").write_text(program(dashboard))
        ran = subprocess.run(
            ["node", str(MODULES / "typescript/bin/tsc"), "--noEmit", "--strict", "--module",
             "esnext", "--moduleResolution", "bundler", "--skipLibCheck",
             *(str(file) for file in at.glob("board*.ts"))],
            capture_output=True, text=True, timeout=100, cwd=at)
        return ran.stdout + ran.stderr


class Dashboards(unittest.TestCase):
    def test_dashboards_compile_against_grafanas_types(self):
        support.skip_unless_programs("node")
        for schema in SCHEMAS:
            with self.subTest(schema):
                if not (MODULES / schema).exists():
                    self.skipTest(f"{schema} is not in build/node: scripts/test installs it with npm")
                self.assertEqual(compile_all(observability.dashboards(), schema), "")
                invalid = observability.dashboards()[0]
                invalid["refresh_every"] = "30s"
                observability.panels(invalid)[0]["options"]["colorMode"] = "gaudy"
                errors = compile_all([invalid], schema)
                self.assertIn("refresh_every", errors)
                self.assertIn("gaudy", errors)


if __name__ == "__main__":
    support.main()
