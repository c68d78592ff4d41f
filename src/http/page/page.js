"use strict";

// Requests the status every few seconds and updates the page element by element, so that scroll position, selection
// and opened rows stay.

const kPeriod = 5000;     // ms between two requests
const kPatience = 15000;  // ms for a response

let etag = "";
let timer = 0;
let asking = false;

async function ask() {
  clearTimeout(timer);
  if (asking || document.hidden) return;
  asking = true;
  const began = performance.now();
  try {
    const answer = await fetch("api/v1/status", {
      cache: "no-store",
      headers: etag ? { "If-None-Match": etag } : {},
      signal: AbortSignal.timeout(kPatience),
    });
    if (answer.status !== 304) {
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const next = await answer.json();
      take(next);
      etag = answer.headers.get("ETag") ?? "";  // only after the status is shown
    }
    lostSince = null;
  } catch (error) {
    lostSince ??= now();
    console.info("patchbay does not respond:", error.message);
  }
  asking = false;
  showLost();
  showTimes();
  // A slow response, with many devices or over a slow line, is requested less often.
  timer = setTimeout(ask, Math.max(kPeriod, 10 * (performance.now() - began)));
}

function take(next) {
  if (status && status.revision !== next.revision) location.reload();
  const first = status === null;
  status = next;
  clockAhead = Date.now() - Date.parse(next.generated_at);
  resources = next.resources.map(prepare);
  show();
  if (!first) return;
  reveal();
  askHost();
}

/** Prepares what the filter reads at each key stroke. */
function prepare(resource) {
  const devices = resource.devices.map((device) => ({
    ...device,
    sick: device.health !== "Healthy",
    held: device.in_use_by !== null && device.in_use_by.length > 0,
    words: [resource.name, device.id, device.health, device.reason, ...placesOf(device),
      ...Object.values(device.variables),
      ...(device.in_use_by ?? []).flatMap((h) => [holderText(h), h.container])].join("\n").toLowerCase(),
  }));
  return {
    ...resource,
    devices,
    sick: devices.filter((device) => device.sick).length,
    held: devices.filter((device) => device.held).length,
    rejected: resource.rejected.map((rejection) => ({
      ...rejection, words: `${resource.name}\n${rejection.path}\n${rejection.reason}`.toLowerCase(),
    })),
  };
}

function show() {
  if (!status) return;
  showView();
  showKubelet();
  showDra();
  showHead();
  showConfig();
  showTiles();
  const shown = resources.map(asked);
  const visible = isFiltered()
    ? shown.filter((part) => part.devices.length + part.rejected.length > 0) : shown;
  showColumns();
  align(at("resources"), inOrder(visible), (part) => part.resource.name, makeSection, showSection);
  showHistory();
  showHidden();
  showCount(shown);
  showEmpty(visible);
}

function rankOf({ sick, state, rejected, last_scan: scan }) {
  if (sick > 0 || state === "retrying") return 0;
  return rejected.length > 0 || (scan && !scan.complete) ? 1 : 2;
}

/** Resources with problems come first. The order is set when the page or the filter changes and stays until then, so
 * that nothing moves while a person reads. */
function inOrder(parts) {
  for (const { resource } of parts) {
    if (!ranks.has(resource.name)) ranks.set(resource.name, rankOf(resource));
  }
  return parts.sort((a, b) => ranks.get(a.resource.name) - ranks.get(b.resource.name));
}

/** Hides columns that would be empty. */
function showColumns() {
  const filled = (has) => resources.some((resource) => resource.devices.some(has));
  const probes = filled((device) => device.last_probe);
  const numa = filled((device) => device.numa_node !== null);
  document.documentElement.classList.toggle("without-probes", !probes);
  document.documentElement.classList.toggle("without-numa", !numa);
  columnsShown = kColumns.length - !probes - !numa;
}

function showChosen() {
  for (const part of sections()) {
    for (const [id, row] of part.body.byKey ?? []) {
      row.element.classList.toggle("chosen", selection.device === id && selection.resource === part.name.textContent);
    }
  }
}

/** Scrolls to the resource or device in the address. */
function reveal() {
  if (!status || !selection.resource) return;
  const resource = resources.find((r) => r.name === selection.resource);
  const part = at("resources").byKey?.get(selection.resource);
  if (!resource || !part) return say(`${selection.resource} is not a resource of this node`);
  part.details.open = true;
  if (!selection.device) return part.details.scrollIntoView();
  const place = asked(resource).devices.findIndex((device) => device.id === selection.device);
  if (place < 0) {
    part.details.scrollIntoView();
    return say(`${selection.resource} has no device ${selection.device}`);
  }
  if (place >= part.limit) {
    part.rows = place + kMoreRows;
    show();
  }
  const row = part.body.byKey.get(selection.device);
  if (!row.open) openRow(row, true);
  showChosen();
  row.element.scrollIntoView({ block: "center" });
  row.toggle.focus({ preventScroll: true });
}

function say(text) {
  message = text;
  write(at("count"), text);
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();  // the address holds the filter
  at("devices").focus();
  at("devices").scrollIntoView();
});
at("filter").addEventListener("submit", (event) => event.preventDefault());
at("text").addEventListener("input", () => setFilter(at("text").value, selection.health));
at("health").addEventListener("change", () => setFilter(selection.text, at("health").value));
at("clear").addEventListener("click", () => { setFilter("", ""); at("text").focus(); });
at("more-transitions").querySelector("button").addEventListener("click", showAllTransitions);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    at("text").focus();
    at("text").select();
  } else if (event.key === "Escape" && event.target === at("text")) {
    setFilter("", "");
  }
});
document.addEventListener("visibilitychange", () => { ask(); askHost(); });
window.addEventListener("hashchange", () => {
  readAddress();
  message = "";
  show();
  reveal();
  askHost();
});

readAddress();
ask();
