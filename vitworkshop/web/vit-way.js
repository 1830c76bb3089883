/* <vit-way model="cifar10-photo" picture="cat">: one patch on its way through a Vision Transformer.

   A lab (vit-lab.js) whose forward pass keeps every tensor. The stages are that pass: picture, patches, tokens, each
   block, the pooled vector, the answer. One patch is followed through them (way-drawing.js shows how), and each number
   opens into the sum that made it (way-inside.js). */
window.vit.script("vit-lab.js").then(() => {
  "use strict";

  const {
    argmax, bars, button, h, keeps, linked, note, onArrows, perCent, percent, place, range, select, sentences, title, upper,
  } = window.vitExplorer;

  const VitLab = customElements.get("vit-lab");
  const PAUSE = 5500, MOTION = 700; // milliseconds of a step of Play, and of what moves then
  const MOST = 12; // steps of Play
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");
  const SPREADS = t("Below each stage stands how far its tokens have moved.");
  const TOOLS = {
    follow: [t("Follow"), t("Press a patch: it is followed.")],
    paint: [t("Paint grey"), t("A patch becomes grey. {SPREADS}", { SPREADS })],
    remove: [t("Rub out"), t("A patch's token is left out. {SPREADS}", { SPREADS })],
  };

  class VitWay extends VitLab {
    static style = `${VitLab.style}
      .telling { min-height: 4.35em; }
      .stages { display: flex; gap: 2px; list-style: none; margin: 0 0 0.7rem; padding: 0; }
      .stages li { flex: 1 1 0; min-width: 0; }
      .stages button { background: none; border: 0; border-radius: 0; border-top: 5px solid var(--rule);
        font-size: 0.76rem; line-height: 1.25; min-height: 24px; padding: 0.25rem 0; width: 100%; }
      .stages .passed button { border-color: color-mix(in srgb, var(--accent) 45%, var(--ground)); }
      .stages button[aria-current] { border-color: var(--accent); font-weight: 700; }
      .stages small { color: var(--warm); display: block; font-weight: 400; }
      @container (max-width: 560px) { .stages :is(span, small) { display: none; } .turns button { min-height: 44px; }
        .telling { min-height: 8.7em; } }
      .primary { background: var(--accent); border-color: var(--accent); color: var(--ground); font-weight: 600;
        padding-inline: 1.1rem; }
      .grid > .followed[aria-pressed] { box-shadow: inset 0 0 0 3px var(--warm), inset 0 0 0 4.5px #fff; z-index: 1; }
      .grid > .bare[aria-pressed] { box-shadow: none; }
      .part:has(> details) { margin-bottom: 0.8rem; }`;

    mark = "way";

    async build() {
      const files = ["photos.js", "lens.js", "way-steps.js", "way-drawing.js", "way-inside.js"];
      const picker = await this.stage("follow", ...files), { L } = this, D = this.model.config.embed_dim;
      Object.assign(this, { D, T: this.model.T ?? 1 + this.N, moved: 1, playing: null });
      this.stages = [["photo", t("Photo")], ["patches", t("Patches")], ["tokens", t("Tokens")],
        ...range(L).map((l) => ["block", t("Block {l}", { l }), l]),
        ["pool", this.readsCls ? "CLS" : t("Mean")], ...(this.model.classes.length ? [["answer", t("Answer")]] : [])].map(([kind, name, l]) => ({ kind, name, l }));
      [this.heading, this.words] = [title(), h("p", { class: "telling" })];
      this.steps = this.stages.map((_, at) => button("", () => this.step(at)));
      const list = h("ol", { class: "stages", "aria-label": t("Stages of the forward pass") },
        this.steps.map((one) => h("li", {}, one)));
      onArrows(list, (down, across) => this.step(this.state.stage + down + across, true));
      const turn = (by) => () => this.step(this.state.stage + by);
      [this.back, this.next] = [button(t("Back"), turn(-1)), button(t("Next"), turn(1))];
      this.play = button("", () => (this.playing ? this.pause() : this.start()));
      this.play.className = "primary";
      this.drawing = window.vitDrawing(this);
      const row = h("div", { class: "row turns" }, this.back, this.next, this.play);
      this.inside = window.vitInside(this);
      this.panels = [this.toolbox(), this.lens(), this.inside, this.foot()];
      // what may grow is below what is pressed
      this.view.append(this.heading, list, row, this.words, this.drawing.node, ...this.panels.map((panel) => panel.node), picker);
      this.follow();
    }

    fresh() {
      const patch = Math.floor((5 * this.n) / 8) * this.n + Math.floor(this.n / 2); // a little below the middle
      return { ...super.fresh(), stage: 0, patch, head: "mean", open: [] };
    }

    take(bytes, name, state = { ...this.fresh(), stage: this.state.stage, patch: this.state.patch }) {
      super.take(bytes, name, state);
      this.drawing.sharpen();
    }

    /* Keeps all tensors; `first` is the pass of the untouched picture. Nothing is computed twice. */
    pass(pixels, options) {
      const { order, painted, positions, removed, heads } = this.state;
      const asked = JSON.stringify([this.picture, order, painted, positions, removed, heads]);
      if (asked !== this.asked || this.picture === "your picture") this.result = this.model.trace(pixels, options);
      Object.assign(this, { asked, options });
      if (!this.touched) this.first = this.result;
      return this.result;
    }

    // What a stage holds

    get now() {
      return this.stages[this.state.stage];
    }

    get isPatch() {
      return this.state.patch >= 0 && this.state.patch < this.N;
    }

    /* Whether something was done to the picture or the model. */
    get touched() {
      return this.told().length > 0;
    }

    /* The tensor that a stage leaves, (T, D). */
    after({ kind, l }, { tensors } = this.result) {
      return tensors[{ block: `blocks.${l}`, pool: "norm", answer: "norm" }[kind] ?? "embed"];
    }

    /* Row t of a tensor, of a head if it has heads; a number opened. way-far.js has them from elsewhere. */
    row(name, t, wide, head = 0) {
      const start = (head * this.T + t) * wide;
      return this.result.tensors[name].subarray(start, start + wide);
    }

    opened(at) {
      return window.vitLens.open(this.model, this.result.tensors, ...at, this.options);
    }

    /* What the followed patch reads in a block, T weights: in one head, or in their mean. */
    reads(l) {
      const { T, heads, state: { head, patch } } = this, some = head === "mean" ? range(heads) : [head];
      const rows = some.map((one) => this.row(`blocks.${l}.attn.weights`, 1 + patch, T, one));
      return Float32Array.from(range(T), (s) => rows.reduce((sum, row) => sum + row[s] / rows.length, 0));
    }

    /* How far what was done has moved each token of a stage, as shares of its length before; null if nothing was. */
    changes(stage) {
      const { D, T, first, result, state: { removed } } = this;
      if (!this.touched || stage.kind === "photo" || stage.kind === "patches") return null;
      const [was, is] = [first, result].map((one) => this.after(stage, one));
      return range(T).map((token) => {
        let [apart, length] = [0, 0];
        for (let i = token * D; i < (token + 1) * D; i++) {
          apart += (was[i] - is[i]) ** 2;
          length += was[i] ** 2;
        }
        return removed.includes(token - 1) ? 0 : Math.sqrt(apart / length);
      });
    }

    // Words, of this picture

    where = (i) => t("the patch in {place}", { place: place(i, this.n) });

    called(token) {
      return token ? place(token - 1, this.n) : "CLS";
    }

    /* The tokens that are read most. */
    most(weights, few) {
      const name = (i) => (i - 1 === this.state.patch ? t("itself") : this.called(i));
      const best = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, few);
      return best.map((i) => t("{where} ({share})", { where: name(i), share: percent(weights[i]) })).join(t("; "));
    }

    tell(stage = this.now) {
      const { D, L, N, P, n, size, model: { classes }, readsCls, state: { patch, removed }, result: { probs } } = this;
      const one = this.where(patch), numbers = 3 * P * P;
      const share = (p) => t("{answer}, {share}", { answer: classes[argmax(p)], share: percent(Math.max(...p)) });
      const block = () => {
        const reads = removed.includes(patch) ? t("{patch}: its token was rubbed out.", { patch: upper(one) })
          : t("{patch}: it reads most from {most}.", { patch: upper(one), most: this.most(this.reads(stage.l), 3) });
        return sentences(!stage.l && t("In a block each token reads all tokens, then computes by itself."), reads,
          readsCls && patch >= 0 && stage.l === L - 1 ? t("What it becomes here nobody reads: the head reads CLS alone.") : classes.length
            && t("If the model answered now, it would say {answer}.", { answer: share(this.answers(stage.l + 1).whole) }));
      };
      return {
        photo: () => t("The model gets the photograph small: {size} × {size} pixels of three numbers, {all} in all. It will see "
          + "nothing else.", { size, all: (3 * size * size).toLocaleString("en") }),
        patches: () => t("The picture is cut into {n} × {n} = {N} patches of {P} × {P} pixels. Follow one of them, framed from "
          + "here to the end: {one} (both count from 0). It is {numbers} numbers.", { n, N, P, one, numbers }),
        tokens: () => t("Each patch becomes a token: a column of {D} numbers, each a sum of {numbers} products. Learned numbers "
          + "for its place are added: without them, a shuffled picture would look the same. One more token, CLS, stands in "
          + "front. It belongs to no patch, and can collect what the others hold.", { D, numbers }),
        block,
        pool: () => (readsCls ? t("One vector of {D} numbers speaks for the picture: the token CLS, which has read the patches.", { D })
          : t("One vector of {D} numbers speaks for the picture: the mean of the {n} patches' tokens, without CLS.", {
            D, n: N - removed.length })),
        answer: () => sentences(t("The head makes {n} sums of {D} products, one for each class, and softmax turns them into "
          + "shares of 100 %. It says {answer}.", { n: classes.length, D, answer: share(probs) }), this.remark(this.picture, probs)),
      }[stage.kind]();
    }

    // What the reader does

    press(i) {
      if (this.tool === "follow") this.set({ patch: i, open: [] });
      else super.press(i);
    }

    /* To a stage, as the reader wants it: Play ends. */
    step(stage, focus = false) {
      if (!this.stages[stage]) return;
      this.pause();
      this.move(stage);
      if (focus) this.steps[stage].focus();
    }

    /* Play: stage after stage, at most `MOST` of them. Where no motion is wanted, each press is one step. */
    start() {
      const last = this.stages.length - 1, apart = Math.ceil(this.L / (MOST - 5)), { stage } = this.state;
      const next = (at) => range(last + 1).find((k) => k > at && !((this.stages[k].l ?? 0) % apart));
      const on = (at) => {
        this.playing = at < last && !STILL.matches ? setTimeout(() => on(next(at)), PAUSE) : null;
        this.move(at);
      };
      on(stage === last ? 0 : next(stage));
    }

    pause() {
      clearTimeout(this.playing);
      this.playing = null;
      this.draw();
    }

    /* Shows a stage: patches move apart, columns and curves come. */
    move(stage) {
      const start = performance.now();
      this.moved = STILL.matches ? 1 : 0;
      const drawn = this.set({ stage, open: [] }, { keep: false });
      const frame = (now) => {
        this.moved = Math.min(1, (now - start) / MOTION);
        this.drawing.draw();
        if (this.moved < 1) requestAnimationFrame(frame);
      };
      if (!this.moved) Promise.resolve(drawn).then(() => requestAnimationFrame(frame));
    }

    toolbox() {
      const tools = this.choices(TOOLS);
      const names = [t("attention: mean of its heads"), ...range(this.heads).map((k) => t("attention head {k}", { k }))];
      const head = select(t("Whose reading is shown"), names, () =>
        this.set({ head: head.selectedIndex ? head.selectedIndex - 1 : "mean" }, { keep: false }));
      const group = { class: "row", role: "group", "aria-label": t("What a press on a patch does") };
      const all = h("div", group, ...this.tools.values(), head, this.undo, this.reset);
      const node = h("div", { class: "part" }, all, tools.hint);
      return { node, draw: () => {
        tools.draw();
        head.selectedIndex = this.state.head === "mean" ? 0 : 1 + this.state.head;
      } };
    }

    /* What the head would say if it read the tokens of this stage. */
    lens() {
      const { classes } = this.model, says = note(), shares = bars(classes), node = h("div", { class: "part" }, says, shares.node);
      return { node, draw: () => {
        const { kind, l = -1 } = this.now, pooled = kind === "pool", { result, state: { patch } } = this;
        node.hidden = !classes.length || !["tokens", "block", "pool"].includes(kind);
        if (node.hidden) return;
        const { whole, patches } = pooled ? { whole: result.probs } : this.answers(l + 1), alone = patches?.get(patch);
        shares.show(whole, result.probs);
        says.textContent = pooled ? t("What the head makes of this vector.")
          : sentences(t("If the model answered from these tokens (logit lens; ticks: its answer)."),
            alone && t("Of this patch alone: {answer}, {share}.", { answer: classes[argmax(alone)], share: percent(Math.max(...alone)) }),
            l < this.L - 1 && t("It has not learned to answer from here."));
      } };
    }

    // Links

    fromLink() {
      const state = super.fromLink(), fresh = this.fresh();
      if (!state) return null;
      const got = linked("way"), below = (i, most) => Number.isInteger(i) && i >= 0 && i < most;
      return {
        ...state, patch: below(got.patch, this.N) ? got.patch : fresh.patch,
        stage: below(got.stage, this.stages.length) ? got.stage : 0,
        head: below(got.head, this.heads) ? got.head : "mean",
        open: Array.isArray(got.open) ? got.open.slice(0, 40).filter((at) => window.vitInside.exists(this, at)) : [],
      };
    }

    /* The lines that print the opened number, or the followed token of this stage. */
    python() {
      const { lines, what } = this.setting(), { kind, l } = this.now, { patch } = this.state;
      const name = { photo: "patches", patches: "patches", tokens: "embed", block: `blocks.${l}` }[kind] ?? "norm";
      const shown = this.inside.python() ?? `["${name}"][0, ${name === "patches" ? patch : 1 + patch}]`;
      return [...lines, `trace = vl.trace(${["model", "vl.normalize(image)", ...what].join(", ")})`,
        `print(trace${shown})`, ""].join("\n");
    }

    // The view

    draw() {
      this.look();
      this.view.classList.toggle("erases", this.erases);
      const { now, state, stages } = this;
      this.heading.textContent = t("{n} of {all}: {name}", { n: state.stage + 1, all: stages.length, name: now.name });
      this.words.textContent = this.tell();
      this.steps.forEach((one, at) => {
        const changed = this.changes(stages[at]), far = changed && changed.reduce((a, b) => a + b, 0) / this.T;
        const moved = far ? `±${perCent(Math.round(100 * far))}` : "";
        const { l, name } = stages[at], short = l === undefined ? name : this.L > 8 ? String(l) : upper(t("block {l}", { l }));
        one.replaceChildren(h("span", {}, short), h("small", {}, moved));
        one.setAttribute("aria-label", moved ? t("{name}, moved by {share}", { name, share: percent(far) }) : name);
        one.parentNode.classList.toggle("passed", at < state.stage);
        one.toggleAttribute("aria-current", at === state.stage);
      });
      this.play.textContent = this.playing ? t("Pause") : state.stage === stages.length - 1 ? t("▶ Play again") : t("▶ Play");
      this.back.disabled = !state.stage;
      this.next.disabled = state.stage === stages.length - 1;
      this.undo.disabled = !this.past.length;
      this.reset.disabled = !this.touched;
      this.drawing.draw();
      this.panels.forEach((panel) => panel.draw());
      this.say(sentences(t("{heading}.", { heading: this.heading.textContent }), this.words.textContent));
    }
  }

  customElements.define("vit-way", VitWay);
});
