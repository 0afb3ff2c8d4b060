// Draws each figure when the reader comes near it, and all of them before the page is printed. Lets the keyboard reach
// the buttons of a figure, which plotly.js makes for the mouse alone.
(() => {
  const reach = (drawing) => {
    for (const button of drawing.querySelectorAll(".modebar-btn")) {
      button.tabIndex = 0;
      button.setAttribute("role", "button");
      button.setAttribute("aria-label", button.dataset.title);
    }
  };
  const draw = (drawing) => {
    near.unobserve(drawing);
    if (drawing.classList.contains("js-plotly-plot")) return;
    const { textContent } = document.getElementById(drawing.id + "-data");
    Plotly.newPlot(drawing, JSON.parse(textContent)).then(() => {
      reach(drawing);
      drawing.on("plotly_afterplot", () => reach(drawing));
    });
  };
  const draws = (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target));
  const near = new IntersectionObserver(draws, { rootMargin: "100% 0%" });
  const drawings = document.querySelectorAll(".drawing");
  drawings.forEach((drawing) => near.observe(drawing));
  addEventListener("beforeprint", () => drawings.forEach(draw));
  addEventListener("keydown", (event) => {
    const button = event.target.closest(".modebar-btn");
    if (button === null || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    button.click();
  });
})();
