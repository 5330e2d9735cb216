// ---- panel ----------------------------------------------------------------------------------------------------

// Controls over frames that Python computed: a slider, a choice, a timeline or buttons for actions move between them.
function panel(model, el) {
  const controls = model.get("controls"), [width, height] = model.get("size");
  const edges = [0, ...model.get("breaks"), width];
  const steps = controls.find((c) => c.kind === "steps"), machine = controls.find((c) => c.kind === "actions");
  const known = new Map();
  const keyOf = (at) => controls.map((c) => at[c.name]).join(",");
  const status = h("p", { class: "al-status", role: "status", "aria-live": "polite" });
  const grey = h("p", { class: "al-far", hidden: "" }, GREY);
  const listing = h("pre", { class: "al-code", ...SCROLLS, "aria-label": "Code", hidden: "" });
  const place = h("div", { class: "al-graph", ...SCROLLS, "aria-label": `${model.get("title")}, picture` });
  const readout = h("p", { class: "al-readout", "aria-hidden": "true", hidden: "" }); // what is pointed at; a screen reader is told by its label
  const tiles = edges.slice(1).map((right, i) => {
    const svg = document.createElementNS(SVG, "svg"), wide = right - edges[i];
    const box = { class: "al-svg al-plot", viewBox: `${edges[i]} 0 ${wide} ${height}`, width: wide, height };
    for (const [name, value] of Object.entries(box)) svg.setAttribute(name, value);
    svg.style.cssText = `flex: ${wide} 0 ${wide}px; max-width: ${LARGEST * wide}px; min-width: ${wide}px`;
    return svg;
  });
  const reaches = [], wides = tiles.map((_, i) => edges[i + 1] - edges[i]); // what is known of each part, see measure(); how wide the tiles are
  place.append(...tiles);
  const table = tableTwin("Table of what is shown", model.get("columns"), (body) => body.replaceChildren(...(shown?.rows || []).map((r) => row(r))));
  let lows = [], tops = []; // how far down the tiles go, and where they begin to have something
  let shown = null, dragging = false, measured = 0, scene = "", roomy = 0, way = 0; // way: 1 after a step on, -1 after one back
  let quiet = false, peeked = false; // what is shown is not where one has gone, then nothing moves

  // Without Python some positions may be unknown. What is moved then goes to the known place that is nearest to the wanted one, on its side.
  const isKnown = (at) => !model.page || known.has(keyOf(at));
  function reachable(at) {
    const from = model.get("at"), [a, b, ...others] = controls.filter((c) => at[c.name] !== from[c.name]);
    if (isKnown(at) || others.length || ![a, b || a].every((c) => /slider|steps/.test(c.kind))) return isKnown(at) ? at : from;
    const side = (c) => c.stops.map((_, k) => k).filter((k) => (k - from[c.name]) * (at[c.name] - from[c.name]) >= 0);
    let best = from, least = Infinity;
    for (const i of side(a)) for (const j of b ? side(b) : [null]) {
      const to = { ...at, [a.name]: i, ...(b && { [b.name]: j }) }, far = Math.abs(i - at[a.name]) + (b ? Math.abs(j - at[b.name]) : 0);
      if (far < least && keyOf(to) !== keyOf(from) && isKnown(to)) [best, least] = [to, far];
    }
    return best;
  }
  const canSet = (c, k) => isKnown({ ...model.get("at"), [c.name]: k });
  const stuck = (c) => Boolean(model.page) && c.kind !== "actions" && !c.stops.some((_, k) => k !== model.get("at")[c.name] && canSet(c, k));

  const go = (wanted, forget) => {
    const at = reachable(wanted);
    if (keyOf(at) !== keyOf(wanted)) showControls();
    if (keyOf(at) === keyOf(model.get("at"))) return;
    change(model, { past: forget ? model.get("past") : [...model.get("past"), model.get("at")], at });
  };
  const start = Object.fromEntries(controls.map((c) => [c.name, c.start]));
  const undo = () => { way = -1; takeBack(model); };
  const last = steps && steps.stops.length - 1;
  const position = () => model.get("at")[steps.name];
  const stepTo = (to, forget) => go({ ...model.get("at"), [steps.name]: Math.max(0, Math.min(last, to)) }, forget);
  const pauseAnd = (action) => () => { if (model.get("playing")) change(model, { playing: false }); action(); };
  const play = () => {
    if (!model.get("playing") && position() === last) stepTo(0);
    change(model, { playing: !model.get("playing") });
  };

  const resetButton = button("reset", "Reset", "Back to the start", pauseAnd(() => go(start)));
  const undoButton = button("undo", "Undo", "Take the last change back", pauseAnd(undo));
  const stepButton = steps && button("step", "Step", "Right arrow", pauseAnd(() => stepTo(position() + 1)));
  const playButton = steps && button("play", "Play", "Space", play);
  const speed = steps && h("select", { class: "al-select", "aria-label": "Speed", onchange: () => change(model, { speed: Number(speed.value) }) },
    ...SPEEDS.map((s) => h("option", { value: String(s) }, `${s}×`)));
  const count = steps && h("span", { class: "al-count", style: widest([`${steps.label} ${last} of ${last}`]) });
  let aloft = null; // the frame that numbers travel to while the timeline is held
  const between = (k, share) => {
    const to = share > 0 && known.get(keyOf({ ...model.get("at"), [steps.name]: k + 1 }));
    for (const svg of tiles) {
      if (to !== aloft) fly(svg, to?.flights || []);
      hold(svg, share);
    }
    aloft = to;
  };
  const settle = (back) => { tiles.forEach((svg) => letGo(svg, back)); aloft = null; room(); };
  const scrub = steps && timeline(steps.label, last, (k, forget) => pauseAnd(() => stepTo(k, forget))(), between, settle);
  const actions = h("div", { class: "al-bar", role: "group", "aria-label": "Actions" });
  const stopButton = typeof model.get("running") === "boolean" && h("button", { type: "button", class: "al-button",
    onclick: () => change(model, { running: !model.get("running") }) });
  const progress = stopButton && h("progress", { class: "al-progress", max: 1, "aria-label": "Progress" });

  const inputs = controls.filter((c) => c.texts.length && c !== steps).map((control) => {
    const set = (k) => go({ ...model.get("at"), [control.name]: k }, dragging);
    if (control.kind === "choice") {
      const select = h("select", { class: "al-select", "aria-label": control.label, onchange: () => set(select.selectedIndex) },
        ...control.texts.map((t) => h("option", {}, t)));
      return { control, el: h("label", { class: "al-choice" }, control.label, select), show: (k) => {
        select.selectedIndex = k;
        [...select.options].forEach((option, i) => { option.disabled = !canSet(control, i); });
      } };
    }
    const out = h("span", { class: "al-number", "aria-hidden": "true", style: widest(control.texts) });
    const rest = () => { dragging = false; room(); }; // where it began nothing has changed, and no browser says so
    const range = h("input", { type: "range", class: "al-range", min: 0, max: control.stops.length - 1, step: 1, "aria-label": control.label,
      oninput: () => { set(Number(range.value)); dragging = true; }, onpointerup: rest, onpointercancel: rest, onchange: rest }); // one drag is one undo
    return { control, el: h("label", { class: "al-slider" }, h("code", {}, control.label), range, out), show: (k) => {
      range.setAttribute("aria-disabled", String(stuck(control)));
      range.value = String(k);
      out.textContent = control.texts[k];
      range.setAttribute("aria-valuetext", control.texts[k]);
    } };
  });

  const touch = hands(place, {
    controls, tracks: model.get("tracks") || {}, go, act, at: () => model.get("at"), past: () => model.get("past"),
    can, canSet, stuck, same: (at) => keyOf(at) === keyOf(model.get("at")),
    restore: (at, past) => change(model, { at, past }), drawn: () => { room(); reveal(shown); },
    tell: (words) => { readout.textContent = words; }, peek,
  });

  const root = h("div", { class: "al-root al-panel", role: "group", "aria-label": model.get("title") },
    h("div", { class: "al-bar", role: "toolbar", "aria-label": "Steps" }, resetButton, undoButton, stepButton, playButton, speed, scrub && scrub.el, count,
      stopButton || null, progress || null),
    inputs.length ? h("div", { class: "al-bar" }, ...inputs.map((i) => i.el)) : null, machine ? actions : null,
    status, h("div", { class: "al-main" }, place, readout, grey, listing), table.el); // what comes and goes does not move the picture
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("input, select")) { keepKeys(event); return; }
    if (!steps || event.target.closest(".al-scroll, .al-code")) return;
    const keys = { ArrowRight: () => stepTo(position() + 1), ArrowLeft: () => stepTo(position() - 1), Home: () => stepTo(0), End: () => stepTo(last) };
    const action = keys[event.key] ? pauseAnd(keys[event.key]) : event.key === " " && !event.target.closest("button, summary") ? play : null;
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });

  function can(action) { return action in (shown?.next || {}) && (shown.next[action] !== null || Boolean(model.get("ask"))); }

  // Shows another position without going there; null leads back.
  function peek(at) {
    const frame = at && known.get(keyOf(at));
    if (!frame && !peeked) return;
    [quiet, peeked] = [true, Boolean(frame)];
    if (!frame) draw(); else if (frame !== shown) show(frame);
    quiet = false;
  }

  function act(action, forget) {
    const to = shown.next[action], at = model.get("at");
    way = 1;
    if (to === undefined || shown.key !== keyOf(at)) return; // Python has been asked where that leads
    if (to !== null) { go({ ...at, [machine.name]: to }, forget); return; }
    const ask = model.get("ask");
    status.textContent = ask ? "Asking Python." : BEYOND;
    if (ask) change(model, { ask: { state: at[machine.name], action, n: (ask.n || 0) + 1 } });
  }

  function learn() {
    for (const [key, frame] of Object.entries(model.get("frames"))) known.set(key, frame);
    const frame = model.get("frame");
    if (frame.key !== undefined) known.set(frame.key, frame);
    draw();
  }

  const showControls = () => inputs.forEach((input) => input.show(model.get("at")[input.control.name]));
  function draw() {
    const at = model.get("at"), found = known.get(keyOf(at)), begun = keyOf(at) !== keyOf(start);
    showControls();
    const off = (b, is) => b && b.setAttribute("aria-disabled", String(is));
    off(resetButton, !begun);
    off(undoButton, !model.get("past").length);
    if (steps) {
      off(stepButton, position() === last || reachable({ ...at, [steps.name]: position() + 1 }) === at);
      scrub.show(position());
      count.textContent = `${steps.label} ${position()} of ${last}`;
      const playing = model.get("playing");
      playButton.replaceChildren(sign(playing ? "pause" : "play"), playing ? "Pause" : "Play");
    }
    if (stopButton) {
      stopButton.textContent = model.get("running") ? "Stop" : "Train";
      progress.value = model.get("progress");
    }
    root.setAttribute("aria-busy", String(!found)); // Python has been asked
    grey.hidden = !model.page || (!controls.some((c) => c.texts.length && c.stops.some((_, k) => !canSet(c, k)))
      && (!found?.next || model.get("ask") || !Object.values(found.next).includes(null)));
    if (found && found !== shown) show(found);
    else if (found) status.textContent = found.sentence; // it may have said that something is not known
    else if (model.page) status.textContent = BEYOND;
  }

  // How far to the right, down and up each new part has something in each tile, and where anything of it is seen or pressed.
  function measure() {
    const parts = model.get("parts");
    if (measured === parts.length || !place.clientWidth) return; // what is not laid out has no size yet
    const ruler = tiles[0].cloneNode(false);
    ruler.style.cssText = `position: absolute; visibility: hidden; width: ${width}px; height: ${height}px; min-width: 0; max-width: none`;
    ruler.setAttribute("viewBox", `0 0 ${width} ${height}`);
    ruler.innerHTML = parts.slice(measured).map((part) => `<g>${part}</g>`).join("");
    place.append(ruler);
    const zero = ruler.getBoundingClientRect();
    for (const part of ruler.children) {
      const reach = tiles.map(() => [0, 0, false, height]);
      for (const leaf of part.querySelectorAll("text, rect, path, circle, line, polygon, image")) {
        const { left, right, top, bottom } = leaf.getBoundingClientRect();
        reach.forEach((far, i) => {
          if (right - zero.left <= edges[i] || left - zero.left >= edges[i + 1]) return;
          far[2] = true;
          if (leaf.matches(".al-hit, .al-hit-line")) return;
          far[0] = Math.max(far[0], right - zero.left);
          far[1] = Math.max(far[1], bottom - zero.top);
          far[3] = Math.min(far[3], top - zero.top);
        });
      }
      reaches.push(reach);
    }
    measured = parts.length;
    ruler.remove();
  }

  // Positions of the same choices are of one scene; what a handle moves is no choice.
  const makesScenes = controls.map((c) => c.kind === "choice" && !model.get("tracks")?.[c.name]);
  const sceneOf = (key) => key.split(",").filter((_, i) => makesScenes[i]).join();

  // A tile is as large as its parts need in any frame of the same scene, so that it keeps its size from step to
  // step and leaves no gaps. It is less wide than it could be only where all frames of the scene are known.
  function trim() {
    measure();
    const now = sceneOf(keyOf(model.get("at"))), name = `${now} ${shown.scene || ""} ${known.size} ${measured}`;
    if (scene === name || !measured) return;
    scene = name;
    const far = tiles.map(() => [0, 0, height]);
    let count = 0;
    for (const [key, frame] of known) {
      if (sceneOf(key) !== now) continue;
      count++;
      if (frame.scene !== shown.scene) continue;
      for (const k of frame.picture) reaches[k]?.forEach((reach, i) => {
        far[i] = [Math.max(far[i][0], reach[0]), Math.max(far[i][1], reach[1]), Math.min(far[i][2], reach[3])];
      });
    }
    const all = controls.reduce((n, c) => n * (c.kind === "choice" ? 1 : c.kind === "actions" ? Infinity : c.stops.length), 1) === count;
    lows = far.map(([, low]) => Math.min(height, Math.ceil(low + MARGIN)));
    tops = far.map(([, low, top]) => (low ? Math.max(0, Math.floor(top - MARGIN)) : 0));
    tiles.forEach((svg, i) => {
      const full = edges[i + 1] - edges[i], wide = all && far[i][0] ? Math.min(full, Math.ceil(far[i][0] + MARGIN - edges[i])) : full;
      wides[i] = wide;
      svg.setAttribute("width", wide);
      // never smaller than it is drawn, so that its words stay readable; it grows until it is as tall as most of the window
      svg.style.flex = `${wide} 0 ${wide}px`;
      svg.style.minWidth = `${wide}px`;
      svg.style.maxWidth = `min(${LARGEST * wide}px, max(${wide}px, ${(80 * wide) / Math.max(...lows)}vh))`;
    });
  }

  // Beside each other tiles begin at the same height; below another one a tile begins with what it has, and one is left out that is empty
  // in this scene, or now, where no hand goes from frame to frame.
  function stack() {
    trim();
    const stacked = place.clientWidth < wides.reduce((sum, wide) => sum + wide, 0);
    tiles.forEach((svg, i) => {
      svg.style.display = stacked && measured && (machine ? !shown.picture.some((k) => reaches[k]?.[i][1]) : lows[i] <= MARGIN) ? "none" : "";
      if (!measured) return;
      const top = stacked && i ? tops[i] : 0;
      const box = `${edges[i]} ${top} ${wides[i]} ${lows[i] - top}`;
      if (svg.getAttribute("viewBox") === box) return;
      svg.setAttribute("viewBox", box);
      svg.setAttribute("height", lows[i] - top);
    });
  }

  // The parts of a frame that a tile draws: those seen in it, those that glide, and those that nobody has measured.
  const drawnIn = (i, list) => list.filter((k) => !reaches[k] || reaches[k][i][2] || !reaches[k].some((reach) => reach[2]) || model.get("parts")[k].includes("data-key"));

  // What another tile shows is not there for keys and screen readers in this one.
  function leaveOut() {
    const away = tiles.flatMap((svg, i) => svg.style.display !== "none" && [...svg.querySelectorAll(".al-handle, .al-press, .al-tensor")].filter((el) => {
      const box = el.getBBox(), x = box.x + box.width / 2; // where it is at rest: it may be on its way
      return x < edges[i] || x >= edges[i + 1];
    }));
    for (const el of away.filter(Boolean)) {
      [el, ...el.querySelectorAll("[tabindex]")].forEach((e) => e.removeAttribute("tabindex"));
      el.setAttribute("aria-hidden", "true");
    }
  }

  // Under a hand nothing moves but what is dragged.
  const held = () => dragging || touch.busy() || Boolean(scrub?.busy());
  function room() {
    const scene = sceneOf(keyOf(model.get("at"))), name = `${scene} ${known.size}`;
    const may = () => [...known].filter(([key, frame]) => sceneOf(key) === scene && !(machine && frame.error)).map(([, frame]) => frame);
    keepRoom(status, held(), name, () => may().map((frame) => frame.sentence));
    if (!machine) keepRoom(listing, held(), name, () => may().map((frame) => frame.code || ""));
  }

  // What the frame is about is scrolled into the picture's box; the page stays where it is.
  function reveal(frame) {
    if (!frame?.focus) return;
    const [x, y, w, tall] = frame.focus, svg = tiles.findLast((t, i) => edges[i] <= x) || tiles[0];
    const box = svg.getBoundingClientRect(), outer = place.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const left = box.left - outer.left + (x - svg.viewBox.baseVal.x) * scale, top = box.top - outer.top + (y - svg.viewBox.baseVal.y) * scale;
    const by = (low, high, size) => (low < 0 || high - low > size - EDGE ? low - EDGE / 2 : high > size ? high - size + EDGE / 2 : 0);
    place.scrollBy({ left: by(left, left + w * scale, place.clientWidth), top: by(top, top + tall * scale, place.clientHeight), behavior: calm() ? "auto" : "smooth" });
  }

  function show(frame) {
    const before = shown;
    shown = frame;
    listing.hidden = !frame.code;
    room();
    if (steps && before) way = Math.sign(frame.key.split(",")[controls.indexOf(steps)] - before.key.split(",")[controls.indexOf(steps)]);
    const parts = model.get("parts");
    if (status.textContent !== frame.sentence) status.textContent = frame.sentence;
    status.classList.toggle("al-error", Boolean(frame.error));
    const has = (words) => frame.picture.some((i) => parts[i].includes(words)), handy = has("tabindex=");
    const moves = Boolean(before) && !held() && !quiet && !calm();
    const focused = place.contains(document.activeElement) && document.activeElement.closest("[data-key]")?.dataset.key;
    tiles.forEach((svg, i) => {
      svg.setAttribute("role", handy ? "group" : "img");
      svg.setAttribute("aria-label", i ? `${frame.sentence} Continued.` : frame.sentence);
      if (i && !handy) svg.setAttribute("aria-hidden", "true"); else svg.removeAttribute("aria-hidden");
    });
    paint(tiles, tiles.map((_, i) => drawnIn(i, frame.picture)), parts, moves);
    tiles.forEach(touch.dress);
    readout.hidden = !has("al-heat-cell");
    place.hidden = !frame.picture.length;
    stack();
    if (handy && tiles.length > 1) leaveOut(); // now that each tile has its place
    if (focused && !place.contains(document.activeElement)) {
      const again = [...place.querySelectorAll("[data-key][tabindex]")].find((el) => el.dataset.key === focused && el.tabIndex >= 0);
      (again || place).focus({ preventScroll: true });
    }
    if (!touch.busy() && !quiet) reveal(frame);
    for (const svg of tiles) {
      if (moves) fly(svg, way > 0 ? frame.flights || [] : way < 0 && before.flights || [], way < 0);
      else if (!scrub?.busy()) land(svg);
    }
    listing.textContent = frame.code || "";
    if (machine) {
      const inHand = [...place.querySelectorAll("[data-up]")].flatMap(({ dataset }) => [dataset.up, dataset.down]);
      const names = Object.keys(frame.next).filter((n) => !inHand.includes(n)), old = [...actions.children];
      // a button that stays keeps the focus
      if (names.join() !== old.map((b) => b.textContent).join()) {
        const focused = document.activeElement?.textContent, had = actions.contains(document.activeElement);
        actions.replaceChildren(...names.map((n) => h("button", { type: "button", class: "al-button", onclick: () => act(n) }, n)));
        if (had) ([...actions.children].find((b) => b.textContent === focused) || actions.firstElementChild || undoButton).focus();
      }
      for (const b of actions.children) b.setAttribute("aria-disabled", String(!can(b.textContent)));
    }
    table.update();
  }

  let timer = null;
  function run() {
    clearInterval(timer);
    timer = null;
    if (!steps || !model.get("playing")) return;
    timer = setInterval(() => {
      if (position() < last) stepTo(position() + 1);
      if (position() >= last) change(model, { playing: false });
    }, PERIOD / model.get("speed"));
  }

  el.replaceChildren(root);
  const laidOut = new ResizeObserver(() => {
    if (!shown || roomy === place.clientWidth) return;
    roomy = place.clientWidth;
    room();
    stack();
    reveal(shown);
  });
  laidOut.observe(place);
  const stop = [
    () => laidOut.disconnect(),
    follow(model, ["at", "past", "playing", "running", "progress"], draw),
    follow(model, ["frames", "frame", "parts"], learn),
    follow(model, ["playing", "speed"], run),
    follow(model, ["speed"], () => { if (speed) speed.value = String(model.get("speed")); }),
  ];
  return () => { clearInterval(timer); stop.forEach((f) => f()); root.remove(); };
}

VIEWS.panel = panel;
