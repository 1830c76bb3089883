/* <vit-way model="cifar10-photo" picture="cat" brief>: one patch on its way through a Vision Transformer.

   The stages are the forward pass: photograph, patches, tokens, each block, the pooled vector, the answer. One patch is
   followed through all of them; every number of a stage opens into the sum that made it (way-inside.js). Two states:
   `trace` is of the picture as it is now, `first` of the picture untouched. With `brief`, only the stages, to play. */
(() => {
  "use strict";

  const {
    VitExplorer, argmax, bars, button, copied, folded, grid, h, keeps, linked, note, onArrows, paint, percent, place,
    pointer, range, sample, select, setPressed, sides, squares,
  } = window.vitExplorer;

  const PAUSE = 5500, MOVE = 700; // milliseconds of a step of Play, and of its motion
  const MOST = 12; // steps of Play
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");
  const TOOLS = {
    follow: ["Follow", "Press a patch: it is followed."],
    compare: ["Compare", "Press a second patch: its numbers stand below those of the first."],
    paint: ["Paint grey", "Press a patch: it stays and becomes grey. The row of stages says how far the change has come."],
    remove: ["Rub out", "Press a patch: its token is left out. The row of stages says how far the change has come."],
  };

  class VitWay extends VitExplorer {
    static style = `
      .says { min-height: 3em; }
      .part { margin-top: 0.9rem; }
      .stages { display: flex; gap: 3px; list-style: none; margin: 0 0 0.7rem; padding: 0; }
      .stages li { flex: 1 1 0; min-width: 0; }
      .stages button { background: none; border: 0; border-radius: 0; border-top: 5px solid var(--rule); font-size: 0.76rem;
        line-height: 1.25; padding: 0.25rem 0; width: 100%; }
      .stages button[aria-current] { background: none; border-color: var(--accent); color: inherit; font-weight: 700; }
      .stages .passed button { border-color: color-mix(in srgb, var(--accent) 45%, var(--ground)); }
      .stages small { color: var(--warm); display: block; font-weight: 400; }
      @container (max-width: 560px) { .stages :is(span, small) { display: none; } .says { min-height: 6em; } }
      .primary { background: var(--accent); border-color: var(--accent); color: var(--ground); font-weight: 600;
        padding-inline: 1.1rem; }
      .grid > .followed[aria-pressed] { box-shadow: inset 0 0 0 3px var(--warm), inset 0 0 0 4.5px #fff; z-index: 1; }
      .grid > .other[aria-pressed] { box-shadow: inset 0 0 0 3px var(--accent), inset 0 0 0 4.5px #fff; z-index: 1; }
      .grid > .photo[aria-pressed] { box-shadow: none; }
      .grid > .out { background: repeating-linear-gradient(45deg, var(--ground) 0 4px, var(--rule) 4px 6px); }
      .tokens { cursor: crosshair; height: 15rem; position: relative; }
      .tokens canvas { height: 100%; }
      .tokens i { border: 2px solid var(--warm); bottom: -2px; pointer-events: none; position: absolute; top: -2px; }
      .tokens i.other { border-color: var(--accent); }
      .arcs { height: 3rem; image-rendering: auto; }
      .value { font-variant-numeric: tabular-nums; }
      .note.value { min-height: 1.5em; }
      .patch { display: grid; gap: 2px; grid-template-columns: repeat(var(--P), 1fr); }
      .patch button { aspect-ratio: 1; border: 0; border-radius: 2px; font-size: 0.72rem; line-height: 1.3; padding: 0;
        font-variant-numeric: tabular-nums; min-height: 0; }
      .what { color: var(--soft); font-size: 0.88rem; margin: 0 0 0.3rem; }`;

    async build() {
      await this.loadModel();
      await Promise.all(["pictures.js", "lens.js", "way-steps.js", "way-inside.js"].map(window.vit.script));
      await window.vit.script("photos.js").catch(() => {}); // a notebook's frame has none
      const { model: { config }, L, n, N, P, size } = this;
      Object.assign(this, {
        brief: this.hasAttribute("brief"), D: config.embed_dim, T: 1 + N, tool: "follow", moved: 1, playing: null,
        pixels: 3 * P * P, mosaic: h("canvas"), crisp: null, first: null,
      });
      this.stages = [["photo", "Photo"], ["patches", "Patches"], ["tokens", "Tokens"],
        ...range(L).map((l) => ["block", `Block ${l}`, l]),
        ["pool", this.readsCls ? "CLS" : "Mean"], ["answer", "Answer"]].map(([kind, name, l]) => ({ kind, name, l }));
      this.heading = h("h3");
      this.says = h("p", { class: "says" });
      this.steps = this.stages.map((_, at) => button("", () => this.step(at)));
      const list = h("ol", { class: "stages", "aria-label": "Stages of the forward pass" },
        this.steps.map((one) => h("li", {}, one)));
      onArrows(list, (down, across) => this.step(this.state.stage + down + across, true));
      this.play = button("", () => {
        if (!this.playing) return void this.start();
        this.pause();
        this.draw();
      });
      this.play.className = "primary";
      [this.back, this.next] = [button("Back", () => this.step(this.state.stage - 1)),
        button("Next", () => this.step(this.state.stage + 1))];
      this.grid = grid(n, `The picture: ${n} by ${n} patches`, (i) => this.press(i));
      this.left = note();
      this.right = h("div");
      this.tokens = this.matrix();
      this.bars = bars(this.model.classes, this.brief ? 3 : 5);
      this.lens = note();
      const row = h("div", { class: "row" }, this.play, this.back, this.next,
        this.brief ? h("a", { href: "way.html" }, "The whole way, number by number") : []);
      const picker = await this.chooser(await this.samples());
      const head = [this.heading, this.says, list, row, sides([this.left, this.grid.node], [this.right])];
      if (this.brief) this.view.append(...head, picker);
      else {
        this.inside = window.vitInside(this);
        this.reading = sides([this.lens, this.bars.node], [this.inside.words]);
        this.reading.classList.add("part");
        this.view.append(...head, this.toolbox(), this.reading, this.inside.node, h("div", { class: "part" }, picker), this.foot());
      }
      addEventListener("hashchange", () => this.follow(), this.whileHere);
      this.follow();
    }

    fresh() {
      const patch = Math.floor((5 * this.n) / 8) * this.n + Math.floor(this.n / 2); // a little below the middle
      return { stage: 0, patch, other: null, head: "mean", removed: [], painted: [], open: [] };
    }

    take(bytes, name, state = { ...this.fresh(), stage: this.state.stage, patch: this.state.patch }) {
      Object.assign(this, { bytes, picture: name, state, first: null });
      this.look();
      this.sharpen().then(() => this.draw());
      this.draw();
    }

    /* The crisp picture, where there is one: of a sample from photos.js, of the reader's from the file. */
    async sharpen() {
      this.crisp = null;
      const photo = window.vitPhotos?.[this.picture], { picture } = this;
      const file = photo ? new Blob([Uint8Array.from(atob(photo), (c) => c.charCodeAt(0))]) : this.file;
      if (!file || (window.vitSamples[picture] && !photo)) return;
      const bytes = await window.vitPictures.bytes(file, 224);
      if (picture === this.picture) this.crisp = paint(bytes);
    }

    set(changes) {
      const erased = "removed" in changes || "painted" in changes;
      this.state = { ...this.state, ...changes };
      if (erased) this.look();
      this.draw();
    }

    /* The forward pass of the picture as it is now; of the untouched one, too, if something was erased. */
    look() {
      const { bytes, size, P, n } = this, { painted, removed } = this.state;
      const shown = bytes.slice(), run = (some, options) => this.model.trace(window.vitPictures.standardise(some), options);
      for (const i of painted)
        for (let c = 0; c < 3; c++)
          for (let p = 0; p < P; p++) {
            const at = (c * size + Math.floor(i / n) * P + p) * size + (i % n) * P;
            shown.fill(128, at, at + P);
          }
      if (painted.length || removed.length) this.first ??= run(bytes, {});
      this.shown = shown;
      this.trace = run(shown, { remove: removed });
      paint(shown, this.mosaic);
    }

    // Numbers of a stage

    get stage() {
      return this.stages[this.state.stage];
    }

    /* The tensor that a stage leaves, (T, D). */
    after(stage, { tensors } = this.trace) {
      const { kind, l } = stage;
      return tensors[kind === "block" ? `blocks.${l}` : kind === "pool" || kind === "answer" ? "norm" : "embed"];
    }

    /* What the followed patch reads in a block, T weights: of one head, or their mean. */
    reads(l, patch = this.state.patch) {
      const { T, heads, state: { head } } = this, maps = this.trace.tensors[`blocks.${l}.attn.weights`];
      const some = head === "mean" ? range(heads) : [head], sum = new Float32Array(T);
      for (const one of some)
        for (let s = 0; s < T; s++) sum[s] += maps[(one * T + 1 + patch) * T + s] / some.length;
      return sum;
    }

    /* What the head would say of the tokens after a stage: of the picture, and of one patch. */
    answers(stage) {
      const { D, N, model, readsCls, state: { removed, patch } } = this, { softmax } = window.vitMath;
      if (stage.kind === "pool" || stage.kind === "answer") return { whole: this.trace.probs };
      const tokens = this.after(stage), read = (t) => model.readOut(tokens.subarray(t * D, (t + 1) * D));
      const alone = removed.includes(patch) ? null : softmax(read(1 + patch));
      if (readsCls) return { whole: softmax(read(0)), alone };
      const there = range(N).filter((i) => !removed.includes(i)), mean = new Float32Array(model.classes.length);
      there.forEach((i) => read(1 + i).forEach((logit, k) => { mean[k] += logit / there.length; }));
      return { whole: softmax(mean), alone }; // the head is linear: the mean of its answers is its answer to the mean
    }

    /* How far the erased has changed each token of a stage, in shares of its length before; null if nothing was erased. */
    changes(stage) {
      const { D, T, first, state: { painted, removed } } = this;
      if (!painted.length && !removed.length) return null;
      if (stage.kind === "photo" || stage.kind === "patches") return null;
      const [was, now] = [first, this.trace].map((one) => this.after(stage, one));
      return range(T).map((t) => {
        let apart = 0, length = 0;
        for (let i = t * D; i < (t + 1) * D; i++) [apart, length] = [apart + (was[i] - now[i]) ** 2, length + was[i] ** 2];
        return removed.includes(t - 1) ? 0 : Math.sqrt(apart / length);
      });
    }

    // Words, of this picture

    where(i) {
      return `the patch in ${place(i, this.n)}`;
    }

    /* The tokens that are read most, in words. */
    most(weights, few = 3) {
      const name = (t) => (t ? `${t - 1 === this.state.patch ? "itself" : place(t - 1, this.n)}` : "CLS");
      const best = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, few);
      return best.map((t) => `${name(t)} (${percent(weights[t])})`).join("; ");
    }

    words(stage) {
      const { D, L, N, P, n, size, pixels, model: { classes }, readsCls, state: { patch, removed } } = this;
      const one = this.where(patch), { probs } = this.trace, now = argmax(probs);
      const { whole } = this.answers(stage), said = `${classes[argmax(whole)]}, ${percent(whole[argmax(whole)])}`;
      const words = {
        photo: () => `A photograph. The model gets it small: ${size} × ${size} pixels, each three numbers, `
          + `${(3 * size * size).toLocaleString("en")} in all. That is all it will ever see.`,
        patches: () => `It is cut into ${n} × ${n} = ${N} patches of ${P} × ${P} pixels. Follow one of them, framed from here `
          + `to the end: ${one}. It holds ${pixels} numbers.`,
        tokens: () => `Each patch becomes a token: a column of ${D} numbers, each the sum of ${pixels} products. Learned numbers `
          + "for its place are added, and one more token, CLS, stands in front.",
        block: () => {
          const read = removed.includes(patch) ? "It was rubbed out." : `It reads most from ${this.most(this.reads(stage.l))}.`;
          const nobody = readsCls && stage.l === L - 1 ? " What it becomes here, nobody reads: the head reads CLS alone."
            : ` If the head read now, it would say ${said}.`;
          return (stage.l ? `${upper(one)}, in block ${stage.l}: ${read[0].toLowerCase()}${read.slice(1)}`
            : `In a block every token reads the others, then computes by itself. ${read}`) + nobody;
        },
        pool: () => (readsCls ? `One vector of ${D} numbers speaks for the picture: CLS. The ${N} patches have told it what they had to.`
          : `One vector of ${D} numbers speaks for the picture: the mean of the ${N - removed.length} patches' tokens.`),
        answer: () => `The head makes ${classes.length} sums of ${D} products, one a class, and softmax turns them into shares. `
          + `It says ${classes[now]}, ${percent(probs[now])}.`,
      };
      return words[stage.kind]();
    }

    // What the reader does

    /* To a stage, as the reader wants it: Play ends. */
    step(stage, focus = false) {
      if (stage < 0 || stage >= this.stages.length) return;
      this.pause();
      this.move(stage);
      if (focus) this.steps[stage].focus();
    }

    press(i) {
      const { tool, state } = this, toggled = (list) => (list.includes(i) ? list.filter((one) => one !== i) : [...list, i]);
      if (tool === "follow") this.set({ patch: i, other: state.other === i ? null : state.other, open: [] });
      else if (tool === "compare") this.set({ other: i === state.other || i === state.patch ? null : i });
      else {
        const [mine, others] = tool === "paint" ? ["painted", "removed"] : ["removed", "painted"];
        this.set({ [mine]: toggled(state[mine]), [others]: state[others].filter((one) => one !== i) });
      }
    }

    /* Play: stage after stage, at most `MOST` of them. Where no motion is wanted, each press is one step. */
    start() {
      const last = this.stages.length - 1, apart = Math.ceil(this.L / (MOST - 5)), { stage } = this.state;
      const next = (at) => range(last + 1).find((k) => k > at && !((this.stages[k].l ?? 0) % apart));
      if (STILL.matches) return this.step(stage === last ? 0 : next(stage));
      const on = (at) => {
        this.playing = at < last ? setTimeout(() => on(next(at)), PAUSE) : null;
        this.move(at);
      };
      return on(stage === last ? 0 : next(stage));
    }

    pause() {
      clearTimeout(this.playing);
      this.playing = null;
    }

    /* Shows a stage, with motion: patches move apart, columns and curves come. */
    move(stage) {
      const start = performance.now();
      this.moved = STILL.matches ? 1 : 0;
      this.set({ stage, open: [] });
      const frame = (now) => {
        this.moved = Math.min(1, (now - start) / MOVE);
        this.drawPicture();
        this.drawTokens();
        if (this.moved < 1) requestAnimationFrame(frame);
      };
      if (!this.moved) requestAnimationFrame(frame);
    }

    toolbox() {
      this.tools = new Map(Object.entries(TOOLS).map(([tool, [label]]) => [tool, button(label, () => {
        this.tool = tool;
        this.draw();
      })]));
      this.hint = keeps(note(), ...Object.values(TOOLS).map(([, says]) => says));
      this.head = select("Which head's reading is shown", ["mean of the heads", ...range(this.heads).map((k) => `head ${k}`)],
        () => this.set({ head: this.head.selectedIndex ? this.head.selectedIndex - 1 : "mean" }));
      this.reset = button("Start again", () => this.set({ ...this.fresh(), stage: this.state.stage }));
      return h("div", { class: "part" }, h("div", { class: "row", role: "group", "aria-label": "What a press on a patch does" },
        ...this.tools.values(), this.head, this.reset), this.hint);
    }

    // Links

    follow() {
      const state = this.brief ? null : this.fromLink();
      if (!state && this.state) return;
      const first = this.firstPicture;
      this.show(first, sample(first), state ?? this.fresh());
      if (state) setTimeout(() => this.scrollIntoView());
    }

    link() {
      const { name, picture, state } = this;
      return `#way=${btoa(JSON.stringify({ model: name, picture: window.vitSamples[picture] ? picture : null, ...state }))}`;
    }

    /* The state of the page's link, null if it is not for this model; what is not exactly right in it is left out. */
    fromLink() {
      const fresh = this.fresh(), below = (i, most) => Number.isInteger(i) && i >= 0 && i < most;
      const places = (list) => (Array.isArray(list) ? [...new Set(list)].filter((i) => below(i, this.N)) : []);
      try {
        const got = linked("way");
        if (got.model !== this.name) return null;
        if (typeof got.picture === "string" && Object.hasOwn(window.vitSamples, got.picture)) this.setAttribute("picture", got.picture);
        const removed = places(got.removed), patch = below(got.patch, this.N) ? got.patch : fresh.patch;
        return {
          stage: below(got.stage, this.stages.length) ? got.stage : 0, patch, removed,
          other: below(got.other, this.N) && got.other !== patch ? got.other : null,
          head: below(got.head, this.heads) ? got.head : "mean",
          painted: places(got.painted).filter((i) => !removed.includes(i)),
          open: Array.isArray(got.open) ? got.open.slice(0, 40).filter((at) => window.vitInside.exists(this, at)) : [],
        };
      } catch {
        return null;
      }
    }

    foot() {
      const give = async (text, what, otherwise) => {
        this.status.textContent = (await copied(text)) ? `${what} copied.` : otherwise;
      };
      const link = button("Link to this", () => {
        history.replaceState(null, "", this.link());
        give(location.href, "The link is", "The link is in the address line.");
      });
      const copy = button("Copy", () => give(this.code.textContent, "The lines are", "Mark them to copy them."));
      this.code = h("pre", { tabindex: "0", "aria-label": "Lines of Python" });
      return location.protocol === "about:" ? ""
        : h("div", { class: "part" }, h("div", { class: "row" }, link), folded("The same in Python", false, this.code, copy));
    }

    /* The lines that print the opened number, or the followed token after this stage. */
    python() {
      const { name, picture, size, n, P, D, state: { painted, removed, patch } } = this, drawn = picture.match(/^drawn (.+)/)?.[1];
      const place = (k) => `${k} * ${P}:${k} * ${P} + ${P}`, { kind, l } = this.stage;
      const which = kind === "block" ? `blocks.${l}` : { photo: "patches", patches: "patches", tokens: "embed" }[kind] ?? "norm";
      return [
        "import vitlib as vl", "",
        `model, card = vl.load_pretrained("${name}")`,
        ...(drawn ? ['images, labels = vl.load_drawn10("test", n=200)',
          `image = images[labels == vl.DRAWN10_CLASSES.index("${drawn}")][:1]`]
          : window.vitSamples[picture] ? [`image = vl.sample_image("${picture}", ${size})[None]`]
            : [`image = vl.load_image("your-picture.jpg", ${size})[None]`]),
        ...(painted.length ? [`for n in [${painted.join(", ")}]:  # grey`,
          `    image[..., ${place(`(n // ${n})`)}, ${place(`(n % ${n})`)}] = 128`] : []),
        `trace = vl.trace(model, vl.normalize(image)${removed.length ? `, remove=[${removed.join(", ")}]` : ""})`,
        `print(trace${this.inside.python() ?? `["${which}"][0, ${which === "patches" ? patch : 1 + patch}]`})`, "",
      ].join("\n");
    }

    // The view

    draw() {
      const { stage, state, stages } = this, said = this.words(stage);
      this.heading.textContent = `${state.stage + 1} of ${stages.length}: ${stage.kind === "block" ? `block ${stage.l}` : stage.name}`;
      this.says.textContent = said;
      this.steps.forEach((one, at) => {
        const changed = this.changes(stages[at]), far = changed && changed.reduce((a, b) => a + b, 0) / this.T;
        one.replaceChildren(h("span", {}, stages[at].name), h("small", {}, far ? `±${Math.round(100 * far)} %` : ""));
        one.setAttribute("aria-label", stages[at].name);
        one.title = far ? `${stages[at].name}: its tokens changed by ${percent(far)} of their length` : stages[at].name;
        one.parentNode.classList.toggle("passed", at < state.stage);
        if (at === state.stage) one.setAttribute("aria-current", "step");
        else one.removeAttribute("aria-current");
      });
      this.play.textContent = this.playing ? "Pause" : state.stage === stages.length - 1 ? "▶ Play again" : "▶ Play";
      this.back.disabled = !state.stage;
      this.next.disabled = state.stage === stages.length - 1;
      this.drawPicture();
      this.drawRight();
      if (!this.brief) this.drawMore();
      this.say(`${this.heading.textContent}. ${said}`);
    }

    drawMore() {
      const { stage, state, model: { classes } } = this, { whole, alone } = this.answers(stage), sure = alone && argmax(alone);
      this.reading.hidden = !["tokens", "block", "pool"].includes(stage.kind);
      this.tools.forEach((one, tool) => setPressed(one, tool === this.tool));
      this.hint.textContent = TOOLS[this.tool][1];
      this.head.selectedIndex = state.head === "mean" ? 0 : 1 + state.head;
      this.bars.show(whole, this.trace.probs);
      this.lens.textContent = stage.kind === "pool" ? "What the head makes of this vector."
        : `What the head would say if it read now (logit lens; ticks: its answer).${alone
          ? ` Of this patch alone: ${classes[sure]}, ${percent(alone[sure])}.` : ""} It never learned to read here.`;
      this.inside.draw();
      if (this.code) this.code.textContent = this.python();
    }

    /* The picture: crisp, as pixels, as patches that stand apart, with what the followed one reads, or what changed. */
    drawPicture() {
      const { grid: { canvas, cells }, mosaic, crisp, moved, n, state, stage } = this, { kind, l } = stage;
      const context = canvas.getContext("2d"), changed = this.changes(stage), side = 448;
      if (kind === "block" || (changed && kind === "tokens")) {
        const weights = changed ?? this.reads(l), few = weights.slice(1), most = Math.max(...few) || 1;
        squares(canvas, this, Array.from(few, (w) => (moved * w) / most), { side, picture: mosaic });
        this.left.textContent = changed ? "What changed: the larger a square, the more." : "What it reads: the larger a square, the more.";
      } else {
        canvas.width = canvas.height = side;
        context.imageSmoothingEnabled = kind === "photo";
        const from = kind === "photo" && crisp ? crisp : mosaic, part = from.width / n, cell = side / n;
        const gap = kind === "patches" ? 3.5 * moved : kind === "photo" ? 0 : 3.5;
        range(n * n).forEach((i) => {
          const [row, col] = [Math.floor(i / n), i % n];
          context.drawImage(from, col * part, row * part, part, part, col * cell + gap, row * cell + gap, cell - 2 * gap, cell - 2 * gap);
        });
        this.left.textContent = kind === "photo" ? (crisp ? "The photograph" : "The picture") : `The picture, as ${this.N} patches`;
      }
      cells.forEach((cell, i) => {
        const is = kind === "photo" ? "photo" : i === state.patch ? "followed" : i === state.other ? "other" : "";
        cell.className = `${is} ${state.removed.includes(i) ? "out" : ""}`;
        setPressed(cell, i === state.patch || i === state.other);
        const did = state.removed.includes(i) ? ", rubbed out" : state.painted.includes(i) ? ", grey" : "";
        cell.setAttribute("aria-label", `${place(i, n)}${{ followed: ", followed", other: ", compared" }[is] ?? ""}${did}`);
      });
    }

    /* Right of the picture: what it is to the model at this stage. */
    drawRight() {
      const { kind } = this.stage, { right, stage } = this;
      if (kind === "photo") right.replaceChildren(note("What the model sees"), paint(this.shown, h("canvas", { role: "img",
        "aria-label": `The picture, ${this.size} by ${this.size} pixels` })));
      else if (kind === "patches") right.replaceChildren(note("The patch: red, green and blue of each pixel"), this.pixelsOfPatch());
      else if (kind === "answer") right.replaceChildren(note("Its answer"), this.answer());
      else {
        right.replaceChildren(...this.tokens.parts);
        this.tokens.what.textContent = `${this.T} tokens ${kind === "tokens" ? "before the first block" : kind === "pool"
          ? "after the last norm" : `after block ${stage.l}`}: a column each, of ${this.D} numbers`;
        this.drawTokens();
      }
    }

    pixelsOfPatch() {
      const { P, size, n, shown, state: { patch } } = this;
      const at = (c, p) => shown[(c * size + Math.floor(patch / n) * P + Math.floor(p / P)) * size + (patch % n) * P + (p % P)];
      return h("div", { class: "patch", style: `--P:${P}` }, range(P * P).map((p) => {
        const rgb = range(3).map((c) => at(c, p)), dark = rgb[0] * 0.3 + rgb[1] * 0.59 + rgb[2] * 0.11 < 128;
        const one = button(P > 4 ? "" : h("span", {}, ...rgb.flatMap((v, c) => (c ? [h("br"), String(v)] : [String(v)]))),
          () => this.brief || this.inside.open(["patch_embed", patch, 0, 0]));
        one.style = `background: rgb(${rgb}); color: ${dark ? "#fff" : "#000"}`;
        one.setAttribute("aria-label", `pixel ${Math.floor(p / P)}, ${p % P}: ${rgb.join(", ")}`);
        return one;
      }));
    }

    answer() {
      const all = bars(this.model.classes, this.brief ? 5 : this.model.classes.length);
      all.show(this.trace.probs, this.first?.probs);
      return all.node;
    }

    /* The tokens of a stage as colours: (T, D), a column each; below, arcs to what the followed one reads. */
    matrix() {
      const canvas = h("canvas"), arcs = h("canvas", { class: "arcs", "aria-hidden": "true" }), what = h("p", { class: "what" });
      const [mine, other] = [h("i"), h("i", { class: "other" })], value = note();
      value.classList.add("value");
      const node = h("div", { class: "tokens", role: "img" }, canvas, mine, other);
      const cell = (event) => {
        const [x, y] = pointer(event, node);
        return [Math.min(this.T - 1, Math.max(0, Math.floor(x * this.T))), Math.min(this.D - 1, Math.max(0, Math.floor(y * this.D)))];
      };
      node.addEventListener("pointermove", (event) => {
        const [t, i] = cell(event), number = this.after(this.stage)[t * this.D + i];
        value.textContent = `${t ? upper(this.where(t - 1)) : "CLS"}, number ${i}: ${signed(number)}`;
      });
      node.addEventListener("pointerleave", () => this.drawTokens());
      node.addEventListener("click", (event) => {
        const [t, i] = cell(event);
        if (this.brief) return;
        if (t) this.set({ patch: t - 1 });
        this.inside.open([this.inside.leaves(), t, i, 0]);
      });
      return { parts: [what, node, arcs, value], node, canvas, arcs, what, mine, other, value };
    }

    drawTokens() {
      const { kind, l } = this.stage, { D, T, moved, state: { patch, other, removed }, tokens } = this;
      if (!["tokens", "block", "pool"].includes(kind)) return;
      const numbers = this.after(this.stage).slice(), shown = Math.ceil(moved * T);
      removed.forEach((i) => numbers.fill(0, (1 + i) * D, (2 + i) * D));
      window.vitInside.heat(tokens.canvas, this, kind === "tokens" ? numbers.map((v, i) => (i < shown * D ? v : 0)) : numbers, D, T);
      const wide = 100 / T;
      const frame = (node, t) => { node.hidden = t === null; node.style.cssText = `left:calc(${(1 + t) * wide}% - 2px);width:calc(${wide}% + 4px)`; };
      frame(tokens.mine, patch);
      frame(tokens.other, other);
      tokens.node.setAttribute("aria-label", `${T} tokens of ${D} numbers, as colours; the table below has those of the followed one`);
      tokens.value.textContent = kind === "block" ? "Curves: what the framed token reads. Press a number to open it."
        : "Orange: above zero; blue: below. Press a number to open it.";
      if (this.brief) tokens.value.textContent = kind === "block" ? "Curves: what the framed token reads." : "Orange: above zero; blue: below.";
      this.drawArcs(kind === "block" && !removed.includes(patch) ? this.reads(l) : []);
    }

    drawArcs(weights) {
      const { arcs } = this.tokens, { T, moved, state: { patch } } = this, context = arcs.getContext("2d");
      [arcs.width, arcs.height] = [1040, 96];
      const most = Math.max(...weights), at = (t) => ((t + 0.5) / T) * arcs.width;
      context.strokeStyle = getComputedStyle(this).getPropertyValue("--warm");
      weights.forEach((weight, s) => {
        const share = (moved * weight) / most;
        context.globalAlpha = 0.06 + 0.9 * share;
        context.lineWidth = 1 + 7 * share;
        context.beginPath();
        context.moveTo(at(s), 0);
        context.bezierCurveTo(at(s), 60, at(1 + patch), 50, at(1 + patch), arcs.height);
        context.stroke();
      });
    }
  }

  const upper = (text) => text[0].toUpperCase() + text.slice(1);
  const signed = (number) => number.toFixed(3).replace("-", "−");

  customElements.define("vit-way", VitWay);
})();
