"use strict";

// A device: its row, and the details that open below it.

const kChangesOfDevice = 5;

function makeRow(resource, device) {
  const cell = (index) =>
    make("td", { class: kColumns[index][0], role: index === 0 ? "rowheader" : "cell",
      "data-label": kColumns[index][1] });
  const row = { resource, cells: kColumns.map((_, index) => cell(index)) };
  row.toggle = make("button", { type: "button", class: "toggle", "aria-expanded": "false" }, device.id);
  row.health = make("span");
  row.reason = make("span", { class: "reason" });
  row.cells[0].append(row.toggle, copyButton(device.id, `the ID ${device.id}`));
  row.cells[1].append(make("div", {}, row.health, row.reason));
  row.element = make("tr", { class: "device", role: "row" }, ...row.cells);
  row.elements = [row.element];
  row.toggle.addEventListener("click", () => {
    openRow(row, !row.open);
    selection = { ...selection, resource: row.open ? resource : "", device: row.open ? device.id : "" };
    writeAddress();
    showChosen();
  });
  return row;
}

function openRow(row, open) {
  row.open = open;
  set(row.toggle, "aria-expanded", String(open));
  if (!open) {
    row.more?.remove();
    row.elements = [row.element];
    return;
  }
  row.details = make("dl", { class: "details" });
  row.more = make("tr", { class: "more", role: "row" },
    make("td", { role: "cell" }, row.details));
  row.elements = [row.element, row.more];
  row.element.after(row.more);
  showDetails(row);
}

function showDetails(row) {
  const device = row.device;
  set(row.more.cells[0], "colspan", String(columnsShown));  // a larger value would add a column
  const history = transitionsOf(row.resource, device.id);
  fill(row.details, JSON.stringify([device, history]), () => {
    const list = [];
    const add = (name, value) => list.push(make("dt", {}, name), make("dd", {}, value));
    for (const place of placesOf(device)) add(device.in_pod === undefined ? "path" : "interface", place);
    if (device.reason) add("reason", device.reason);
    const probe = device.last_probe;
    if (probe) {
      add("last probe", `${probe.result} in ${duration(probe.seconds)}, ${moment(probe.at)}` +
        (probe.message && probe.message !== device.reason ? `\n${probe.message}` : ""));
    }
    if (device.next_probe) add("next probe", timeUntil(device.next_probe));
    for (const holder of device.in_use_by ?? []) add("used by", `${holderText(holder)} (${holder.container})`);
    for (const [name, value] of Object.entries(device.variables)) {
      if (name !== "path" && name !== "resource" && name !== "id") add(`{${name}}`, String(value));
    }
    if (history.length > 0) add("changes", history.slice(0, kChangesOfDevice).map(transitionText).join("\n"));
    return list;
  });
}

/** The device nodes, or the name of a network interface that moves into pods, and where it is. */
function placesOf(device) {
  if (device.in_pod === undefined) return device.paths;
  const name = String(device.variables.INTERFACE);
  const pods = (device.in_use_by ?? []).map(holderText).join(", ");
  return [device.in_pod ? `${name} (in ${pods ? `pod ${pods}` : "a pod"})` : name];
}

function showRow(row, resource, device) {
  row.device = device;
  const [, , held, probed, paths, numa] = row.cells;
  row.element.classList.toggle("sick", device.sick);
  row.element.classList.toggle("chosen", selection.device === device.id && selection.resource === resource.name);
  set(row.health, "class", `state ${device.sick ? "bad" : "good"}`);
  write(row.health, device.health);
  row.reason.hidden = device.reason === "";
  write(row.reason, device.reason);

  const holders = device.in_use_by;
  fill(held, JSON.stringify(holders), () => {
    if (holders === null) return [make("span", { class: "quiet" }, "unknown")];
    if (holders.length === 0) return [make("span", { class: "quiet" }, "–", make("span", { class: "unseen" }, " no pod"))];
    return [make("div", {}, ...holders.map((holder) => make("span", { class: "holder" }, holderText(holder),
      make("span", { class: "quiet" }, ` ${holder.container}`))))];
  });
  held.classList.toggle("blank", holders !== null && holders.length === 0);

  const probe = device.last_probe;
  fill(probed, probe ? `${probe.at} ${probe.result}` : "", () => {
    if (!probe) return [make("span", { class: "quiet" }, "–")];
    const when = timeOf(probe.at);
    return probe.result === "success" ? [when]
      : [make("div", {}, make("span", { class: "fails" }, probe.result), " ", when)];
  });
  probed.classList.toggle("blank", !probe);

  const places = placesOf(device);
  fill(paths, places.join("\n"), () => {
    const shown = places.slice(0, 3).map((place) => make("span", { class: "path" }, place));
    if (places.length > 3) shown.push(make("span", { class: "quiet" }, `and ${places.length - 3} more`));
    return shown.length > 0 ? [make("div", {}, ...shown)] : [make("span", { class: "quiet" }, "–")];
  });
  paths.classList.toggle("blank", places.length === 0);
  write(numa, device.numa_node === null ? "–" : String(device.numa_node));
  numa.classList.toggle("blank", device.numa_node === null);
  if (row.open) showDetails(row);
}
