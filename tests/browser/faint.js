// Lines against what is behind them, words against the box that they stand in; colours as the screen mixes them. Tells which are faint.
() => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const mixed = (colours) => {
        for (const c of colours) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (c) => { const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort(); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
    const paper = getComputedStyle(document.querySelector(".al-root")).backgroundColor, wrong = new Set();
    const seen = (e) => e.checkVisibility({ visibilityProperty: true });
    for (const e of document.querySelectorAll(".al-box, .al-line, .al-l, .al-ring, .al-cell:not(.al-hit), .al-axes, .al-heat-edge, .al-rim, .al-pill > rect")) {
        if (seen(e) && contrast(mixed([paper, getComputedStyle(e).stroke]), mixed([paper])) < 3) wrong.add(`${e.getAttribute("class")} ${getComputedStyle(e).stroke}`);
    }
    for (const e of document.querySelectorAll(".al-graph text")) {
        const box = e.parentElement.querySelector(".al-box, .al-heat-low, .al-heat-high, rect, .al-cell");
        const behind = mixed([paper, box ? getComputedStyle(box).fill : paper].map((c) => (c === "none" ? paper : c)));
        if (seen(e) && contrast(mixed([paper, getComputedStyle(e).fill]), behind) < 4.5) wrong.add(e.textContent);
    }
    const heats = [".al-heat-high", ".al-heat-low"].map((c) => [...document.querySelectorAll(c)].find(seen)).filter(Boolean);
    for (const e of heats) if (contrast(mixed([paper, getComputedStyle(e).fill]), mixed([paper])) < 1.8) wrong.add(`cell ${getComputedStyle(e).fill}`);
    const ring = getComputedStyle(document.activeElement);
    if (ring.outlineStyle === "none" || contrast(mixed([paper, ring.outlineColor]), mixed([paper])) < 3) wrong.add(`focus ${ring.outline}`);
    return [...wrong];
}
