"use strict";

// Below the resources: the last transitions of devices, and the resources that are not for this node.

const kTransitionsAtFirst = 10;

const kTransitionStates = { Healthy: "good", Unhealthy: "bad" };
let allTransitions = false;

/** The health before or after a transition, with its shape and color. */
const healthOf = (health, otherwise) =>
  make("span", { class: `state ${kTransitionStates[health] ?? "idle"}` }, health ?? otherwise);

const transitionsOf = (resource, device) =>
  status.transitions.filter((one) => one.resource === resource && one.device === device);

/** A transition on one line of text. */
const transitionText = ({ at: time, from, to, reason }) =>
  `${moment(time)}  ${from ?? "new"} → ${to ?? "removed"}${reason ? `: ${reason}` : ""}`;

function textMatches(...texts) {
  const all = texts.join("\n").toLowerCase();
  return selection.text.toLowerCase().split(/\s+/).filter(Boolean).every((term) => all.includes(term));
}

function makeTransition({ at: time, resource, device, from, to, reason }) {
  return { elements: [make("li", {},
    make("span", { class: "when" }, timeOf(time)),
    make("span", { class: "who-changed" }, make("a", { class: "path", href: `#${new URLSearchParams({ resource, device })}` }, device),
      make("span", { class: "quiet" }, resource)),
    make("span", { class: "change" }, healthOf(from, "new"), make("span", { class: "quiet" }, " → "), healthOf(to, "removed")),
    make("span", { class: "reason" }, reason))] };
}

function showHistory() {
  const matching = selection.health !== "" ? []
    : status.transitions.filter((one) => textMatches(one.resource, one.device, one.reason, one.from, one.to));
  at("history").hidden = matching.length === 0;
  const shown = allTransitions ? matching : matching.slice(0, kTransitionsAtFirst);
  align(at("transitions"), shown, (one) => JSON.stringify(one), makeTransition, () => {});
  at("more-transitions").hidden = shown.length === matching.length;
  write(at("more-transitions").querySelector("button"), `Show all ${matching.length}`);
}

function showHidden() {
  const hidden = selection.health !== "" ? []
    : status.hidden_resources.filter((one) => textMatches(one.name, one.description, ...one.on_nodes));
  at("hidden").hidden = hidden.length === 0;
  write(at("hidden-title"), `${count(hidden.length, "resource")} ${hidden.length === 1 ? "is" : "are"} not for this node`);
  align(at("hidden-resources"), hidden, (one) => JSON.stringify(one), ({ name, description, on_nodes: patterns }) => ({
    elements: [make("li", {}, make("span", { class: "path" }, name), make("span", { class: "quiet" }, description),
      make("span", {}, "on_nodes = ", code(JSON.stringify(patterns))))] }), () => {});
}

function showAllTransitions() {
  const next = at("transitions").children.length;
  allTransitions = true;
  showHistory();
  at("transitions").children[next]?.scrollIntoView({ block: "nearest" });
}
