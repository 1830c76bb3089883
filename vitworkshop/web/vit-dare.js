/* <vit-dare>: how few patches, painted grey, change the answer? One's best, a search that shows its way, a link that
   dares a friend.

   A lab (vit-lab.js) with one tool. Of the book's pictures the search was made beforehand (`turning_patches` of
   export.py), so that its number can be promised: `window.vitTurns[model][picture]`. Of a reader's it is made here. */
window.vit.script("vit-lab.js").then(() => {
  "use strict";

  const { argmax, button, h, keeps, linked, note, range, sentences, sides } = window.vitExplorer;
  const FINGER = matchMedia("(pointer: coarse)").matches;

  class VitDare extends customElements.get("vit-lab") {
    async build() {
      const picker = await this.stage("paint", "turns");
      this.bests = {};
      this.record = keeps(note(), t("Your best on this picture: none yet."));
      this.searcher = button(t("Show me"), () => (this.searching ? this.set({}, { keep: false }) : this.search()));
      this.friendly = button(t("Dare a friend"), () => {
        history.replaceState(null, "", this.link({ ...this.fresh(), dare: this.bests[this.picture] }));
        this.give(location.href, t("The link for your friend is copied."), t("The link for your friend is in the address line."));
      });
      const row = h("div", { class: "row" }, this.undo, this.reset, this.searcher, this.friendly);
      this.view.append(this.said, sides([this.grid.node, this.record, row], [this.bars.node, picker]));
      this.follow();
    }

    take(bytes, name, ...rest) {
      if (!window.vitSamples[name]) delete this.bests[name]; // another picture of the reader's
      this.turns = window.vitTurns[this.name]?.[name];
      super.take(bytes, name, ...rest);
    }

    /* What is painted, and how many a friend has needed. */
    fromLink() {
      const state = super.fromLink(), needed = state && linked("lab").dare, { N, firstPicture: picture } = this;
      this.friend = Number.isInteger(needed) && needed > 0 && needed <= N ? { picture, needed } : null;
      return state && { ...this.fresh(), painted: state.painted };
    }

    get turned() {
      return argmax(this.result.probs) !== argmax(this.before);
    }

    /* A greedy search from the untouched picture, until the answer turns; what else is done to the picture ends it. */
    async search(painted = []) {
      if (!painted.length) this.past.push(this.state);
      const mine = (this.state = this.searching = { ...this.fresh(), painted, helped: true });
      this.draw();
      if (this.turned) this.turns = painted;
      if (this.turned || painted.length === this.N) return this.set({}, { keep: false });
      await new Promise((done) => setTimeout(done, 400)); // for the eye
      const next = this.turns?.[painted.length] ?? await this.strongest(mine);
      if (this.searching === mine) this.search([...painted, next]);
    }

    /* The patch whose grey lowers the share of the answer most: a forward pass for each, a pause after each. */
    async strongest(mine) {
      const { painted } = mine, k = argmax(this.before), falls = [];
      for (const i of range(this.N)) {
        if (this.searching !== mine) return null;
        this.record.textContent = t("Searching: patch {n} of {N} …", { n: i + 1, N: this.N });
        falls.push(painted.includes(i) ? -1 : 1 - this.look({ ...mine, painted: [...painted, i] }).probs[k]);
        await new Promise((done) => setTimeout(done));
      }
      return argmax(falls);
    }

    draw() {
      if (this.searching !== this.state) this.searching = null;
      super.draw();
      const { bests, picture, state: { painted: { length } } } = this;
      if (!length) this.state.helped = false; // what the search has painted is nobody's best
      if (this.turned && !this.state.helped) bests[picture] = Math.min(length, bests[picture] ?? length);
      this.record.textContent = bests[picture] ? t("Your best on this picture: {n}.", { n: bests[picture] })
        : t("Your best on this picture: none yet.");
      this.searcher.textContent = this.searching ? t("Stop") : t("Show me");
      this.friendly.disabled = !bests[picture] || !window.vitSamples[picture]; // no link holds a reader's picture
    }

    begin(picture) {
      const { friend, turns = window.vitTurns[this.name]?.[picture] } = this, k = turns?.length;
      const how = friend?.picture === picture ? t("a friend needed {needed}. Can you?", friend)
        : k > 1 ? t("{k} are enough. Which?", { k }) : k ? t("1 is enough. Which?") : null;
      return how ? FINGER ? t("Tap or stroke to paint patches grey until it changes its mind: {how}", { how })
        : t("Click or drag to paint patches grey until it changes its mind: {how}", { how })
        : FINGER ? t("Tap or stroke to paint patches grey until it changes its mind. How few are enough?")
          : t("Click or drag to paint patches grey until it changes its mind. How few are enough?");
    }

    tell() {
      if (!this.turned) return super.tell();
      const { turns, state: { helped, painted: { length } } } = this, n = turns?.length;
      const search = !n ? t("Does a search need fewer?") : length < n ? t("A search needs {n}: you beat it.", { n })
        : length > n ? t("A search needs {n}.", { n }) : t("A search needs {n}, too.", { n });
      return sentences(super.tell(), helped ? t("That was a search. Can you do with fewer?") : search);
    }
  }

  customElements.define("vit-dare", VitDare);
});
