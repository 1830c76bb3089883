/* What <vit-patches> draws, the cut picture, tokens and patches on their way, and what it counts.

   All of it in `window.vitPatchesParts`. What draws does so for the explorer: `source` is a canvas with its picture,
   which is cut into `grid` x `grid` = N patches of side P. */
(() => {
  "use strict";

  const { percent } = window.vitExplorer;

  const SIZE = 224, C = 3, CLASSES = 1000;
  const MODELS = { // layers, width
    "ViT-Ti": [12, 192],
    "ViT-S": [12, 384],
    "ViT-B": [12, 768],
    "ViT-L": [24, 1024],
    "ViT-H": [32, 1280],
  };
  const WIDE = 1344, HIGH = 84; // pixels to draw a sequence with
  const MOST_FLYING = 3136; // patches
  const FLIGHT = 1100, EACH = 0.55 * FLIGHT; // milliseconds for all patches, and for one

  /* Patch n, stretched over a box. */
  function stretch({ source, P, grid }, context, n, x, y, width, height) {
    context.drawImage(source, (n % grid) * P, Math.floor(n / grid) * P, P, P, x, y, width, height);
  }

  /* Patch n on a canvas of P x P pixels. */
  function copy(explorer, canvas, n) {
    const { P } = explorer;
    canvas.width = canvas.height = P;
    stretch(explorer, canvas.getContext("2d"), n, 0, 0, P, P);
    return canvas;
  }

  /* The picture with its cuts: gaps, where there is room for them. */
  function sheet({ source, picture: { canvas }, P, grid }) {
    const side = 2 * source.width, context = canvas.getContext("2d");
    canvas.width = canvas.height = side;
    context.imageSmoothingEnabled = false;
    context.drawImage(source, 0, 0, side, side);
    if (P <= 2) return;
    const gap = P > 4 ? 2 : 1;
    for (let i = 1; i < grid; i++) {
      context.clearRect(2 * i * P - gap / 2, 0, gap, side);
      context.clearRect(0, 2 * i * P - gap / 2, side, gap);
    }
  }

  /* Token n's row of numbers: each in its colour while they can be told apart, else pixels. */
  function strip(explorer, n) {
    const { K, numbered: { canvas }, pixelsOnly } = explorer;
    const apart = K <= WIDE, width = Math.min(K, WIDE), line = new ImageData(width, 1);
    for (let x = 0; x < width; x++) {
      const k = Math.floor((x * K) / width), red = k - (k % C);
      for (let c = 0; c < C; c++) line.data[4 * x + c] = apart && c !== k % C ? 0 : explorer.value(red + c, n);
      line.data[4 * x + 3] = 255;
    }
    [canvas.width, canvas.height] = [width, 1];
    canvas.getContext("2d").putImageData(line, 0, 0);
    pixelsOnly.textContent = apart ? "" : "Too many to draw one by one: drawn are pixels.";
  }

  /* From 0 to 1 and with no jerk at either end. */
  function eased(time) {
    const share = Math.min(1, Math.max(0, time));
    return share * share * (3 - 2 * share);
  }

  /* The patches leave the picture one after the other and take their places in the sequence; all at once, where there
     are too many, where motion is not wanted, or not `wanted` now. */
  function fly(explorer, wanted) {
    const { N, grid, picture, tokens, flying } = explorer;
    cancelAnimationFrame(explorer.frame);
    sheet(explorer);
    explorer.notAll.textContent = N > WIDE ? `Too many to draw them all: about one in ${Math.round(N / WIDE)} is.` : "";
    [tokens.canvas.width, tokens.canvas.height] = [WIDE, HIGH];
    const sequence = tokens.canvas.getContext("2d");
    const land = (n) => {
      const [left, right] = [n, n + 1].map((m) => Math.round((m * WIDE) / N));
      if (right > left) stretch(explorer, sequence, n, left, 0, right - left, HIGH);
    };
    const clear = () => { flying.width = flying.height = 0; };
    clear(); // what may still be in the air
    if (!wanted || N > MOST_FLYING || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      for (let n = 0; n < N; n++) land(n);
      return;
    }
    const begun = performance.now();
    let landed = 0;
    const step = (now) => {
      const stage = flying.getBoundingClientRect();
      const from = picture.node.getBoundingClientRect(), to = tokens.node.getBoundingClientRect();
      const cell = from.width / grid, slot = to.width / N;
      [flying.width, flying.height] = [stage.width, stage.height];
      const air = flying.getContext("2d");
      for (let n = landed; n < N; n++) {
        const share = eased((now - begun - (n / N) * (FLIGHT - EACH)) / EACH);
        const between = (a, b) => a + (b - a) * share;
        if (share === 1 && n === landed) {
          land(n);
          landed++;
        } else if (share > 0) {
          const x = between(from.left + (n % grid) * cell, to.left + n * slot) - stage.left;
          const y = between(from.top + Math.floor(n / grid) * cell, to.top) - stage.top;
          stretch(explorer, air, n, x, y, between(cell, slot), between(cell, to.height));
        }
      }
      if (landed < N) explorer.frame = requestAnimationFrame(step);
      else clear();
    };
    explorer.frame = requestAnimationFrame(step);
  }

  const whole = (number) => number.toLocaleString("en-US");
  const rounded = (number, digits) =>
    number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const millions = (macs) => (macs < 1e9 ? `${rounded(macs / 1e6, 1)} million` : `${rounded(macs / 1e9, 1)} billion`);
  const memory = (bytes) => (bytes < 5000 ? `${whole(bytes)} bytes` : `${rounded(bytes / 2 ** 20, 2)} MiB`);

  /* Multiply-accumulates, and the table of one head, for patches of side P: chapters 01 and 08. */
  function costs(P, name) {
    const [depth, D] = MODELS[name];
    const N = (SIZE / P) ** 2, T = N + 1;
    const embedding = N * P * P * C * D;
    const projections = 4 * T * D * D;
    const products = 2 * T * T * D; // of tokens with tokens
    const attention = projections + products;
    const mlp = 8 * T * D * D;
    const model = embedding + depth * (attention + mlp) + D * CLASSES;
    const share = T / (T + 6 * D); // of the products in a block
    return { N, T, entries: T * T, bytes: 4 * T * T, embedding, projections, products, attention, model, share };
  }

  /* The same in words. */
  function facts(P, name, cost) {
    const { N, T, entries, bytes, embedding, projections, products, attention, model, share } = cost;
    return {
      "tokens": `N = ${SIZE}² / ${P}² = ${whole(N)}; with CLS N + 1 = ${whole(T)}`,
      "attention, one head": `(N + 1)² = ${whole(entries)} entries, ${memory(bytes)} in float32`,
      "patch embedding": `${millions(embedding)} multiply-accumulates`,
      "one attention layer":
        `${millions(attention)}: four projections ${millions(projections)}, tokens with tokens ${millions(products)}`,
      [`the whole ${name}/${P}`]: `${millions(model)}; tokens with tokens are ${percent(share)} of each block`,
    };
  }

  window.vitPatchesParts = { MODELS, copy, costs, facts, fly, strip };
})();
