// ---- motion ---------------------------------------------------------------------------------------------------

const GLIDE = 250, FLIGHT = 400; // milliseconds
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const SVG = "http://www.w3.org/2000/svg";

// Elements by their data-key. Two may have the same, as two that set a control to the same stop: then their order tells them apart.
function keyedOf(elements) {
  const found = new Map();
  for (const el of elements) {
    let { key } = el.dataset;
    if (key === undefined) continue;
    while (found.has(key)) key += "+";
    found.set(key, el);
  }
  return found;
}

// Makes an element what another one is, and keeps what is the same, so that focus and motion stay with it. Children with a
// data-key are the same child wherever they stand.
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const keyed = keyedOf(old.children), keys = new Map([...keyedOf(fresh.children)].map(([key, el]) => [el, key]));
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = keys.get(next);
    while (key === undefined && at?.dataset?.key !== undefined) at = at.nextSibling;
    const same = key === undefined ? at : keyed.get(key);
    if (!same || same.nodeName !== next.nodeName) { old.insertBefore(next, at); continue; }
    keyed.delete(key);
    if (same === at) at = at.nextSibling; else old.insertBefore(same, at);
    if (next.nodeType === Node.TEXT_NODE) { if (same.nodeValue !== next.nodeValue) same.nodeValue = next.nodeValue; } else morph(same, next);
  }
  while (at) { const gone = at; at = at.nextSibling; if (gone.dataset?.key === undefined) gone.remove(); }
  keyed.forEach((gone) => gone.remove());
}

const keyedIn = (svg) => keyedOf(svg.querySelectorAll("[data-key]"));
const middle = (el) => {
  const { left, top, width, height } = (el.firstElementChild || el).getBoundingClientRect();
  return [left + width / 2, top + height / 2];
};

// Shows parts in a picture: each is in a <g> of its own, and only those that are new are read. A part that begins with a key
// keeps its <g> wherever it is in the list.
function fill(svg, list, parts) {
  const old = svg.slots || new Map(), slots = new Map();
  let free = 0, at = svg.firstElementChild;
  for (const i of list) {
    const key = /^<g data-key="([^"]*)"/.exec(parts[i])?.[1];
    let name = key === undefined ? `part ${free++}` : `key ${key}`;
    while (slots.has(name)) name += "+";
    const slot = old.get(name) || document.createElementNS(SVG, "g");
    slots.set(name, slot);
    old.delete(name);
    if (slot.drawn !== parts[i]) {
      const fresh = slot.cloneNode(false);
      fresh.innerHTML = slot.drawn = parts[i];
      morph(slot, fresh);
    }
    if (slot === at) at = at.nextElementSibling; else svg.insertBefore(slot, at);
  }
  old.forEach((slot) => slot.remove());
  svg.slots = slots;
}

// Changes the tiles of a picture, each to its list of parts. With motion, what has a key glides from where it is seen now, also in the
// midst of a glide; what is new fades in, what has gone fades out. Where things are is asked for all of them at once: each question after
// a change makes the browser lay everything out anew.
function paint(tiles, lists, parts, moves) {
  const before = tiles.map((svg) => new Map(moves ? [...keyedIn(svg)].map(([key, el]) => [key, { el, place: middle(el), inner: el.parentElement.closest("[data-key]") }]) : []));
  tiles.forEach((svg, i) => fill(svg, lists[i], parts));
  if (!moves) return;
  const after = tiles.map((svg) => [...keyedIn(svg)]);
  for (const [, el] of after.flat()) el.glide?.cancel();
  const places = after.map((found) => found.map(([, el]) => middle(el)));
  const scales = tiles.map((svg) => svg.viewBox.baseVal.width / (svg.getBoundingClientRect().width || 1));
  tiles.forEach((svg, i) => {
    after[i].forEach(([key, el], j) => {
      const was = before[i].get(key)?.place;
      if (!was) { el.glide = el.animate({ opacity: [0, 1] }, GLIDE); return; }
      const [dx, dy] = was.map((from, axis) => (from - places[i][j][axis]) * scales[i]);
      if (Math.abs(dx) + Math.abs(dy) > 0.5) el.glide = el.animate({ translate: [`${dx}px ${dy}px`, "0px 0px"] }, { duration: GLIDE, easing: "ease-in-out" });
    });
    for (const { el, inner } of before[i].values()) {
      if (!inner && !el.isConnected) passing(svg, el, { opacity: [1, 0] }, { duration: GLIDE });
    }
  });
}

// Something that is seen for the time of one animation, which is returned.
function passing(svg, el, frames, timing) {
  el.removeAttribute("data-key");
  [el, ...el.querySelectorAll("[tabindex]")].forEach((e) => e.removeAttribute("tabindex"));
  el.setAttribute("aria-hidden", "true");
  el.setAttribute("pointer-events", "none");
  svg.append(el);
  const animation = el.animate(frames, { ...timing, fill: "both" });
  animation.finished.then(() => el.remove(), () => el.remove());
  return animation;
}

// What travels over a picture (`svg.aloft`) lands before anything else takes off, so no two steps are in the air at once.
function land(svg) {
  svg.aloft?.forEach((animation) => animation.cancel());
  svg.aloft = [];
}

// Held at a share of the way, 0 to 1; and let go, to the end or back to the start.
const hold = (svg, share) => svg.aloft?.forEach((animation) => { animation.pause(); animation.currentTime = share * FLIGHT; });
const letGo = (svg, back) => svg.aloft?.forEach((animation) => { animation.playbackRate = back ? -1 : 1; animation.play(); });

// Numbers that travel, with their boxes; backwards when a step is taken back.
function fly(svg, flights, back) {
  land(svg);
  for (const { text: words, start, end, kind } of flights) {
    const [[x, y], to] = back ? [end, start] : [start, end], wide = 8.5 * words.length + 14;
    const g = document.createElementNS(SVG, "g");
    g.setAttribute("class", "al-flight");
    g.innerHTML = `<rect class="al-cell al-k-${kind === "grad" ? "grad" : "leaf"}" x="${x - wide / 2}" y="${y - 13}" width="${wide}" height="26" rx="13"/>
      <text class="al-t al-${kind}" x="${x}" y="${y + 5}" text-anchor="middle"></text>`;
    g.lastElementChild.textContent = words;
    svg.aloft.push(passing(svg, g, { translate: ["0px 0px", `${to[0] - x}px ${to[1] - y}px`], opacity: [1, 1, 0.2] },
      { duration: FLIGHT, easing: "ease-in-out" }));
  }
}

// Steps as a range to drag. Between two steps what travels from the one to the other is where the hand is: `between(step, share)`.
// Let go, it travels on to the nearer step: `settle(back)`. One drag is one undo: `go(step, forget)`.
function timeline(label, last, go, between, settle) {
  let step = 0, held = false, moved = false;
  const to = (k) => { if (k !== step) { go(k, moved); moved = held; } };
  const end = () => {
    if (!held) return;
    const place = Number(range.value), k = Math.round(place);
    to(k);
    settle(k <= place);
    held = moved = false;
    range.step = "1";
    show(step); // where it has come: not all steps may be known
  };
  const range = h("input", { type: "range", class: "al-range", min: 0, max: last, step: 1, "aria-label": label,
    onpointerdown: () => { held = true; if (!calm()) range.step = "any"; },
    oninput: () => {
      const place = Number(range.value), k = Math.floor(place);
      to(k);
      if (held) between(k, place - k);
    },
    onpointerup: end, onpointercancel: end, onchange: end });
  const show = (k) => {
    step = k;
    if (!held) range.value = String(k);
    range.setAttribute("aria-valuetext", `${k} of ${last}`);
  };
  return { el: range, show, busy: () => held };
}
