"use strict";

// Creates and updates elements. Existing elements are updated in place. Data from outside becomes text; nothing is
// parsed as markup.

const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en-US");
const count = (n, one, many = one + "s") => `${number.format(n)} ${n === 1 ? one : many}`;

/** Creates an element with attributes and children, which may be strings. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Changes the text only if it differs, so that a selection stays. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function set(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Replaces the children if `signature`, which covers everything they show, differs. */
function fill(element, signature, build) {
  if (element.signature === signature) return;
  element.signature = signature;
  element.replaceChildren(...build());
}

/** Makes the children of `parent` match `items`; elements of keys that remain are kept. */
function align(parent, items, keyOf, create, update) {
  const had = parent.byKey ?? new Map();
  const have = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (have.has(key)) continue;  // duplicates are shown once
    const part = had.get(key) ?? create(item);
    had.delete(key);
    update(part, item);
    have.set(key, part);
  }
  for (const part of had.values()) part.elements.forEach((element) => element.remove());
  let next = parent.firstChild;
  for (const part of have.values()) {
    for (const element of part.elements) {
      if (element === next) next = next.nextSibling;
      else parent.insertBefore(element, next);
    }
  }
  parent.byKey = have;
}

const now = () => Date.now() - clockAhead;

function ago(time) {
  const seconds = Math.max(0, Math.round((now() - Date.parse(time)) / 1000));
  if (seconds < 5) return "just now";
  if (seconds < 100) return `${seconds} s ago`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** The time until something that is planned. */
function until(time) {
  const seconds = Math.round((Date.parse(time) - now()) / 1000);
  if (seconds <= 0) return "now";
  return `in ${seconds < 100 ? span(seconds) : seconds < 6000 ? `${Math.round(seconds / 60)} min`
    : `${Math.round(seconds / 3600)} h`}`;
}

/** A setting in the largest unit that keeps it exact, without a break before the unit: 1500 ms, 90 s, 2 min. */
function span(seconds) {
  if (!Number.isInteger(seconds)) return `${Math.round(seconds * 1000)}\u00a0ms`;
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600}\u00a0h`;
  if (seconds >= 120 && seconds % 60 === 0) return `${seconds / 60}\u00a0min`;
  return `${seconds}\u00a0s`;
}

/** A time as in the log, independent of the time zone: 2026-11-20 09:41:07 UTC. */
const moment = (time) => new Date(time).toISOString().replace("T", " ").replace(/\..*/, " UTC");

const duration = (seconds) =>
  seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`;

/** Creates a <time>; showTimes updates its text. */
function timeOf(time) {
  const element = make("time", { datetime: time, title: moment(time) });
  element.textContent = ago(time);
  return element;
}

/** Creates a <time> of something that is planned. */
function timeUntil(time) {
  const element = make("time", { datetime: time, title: moment(time), class: "planned" });
  element.textContent = until(time);
  return element;
}

function showTimes() {
  for (const element of document.querySelectorAll("time")) {
    write(element, (element.className === "planned" ? until : ago)(element.dateTime));
  }
}

const holderText = (holder) => `${holder.namespace}/${holder.pod}`;
