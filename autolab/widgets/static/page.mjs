// ---- page -----------------------------------------------------------------------------------------------------

// What the outputs and the models of one browser page know of each other. A saved output holds a key; the model that Python
// keeps for it arrives under the same key, before or after, or never.
const SHARED = (globalThis[Symbol.for("autolab")] ??= {});
SHARED.models ??= new Map(); // key -> the live model
SHARED.places ??= new Map(); // key -> the outputs that wait for it or show it

const unpack = (text) => new Response(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))])
  .stream().pipeThrough(new DecompressionStream("gzip"))).json();

// A column of autolab/widgets/packing.py as the list that it stands for.
function spread(column) {
  if (Array.isArray(column)) return column;
  const { by, rows, lengths, at, shapes, shape, of } = column;
  let was = by ? 0 : [];
  if (by) return by.map((step) => (step === null ? null : (was += step)));
  if (rows) return rows.map((row) => (was = row.map((step, i) => step + (was[i] ?? 0))));
  const reader = (one) => { const all = spread(one); let i = 0; return () => all[i++]; };
  if (at) {
    const readers = at.map(reader);
    return spread(lengths).map((n) => readers.slice(0, n).map((read) => read()));
  }
  const readers = new Map(Object.entries(of).map(([name, one]) => [name, reader(one)]));
  return spread(shape).map((k) => Object.fromEntries(shapes[k].map((name) => [name, readers.get(name)()])));
}

function entries({ keys, named, values }) {
  const names = spread(keys).map(String);
  return Object.fromEntries(spread(values).map((value, i) => [names[i], named ? { key: names[i], ...value } : value]));
}

// A model without Python: it holds the traits and tells who listens. `answers`: trait -> each of its values -> the traits
// that Python would set then, packed or not. `moved` collects the traits that the learner has changed.
function pageModel(data, answers = {}, moved = new Set(), save_changes = () => {}) {
  const listeners = {};
  const model = {
    page: true,
    get: (key) => data[key],
    set(key, value) {
      if (data[key] === value) return;
      data[key] = value;
      moved.add(key);
      (listeners[`change:${key}`] || []).forEach((f) => f());
    },
    on(event, f) { (listeners[event] ||= []).push(f); },
    off(event, f) { listeners[event] = (listeners[event] || []).filter((g) => g !== f); },
    save_changes,
  };
  for (const [trait, known] of Object.entries(answers)) {
    model.on(`change:${trait}`, async () => {
      const asked = data[trait];
      if (!known[asked]) return;
      const told = typeof known[asked] === "string" ? await unpack(known[asked]) : known[asked];
      if (data[trait] === asked) Object.entries(told).forEach(([key, value]) => model.set(key, value));
    });
  }
  return model;
}

// Answers to questions, kept by the browser for this page and this place in it: takes what was kept into data, and returns what
// keeps them. A browser may refuse to keep anything; then they are there until the page is left.
function keptInBrowser(el, data) {
  if (!data.attempts) return () => {};
  const place = [...document.querySelectorAll("[data-autolab]")].indexOf(el);
  const name = `autolab:${location.pathname}:${place}:${data.title}`;
  try {
    const kept = JSON.parse(localStorage.getItem(name));
    if (kept?.length === data.attempts.length) data.attempts = kept;
  } catch { /* nothing was kept */ }
  return () => { try { localStorage.setItem(name, JSON.stringify(data.attempts)); } catch { /* as above */ } };
}

// Draws an explorable in a place of the page from what was saved with it (`tables`: traits in columns), and joins it to Python as long as that is there.
function mount(el, key, { data, tables = {}, answers, css, keeps }) {
  dress(css);
  for (const [name, packed] of Object.entries(tables)) data[name] = entries(packed);
  const keep = keeps ? keptInBrowser(el, data) : () => {};
  const moved = new Set(), saved = pageModel(data, answers, moved, keep), { playing, running, ask } = data; // as they are without Python
  let close = null;
  const show = (model) => {
    const focus = [...el.querySelectorAll(":focus")].map((e) => e.textContent)[0];
    close?.();
    close = render({ model, el });
    if (focus) [...el.querySelectorAll("button")].find((b) => b.textContent === focus)?.focus({ preventScroll: true });
  };
  const place = {
    join(live) {
      const wanted = Object.fromEntries([...moved].filter((trait) => trait !== "playing").map((trait) => [trait, data[trait]]));
      moved.clear();
      if (Object.keys(wanted).length) change(live, wanted); // moved before Python was there
      show(live);
    },
    leave(live) { // the kernel has gone: from here on with what is known
      for (const trait of Object.keys(data)) data[trait] = live.get(trait) ?? data[trait];
      Object.assign(data, { playing, running, ask });
      moved.clear();
      show(saved);
    },
  };
  if (key) SHARED.places.set(key, [...(SHARED.places.get(key) || []), place]);
  const live = SHARED.models.get(key);
  if (live) place.join(live);
  else show(saved);
}

// The style sheet, once for each version of it.
function dress(css) {
  if (!css || [...document.head.querySelectorAll("style[data-autolab]")].some((sheet) => sheet.textContent === css)) return;
  const sheet = h("style", { "data-autolab": "" });
  sheet.textContent = css;
  document.head.append(sheet);
}

// JupyterLab looks for the attribute while it captures a key, and then leaves the key to us, so that "a" inserts no cell. What
// is pressed with Ctrl or Command is its own all the same: saving, the command palette. A text field keeps what edits text.
const editsText = (event) => event.target.matches("input:not([type=range], [type=radio], [type=checkbox])")
  && "acvxyz".includes(event.key.toLowerCase()) && !event.shiftKey;
// The keys of a field are its own, but for shortcuts.
const keepKeys = (event) => { if (!event.ctrlKey && !event.metaKey || editsText(event)) event.stopPropagation(); };

function letShortcutsThrough() {
  if (SHARED.listens) return;
  SHARED.listens = true;
  window.addEventListener("keydown", (event) => {
    const el = event.target;
    if (!(event.ctrlKey || event.metaKey) || /^(Control|Meta|Shift|Alt)$/.test(event.key) || !el.closest?.(".al-root") || editsText(event)) return;
    const held = [];
    for (let e = el; e && !e.matches("[data-autolab]"); e = e.parentElement) if (e.hasAttribute(SUPPRESS)) held.push(e);
    held.forEach((e) => e.removeAttribute(SUPPRESS));
    setTimeout(() => held.forEach((e) => e.setAttribute(SUPPRESS, "true")));
  }, true);
}
