/* Numbers as colours, in `window.vitScales`: on the scale "diverging", or on "growing" where there is no middle. */
(() => {
  "use strict";

  const rgbs = (text) => text.split(" ").map((one) => one.match(/../g).map((pair) => parseInt(pair, 16)));
  const SCALES = { // RdBu_r, as in `viz.heat_maps`, and cividis
    diverging: rgbs("053061 2065ab 4393c3 90c4dd d1e5f0 f7f6f6 fddbc7 f3a481 d6604d b1182b 67001f"),
    growing: rgbs("00224e 1a386f 434e6c 61656f 7d7c78 9b9476 bcae6c dec958 fee838"),
  };

  /* The colour at a share from 0 to 1 of a scale, as [r, g, b]. */
  function colour(name, share) {
    const scale = SCALES[name];
    const at = Math.min(1, Math.max(0, share)) * (scale.length - 1), i = Math.min(scale.length - 2, Math.floor(at));
    return scale[i].map((value, k) => Math.round(value + (at - i) * (scale[i + 1][k] - value)));
  }

  /* Black or white letters, whichever stand out more from it (WCAG's luminance). */
  function ink(rgb) {
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
  }

  /* The whole scale, for CSS. */
  const gradient = (name) => `linear-gradient(to right, ${SCALES[name].map((rgb) => `rgb(${rgb})`).join(", ")})`;

  /* Values of places, m to a row, as colours, and as numbers where they fit: as `write` writes them. */
  function tint(cells, values, m, write, name = "diverging", low = -1, high = 1) {
    cells.forEach((cell, i) => {
      const rgb = colour(name, high > low ? (values[i] - low) / (high - low) : 0.5);
      cell.style.background = `rgb(${rgb})`;
      cell.style.color = ink(rgb);
      cell.style.fontSize = m > 8 ? "0.6rem" : "";
      cell.textContent = m <= 10 ? write(values[i]) : "";
    });
  }

  window.vitScales = { colour, gradient, tint };
})();
