/* What the stages of <vit-way> look like: the picture, and right of it what it is to the model. `vitDrawing(way)` gives
   { node, draw, sharpen }; a number can be pressed in the pixels of a patch and in the tokens. */
(() => {
  "use strict";

  const {
    bars, clamp, clauses, decoded, h, note, paint, place, pointer, range, setPressed, sides, squares, written,
  } = window.vitExplorer;
  const SIDE = 448, FINE = 224, GAP = 3.5; // pixels: of the canvas, of the crisp picture, between patches
  const STYLE = `
    .tokens { cursor: crosshair; height: 15rem; position: relative; }
    .tokens canvas { height: 100%; }
    .tokens i { border: 2px solid var(--warm); bottom: -2px; pointer-events: none; position: absolute; top: -2px; }
    .pixels { display: grid; gap: 2px; grid-template-columns: repeat(var(--P), 1fr); }
    .pixels > * { align-content: center; aspect-ratio: 1; font-size: 0.72rem; line-height: 1.3; text-align: center; }`;

  /* A colour of the page as bytes. */
  function rgb(colour) {
    const context = h("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = colour.trim();
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }

  /* Numbers as colours, orange above zero and blue below; at(row, column) is where one stands among them. */
  function heat(canvas, element, numbers, rows, columns, at) {
    const css = getComputedStyle(element), data = new ImageData(columns, rows);
    const [warm, cold, ground] = ["--warm", "--accent", "--ground"].map((name) => rgb(css.getPropertyValue(name)));
    const most = 2.5 * Math.sqrt(numbers.reduce((sum, v) => sum + v * v, 0) / numbers.length) || 1;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const v = numbers[at(row, column)], share = Math.min(1, Math.abs(v) / most), to = v > 0 ? warm : cold;
        data.data.set([...ground.map((c, k) => c + share * (to[k] - c)), 255], 4 * (row * columns + column));
      }
    [canvas.width, canvas.height] = [columns, rows];
    canvas.getContext("2d").putImageData(data, 0, 0);
  }

  function drawing(way) {
    const left = note(), right = h("div"), mosaic = h("canvas"), small = h("canvas", { role: "img" });
    const what = note(), told = note(), canvas = h("canvas"), mine = h("i");
    const tokens = h("div", { class: "tokens", role: "img" }, canvas, mine);
    const node = sides([left, way.grid.node], [right]);
    node.append(h("style", {}, STYLE));
    let crisp = null;

    /* Token and number under the pointer. */
    const under = (event) => {
      const sizes = [way.T, way.D];
      return pointer(event, tokens).map((share, k) => clamp(Math.floor(share * sizes[k]), 0, sizes[k] - 1));
    };
    tokens.addEventListener("pointermove", (event) => {
      const [token, i] = under(event), number = way.after(way.now)[token * way.D + i];
      told.textContent = t("{token}, number {i}: {value}", { token: way.called(token), i,
        value: written(number) });
    });
    tokens.addEventListener("pointerleave", () => drawTokens());
    tokens.addEventListener("click", (event) => {
      const [token, i] = under(event);
      if (token || way.mark === "far") way.set({ patch: token - 1 }, { keep: false });
      way.inside?.open([{ tokens: "embed", pool: "norm" }[way.now.kind] ?? `blocks.${way.now.l}`, token, i, 0]);
    });

    /* The crisp picture: of a sample from photos.js, of the reader's from the file. */
    async function sharpen() {
      const { picture } = way, known = window.vitPhotos?.[picture];
      const file = known ? new Blob([decoded(known)]) : way.file;
      crisp = null;
      if (!file || way.size > FINE / 2 || (!known && window.vitSamples[picture])) return;
      const bytes = await window.vitPictures.bytes(file, FINE);
      if (picture !== way.picture) return;
      crisp = paint(bytes);
      draw();
    }

    /* Crisp, then cut into patches that stand apart, then with what the followed one reads, or what has changed. */
    function drawPicture() {
      const { grid, moved, n, now: { kind, l }, state } = way, changed = way.changes(way.now);
      paint(way.shown, mosaic);
      if (kind === "block" || (changed && kind === "tokens")) {
        const weights = Array.from(changed ?? way.reads(l)).slice(1, 1 + n * n), most = Math.max(...weights) || 1;
        squares(grid.canvas, way, weights.map((w) => (moved * w) / most), { side: SIDE, picture: mosaic });
        left.textContent = changed ? t("What has changed: the larger a square, the more.")
          : t("What it reads: the larger a square, the more.");
      } else {
        const from = kind === "photo" && crisp ? crisp : mosaic, part = from.width / n, cell = SIDE / n;
        const gap = { photo: 0, patches: GAP * moved }[kind] ?? GAP, context = grid.canvas.getContext("2d");
        grid.canvas.width = grid.canvas.height = SIDE;
        context.imageSmoothingEnabled = from === crisp;
        range(n * n).forEach((i) => {
          const [x, y, wide] = [i % n, Math.floor(i / n), cell - 2 * gap];
          context.drawImage(from, x * part, y * part, part, part, x * cell + gap, y * cell + gap, wide, wide);
        });
        left.textContent = kind === "photo" ? t("The picture") : t("The picture, as {n} patches", { n: n * n });
      }
      grid.cells.forEach((one, i) => {
        const role = kind === "photo" ? "bare" : i === state.patch ? "followed" : "";
        const did = state.removed.includes(i) ? t("rubbed out") : state.painted.includes(i) && t("grey");
        one.className = `${role}${state.removed.includes(i) ? " out" : ""}`;
        setPressed(one, role === "followed");
        one.setAttribute("aria-label", clauses([place(i, n), role === "followed" && t("followed"), did]));
      });
    }

    function pixels() {
      const { P, n, size, shown, state: { patch } } = way, at = (c, p) => shown[(c * size + Math.floor(patch / n) * P
        + Math.floor(p / P)) * size + (patch % n) * P + (p % P)];
      return h("div", { class: "pixels", style: `--P:${P}` }, range(P * P).map((p) => {
        const colour = range(3).map((c) => at(c, p)), [r, g, b] = colour, dark = 0.3 * r + 0.59 * g + 0.11 * b < 128;
        const lines = P > 4 ? [] : colour.flatMap((v, c) => (c ? [h("br"), String(v)] : [String(v)]));
        return h("div", { style: `background: rgb(${colour}); color: ${dark ? "#fff" : "#000"}` }, ...lines);
      }));
    }

    function drawRight() {
      const { D, T, now: { kind, l }, model: { classes } } = way, numbers = ["tokens", "block", "pool"].includes(kind);
      if (kind === "photo") {
        paint(way.shown, small).setAttribute("aria-label", t("The picture as {size} by {size} pixels", { size: way.size }));
        right.replaceChildren(note(t("What the model sees")), small);
      } else if (kind === "patches") {
        right.replaceChildren(note(t("The patch: red, green and blue of each pixel")), pixels());
      } else if (kind === "answer") {
        const all = bars(classes, 10);
        all.show(way.result.probs, way.touched ? way.before : undefined);
        right.replaceChildren(note(t("Its answer")), all.node);
      } else if (numbers && tokens.parentNode !== right) right.replaceChildren(what, tokens, told);
      if (!numbers) return;
      const when = { tokens: t("before the first block"), pool: t("after the last norm") }[kind] ?? t("after block {l}", { l });
      what.textContent = t("{T} tokens {when}: a column each, of {D} numbers", { T, when, D });
      tokens.setAttribute("aria-label", t("{what}, as colours; one below, as a table", { what: what.textContent }));
      drawTokens();
    }

    function drawTokens() {
      const { D, T, moved, now: { kind }, state: { patch, removed } } = way, wide = 100 / T;
      const shown = kind === "tokens" ? Math.ceil(moved * T) : T, numbers = way.after(way.now).slice();
      for (let k = 0; k < T; k++) if (k >= shown || removed.includes(k - 1)) numbers.fill(0, k * D, (k + 1) * D);
      heat(canvas, way, numbers, D, T, (i, k) => k * D + i);
      mine.style.cssText = `left:calc(${(1 + patch) * wide}% - 2px);width:calc(${wide}% + 4px)`;
      told.textContent = t("Orange: above zero; blue: below. Press a number to open it.");
    }

    function draw() {
      drawPicture();
      drawRight();
    }
    return { node, draw, sharpen };
  }

  window.vitDrawing = Object.assign(drawing, { heat });
})();
