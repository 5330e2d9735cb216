// Goes through the states of the explorable on this page, by its own controls, and tells which words of its pictures cannot be
// read: they are small, overlap, leave the picture, or leave the box that they stand in; or that a picture is wider than its place.
// `limit`: how many states at most.
async (limit) => {
  const root = document.querySelector(".al-panel, .al-stepper, .al-explorer"), wrong = new Map();
  const seen = (el) => { const s = getComputedStyle(el); return s.visibility === "visible" && s.display !== "none" && Number(s.opacity) > 0 && !el.closest(".al-rest"); };
  const said = () => root.querySelector(".al-status").textContent;
  const tell = (what) => { if (wrong.size < 40 && !wrong.has(what)) wrong.set(what, said().slice(0, 90)); };

  // The ink of a line of text: its box without the room for accents and tails.
  function ink(el) {
    const r = el.getBoundingClientRect(), air = 0.2 * r.height;
    return { left: r.left, right: r.right, top: r.top + air, bottom: r.bottom - air, text: el.textContent.trim() };
  }
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;

  function check() {
    const tiles = [...root.querySelectorAll(".al-graph > svg")], boxes = tiles.map((t) => t.getBoundingClientRect()), homeless = new Map();
    tiles.forEach((tile, k) => {
      const box = boxes[k], scale = box.width / tile.viewBox.baseVal.width, more = Math.round(box.width - tile.parentElement.clientWidth);
      if (more > 1) tell(`the picture is ${more} pixels wider than its box`);
      const all = [...tile.querySelectorAll("text")].filter((el) => el.textContent.trim() && seen(el)).map((el) => Object.assign(ink(el), { el }));
      const words = all.filter((w) => w.right > box.left + 1 && w.left < box.right - 1 && w.bottom > box.top && w.top < box.bottom);
      all.forEach((w, i) => { if (!words.includes(w)) homeless.set(`${i} ${w.text}`, (homeless.get(`${i} ${w.text}`) || 0) + 1); });
      for (const w of words) {
        if (w.left < box.left - 1 || w.right > box.right + 1 || w.top < box.top - 1 || w.bottom > box.bottom + 1) tell(`"${w.text}" leaves the picture`);
      }
      for (const w of words) if (parseFloat(getComputedStyle(w.el).fontSize) * scale < 13.99) tell(`"${w.text}" is small`);
      words.sort((a, b) => a.top - b.top);
      words.forEach((a, i) => {
        for (let j = i + 1; j < words.length && words[j].top < a.bottom; j++) if (meet(a, words[j])) tell(`"${a.text}" meets "${words[j].text}"`);
      });
      // a word belongs to the box beside which it stands in the markup: its group's, or the cell just before it, maybe a part of its own
      for (const w of words) {
        const part = w.el.parentElement.parentElement === tile && w.el.parentElement.previousElementSibling;
        const before = w.el.previousElementSibling || (part && part.lastElementChild);
        const own = w.el.closest(".al-node")?.querySelector(".al-box") || (before?.matches?.(".al-cell, .al-heat-edge") ? before : null);
        const r = own?.getBoundingClientRect(), x = (w.left + w.right) / 2, y = (w.top + w.bottom) / 2;
        if (!r || w.el.closest(".al-pill") || x < r.left || x > r.right || y < r.top || y > r.bottom) continue;
        if (w.left < r.left - 1.5 || w.right > r.right + 1.5) tell(`"${w.text}" leaves its box`);
      }
    });
    for (const [w, times] of homeless) if (times === tiles.length) tell(`"${w.replace(/^\d+ /, "")}" is outside of the picture`);
  }

  const pause = () => new Promise((done) => setTimeout(done));
  const set = (control, k) => {
    if (control.matches("select")) control.selectedIndex = k; else control.value = String(k);
    for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
  };
  const controls = [...root.querySelectorAll(".al-range, .al-choice select")].filter((c) => !c.closest("[role=toolbar]"));
  const count = (c) => (c.matches("select") ? c.options.length : Number(c.max) + 1);
  const step = [...root.querySelectorAll("[role=toolbar] button")].find((b) => b.textContent === "Step");
  const reset = [...root.querySelectorAll("button")].find((b) => b.textContent === "Reset");
  const actions = () => [...root.querySelectorAll("[aria-label=Actions] button")];
  let states = 0, dice = 7;
  const random = (n) => { dice = (dice * 1103515245 + 12345) % 2147483648; return Math.floor((dice / 2147483648) * n); };

  async function here() {
    check();
    states++;
    if (states % 20 === 0) await pause();
    for (let k = 0; step && states < limit && step.getAttribute("aria-disabled") !== "true"; k++) { step.click(); check(); states++; }
  }
  const begin = () => reset?.click();
  for (let k = 0; k < 2; k++) await new Promise((done) => requestAnimationFrame(done)); // the explorable has seen how wide the page is
  begin();
  await here();
  for (const control of controls) {
    for (let k = 0; k < count(control) && states < limit; k++) { if (step) begin(); set(control, k); await here(); }
    begin();
  }
  if (controls.length > 1) while (states < limit) { if (step) begin(); controls.forEach((c) => set(c, random(count(c)))); await here(); }
  begin();
  for (let walk = 0; actions().length && states < limit; walk++) {
    for (let deep = 0; deep < 6 && actions().length && states < limit; deep++) {
      const can = actions(), said = can[deep ? random(can.length) : walk % can.length];
      said.click();
      check();
      states++;
    }
    begin();
    await pause();
  }
  return { states, wrong: [...wrong].map(([what, where]) => `${what} (${where})`) };
}
