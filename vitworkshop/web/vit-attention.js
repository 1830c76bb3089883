/* <vit-attention model="cifar10-modern" picture="cat">: where one token of a ViT looks, in every layer and head.

   Hover or focus a place to ask as its token; the table chooses layer and head. All of it comes from the maps that one
   forward pass has left; rollout follows `vl.attention_rollout` (heads averaged, half of the identity added). */
(() => {
  "use strict";

  const {
    VitExplorer, bars, button, folded, grid, h, keeps, note, paint, pair, percent, place, range, sample, setPressed, sides,
    slider, squares, terms,
  } = window.vitExplorer;

  const title = (head) => (typeof head === "number" ? t("head {head}", { head }) : t(head)); // t("mean")

  class VitAttention extends VitExplorer {
    static style = `
      .maps { border-collapse: collapse; } .maps td { padding: 2px; }
      .maps th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.3rem 0 0; text-align: right; }
      .maps thead th { text-align: center; }
      .maps button { border-width: 2px; line-height: 0; min-height: 0; padding: 0; }
      .maps button[aria-pressed="true"] { background: var(--back); border-color: var(--accent); }
      .maps canvas { height: 44px; width: 44px; }
      .scroll { overflow-x: auto; }
      .bars + p, .cls, .facts, .sides + .sides, details { margin-top: 0.8rem; }
      .knobs { align-items: center; display: grid; gap: 0.4rem 0.8rem; margin: 0.6rem 0;
        grid-template-columns: max-content minmax(6rem, 14rem) 3rem; }`;

    async build() {
      await this.loadModel();
      await Promise.all(["rankings.js", `scores-${this.name}.js`].map(window.vit.script));
      const { n, N, L, readsCls } = this;
      Object.assign(this, { T: 1 + N, chosen: { layer: L - 1, head: "mean" }, state: window.vitRankings.untouched(N) });
      this.query = readsCls ? 0 : 1 + Math.floor(n / 2) * (n + 1); // where the head does not read CLS: the middle
      this.knobs = { gamma: 1, floor: 0, smoothing: 0 };

      this.held = null; // a press keeps who asks; without one the pointer asks as it passes
      const hold = (query) => {
        this.held = this.held === query ? null : query;
        this.ask(query);
      };
      const pass = (i, event) => { if (!event || this.held === null) this.ask(1 + i); };
      this.grid = grid(n, t("Whose attention: a place of the picture"), (i) => hold(1 + i), pass);
      this.cls = button(t("Ask as CLS"), () => hold(0));
      this.over = h("canvas", { role: "img" });
      this.answer = bars(this.model.classes, 3);
      this.facts = h("dl", { class: "facts" });
      const picker = await this.chooser(await this.samples());
      this.told = keeps(note(), ...this.pictures.map((one) => this.remark(one.title)));
      this.view.append(picker, this.verdict,
        pair([note(t("Who asks: hover, press to keep, or walk with the arrow keys")), this.grid.node,
          readsCls ? h("div", { class: "row cls" }, this.cls) : []].flat(),
        [note(t("What it reads: the larger a square, the more")), this.over]),
        sides([note(t("Layers and heads: choose a map (all counted from 0)")), this.table(), this.facts],
          [this.answer.node, this.told, this.explanation()]),
        folded(t("Knobs that change the drawing, not the model"), false, h("div", { class: "knobs" },
          this.knob("gamma", 0.25, 3, 0.25), this.knob("floor", 0, 0.5, 0.05), this.knob("smoothing", 0, 2, 0.25))));
      const first = this.firstPicture;
      this.show(first, sample(first));
    }

    /* The answer's explanation by a ranking of the patches, whoever asks above. */
    explanation() {
      const asked = h("span", { role: "status" });
      const tell = (k) => { asked.textContent = t("asked {k} of {N} times", { k, N: this.N }); };
      const { choice, canvas, order, refresh } = window.vitRankings.rankingView(this, tell);
      this.explain = async () => {
        refresh();
        if (await order()) asked.textContent = "";
      };
      choice.addEventListener("change", this.explain);
      const says = t("The larger a square, the earlier its patch. Centre, variance and random ask no model.");
      return folded(t("Rankings: what explains the answer?"), true,
        note(says), h("div", { class: "row" }, h("span", {}, t("By")), choice, asked), canvas);
    }

    knob(key, min, max, step) { // t("gamma") t("floor") t("smoothing")
      const shown = h("output", {}, String(this.knobs[key]));
      const input = slider(t(key), min, max, step, this.knobs[key], () => {
        this.knobs[key] = Number(input.value);
        shown.textContent = input.value;
        this.draw();
      });
      return [h("span", {}, t(key)), input, shown];
    }

    /* A row a layer, a column a head; then their mean, and the rollout up to the layer. */
    table() {
      const columns = [...range(this.heads), "mean", "rollout"];
      this.small = [];
      const cell = (layer, head) => {
        const canvas = h("canvas"), one = button(canvas, () => {
          this.chosen = { layer, head };
          this.draw();
        });
        one.setAttribute("aria-label", t("layer {layer}, {head}", { layer, head: title(head) }));
        this.small.push({ layer, head, canvas, button: one });
        return h("td", {}, one);
      };
      const head = h("tr", {}, h("td"), columns.map((column) => h("th", { scope: "col" }, title(column))));
      const rows = range(this.L).map((layer) =>
        h("tr", {}, h("th", { scope: "row" }, t("layer {layer}", { layer })), columns.map((column) => cell(layer, column))));
      return h("div", { class: "scroll" }, h("table", { class: "maps" }, h("thead", {}, head), h("tbody", {}, rows)));
    }

    take(bytes, name) {
      Object.assign(this, { bytes, shown: bytes, picture: name });
      this.result = this.model.run(window.vitPictures.standardise(bytes));
      this.rolled = window.vitRankings.rollout(this.result.attention, this);
      paint(bytes, this.grid.canvas);
      this.answer.show(this.result.probs);
      this.told.textContent = this.remark(name, this.result.probs);
      this.draw();
      this.explain();
    }

    /* The row of the query in one map: T weights. */
    row({ layer, head }) {
      const { T, heads, query } = this, { attention } = this.result;
      if (head === "rollout") return this.rolled[layer].subarray(query * T, (query + 1) * T);
      const from = (which) => ((layer * heads + which) * T + query) * T;
      if (head !== "mean") return attention.subarray(from(head), from(head) + T);
      const mean = new Float32Array(T);
      for (let which = 0; which < heads; which++)
        for (let i = 0; i < T; i++) mean[i] += attention[from(which) + i] / heads;
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
      squares(this.over, this, this.shaped(row));
      for (const one of this.small) {
        squares(one.canvas, this, this.shaped(this.row(one)), { side: 88, picture: null });
        setPressed(one.button, one.layer === chosen.layer && one.head === chosen.head);
      }
      this.grid.cells.forEach((cell, i) => setPressed(cell, 1 + i === query));
      setPressed(this.cls, query === 0);
      this.tell(row);
    }

    /* The row in numbers and in words. */
    tell(row) {
      const { n, N, T, P, query, chosen } = this, at = query - 1;
      const name = query ? place(at, n) : "CLS", who = query ? t("the patch at {name}", { name }) : name;
      const patches = row.subarray(1), all = patches.reduce((a, b) => a + b, 0);
      const bits = -row.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
      const away = (j) => Math.hypot(Math.floor(at / n) - Math.floor(j / n), (at % n) - (j % n));
      const far = patches.reduce((sum, weight, j) => sum + (weight / all) * away(j), 0);
      const few = window.vitRankings.halfOf(patches);
      this.verdict.textContent = t("Layer {layer}, {head}: half of what {who} reads of patches comes from {few} of {N}.", {
        layer: chosen.layer, head: title(chosen.head), who, few, N });
      this.facts.replaceChildren(...terms({
        [t("who asks")]: name,
        [t("entropy")]: t("{bits} of {most} bits", { bits: bits.toFixed(2), most: Math.log2(T).toFixed(2) }),
        [t("mean distance")]: query ? t("{n} pixels", { n: (far * P).toFixed(1) }) : t("CLS has no place"),
        [t("to CLS")]: percent(row[0]),
        [t("to itself")]: percent(row[query]),
      }));
      this.over.setAttribute("aria-label", this.verdict.textContent);
      this.say(this.verdict.textContent);
    }
  }

  customElements.define("vit-attention", VitAttention);
})();
