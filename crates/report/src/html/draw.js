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
  // Times as they are written elsewhere: 100 us, 1 ms. plotly.js has no such form.
  const UNITS = [[1e-9, "ns"], [1e-6, "us"], [1e-3, "ms"], [1, "s"]];
  const written = (seconds) => {
    const [size, unit] = UNITS.findLast(([size]) => seconds > 0.999 * size) ?? UNITS[0];
    return `${+(seconds / size).toPrecision(2)} ${unit}`;
  };
  const ticks = (low, high) => {
    const steps = high - low > 2.5 ? [1] : [1, 2, 5];
    const seconds = [];
    for (let decade = Math.floor(low); decade <= high; decade++) for (const step of steps) seconds.push(step * 10 ** decade);
    return { tickvals: seconds, ticktext: seconds.map(written) };
  };
  // The names of the axes of time, and the logarithms of what lies along each.
  const times = (layout) => ["xaxis", "yaxis"].filter((name) => layout[name]?.ticksuffix === "s");
  const extent = (data, name) => {
    const values = data.flatMap((trace) => trace[name[0]] ?? []).filter((value) => value > 0).map(Math.log10);
    const [low, high] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    return low <= high ? [low - 0.3, high + 0.3] : [-9, 0];
  };
  const name = ({ data, layout }) => {
    for (const axis of times(layout)) Object.assign(layout[axis], { tickmode: "array" }, ticks(...extent(data, axis)));
  };
  const rename = (drawing) => {
    const update = {};
    for (const axis of times(drawing.layout)) {
      const { tickvals, ticktext } = ticks(...drawing._fullLayout[axis].range);
      if (String(tickvals) === String(drawing.layout[axis].tickvals)) continue;
      Object.assign(update, { [`${axis}.tickvals`]: tickvals, [`${axis}.ticktext`]: ticktext });
    }
    if (Object.keys(update).length > 0) Plotly.relayout(drawing, update);
  };
  const draw = (drawing) => {
    near.unobserve(drawing);
    if (drawing.classList.contains("js-plotly-plot")) return;
    const { textContent } = document.getElementById(drawing.id + "-data");
    const figure = JSON.parse(textContent);
    name(figure);
    Plotly.newPlot(drawing, figure).then(() => {
      reach(drawing);
      drawing.on("plotly_relayout", () => rename(drawing));
      drawing.on("plotly_afterplot", () => reach(drawing));
    });
  };
  // Beside the page the contents are open, whatever the browser makes of the style that says so.
  const wide = matchMedia("(min-width: 80rem)");
  const contents = document.querySelector(".contents");
  const open = () => contents?.toggleAttribute("open", wide.matches);
  wide.addEventListener("change", open);
  open();
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
