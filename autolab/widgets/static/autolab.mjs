// The explorables. Python sends a recorded run (autolab/trace) and its picture (autolab/draw); this module shows
// them, moves through them and tells Python what the learner did. It never computes a value or a gradient.

const PERIOD = 1400; // milliseconds per step at speed 1
const EDGE = 40; // pixels around a node that is scrolled into view
const SPEEDS = [0.5, 1, 2, 4];

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
  if (/^(button|input|select|summary)$/.test(tag)) el.setAttribute("data-lm-suppress-shortcuts", "true");
  el.append(...children.filter((child) => child !== null && child !== undefined));
  return el;
}

const SCROLLS = { tabindex: "0", role: "region", "data-lm-suppress-shortcuts": "true" };

const text = (value) => (value ? value.text : "none");

// Drawn, not typed: the fonts of a classroom may lack the signs.
const SIGNS = {
  reset: "M2 2h2v12H2zM14 2v12L5 8z", undo: "M11 2v12L3 8z", step: "M5 2v12l8-6z",
  play: "M3 2v12l5-6zM9 2v12l5-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z",
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

// ---- the picture ----------------------------------------------------------------------------------------------

// The SVG that Python drew, made live: it can be moved through; with `choose`, nodes take the focus and can be chosen.
class Graph {
  constructor(svg, choose) {
    // what can scroll must be reached by keys: through its nodes, or else by itself
    this.el = h("div", { class: "al-graph", ...(choose ? {} : { ...SCROLLS, "aria-label": "Graph" }) });
    this.el.innerHTML = svg;
    this.svg = this.el.firstElementChild;
    this.svg.setAttribute("role", "group");
    this.svg.style.minWidth = `${0.8 * this.svg.getAttribute("width")}px`; // smaller is hard to read: then it scrolls
    this.svg.querySelectorAll("desc").forEach((desc) => desc.remove());
    this.nodes = new Map();
    this.fires = [[]]; // fires[k]: what lights up at step k
    for (const g of this.svg.querySelectorAll("[data-node]")) {
      this.nodes.set(g.dataset.node, g);
      g.setAttribute("role", choose ? "button" : "img");
      if (!choose) continue;
      g.setAttribute("tabindex", "-1");
      g.setAttribute("data-lm-suppress-shortcuts", "true");
      this.describe(g, false);
    }
    for (const g of this.svg.querySelectorAll("[data-at]")) {
      const at = Number(g.dataset.at);
      (this.fires[at] ||= []).push(g);
      g.classList.remove("al-on", "al-now");
    }
    this.position = 0;
    this.order = [...this.nodes.keys()];
    if (!choose) return;
    const chosen = (event) => event.target.closest?.("[data-node]")?.dataset.node;
    this.svg.addEventListener("click", (event) => {
      const id = chosen(event);
      if (id) { this.nodes.get(id).focus(); choose(id); }
    });
    this.svg.addEventListener("keydown", (event) => {
      const id = chosen(event);
      if (!id) return;
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (move) {
        const next = this.order[this.order.indexOf(id) + move];
        if (next) { this.nodes.get(next).focus(); choose(next); }
      } else if (event.key === "Enter") choose(id);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // Only what lies between the old and the new position is touched, so a step costs the same in a large graph.
  moveTo(position) {
    const toggle = (k, name, on) => (this.fires[k] || []).forEach((g) => {
      g.classList.toggle(name, on);
      if (name === "al-on" && g.dataset.node) this.describe(g, on);
    });
    toggle(this.position, "al-now", false);
    for (let k = this.position + 1; k <= position; k++) toggle(k, "al-on", true);
    for (let k = this.position; k > position; k--) toggle(k, "al-on", false);
    toggle(position, "al-now", true);
    this.position = position;
  }

  describe(g, withGradient) {
    const grad = withGradient ? `, ${g.querySelector(".al-grad").textContent}` : "";
    g.setAttribute("aria-label", g.querySelector("title").textContent + grad);
  }

  select(id) {
    for (const key of [this.selected, id]) {
      const g = this.nodes.get(key);
      if (!g) continue;
      g.classList.toggle("al-chosen", key === id);
      g.setAttribute("tabindex", key === id ? "0" : "-1");
    }
    this.selected = id;
  }

  // Scrolls the graph's own frame, never the page, until all these nodes are in it; the last one wins.
  reveal(ids, behavior) {
    const outer = this.el.getBoundingClientRect(), { clientWidth, clientHeight } = this.el;
    let left = 0, top = 0;
    const by = (low, high, size) => (low < 0 ? low - EDGE : high > size ? high - size + EDGE : 0);
    for (const id of ids) {
      const inner = this.nodes.get(id)?.getBoundingClientRect();
      if (!inner) continue;
      const x = inner.left - outer.left - left, y = inner.top - outer.top - top;
      left += by(x, x + inner.width, clientWidth);
      top += by(y, y + inner.height, clientHeight);
    }
    if (left || top) this.el.scrollBy({ left, top, behavior });
  }

  // Replaces the numbers in place; `texts` are what Python wrote for this position of the sliders.
  write(kind, ids, texts) {
    this.texts ||= {};
    const known = (this.texts[kind] ||= new Map([...this.svg.querySelectorAll(`[data-${kind}]`)]
      .map((el) => [el.dataset[kind], el])));
    ids.forEach((id, i) => {
      const el = known.get(id);
      if (el && el.textContent !== texts[i]) el.textContent = texts[i];
    });
  }
}

// A table that is filled when it is first opened, and on every change from then on.
function tableTwin(label, columns, fill) {
  const body = h("tbody");
  const details = h("details", { class: "al-details" },
    h("summary", {}, label),
    h("div", { class: "al-scroll", ...SCROLLS, "aria-label": label },
      h("table", {}, h("thead", {}, h("tr", {}, ...columns.map((c) => h("th", { scope: "col" }, c)))), body)));
  const update = () => { if (details.open) fill(body); };
  details.addEventListener("toggle", update);
  return { el: details, update };
}

function row(cells, props = {}) {
  return h("tr", props, ...cells.map((cell, i) => (i ? h("td", {}, cell) : h("th", { scope: "row" }, cell))));
}

// ---- Stepper --------------------------------------------------------------------------------------------------

function stepper(model, el) {
  const trace = model.get("trace");
  const { nodes, edges, steps } = trace;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edgeById = new Map(edges.map((edge) => [edge.id, edge]));
  const firesAt = new Map(steps.map((step, i) => [step.node, i + 1]));
  const called = (id) => byId.get(id).label || byId.get(id).name;
  const last = steps.length;

  const position = () => model.get("position");
  const go = (to) => change(model, { position: Math.max(0, Math.min(last, to)), selected: "" });
  const step = () => go(position() + 1);
  const undo = () => go(position() - 1);
  const play = () => {
    if (!model.get("playing") && position() === last) go(0);
    change(model, { playing: !model.get("playing") });
  };
  const pauseAnd = (action) => () => { if (model.get("playing")) change(model, { playing: false }); action(); };

  const graph = new Graph(model.get("svg"), (id) => change(model, { selected: id }));
  const resetButton = button("reset", "Reset", "Home", pauseAnd(() => go(0)));
  const undoButton = button("undo", "Undo", "Left arrow", pauseAnd(undo));
  const stepButton = button("step", "Step", "Right arrow", pauseAnd(step));
  const playButton = button("play", "Play", "Space", play);
  const speed = h("select", { class: "al-select", "aria-label": "Speed",
    onchange: () => change(model, { speed: Number(speed.value) }) },
  ...SPEEDS.map((s) => h("option", { value: String(s) }, `${s}×`)));
  const count = h("span", { class: "al-count" });
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const inspector = h("section", { class: "al-inspect", "aria-label": "Inspected node" });
  const table = tableTwin("Table of all steps", ["Step", "Node", "Value", "Receives", "Sends"], fillTable);

  const root = h("div", { class: "al-root al-stepper", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar", role: "toolbar", "aria-label": "Steps" },
      resetButton, undoButton, stepButton, playButton, speed, count),
    status,
    h("div", { class: "al-main" }, graph.el, inspector),
    table.el);
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, .al-scroll")) return;
    const onButton = event.target.closest("button, summary");
    const keys = { ArrowRight: pauseAnd(step), ArrowLeft: pauseAnd(undo), Home: pauseAnd(() => go(0)),
      End: pauseAnd(() => go(last)) };
    if (!onButton) keys[" "] = play;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });

  function shown() {
    const chosen = model.get("selected");
    if (byId.has(chosen)) return chosen;
    return position() ? steps[position() - 1].node : trace.root;
  }

  // What fires next is worth seeing, what fired last more, and what was chosen most.
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const reveal = (behavior) => graph.reveal([steps[position()]?.node, shown()], behavior);

  function draw() {
    const at = position();
    graph.moveTo(at);
    graph.select(shown());
    reveal(calm.matches ? "auto" : "smooth");
    count.textContent = `Step ${at} of ${last}`;
    const said = at ? steps[at - 1].sentence : `Ready. ${byId.get(trace.root).name} fires first.`;
    if (status.textContent !== said) status.textContent = said;
    // A button that has the focus is not disabled, or the focus would be lost with it.
    for (const [b, off] of [[resetButton, at === 0], [undoButton, at === 0], [stepButton, at === last]]) {
      b.setAttribute("aria-disabled", String(off));
    }
    const playing = model.get("playing");
    playButton.replaceChildren(sign(playing ? "pause" : "play"), playing ? "Pause" : "Play");
    inspector.replaceChildren(...inspect(byId.get(shown()), at));
    table.update();
  }

  function inspect(node, at) {
    const k = firesAt.get(node.id);
    const fired = k !== undefined && k <= at;
    const s = fired ? steps[k - 1] : null;
    const facts = [];
    const fact = (name, ...content) => facts.push(h("dt", {}, name), h("dd", {}, ...content));
    const rule = (name, ...lines) => facts.push(h("dt", { class: "al-wide" }, name),
      ...lines.map((line) => h("dd", { class: "al-wide" }, code(line))));
    const code = (t) => h("code", {}, t);
    if (node.kind === "leaf") {
      fact("leaf", text(node.value));
    } else {
      if (node.forward) rule("forward", node.settings ? `${node.forward}, ${node.settings}` : node.forward);
      const into = edges.filter((edge) => edge.to === node.id).map((edge) => `${edge.input} is ${called(edge.from)}`);
      if (node.kind === "op" && into.length) fact("where", into.join(", "));
      fact("value", node.value ? text(node.value) : "not remembered: no rule asks for it");
    }
    if (node.shape && node.shape.length) fact("shape", `[${node.shape.join(", ")}] ${node.dtype}`);
    fact("receives", fired ? s.incoming.map(text).join(" and ") : "not yet");
    if (node.kind === "leaf") {
      if (fired) fact(".grad", s.grad.before ? `${text(s.grad.before)}, then ${text(s.grad.after)}` : text(s.grad.after));
    } else if (fired) {
      for (const sent of s.outgoing) {
        const numbers = sent.filled || text(sent.value);
        rule(`sends ${called(edgeById.get(sent.edge).from)}`,
          ...(sent.formula && sent.formula !== numbers ? [sent.formula, numbers] : [numbers]));
      }
    } else {
      for (const { input, formula } of node.rules) if (formula) rule(`rule for ${input}`, formula);
    }
    for (const saved of node.saved) {
      const state = !saved.bytes ? "" : fired ? ` (${saved.bytes} bytes, freed by backward() now)` : ` (${saved.bytes} bytes)`;
      fact(`saved ${saved.name}`, saved.text + state);
    }
    if (node.kind !== "leaf" && !node.saved.length) fact("saved", "nothing");
    const name = node.kind === "leaf" ? node.label : node.label ? `${node.label} · ${node.name}` : node.name;
    return [h("p", { class: "al-title" }, name), h("dl", {}, ...facts)];
  }

  function fillTable(body) {
    const at = position();
    body.replaceChildren(...steps.map((s, i) => {
      const node = byId.get(s.node);
      const reached = i < at;
      const sends = s.grad ? `.grad = ${text(s.grad.after)}`
        : s.outgoing.map((o) => `${called(edgeById.get(o.edge).from)}: ${o.filled || text(o.value)}`).join("; ");
      return row([String(i + 1), node.label ? `${node.label} (${node.name})` : node.name, text(node.value),
        reached ? s.incoming.map(text).join(", ") : "not yet", reached ? sends : "not yet"],
      i + 1 === at ? { "aria-current": "step" } : {});
    }));
  }

  let timer = null;
  function run() {
    clearInterval(timer);
    timer = null;
    if (!model.get("playing")) return;
    timer = setInterval(() => {
      if (position() < last) step();
      if (position() >= last) change(model, { playing: false });
    }, PERIOD / model.get("speed"));
  }

  el.replaceChildren(root);
  const stop = [
    follow(model, ["position", "selected", "playing"], draw),
    follow(model, ["playing", "speed"], run),
    follow(model, ["speed"], () => { speed.value = String(model.get("speed")); }),
  ];
  // Nothing can be scrolled before the page has given the graph its size.
  const sized = new ResizeObserver(() => {
    if (!graph.el.clientHeight) return;
    reveal("auto");
    sized.disconnect();
  });
  sized.observe(graph.el);
  return () => { clearInterval(timer); sized.disconnect(); stop.forEach((f) => f()); root.remove(); };
}

// ---- explore --------------------------------------------------------------------------------------------------

// Sliders over a picture whose numbers Python has computed: in advance for every stop (`presets`), or when asked.
function explorer(model, el) {
  const inputs = model.get("inputs");
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const place = h("div", { class: "al-main" });
  const table = tableTwin("Table of all values", ["Node", "Value", "Gradient"], fillTable);
  let graph = null, picture = -1, frame = null;

  const controls = inputs.map((input) => {
    const out = h("span", { class: "al-number", "aria-hidden": "true" });
    const range = h("input", { type: "range", class: "al-range", min: 0, max: input.stops.length - 1, step: 1,
      "aria-label": input.name, oninput: () => {
        change(model, { values: { ...model.get("values"), [input.name]: input.stops[Number(range.value)] } });
      } });
    return { input, range, out, el: h("label", { class: "al-slider" }, h("code", {}, input.name), range, out) };
  });
  const reset = button("reset", "Reset", "Back to where the sliders started",
    () => change(model, { values: Object.fromEntries(inputs.map((i) => [i.name, i.start])) }));

  const root = h("div", { class: "al-root al-explorer", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar" }, ...controls.map((c) => c.el), reset), status, place, table.el);
  // Keys that belong to a slider stay with it.
  root.addEventListener("keydown", (event) => { if (event.target.matches("input")) event.stopPropagation(); });

  const key = (values) => inputs.map((i) => i.stops.indexOf(values[i.name])).join(",");

  function draw() {
    const values = model.get("values");
    for (const { input, range, out } of controls) {
      const value = values[input.name];
      let near = 0;
      input.stops.forEach((stop, i) => { if (Math.abs(stop - value) < Math.abs(input.stops[near] - value)) near = i; });
      range.value = String(near);
      out.textContent = input.texts[near] !== undefined && input.stops[near] === value ? input.texts[near] : String(value);
      range.setAttribute("aria-valuetext", out.textContent);
    }
    const answer = model.get("frame");
    const found = model.get("presets")[key(values)]
      || (inputs.every((i) => answer.values[i.name] === values[i.name]) ? answer : null);
    root.setAttribute("aria-busy", String(!found)); // Python has been asked
    if (found) show(found);
  }

  function show(next) {
    frame = next;
    status.textContent = next.sentence;
    status.classList.toggle("al-error", next.picture < 0);
    if (next.picture >= 0) {
      const shown = model.get("pictures")[next.picture];
      if (next.picture !== picture) {
        picture = next.picture;
        graph = new Graph(shown.svg, null);
        for (const g of graph.svg.querySelectorAll(".al-node, .al-edge")) g.classList.add("al-on");
        place.replaceChildren(graph.el);
      }
      graph.write("value", shown.nodes, next.value);
      graph.write("grad", shown.nodes, next.grad);
      graph.write("sent", shown.edges, next.sent);
      shown.nodes.forEach((id, i) => graph.nodes.get(id)
        .setAttribute("aria-label", `${shown.names[i]} ${next.value[i]}, ${next.grad[i]}`));
    }
    place.classList.toggle("al-stale", next.picture < 0);
    table.update();
  }

  function fillTable(body) {
    if (picture < 0) return;
    const shown = model.get("pictures")[picture];
    body.replaceChildren(...shown.names.map((name, i) => row([name, frame.value[i], frame.grad[i]])));
  }

  el.replaceChildren(root);
  const stop = follow(model, ["values", "frame", "pictures", "presets"], draw);
  return () => { stop(); root.remove(); };
}

// ---- entry ----------------------------------------------------------------------------------------------------

const VIEWS = { stepper, explorer };

function render({ model, el }) {
  return VIEWS[model.get("view")](model, el);
}

export default { render };
