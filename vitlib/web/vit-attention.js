/* <vit-attention model="cifar10-modern" picture="cat">: where one token of a ViT looks, in every layer and head.

   Hover or focus a place to ask as its token; the table chooses layer and head. All of it comes from the maps that one
   forward pass has left; rollout follows `vl.attention_rollout` (heads averaged, half of the identity added). */
(() => {
  "use strict";

  const { VitExplorer, bars, define, grid, h, paint, percent } = window.vitExplorer;

  class VitAttention extends VitExplorer {
    static style = `
      .maps { border-collapse: collapse; } .maps th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.3rem 0 0; text-align: right; }
      .maps thead th { text-align: center; } .maps td { padding: 2px; }
      .maps button { border-width: 2px; line-height: 0; min-height: 0; padding: 0; } .maps canvas { height: 44px; width: 44px; }
      .maps button[aria-pressed="true"] { background: var(--back); border-color: var(--accent); }
      dl.facts { display: grid; gap: 0.1rem 0.8rem; grid-template-columns: max-content 1fr; margin: 0 0 0.8rem; } dl.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
      .cls, .under, details { margin-top: 0.8rem; }
      .knobs { display: grid; gap: 0.4rem 0.8rem; grid-template-columns: max-content minmax(6rem, 14rem) 3rem; align-items: center; margin-bottom: 0.8rem; }`;

    async build() {
      const name = this.getAttribute("model") ?? "cifar10-modern";
      this.vit = await window.vit.load(name);
      const { img_size: size, patch_size: P, depth: L, num_heads: heads, global_pool } = this.vit.config;
      Object.assign(this, { size, n: size / P, L, heads, T: 1 + (size / P) ** 2 });
      // a model that reads the mean of the patches has a CLS token too, but nothing ever reads it
      this.query = global_pool === "token" ? 0 : 1 + Math.floor(this.n / 2) * this.n + Math.floor(this.n / 2);
      this.chosen = { layer: L - 1, head: "mean" };
      this.knobs = { gamma: 1, floor: 0, smooth: 0 };

      this.grid = grid(this.n, "Whose attention: a place of the picture", (i) => this.ask(1 + i), (i) => this.ask(1 + i));
      this.cls = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.ask(0) }, "Ask as CLS");
      this.over = h("canvas", { role: "img" });
      this.answer = bars(this.vit.classes, 3);
      this.facts = h("dl", { class: "facts" });
      this.table = this.selector();
      const knobs = h("details", {}, h("summary", {}, "Knobs that change the picture, not the model"), h("div", { class: "knobs" },
        ...this.knob("gamma", "gamma", 0.25, 3, 0.25), ...this.knob("floor", "floor", 0, 0.5, 0.05), ...this.knob("smooth", "smoothing", 0, 2, 0.25)));
      this.verdict = h("p", { class: "verdict" });
      const picker = await this.chooser(this.pictures(), (bytes) => this.take(bytes), size);
      const asks = h("p", { class: "note" }, "Who asks: hover, tap, or walk with the arrow keys"), reads = h("p", { class: "note" }, "What it reads: the larger a square, the more");
      this.view.append(picker, this.verdict,
        h("div", { class: "sides" }, h("div", {}, asks, this.grid.node, ...(global_pool === "token" ? [h("div", { class: "row cls" }, this.cls)] : [])), h("div", {}, reads, this.over)),
        h("div", { class: "sides under" }, h("div", {}, h("p", { class: "note" }, "Layers and heads: choose a map (all counted from 0)"), this.table), h("div", {}, this.facts, this.answer.node)), knobs);
      const first = this.getAttribute("picture") ?? "cat";
      this.take(window.vitExplorer.sample(first), first);
    }

    knob(key, label, min, max, step) {
      const shown = h("output", {}, String(this.knobs[key]));
      const input = h("input", { type: "range", min: String(min), max: String(max), step: String(step), value: String(this.knobs[key]), "aria-label": label, oninput: () => {
        this.knobs[key] = Number(input.value);
        shown.textContent = input.value;
        this.draw();
      } });
      return [h("span", {}, label), input, shown];
    }

    /* A row a layer, a column a head; then their mean, and the rollout up to the layer. */
    selector() {
      this.columns = [...Array(this.heads).keys(), "mean", "rollout"];
      const titles = this.columns.map((head) => (typeof head === "number" ? `head ${head}` : head));
      this.small = [];
      const rows = Array.from({ length: this.L }, (_, layer) => h("tr", {}, h("th", { scope: "row" }, `layer ${layer}`), this.columns.map((head, i) => {
        const canvas = h("canvas", {}), button = h("button", { type: "button", "aria-pressed": "false", "aria-label": `layer ${layer}, ${titles[i]}`, onclick: () => { this.chosen = { layer, head }; this.draw(); } }, canvas);
        this.small.push({ layer, head, canvas, button });
        return h("td", {}, button);
      })));
      return h("div", { class: "row", style: "overflow-x:auto" }, h("table", { class: "maps" }, h("thead", {}, h("tr", {}, h("td"), titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
    }

    take(bytes) {
      this.bytes = bytes;
      this.result = this.vit.run(window.vitPictures.standardise(bytes));
      this.rolled = this.rollout();
      paint(bytes, this.grid.canvas);
      this.answer.show(this.result.probs);
      this.draw();
    }

    /* Of each layer, (T, T): what each output token has taken from each input token, if paths only split by attention. */
    rollout() {
      const { T, L, heads } = this, rolled = [];
      for (let l = 0; l < L; l++) {
        const step = new Float32Array(T * T), out = new Float32Array(T * T);
        for (let i = 0; i < T * T; i++) {
          for (let head = 0; head < heads; head++) step[i] += this.result.attention[(l * heads + head) * T * T + i] / heads / 2;
          if (i % (T + 1) === 0) step[i] += 0.5;
        }
        if (!l) { rolled.push(step); continue; }
        for (let t = 0; t < T; t++)
          for (let s = 0; s < T; s++) {
            const weight = step[t * T + s];
            for (let i = 0; i < T; i++) out[t * T + i] += weight * rolled[l - 1][s * T + i];
          }
        rolled.push(out);
      }
      return rolled;
    }

    /* The row of the query in one map: T weights. */
    row({ layer, head }, query = this.query) {
      const { T, heads } = this, from = (which) => ((layer * heads + which) * T + query) * T;
      if (head === "rollout") return this.rolled[layer].subarray(query * T, (query + 1) * T);
      if (head !== "mean") return this.result.attention.subarray(from(head), from(head) + T);
      const mean = new Float32Array(T);
      for (let which = 0; which < heads; which++) for (let t = 0; t < T; t++) mean[t] += this.result.attention[from(which) + t] / heads;
      return mean;
    }

    ask(query) {
      if (query === this.query) return;
      this.query = query;
      this.draw();
    }

    /* Weights as they are drawn, from 0 to 1 of the largest: smoothed, raised to gamma, lifted to the floor. */
    shaped(weights) {
      const { n } = this, { gamma, floor, smooth } = this.knobs, out = new Float32Array(n * n);
      for (let i = 0; i < n * n; i++) {
        let sum = 0, all = 0;
        for (let j = 0; j < n * n; j++) {
          const far = (Math.floor(i / n) - Math.floor(j / n)) ** 2 + ((i % n) - (j % n)) ** 2;
          const share = smooth ? Math.exp(-far / (2 * smooth * smooth)) : Number(i === j);
          sum += share * weights[1 + j];
          all += share;
        }
        out[i] = sum / all;
      }
      const most = Math.max(...out);
      return out.map((value) => floor + (1 - floor) * (value / most) ** gamma);
    }

    /* Squares whose area is the weight, on the dimmed picture. */
    squares(canvas, weights, side, dim) {
      const { n } = this, context = canvas.getContext("2d"), cell = side / n;
      canvas.width = canvas.height = side;
      context.imageSmoothingEnabled = false;
      context.globalAlpha = dim;
      context.drawImage(this.grid.canvas, 0, 0, side, side);
      context.globalAlpha = 1;
      const css = getComputedStyle(this);
      context.fillStyle = css.getPropertyValue("--accent");
      context.strokeStyle = css.getPropertyValue("--ground");
      weights.forEach((weight, i) => {
        const width = cell * 0.92 * Math.sqrt(weight), x = ((i % n) + 0.5) * cell - width / 2, y = (Math.floor(i / n) + 0.5) * cell - width / 2;
        context.fillRect(x, y, width, width);
        context.strokeRect(x, y, width, width);
      });
    }

    draw() {
      const { n, T, query, chosen } = this, row = this.row(chosen);
      this.squares(this.over, this.shaped(row), 320, 0.45);
      for (const one of this.small) {
        this.squares(one.canvas, this.shaped(this.row(one)), 88, 0);
        one.button.setAttribute("aria-pressed", String(one.layer === chosen.layer && one.head === chosen.head));
      }
      this.grid.cells.forEach((cell, i) => cell.setAttribute("aria-pressed", String(1 + i === query)));
      this.cls.setAttribute("aria-pressed", String(query === 0));
      const name = query ? `row ${Math.floor((query - 1) / n)}, column ${(query - 1) % n}` : "CLS";
      const patches = [...row.subarray(1)].sort((a, b) => b - a), all = patches.reduce((a, b) => a + b, 0);
      let half = 0, k = 0;
      while (half < all / 2) half += patches[k++];
      const bits = -row.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
      let far = 0;
      for (let j = 0; j < n * n && query; j++)
        far += (row[1 + j] / all) * Math.hypot(Math.floor((query - 1) / n) - Math.floor(j / n), ((query - 1) % n) - (j % n));
      const map = typeof chosen.head === "number" ? `head ${chosen.head}` : chosen.head;
      this.verdict.textContent = `Layer ${chosen.layer}, ${map}: half of what ${query ? `the patch at ${name}` : name} reads comes from ${k} of ${n * n} patches.`;
      const facts = { "who asks": name, entropy: `${bits.toFixed(2)} of ${Math.log2(T).toFixed(2)} bits`, "mean distance": query ? `${(far * this.vit.config.patch_size).toFixed(1)} pixels` : "CLS has no place", "to CLS": percent(row[0]), "to itself": percent(row[query]) };
      this.facts.replaceChildren(...Object.entries(facts).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
      this.over.setAttribute("aria-label", this.verdict.textContent);
      this.say(this.verdict.textContent);
    }
  }

  define("vit-attention", VitAttention);
})();
