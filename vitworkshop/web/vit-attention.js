/* <vit-attention model="cifar10-modern" picture="cat">: where one token of a ViT looks, in every block and head.

   Hover or focus a place to ask as its token. All of it comes from the maps that one forward pass has left. */
Promise.all(["rankings.js", "heads.js"].map(window.vit.script)).then(() => {
  "use strict";

  const { VitExplorer, bars, button, grid, h, keeps, note, paint, place, sample, setPressed, sides } = window.vitExplorer;

  class VitAttention extends VitExplorer {
    static style = `
      .scroll { overflow-x: auto; }
      .bars + p, .cls, .sides + div { margin-top: 0.8rem; }`;

    async build() {
      await this.loadModel();
      const { n, N, readsCls } = this;
      this.T = 1 + N;
      this.query = readsCls ? 0 : 1 + Math.floor(n / 2) * (n + 1); // where the head does not read CLS: the middle

      this.held = null; // a press keeps who asks; without one the pointer asks as it passes
      const hold = (query) => {
        this.held = this.held === query ? null : query;
        this.ask(query);
      };
      const pass = (i, event) => { if (!event || this.held === null) this.ask(1 + i); };
      this.grid = grid(n, t("Whose attention: a place of the picture"), (i) => hold(1 + i), pass);
      this.cls = button(t("Ask as CLS"), () => hold(0));
      this.answer = bars(this.model.classes, 3);
      const picker = await this.chooser(await this.samples());
      this.told = keeps(note(), ...this.pictures.map((one) => this.remark(one.title)));
      this.maps = window.vitHeads(() => this);
      this.view.append(picker, this.verdict,
        sides([note(t("Who asks: hover, press to keep, or walk with the arrow keys")), this.grid.node, readsCls ? h("div", { class: "row cls" }, this.cls) : []].flat(),
          [this.maps.big]), this.maps.node, note(t("Its answer")), this.answer.node, this.told);
      const first = this.firstPicture;
      this.show(first, sample(first));
    }

    take(bytes, name) {
      Object.assign(this, { bytes, shown: bytes, picture: name });
      this.result = this.model.run(window.vitPictures.standardise(bytes));
      paint(bytes, this.grid.canvas);
      this.answer.show(this.result.probs);
      this.told.textContent = this.remark(name, this.result.probs);
      this.draw();
    }

    ask(query) {
      if (query === this.query) return;
      this.query = query;
      this.draw();
    }

    draw() {
      const { heads, L, n, query, T, result: { attention } } = this, maps = new Float32Array(L * heads * T);
      for (let i = 0; i < L * heads; i++) maps.set(attention.subarray((i * T + query) * T, (i * T + query + 1) * T), i * T);
      this.maps.show({ maps });
      this.grid.cells.forEach((cell, i) => setPressed(cell, 1 + i === query));
      setPressed(this.cls, query === 0);
      this.verdict.textContent = t("Who asks: {who}.", { who: query ? t("the patch at {name}", { name: place(query - 1, n) }) : "CLS" });
      this.say(this.verdict.textContent);
    }
  }

  customElements.define("vit-attention", VitAttention);
});
