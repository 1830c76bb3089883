/* <vit-positions model="cifar10-plain" kind="learned" resample="6x10">: how alike positions are, and on another grid.

   Hover or focus a place: every place shows the cosine of the angle between their vectors, always on the scale from -1
   to 1. `kind` is "learned", "sincos2d" or "random"; `centred` subtracts the mean of all places; `resample` opens the
   second part, where the table is read on another grid, as `vl.resample_pos_embed` does it and in other ways. What it
   computes stands in resample.js, its colours in scales.js. */
(() => {
  "use strict";

  const { VitExplorer, define, grid, h, sides: columns } = window.vitExplorer;

  const LOOKS = ["similarity", "the row it thinks it is in", "the column it thinks it is in"];
  const NEAR = 0.51; // patches: taken for where it is, to half a patch

  /* -0.5 -> "−0.50", and 0 without a sign; `tight`: "−.50". */
  const number = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
  const tight = (value) => number(value).replace(/^(−?)0\./, "$1.");
  const place = (i, m) => `row ${Math.floor(i / m)}, column ${i % m}`;

  class VitPositions extends VitExplorer {
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
      .scale > i { border: 1px solid var(--rule); flex: 0 1 12rem; height: 0.8rem; }
      .facts { display: grid; gap: 0.1rem 0.8rem; grid-template-columns: fit-content(70%) 1fr; margin: 0 0 0.8rem; }
      .facts dd { font-variant-numeric: tabular-nums; margin: 0; }
      .verdict { font-size: 1.05rem; min-height: 3em; }
      summary { cursor: pointer; }
      details > .row { margin-top: 0.8rem; }
      label { align-items: center; display: inline-flex; flex-wrap: wrap; gap: 0.4rem; }
      label output { font-variant-numeric: tabular-nums; min-width: 1.3em; }
      label input[type="range"] { width: 7rem; }`;

    async build() {
      await Promise.all(["resample.js", "scales.js"].map((file) => window.vit.script(file)));
      const first = this.getAttribute("model") ?? "cifar10-modern", kind = this.getAttribute("kind");
      this.view.append(this.choices(first), ...this.similarities(), this.resampling());
      this.model = await window.vit.load(first);
      if (["sincos2d", "random"].includes(kind)) this.kind.value = kind;
      await this.change();
    }

    choices(first) {
      const names = [first, ...window.vit.models().filter((name) => name !== first)];
      this.kind = h("select", { "aria-label": "Positions", onchange: () => this.change() },
        names.map((name) => h("option", { value: name }, `learned, of ${name}`)),
        h("option", { value: "sincos2d" }, "sines and cosines"),
        h("option", { value: "random" }, "random, untrained"));
      this.again = h("button", { type: "button", onclick: () => this.change() }, "Draw again");
      this.centred = h("input", { type: "checkbox", onchange: () => this.remake() });
      this.centred.checked = this.hasAttribute("centred");
      const centred = h("label", {}, this.centred, "minus the mean of all places");
      return h("div", { class: "row" }, h("span", {}, "Positions"), this.kind, this.again, centred);
    }

    /* The first part: the places, the small maps of all of them, and what they have in common. */
    similarities() {
      this.verdict = h("p", { class: "verdict" });
      this.near = h("div");
      this.all = h("canvas", { role: "img", "aria-label": "The same map for every place, laid out like the places" });
      this.ring = h("i");
      const point = (event) => this.pointed(event);
      const all = h("div", { class: "all", onpointermove: point, onpointerdown: point }, this.all, this.ring);
      this.facts = h("dl", { class: "facts" });
      const sides = this.sides(
        ["How alike each place is to the framed one: hover, tap, or walk with the arrow keys", this.near],
        ["The same for every place at once, one small map each", all]);
      return [this.verdict, sides, this.legend("diverging", "−1", "cosine similarity", "1"), this.facts];
    }

    sides(...sides) {
      return columns(...sides.map(([note, ...rest]) => [h("p", { class: "note" }, note), ...rest]));
    }

    /* What the colours of a scale mean. */
    legend(scale, low, label, high) {
      const style = `background:${window.vitScales.gradient(scale)}`;
      return h("div", { class: "scale note" }, low, h("i", { style }), high, h("span", {}, label));
    }

    /* The second part: its controls, the new grid, and what one of its places takes from the old one. */
    resampling() {
      const { METHODS, LAYOUTS } = window.vitResample;
      const [, ...start] = (this.getAttribute("resample") ?? "").match(/^(\d+)x(\d+)$/) ?? ["", "12", "12"];
      const again = () => this.resample();
      const choice = (label, names) => h("select", { "aria-label": label, onchange: again },
        names.map((name) => h("option", {}, name)));
      this.sizes = start.map((value) => h("input", { type: "range", min: "1", max: "16", value, oninput: again }));
      this.shownSizes = this.sizes.map(() => h("output"));
      const size = (name, i) => h("label", {}, name, this.sizes[i], this.shownSizes[i]);
      this.method = choice("Method", Object.keys(METHODS));
      this.layout = choice("The table is taken as", Object.keys(LAYOUTS));
      this.look = choice("The new grid shows", LOOKS);
      this.worst = h("p");
      this.verdict2 = h("p", { class: "verdict" });
      this.wide = h("div");
      this.scale2 = h("div");
      this.taken = h("div", { class: "map", role: "img" });
      return h("details", { open: this.hasAttribute("resample") },
        h("summary", {}, "On another grid: resample the table"),
        h("div", { class: "row" }, ["rows", "columns"].map(size), h("label", {}, "by", this.method)),
        h("div", { class: "row" },
          h("label", {}, "The table is taken as", this.layout),
          h("label", {}, "show", this.look)),
        this.worst,
        this.verdict2,
        this.sides(
          ["The new grid: choose a place", this.wide, this.scale2],
          ["What it takes from each old place: weights, on the scale from −1 to 1. "
            + "Dot: where it is. Ring: where its weights point.", this.taken]));
    }

    /* Another kind of table: its vectors, without CLS, (N, D). */
    async change() {
      const { sincos2d, untrained } = window.vitResample, kind = this.kind.value;
      try {
        if (!["sincos2d", "random"].includes(kind)) this.model = await window.vit.load(kind);
      } catch (error) {
        this.verdict.textContent = error.message;
        return;
      }
      if (kind !== this.kind.value) return; // another one was chosen while this was loading
      const { config: { img_size, patch_size, embed_dim: D }, weights } = this.model, n = img_size / patch_size;
      this.again.hidden = kind !== "random";
      if (kind === "sincos2d") this.table = sincos2d([n, n], D);
      else this.table = kind === "random" ? untrained(n * n * D) : weights.pos_embed.subarray(D);
      if (n !== this.n) this.layOut(n);
      this.D = D;
      this.remake();
    }

    /* n x n places, the middle one chosen. */
    layOut(n) {
      Object.assign(this, { n, chosen: Math.floor(n / 2) * (n + 1) });
      const ask = (i) => this.ask(i), spans = Array.from({ length: n * n }, () => h("span"));
      this.places = grid(n, "A place of the grid", ask, ask);
      this.near.replaceChildren(this.places.node);
      this.taken.replaceChildren(...spans, h("i", { class: "true" }), h("i", { class: "points" }));
      this.taken.style = `--n:${n};--m:${n}`;
    }

    /* All that follows from the table: similarities, small maps with a gap between them, the second part. */
    remake() {
      const { n } = this, side = n * (n + 1) - 1, data = new ImageData(side, side);
      this.alike = window.vitResample.cosines(this.table, this.D, this.centred.checked);
      this.alike.forEach((row, i) => row.forEach((value, j) => {
        const y = Math.floor(i / n) * (n + 1) + Math.floor(j / n), x = (i % n) * (n + 1) + (j % n);
        data.data.set([...window.vitScales.colour("diverging", (value + 1) / 2), 255], 4 * (y * side + x));
      }));
      this.all.width = this.all.height = side;
      this.all.getContext("2d").putImageData(data, 0, 0);
      this.facts.replaceChildren(...this.relations().flatMap(([what, mean]) =>
        [h("dt", {}, what), h("dd", {}, number(mean))]));
      this.draw();
      this.resample();
    }

    /* Mean similarity of pairs of places, by how they lie to each other, as in chapter 03. */
    relations() {
      const { n, alike } = this;
      const relations = { // of two places in rows r and s, columns a and b
        "neighbours, left and right": (r, a, s, b) => r === s && Math.abs(a - b) === 1,
        "neighbours, above and below": (r, a, s, b) => a === b && Math.abs(r - s) === 1,
        "mirror image left to right, 3 or more apart":
          (r, a, s, b) => r === s && a + b === n - 1 && Math.abs(a - b) >= 3,
      };
      return Object.entries(relations).flatMap(([what, holds]) => {
        const related = (i, j) => holds(Math.floor(i / n), i % n, Math.floor(j / n), j % n);
        const values = alike.flatMap((row, i) => [...row].filter((_, j) => related(i, j)));
        return values.length ? [[what, values.reduce((a, b) => a + b) / values.length]] : [];
      });
    }

    /* The place whose small map the pointer is on. */
    pointed(event) {
      const { n } = this, box = this.all.getBoundingClientRect();
      const at = (length, all) => Math.min(n - 1, Math.max(0, Math.floor((length / all) * n)));
      this.ask(at(event.clientY - box.top, box.height) * n + at(event.clientX - box.left, box.width));
    }

    ask(i) {
      if (i === this.chosen) return;
      this.chosen = i;
      this.draw();
    }

    /* Names the places of a grid, m to a row, with their values, and frames the chosen one. */
    label(cells, values, m, chosen) {
      cells.forEach((cell, i) => {
        cell.setAttribute("aria-pressed", String(i === chosen));
        cell.setAttribute("aria-label", `${place(i, m)}: ${number(values[i])}`);
      });
    }

    draw() {
      const { n, chosen, places: { cells } } = this, row = this.alike[chosen];
      window.vitScales.tint(cells, row, n, tight);
      this.label(cells, row, n, chosen);
      const step = 100 / (n * (n + 1) - 1), width = (n + 0.4) * step; // in percent of all small maps
      const [top, left] = [Math.floor(chosen / n), chosen % n].map((at) => (at * (n + 1) - 0.2) * step);
      this.ring.style = `height:${width}%;width:${width}%;left:${left}%;top:${top}%`;
      const others = [...row.keys()].filter((i) => i !== chosen).sort((a, b) => row[b] - row[a]);
      const one = (i) => `${place(i, n)} (${number(row[i])})`;
      this.verdict.textContent = others.length
        ? `R${place(chosen, n).slice(1)} is most like ${one(others[0])}, least like ${one(others.at(-1))}.`
        : "One place has no other.";
      this.say(this.verdict.textContent);
    }

    /* The table on the new grid: all that does not depend on the chosen new place. */
    resample() {
      const { n, D } = this, { METHODS, LAYOUTS, apply, centres, cosines } = window.vitResample;
      const now = this.sizes.map((one) => Number(one.value)), [R, C] = now;
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
      if (String(now) !== String(this.now)) this.layOutNew(now);
      const most = Math.max(...this.off), label = this.look.value;
      const taken = most < NEAR ? "Every new place is taken for where it is, to half an old patch."
        : `Places are taken for others, up to ${number(most, 1)} patches away.`;
      this.worst.textContent = `${R} × ${C} places from ${n} × ${n}. ${taken}`;
      this.scale2.replaceChildren(label === "similarity" ? this.legend("diverging", "−1", "cosine similarity", "1")
        : this.legend("growing", "0", label, String(n - 1)));
      this.drawNew();
    }

    /* R x C new places, the middle one chosen. */
    layOutNew([R, C]) {
      Object.assign(this, { now: [R, C], spot: Math.floor(R / 2) * C + Math.floor(C / 2) });
      const choose = (i) => this.choose(i);
      this.fresh = grid(R, "A place of the new grid", choose, choose, C);
      this.wide.replaceChildren(this.fresh.node);
    }

    choose(i) {
      if (i === this.spot) return;
      this.spot = i;
      this.drawNew();
    }

    drawNew() {
      const { n, spot, now: [, C], fresh: { cells } } = this, { tint } = window.vitScales;
      const axis = LOOKS.indexOf(this.look.value) - 1;
      const values = axis < 0 ? this.alike2[spot] : this.says.map((one) => one[axis]);
      if (axis < 0) tint(cells, values, C, tight);
      else tint(cells, values, C, (value) => number(value, 1), "growing", 0, n - 1);
      this.label(cells, values, C, spot);
      const used = (weight) => Math.abs(weight) > 1e-9, weights = this.weights[spot];
      tint([...this.taken.querySelectorAll("span")], weights, n, (weight) => (used(weight) ? tight(weight) : ""));
      const at = ([row, col]) => `left:${(100 * (col + 0.5)) / n}%;top:${(100 * (row + 0.5)) / n}%`;
      this.taken.querySelector(".true").style = at(this.is[spot]);
      this.taken.querySelector(".points").style = at(this.says[spot]);
      this.verdict2.textContent = this.told(spot, weights.filter(used));
      this.taken.setAttribute("aria-label", this.verdict2.textContent);
      if (this.wide.matches(":hover, :focus-within")) this.say(this.verdict2.textContent);
      else if (this.shadowRoot.activeElement?.closest("details"))
        this.say(`${this.worst.textContent} ${this.verdict2.textContent}`);
    }

    /* In words: where a new place is, what it takes from where, and for where it is taken. */
    told(spot, weights) {
      const old = ([row, col]) => `row ${number(row)}, column ${number(col)}`;
      const [least, most] = [Math.min(...weights), Math.max(...weights)];
      const range = weights.length > 1 ? `s, with weights from ${number(least)} to ${number(most)}` : "";
      const wrong = `; they point to ${old(this.says[spot])}, ${number(this.off[spot], 1)} patches off`;
      return `New ${place(spot, this.now[1])} is at old ${old(this.is[spot])}. `
        + `It takes from ${weights.length} old place${range}${this.off[spot] < NEAR ? "" : wrong}.`;
    }
  }

  define("vit-positions", VitPositions);
})();
