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
