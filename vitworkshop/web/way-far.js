/* <vit-way-far>: a <vit-way> whose model and trace lie in a worker (microscope-work.js); `given` says which.

   A state is shown when all that it shows has come: its pass, the rows of the followed patch, the opened number. What
   was asked for last counts; a pass that nobody waits for any more is stopped. */
Promise.all(["vit-way.js", "way-steps.js"].map(window.vit.script)).then(() => customElements.whenDefined("vit-way")).then(() => {
  "use strict";

  const { decoded, h, note, range, sample, sentences } = window.vitExplorer;
  const NONE = { probs: [], tensors: {}, tokens: new Float32Array(0) };

  Object.assign(window.vitSteps, {
    "attn.turned": ["turned query, key", "a pair of numbers, turned by an angle that tells the patch's place", "x cos α − y sin α, y cos α + x sin α",
      "model/posembed.py", "def turn(", "03-position#sec-03-rope"],
    placed: ["token before its norm", "what the patch holds, and where it is", "E x + b + position", "model/vit.py", "self.pos_embed(", "03-position#equation-eq-03-add"],
    mean: ["mean", "the mean of the patches' tokens, before its norm", "mean of z", "model/vit.py", ".mean(dim=1)", "07-cls-or-gap#equation-eq-07-gap"],
  });

  class VitWayFar extends customElements.get("vit-way") {
    static style = `${super.style}
      .stages li { flex: 1 1 auto; }`;

    mark = "far";
    asked = 0;
    stays = "";

    async loadModel() {
      await super.loadModel();
      this.L = this.model.L; // the question's block, too
      this.turns = this.model.config.pos_embed === "rope_unit";
    }

    // Tokens that are no patches can be followed, too: CLS or the question (-1), and registers (N and on)

    get asks() {
      return this.now.l === this.model.config.depth;
    }

    special(token) {
      const { depth, class_token } = this.model.config;
      if (token > this.N) return t("register {r}", { r: token - 1 - this.N });
      return token ? null : this.L > depth ? t("the question") : class_token === false ? t("an empty place") : "CLS";
    }

    called(token) {
      return this.special(token) ?? super.called(token);
    }

    where = (i) => this.special(1 + i) ?? t("the patch in {place}", { place: super.called(1 + i) });

    /* Who is followed, where no patch asks (the question's block), or nothing but patches is there. */
    settle() {
      const { state, now: { kind }, asks, isPatch } = this, early = kind === "photo" || kind === "patches";
      if (isPatch) this.last = state.patch;
      const none = state.patch < 0 && !asks && this.model.config.class_token === false;
      if (asks && state.patch !== -1) this.state = { ...state, patch: -1 };
      else if (!isPatch && (early || none)) this.state = { ...state, patch: this.last };
    }

    toolbox() {
      const made = super.toolbox(), { N, T, model: { config } } = this, tokens = [...(config.class_token === false ? [] : [0]), ...range(T - 1 - N).map((r) => 1 + N + r)];
      const who = h("select", { "aria-label": t("Who is followed"), onchange: () => this.set({ patch: Number(who.value) - 1, open: [] }) },
        h("option", {}), tokens.map((token) => h("option", { value: String(token) }, this.called(token))));
      if (tokens.length) made.node.firstChild.append(who);
      return { node: made.node, draw: () => {
        made.draw();
        who.options[0].value = String(1 + (this.isPatch ? this.state.patch : this.last));
        who.options[0].textContent = t("a patch");
        who.value = String(1 + this.state.patch);
      } };
    }

    tell(stage = this.now) {
      const { D, N, T, model: { config: { class_token, fc_norm, global_pool, pos_embed } } } = this, registers = T - 1 - N;
      if (this.asks && stage === this.now) return t("A learned question reads the tokens, as one more token would: most from {most}. What it has read, and "
        + "an MLP of that, is the picture's vector.", { most: this.most(this.reads(stage.l), 3) });
      if (stage.kind === "tokens") return sentences(t("Each patch becomes a token: a column of {D} numbers.", { D }), pos_embed === "learned"
        ? t("Learned numbers for its place are added.") : t("Its place is told later: queries and keys are turned by it."),
        class_token !== false && t("CLS stands in front; it belongs to no patch."),
        registers && t("At the end stand {registers} that have no place and that no head need read: registers.", { registers }));
      const pools = { map: t("What the question has read speaks for the picture."), token_avg: t("CLS and the mean of the patches' tokens speak for the picture, one after the other."),
        token_reg: t("CLS and the second token, made to learn from a teacher, speak for the picture, one after the other.") };
      if (stage.kind === "pool" && (pools[global_pool] || fc_norm)) return pools[global_pool] ?? t("The mean of the patches' tokens, normalised, speaks for the picture.");
      return super.tell(stage);
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
      const { config: { depth, global_pool } } = this.model, called = { map: t("Vector"), token_avg: t("CLS and mean"), token_reg: t("Two tokens") }[global_pool];
      for (const stage of this.stages) if (called && (stage.kind === "pool" || stage.l === depth)) stage.name = stage.kind === "pool" ? called : t("The question");
      if (this.picture) return;
      if (this.given.file) await this.own(this.given.file);
      else await this.choose(this.firstPicture, this.full(this.firstPicture, sample(this.firstPicture)));
    }

    take(bytes, name) {
      const kept = this.state ? { stage: Math.min(this.state.stage, this.stages.length - 1), patch: this.state.patch } : {};
      Object.assign(this, { bytes, picture: name, past: [], result: this.result ?? NONE, has: null });
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
        const { config: { class_token, depth } } = this.model;
        for (let l = 0; class_token === false && l <= depth; l++) tokens.fill(0, l * this.T * this.D, (l * this.T + 1) * this.D); // nobody is there
        for (let l = 0; l <= this.L; l++)
          tensors[l ? `blocks.${l - 1}` : "embed"] = tokens.subarray(l * this.T * this.D, (l + 1) * this.T * this.D);
        this.result = { tokens, probs, tensors, rows: new Map(), answers: [], opened: new Map() };
        Object.assign(this, { has });
        if (!this.touched) Object.assign(this, { first: this.result, before: probs });
      }
      const { result: { answers, opened, rows, tensors } } = this, at = state.open.at(-1), layer = 1 + (this.now.l ?? -1);
      const keys = this.inside.names().filter((name) => !tensors[name])
        .map((name) => [name, /^patch/.test(name) ? state.patch : 1 + state.patch]);
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
      return { whole, patches: { get: (i) => (each.length ? each.subarray((1 + i) * K, (2 + i) * K) : undefined) } };
    }

    async draw() {
      const mine = ++this.asked, { given, bytes } = this;
      this.settle();
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
