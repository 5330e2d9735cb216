// ---- site -----------------------------------------------------------------------------------------------------

// Each explorable is drawn when it comes near the part of the page that is seen. If that fails, the picture stays.
const near = new IntersectionObserver((seen) => seen.filter((place) => place.isIntersecting).forEach(({ target }) => {
  near.unobserve(target);
  mount(target, "", { ...JSON.parse(target.querySelector("script").textContent), keeps: true });
}), { rootMargin: "800px" });
document.querySelectorAll("[data-autolab]:has(> script)").forEach((place) => near.observe(place));
