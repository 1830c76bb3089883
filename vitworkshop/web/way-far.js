/* <vit-way-far>: a <vit-way> whose model and trace lie in a worker (microscope-work.js); `given` says which.

   A state is shown when all that it shows has come: its pass, the rows of the followed patches, the opened number. What
   was asked for last counts; a pass that nobody waits for any more is stopped. */
window.vit.script("vit-way.js").then(() => customElements.whenDefined("vit-way")).then(() => {
  "use strict";

  const { decoded, note, sample } = window.vitExplorer;
  const NONE = { probs: [], tensors: {}, tokens: new Float32Array(0) };

  class VitWayFar extends customElements.get("vit-way") {
    static style = `${super.style}
      .stages li { flex: 1 1 auto; }`;

    mark = "far";
    asked = 0;
    stays = "";

    async loadModel() {
      await super.loadModel();
      this.L = this.model.L; // the question's block, too
    }

    get recipe() {
      return this.given.recipe;
    }

    /* A sample as the model gets it: from its larger photograph. */
    full(name, bytes) {
      const known = this.size !== 32 && window.vitPhotos[name];
      return !known ? bytes : this.read(new Blob([decoded(known)]));
    }

    read(file) {
      return window.vitPictures.bytes(file, this.size, window.vitRecipes.fitted(this.recipe));
    }

    async samples() {
      const all = await super.samples();
      return this.size !== 32 ? Object.fromEntries(Object.entries(all).filter(([name]) => window.vitPhotos[name])) : all;
    }

    knows() {
      return true; // which of a thousand classes a sample is of, nobody has written down
    }

    async follow() {
      if (this.picture) return;
      if (this.given.file) await this.own(this.given.file);
      else await this.choose(this.firstPicture, this.full(this.firstPicture, sample(this.firstPicture)));
    }

    take(bytes, name) {
      const kept = this.state ? { stage: Math.min(this.state.stage, this.stages.length - 1), patch: this.state.patch } : {};
      Object.assign(this, { bytes, picture: name, past: [], first: undefined, result: this.result ?? NONE, has: null });
      this.state = { ...this.fresh(), ...kept };
      this.drawing.sharpen();
      this.draw();
    }

    pass(pixels, options) {
      this.wanted = { pixels, options };
      return this.result;
    }

    /* What the state needs of the worker: its pass, then its rows, its answers, its number. */
    async fetch() {
      const { state, given: { ask } } = this, { order, painted, positions, removed, heads } = state;
      const has = JSON.stringify([order, painted, positions, removed, heads]);
      if (has !== this.has) {
        this.look();
        this.options = this.wanted.options;
        this.running?.stop();
        this.running = ask("run", this.wanted, (blocks) => this.given.tell(t("Block {blocks} of {L} …", { blocks, L: this.L })));
        const { tokens, probs, ...tensors } = await this.running;
        for (let l = 0; l <= this.L; l++)
          tensors[l ? `blocks.${l - 1}` : "embed"] = tokens.subarray(l * this.T * this.D, (l + 1) * this.T * this.D);
        this.result = { tokens, probs, tensors, rows: new Map(), answers: [], opened: new Map() };
        Object.assign(this, { has });
        if (!this.touched) Object.assign(this, { first: this.result, before: probs });
      }
      const { result: { answers, opened, rows, tensors } } = this, at = state.open.at(-1), layer = 1 + (this.now.l ?? -1);
      const keys = this.inside.names().filter((name) => !tensors[name]).flatMap((name) => [state.patch, state.other]
        .filter((one) => one !== null).map((one) => [name, /^patch/.test(name) ? one : 1 + one]));
      const missing = keys.filter(([name, t]) => !rows.has(`${name} ${t}`));
      const [got, said, number] = await Promise.all([
        missing.length ? ask("rows", { keys: missing }) : [],
        answers[layer] ?? ask("answers", { layer, removed: state.removed }),
        at && (opened.get(String(at)) ?? ask("opened", { at, options: this.options })),
      ]);
      missing.forEach(([name, t], i) => rows.set(`${name} ${t}`, got[i]));
      answers[layer] = said;
      if (at) opened.set(String(at), number);
    }

    /* Zeros where it has not come yet: something moves meanwhile. */
    row(name, t, wide, head = 0) {
      const { rows, tensors } = this.result, kept = rows?.get(`${name} ${t}`);
      if (tensors[name]) return super.row(name, t, wide, head);
      return kept ? kept.subarray(head * wide, (head + 1) * wide) : new Float32Array(wide);
    }

    opened(at) {
      return this.result.opened.get(String(at));
    }

    answers(layer) {
      const { each, whole } = this.result.answers[layer], K = whole.length;
      return { whole, patches: { get: (i) => each.subarray((1 + i) * K, (2 + i) * K) } };
    }

    async draw() {
      const mine = ++this.asked, { given, bytes } = this;
      try {
        await this.fetch();
        if (mine !== this.asked || bytes !== this.bytes) return;
        super.draw();
        given.tell("");
      } catch (error) {
        if (mine === this.asked) given.tell(error.message === "stopped" ? t("Stopped.") : t("{message}.", error));
      }
    }

    foot() {
      const { name, card: { parameters } } = this.model;
      return { node: note(t("{name}: {n} parameters.", { name, n: parameters.toLocaleString("en") })), draw() {} };
    }
  }

  customElements.define("vit-way-far", VitWayFar);
});
