// plotly names the parts of a picture at random; the same figures shall give the same bytes.
let names = 1;
Math.random = () => (names = (names * 48271) % 2147483647) / 2147483647;
(async () => {
  const pictures = [];
  dispatchEvent(new Event("beforeprint"));
  for (const figure of document.querySelectorAll(".drawing")) {
    for (const format of ["svg", "png"]) {
      const picture = document.createElement("pre");
      picture.id = figure.id + "." + format;
      picture.textContent = await Plotly.toImage(figure, { format, width: 1100, height: 560, scale: format === "png" ? 2 : 1 });
      pictures.push(picture);
    }
  }
  document.body.replaceChildren(...pictures);
})();
