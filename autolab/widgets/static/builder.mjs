// ---- graph builder --------------------------------------------------------------------------------------------

// A graph that is put together from programs that Python computed (see builder.py). Each operation has a row of its own, in the
// order in which they ran, so nothing that is there moves when something is added: it grows downwards, and to the right.
function builder(model, el) {
  const BOX = 186, TALL = 70, PITCH = 98, RAIL = 14, LEAF = 134, TOP = 4, AIR = 30, CHAR = 8.5;
  const leaves = model.get("leaves"), moves = model.get("moves"), said = model.get("said"), L = leaves.length;
  const rows0 = TOP + 52 + 10 * L + 18, left = 10 + RAIL * L + 20, rail = (leaf) => 10 + RAIL * leaf;
  const say = (kind, values) => said[kind].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const at = () => model.get("at");
  const start = { program: [], chosen: 0, back: false };
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  const nameOf = (node) => (node < L ? leaves[node].name : `h${node - L + 1}`);
  const SELF = -1, ANOTHER = -2; // the second operand is the first, or any node
  // The one or two nodes that an operation is applied to.
  const operands = ([move, onto, other]) => {
    const second = moves[move].other;
    return second === null ? [onto] : [onto, second === SELF ? onto : second === ANOTHER ? other : second];
  };
  // The results that a result depends on, and itself, in order.
  function needed(node, program = at().program) {
    const found = new Set([node]);
    for (let k = node; k >= L; k--) if (found.has(k)) operands(program[k - L]).forEach((one) => found.add(one));
    return [...found].filter((k) => k >= L).sort((a, b) => a - b);
  }
  const keyOf = (node, program = at().program) => {
    const order = needed(node, program), name = (k) => (k < L ? k : L + order.indexOf(k));
    return order.map((k) => program[k - L]).map(([move, ...on]) => [move, ...on.map(name)].join(":")).join(" ");
  };
  const chainOf = (node) => (node < L ? undefined : model.get("chains")[keyOf(node)]);
  const called = ([move, , other]) => (other === undefined ? moves[move].name : `${moves[move].sign} ${nameOf(other)}`);

  // What is recorded for a result. Where the chain was not computed, the same operation on another result tells the names.
  function factOf(node) {
    const chains = model.get("chains"), chain = chainOf(node), move = at().program[node - L][0];
    const like = chain ?? chains[Object.keys(chains).find((key) => key.includes(" ") && key.split(" ").at(-1).startsWith(`${move}:`) && "f" in chains[key])];
    return model.get("facts")[like?.f] ?? { node: "?", next: "?", keeps: "" };
  }
  const valueOf = (node) => (node < L ? leaves[node].value : chainOf(node)?.v ?? (chainOf(node) ? "raises" : "?"));
  const nextOf = (node) => operands(at().program[node - L]).reduce((next, one, k) =>
    next.replaceAll(["{h}", "{o}"][k], one < L ? `AccumulateGrad of ${nameOf(one)}` : factOf(one).node), factOf(node).next);

  // Node -> its gradient, for what backward() reached.
  function gradients() {
    const { chosen, back } = at(), told = back && chainOf(chosen)?.g?.split(" ");
    if (!told) return new Map();
    const nodes = [...needed(chosen).slice(0, -1), ...leaves.keys()];
    return new Map([[chosen, "1"], ...nodes.map((node, k) => [node, told[k]]).filter(([, gradient]) => gradient !== "none")]);
  }

  // What a result sends to each of its operands: the operand's gradient, unless that has come along several edges.
  function sentBy(node, found) {
    const part = chainOf(at().chosen).s?.split(";")[needed(at().chosen).indexOf(node)], on = operands(at().program[node - L]);
    return part ? part.split(",") : on.map((one) => found.get(one) ?? "none");
  }

  function sentence() {
    const { program, chosen, back } = at(), name = nameOf(chosen), chain = chainOf(chosen);
    const newest = chosen >= L && chosen === L + program.length - 1;
    if (chosen >= L && !chain && (back || newest)) return model.page ? BEYOND : "Asking Python.";
    if (pair !== null) return say("pair", { name, other: nameOf(pair) });
    if (joining !== null) return say("join", { sign: moves[joining]?.sign ?? "The ring", name });
    if (back && chain.b) return say("raises", { name, error: chain.b });
    if (back) {
      const found = gradients();
      return say("back", { name, grads: leaves.map((leaf, k) => `${leaf.name}.grad is ${found.get(k) ?? "None"}`).join(", ") });
    }
    if (!program.length && !chosen) return say("start", { leaves: leaves.map((one) => `${one.name} = ${one.value}`).join(", "), onto: name });
    if (!newest) return say("chosen", { name });
    const move = called(program.at(-1));
    if (chain.e) return say("fails", { move, onto: nameOf(program.at(-1)[1]), error: chain.e });
    return say("made", { move, node: factOf(chosen).node, value: chain.v, next: nextOf(chosen) });
  }

  // -- what can be done

  // Whether an operation can be added: a page without Python has it only if it was computed.
  function isKnown(operation) {
    const node = L + at().program.length;
    return !model.page || keyOf(node, [...at().program, operation]) in model.get("chains");
  }
  const operationOf = (move, onto, other) => {
    const leaf = other !== undefined && other < L && moves.findIndex((m) => m.sign === moves[move].sign && m.other === other);
    return other === undefined ? [move, onto] : leaf === false ? [move, onto, other] : [leaf, onto];
  };
  const everyNode = () => [...leaves, ...at().program].map((_, k) => k);
  // Where a graph ends that was computed in advance: what is known goes on from other nodes, and a notebook goes on from here.
  function tellFurther() {
    const ops = at().program, others = everyNode().filter((k) => k !== at().chosen && moves.some(({ other }, m) => other !== ANOTHER && isKnown([m, k])));
    const made = leaves.map((leaf) => `${leaf.name}=${leaf.code}`).join(", ");
    further.textContent = say("further", { name: nameOf(at().chosen), others: others.length ? ` Known are operations on ${others.map(nameOf).join(", ")}.` : "" });
    const presses = ops.map((one) => `\n    .press("${called(one)}", onto="${nameOf(one[1])}")`).join("");
    const more = nameOf(at().chosen) === nameOf(L + ops.length - 1) ? "" : `\n    .choose("${nameOf(at().chosen)}")`;
    program.textContent = `from autolab.widgets import graph_builder\n\n(\n    graph_builder(${made})${presses}${more}\n)`;
  }
  const isPossible = (move) => (moves[move].other === ANOTHER ? everyNode().some((k) => isKnown(operationOf(move, at().chosen, k)))
    : isKnown([move, at().chosen]));

  const go = (changed) => {
    const after = { ...at(), ...changed };
    if (JSON.stringify(after) !== JSON.stringify(at())) change(model, { past: [...model.get("past"), at()], at: after });
  };
  const RING = -1;
  let joining = null; // an operation that waits for its second operand, or the ring that does
  const join = (move) => { joining = move; show(); };
  // `target` is what it is dragged onto: the operand, or the second one where that can be any node.
  function apply(move, target) {
    if (at().back) return;
    const { program, chosen } = at(), another = moves[move].other === ANOTHER;
    if (another && target === undefined) {
      join(joining === move ? null : move);
      nodeAt(chosen).focus({ preventScroll: true });
      return;
    }
    const operation = another ? operationOf(move, chosen, target) : [move, target ?? chosen];
    if (!isKnown(operation)) { status.textContent = BEYOND; return; }
    joining = pair = null;
    go({ program: [...program, operation], chosen: L + program.length });
  }
  const choose = (node) => {
    pair = null;
    if (joining === RING) { joining = null; pairWith(node); return; }
    if (joining !== null) apply(joining, node);
    else if (!at().back) go({ chosen: node });
  };
  const cancel = () => { joining = pair = null; endLine(undefined); show(); };
  const undo = () => { if (joining !== null || pair !== null) cancel(); else takeBack(model); };

  const resetButton = button("reset", "Reset", "Back to the leaves", () => { joining = pair = null; go(start); });
  const undoButton = button("undo", "Undo", "Take the last change back", undo);
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const actions = h("div", { class: "al-bar al-palette", role: "group", "aria-label": "Actions" }, ...moves.map((move, k) => palette(move, k)));
  const backButton = h("button", { type: "button", class: "al-button al-back-button", onclick: () => { if (usable()) go({ back: true }); } }, "backward()");
  actions.append(backButton);
  const usable = () => !at().back && at().chosen >= L;
  const further = h("p", { class: "al-far" }), program = h("pre", { class: "al-code", ...SCROLLS, "aria-label": "Code" });
  const grey = h("div", { hidden: "" }, further, program);
  const place = h("div", { class: "al-graph", ...SCROLLS, "aria-label": "Graph" });
  const table = tableTwin("Table of what is shown", model.get("columns"), fillTable);
  const root = h("div", { class: "al-root al-panel al-builder", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar", role: "toolbar", "aria-label": "Steps" }, resetButton, undoButton), actions, status,
    h("div", { class: "al-main" }, place), grey, table.el); // what comes and goes does not move the picture

  // An operation is pressed, or dragged onto a node: mouse, touch and pen alike.
  let dropped = null;
  function palette(move, k) {
    let moved = false;
    const b = h("button", { type: "button", class: "al-button al-drag", onclick: () => { if (!moved) apply(k); } }, move.name);
    b.addEventListener("pointerdown", (down) => {
      moved = false;
      if (down.button || at().back) return;
      const ghost = b.cloneNode(true);
      const over = (event) => document.elementsFromPoint(event.clientX, event.clientY).find((e) => root.contains(e) && e.closest("[data-node]"))?.closest("[data-node]");
      const move = (event) => {
        const x = event.clientX - down.clientX, y = event.clientY - down.clientY;
        if (!moved && Math.abs(x) + Math.abs(y) < 6) return;
        if (!moved) {
          const { left: l, top: t, width } = b.getBoundingClientRect();
          Object.assign(ghost.style, { position: "fixed", left: `${l}px`, top: `${t}px`, width: `${width}px` });
          ghost.classList.add("al-ghost");
          ghost.setAttribute("aria-hidden", "true");
          root.append(ghost);
        }
        moved = true;
        ghost.style.transform = `translate(${x}px, ${y}px)`;
        for (const g of place.querySelectorAll("[data-node]")) g.classList.toggle("al-over", g === over(event));
      };
      const end = (event) => {
        stop();
        if (!moved) return;
        const target = over(event), onCanvas = document.elementsFromPoint(event.clientX, event.clientY).includes(place);
        if (event.type === "pointerup" && (target || onCanvas)) {
          dropped = ghost.getBoundingClientRect();
          apply(k, target ? Number(target.dataset.node) : undefined);
        }
        setTimeout(() => { moved = false; }); // the click that follows is no press
      };
      const escape = (event) => { if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); stop(); } };
      const stop = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        removeEventListener("pointercancel", end);
        removeEventListener("keydown", escape, true);
        ghost.remove();
        place.querySelectorAll(".al-over").forEach((g) => g.classList.remove("al-over"));
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
      addEventListener("keydown", escape, true);
    });
    return b;
  }

  // -- the picture

  const part = (tag, props = {}, ...inside) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(props)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const words = (x, y, text, kind) => part("text", { x, y, class: `al-t al-${kind}` }, text);
  const path = (d, on) => part("path", { d, class: `al-line${on ? " al-sent" : ""}` });
  const back = (x, y, dx, dy) => { const made = tip(x, y, dx, dy, false); made.setAttribute("class", "al-heads-back"); return made; };
  const tip = (x, y, dx, dy, on) => part("path", { class: on ? "al-tip al-sent" : "al-tip",
    d: `M${x} ${y}L${x - 8 * dx - 4 * dy} ${y - 8 * dy + 4 * dx}L${x - 8 * dx + 4 * dy} ${y - 8 * dy - 4 * dx}Z` });

  // Row and column of each result: below its operand if nothing is there yet, else in a new column.
  function arrange(program) {
    const last = new Map(), places = [];
    let columns = 0;
    program.forEach(([, onto], k) => {
      const above = onto >= L ? places[onto - L].column : 0;
      const column = onto >= L ? (last.get(above) === onto ? above : columns) : columns;
      columns = Math.max(columns, column + 1);
      last.set(column, L + k);
      places.push({ column, x: left + column * (BOX + AIR), y: rows0 + k * PITCH });
    });
    return { places, columns };
  }

  let picture = null, flights = [];
  function draw() {
    const { program, chosen, back: done } = at(), found = gradients();
    const { places, columns } = arrange([...program, ...(done ? [] : [[0, chosen]])]);
    const ghost = done ? null : places.pop();
    const boxes = new Map(leaves.map((_, k) => [k, { x: TOP + k * (LEAF + 8), y: TOP, width: LEAF, height: 52 }]));
    places.forEach((p, k) => boxes.set(L + k, { ...p, width: BOX, height: TALL }));
    const lines = [], nodes = [], ends = leaves.map(() => []);

    const side = new Map(); // how many lines go down beside each column
    program.forEach((operation, k) => {
      const node = L + k, box = boxes.get(node), [onto, other] = operands(operation);
      const reached = (source) => found.has(node) && found.has(source);
      const twice = other === onto, taps = [onto, other].filter((one) => one < L);
      taps.forEach((leaf, j) => {
        const y = box.y + 22 + 26 * j, x = rail(leaf);
        ends[leaf].push({ y, on: reached(leaf) });
        lines.push(path(`M${x} ${y}H${box.x - 3}`, reached(leaf)), tip(box.x - 2, y, 1, 0, reached(leaf)), part("circle", { cx: x, cy: y, r: 4, class: "al-dot" }));
      });
      if (other >= L && !twice) {
        const from = boxes.get(other), lane = side.get(from.x) ?? 0, on = reached(other), right = from.x + BOX, y = from.y + 50;
        side.set(from.x, lane + 1);
        const x = right + 10 + 6 * (lane % 3), into = box.x > from.x ? [box.x - 3, 1] : [box.x + BOX + 3, -1];
        lines.push(path(`M${right} ${y}H${x}V${box.y + 50}H${into[0]}`, on), tip(into[0] + into[1], box.y + 50, into[1], 0, on));
        if (on) lines.push(back(right + 2, y, -1, 0));
      }
      if (onto < L) return;
      const from = boxes.get(onto), x = box.x + BOX / 2;
      for (const by of twice ? [-16, 16] : [0]) {
        const way = from.x === box.x ? `M${x + by} ${from.y + TALL}V${box.y - 3}`
          : `M${from.x + BOX} ${from.y + TALL / 2 + by / 2}H${x + by}V${box.y - 3}`;
        lines.push(path(way, reached(onto)), tip(x + by, box.y - 2, 0, 1, reached(onto)));
        if (reached(onto)) lines.push(from.x === box.x ? back(x + by, from.y + TALL + 2, 0, -1) : back(from.x + BOX + 2, from.y + TALL / 2 + by / 2, -1, 0));
      }
    });
    // from a leaf a rail goes down to all that use it; the gradient comes back along a part of it
    ends.forEach((uses, leaf) => {
      const box = boxes.get(leaf), x = rail(leaf), y = TOP + 52, begin = leaf ? `M${box.x + 20} ${y}V${y + 10 * leaf}H${x}V` : `M${x} ${y - 12}V`;
      const used = uses.filter((use) => use.on);
      if (used.length) lines.unshift(path(begin + used.at(-1).y, true));
      if (uses.length) lines.unshift(path(begin + uses.at(-1).y, false));
    });

    for (const [node, { x, y, width, height }] of boxes) {
      const leaf = node < L, fact = leaf ? null : factOf(node), value = valueOf(node);
      const grad = found.has(node) ? `${leaf ? ".grad" : "grad"} ${found.get(node)}` : done ? "not reached" : "";
      const kind = leaf ? "leaf" : node === chosen ? "out" : "op";
      const g = part("g", { class: `al-node al-${kind}${node === chosen && !done ? " al-chosen" : ""}${found.has(node) ? " al-on" : ""}`, role: "button",
        tabindex: "0", "data-node": node, "aria-pressed": String(node === chosen), [SUPPRESS]: "true" },
      part("rect", { class: "al-box", x, y, width, height, rx: leaf ? 14 : 5 }));
      if (leaf) {
        g.append(words(x + 11, y + 22, `${nameOf(node)} = ${value}`, "head"), words(x + 11, y + 42, grad || "a leaf", found.has(node) ? "grad" : "note"));
      } else {
        const { sign } = moves[program[node - L][0]], short = sign.length > 8 ? `${sign.slice(0, 7)}…` : sign;
        g.append(words(x + 11, y + 21, short, "head"), words(x + 18 + 9.7 * short.length, y + 21, fact.node.slice(0, 20 - short.length), "note"),
          words(x + 11, y + 41, `${nameOf(node)} = ${value}`, "value"), words(x + 11, y + 61, grad, found.has(node) ? "grad" : "note"));
      }
      const written = [...g.querySelectorAll("text")];
      written.forEach((line) => line.after(" "));
      g.setAttribute("aria-label", written.map((line) => line.textContent).filter(Boolean).join(" "));
      nodes.push(g);
    }
    if (!done && boxes.size > 1) nodes.push(ring(boxes.get(chosen)));
    if (pair !== null && boxes.has(pair)) nodes.push(...signs(boxes.get(pair)));
    let width = Math.max(left + columns * (BOX + AIR), TOP + L * (LEAF + 8));
    const bottom = rows0 + (program.length + (done ? 0 : 1)) * PITCH - (PITCH - TALL) + 12;
    if (ghost) {
      nodes.push(part("g", { class: "al-empty", "aria-hidden": "true" }, part("rect", { class: "al-cell al-k-empty", x: ghost.x, y: ghost.y, width: BOX, height: TALL, rx: 5 }),
        words(ghost.x + 14, ghost.y + 31, "the next operation,", "note"), words(ghost.x + 14, ghost.y + 50, `of ${nameOf(chosen)}`, "note")));
    }
    // what was written, and where its edges go, and what is kept: beside each row, as far as there is room
    const beside = width + 16, room = (place.clientWidth - beside - 12) / CHAR;
    const notes = program.map((operation, k) => {
      const [onto, other] = operands(operation), { code } = moves[operation[0]];
      const { keeps } = factOf(L + k), freed = done && found.has(L + k);
      return [[`${nameOf(L + k)} = ${code.replace("{h}", nameOf(onto)).replace("{o}", nameOf(other ?? 0))}`, "code"], [`next_functions: ${nextOf(L + k)}`, "note"],
        [!keeps ? "keeps nothing" : freed ? `${keeps}: freed` : `keeps ${keeps}`, keeps && !freed ? "saved" : "note"]];
    });
    const lists = [notes, notes.map(([code, , kept]) => [code, kept])].find((list) => list.flat().every(([text]) => text.length <= room));
    lists?.forEach((list, k) => list.forEach(([text, kind], i) => nodes.push(words(beside, places[k].y + 22 + 20 * i, text, kind))));
    if (lists && program.length) width = place.clientWidth - 12;
    const had = place.contains(document.activeElement) ? document.activeElement.dataset?.node : undefined;
    picture = part("svg", { class: "al-svg al-plot", viewBox: `0 0 ${width} ${bottom}`, width, height: bottom, role: "group", "aria-label": sentence() }, ...lines, ...nodes);
    place.replaceChildren(picture);
    if (had !== undefined) (nodeAt(had) ?? nodeAt(chosen))?.focus({ preventScroll: true });
    return boxes;
  }
  const nodeAt = (node) => picture.querySelector(`[data-node="${node}"]`);

  // -- a line from the ring of the chosen node to another node joins the two, by + or by ×

  let line = null, pair = null; // what is drawn from the ring, and the node that was reached
  const spotOf = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  const under = (event) => document.elementsFromPoint(event.clientX, event.clientY).map((e) => e.closest("[data-node]")).find((g) => g && place.contains(g));
  const reached = (event) => { const g = under(event); return g && Number(g.dataset.node) !== at().chosen ? g : null; };
  function ring({ x, y, width, height }) {
    const cx = x + width - 18, cy = y + height;
    return part("g", { class: "al-port", "data-ring": "", role: "button", tabindex: "0", "aria-label": `Join ${nameOf(at().chosen)} with another node`, [SUPPRESS]: "true" },
      part("circle", { cx, cy, r: 22, class: "al-hit" }), part("circle", { cx, cy, r: 8, class: "al-ring" }), part("path", { d: `M${cx - 3} ${cy}h6M${cx} ${cy - 3}v6`, class: "al-grip" }));
  }
  // The signs to choose from, at the node that was reached.
  function signs({ x, y, width, height }) {
    return moves.map((move, k) => [move, k]).filter(([{ other }]) => other === ANOTHER).map(([{ sign }, k], i) => {
      const cx = x + width / 2 + 48 * i - 24, cy = y + height + 10;
      return part("g", { class: "al-press al-sign-choice", role: "button", tabindex: "0", "data-move": k, [SUPPRESS]: "true",
        "aria-label": `${nameOf(at().chosen)} ${sign} ${nameOf(pair)}`, "aria-disabled": String(!isKnown(operationOf(k, at().chosen, pair))) },
      part("circle", { cx, cy, r: 22, class: "al-hit" }), part("circle", { cx, cy, r: 17, class: "al-cell al-k-out" }), part("text", { x: cx, y: cy + 6, class: "al-t al-head", "text-anchor": "middle" }, sign));
    });
  }
  const pairWith = (node) => {
    pair = node;
    show();
    (picture.querySelector("[data-move]:not([aria-disabled=true])") ?? nodeAt(at().chosen)).focus({ preventScroll: true });
  };
  place.addEventListener("pointerdown", (event) => {
    const el = event.target.closest?.("[data-ring]");
    if (!el || event.button || line) return;
    place.setPointerCapture(event.pointerId);
    el.focus({ preventScroll: true });
    line = part("path", { class: "al-l al-l-a", "pointer-events": "none" });
    line.from = spotOf(event);
    picture.append(line);
    pair = null;
  });
  place.addEventListener("touchmove", (event) => { if (line && event.cancelable) event.preventDefault(); }, { passive: false });
  place.addEventListener("pointermove", (event) => {
    if (!line) return;
    const { x, y } = spotOf(event), over = reached(event);
    line.setAttribute("d", `M${line.from.x} ${line.from.y}L${x} ${y}`);
    for (const g of place.querySelectorAll("[data-node]")) g.classList.toggle("al-over", g === over);
  });
  const endLine = (node) => {
    if (!line) return;
    line.remove();
    line = null;
    place.querySelectorAll(".al-over").forEach((g) => g.classList.remove("al-over"));
    if (node) pairWith(Number(node.dataset.node)); else if (node !== undefined) show();
  };
  place.addEventListener("pointerup", (event) => endLine(reached(event)));
  place.addEventListener("pointercancel", () => endLine(null));

  // -- motion: a new box comes from where it was dropped, gradients go from box to box

  function move(before, boxes) {
    flights.forEach((one) => one.remove());
    flights = [];
    if (calm.matches || !before) { dropped = null; return; }
    const { program, chosen, back } = at();
    if (program.length === before.program.length + 1) {
      const g = nodeAt(chosen), here = g.getBoundingClientRect();
      const by = dropped ? [dropped.left - here.left, dropped.top - here.top] : [0, -24];
      g.animate([{ transform: `translate(${by[0]}px, ${by[1]}px)`, opacity: 0.3 }, { transform: "none", opacity: 1 }], { duration: 250, easing: "ease-out" });
    }
    dropped = null;
    if (!back || before.back) return;
    const found = gradients();
    let delay = 0;
    const fly = (from, to, text, by) => {
      if (flights.length >= 12) return;
      const a = boxes.get(from), b = boxes.get(to), width = 14 + 8.6 * text.length;
      const token = part("g", { class: "al-token", "aria-hidden": "true" }, part("rect", { x: -width / 2, y: -11, width, height: 22, rx: 11 }),
        words(0, 5, text, "grad"));
      token.lastChild.setAttribute("text-anchor", "middle");
      picture.append(token);
      flights.push(token);
      const spot = ({ x, y, width: w, height: t }) => `translate(${x + w / 2 + by}px, ${y + t / 2}px)`;
      token.animate([{ transform: spot(a), opacity: 1 }, { transform: spot(b), opacity: 1, offset: 0.9 }, { transform: spot(b), opacity: 0 }],
        { duration: 400, delay, fill: "both", easing: "ease-in-out" }).onfinish = () => token.remove();
    };
    for (const node of needed(chosen).reverse()) {
      if (!found.has(node)) continue;
      const on = operands(program[node - L]), twice = on[0] === on[1], sent = sentBy(node, found);
      on.forEach((one, k) => { if (sent[k] !== "none") fly(node, one, sent[k], twice ? 60 * k - 30 : 0); });
      delay += 200;
    }
  }

  function fillTable(body) {
    const found = gradients(), none = at().back ? "none" : "not yet";
    body.replaceChildren(...leaves.map((one, k) => row([one.name, one.value, "None, a leaf", found.get(k) ?? none])),
      ...at().program.map((_, k) => row([nameOf(L + k), valueOf(L + k), factOf(L + k).node, found.get(L + k) ?? none])));
  }

  let shown = null;
  function show() {
    if (at().back) joining = pair = null;
    if (pair !== null && (pair >= L + at().program.length || pair === at().chosen)) pair = null;
    const here = at(), boxes = draw(), told = sentence();
    if (status.textContent !== told) status.textContent = told;
    status.classList.toggle("al-error", Boolean(chainOf(here.chosen)?.e || (here.back && chainOf(here.chosen)?.b)));
    root.setAttribute("aria-busy", String(!model.page && here.chosen >= L && !chainOf(here.chosen)));
    const off = (b, is) => b.setAttribute("aria-disabled", String(is));
    off(resetButton, JSON.stringify(here) === JSON.stringify(start));
    off(undoButton, !model.get("past").length && joining === null && pair === null);
    const closed = here.back ? [] : moves.map((_, k) => !isPossible(k));
    for (const [k, b] of [...actions.children].entries()) off(b, here.back || (b === backButton ? !usable() : closed[k]));
    grey.hidden = !closed.includes(true);
    if (!grey.hidden) tellFurther();
    moves.forEach(({ other }, k) => { if (other === ANOTHER) actions.children[k].setAttribute("aria-pressed", String(joining === k)); });
    if (shown && shown !== here) {
      move(shown, boxes);
      const box = boxes.get(here.chosen);
      place.scrollTo({ left: Math.max(0, box.x + box.width + 12 - place.clientWidth), top: box.y + 2 * PITCH - place.clientHeight, behavior: calm.matches ? "auto" : "smooth" });
    }
    shown = here;
    table.update();
  }

  const joinPair = (sign) => { if (sign.getAttribute("aria-disabled") !== "true") apply(Number(sign.dataset.move), pair); };
  place.addEventListener("click", (event) => {
    const sign = event.target.closest("[data-move]"), node = event.target.closest("[data-node]")?.dataset.node;
    if (sign) joinPair(sign);
    else if (node !== undefined) choose(Number(node));
  });
  place.addEventListener("keydown", (event) => {
    const node = Number(event.target.dataset.node ?? -1), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const sign = event.target.closest("[data-move]"), isRing = event.target.closest("[data-ring]"), presses = event.key === "Enter" || event.key === " ";
    if (event.key === "Escape" && (joining !== null || pair !== null || line)) cancel();
    else if (sign && presses) joinPair(sign);
    else if (sign && /^Arrow(Left|Right)$/.test(event.key)) (sign.nextElementSibling?.matches("[data-move]") ? sign.nextElementSibling : sign.previousElementSibling).focus({ preventScroll: true });
    else if (isRing && presses) { join(RING); nodeAt(at().chosen).focus({ preventScroll: true }); }
    else if (node < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (step) nodeAt(node + step)?.focus({ preventScroll: true });
    else if (event.key === "Enter" || event.key === " ") choose(node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  el.replaceChildren(root);
  const stop = follow(model, ["at", "past", "chains"], show);
  let wide = 0;
  const sized = new ResizeObserver(() => {
    if (place.clientWidth === wide) return; // it grew downwards
    wide = place.clientWidth;
    draw();
  });
  sized.observe(place);
  return () => { sized.disconnect(); stop(); root.remove(); };
}

VIEWS.builder = builder;
