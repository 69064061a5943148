"use strict";
(() => {
  const config = JSON.parse(document.getElementById("chart-config").textContent);
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: false, logLevel: 1, config,
    loader: { load: () => Promise.reject(new Error("no network")) },
  };
  const waiting = new Set(document.querySelectorAll("[data-chart]"));

  async function draw(place) {
    if (!waiting.delete(place)) return;
    seen.unobserve(place);
    try {
      const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
      const aspect = Number(place.dataset.aspect);
      if (aspect) spec.height = Math.max(120, Math.min(760, aspect * (place.clientWidth - 60) + 45));
      await vegaEmbed(place, spec, options);
      place.classList.add("drawn");
    } catch (error) {
      place.textContent = "This chart could not be drawn; its numbers are in the table below.";
      console.error(error);
    }
  }

  const seen = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => draw(e.target)),
    { rootMargin: "600px" },
  );
  waiting.forEach((place) => seen.observe(place));

  // Charts out of sight are drawn one by one when nothing else is to do, so that paper has them.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  async function next() {
    const [place] = waiting;
    if (!place) return;
    await draw(place);
    idle(next);
  }
  window.addEventListener("load", () => idle(next));
  window.addEventListener("beforeprint", () => waiting.forEach(draw));
})();
