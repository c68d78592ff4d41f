// Validates Kubernetes objects: `node manifests.mjs MODULES <objects.json`, MODULES being
// the directory with the node_modules of tests/node. Prints a JSON list of errors, empty if there are none.
//
// Two validators are necessary: the schemas detect missing keys and wrong types, and the compiler detects
// unknown keys in an object literal of a known type.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const modules = process.argv[2];
const require = createRequire(join(modules, "package.json"));
const ts = require("typescript");

// There are no published models of security.openshift.io/v1. A list that is null is empty.
const OPENSHIFT = `
interface Strategy { type: string; ranges?: { min: number; max: number }[] }
export interface ISecurityContextConstraints {
  apiVersion: "security.openshift.io/v1";
  kind: "SecurityContextConstraints";
  metadata: { name: string; namespace?: string; labels?: Record<string, string>;
              annotations?: Record<string, string> };
  priority?: number | null;
  allowHostDirVolumePlugin: boolean; allowHostIPC: boolean; allowHostNetwork: boolean;
  allowHostPID: boolean; allowHostPorts: boolean; allowPrivilegeEscalation?: boolean;
  allowPrivilegedContainer: boolean; defaultAllowPrivilegeEscalation?: boolean;
  allowedCapabilities: string[] | null; defaultAddCapabilities: string[] | null;
  requiredDropCapabilities: string[] | null; readOnlyRootFilesystem: boolean;
  runAsUser: Strategy & { uid?: number };
  seLinuxContext: Strategy & { seLinuxOptions?: { type?: string; level?: string } };
  fsGroup: Strategy; supplementalGroups: Strategy;
  seccompProfiles?: string[]; volumes: string[]; users?: string[]; groups?: string[];
}`;

// The module with the model of an object, or nothing if it has none.
function moduleOf({ apiVersion, kind }) {
  if (apiVersion === "security.openshift.io/v1") return undefined;
  const packageOf = apiVersion.startsWith("monitoring.coreos.com/")
    ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
  return `${packageOf}/${apiVersion}/${kind}`;
}

function schemaProblem(object) {
  const module = moduleOf(object);
  if (!module) return undefined;
  try {
    const { [object.kind]: Model } = require(module);
    new Model(object).validate();
  } catch (error) {
    return error.message;
  }
}

function compilerProblems(directory, objects) {
  writeFileSync(join(directory, "openshift.d.ts"), OPENSHIFT);
  const files = objects.map((object, index) => {
    const file = join(directory, `${index}.ts`);
    writeFileSync(file, `import type { I${object.kind} } from "${moduleOf(object) ?? "./openshift"}";\n` +
      `export const object: I${object.kind} = ${JSON.stringify(object, null, 1)};\n`);
    return file;
  });
  const program = ts.createProgram(files, {
    noEmit: true, strict: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.CommonJS, moduleResolution: ts.ModuleResolutionKind.Node10,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const object = file && objects[files.indexOf(file.fileName)];
    const text = ts.flattenDiagnosticMessageText(messageText, " ");
    return object ? `${name(object)}: ${text}` : text;
  });
}

const name = (object) => `${object.kind} ${object.metadata?.name}`;

const objects = JSON.parse(readFileSync(0, "utf8"));
const directory = mkdtempSync(join(modules, "manifests-"));
try {
  const problems = objects.flatMap((object) => {
    const problem = schemaProblem(object);
    return problem ? [`${name(object)}: ${problem}`] : [];
  });
  console.log(JSON.stringify([...problems, ...compilerProblems(directory, objects)]));
} finally {
  rmSync(directory, { recursive: true });
}
