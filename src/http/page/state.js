"use strict";

// State shared by the scripts of the page. They load in the order of index.html; only the last one, page.js, starts
// anything, so every name is defined by then.

let status = null;     // the last response; hides the obsolete window.status
let resources = [];    // of the status, prepared for the filter
let selection = { view: "", text: "", health: "", resource: "", device: "" };  // the view, the filter and the open row
const ranks = new Map();  // by resource name; problems first
let columnsShown = 0;  // of the table of devices
let clockAhead = 0;    // of this machine's clock, in ms
let lostSince = null;  // the first request without a response, by Patchbay's clock, in ms
let message = "";      // about the address, until the filter or the address changes
