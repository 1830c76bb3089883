/* <vit-positions model="cifar10-plain" centred resample="6x10">: how alike positions are, and on another grid.

   Hover or focus a place: every place shows the cosine of the angle between their vectors, always on the scale from -1
   to 1. `centred` subtracts the mean of all places; `resample` opens the second part, where the table is read on
   another grid, as `vl.resample_pos_embed` does it and in other ways.

   A table is an array (N, D), a place after the other in reading order, without CLS. Weights are rows, one for each new
   place: what it takes from each old one. Chapter 04 derives them; where PyTorch rounds to float32, so do we. */
(() => {
  "use strict";

  const {
    VitExplorer, clamp, folded, grid, h, note, pair, place, pointer, range, select, sentences, setPressed, slider, upper,
  } = window.vitExplorer;

  const f32 = Math.fround;

  /* `vl.sincos_2d`: (N, D), [sin(row w), cos(row w), sin(column w), cos(column w)]. */
  function sincos2d([R, C], D) {
    const K = D / 4, table = new Float32Array(R * C * D);
    for (let n = 0; n < R * C; n++)
      [Math.floor(n / C), n % C].forEach((p, half) => {
        for (let k = 0; k < K; k++) {
          const angle = f32(p * f32(10000 ** f32(-k / K)));
          table[n * D + 2 * half * K + k] = Math.sin(angle);
          table[n * D + (2 * half + 1) * K + k] = Math.cos(angle);
        }
      });
    return table;
  }

  /* An untrained table: normal, standard deviation 0.02, by Box and Muller's rule. */
  const untrained = (size) => Float32Array.from({ length: size }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - Math.random())), angle = 2 * Math.PI * Math.random();
    return 0.02 * radius * Math.cos(angle);
  });

  // Weights on a line: (new, old), row i is what new place i takes from each old place

  const centres = (old, now) => Array.from({ length: now }, (_, i) => ((i + 0.5) * old) / now - 0.5);
  const triangle = (x) => Math.max(0, 1 - Math.abs(x));
  const keys = (a) => (x) => {
    const u = Math.abs(x);
    return u <= 1 ? 1 - (a + 3) * u ** 2 + (a + 2) * u ** 3 : u < 2 ? a * (u - 1) * (u - 2) ** 2 : 0;
  };
  /* What lies beyond the edge counts as the edge. */
  const repeated = (kernel) => (old, now) => centres(old, now).map((x) => {
    const row = new Float64Array(old);
    for (let j = Math.floor(x) - 2; j <= x + 3; j++) row[Math.min(old - 1, Math.max(0, j))] += kernel(j - x);
    return row;
  });
  /* Distances in new places where the grid shrinks; each row is divided by its sum. */
  const antialiased = (kernel) => (old, now) => centres(old, now).map((x) => {
    const wide = Math.max(old / now, 1), row = Float64Array.from({ length: old }, (_, j) => kernel((j - x) / wide));
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((weight) => weight / sum);
  });
  const nearest = (old, now) => centres(old, now).map((_, i) => {
    const row = new Float64Array(old);
    row[Math.min(old - 1, Math.floor(f32((i + 0.5) * f32(old / now))))] = 1;
    return row;
  });
  const METHODS = {
    "bicubic, antialiased": antialiased(keys(-0.5)),
    bicubic: repeated(keys(-0.75)),
    bilinear: repeated(triangle),
    nearest,
  }; // t("bicubic, antialiased") t("bicubic") t("bilinear") t("nearest")

  /* Weights on a grid: (N', N), the product of the weight down and the weight across. */
  const outer = (rows, cols) => Float64Array.from({ length: rows.length * cols.length }, (_, n) =>
    rows[Math.floor(n / cols.length)] * cols[n % cols.length]);
  const product = (down, across) => down.flatMap((rows) => across.map((cols) => outer(rows, cols)));
  const only = (place, N) => Float64Array.from({ length: N }, (_, n) => Number(n === place));
  const LAYOUTS = {
    [t("rows and columns")]: (line, old, now) => product(line(old[0], now[0]), line(old[1], now[1])),
    [t("one line")]: (line, old, now) => line(old[0] * old[1], now[0] * now[1]),
    [t("(columns, rows), swapped")]: (line, old, now) => product(line(old[0], now[1]), line(old[1], now[0])),
    [t("the first N, then again")]: (line, old, now) => {
      const N = old[0] * old[1];
      return Array.from({ length: now[0] * now[1] }, (_, i) => only(i % N, N));
    },
  };

  /* (N', N) times (N, D). */
  function apply(weights, table, D) {
    const out = new Float64Array(weights.length * D);
    weights.forEach((row, i) => row.forEach((weight, n) => {
      if (weight) for (let k = 0; k < D; k++) out[i * D + k] += weight * table[n * D + k];
    }));
    return Float32Array.from(out);
  }

  /* Cosines of all pairs of rows, (N, N); `centred`: after the mean of all rows is subtracted. */
  function cosines(table, D, centred) {
    const N = table.length / D, unit = Float64Array.from(table);
    for (let k = 0; k < D && centred; k++) {
      let mean = 0;
      for (let n = 0; n < N; n++) mean += table[n * D + k] / N;
      for (let n = 0; n < N; n++) unit[n * D + k] -= mean;
    }
    for (let n = 0; n < N; n++) {
      const row = unit.subarray(n * D, (n + 1) * D), length = Math.max(1e-12, Math.hypot(...row));
      row.forEach((value, k) => { row[k] = value / length; });
    }
    const alike = Array.from({ length: N }, () => new Float64Array(N));
    for (let i = 0; i < N; i++) for (let j = 0; j <= i; j++) {
      let dot = 0;
      for (let k = 0; k < D; k++) dot += unit[i * D + k] * unit[j * D + k];
      alike[i][j] = alike[j][i] = dot;
    }
    return alike;
  }

  // Numbers from -1 to 1 as colours: RdBu_r, as in `viz.heat_maps`

  const SCALE = "053061 2065ab 4393c3 90c4dd d1e5f0 f7f6f6 fddbc7 f3a481 d6604d b1182b 67001f".split(" ")
    .map((one) => one.match(/../g).map((pair) => parseInt(pair, 16)));

  function colour(value) {
    const at = clamp((value + 1) / 2, 0, 1) * (SCALE.length - 1), i = Math.min(SCALE.length - 2, Math.floor(at));
    return SCALE[i].map((from, k) => Math.round(from + (at - i) * (SCALE[i + 1][k] - from)));
  }

  /* Black or white letters, whichever stand out more from it (WCAG's luminance). */
  function ink(rgb) {
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
  }

  /* Values of places, m to a row, as colours, and as numbers where they fit. */
  function tint(cells, values, m, write = tight) {
    cells.forEach((cell, i) => {
      const rgb = colour(values[i]);
      cell.style.background = `rgb(${rgb})`;
      cell.style.color = ink(rgb);
      cell.style.fontSize = m > 8 ? "0.6rem" : "";
      cell.textContent = m <= 10 ? write(values[i]) : "";
    });
  }

  const NEAR = 0.51; // patches: taken for where it is, to half a patch

  /* -0.5 -> "−0.50", and 0 without a sign; `tight`: "−.50". */
  const number = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
  const tight = (value) => number(value).replace(/^(−?)0\./, "$1.");

  /* Shows values in a grid of places, names the places, and frames the chosen one. */
  function fill({ cells, m, chosen }, values) {
    tint(cells, values, m);
    cells.forEach((cell, i) => {
      setPressed(cell, i === chosen);
      cell.setAttribute("aria-label", t("{place}: {value}", { place: place(i, m), value: number(values[i]) }));
    });
  }

  class VitPositions extends VitExplorer {
    static METHODS = METHODS; // for tests
    static sincos2d = sincos2d;
    static style = `
      .grid > button, .map > span { align-items: center; display: flex; font-size: 0.7rem; justify-content: center;
        font-variant-numeric: tabular-nums; line-height: 1; overflow: hidden; }
      .grid > button[aria-pressed="true"] { box-shadow: inset 0 0 0 2px #fff, inset 0 0 0 4px #000; }
      .map { aspect-ratio: var(--m) / var(--n); display: grid; position: relative;
        grid-template: repeat(var(--n), 1fr) / repeat(var(--m), 1fr); }
      .map > span { align-items: start; border: 0.5px solid #0003; min-width: 0; padding-top: 2px; }
      .map > i { border-radius: 50%; box-sizing: border-box; position: absolute; }
      .map > .true { background: #000; border: 2px solid #fff; height: 10px; margin: -5px; width: 10px; }
      .map > .points { border: 1.5px solid #fff; box-shadow: 0 0 0 1.5px #000; height: 28px; margin: -14px;
        width: 28px; }
      .all { position: relative; }
      .all > i { border: 2px solid var(--warm); box-sizing: border-box; pointer-events: none; position: absolute; }
      .scale { align-items: center; display: flex; gap: 0.5rem; margin: 0.8rem 0; }
      .scale > span { flex: none; }
      .scale > i { border: 1px solid var(--rule); flex: 0 1 12rem; height: 0.8rem; }
      .verdict { font-size: 1.05rem; min-height: 3em; }
      details > .row { margin-top: 0.8rem; }
      label { align-items: center; display: inline-flex; flex-wrap: wrap; gap: 0.4rem; }
      label output { font-variant-numeric: tabular-nums; min-width: 1.3em; }
      label input[type="range"] { width: 7rem; }`;

    async build() {
      const first = this.getAttribute("model") ?? window.vit.first.model;
      this.view.append(this.choices(first), ...this.similarities(), this.resampling());
      this.model = await window.vit.load(first);
      await this.change();
    }

    choices(first) {
      const names = [first, ...window.vit.models().filter((name) => name !== first)];
      this.kind = h("select", { "aria-label": t("Positions"), onchange: () => this.change() },
        names.map((name) => h("option", { value: name }, t("learned, of {name}", { name }))),
        h("option", { value: "sincos2d" }, t("sines and cosines")),
        h("option", { value: "random" }, t("random, untrained")));
      this.centred = h("input", { type: "checkbox", onchange: () => this.remake() });
      this.centred.checked = this.hasAttribute("centred");
      const centred = h("label", {}, this.centred, t("minus the mean of all places"));
      return h("div", { class: "row" }, h("span", {}, t("Positions")), this.kind, centred);
    }

    /* The first part: the places, the small maps of all of them, and what they have in common. */
    similarities() {
      this.near = h("div");
      this.all = h("canvas", { role: "img", "aria-label": t("The same map for every place, laid out like the places") });
      this.ring = h("i");
      const point = (event) => { // asks for the place whose small map the pointer is on
        const [col, row] = pointer(event, this.all).map((share) => clamp(Math.floor(share * this.n), 0, this.n - 1));
        this.old.choose(row * this.n + col);
      };
      const all = h("div", { class: "all", onpointermove: point, onpointerdown: point }, this.all, this.ring);
      const maps = pair(
        [note(t("How alike each place is to the framed one: hover, tap, or walk with the arrow keys")), this.near, this.legend()],
        [note(t("The same for every place at once, one small map each")), all]);
      return [this.verdict, maps];
    }

    /* What the colours mean. */
    legend() {
      const colours = SCALE.map((rgb) => `rgb(${rgb})`).join(", ");
      const style = `background:linear-gradient(to right, ${colours})`;
      return h("div", { class: "scale note" }, "−1", h("i", { style }), "1", h("span", {}, t("cosine similarity")));
    }

    /* The second part: its controls, the new grid, and what one of its places takes from the old one. */
    resampling() {
      const [, ...start] = (this.getAttribute("resample") ?? "").match(/^(\d+)x(\d+)$/) ?? ["", "12", "12"];
      const again = () => this.resample(), label = (...inside) => h("label", {}, ...inside);
      const names = [t("rows"), t("columns")];
      this.sizes = names.map((name, i) => slider(name, 1, 16, 1, start[i], again));
      this.shownSizes = start.map(() => h("output"));
      const sizes = names.map((name, i) => label(name, this.sizes[i], this.shownSizes[i]));
      this.method = select(t("Method"), Object.keys(METHODS), again);
      this.layout = select(t("The table is taken as"), Object.keys(LAYOUTS), again);
      this.worst = h("p");
      this.verdict2 = h("p", { class: "verdict" });
      this.wide = h("div");
      this.taken = h("div", { class: "map", role: "img" });
      const weights = t("What it takes from each old place: weights, on the scale from −1 to 1. Dot: where it is. Ring: "
        + "where its weights point.");
      return folded(t("On another grid: resample the table"), this.hasAttribute("resample"),
        h("div", { class: "row" }, sizes, label(t("by"), this.method)),
        h("div", { class: "row" }, label(t("The table is taken as"), this.layout)),
        this.worst,
        this.verdict2,
        pair([note(t("The new grid: choose a place")), this.wide, this.legend()], [note(weights), this.taken]));
    }

    /* Another kind of table: its vectors, without CLS, (N, D). */
    async change() {
      const kind = this.kind.value, learned = !["sincos2d", "random"].includes(kind);
      try {
        if (learned) this.model = await window.vit.load(kind);
      } catch (error) {
        this.verdict.textContent = error.message;
        return;
      }
      if (kind !== this.kind.value) return; // another one was chosen while this was loading
      const { config: { img_size, patch_size, embed_dim: D }, weights } = this.model, n = img_size / patch_size;
      if (learned) this.table = weights.pos_embed.subarray(D);
      else this.table = kind === "random" ? untrained(n * n * D) : sincos2d([n, n], D);
      if (n !== this.n) this.layOut(n);
      this.D = D;
      this.remake();
    }

    /* n x m places to choose from, the middle one chosen; `draw` shows the choice. */
    places(n, m, label, draw) {
      const choose = (i) => {
        if (i === made.chosen) return;
        made.chosen = i;
        draw();
      };
      const made = { ...grid(n, label, choose, choose, m), choose, m };
      return Object.assign(made, { chosen: Math.floor(n / 2) * m + Math.floor(m / 2) });
    }

    layOut(n) {
      this.n = n;
      this.old = this.places(n, n, t("A place of the grid"), () => this.draw());
      this.near.replaceChildren(this.old.node);
      const spans = range(n * n).map(() => h("span"));
      this.taken.replaceChildren(...spans, h("i", { class: "true" }), h("i", { class: "points" }));
      this.taken.style = `--n:${n};--m:${n}`;
    }

    /* All that follows from the table: similarities, small maps with a gap between them, the second part. */
    remake() {
      const { n } = this, side = n * (n + 1) - 1, data = new ImageData(side, side);
      this.alike = cosines(this.table, this.D, this.centred.checked);
      this.alike.forEach((row, i) => row.forEach((value, j) => {
        const y = Math.floor(i / n) * (n + 1) + Math.floor(j / n), x = (i % n) * (n + 1) + (j % n);
        data.data.set([...colour(value), 255], 4 * (y * side + x));
      }));
      this.all.width = this.all.height = side;
      this.all.getContext("2d").putImageData(data, 0, 0);
      this.draw();
      this.resample();
    }

    draw() {
      const { n, old, old: { chosen } } = this, row = this.alike[chosen];
      fill(old, row);
      const step = 100 / (n * (n + 1) - 1), width = (n + 0.4) * step; // in percent of all small maps
      const [top, left] = [Math.floor(chosen / n), chosen % n].map((at) => (at * (n + 1) - 0.2) * step);
      this.ring.style = `height:${width}%;width:${width}%;left:${left}%;top:${top}%`;
      const others = [...row.keys()].filter((i) => i !== chosen).sort((a, b) => row[b] - row[a]);
      const one = (i) => t("{place} ({value})", { place: place(i, n), value: number(row[i]) });
      this.verdict.textContent = others.length
        ? t("{place} is most like {most}, least like {least}.", { place: upper(place(chosen, n)), most: one(others[0]),
          least: one(others.at(-1)) })
        : t("One place has no other.");
      this.say(this.verdict.textContent);
    }

    /* The table on the new grid: all that does not depend on the chosen new place. */
    resample() {
      const { n, D } = this, now = this.sizes.map((one) => Number(one.value)), [R, C] = now;
      this.shownSizes.forEach((one, i) => { one.textContent = String(now[i]); });
      this.weights = LAYOUTS[this.layout.value](METHODS[this.method.value], [n, n], now);
      this.resampled = apply(this.weights, this.table, D);
      this.alike2 = cosines(this.resampled, D, this.centred.checked);
      // where the weights say that each new place is, in old places; where it is; and how far off that is
      const mean = (weights, at) => weights.reduce((sum, weight, i) => sum + weight * at(i), 0);
      this.says = this.weights.map((row) => [mean(row, (i) => Math.floor(i / n)), mean(row, (i) => i % n)]);
      this.is = centres(n, R).flatMap((row) => centres(n, C).map((col) => [row, col]));
      const away = ([r, c], [s, d]) => Math.max(Math.abs(r - s), Math.abs(c - d));
      this.off = this.is.map((one, i) => away(one, this.says[i]));
      if (String(now) !== String(this.now)) {
        this.now = now;
        this.fresh = this.places(R, C, t("A place of the new grid"), () => this.drawNew());
        this.wide.replaceChildren(this.fresh.node);
      }
      const most = Math.max(...this.off);
      const taken = most < NEAR ? t("Every new place is taken for where it is, to half an old patch.")
        : t("Places are taken for others, up to {n} patches away.", { n: number(most, 1) });
      this.worst.textContent = sentences(t("{R} × {C} places from {n} × {n}.", { R, C, n }), taken);
      this.drawNew();
    }

    drawNew() {
      const { n, fresh, fresh: { chosen } } = this;
      fill(fresh, this.alike2[chosen]);
      const used = (weight) => Math.abs(weight) > 1e-9, weights = this.weights[chosen];
      tint([...this.taken.querySelectorAll("span")], weights, n, (weight) => (used(weight) ? tight(weight) : ""));
      const at = ([row, col]) => `left:${(100 * (col + 0.5)) / n}%;top:${(100 * (row + 0.5)) / n}%`;
      this.taken.querySelector(".true").style = at(this.is[chosen]);
      this.taken.querySelector(".points").style = at(this.says[chosen]);
      this.verdict2.textContent = this.told(chosen, weights.filter(used));
      this.taken.setAttribute("aria-label", this.verdict2.textContent);
      if (this.wide.matches(":hover, :focus-within")) this.say(this.verdict2.textContent);
      else if (this.shadowRoot.activeElement?.closest("details"))
        this.say(sentences(this.worst.textContent, this.verdict2.textContent));
    }

    /* In words: where a new place is, what it takes from where, and for where it is taken. */
    told(spot, weights) {
      const old = ([row, col]) => t("row {row}, column {column}", { row: number(row), column: number(col) });
      const [least, most] = [Math.min(...weights), Math.max(...weights)];
      const at = t("New {place} is at old {old}.", { place: place(spot, this.now[1]), old: old(this.is[spot]) });
      const takes = weights.length < 2 ? t("It takes from 1 old place") : t("It takes from {n} old places, with weights from {least} to {most}",
        { n: weights.length, least: number(least), most: number(most) });
      return sentences(at, this.off[spot] < NEAR ? t("{takes}.", { takes }) : t("{takes}; they point to {old}, {n} patches off.", {
        takes, old: old(this.says[spot]), n: number(this.off[spot], 1) }));
    }
  }

  customElements.define("vit-positions", VitPositions);
})();
