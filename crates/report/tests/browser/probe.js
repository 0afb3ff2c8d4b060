// Behaves as a reader with a mouse does, and writes down what came of it: run at the end of a page under test.
(async () => {
  const outcome = { errors: window.probeErrors, figures: {}, openedMs: performance.now(), hostile: {} };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const mouse = (type, x, y, on) =>
    on.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, cancelable: true, view: window }));

  // A place inside the first trace that a pointer can meet, in pixels of the plot.
  function target(gd) {
    const { xaxis, yaxis } = gd._fullLayout;
    const trace = gd.data[gd.data.length - 1];
    if (trace.type === "heatmap") return [xaxis.d2p(0), yaxis.d2p(0)];
    const i = Math.floor(trace.x.length / 2);
    return [xaxis.d2p(trace.type === "bar" ? trace.x[i] / 2 : trace.x[i]), yaxis.d2p(trace.y[i])];
  }

  const tooltip = (gd) => [...gd.querySelectorAll(".hoverlayer .hovertext")].map((t) => t.textContent).join(" ");

  async function hover(gd, drag) {
    const box = drag.getBoundingClientRect();
    const [x, y] = target(gd);
    for (const step of [3, 0]) {
      mouse("mousemove", box.left + x + step, box.top + y, drag);
      await wait(200);
    }
    return tooltip(gd);
  }

  async function zoom(gd, drag) {
    const before = JSON.stringify(gd._fullLayout.xaxis.range);
    const box = drag.getBoundingClientRect();
    const at = (part) => [box.left + box.width * part, box.top + box.height * part];
    mouse("mousedown", ...at(0.3), drag);
    await wait(50);
    const cover = document.querySelector(".dragcover") || document;
    mouse("mousemove", ...at(0.5), cover);
    mouse("mousemove", ...at(0.7), cover);
    await wait(50);
    mouse("mouseup", ...at(0.7), cover);
    await wait(500);
    return JSON.stringify(gd._fullLayout.xaxis.range) !== before;
  }

  async function tile(gd) {
    const slices = gd.querySelectorAll(".treemaplayer g.slice");
    mouse("mouseover", 0, 0, slices[slices.length - 1]);
    await wait(200);
    return tooltip(gd);
  }

  for (const gd of document.querySelectorAll(".drawing")) {
    gd.scrollIntoView();
    await wait(50);
    const marks = ".scatterlayer .point, .scatterlayer .js-line, .heatmaplayer image, .barlayer path, .treemaplayer .slice path";
    const figure = { marks: gd.querySelectorAll(marks).length, canvases: gd.querySelectorAll(".gl-container canvas").length };
    const drag = gd.querySelector(".nsewdrag");
    figure.text = [...gd.querySelectorAll(".main-svg text")].map((text) => text.textContent);
    figure.png = await Plotly.toImage(gd, { format: "png", width: 1100, height: 500 });
    figure.tooltip = drag ? await hover(gd, drag) : await tile(gd);
    figure.zoomed = drag ? await zoom(gd, drag) : null;
    outcome.figures[gd.id] = figure;
  }
  outcome.background = getComputedStyle(document.body).backgroundColor;
  outcome.ink = getComputedStyle(document.querySelector(".main-svg .xtitle, .main-svg .xtick text") || document.body).fill;
  outcome.foreign = document.querySelectorAll("img, iframe, object, embed, script[src], link, .main-svg a, .main-svg image[href^=http]").length;
  outcome.harmed = window.harmed || null;
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(outcome);
  document.body.replaceChildren(pre);
})().catch((error) => {
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify({ errors: [String(error && error.stack)] });
  document.body.replaceChildren(pre);
});
