"use strict";

// A resource, its devices and its rejected paths.

const kRowsAtFirst = 1000;  // in all resources together
const kMoreRows = 200;

const kStates = {
  registered: ["good", "registered"],
  registering: ["busy", "registering"],
  retrying: ["warn", "not registered"],
  waiting: ["idle", "waiting"],
  retiring: ["idle", "retiring"],
};

const kColumns = [["c-id", "Device"], ["c-health", "Health"], ["c-held", "Used by"],
  ["c-probe", "Last probe"], ["c-path", "Path"], ["c-numa", "NUMA"]];

const sections = () => [...(at("resources").byKey ?? new Map()).values()];

function makeSection({ resource }) {
  const part = {
    rows: 0,  // the maximum; 0: the initial number
    name: make("h2", { class: "mono" }), about: make("span", { class: "about" }),
    registration: make("span"), why: make("span", { class: "why" }),
    sums: make("span", { class: "sums" }),
    body: make("tbody", { role: "rowgroup" }), none: make("div", { class: "none" }),
    more: make("div", { class: "rows-more" }), left: make("span"),
    button: make("button", { type: "button" }, "Show more"),
    rejected: make("div", { class: "rejected" }), rejections: make("ul"), title: make("h3"),
    missing: make("div", { class: "missing" }), mounts: make("ul"),
    unused: make("div", { class: "missing" }), excludes: make("ul"),
    attention: make("div", { class: "missing" }), notes: make("ul"),
    probe: make("p", { class: "probe" }), pool: make("div", { class: "pool" }),
    snippet: make("div", { class: "snippet", hidden: "" }),
    use: make("button", { type: "button", class: "use", "aria-expanded": "false", "aria-label": `Pod snippet for ${resource.name}` }, "Pod snippet"),
  };
  part.table = make("table", { role: "table", "aria-label": `Devices of ${resource.name}` },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" },
      ...kColumns.map(([name, text]) => make("th", { class: name, scope: "col", role: "columnheader" }, text)))),
    part.body);
  part.more.append(part.button, part.left);
  part.rejected.append(part.title, part.rejections);
  part.missing.append(make("h3", {}, "Missing mount sources on the host"), part.mounts);
  part.unused.append(make("h3", {}, "Excludes without effect"), part.excludes);
  part.attention.append(make("h3", {}, "Devices that need attention"), part.notes);
  part.details = make("details", { class: "resource", open: "" },
    make("summary", {}, make("span", {}, part.name, part.about), part.registration, part.why, part.sums),
    make("div", { class: "tools" }, part.probe, part.use), part.snippet, part.pool, part.none, part.table, part.more, part.rejected, part.missing, part.unused, part.attention);
  part.elements = [part.details];
  part.use.addEventListener("click", () => {
    const opens = part.snippet.hidden;
    part.snippet.hidden = !opens;
    set(part.use, "aria-expanded", String(opens));
    showSnippet(part, part.resource);
  });
  part.button.addEventListener("click", () => {
    const next = part.body.rows.length;
    part.rows = part.limit + kMoreRows;
    show();
    part.body.rows[next]?.querySelector("button")?.focus();
  });
  return part;
}

function rowsAtFirst() {
  return Math.max(20, Math.min(kMoreRows, Math.floor(kRowsAtFirst / Math.max(1, resources.length))));
}

function showSection(part, { resource, devices, rejected }) {
  const [state, word] = kStates[resource.state] ?? ["idle", resource.state];
  part.resource = resource;
  write(part.name, resource.name);
  write(part.about, resource.description);
  set(part.registration, "class", `registration state ${state}`);
  write(part.registration, word);
  part.why.hidden = resource.state_reason === "";
  write(part.why, resource.state_reason);
  fill(part.sums, JSON.stringify([resource.devices.length, resource.sick, resource.in_use,
    resource.capacity, resource.rejected.length, resource.last_scan]), () => sumsOf(resource));

  showPool(part.pool, resource);
  if (!part.snippet.hidden) showSnippet(part, resource);
  part.none.hidden = resource.devices.length > 0;
  if (!part.none.hidden) showNone(part.none, resource);
  const next = nextProbe(resource);
  fill(part.probe, JSON.stringify([resource.probe, next]), () => probeText(resource.probe, next));
  part.table.hidden = devices.length === 0;
  part.limit = part.rows || rowsAtFirst();
  align(part.body, devices.slice(0, part.limit), (device) => device.id,
    (device) => makeRow(resource.name, device), (row, device) => showRow(row, resource, device));
  part.more.hidden = devices.length <= part.limit;
  write(part.left, `${number.format(part.limit)} of ${count(devices.length, "device")} shown`);

  part.rejected.hidden = rejected.length === 0;
  write(part.title, `${number.format(rejected.length)} rejected: matched, but not advertised to the kubelet` +
    (rejected.length > kMoreRows ? `; showing the first ${kMoreRows}, use the filter to find others` : ""));
  showPaths(part.rejections, rejected.slice(0, kMoreRows));
  part.missing.hidden = resource.missing_mounts.length === 0 || isFiltered();
  showPaths(part.mounts, resource.missing_mounts);
  part.unused.hidden = resource.unused_excludes.length === 0 || isFiltered();
  showPaths(part.excludes, resource.unused_excludes);
  part.attention.hidden = resource.notes.length === 0 || isFiltered();
  showPaths(part.notes, resource.notes.map(({ device, reason }) => ({ path: device, reason })));
}

function showPaths(list, items) {
  align(list, items, (item) => `${item.path}\n${item.reason}`,
    (item) => ({ elements: [make("li", {}, make("span", { class: "path" }, item.path),
      make("span", {}, item.reason))] }),
    () => {});
}

/** Shows why the resource has no devices, as `patchbay explain` begins, and the command that prints the rest. */
function showNone(box, { name, last_scan: scan, rejected, explanation }) {
  const signature = JSON.stringify([scan !== null, rejected.length > 0, explanation]);
  fill(box, signature, () => {
    if (!scan) return [make("p", {}, "Scanning for devices…")];
    return [
      make("p", { class: "lead" }, rejected.length > 0
        ? "No devices: everything that matched was rejected (see below)." : "No devices found."),
      ...explanation.map(({ match, lines }) => make("div", { class: "match" }, make("p", { class: "path" }, match),
        make("ul", {}, ...lines.map((line) => make("li", { class: "reason" }, line))))),
      make("p", {}, "All details, on this node: ", copyable(`patchbay explain ${name}`, "the command")),
    ];
  });
}

/** The earliest next probe of a device; empty if none is planned. */
const nextProbe = ({ devices }) => devices.reduce((first, { next_probe: next }) =>
  next && (first === "" || next < first) ? next : first, "");

function probeText(probe, next) {
  if (!probe) return ["No probe: a device is Healthy while it exists."];
  const what = { command: ["runs ", code(probe.command.join(" "))], file: ["reads ", code(probe.file)],
    open: ["opens each node"] }[probe.kind];
  const delay = probe.initial_delay_seconds > 0 ? `, first after ${span(probe.initial_delay_seconds)}` : "";
  return ["Probe ", ...what, ` every ${span(probe.period_seconds)}${delay}, timeout ${span(probe.timeout_seconds)}; Unhealthy after ` +
    `${count(probe.failure_threshold, "failure")}, Healthy after ${count(probe.success_threshold, "success", "successes")}`,
    ...(next ? ["; next ", timeUntil(next)] : [])];
}

function showSnippet(part, { name, dra }) {
  const deviceClass = dra?.device_class ?? "";
  fill(part.snippet, `${name} ${deviceClass}`, () => snippetsOf(name, deviceClass));
}

/** A pod that gets one device by `limits`, and one with a claim if there is a class; with buttons that copy them. */
function snippetsOf(name, deviceClass) {
  const pod = `${name.slice(name.indexOf("/") + 1).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 50)}-test`;
  const text = `apiVersion: v1
kind: Pod
metadata:
  name: ${pod}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: debian:bookworm-slim
    command: [sleep, infinity]
    resources:
      limits:
        ${name}: 1
`;
  return [copyableText(`A pod with ${name}`, "the pod", text),
    ...(deviceClass ? [make("p", {}, "Or with a claim; ", code("limits"), " need Kubernetes 1.36:"),
      copyableText(`A claim template for ${name}, and a pod`, "the claim", claimSnippet(pod, deviceClass))] : [])];
}

function sumsOf(resource) {
  const scan = resource.last_scan;
  const all = resource.devices.length;
  const parts = [make("span", {}, count(all, "device"))];
  if (all > 0) parts.push(make("span", {}, `${number.format(all - resource.sick)} healthy`));
  if (resource.sick > 0) parts.push(make("span", { class: "bad" }, `${number.format(resource.sick)} unhealthy`));
  if (resource.in_use !== null) {
    parts.push(make("span", {}, resource.replicas > 1
      ? `${number.format(resource.in_use)} of ${count(resource.capacity, "unit")} in use`
      : `${number.format(resource.in_use)} in use`));
  }
  if (resource.rejected.length > 0) {
    parts.push(make("span", { class: "warn" }, `${number.format(resource.rejected.length)} rejected`));
  }
  if (scan) {
    parts.push(make("span", {}, "last scan ", timeOf(scan.at), `, took ${duration(scan.seconds)}`));
    if (!scan.complete) parts.push(make("span", { class: "warn" }, "scan incomplete"));
  }
  return parts;
}
