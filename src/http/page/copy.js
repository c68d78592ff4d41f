"use strict";

// Copies text to the clipboard. Browsers offer their clipboard API only in a secure context, which http://NODE:9478 is
// not, so a selected text field is the other way.

const kToastTime = 4000;  // ms
let toastTimer = 0;

/** Shows a short message, which screen readers read. */
function toast(text) {
  write(at("toast"), text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => write(at("toast"), ""), kToastTime);
}

/** Returns whether the browser copied the text. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);  // no secure context, or no permission
  }
}

function copyBySelection(text) {
  const focused = document.activeElement;
  const field = make("textarea", { class: "copied-from", readonly: "", tabindex: "-1", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.focus({ preventScroll: true });
  field.select();
  let copied = false;
  try {
    copied = document.execCommand("copy");
  } catch (error) {
    console.info("cannot copy:", error.message);
  }
  field.remove();
  focused?.focus({ preventScroll: true });
  return copied;
}

/** Creates a button that copies `text`. `what` names it for messages and screen readers, `label` is its text; without a
 * label it is an icon. */
function copyButton(text, what, label = "") {
  const button = make("button", { type: "button", class: label ? "copy worded" : "copy", title: `Copy ${what}`,
    "aria-label": `Copy ${what}` }, ...(label ? [label] : []));
  button.addEventListener("click", async () => {
    const copied = await copyText(text);
    toast(copied ? `Copied ${what}.`
      : `The browser does not allow copying. Select ${what} and press ${/Mac/.test(navigator.platform) ? "⌘C" : "Ctrl+C"}.`);
    if (!copied) return;
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), kToastTime / 2);
  });
  return button;
}

/** Creates lines of text with a button that copies them. */
const copyableText = (label, what, text) => make("div", { class: "lines" },
  make("pre", { tabindex: "0", "aria-label": label }, text), copyButton(text, what, "Copy"));

/** Creates a command or another short text with a button that copies it. */
const copyable = (text, what) => make("span", { class: "copyable" }, make("code", {}, text), copyButton(text, what));
