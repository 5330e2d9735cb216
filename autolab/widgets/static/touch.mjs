// ---- what can be taken in the hand ------------------------------------------------------------------------------

const STOP = 6; // pixels from stop to stop of a number that is dragged
const PULL = 14; // and from action to action
const PEEK = 60; // milliseconds that the mouse rests on a cell
const nearestOf = (list, value) => list.reduce((best, one, k) => (Math.abs(one - value) < Math.abs(list[best] - value) ? k : best), 0);

// Handles, presses and tensors of a panel's picture (autolab/draw/touch.py and heat.py write them). `panel` is what they move:
// controls, tracks, at(), past(), go(at, forget), act(action), can(action), restore(at, past), tell(words), drawn().
function hands(place, panel) {
  const control = (name) => panel.controls.find((c) => c.name === name);
  const axes = (el) => [control(el.dataset.alongX), control(el.dataset.alongY)];
  const trackOf = (c, axis) => panel.tracks[`${c.name} ${"xy"[axis]}`] || panel.tracks[c.name];
  const clamp = (c, k) => Math.max(0, Math.min(c.stops.length - 1, k));
  // Which way the stops go on the screen: 1 to the right and upwards.
  const way = (c, axis) => {
    const track = trackOf(c, axis);
    return (track && track.at(-1) < track[0] ? -1 : 1) * (track && axis ? -1 : 1);
  };
  let drag = null, dragged = false;

  function point(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(drag.svg.getScreenCTM().inverse());
    return [x, y];
  }

  place.addEventListener("pointerdown", (event) => {
    dragged = false;
    const el = event.target.closest?.(".al-handle, .al-drag");
    if (!el || event.button || drag) return;
    drag = { el, pointer: event.pointerId, svg: el.ownerSVGElement, at: panel.at(), past: panel.past(), x: event.clientX, y: event.clientY };
    if (!el.matches(".al-handle")) return;
    el.focus({ preventScroll: true });
    place.setPointerCapture(event.pointerId);
    drag.axes = axes(el);
    const from = point(event);
    drag.offsets = drag.axes.map((c, axis) => (c && trackOf(c, axis) ? trackOf(c, axis)[drag.at[c.name]] - from[axis] : 0));
    place.classList.add("al-dragging");
  });

  place.addEventListener("pointermove", (event) => {
    if (!drag || event.pointerId !== drag.pointer) return;
    const by = [event.clientX - drag.x, event.clientY - drag.y];
    drag.far ||= Math.hypot(...by) > 5;
    if (drag.el.dataset.up) pullTo(Math.round(-by[1] / PULL));
    else if (drag.axes) moveTo(event, by);
    else if (drag.far) carry(event, by);
  });

  // A finger that moves along the way of a handle moves the handle, and across it the page. (No browser heeds touch-action inside of an SVG.)
  place.addEventListener("touchmove", (event) => {
    if (!drag) return;
    const x = Math.abs(event.touches[0].clientX - drag.x), y = Math.abs(event.touches[0].clientY - drag.y);
    drag.mine ||= !drag.axes || (drag.axes[0] && (drag.axes[1] || x >= y)) || (!drag.axes[0] && y >= x);
    if (drag.mine && event.cancelable) event.preventDefault();
  }, { passive: false });

  function moveTo(event, by) {
    const at = { ...drag.at }, now = point(event);
    drag.axes.forEach((c, axis) => {
      if (!c) return;
      const track = trackOf(c, axis);
      at[c.name] = track ? nearestOf(track, now[axis] + drag.offsets[axis])
        : clamp(c, drag.at[c.name] + Math.round((axis ? -by[1] : by[0]) / STOP));
    });
    panel.go(at, dragged); // one drag is one undo
    dragged ||= panel.past().length > drag.past.length;
  }

  // Each stop upwards is an action, and each downwards another one: what was written is not unwritten.
  function pullTo(stop) {
    for (let by = drag.pulled || 0; by !== stop; drag.pulled = by) {
      const at = panel.at(), on = Math.sign(stop - by);
      if (!panel.can(drag.el.dataset[on > 0 ? "up" : "down"])) return;
      pull(drag.el, on, dragged);
      if (panel.same(at)) return; // Python has been asked
      by += on;
      dragged = true;
    }
  }
  const pull = ({ dataset: { up, down } }, by, forget) => panel.act(by > 0 ? up : down, forget);

  const under = (event) => document.elementsFromPoint(event.clientX, event.clientY)
    .map((el) => el.closest(".al-drop")).find((zone) => zone && place.contains(zone) && zone.dataset.drop in drag.onto);

  function carry(event, by) {
    if (!drag.ghost) {
      drag.onto = JSON.parse(drag.el.dataset.onto); // drop -> action
      if (!Object.values(drag.onto).some(panel.can)) return;
      dragged = true;
      place.setPointerCapture(drag.pointer);
      place.classList.add("al-dragging");
      drag.ghost = drag.el.cloneNode(true);
      for (const name of ["tabindex", "role", "data-key", "aria-label"]) drag.ghost.removeAttribute(name);
      drag.ghost.setAttribute("aria-hidden", "true");
      drag.ghost.classList.add("al-ghost");
      drag.svg.append(drag.ghost);
    }
    const scale = drag.svg.viewBox.baseVal.width / drag.svg.getBoundingClientRect().width;
    drag.ghost.style.translate = `${by[0] * scale}px ${by[1] * scale}px`;
    const zone = under(event);
    place.querySelectorAll(".al-over").forEach((el) => el !== zone && el.classList.remove("al-over"));
    zone?.classList.add("al-over");
  }

  function end(event, dropped) {
    if (!drag || (event.pointerId !== undefined && event.pointerId !== drag.pointer)) return;
    const { onto, ghost, at, past, pointer } = drag, zone = ghost && dropped && under(event);
    place.querySelectorAll(".al-over").forEach((over) => over.classList.remove("al-over"));
    ghost?.remove();
    place.classList.remove("al-dragging");
    const moved = drag.axes && dragged, pressed = dropped && !drag.far && drag.el.dataset.up && drag.el;
    drag = null;
    if (place.hasPointerCapture(pointer)) place.releasePointerCapture(pointer);
    if (zone) panel.act(onto[zone.dataset.drop]);
    if (moved && (!dropped || panel.same(at))) panel.restore(at, past);
    else if (moved) panel.drawn();
    else if (pressed) {
      const { top, height } = pressed.getBoundingClientRect();
      pull(pressed, top + height / 2 - event.clientY);
    }
  }
  place.addEventListener("pointerup", (event) => end(event, true));
  place.addEventListener("pointercancel", (event) => end(event, false)); // the page scrolls
  // a finger belongs to what it first touched until `place` takes it over: that loss is none
  place.addEventListener("lostpointercapture", (event) => event.target === place && end(event, true));

  function press(el) {
    if (el.getAttribute("aria-disabled") === "true") return;
    clearTimeout(timer);
    panel.peek?.(null); // it is reached from what is shown without the mouse, so that all travels there
    if (el.dataset.action) panel.act(el.dataset.action); else panel.go(goal(el));
  }
  const goal = ({ dataset: { set, stop } }) => ({ ...panel.at(), [set]: stopOf(control(set), JSON.parse(stop)) });
  const stopOf = (c, value) => (typeof value === "number" ? nearestOf(c.stops, value) : c.stops.indexOf(value));

  place.addEventListener("click", (event) => {
    const el = event.target.closest?.(".al-press");
    if (!el || dragged) return;
    el.focus({ preventScroll: true });
    press(el);
  });

  place.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const el = event.target, escape = event.key === "Escape" && drag;
    const step = JSON.parse(el.dataset.arrows || "{}")[event.key];
    const used = step ? !panel.act(step) : escape ? !end({}, false) : el.matches(".al-press") ? /^( |Enter)$/.test(event.key) && !press(el)
      : el.matches(".al-handle") ? slide(el, event.key) : el.matches(".al-heat-cell") && walk(el, event.key);
    if (!used) return;
    event.preventDefault();
    event.stopPropagation();
  });

  function slide(el, key) {
    const [x, y] = axes(el), sideways = { ArrowRight: 1, ArrowLeft: -1 }[key], upwards = { ArrowUp: 1, ArrowDown: -1 }[key];
    const by = { PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity }[key];
    if (!sideways && !upwards && !by) return false;
    if (el.dataset.up) return Boolean(upwards) && !pull(el, upwards);
    const c = (upwards ? y : x) || x || y, axis = c === x ? 0 : 1;
    const along = (upwards ? 1 : 0) === axis ? way(c, axis) : 1; // across its way, right and up are onwards
    const stop = clamp(c, panel.at()[c.name] + (by || (sideways || upwards) * along));
    panel.go({ ...panel.at(), [c.name]: stop });
    return true;
  }

  // Arrows go from cell to cell of a tensor; one of its cells is in the order of Tab.
  function walk(cell, key) {
    const tensor = cell.closest(".al-tensor"), cells = [...tensor.querySelectorAll(".al-heat-cell")], wide = Number(tensor.dataset.columns);
    const k = cells.indexOf(cell), row = k - (k % wide);
    const to = { ArrowRight: k % wide < wide - 1 ? k + 1 : k, ArrowLeft: k > row ? k - 1 : k, ArrowDown: k + wide, ArrowUp: k - wide, Home: row, End: row + wide - 1 }[key];
    if (to === undefined) return false;
    if (!cells[to] || to === k) return true;
    cells.forEach((c, i) => c.setAttribute("tabindex", i === to ? "0" : "-1"));
    cells[to].focus();
    return true;
  }

  const cellOf = (event) => event.target.closest?.(".al-heat-cell");
  for (const type of ["pointerover", "focusin"]) place.addEventListener(type, (event) => { if (cellOf(event)) panel.tell(cellOf(event).getAttribute("aria-label")); });
  for (const type of ["pointerout", "focusout"]) place.addEventListener(type, (event) => { if (cellOf(event)) panel.tell(""); });

  // While the mouse rests on a cell that can be pressed, what that would show is seen already.
  let timer = null;
  for (const type of ["pointerover", "pointerout"]) place.addEventListener(type, (event) => {
    const cell = cellOf(event);
    if (!panel.peek || event.pointerType !== "mouse" || drag || !cell?.matches(".al-press")) return;
    clearTimeout(timer);
    timer = setTimeout(() => panel.peek(type === "pointerover" && cell.isConnected ? goal(cell) : null), PEEK);
  });

  // Writes what changes with the position into a picture.
  function dress(svg) {
    for (const el of svg.querySelectorAll("[tabindex]")) el.setAttribute(SUPPRESS, "true");
    for (const el of svg.querySelectorAll(".al-handle")) {
      if (el.dataset.up) { el.setAttribute("aria-disabled", String(!panel.can(el.dataset.up) && !panel.can(el.dataset.down))); continue; }
      const c = axes(el).filter(Boolean);
      if (!c.length) { el.remove(); continue; }
      const k = panel.at()[c[0].name];
      const said = c.map((one) => (c.length > 1 ? `${one.label} ` : "") + one.texts[panel.at()[one.name]]).join(", ");
      el.setAttribute("aria-disabled", String(Boolean(panel.stuck && c.every(panel.stuck))));
      for (const [name, value] of [["min", 0], ["max", c[0].stops.length - 1], ["now", k], ["text", said]]) el.setAttribute(`aria-value${name}`, value);
    }
    for (const el of svg.querySelectorAll(".al-press")) {
      const { set, stop, action } = el.dataset;
      const k = action === undefined && stopOf(control(set), JSON.parse(stop)), isHere = panel.at()[set] === k;
      if (action === undefined) el.setAttribute("aria-pressed", String(isHere));
      if (action !== undefined || panel.canSet) el.setAttribute("aria-disabled", String(action === undefined ? !isHere && !panel.canSet(control(set), k) : !panel.can(action)));
    }
    for (const tensor of svg.querySelectorAll(".al-tensor")) {
      if (!tensor.querySelector("[tabindex='0']")) tensor.querySelector(".al-heat-cell")?.setAttribute("tabindex", "0");
    }
  }

  return { dress, busy: () => Boolean(drag?.axes) };
}
