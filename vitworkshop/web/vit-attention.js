/* <vit-attention model="cifar10-modern" picture="cat">: where one token of a ViT looks, in every layer and head.

   Hover or focus a place to ask as its token; the table chooses layer and head. All of it comes from the maps that one
   forward pass has left; rollout follows `vl.attention_rollout` (heads averaged, half of the identity added). */
(() => {
  "use strict";

  const { VitExplorer, bars, define, grid, h, paint, percent, sample, sides, squares } = window.vitExplorer;
  const note = (text) => h("p", { class: "note" }, text);

  class VitAttention extends VitExplorer {
    static style = `
      .maps { border-collapse: collapse; } .maps td { padding: 2px; }
      .maps th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.3rem 0 0; text-align: right; }
      .maps thead th { text-align: center; }
      .maps button { border-width: 2px; line-height: 0; min-height: 0; padding: 0; }
      .maps button[aria-pressed="true"] { background: var(--back); border-color: var(--accent); }
      .maps canvas { height: 44px; width: 44px; }
      .scroll { overflow-x: auto; }
      .facts { display: grid; gap: 0.1rem 0.8rem; grid-template-columns: max-content 1fr; margin: 0 0 0.8rem; }
      .facts dd { font-variant-numeric: tabular-nums; margin: 0; }
      .cls, .sides + .sides, details { margin-top: 0.8rem; }
      summary { cursor: pointer; }
      .knobs { align-items: center; display: grid; gap: 0.4rem 0.8rem; margin: 0.6rem 0;
        grid-template-columns: max-content minmax(6rem, 14rem) 3rem; }`;

    async build() {
      this.name = this.getAttribute("model") ?? "cifar10-modern";
      this.model = await window.vit.load(this.name);
      for (const file of ["rankings.js", `scores-${this.name}.js`]) await window.vit.script(file);
      const { img_size: size, patch_size: P, depth: L, num_heads: heads, global_pool } = this.model.config;
      const token = global_pool === "token", n = size / P;
      Object.assign(this, { n, P, L, heads, size, N: n * n, T: 1 + n * n, chosen: { layer: L - 1, head: "mean" } });
      this.chance = window.vitRankings.shuffled(this.N);
      this.state = { order: [...Array(this.N).keys()], painted: [], removed: [], positions: null, heads: [] };
      this.query = token ? 0 : 1 + Math.floor(n / 2) * (n + 1); // where the head does not read CLS: the middle
      this.knobs = { gamma: 1, floor: 0, smoothing: 0 };

      this.held = null; // a press keeps who asks; without one the pointer asks as it passes
      const hold = (query) => {
        this.held = this.held === query ? null : query;
        this.ask(query);
      };
      const pass = (i, event) => { if (!event || this.held === null) this.ask(1 + i); };
      this.grid = grid(n, "Whose attention: a place of the picture", (i) => hold(1 + i), pass);
      this.cls = h("button", { type: "button", "aria-pressed": "false", onclick: () => hold(0) }, "Ask as CLS");
      this.over = h("canvas", { role: "img" });
      this.answer = bars(this.model.classes, 3);
      this.facts = h("dl", { class: "facts" });
      this.verdict = h("p", { class: "verdict" });
      const table = this.selector();
      const picker = await this.chooser(this.pictures(), (bytes, name) => this.take(bytes, name), size);
      const knobs = h("details", {}, h("summary", {}, "Knobs that change the drawing, not the model"),
        h("div", { class: "knobs" },
          this.knob("gamma", 0.25, 3, 0.25), this.knob("floor", 0, 0.5, 0.05), this.knob("smoothing", 0, 2, 0.25)));
      const explanation = this.explanation();
      this.view.append(picker, this.verdict,
        sides([note("Who asks: hover, press to keep, or walk with the arrow keys"), this.grid.node,
          token ? h("div", { class: "row cls" }, this.cls) : []].flat(),
        [note("What it reads: the larger a square, the more"), this.over]),
        sides([note("Layers and heads: choose a map (all counted from 0)"), table], [this.facts, this.answer.node]),
        explanation, knobs);
      const first = this.getAttribute("picture") ?? "cat";
      this.take(sample(first), first);
      this.mark(first);
    }

    /* The answer's explanation by a ranking of the patches, whoever asks above. */
    explanation() {
      const asked = h("span", { role: "status" });
      const tell = (k) => { asked.textContent = `asked ${k} of ${this.N} times`; };
      const { select, canvas, order, refresh } = window.vitRankings.rankingView(this, tell);
      this.explain = async () => {
        refresh();
        if (await order()) asked.textContent = "";
      };
      select.addEventListener("change", this.explain);
      const says = "The larger a square, the earlier its patch. Centre, variance and random ask no model.";
      return h("details", { open: "" }, h("summary", {}, "Rankings: what explains the answer?"),
        sides([note(says), h("div", { class: "row" }, h("span", {}, "By"), select, asked)], canvas));
    }

    knob(key, min, max, step) {
      const shown = h("output", {}, String(this.knobs[key]));
      const range = { type: "range", min: String(min), max: String(max), step: String(step), "aria-label": key };
      const input = h("input", { ...range, value: String(this.knobs[key]), oninput: () => {
        this.knobs[key] = Number(input.value);
        shown.textContent = input.value;
        this.draw();
      } });
      return [h("span", {}, key), input, shown];
    }

    /* A row a layer, a column a head; then their mean, and the rollout up to the layer. */
    selector() {
      const columns = [...Array(this.heads).keys(), "mean", "rollout"];
      const title = (head) => (typeof head === "number" ? `head ${head}` : head);
      this.small = [];
      const cell = (layer, head) => {
        const choose = () => {
          this.chosen = { layer, head };
          this.draw();
        };
        const canvas = h("canvas"), label = `layer ${layer}, ${title(head)}`;
        const looks = { type: "button", "aria-pressed": "false", "aria-label": label };
        const button = h("button", { ...looks, onclick: choose }, canvas);
        this.small.push({ layer, head, canvas, button });
        return h("td", {}, button);
      };
      const head = h("tr", {}, h("td"), columns.map((column) => h("th", { scope: "col" }, title(column))));
      const rows = Array.from({ length: this.L }, (_, layer) =>
        h("tr", {}, h("th", { scope: "row" }, `layer ${layer}`), columns.map((column) => cell(layer, column))));
      return h("div", { class: "scroll" }, h("table", { class: "maps" }, h("thead", {}, head), h("tbody", {}, rows)));
    }

    take(bytes, name) {
      Object.assign(this, { bytes, shown: bytes, picture: name });
      this.result = this.model.run(window.vitPictures.standardise(bytes));
      this.rolled = window.vitRankings.rollout(this.result.attention, this);
      paint(bytes, this.grid.canvas);
      this.answer.show(this.result.probs);
      this.draw();
      this.explain();
    }

    /* Of an untouched picture, what rankings ask of a lab. */
    picturesque() {
      return this.shown;
    }

    /* The row of the query in one map: T weights. */
    row({ layer, head }) {
      const { T, heads, query } = this, { attention } = this.result;
      if (head === "rollout") return this.rolled[layer].subarray(query * T, (query + 1) * T);
      const from = (which) => ((layer * heads + which) * T + query) * T;
      if (head !== "mean") return attention.subarray(from(head), from(head) + T);
      const mean = new Float32Array(T);
      for (let which = 0; which < heads; which++)
        for (let t = 0; t < T; t++) mean[t] += attention[from(which) + t] / heads;
      return mean;
    }

    ask(query) {
      if (query === this.query) return;
      this.query = query;
      this.draw();
    }

    /* Weights of patches as they are drawn, from 0 to 1: smoothed, over the largest, raised to gamma, lifted. */
    shaped(weights) {
      const { n } = this, { gamma, floor, smoothing } = this.knobs, out = new Float32Array(n * n);
      for (let i = 0; i < n * n; i++) {
        let sum = 0, all = 0;
        for (let j = 0; j < n * n; j++) {
          const far = (Math.floor(i / n) - Math.floor(j / n)) ** 2 + ((i % n) - (j % n)) ** 2;
          const share = smoothing ? Math.exp(-far / (2 * smoothing * smoothing)) : Number(i === j);
          sum += share * weights[1 + j];
          all += share;
        }
        out[i] = sum / all;
      }
      const most = Math.max(...out);
      return out.map((value) => floor + (1 - floor) * (value / most) ** gamma);
    }

    draw() {
      const { chosen, query } = this, row = this.row(chosen);
      squares(this.over, this, this.shaped(row), { side: 320, picture: this.grid.canvas, dim: 0.45 });
      for (const one of this.small) {
        squares(one.canvas, this, this.shaped(this.row(one)), { side: 88 });
        one.button.setAttribute("aria-pressed", String(one.layer === chosen.layer && one.head === chosen.head));
      }
      this.grid.cells.forEach((cell, i) => cell.setAttribute("aria-pressed", String(1 + i === query)));
      this.cls.setAttribute("aria-pressed", String(query === 0));
      this.tell(row);
    }

    /* The row in numbers and in words. */
    tell(row) {
      const { n, T, P, query, chosen } = this, at = query - 1, cell = (i) => [Math.floor(i / n), i % n];
      const name = query ? `row ${cell(at)[0]}, column ${cell(at)[1]}` : "CLS";
      const patches = [...row.subarray(1)].sort((a, b) => b - a), all = patches.reduce((a, b) => a + b, 0);
      let half = 0, k = 0, far = 0;
      while (half < all / 2) half += patches[k++];
      const bits = -row.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
      for (let j = 0; j < n * n && query; j++)
        far += (row[1 + j] / all) * Math.hypot(cell(at)[0] - cell(j)[0], cell(at)[1] - cell(j)[1]);
      const map = typeof chosen.head === "number" ? `head ${chosen.head}` : chosen.head;
      const who = query ? `the patch at ${name}` : name;
      this.verdict.textContent =
        `Layer ${chosen.layer}, ${map}: half of what ${who} reads of patches comes from ${k} of ${n * n}.`;
      const facts = {
        "who asks": name,
        entropy: `${bits.toFixed(2)} of ${Math.log2(T).toFixed(2)} bits`,
        "mean distance": query ? `${(far * P).toFixed(1)} pixels` : "CLS has no place",
        "to CLS": percent(row[0]),
        "to itself": percent(row[query]),
      };
      const lines = Object.entries(facts).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]);
      this.facts.replaceChildren(...lines);
      this.over.setAttribute("aria-label", this.verdict.textContent);
      this.say(this.verdict.textContent);
    }
  }

  define("vit-attention", VitAttention);
})();
