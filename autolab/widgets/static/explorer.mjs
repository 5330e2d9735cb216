// ---- explore --------------------------------------------------------------------------------------------------

// Sliders over a picture whose numbers Python has computed: in advance for every stop (`presets`), or when asked. An input can
// be dragged in its node of the graph and on its curve, too.
function explorer(model, el) {
  const inputs = model.get("inputs");
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const place = h("div"), readout = h("p", { class: "al-readout", "aria-hidden": "true" }), curves = h("div", { class: "al-graph" }), main = h("div", { class: "al-hold" }, place, curves);
  main.style.cssText = "display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start";
  place.style.cssText = "flex: 1 1 420px; min-width: 0";
  curves.style.cssText = "flex: 1 1 auto; display: flex; flex-wrap: wrap; justify-content: safe center; gap: 8px; max-width: 100%; overflow: auto; max-height: none";
  const table = tableTwin("Table of all values", ["Node", "Value", "Gradient"], fillTable);
  let graph = null, picture = null, tall = null, frame = null, past = [], dragging = false;

  const start = Object.fromEntries(inputs.map((i) => [i.name, i.start]));
  const same = (a, b) => inputs.every((i) => a[i.name] === b[i.name]);
  const go = (values, forget) => {
    const now = model.get("values");
    if (same(values, now)) return;
    if (!forget) past.push(now);
    change(model, { values });
  };
  const near = (stops, value) => stops.reduce((best, stop, i) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best), 0);
  const indices = () => Object.fromEntries(inputs.map((i) => [i.name, near(i.stops, model.get("values")[i.name])]));
  const valuesOf = (at) => Object.fromEntries(inputs.map((i) => [i.name, i.stops[at[i.name]]]));

  const controls = inputs.map((input) => {
    const out = h("span", { class: "al-number", "aria-hidden": "true", style: widest(input.texts) });
    const rest = () => { dragging = false; room(); };
    const range = h("input", { type: "range", class: "al-range", min: 0, max: input.stops.length - 1, step: 1, "aria-label": input.name,
      oninput: () => { go({ ...model.get("values"), [input.name]: input.stops[Number(range.value)] }, dragging); dragging = true; },
      onpointerup: rest, onpointercancel: rest, onchange: rest }); // one drag is one undo
    return { input, range, out, el: h("label", { class: "al-slider" }, h("code", {}, input.name), range, out) };
  });
  const reset = button("reset", "Reset", "Back to where the sliders started", () => go(start));
  const undo = button("undo", "Undo", "Take the last change back", () => { if (past.length) change(model, { values: past.pop() }); });

  for (const type of ["pointerover", "focusin", "focusout"]) place.addEventListener(type, (event) => {
    const id = type !== "focusout" && event.target.closest("[data-node]")?.dataset.node;
    readout.textContent = (id && picture.names[picture.nodes.indexOf(id)]) || "";
  });

  const touch = hands(main, {
    controls: inputs.map((i) => ({ ...i, label: i.name })), tracks: Object.fromEntries(inputs.filter((i) => i.track).map((i) => [i.name, i.track])),
    at: indices, past: () => [...past], go: (at, forget) => go(valuesOf(at), forget), same: (at) => same(valuesOf(at), model.get("values")),
    restore: (at, before) => { past = before; change(model, { values: valuesOf(at) }); }, can: () => false, act() {}, drawn: room, tell() {},
  });

  const root = h("div", { class: "al-root al-explorer", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar" }, reset, undo), h("div", { class: "al-bar" }, ...controls.map((c) => c.el)), status, main, readout, table.el);
  // Keys that belong to a slider stay with it.
  root.addEventListener("keydown", (event) => { if (event.target.matches("input")) keepKeys(event); });

  const plots = new Map(inputs.filter((i) => i.handle).map((input) => {
    const [wide, high] = input.size;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const traits = { class: "al-svg al-plot", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": `The result against ${input.name}` };
    Object.entries(traits).forEach(([name, value]) => svg.setAttribute(name, value));
    svg.style.cssText = `flex: none; width: ${wide}px; height: ${high}px; max-width: none`;
    svg.innerHTML = `<g></g><g></g>${input.handle}`;
    const [curve, tangent, handle] = svg.children;
    return [input.name, { svg, curve, tangent, at: handle.firstElementChild, drawn: null }];
  }));

  const key = (values) => inputs.map((i) => i.stops.indexOf(values[i.name])).join(",");

  function draw() {
    const values = model.get("values");
    if (model.get("inputs") !== inputs || inputs.some((i) => values[i.name] === undefined)) return; // another function was typed
    for (const { input, range, out } of controls) {
      const value = values[input.name], k = near(input.stops, value);
      range.value = String(k);
      out.textContent = input.texts[k] !== undefined && input.stops[k] === value ? input.texts[k] : String(value);
      range.setAttribute("aria-valuetext", out.textContent);
    }
    reset.setAttribute("aria-disabled", String(same(values, start)));
    undo.setAttribute("aria-disabled", String(!past.length));
    const answer = model.get("frame");
    const found = model.get("presets")[key(values)]
      || (inputs.every((i) => answer.values[i.name] === values[i.name]) ? answer : null);
    root.setAttribute("aria-busy", String(!found)); // Python has been asked
    if (found) show(found);
    else if (model.page) status.textContent = BEYOND;
  }

  // From left to right where there is room, else from top to bottom.
  function drawGraph(shown) {
    const room = place.clientWidth, wide = Number(/width="(\d+)"/.exec(shown.svg)[1]), high = Boolean(shown.tall) && room > 0 && room < wide;
    if (shown === picture && high === tall) return;
    [picture, tall] = [shown, high];
    const focused = document.activeElement?.dataset?.alongX, had = place.contains(document.activeElement);
    graph = new Graph(high ? shown.tall : shown.svg, null);
    for (const g of graph.svg.querySelectorAll(".al-node, .al-edge")) g.classList.add("al-on");
    for (const input of inputs) {
      const g = graph.nodes.get(shown.nodes[shown.names.indexOf(input.name)]), box = g?.querySelector(".al-box");
      if (!box) continue;
      g.classList.add("al-handle", "al-number-handle");
      Object.assign(g.dataset, { alongX: input.name, alongY: "" });
      g.setAttribute("tabindex", "0");
      g.setAttribute("role", "slider");
      const [x, y, w, high] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
      const grip = document.createElementNS("http://www.w3.org/2000/svg", "path");
      grip.setAttribute("class", "al-grip");
      grip.setAttribute("d", `M${x + w - 20} ${y + high / 2 - 4}l-4 4 4 4M${x + w - 12} ${y + high / 2 - 4}l4 4 -4 4`);
      g.append(grip);
    }
    // a name that its box has no room for is said below, of what is pointed at, pressed or has the focus
    const cut = [...graph.nodes.values()].filter((g) => [...g.querySelectorAll(".al-head, .al-name")].some((t) => /^$|…$/.test(t.textContent)));
    for (const g of cut) g.setAttribute("tabindex", "0");
    readout.hidden = !cut.length;
    place.replaceChildren(graph.el);
    if (had) graph.svg.querySelector(`[data-along-x="${focused}"]`)?.focus({ preventScroll: true });
  }

  function room() {
    const known = [...Object.values(model.get("presets")), frame || []];
    keepRoom(status, dragging || touch.busy(), known.length, () => known.map((one) => one.sentence || ""));
  }

  function show(next) {
    frame = next;
    room();
    status.textContent = next.sentence;
    status.classList.toggle("al-error", next.picture < 0);
    if (next.picture >= 0) {
      const shown = model.get("pictures")[next.picture];
      if (!shown) return;
      drawGraph(shown);
      graph.write("value", shown.nodes, next.value);
      graph.write("grad", shown.nodes, next.grad);
      graph.write("sent", shown.edges, next.sent);
      shown.nodes.forEach((id, i) => graph.nodes.get(id)
        .setAttribute("aria-label", `${shown.names[i]} ${next.value[i]}, ${next.grad[i]}`));
      touch.dress(graph.svg);
    }
    drawPlots(next.plots || {});
    main.classList.toggle("al-stale", next.picture < 0);
    table.update();
  }

  function drawPlots(told) {
    const shared = model.get("plots");
    for (const [name, plot] of plots) {
      const [curve, x, y, tangent] = told[name] || [];
      if (curve === undefined) { plot.svg.remove(); continue; }
      const drawn = typeof curve === "number" ? shared[curve] : curve;
      if (drawn !== plot.drawn) plot.curve.innerHTML = plot.drawn = drawn;
      plot.tangent.innerHTML = tangent;
      plot.at.setAttribute("transform", `translate(${x} ${y})`);
      touch.dress(plot.svg);
      if (!plot.svg.isConnected) curves.append(plot.svg);
    }
  }

  function fillTable(body) {
    if (!picture) return;
    body.replaceChildren(...picture.names.map((name, i) => row([name, frame.value[i], frame.grad[i]])));
  }

  el.replaceChildren(root);
  const stop = follow(model, ["values", "frame", "pictures", "presets"], draw);
  const resized = new ResizeObserver(() => { if (picture && frame?.picture >= 0) show(frame); });
  resized.observe(place);
  return () => { resized.disconnect(); stop(); root.remove(); };
}

VIEWS.explorer = explorer;

// ---- live -----------------------------------------------------------------------------------------------------

const TYPING = 250; // milliseconds without a key until what was typed is shown

// A field to type an expression into, over the sliders and the graph of what was typed last.
function live(model, el) {
  const field = h("input", { type: "text", class: "al-field al-typed", "aria-label": "Expression", autocomplete: "off", spellcheck: "false",
    oninput: () => { clearTimeout(timer); timer = setTimeout(take, TYPING); } });
  const problem = h("p", { class: "al-status al-error", role: "alert" }), hint = h("p", { class: "al-status", role: "status" });
  const choices = h("span", {}, ...model.get("examples").map((text) => h("button", { type: "button", class: "al-link", onclick: () => {
    field.value = text;
    take();
  } }, text)));
  const form = h("form", { class: "al-bar al-root", onsubmit: (event) => { event.preventDefault(); take(); } },
    field, h("button", { type: "submit", class: "al-button" }, "Show"), choices, hint, problem);
  form.addEventListener("keydown", keepKeys); // the keys of a text field are its own
  const place = h("div");
  let close = () => {}, timer = null;
  function take() {
    clearTimeout(timer);
    const text = field.value.trim();
    if (!text || text === model.get("expression")) return;
    if (!model.page || model.get("examples").includes(text)) change(model, { expression: text });
    else change(model, { problem: BEYOND });
  }
  const tell = (p, trait) => () => { p.textContent = model.get(trait); p.hidden = !p.textContent; };
  el.replaceChildren(form, place);
  const stop = [
    follow(model, ["expression"], () => { if (field.value.trim() !== model.get("expression")) field.value = model.get("expression"); }),
    follow(model, ["problem"], tell(problem, "problem")),
    follow(model, ["hint"], tell(hint, "hint")),
    follow(model, ["inputs"], () => { close(); close = explorer(model, place); }),
  ];
  return () => { clearTimeout(timer); close(); stop.forEach((f) => f()); form.remove(); };
}

VIEWS.live = live;
