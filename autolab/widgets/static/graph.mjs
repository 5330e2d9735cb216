// ---- the picture ----------------------------------------------------------------------------------------------

// The SVG that Python drew, made live: it can be moved through; with `choose`, nodes take the focus and can be chosen
// (`enter` is true for a click and for Enter). `homes` says in which group a node is that has no box of its own.
class Graph {
  constructor(svg, choose, homes = {}) {
    // what can scroll must be reached by keys: through its nodes, or else by itself
    this.el = h("div", { class: "al-graph", ...(choose ? {} : { ...SCROLLS, "aria-label": "Graph" }) });
    this.el.innerHTML = svg;
    this.svg = this.el.firstElementChild;
    this.svg.setAttribute("role", "group");
    this.svg.style.minWidth = `${this.svg.getAttribute("width")}px`; // smaller is hard to read: then it scrolls
    this.svg.querySelectorAll("desc").forEach((desc) => desc.remove());
    this.svg.querySelectorAll("[data-node] text, .al-block").forEach((words) => { // the node's name has them
      words.setAttribute("aria-hidden", "true");
      words.after(" ");
    });
    this.nodes = new Map();
    this.homes = homes;
    this.holds = new Map();
    this.piles = new Map(); // closed groups, and the steps inside
    this.fired = new Map(); // and how many of these have been taken
    this.near = { ArrowLeft: new Map(), ArrowRight: new Map() }; // boxes that edges lead to, by box
    for (const g of this.svg.querySelectorAll("[data-from]")) {
      for (const [key, a, b] of [["ArrowLeft", g.dataset.to, g.dataset.from], ["ArrowRight", g.dataset.from, g.dataset.to]]) {
        if (!this.near[key].has(a)) this.near[key].set(a, []);
        if (!this.near[key].get(a).includes(b)) this.near[key].get(a).push(b);
      }
    }
    this.fires = [[]]; // fires[k]: what lights up at step k
    for (const g of this.svg.querySelectorAll("[data-node]")) {
      this.nodes.set(g.dataset.node, g);
      for (const id of g.dataset.holds?.split(" ") || []) this.holds.set(id, g.dataset.node);
      if (g.matches(".al-closed")) this.piles.set(g.dataset.node, []);
      g.setAttribute("role", choose ? "button" : "img");
      if (!choose) continue;
      g.setAttribute("tabindex", "-1");
      g.setAttribute(SUPPRESS, "true");
      this.describe(g, false);
      this.entitle(g);
    }
    for (const title of choose ? this.svg.querySelectorAll(".al-block title") : []) {
      title.parentElement.dataset.told = title.textContent; // the number of a cell: texts in a node would belong to its name
      title.remove();
    }
    for (const g of this.svg.querySelectorAll("[data-at]:not(.al-closed)")) {
      const at = Number(g.dataset.at);
      (this.fires[at] ||= []).push(g);
      g.classList.remove("al-on", "al-now");
    }
    this.position = 0;
    this.order = [...this.nodes.keys()];
    this.pan();
    if (!choose) return;
    const chosen = (event) => event.target.closest?.("[data-node]")?.dataset.node;
    this.svg.addEventListener("click", (event) => {
      const id = chosen(event);
      if (id && !this.dragged) { this.nodes.get(id).focus({ preventScroll: true }); choose(id, true); }
    });
    this.svg.addEventListener("keydown", (event) => {
      const id = chosen(event);
      if (!id) return;
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const to = (next) => { if (next) { this.nodes.get(next).focus({ preventScroll: true }); choose(next, false); } };
      if (event.shiftKey && this.near[event.key]) {
        this.turns = this.near[event.key].get(id) || [];
        to(this.turns[0]);
      } else if (event.shiftKey && move) {
        const n = this.turns?.length || 0;
        to(n && this.turns[(this.turns.indexOf(id) + move + n) % n]);
      } else if (move) to(this.order[this.order.indexOf(id) + move]);
      else if (event.key === "Enter") choose(id, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // The box that a node is, or is in.
  boxOf(id) {
    while (id && !this.nodes.has(id)) id = this.holds.get(id) || this.homes[id];
    return id;
  }

  // Tells the closed groups which steps happen inside.
  gather(steps) {
    if (this.piles.size) steps.forEach((step, i) => this.piles.get(this.boxOf(step.node))?.push(i + 1));
  }

  // Ctrl and the wheel zoom, the mouse drags; without Ctrl the wheel scrolls as everywhere.
  pan() {
    this.el.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX, event.clientY);
    }, { passive: false });
    this.el.addEventListener("pointerdown", (down) => {
      this.dragged = false;
      if (down.button || down.pointerType !== "mouse" || down.target.closest(".al-handle")) return;
      const { scrollLeft, scrollTop } = this.el;
      const move = (event) => {
        const x = event.clientX - down.clientX, y = event.clientY - down.clientY;
        this.dragged ||= Math.abs(x) + Math.abs(y) > 4;
        if (this.dragged) this.el.scrollTo(scrollLeft - x, scrollTop - y);
      };
      const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
      addEventListener("pointermove", move);
      addEventListener("pointerup", up);
    });
  }

  // By a factor, around a point of the screen (or the middle); 0 fits the frame again.
  zoom(factor, x, y) {
    const before = this.svg.getBoundingClientRect(), frame = this.el.getBoundingClientRect(), { style } = this.svg;
    x ??= frame.left + frame.width / 2;
    y ??= frame.top + frame.height / 2;
    const whole = Number(this.svg.getAttribute("width"));
    const width = Math.min(4 * whole, Math.max(0.15 * whole, before.width * factor));
    Object.assign(style, factor ? { width: `${width}px`, minWidth: "0", maxWidth: "none" } : { width: "", minWidth: "", maxWidth: "" });
    const now = this.svg.getBoundingClientRect(), grown = now.width / before.width;
    this.el.scrollBy(now.left + (x - before.left) * grown - x, now.top + (y - before.top) * grown - y);
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
    for (const [id, steps] of this.piles) {
      const g = this.nodes.get(id), fired = steps.filter((k) => k <= position).length;
      if (this.fired.get(id) === fired) continue;
      this.fired.set(id, fired);
      g.classList.toggle("al-on", fired > 0);
      g.classList.toggle("al-now", fired > 0 && fired < steps.length);
      if (steps.length) g.querySelector(".al-grad").textContent = `${fired} of ${steps.length} fired`;
      this.describe(g, fired > 0);
    }
    this.position = position;
  }

  // What a node sends travels along its edges, from the pill on a line into the box of its input; back again when a step is undone.
  send(step, back) {
    land(this.svg);
    if (calm()) return;
    const trips = (this.fires[step] || []).filter((e) => e.dataset.edge).slice(0, 12)
      .map((g) => [g.querySelector(".al-pill"), this.nodes.get(g.dataset.from)?.querySelector(".al-box")]).filter(([pill, box]) => pill && box)
      .map(([pill, box]) => [pill, pill.getBBox(), box.getBBox()]); // all are asked first: after a change, everything is laid out anew
    for (const [pill, a, b] of trips) {
      const token = document.createElementNS(SVG, "g");
      token.setAttribute("class", "al-on al-flight");
      token.append(pill.cloneNode(true));
      const away = `${b.x + b.width / 2 - a.x - a.width / 2}px ${b.y + b.height / 2 - a.y - a.height / 2}px`, here = "0px 0px";
      this.svg.aloft.push(passing(this.svg, token, { translate: back ? [away, here] : [here, here, away], opacity: back ? [0, 1] : [1, 1, 0.3] },
        { duration: FLIGHT, easing: "ease-in-out" }));
    }
  }

  // A node's title is its description; it is in the picture only while it is pointed at, as a text it would belong to the name.
  entitle(g) {
    const title = g.querySelector("title");
    g.setAttribute("aria-description", title.textContent);
    title.remove();
    g.addEventListener("pointerenter", () => g.prepend(title));
    g.addEventListener("pointerleave", () => title.remove());
  }

  // A node is called by what is written in it, which changes in closed groups alone.
  describe(g, withGradient) {
    const closed = g.matches(".al-closed"), which = withGradient ? "text" : "text:not(.al-grad, .al-pill *)", names = (g.names ||= {});
    if (closed || names[which] === undefined) names[which] = [...g.querySelectorAll(which)].map((t) => t.textContent).filter(Boolean).join(" ");
    g.setAttribute("aria-label", names[which]);
    if (closed) g.setAttribute("aria-expanded", "false");
  }

  select(id) {
    id = this.boxOf(id);
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
      const inner = this.nodes.get(this.boxOf(id))?.getBoundingClientRect();
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
