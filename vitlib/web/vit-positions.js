/* <vit-positions model="cifar10-plain" kind="learned" resample="6x10">: how alike the positions are, and on another grid.

   Hover or focus a place: every place shows the cosine of the angle between their vectors, always on the scale from -1 to
   1. `kind` is "learned", "sincos2d" or "random"; `centred` subtracts the mean of all places; `resample` opens the second
   part, where the table is read on another grid, as `vl.resample_pos_embed` does it and in other ways. What it computes
   stands in resample.js. */
(() => {
  "use strict";

  const { VitExplorer, define, grid, h } = window.vitExplorer;
  const rgbs = (hexes) => hexes.map((hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  const DIVERGING = rgbs(["#053061", "#2065ab", "#4393c3", "#90c4dd", "#d1e5f0", "#f7f6f6", "#fddbc7", "#f3a481", "#d6604d", "#b1182b", "#67001f"]); // RdBu_r, as in `viz.heat_maps`
  const GROWING = rgbs(["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"]); // cividis

  /* The colour at a share from 0 to 1 of a scale, as [r, g, b]. */
  function colour(scale, share) {
    const at = Math.min(1, Math.max(0, share)) * (scale.length - 1), i = Math.min(scale.length - 2, Math.floor(at));
    const a = scale[i], b = scale[i + 1];
    return a.map((value, k) => Math.round(value + (at - i) * (b[k] - value)));
  }
  /* Black or white letters, whichever stand out more from it (WCAG's luminance). */
  function ink(rgb) {
    const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
  }
  const number = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
  const tight = (value) => number(value).replace(/^(−?)0\./, "$1.");
  const place = (i, m) => `row ${Math.floor(i / m)}, column ${i % m}`;

  let sincos2d, untrained, centres, METHODS, LAYOUTS, apply, cosines; // of resample.js

  class VitPositions extends VitExplorer {
    static style = `
      .grid > button, .map > span { align-items: center; display: flex; font-size: 0.7rem; font-variant-numeric: tabular-nums; justify-content: center; line-height: 1; overflow: hidden; }
      .grid > button[aria-pressed="true"] { box-shadow: inset 0 0 0 2px #fff, inset 0 0 0 4px #000; }
      .map { aspect-ratio: var(--m) / var(--n); display: grid; grid-template: repeat(var(--n), 1fr) / repeat(var(--m), 1fr); position: relative; }
      .map > span { align-items: start; border: 0.5px solid #0003; min-width: 0; padding-top: 2px; } .map > i { border-radius: 50%; box-sizing: border-box; position: absolute; }
      .map > .true { background: #000; border: 2px solid #fff; height: 10px; margin: -5px; width: 10px; } .map > .points { border: 1.5px solid #fff; box-shadow: 0 0 0 1.5px #000; height: 28px; margin: -14px; width: 28px; }
      .all { position: relative; } .all > i { border: 2px solid var(--warm); box-sizing: border-box; pointer-events: none; position: absolute; }
      .scale { align-items: center; display: flex; gap: 0.5rem; margin: 0.8rem 0; } .scale > i { flex: 0 1 12rem; height: 0.8rem; border: 1px solid var(--rule); }
      dl.facts { display: grid; gap: 0.1rem 0.8rem; grid-template-columns: fit-content(70%) 1fr; margin: 0 0 0.8rem; } dl.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
      .verdict { font-size: 1.05rem; min-height: 3em; } summary { cursor: pointer; } details > .row { margin-top: 0.8rem; }
      label { align-items: center; display: inline-flex; flex-wrap: wrap; gap: 0.4rem; } label output { min-width: 1.3em; font-variant-numeric: tabular-nums; } label input[type="range"] { width: 7rem; }`;

    async build() {
      if (!window.vitResample) await window.vit.script("resample.js");
      ({ sincos2d, untrained, centres, METHODS, LAYOUTS, apply, cosines } = window.vitResample);
      const first = this.getAttribute("model") ?? "cifar10-modern", names = [first, ...window.vit.models().filter((name) => name !== first)];
      this.kind = h("select", { "aria-label": "Positions", onchange: () => this.change() }, names.map((name) => h("option", { value: name }, `learned, of ${name}`)),
        h("option", { value: "sincos2d" }, "sines and cosines"), h("option", { value: "random" }, "random, untrained"));
      this.centred = h("input", { type: "checkbox", onchange: () => this.remake() });
      this.centred.checked = this.hasAttribute("centred");
      this.again = h("button", { type: "button", onclick: () => this.change() }, "Draw again");
      this.verdict = h("p", { class: "verdict" });
      this.near = h("div");
      this.all = h("canvas", { role: "img", "aria-label": "The same map for every place, laid out like the places" });
      this.ring = h("i");
      const all = h("div", { class: "all", onpointermove: (event) => this.pointed(event), onpointerdown: (event) => this.pointed(event) }, this.all, this.ring);
      this.facts = h("dl", { class: "facts" });
      this.view.append(h("div", { class: "row" }, h("span", {}, "Positions"), this.kind, this.again, h("label", {}, this.centred, "minus the mean of all places")), this.verdict,
        h("div", { class: "sides" }, h("div", {}, h("p", { class: "note" }, "How alike each place is to the framed one: hover, tap, or walk with the arrow keys"), this.near),
          h("div", {}, h("p", { class: "note" }, "The same for every place at once, one small map each"), all)), this.scale(DIVERGING, "−1", "cosine similarity", "1"), this.facts, this.resampling());
      this.model = await window.vit.load(first);
      const kind = this.getAttribute("kind");
      if (["sincos2d", "random"].includes(kind)) this.kind.value = kind;
      await this.change();
    }

    scale(colours, low, label, high) {
      return h("div", { class: "scale note" }, low, h("i", { style: `background:linear-gradient(to right, ${colours.map((rgb) => `rgb(${rgb})`).join(", ")})` }), high, h("span", {}, label));
    }

    /* The second part: its controls, the new grid, and what one of its places takes from the old one. */
    resampling() {
      const wanted = (this.getAttribute("resample") ?? "").match(/^(\d+)x(\d+)$/), start = wanted ? [wanted[1], wanted[2]] : ["12", "12"];
      const choice = (label, names) => h("select", { "aria-label": label, onchange: () => this.resample() }, names.map((name) => h("option", {}, name)));
      this.sizes = ["rows", "columns"].map((_, i) => h("input", { type: "range", min: "1", max: "16", value: start[i], oninput: () => this.resample() }));
      this.shownSizes = this.sizes.map(() => h("output"));
      this.method = choice("Method", Object.keys(METHODS));
      this.layout = choice("The table is taken as", Object.keys(LAYOUTS));
      this.look = choice("The new grid shows", ["similarity", "the row it thinks it is in", "the column it thinks it is in"]);
      this.verdict2 = h("p", { class: "verdict" });
      this.worst = h("p");
      this.wide = h("div");
      this.taken = h("div", { class: "map", role: "img" });
      this.scale2 = h("div");
      return h("details", { open: this.hasAttribute("resample") }, h("summary", {}, "On another grid: resample the table"),
        h("div", { class: "row" }, ["rows", "columns"].map((name, i) => h("label", {}, name, this.sizes[i], this.shownSizes[i])), h("label", {}, "by", this.method)),
        h("div", { class: "row" }, h("label", {}, "The table is taken as", this.layout), h("label", {}, "show", this.look)), this.worst, this.verdict2,
        h("div", { class: "sides" }, h("div", {}, h("p", { class: "note" }, "The new grid: choose a place"), this.wide, this.scale2),
          h("div", {}, h("p", { class: "note" }, "What it takes from each old place: weights, on the scale from −1 to 1. Dot: where it is. Ring: where its weights point."), this.taken)));
    }

    /* Another kind of table: its vectors, without CLS, (N, D). */
    async change() {
      const kind = this.kind.value;
      try {
        if (!["sincos2d", "random"].includes(kind)) this.model = await window.vit.load(kind);
      } catch (error) {
        this.verdict.textContent = error.message;
        return;
      }
      if (kind !== this.kind.value) return; // another one was chosen while this was loading
      const { img_size, patch_size, embed_dim: D } = this.model.config, n = img_size / patch_size;
      this.again.hidden = kind !== "random";
      this.table = kind === "sincos2d" ? sincos2d([n, n], D) : kind === "random" ? untrained(n * n * D) : this.model.weights.pos_embed.subarray(D);
      if (n !== this.n) {
        Object.assign(this, { n, D, chosen: Math.floor(n / 2) * n + Math.floor(n / 2) });
        this.places = grid(n, "A place of the grid", (i) => this.ask(i), (i) => this.ask(i));
        this.near.replaceChildren(this.places.node);
        this.taken.replaceChildren(...Array.from({ length: n * n }, () => h("span")), h("i", { class: "true" }), h("i", { class: "points" }));
        this.taken.style = `--n:${n};--m:${n}`;
      }
      this.D = D;
      this.remake();
    }

    remake() {
      const { n } = this;
      this.alike = cosines(this.table, this.D, this.centred.checked);
      const side = n * (n + 1) - 1, data = new ImageData(side, side);
      for (let i = 0; i < n * n; i++) for (let j = 0; j < n * n; j++) {
        const y = Math.floor(i / n) * (n + 1) + Math.floor(j / n), x = (i % n) * (n + 1) + (j % n);
        data.data.set([...colour(DIVERGING, (this.alike[i][j] + 1) / 2), 255], 4 * (y * side + x));
      }
      this.all.width = this.all.height = side;
      this.all.getContext("2d").putImageData(data, 0, 0);
      this.facts.replaceChildren(...Object.entries(this.relations()).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, number(value))]));
      this.draw();
      this.resample();
    }

    /* Mean similarity of pairs of places, by how they lie to each other, as in chapter 03. */
    relations() {
      const { n, alike } = this, sums = { "neighbours, left and right": [0, 0], "neighbours, above and below": [0, 0], "mirror image left to right, 3 or more apart": [0, 0] };
      const add = (name, value) => { sums[name][0] += value; sums[name][1] += 1; };
      for (let i = 0; i < n * n; i++) for (let j = 0; j < n * n; j++) {
        const down = Math.abs(Math.floor(i / n) - Math.floor(j / n)), across = Math.abs((i % n) - (j % n));
        if (!down && across === 1) add("neighbours, left and right", alike[i][j]);
        if (down === 1 && !across) add("neighbours, above and below", alike[i][j]);
        if (!down && across >= 3 && (i % n) + (j % n) === n - 1) add("mirror image left to right, 3 or more apart", alike[i][j]);
      }
      return Object.fromEntries(Object.entries(sums).filter(([, [, count]]) => count).map(([name, [sum, count]]) => [name, sum / count]));
    }

    pointed(event) {
      const box = this.all.getBoundingClientRect(), at = (x, start, length) => Math.min(this.n - 1, Math.max(0, Math.floor(((x - start) / length) * this.n)));
      this.ask(at(event.clientY, box.top, box.height) * this.n + at(event.clientX, box.left, box.width));
    }

    ask(i) {
      if (i === this.chosen) return;
      this.chosen = i;
      this.draw();
    }

    /* Values as colours, and as numbers where they fit. */
    tint(cells, values, m, { scale = DIVERGING, low = -1, high = 1, write = tight } = {}) {
      cells.forEach((cell, i) => {
        const rgb = colour(scale, high > low ? (values[i] - low) / (high - low) : 0.5);
        cell.style.background = `rgb(${rgb})`;
        cell.style.color = ink(rgb);
        cell.style.fontSize = m > 8 ? "0.6rem" : "";
        cell.textContent = m <= 10 ? write(values[i]) : "";
      });
    }

    draw() {
      const { n, chosen } = this, row = this.alike[chosen], others = [...row.keys()].filter((i) => i !== chosen).sort((a, b) => row[b] - row[a]), name = place(chosen, n);
      this.tint(this.places.cells, row, n);
      this.places.cells.forEach((cell, i) => {
        cell.setAttribute("aria-pressed", String(i === chosen));
        cell.setAttribute("aria-label", `${place(i, n)}: ${number(row[i])}`);
      });
      const step = 100 / (n * (n + 1) - 1), [top, left] = [Math.floor(chosen / n), chosen % n].map((at) => at * (n + 1) * step);
      this.ring.style = `height:${(n + 0.4) * step}%;width:${(n + 0.4) * step}%;left:${left - 0.2 * step}%;top:${top - 0.2 * step}%`;
      const one = (i) => `${place(i, n)} (${number(row[i])})`;
      this.verdict.textContent = others.length ? `${name[0].toUpperCase()}${name.slice(1)} is most like ${one(others[0])}, least like ${one(others.at(-1))}.` : "One place has no other.";
      this.say(this.verdict.textContent);
    }

    /* The table on the new grid: all that does not depend on the chosen new place. */
    resample() {
      const { n, D } = this, now = this.sizes.map((one) => Number(one.value)), [R, C] = now;
      this.shownSizes.forEach((one, i) => { one.textContent = String(now[i]); });
      this.weights = LAYOUTS[this.layout.value](METHODS[this.method.value], [n, n], now);
      this.resampled = apply(this.weights, this.table, D);
      this.alike2 = cosines(this.resampled, D, this.centred.checked);
      // where the weights say that each new place is, in old places, and where it is
      this.says = this.weights.map((row) => row.reduce(([r, c], weight, i) => [r + weight * Math.floor(i / n), c + weight * (i % n)], [0, 0]));
      const [down, across] = now.map((size) => centres(n, size));
      this.is = down.flatMap((r) => across.map((c) => [r, c]));
      this.off = this.says.map((one, i) => Math.max(Math.abs(one[0] - this.is[i][0]), Math.abs(one[1] - this.is[i][1])));
      if (String(now) !== String(this.now)) {
        this.now = now;
        this.spot = Math.floor(R / 2) * C + Math.floor(C / 2);
        this.fresh = grid(R, "A place of the new grid", (i) => this.choose(i), (i) => this.choose(i), C);
        this.wide.replaceChildren(this.fresh.node);
      }
      const most = Math.max(...this.off), label = this.look.value;
      this.worst.textContent = `${R} × ${C} places from ${n} × ${n}. ${most < 0.51 ? "Every new place is taken for where it is, to half an old patch." : `Places are taken for others, up to ${number(most, 1)} patches away.`}`;
      this.scale2.replaceChildren(label === "similarity" ? this.scale(DIVERGING, "−1", "cosine similarity", "1") : this.scale(GROWING, "0", label, String(n - 1)));
      this.drawNew();
    }

    choose(i) {
      if (i === this.spot) return;
      this.spot = i;
      this.drawNew();
    }

    drawNew() {
      const { n, spot, now: [, C] } = this, axis = ["the row it thinks it is in", "the column it thinks it is in"].indexOf(this.look.value);
      const values = axis < 0 ? this.alike2[spot] : this.says.map((one) => one[axis]), name = place(spot, C);
      this.tint(this.fresh.cells, values, C, axis < 0 ? {} : { scale: GROWING, low: 0, high: n - 1, write: (value) => number(value, 1) });
      this.fresh.cells.forEach((cell, i) => {
        cell.setAttribute("aria-pressed", String(i === spot));
        cell.setAttribute("aria-label", `${place(i, C)}: ${number(values[i])}`);
      });
      const weights = this.weights[spot], used = [...weights].filter((weight) => Math.abs(weight) > 1e-9);
      this.tint([...this.taken.querySelectorAll("span")], weights, n, { write: (weight) => (Math.abs(weight) > 1e-9 ? tight(weight) : "") });
      const at = ([row, col]) => `left:${(100 * (col + 0.5)) / n}%;top:${(100 * (row + 0.5)) / n}%`, old = ([row, col]) => `row ${number(row)}, column ${number(col)}`;
      this.taken.querySelector(".true").style = at(this.is[spot]);
      this.taken.querySelector(".points").style = at(this.says[spot]);
      const right = this.off[spot] < 0.51, most = Math.max(...used), least = Math.min(...used);
      this.verdict2.textContent = `New ${name} is at old ${old(this.is[spot])}. It takes from ${used.length} old place${used.length > 1 ? `s, with weights from ${number(least)} to ${number(most)}` : ""}${right ? "" : `; they point to ${old(this.says[spot])}, ${number(this.off[spot], 1)} patches off`}.`;
      this.taken.setAttribute("aria-label", this.verdict2.textContent);
      if (this.wide.matches(":hover, :focus-within")) this.say(this.verdict2.textContent);
      else if (this.shadowRoot.activeElement?.closest("details")) this.say(`${this.worst.textContent} ${this.verdict2.textContent}`);
    }
  }

  define("vit-positions", VitPositions);
})();
