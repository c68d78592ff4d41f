"use strict";

// What the page's scripts share, and the first of them. They run in the order of index.html, and only
// the last, page.js, begins: all that another file names is there by then.

let status = null;     // the last answer; hides window.status, which browsers do not use any more
let resources = [];    // of it, with what filtering needs
let wish = { text: "", health: "", resource: "", device: "" };  // the filter, and what is opened
const ranks = new Map();  // of resources by name: what is wrong stands above what is well
let columnsShown = 0;  // of the table of devices
let clockAhead = 0;    // of this machine's clock, in ms
let lostSince = null;  // when Patchbay did not answer for the first time, by its clock, in ms
let message = "";      // on what the address asks for, until the filter or the address changes
