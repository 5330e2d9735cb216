// ---- site -----------------------------------------------------------------------------------------------------

// What is told of an explorable: in its place, or in a file if it is long.
const toldOf = (script) => script.dataset.source
  ? fetch(`${document.documentElement.dataset.content_root}_static/explorables/${script.dataset.source}`).then((file) => file.json())
  : JSON.parse(script.textContent);

// What an explorable asks Python for: an expression that is typed, an action whose result is not known, a training.
const needsPython = (data) => "expression" in data || "running" in data || "chains" in data
  || "ask" in data && Object.values(data.frames).some((frame) => Object.values(frame.next).includes(null));
const here = document.querySelector("a.run-here");

// A browser may forbid a page to keep anything, or have no room.
const NOT_KEPT = "This browser keeps no answers for this page: its storage is blocked or full. They are here until you leave the page.";
function keepsAnswers() {
  try {
    localStorage.setItem("autolab:", "");
    localStorage.removeItem("autolab:");
    return true;
  } catch { return false; }
}
const notice = (below, text) => below.nextElementSibling?.textContent === text
  || below.after(h("p", { class: "notice", role: "status" }, text));
document.documentElement.dataset.autolabLive = "";

// Each explorable is drawn when it comes near the part of the page that is seen. If that fails, the picture stays.
const near = new IntersectionObserver((seen) => seen.filter((place) => place.isIntersecting).forEach(async ({ target }) => {
  near.unobserve(target);
  const told = await toldOf(target.querySelector("script"));
  mount(target, "", { ...told, keeps: true });
  if (told.data.attempts && !keepsAnswers()) notice(document.querySelector("article h1"), NOT_KEPT);
  if (here && needsPython(told.data)) target.after(h("p", { class: "needs-python" }, "Without Python this shows what was computed in advance. ",
    h("a", { href: here.href }, "Run it here"), " to go on from there."));
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
  e.querySelectorAll("math").forEach((formula) => formula.setAttribute("aria-label", formula.textContent));
});
if (!document.querySelector("h1")) document.querySelector("article")?.prepend(h("h1", {}, "Search"));
