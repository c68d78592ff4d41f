"use strict";

// The view "Devices of this node": what the node has, which resource serves it, and the entry that would.

const kHostPeriod = 10000;  // ms between two requests while the view is open
const kHostPause = 500;     // ms until the next one while the node is being read

let hostDevices = null;  // the last response
let hostTimer = 0;

const isHostView = () => selection.view === "host";

async function askHost() {
  clearTimeout(hostTimer);
  if (!isHostView() || document.hidden) return;
  let pause = kHostPeriod;
  try {
    const answer = await fetch("api/v1/suggestions", { cache: "no-store", signal: AbortSignal.timeout(kPatience) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    hostDevices = await answer.json();
    if (hostDevices.read_at === null) pause = kHostPause;
  } catch (error) {
    console.info("the devices of the node cannot be read:", error.message);
  }
  showHost();
  hostTimer = setTimeout(askHost, pause);
}

/** Shows the view that the address names. Without suggest_page there is only one. */
function showView() {
  const has = status !== null && status.suggest_page;
  if (status !== null && !has) selection.view = "";
  at("views").hidden = !has;
  at("served").hidden = isHostView();
  at("host").hidden = !isHostView();
  for (const [id, current] of [["to-served", !isHostView()], ["to-host", isHostView()]]) {
    if (current) set(at(id), "aria-current", "page");
    else at(id).removeAttribute("aria-current");
  }
}

function showHost() {
  const read = hostDevices !== null && hostDevices.read_at !== null;
  const found = read ? hostDevices.suggestions : [];
  const served = found.filter((one) => one.served_by !== "").length;
  write(at("host-sum"), !read ? "Reading this node…"
    : found.length === 0 ? `This node has no devices that containers usually use. ${hostDevices.notes.join(" ")}`
    : `${count(found.length, "device")}, ${number.format(served)} served` +
      (hostDevices.used_disks > 0 ? `; ${count(hostDevices.used_disks, "disk")} in use by the node left out` : "") +
      `. ${hostDevices.notes.join(" ")}`);
  const kinds = new Map();
  for (const one of found) kinds.set(one.kind, [...(kinds.get(one.kind) ?? []), one]);
  align(at("host-kinds"), [...kinds], ([kind]) => kind, ([kind]) => {
    const list = make("ul");
    const more = make("p", { class: "quiet" });
    return { elements: [make("section", { class: "sheet" }, make("h2", {}, kind), list, more)], list, more };
  }, (part, [kind, devices]) => {
    align(part.list, devices, (one) => JSON.stringify(one), makeHostDevice, () => {});
    const others = hostDevices.left_out[kind] ?? 0;
    part.more.hidden = others === 0;
    write(part.more, `${number.format(others)} more of this kind are not shown: patchbay suggest DEVICE prints the ` +
      "entry of one.");
  });
}

/** One device: what it is, who serves it or what to know before, and its entry. */
function makeHostDevice(one) {
  const use = make("button", { type: "button", class: "use", "aria-expanded": "false",
    "aria-label": `Entry for ${one.description}` }, "Entry");
  const snippet = make("div", { class: "snippet", hidden: "" });
  use.addEventListener("click", () => {
    snippet.hidden = !snippet.hidden;
    set(use, "aria-expanded", String(!snippet.hidden));
    fill(snippet, one.entry, () => [copyableText(`The entry for ${one.description}`, "the entry", one.entry)]);
  });
  const state = one.served_by
    ? make("span", { class: "state good" }, "served by ", make("a", { href: `#${new URLSearchParams({ resource: one.served_by })}` }, one.served_by))
    : one.danger ? make("span", { class: "state warn" }, one.danger)
    : make("span", { class: "state idle" }, "not served");
  return { elements: [make("li", {},
    make("span", { class: "device-name" }, one.description), state, make("span", { class: "quiet" }, one.identity), use, snippet)] };
}
