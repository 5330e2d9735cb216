// ---- Stepper --------------------------------------------------------------------------------------------------

const FAINT = 0.15; // as in draw/cells.py
const BESIDE = 850; // pixels of a graph that has room for the inspector at its side

function stepper(model, el) {
  const trace = JSON.parse(model.get("trace"));
  const { nodes, edges, steps } = trace;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edgeById = new Map(edges.map((edge) => [edge.id, edge]));
  const firesAt = new Map(steps.map((step, i) => [step.node, i + 1]));
  const titleOf = ({ kind, label, symbol, op, name }) => { // as TraceNode.title
    const sign = kind === "leaf" ? label : symbol || op;
    return sign ? `${sign} (${name})` : name;
  };
  const called = (id) => byId.get(id).label || titleOf(byId.get(id));
  const last = steps.length, ready = `Ready. ${titleOf(byId.get(trace.root))} fires first.`;

  const position = () => model.get("position");
  const go = (to) => change(model, { position: Math.max(0, Math.min(last, to)), selected: "" });
  const step = () => go(position() + 1);
  const undo = () => go(position() - 1);
  const play = () => {
    if (!model.get("playing") && position() === last) go(0);
    change(model, { playing: !model.get("playing") });
  };
  const pauseAnd = (action) => () => { if (model.get("playing")) change(model, { playing: false }); action(); };

  const { names, homes = {} } = model.get("groups") || {};
  let graph = null, drawn = null;
  const opened = () => (names ? model.get("opened") : "");
  // A closed group is opened, a node is inspected, in the group that it is in.
  const choose = (id, enter) => {
    if (byId.has(id)) change(model, { selected: id });
    else if (enter) change(model, { opened: id.split("-")[0] });
    else graph.select(id);
  };
  const visit = (id) => change(model, { selected: id, ...(names && !graph.nodes.has(id) ? { opened: homes[id] } : {}) });
  const place = h("div", {});
  const trail = names && h("div", { class: "al-bar", role: "group", "aria-label": "Open groups" });
  const find = h("input", { type: "search", class: "al-field", "aria-label": "Find a node", placeholder: "Find a node",
    [SUPPRESS]: "true", oninput: () => search(0), onkeydown: (event) => {
      keepKeys(event);
      if (event.key === "Enter") search(event.shiftKey ? -1 : 1);
    } });
  const found = h("span", { class: "al-count", role: "status" });
  const tools = nodes.length > 12 && h("div", { class: "al-bar", role: "group", "aria-label": "Graph" },
    button("out", "Smaller", "Minus", () => graph.zoom(0.8)), button("in", "Larger", "Plus", () => graph.zoom(1.25)),
    button("fit", "Fit", "0", () => graph.zoom(0)), find, found);

  let hit = 0;
  function search(by) {
    const wanted = find.value.trim().toLowerCase();
    const hits = wanted ? nodes.filter((n) => `${n.label} ${n.name} ${n.op || ""}`.toLowerCase().includes(wanted)) : [];
    hit = by ? (hit + by + hits.length) % (hits.length || 1) : 0;
    found.textContent = !wanted ? "" : hits.length ? `${hit + 1} of ${hits.length}: ${called(hits[hit].id)}` : "no such node";
    if (hits.length) visit(hits[hit].id);
  }

  const resetButton = button("reset", "Reset", "Home", pauseAnd(() => go(0)));
  const undoButton = button("undo", "Undo", "Left arrow", pauseAnd(undo));
  const stepButton = button("step", "Step", "Right arrow", pauseAnd(step));
  const playButton = button("play", "Play", "Space", play);
  const speed = h("select", { class: "al-select", "aria-label": "Speed",
    onchange: () => change(model, { speed: Number(speed.value) }) },
  ...SPEEDS.map((s) => h("option", { value: String(s) }, `${s}×`)));
  const count = h("span", { class: "al-count", style: widest([`Step ${last} of ${last}`]) });
  let aloft = 0; // the step whose gradients travel while the timeline is held
  const between = (k, share) => {
    const to = share > 0 ? k + 1 : 0;
    if (to !== aloft) graph.send(to, false);
    hold(graph.svg, (1 + share) / 2); // they rest on their line for the first half
    aloft = to;
  };
  const settle = (back) => { letGo(graph.svg, back); aloft = 0; };
  const scrub = timeline("Step", last, (k) => pauseAnd(() => go(k))(), between, settle);
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const inspector = h("div", { class: "al-inspect", role: "group", "aria-label": "Inspected node" });
  const readout = h("p", { class: "al-readout", "aria-hidden": "true" }); // the number of the cell that is pointed at or has the focus
  const tell = (words) => { readout.textContent = words; };
  const touch = hands(inspector, { controls: [], tracks: {}, tell });
  for (const type of ["pointerover", "pointerout"]) place.addEventListener(type, ({ target }) => {
    const part = target.closest("[data-told]");
    if (part) tell(type === "pointerover" ? part.dataset.told : "");
  });
  const table = tableTwin("Table of all steps", ["Step", "Node", "Value", "Receives", "Sends"], fillTable);

  const root = h("div", { class: "al-root al-stepper", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar", role: "toolbar", "aria-label": "Steps" },
      resetButton, undoButton, stepButton, playButton, speed, scrub.el, count),
    status,
    tools || null, trail || null,
    h("div", { class: "al-main" }, place, inspector), readout,
    table.el);
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, input, .al-scroll, .al-heat-cell")) return;
    const onButton = event.target.closest("button, summary");
    const keys = { ArrowRight: pauseAnd(step), ArrowLeft: pauseAnd(undo), Home: pauseAnd(() => go(0)),
      End: pauseAnd(() => go(last)), "+": () => graph.zoom(1.25), "-": () => graph.zoom(0.8), 0: () => graph.zoom(0) };
    if (opened()) keys.Escape = () => change(model, { opened: homes[opened()] });
    if (event.shiftKey && event.key.startsWith("Arrow")) return;
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

  // Another group is open: another picture, from Python. The focus goes inside. A phone has a picture of its own, if the graph is small.
  function picture() {
    const whole = model.get("svg"), tall = model.get("tall"), room = place.clientWidth;
    const svg = tall && room && room < Number(/width="(\d+)"/.exec(whole)[1]) ? tall : whole;
    if (svg === drawn) return;
    const had = graph?.el.contains(document.activeElement);
    drawn = svg;
    graph = new Graph(svg, choose, homes);
    root.classList.toggle("al-broad", Number(graph.svg.getAttribute("width")) > BESIDE); // what is inspected then goes below
    graph.gather(steps);
    place.replaceChildren(graph.el);
    if (trail) {
      const path = [];
      for (let id = opened(); id !== undefined; id = homes[id]) path.unshift(id);
      trail.replaceChildren(...path.map((id, i) => h("button", { type: "button", class: "al-button",
        "aria-current": i === path.length - 1 ? "true" : null, onclick: () => change(model, { opened: id }) }, names[id])));
    }
    draw();
    const inside = graph.order.filter((id) => homes[id] === opened());
    if (!inside.length || inside.includes(shown())) return had && graph.nodes.get(graph.selected)?.focus({ preventScroll: true });
    graph.reveal([inside.at(-1), inside[0]], "auto");
    if (!had) return;
    graph.select(inside[0]);
    graph.nodes.get(inside[0]).focus({ preventScroll: true });
  }

  const room = () => keepRoom(status, false, "", () => [ready, ...steps.map((one) => one.sentence)]);
  function draw() {
    if (!graph) return;
    const at = position(), from = graph.position;
    graph.moveTo(at);
    scrub.show(at);
    graph.select(shown());
    count.textContent = `Step ${at} of ${last}`;
    const said = at ? steps[at - 1].sentence : ready;
    room();
    if (status.textContent !== said) status.textContent = said;
    // A button that has the focus is not disabled, or the focus would be lost with it.
    for (const [b, off] of [[resetButton, at === 0], [undoButton, at === 0], [stepButton, at === last]]) {
      b.setAttribute("aria-disabled", String(off));
    }
    const playing = model.get("playing");
    playButton.replaceChildren(sign(playing ? "pause" : "play"), playing ? "Pause" : "Play");
    inspector.replaceChildren(...inspect(byId.get(shown()), at));
    table.update();
    reveal(calm.matches ? "auto" : "smooth"); // last: it asks where things are, which must be worked out anew after each change
    if (at !== from && !scrub.busy()) graph.send(graph.seen && Math.abs(at - from) === 1 ? Math.max(at, from) : 0, at < from);
    graph.seen = true;
    if (rows?.[at - 1]) scrollTo(rows[at - 1]);
  }

  // Within the frame of the table, never the page.
  function scrollTo(line) {
    const frame = line.closest(".al-scroll"), { top, bottom } = line.getBoundingClientRect(), outer = frame.getBoundingClientRect();
    if (bottom > outer.bottom || top < outer.top + EDGE) frame.scrollTop += top - outer.top - outer.height / 2;
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
      facts.push(heat(node.value, node.label));
    } else {
      if (node.forward) rule("forward", node.settings ? `${node.forward}, ${node.settings}` : node.forward);
      const into = edges.filter((edge) => edge.to === node.id).map((edge) => `${edge.input} is ${called(edge.from)}`);
      if (node.kind === "op" && into.length) fact("where", into.join(", "));
      fact("value", node.value ? text(node.value) : node.outputs > 1 ? `${node.outputs} results`
        : "not kept: no variable holds it and no rule asks for it. Stepper(lambda: loss) keeps every result, and so does a "
          + "forward pass under autolab.trace.watch().");
      facts.push(heat(node.value, node.label || "value"));
    }
    if (node.shape && node.shape.length) fact("shape", `[${node.shape.join(", ")}] ${node.dtype}`);
    for (const hook of fired ? s.hooks : []) {
      fact(`hook ${hook.name}`, `sees ${hook.sees.map(text).join(" and ")}`,
        hook.gives ? `, gives ${hook.gives.map(text).join(" and ")}` : ", changes nothing");
    }
    fact("receives", fired ? s.incoming.map(text).join(" and ") : "not yet");
    if (fired) facts.push(...s.incoming.map((one) => heat(one, "gradient")));
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
    const links = (title, ids) => ids.length && fact(title, ...[...new Set(ids)].map((id) =>
      h("button", { type: "button", class: "al-link", onclick: () => visit(id) }, called(id))));
    links("inputs", edges.filter((edge) => edge.to === node.id).map((edge) => edge.from));
    links("used by", edges.filter((edge) => edge.from === node.id).map((edge) => edge.to));
    const name = node.kind === "leaf" ? node.label : node.label ? `${node.label} · ${titleOf(node)}` : titleOf(node);
    return [h("p", { class: "al-title" }, name), h("dl", {}, ...facts)];
  }

  // A tensor at a glance: its numbers, or a histogram and the means of its blocks, in colours as in the graph; a cross where nothing
  // is finite. All are pointed at, or walked through by arrows, to be read; numbers are written where there is room.
  function heat(value, name) {
    const { summary, data, shape } = value || {}, flat = (rows) => (Array.isArray(rows[0]?.[0]) ? rows.flatMap(flat) : rows);
    if (!summary?.heat && !Array.isArray(data)) return "";
    const at = (d) => (d === "x" ? NaN : summary.low + ((summary.high - summary.low) * d) / 9);
    const items = summary ? summary.heat.map((line) => [...line].map(at)) : flat(Array.isArray(data[0]) ? data : [data]);
    const rows = items.map((line) => line.map(magnitude)); // complex numbers have the colour of their magnitude
    const columns = rows[0]?.length, full = Math.max(...rows.flat().map((v) => Math.abs(v)).filter(Number.isFinite), 1e-300);
    if (!columns) return "";
    const [wide, high] = summary ? [8, 8] : columns <= 4 ? [66, 26] : [22, 22];
    const index = (k) => shape.map((size, d) => Math.floor(k / shape.slice(d + 1).reduce((a, b) => a * b, 1)) % size).join(", ");
    const cells = rows.flatMap((line, i) => line.map((v, j) => {
      const x = j * wide, y = i * high, box = `x="${x}" y="${y}" width="${wide}" height="${high}"`, share = v ? FAINT + ((1 - FAINT) * Math.abs(v)) / full : 0;
      const fill = Number.isFinite(v) ? `<rect class="al-heat-${v < 0 ? "low" : "high"}" ${box} fill-opacity="${share}"/>`
        : `<path class="al-plus" d="M${x + 2} ${y + 2}l${wide - 4} ${high - 4}m0-${high - 4}l-${wide - 4} ${high - 4}"/>`;
      const said = summary ? `${name}: block ${i}, ${j} of ${rows.length} by ${columns}, mean ${Number.isFinite(v) ? `about ${brief(v)}` : "not finite"}` : "";
      if (summary) return `<g class="al-heat-cell" tabindex="-1" role="img" aria-label="${said}">${fill}<rect class="al-hit" ${box}/></g>`;
      const mark = v < 0 ? `<path class="al-heat-sign" d="M${x} ${y + high - 6}v6h6z"/>` : "", number = digits(items[i][j], 6);
      const written = columns <= 4 ? `<text class="al-t" x="${x + wide / 2}" y="${y + 18}" text-anchor="middle">${digits(items[i][j], 2)}</text>` : "";
      return `<g class="al-heat-cell" tabindex="-1" role="img" aria-label="${name}[${index(i * columns + j)}] = ${number}">${fill}${mark}<rect class="al-heat-edge" ${box}/>${written}</g>`;
    }));
    const map = h("dd", { class: "al-wide al-heat" });
    if (summary?.counts?.length) map.append(tensorPicture(`Histogram: ${text(value)}`, bars(summary, name), [200, 60], summary.counts.length));
    map.append(tensorPicture(`Cells: ${text(value)}`, cells, [wide * columns, high * rows.length], columns));
    return map;
  }

  const brief = (v) => String(Number(v.toPrecision(3)));

  // A complex number comes as text, "3+4j"; so does what is not finite.
  const COMPLEX = /^(.*[^e])([+-].*)j$/;
  const magnitude = (v) => (typeof v === "string" && COMPLEX.test(v) ? Math.hypot(...v.match(COMPLEX).slice(1).map(Number)) : v);

  function digits(v, n) {
    if (Number.isFinite(v)) return String(Number(v.toPrecision(n)));
    const parts = typeof v === "string" && v.match(COMPLEX);
    if (!parts) return v;
    const [real, imaginary] = parts.slice(1).map((part) => (Number.isFinite(Number(part)) ? String(Number(Number(part).toPrecision(n))) : part));
    return `${real}${/^[+-]/.test(imaginary) ? "" : "+"}${imaginary}j`;
  }

  // How many numbers each bin has; the whole column is pointed at, however short its bar.
  function bars({ counts, low, high }, name) {
    const most = Math.max(...counts), all = counts.reduce((a, b) => a + b, 0), wide = 200 / counts.length;
    const edge = (k) => low + (high - low) * (k / counts.length);
    return counts.map((count, k) => {
      const tall = count ? Math.max((58 * count) / most, 1) : 0, thin = low < high ? wide : 10, // equal numbers are one bar in the middle
        side = edge(k) + edge(k + 1) < 0 ? "low" : "high";
      const here = low < high ? `from ${brief(edge(k))} to ${brief(edge(k + 1))}` : brief(low);
      return `<g class="al-heat-cell" tabindex="-1" role="img" aria-label="${name}: ${count} of ${all} numbers are ${here}">`
        + `<rect class="al-heat-${side}" x="${k * wide + (wide - thin) / 2}" y="${60 - tall}" width="${thin}" height="${tall}"/>`
        + `<rect class="al-hit" x="${k * wide}" y="0" width="${wide}" height="60"/></g>`;
    });
  }

  function tensorPicture(label, cells, [wide, high], columns) {
    const holder = document.createElement("div");
    holder.innerHTML = `<svg class="al-svg" viewBox="0 0 ${wide} ${high}" width="${wide}" role="group"><g class="al-tensor" data-columns="${columns}">${cells.join("")}</g></svg>`;
    const svg = holder.firstElementChild;
    svg.setAttribute("aria-label", label);
    touch.dress(svg);
    return svg;
  }

  // Rows are made once, and hide what is not known yet. A step changes classes only: nothing moves, so nothing is laid out again.
  let rows = null, told = 0;
  function fillTable(body) {
    const at = position();
    if (!rows) {
      rows = steps.map((s, i) => {
        const node = byId.get(s.node), sends = s.grad ? `.grad = ${text(s.grad.after)}`
          : s.outgoing.map((o) => `${called(edgeById.get(o.edge).from)}: ${o.filled || text(o.value)}`).join("; ");
        return row([String(i + 1), node.kind !== "leaf" && node.label ? `${node.label} · ${titleOf(node)}` : titleOf(node), text(node.value),
          s.incoming.map(text).join(", "), sends], { class: "al-later" });
      });
      body.append(...rows);
    }
    for (let i = Math.min(at, told); i < Math.max(at, told); i++) rows[i].classList.toggle("al-later", i >= at);
    rows[told - 1]?.removeAttribute("aria-current");
    rows[at - 1]?.setAttribute("aria-current", "step");
    told = at;
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
    follow(model, ["svg"], picture),
    follow(model, ["position", "selected", "playing"], draw),
    follow(model, ["playing", "speed"], run),
    follow(model, ["speed"], () => { speed.value = String(model.get("speed")); }),
  ];
  // Nothing can be scrolled before the page has given the graph its size.
  let roomy = 0;
  const sized = new ResizeObserver(() => {
    if (!place.clientHeight || roomy === place.clientWidth) return;
    roomy = place.clientWidth;
    picture();
    room();
    reveal("auto");
  });
  sized.observe(place);
  return () => { clearInterval(timer); sized.disconnect(); stop.forEach((f) => f()); root.remove(); };
}

VIEWS.stepper = stepper;
