// ---- explore --------------------------------------------------------------------------------------------------

// Sliders over a picture whose numbers Python has computed: in advance for every stop (`presets`), or when asked.
function explorer(model, el) {
  const inputs = model.get("inputs");
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const place = h("div", { class: "al-main" });
  const table = tableTwin("Table of all values", ["Node", "Value", "Gradient"], fillTable);
  let graph = null, picture = null, frame = null;

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
  root.addEventListener("keydown", (event) => { if (event.target.matches("input")) keepKeys(event); });

  const key = (values) => inputs.map((i) => i.stops.indexOf(values[i.name])).join(",");

  function draw() {
    const values = model.get("values");
    if (model.get("inputs") !== inputs) return; // another function was typed
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
    else if (model.page) status.textContent = BEYOND;
  }

  function show(next) {
    frame = next;
    status.textContent = next.sentence;
    status.classList.toggle("al-error", next.picture < 0);
    if (next.picture >= 0) {
      const shown = model.get("pictures")[next.picture];
      if (shown !== picture) {
        picture = shown;
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
    if (!picture) return;
    body.replaceChildren(...picture.names.map((name, i) => row([name, frame.value[i], frame.grad[i]])));
  }

  el.replaceChildren(root);
  const stop = follow(model, ["values", "frame", "pictures", "presets"], draw);
  return () => { stop(); root.remove(); };
}

VIEWS.explorer = explorer;

// ---- live -----------------------------------------------------------------------------------------------------

// A field to type an expression into, over the sliders and the graph of what was typed last.
function live(model, el) {
  const field = h("input", { type: "text", class: "al-field al-typed", "aria-label": "Expression", autocomplete: "off", spellcheck: "false" });
  const problem = h("p", { class: "al-status al-error", role: "alert" });
  const form = h("form", { class: "al-bar al-root", onsubmit: (event) => { event.preventDefault(); change(model, model.page ? { problem: BEYOND } : { expression: field.value }); } },
    field, h("button", { type: "submit", class: "al-button" }, "Show"), problem);
  form.addEventListener("keydown", keepKeys); // the keys of a text field are its own
  const place = h("div");
  let close = () => {};
  el.replaceChildren(form, place);
  const stop = [
    follow(model, ["expression"], () => { field.value = model.get("expression"); }),
    follow(model, ["problem"], () => { problem.textContent = model.get("problem"); problem.hidden = !problem.textContent; }),
    follow(model, ["inputs"], () => { close(); close = explorer(model, place); }),
  ];
  return () => { close(); stop.forEach((f) => f()); form.remove(); };
}

VIEWS.live = live;
