"use strict";

// The filter: its state in the address, and the devices it matches.

const kHealth = {
  "": () => true,
  healthy: (device) => !device.sick,
  unhealthy: (device) => device.sick,
  held: (device) => device.held,
  free: (device) => device.in_use_by !== null && !device.held,
  rejected: () => false,
};

const isFiltered = () => selection.text.trim() !== "" || selection.health !== "";

/** Returns the devices and rejections of a resource that match the filter. */
function asked(resource) {
  const terms = selection.text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (item) => terms.every((term) => item.words.includes(term));
  const ofHealth = kHealth[selection.health];
  const rejected = selection.health === "" || selection.health === "rejected";
  return {
    resource,
    devices: resource.devices.filter((device) => ofHealth(device) && matches(device)),
    rejected: rejected ? resource.rejected.filter(matches) : [],
  };
}

/** Reads the filter from the address, so that a link or a reload shows the same. */
function readAddress() {
  clearTimeout(addressTimer);  // a pending write would undo the new address
  ranks.clear();
  const hash = new URLSearchParams(location.hash.slice(1));
  const health = hash.get("health") ?? "";
  selection = {
    view: hash.get("view") === "host" ? "host" : "",
    text: hash.get("q") ?? "",
    health: Object.hasOwn(kHealth, health) ? health : "",
    resource: hash.get("resource") ?? "",
    device: hash.get("device") ?? "",
  };
  at("text").value = selection.text;
  at("health").value = selection.health;
}

const kAddressPause = 300;  // ms; Safari refuses more than 100 changes in 30 s
let addressTimer = 0;

function writeAddress() {
  clearTimeout(addressTimer);
  const hash = new URLSearchParams();
  if (selection.view) hash.set("view", selection.view);
  if (selection.text) hash.set("q", selection.text);
  if (selection.health) hash.set("health", selection.health);
  if (selection.resource) hash.set("resource", selection.resource);
  if (selection.device) hash.set("device", selection.device);
  const text = hash.toString();
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch (error) {
    console.info("cannot update the address:", error.message);
  }
}

function setFilter(text, health) {
  selection = { view: "", text, health, resource: "", device: "" };
  ranks.clear();
  if (at("text").value !== text) at("text").value = text;
  at("health").value = health;
  for (const section of sections()) section.rows = 0;
  message = "";
  show();
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, kAddressPause);
}
