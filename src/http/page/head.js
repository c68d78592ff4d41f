"use strict";

// Everything above the resources: node, configuration, totals, and the result of the filter.

function fact(name, state, text, title = "") {
  return { name, state, text, title };
}

function showHead() {
  const { config, kubelet } = status;
  write(at("node"), status.node || "Patchbay");
  write(at("version"), `Patchbay ${status.version} (${status.revision})`);
  const sick = resources.reduce((sum, resource) => sum + resource.sick, 0);
  document.title = `${sick > 0 ? `(${sick}) ` : ""}${status.node} · Patchbay`;
  const pods = kubelet.pod_resources_up;
  const facts = [
    fact("Kubelet", kubelet.up ? "good" : "bad", kubelet.up ? "connected" : "not running",
      kubelet.restarts > 0 ? `restarted ${count(kubelet.restarts, "time")} since Patchbay started` : ""),
    fact("Pod assignments", pods ? "good" : pods === null ? "idle" : "warn",
      pods ? "known" : pods === null ? "unknown" : "unavailable",
      "as reported by the kubelet's PodResources API"),
    config.successful ? fact("Configuration", "good", "loaded", config.path)
      : fact("Configuration", "bad", config.loaded_at ? "rejected" : "missing", config.path),
  ];
  align(at("facts"), facts, (f) => f.name,
    (f) => {
      const value = make("dd");
      return { elements: [make("div", {}, make("dt", {}, f.name), value)], value };
    },
    (part, f) => {
      set(part.value, "class", `state ${f.state}`);
      set(part.value, "title", f.title);
      const loaded = f.name === "Configuration" && config.successful;
      fill(part.value, `${f.text} ${loaded && config.loaded_at}`,
        () => loaded ? ["loaded ", timeOf(config.loaded_at)] : [f.text]);
    });
}

function placeOf(finding) {
  return finding.line > 0 ? `${finding.file}:${finding.line}:${finding.column}` : finding.file;
}

function findingsOf(config) {
  const items = config.diagnostics.map((finding) => make("li", {},
    make("span", { class: "at" }, placeOf(finding)),
    make("span", { class: finding.severity }, `${finding.severity}[${finding.code}]`),
    ` ${finding.message}`,
    ...(finding.hint ? [make("span", { class: "hint" }, finding.hint)] : [])));
  if (config.diagnostics_left_out > 0) {
    items.push(make("li", {}, `and ${number.format(config.diagnostics_left_out)} more; "patchbay check" shows all`));
  }
  return items.length > 0 ? [make("ul", { class: "findings", tabindex: "0", "aria-label": "Diagnostics" }, ...items)] : [];
}

function showConfig() {
  const { config } = status;
  const box = at("config");
  box.hidden = config.successful && config.diagnostics.length === 0;
  box.className = `notice ${config.successful ? "warn" : "bad"}`;
  fill(box, JSON.stringify(config), () => {
    if (config.successful) {
      return [make("details", {},
        make("summary", {}, `The configuration was accepted with ${count(config.diagnostics.length, "warning")}`),
        ...findingsOf(config))];
    }
    return [
      make("p", { class: "lead", role: "alert" },
        config.loaded_at ? "The last reload failed" : "No valid configuration",
        `: ${config.reason}.`),
      make("p", { class: "note" }, "Read ",
        ...(config.read_at ? [timeOf(config.read_at)] : []), " from ", make("code", {}, config.path),
        config.loaded_at ? "; the configuration loaded " : "; Patchbay reads it again when it changes",
        ...(config.loaded_at ? [timeOf(config.loaded_at), " is still in use"] : []), "."),
      ...findingsOf(config),
    ];
  });
}

function showTiles() {
  const sum = (of) => resources.reduce((total, resource) => total + of(resource), 0);
  const registered = sum((resource) => resource.registered ? 1 : 0);
  const sick = sum((resource) => resource.sick);
  const rejected = sum((resource) => resource.rejected.length);
  const known = resources.some((resource) => resource.in_use !== null);
  const tiles = [
    { value: `${registered} / ${resources.length}`, label: "Registered",
      state: registered < resources.length ? "warn" : "" },
    { value: number.format(sum((r) => r.devices.length)), label: "Devices", filter: "" },
    { value: number.format(sick), label: "Unhealthy", filter: "unhealthy",
      state: sick > 0 ? "bad" : "" },
    { value: known ? number.format(sum((r) => r.held)) : "–", label: "In use", filter: "held" },
    { value: number.format(rejected), label: "Rejected", filter: "rejected",
      state: rejected > 0 ? "warn" : "" },
  ];
  align(at("tiles"), tiles, (tile) => tile.label,
    (tile) => {
      const value = make("b"), button = tile.filter !== undefined;
      const box = make(button ? "button" : "div", button ? { type: "button" } : {}, value,
        make("span", {}, tile.label));
      if (button) box.addEventListener("click", () => setFilter("", selection.health === tile.filter ? "" : tile.filter));
      return { elements: [make("li", {}, box)], box, value };
    },
    (part, tile) => {
      write(part.value, tile.value);
      set(part.box, "class", `tile ${tile.state ?? ""}`);
      if (tile.filter) set(part.box, "aria-pressed", String(selection.health === tile.filter));
    });
}

function showCount(shown) {
  const all = resources.reduce((sum, resource) => sum + resource.devices.length, 0);
  const devices = shown.reduce((sum, part) => sum + part.devices.length, 0);
  const rejected = shown.reduce((sum, part) => sum + part.rejected.length, 0);
  const text = message ? message
    : !isFiltered() ? ""
    : selection.health === "rejected" ? `${number.format(rejected)} rejected`
    : `${number.format(devices)} of ${count(all, "device")}`;
  write(at("count"), text);
  at("clear").hidden = !isFiltered();
}

/** How to write the first resource. */
function firstResource() {
  const text = `[[resource]]
name = "example.com/serial"

[[resource.match]]
path = "/dev/serial/by-id/*"
`;
  const found = status.suggest_page
    ? make("a", { href: "#view=host" }, "Devices of this node")
    : copyable("patchbay suggest", "the command");
  return ["The configuration has no resources for this node. Add one to ",
    make("code", {}, status.config.path), ", or to the ConfigMap that contains it. What this node has, with the entry for it: ",
    found, ". For example, for all USB serial adapters:",
    make("div", { class: "snippet" }, copyableText("A resource", "the resource", text))];
}

function showEmpty(visible) {
  const box = at("empty");
  box.hidden = visible.length > 0;
  if (visible.length > 0) return;
  fill(box, `${isFiltered()} ${status.config.loaded_at !== null} ${status.suggest_page}`, () => {
    if (!isFiltered()) {
      return status.config.loaded_at ? firstResource()
        : ["No resources until the configuration is valid."];
    }
    const button = make("button", { type: "button" }, "Clear the filter");
    button.addEventListener("click", () => { setFilter("", ""); at("text").focus(); });
    return ["Nothing matches this filter.", make("br"), button];
  });
}

function showLost() {
  const box = at("lost");
  box.hidden = lostSince === null;
  if (lostSince === null) {
    write(at("fresh"), status ? "Live; refreshes every 5 s" : "");
  } else {
    write(box, `Patchbay has not responded since ${moment(lostSince)}. ` +
      (status ? "Showing the last known state; retrying." : "Retrying."));
    write(at("fresh"), "Out of date");
  }
}
