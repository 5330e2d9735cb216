// ---- site -----------------------------------------------------------------------------------------------------

// What is told of an explorable: in its place, or in a file if it is long.
const toldOf = (script) => script.dataset.source
  ? fetch(`${document.documentElement.dataset.content_root}_static/explorables/${script.dataset.source}`).then((file) => file.json())
  : JSON.parse(script.textContent);

// Each explorable is drawn when it comes near the part of the page that is seen. If that fails, the picture stays.
const near = new IntersectionObserver((seen) => seen.filter((place) => place.isIntersecting).forEach(async ({ target }) => {
  near.unobserve(target);
  mount(target, "", { ...await toldOf(target.querySelector("script")), keeps: true });
}), { rootMargin: "800px" });
document.querySelectorAll("[data-autolab]:has(> script)").forEach((place) => near.observe(place));

// What the theme leaves to do for the keyboard and the screen reader.
const label = (where, text) => document.querySelectorAll(where).forEach((e) => e.setAttribute("aria-label", text));
label("aside.sidebar-drawer", "Contents of the site");
label("aside.toc-drawer", "Contents of the page");
const scrolls = new ResizeObserver((seen) => seen.forEach(({ target: e }) => {
  e.toggleAttribute("tabindex", e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight);
  if (e.hasAttribute("tabindex")) e.tabIndex = 0;
}));
document.querySelectorAll(".table-wrapper, .math-wrapper, .highlight pre, .cell_output pre").forEach((e) => scrolls.observe(e));
document.querySelectorAll("th").forEach((e) => {
  if (!e.textContent.trim()) e.replaceWith(Object.assign(document.createElement("td"), { className: e.className }));
});
