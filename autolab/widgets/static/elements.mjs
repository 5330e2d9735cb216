// The explorables. Python sends a recorded run (autolab/trace) and its picture (autolab/draw); this module shows
// them, moves through them and tells Python what the learner did. It never computes a value or a gradient.

const PERIOD = 700; // milliseconds per step at speed 1
const LARGEST = 1.35; // how much a picture may grow on a wide screen
const MARGIN = 10; // pixels of the picture below what is lowest in it
const EDGE = 40; // pixels around a node that is scrolled into view
const LONG = 6; // so many of the longest texts are measured
const SPEEDS = [0.5, 1, 2, 4];
const SUPPRESS = "data-lm-suppress-shortcuts"; // keys typed in an element with this attribute are not the notebook's

const BEYOND = "This was not computed in advance, and no Python is running here to compute it. Go back, or run its notebook from the first cell.";

const GREY = "What is greyed out was not computed in advance, and no Python is running here. Undo or Reset leads back; run its notebook "
  + "from the first cell to go on from here.";

const VIEWS = {}; // by the name that Python gives a widget's view; each view's file adds its own

// ---- elements -------------------------------------------------------------------------------------------------

// h("button", {class: "al-button", onclick: f}, "Step") makes an element; every focusable one keeps its own keys,
// which Notebook 7 would otherwise take for itself.
function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "disabled" || key === "open") el[key] = value;
    else if (value !== null && value !== undefined) el.setAttribute(key, value);
  }
  if (/^(button|input|select|summary)$/.test(tag)) el.setAttribute(SUPPRESS, "true");
  el.append(...children.filter((child) => child !== null && child !== undefined));
  return el;
}

// A group and no region: a notebook has many of each, and landmarks are to be few and different.
const SCROLLS = { tabindex: "0", role: "group", [SUPPRESS]: "true" };

const text = (value) => (value ? value.text : "none");

// Drawn, not typed: the fonts of a classroom may lack the signs.
const SIGNS = {
  reset: "M2 2h2v12H2zM14 2v12L5 8z", undo: "M11 2v12L3 8z", step: "M5 2v12l8-6z",
  play: "M3 2v12l5-6zM9 2v12l5-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z",
  in: "M7 2h2v5h5v2H9v5H7V9H2V7h5z", out: "M2 7h12v2H2z", fit: "M2 2h5v2H4v3H2zM14 14H9v-2h3V9h2z",
};

function sign(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "al-sign");
  svg.setAttribute("aria-hidden", "true");
  svg.innerHTML = `<path d="${SIGNS[name]}"/>`;
  return svg;
}

function button(name, label, hint, onclick) {
  return h("button", { type: "button", class: "al-button", title: hint, onclick }, sign(name), label);
}

// Keeps a line as tall as the longest of the texts that it may show at this width, so that what is below it stays where it is. Under a
// hand it does not grow at all: what is longer still scrolls. `name` is another one when the texts are.
function keepRoom(line, held, name, texts) {
  line.style.maxHeight = held ? line.style.minHeight : "";
  const { width } = line.getBoundingClientRect(), now = `${width} ${name}`;
  if (held || !width || line.room === now) return;
  line.room = now;
  const ruler = h(line.tagName, { class: line.className, style: `position: absolute; visibility: hidden; width: ${width}px` });
  line.after(ruler);
  const heights = [...new Set(texts())].sort((a, b) => b.length - a.length).slice(0, LONG).map((said) => {
    ruler.textContent = said;
    return ruler.getBoundingClientRect().height;
  });
  ruler.remove();
  line.style.minHeight = `${Math.max(0, ...heights)}px`;
}

// The width of the longest of some texts, so that what is beside them stays where it is. Some signs are wider than a digit.
const widest = (texts) => `min-width: ${Math.max(...texts.map((t) => t.length)) + 0.5}ch`;

// Calls `changed` now and on every change of the traits; returns the function that stops it.
function follow(model, traits, changed) {
  for (const trait of traits) model.on(`change:${trait}`, changed);
  changed();
  return () => traits.forEach((trait) => model.off(`change:${trait}`, changed));
}

function change(model, values) {
  for (const [key, value] of Object.entries(values)) model.set(key, value);
  model.save_changes();
}

function takeBack(model) {
  const past = model.get("past");
  if (past.length) change(model, { at: past.at(-1), past: past.slice(0, -1) });
}
