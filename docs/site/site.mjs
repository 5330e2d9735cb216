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
