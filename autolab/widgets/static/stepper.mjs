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

VIEWS.stepper = stepper;
