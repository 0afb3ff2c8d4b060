// Behaves as a reader with a mouse does, and writes down what came of it: run at the end of a page under test.
(async () => {
  // The browser writes the page down when it has loaded: not before this frame is closed.
  const hold = document.createElement("iframe");
  document.documentElement.append(hold);
  hold.contentDocument.open();
  const outcome = { errors: window.probeErrors, figures: {}, openedMs: performance.now(), hostile: {} };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  // Looks again until something is found, for at least twenty seconds: the browser may have to wait for the CPU.
  const until = async (look) => {
    for (let i = 0; i < 2000; i++) {
      const found = look();
      if (found) return found;
      await wait(10);
    }
    return look();
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const mouse = (type, x, y, on) =>
    on.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, cancelable: true, view: window }));

  // The middle of the largest of some bars, which may stand on others or beside them.
  function largest(bars, isLevel, xaxis, yaxis) {
    const bar = bars.reduce((a, b) => (Math.abs(b.s) > Math.abs(a.s) ? b : a));
    const [along, across] = [bar.b + bar.s / 2, (bar.p0 + bar.p1) / 2];
    return isLevel ? [xaxis.d2p(along), yaxis.d2p(across)] : [xaxis.d2p(across), yaxis.d2p(along)];
  }

  // A place inside the first trace that a pointer can meet, in pixels of the plot.
  function target(gd) {
    const { xaxis, yaxis } = gd._fullLayout;
    const trace = gd.data[gd.data.length - 1];
    if (trace.type === "heatmap") return [xaxis.d2p(0), yaxis.d2p(0)];
    if (trace.type === "bar") return largest(gd.calcdata[gd.data.length - 1], trace.orientation === "h", xaxis, yaxis);
    const i = Math.floor(trace.x.length / 2);
    return [xaxis.d2p(trace.x[i]), yaxis.d2p(trace.y[i])];
  }

  const tooltip = (gd) => [...gd.querySelectorAll(".hoverlayer .hovertext")].map((t) => t.textContent).join(" ");

  async function hover(gd, drag) {
    const box = drag.getBoundingClientRect();
    const [x, y] = target(gd);
    mouse("mousemove", box.left + x + 3, box.top + y, drag);
    await wait(80);
    mouse("mousemove", box.left + x, box.top + y, drag);
    return until(() => tooltip(gd));
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
    return until(() => JSON.stringify(gd._fullLayout.xaxis.range) !== before);
  }

  // As who has no mouse: the button is reached, and answers a key.
  async function press(gd, title) {
    const button = gd.querySelector(`.modebar-btn[data-title="${title}"]`);
    if (button === null) return null;
    const before = JSON.stringify(gd._fullLayout.xaxis.range);
    button.focus();
    if (document.activeElement !== button || button.getAttribute("aria-label") !== title) return false;
    button.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    return until(() => JSON.stringify(gd._fullLayout.xaxis.range) !== before);
  }

  async function tile(gd) {
    const slices = gd.querySelectorAll(".treemaplayer g.slice");
    mouse("mouseover", 0, 0, slices[slices.length - 1]);
    return until(() => tooltip(gd));
  }

  // What a reader of the first screen waits for: figures further down are drawn when they come near.
  const drawn = (gd) => gd._fullLayout && gd.querySelector(".modebar-btn[tabindex]");
  while (![...document.querySelectorAll(".drawing")].some(drawn)) await frame();
  outcome.firstDrawnMs = performance.now();
  outcome.notYetDrawn = [...document.querySelectorAll(".drawing")].filter((gd) => !drawn(gd)).map((gd) => gd.id);

  for (const gd of document.querySelectorAll(".drawing")) {
    gd.scrollIntoView();
    while (!drawn(gd)) await frame();
    await wait(50);
    const marks = ".scatterlayer .point, .scatterlayer .js-line, .heatmaplayer image, .barlayer path, .treemaplayer .slice path";
    const figure = { marks: gd.querySelectorAll(marks).length, canvases: gd.querySelectorAll(".gl-container canvas").length };
    const drag = gd.querySelector(".nsewdrag");
    figure.text = [...gd.querySelectorAll(".main-svg text")].map((text) => text.textContent);
    figure.tooltip = drag ? await hover(gd, drag) : await tile(gd);
    figure.zoomed = drag ? await zoom(gd, drag) : null;
    figure.zoomedByKey = drag ? await press(gd, "Zoom in") : null;
    outcome.figures[gd.id] = figure;
  }
  outcome.foreign = document.querySelectorAll("img, body iframe, object, embed, script[src], link, .main-svg a, .main-svg image[href^=http]").length;
  outcome.harmed = window.harmed || null;
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(outcome);
  document.body.replaceChildren(pre);
  hold.contentDocument.close();
})().catch((error) => {
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify({ errors: [String(error && error.stack)] });
  document.body.replaceChildren(pre);
  document.querySelector("html > iframe").contentDocument.close();
});
