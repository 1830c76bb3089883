/* <vit-first picture="cat">: the whole model in one view, as the title page has it. A photograph and what one of its
   patches reads, its tokens, the answer; a film of six stops; and a dare: how few grey patches change the answer?

   What stands in the page at first is the same view, kept by `python -m page.stills`. Here `state` holds what is
   followed and what is grey; `look` computes what follows from it, and first-drawing.js shows it. A dare's link holds
   the picture, and how many patches a friend has needed: #dare=cat-7. */
window.vit.script("first-drawing.js").then(() => {
  "use strict";

  const {
    VitExplorer, argmax, button, copied, grid, h, onStrokes, patched, percent, place, range, sample, sentences, setPressed,
  } = window.vitExplorer;
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");
  const STOPS = [t("Photo"), t("Patches"), t("Tokens"), t("Reads"), t("Blocks"), t("Answer")];
  const TOKENS = 2, READS = 3, BLOCKS = 4;
  const PAUSES = [1900, 2300, 4000, 2900, 3300]; // milliseconds of Play at a stop; the last is the end
  const FLIGHT = 2600, SEARCH = 400; // milliseconds: of the patches to their tokens, between patches of a search

  class VitFirst extends VitExplorer {
    static style = `:host([data-ready="yes"]) slot { display: contents; }`; // the view stands in the page itself

    async build() {
      this.still = this.querySelector("img.still") ?? h("img", { class: "still", alt: "" });
      const model = this.loadModel(); // it has its name at once
      await Promise.all([model, ...["samples.js", "pictures.js", `turns-${this.name}.js`].map(window.vit.script)]);
      if (this.readsCls) throw new Error("expected a model whose head reads the mean of the patches");
      const D = this.model.config.embed_dim, { n, N, L } = this;
      Object.assign(this, { D, T: 1 + N, last: STOPS.length - 1, bests: {} });
      this.grid = grid(n, t("The picture: {n} by {n} patches", { n }), (i) => this.press(i), (i) => this.follow(i));
      this.grid.canvas.remove();
      onStrokes(this.grid.node, n, this.grid.node, () => true, (path, stroke) => this.rub(path, stroke), this.whileHere);
      this.drawing = window.vitFirstDrawing(this);
      this.says = h("p", { class: "says" });
      this.play = button("", () => (this.playing ? this.halt(this.stop, this.state.depth) : this.start()));
      this.play.className = "play";
      this.stops = STOPS.map((name, stop) => button(name, () => this.halt(stop)));
      const scrub = h("div", { class: "scrub" }, this.play, h("ol", { "aria-label": t("Stops") }, this.stops.map((one) => h("li", {}, one))));
      this.tools = [[t("Read"), false], [t("Paint grey"), true]].map(([name, paints]) => button(name, () => this.use(paints)));
      this.reset = button(t("Start again"), () => this.set({ painted: [], helped: false }));
      this.searcher = button(t("Show me"), () => (this.searching ? this.set({}) : this.search([])));
      this.friendly = button(t("Dare a friend"), () => this.dare());
      const tools = h("div", { class: "tools" }, h("div", { role: "group", "aria-label": t("What a touch does") }, this.tools),
        this.reset, this.searcher, this.friendly);
      this.view = h("div", { class: "first" }); // takes what is dropped
      const picker = await this.chooser(await this.samples()), { photo, maps, tokens, answer } = this.drawing;
      const column = h("p", { class: "label columns" }, h("b", {}, t("{T} tokens", { T: 1 + N })),
        t(", CLS first: a column each"), h("span", { class: "voted" }, t("; above, their votes")),
        h("span", { class: "more" }, t(" (12 of {D} numbers; orange above zero, blue below)", { D })));
      const own = picker.querySelector(".row > button");
      Object.assign(own, { textContent: "+", title: t("Your picture …"), ariaLabel: t("Your picture …") });
      this.status.className = "told";
      this.view.append(photo, maps, answer, tokens, column, scrub, this.says, h("div", { class: "hands" }, tools, picker), this.status, this.spoken);
      this.querySelector(".first")?.remove();
      this.append(this.view);
      this.begin();
      addEventListener("hashchange", () => { if (location.hash.startsWith("#dare=")) this.begin(); }, this.whileHere);
    }

    /* With what the page's link dares: a picture, and how many patches a friend has needed; else with the first picture. */
    begin() {
      const [, named, needed] = location.hash.match(/^#dare=(\w+?)(?:-([1-9]\d?))?$/) ?? [];
      const picture = Object.hasOwn(window.vitSamples, named) ? named : this.firstPicture;
      this.friend = picture === named && needed <= this.N ? { picture, needed } : null;
      this.show(picture, sample(picture));
      if (this.friend) this.use(true);
    }

    take(bytes, name) {
      this.pause();
      Object.assign(this, { bytes, picture: name, turns: window.vitTurns[this.name]?.[name], searching: null });
      if (!window.vitSamples[name]) delete this.bests[name]; // another picture of the reader's
      this.state = { patch: this.n + this.n / 2, block: this.L - 1,
        painted: [], stop: this.last, depth: this.L, helped: false };
      this.look();
      [this.untouched, this.before] = [this.result, this.result.probs];
      this.photograph(name);
      this.draw();
    }

    /* The photograph itself, where it is one of the book's; a reader's own is shown as the model gets it. */
    async photograph(name) {
      const mine = (this.asked = {});
      this.still.alt = t("The photograph: {name}", { name });
      if (this.still.dataset.of !== name) {
        await window.vit.script("photos.js");
        if (mine !== this.asked) return;
        const file = window.vitPhotos[name];
        this.still.src = file ? `data:image/webp;base64,${file}` : "";
        this.still.dataset.of = name;
      }
    }

    // What is computed

    /* The picture with some patches grey, as the model gets it. */
    greyed(painted) {
      return patched(this.bytes, this.size, this.P, painted);
    }

    pass(seen) {
      return this.model.run(window.vitPictures.standardise(seen));
    }

    look() {
      this.seen = this.greyed(this.state.painted);
      this.result = this.pass(this.seen);
      this.said = [];
      this.drawing.sharpen();
    }

    /* What the head says if it reads the tokens after so many blocks: { each (T * K), whole (K) }. */
    answers(depth) {
      const size = this.T * this.D;
      return (this.said[depth] ??= this.model.answers(this.result.tokens.subarray(depth * size, (depth + 1) * size)));
    }

    /* Of each patch's token by itself, (N * K). */
    votes(depth) {
      return this.answers(depth).each.subarray(this.model.classes.length);
    }

    /* What a patch reads from each patch in a block, (N): the mean of the heads. */
    reads(l, patch) {
      const { heads, N, T, result: { attention } } = this, start = (head) => ((l * heads + head) * T + 1 + patch) * T + 1;
      return Float32Array.from(range(N), (i) => range(heads).reduce((sum, head) => sum + attention[start(head) + i], 0) / heads);
    }

    /* The block whose reading is drawn: in the film the one that it has come to. */
    get shown() {
      const { stop, depth, block } = this.state;
      return stop === BLOCKS ? depth - 1 : stop < BLOCKS ? 0 : block;
    }

    get stop() {
      return this.state.stop;
    }

    /* After how many blocks the tokens are drawn. */
    get depth() {
      return this.stop < READS ? 0 : this.stop === READS ? 1 : this.stop === BLOCKS ? this.state.depth : this.L;
    }

    get turned() {
      return argmax(this.result.probs) !== argmax(this.before);
    }

    // What the reader does

    set(changes) {
      const painted = changes.painted ?? this.state.painted, again = painted !== this.state.painted;
      this.state = { ...this.state, ...changes };
      if (this.searching !== this.state) this.searching = null;
      if (again) this.look();
      this.draw();
    }

    follow(patch) {
      this.touched = true;
      if (patch !== this.state.patch) this.set({ patch });
    }

    press(i) {
      const { painted } = this.state;
      this.touched = true;
      if (this.paints) this.set({ painted: painted.includes(i) ? painted.filter((one) => one !== i) : [...painted, i], stop: this.last });
      else this.follow(i);
    }

    use(paints) {
      this.paints = paints;
      this.halt(this.last);
    }

    /* What a stroke passes becomes grey, or is grey no more, as it has begun; or it is followed. */
    rub(path, stroke) {
      const { painted } = this.state, grey = (stroke.grey ??= !painted.includes(stroke.first));
      const patch = path.at(-1), some = path.filter((i) => painted.includes(i) !== grey);
      if (!this.paints) this.follow(patch);
      else if (some.length)
        this.set({ patch, stop: this.last, painted: grey ? [...painted, ...some] : painted.filter((i) => !some.includes(i)) });
    }

    // The film

    /* Play: stop after stop, and among the blocks one after the other. Where no motion is wanted, each press is one stop. */
    start() {
      const on = (stop, depth) => {
        const climbs = stop === BLOCKS && depth < this.L, ends = stop === this.last || STILL.matches;
        const next = () => (climbs ? on(stop, depth + 1) : on(stop + 1, 1));
        this.playing = ends ? null : setTimeout(next, stop === BLOCKS ? PAUSES[stop] / this.L : PAUSES[stop]);
        this.go(stop, ends ? this.L : depth);
      };
      on(this.stop === this.last ? 0 : this.stop + 1, 1);
    }

    go(stop, depth = this.L) {
      const flies = stop === TOKENS && this.stop !== stop && !STILL.matches;
      this.set({ stop, depth });
      if (flies) this.drawing.fly(FLIGHT);
    }

    halt(stop, depth) {
      this.pause();
      this.go(stop, depth);
    }

    pause() {
      clearTimeout(this.playing);
      this.playing = null;
    }

    // The dare

    /* A greedy search from the untouched picture until the answer turns; whatever else is done ends it. */
    async search(painted) {
      this.paints = true;
      this.pause();
      const mine = (this.state = this.searching = { ...this.state, painted, helped: true, stop: this.last });
      this.look();
      this.draw();
      if (this.turned) this.turns = painted;
      if (this.turned || painted.length === this.N) return this.set({});
      await new Promise((done) => setTimeout(done, SEARCH)); // for the eye
      const next = this.turns?.[painted.length] ?? await this.strongest(mine);
      if (this.searching === mine) this.search([...painted, next]);
    }

    /* The patch whose grey lowers the share of the answer most: a forward pass for each, a pause after each. */
    async strongest(mine) {
      const k = argmax(this.before), { painted } = mine, shares = [];
      for (const i of range(this.N)) {
        if (this.searching !== mine) return null;
        shares.push(painted.includes(i) ? 2 : this.pass(this.greyed([...painted, i])).probs[k]);
        await new Promise((done) => setTimeout(done));
      }
      return shares.indexOf(Math.min(...shares));
    }

    /* A link to this picture; who has won dares with a number. */
    async dare() {
      const { picture, bests } = this, needed = bests[picture];
      history.replaceState(null, "", `#dare=${picture}${needed ? `-${needed}` : ""}`);
      this.status.textContent = (await copied(location.href)) ? t("The link for your friend is copied.") : t("The link for your friend is in the address line.");
    }

    /* Why the answer has turned: whether the grey patches' own votes did it, or those of the others, which read them. */
    why() {
      const { T, D, N, L, untouched, result, before, state: { painted }, model } = this, { classes } = model;
      const mixed = untouched.tokens.slice(L * T * D), now = argmax(result.probs), was = argmax(before);
      for (const i of painted) mixed.set(result.tokens.subarray((L * T + 1 + i) * D, (L * T + 2 + i) * D), (1 + i) * D);
      const { whole } = model.answers(mixed), m = N - painted.length, best = argmax(whole);
      if (best !== was) return t("Their own votes turn it, even with the other {m} tokens as they were.", { m });
      const others = range(N).filter((i) => !painted.includes(i)).map((i) => this.vote(i));
      const [j, kept] = [now, was].map((answer) => others.filter((vote) => vote === answer).length);
      return t("Their own votes are not enough: with the other {m} tokens as before it would say {was}, {share}. But these read the "
        + "grey patches: {j} now vote {now}, {kept} still {was}.", {
        m, j, kept, was: classes[was], now: classes[now], share: percent(whole[was]) });
    }

    vote(i, each = this.votes(this.L), K = this.model.classes.length) {
      return argmax(each.subarray(i * K, (i + 1) * K));
    }

    // Words

    tell() {
      const { N, n, P, D, L, size, stop, last, shown, state, result: { probs }, model: { classes } } = this;
      const now = argmax(probs), answer = classes[now], whole = percent(probs[now]), k = state.painted.length;
      if (stop < last) return [
        () => t("The model gets the photograph small: {size} × {size} pixels of three numbers. It sees nothing else.", { size }),
        () => t("The picture is cut into {n} × {n} = {N} patches of {P} × {P} pixels. One is framed: follow it.", { n, N, P }),
        () => t("Each patch becomes a token: a column of {D} numbers, what the patch holds and where it is. Twelve of them are drawn.", { D }),
        () => t("The tokens read each other. The thicker a curve, the more the framed patch takes from there."),
        () => t("Block {l} of {L}: all tokens read all, then compute by themselves. The head has learned to read the last block: "
          + "the first votes are noise.", { l: this.depth, L }),
      ][stop]();
      if (k) return this.tellGrey(k, answer, whole);
      const remark = this.remark(this.picture, probs);
      if (this.paints) return sentences(remark, this.ask());
      if (!this.touched) return sentences(remark, t("In goes a photograph, as {N} patches; in {L} blocks they read each other; out comes {answer}, "
        + "{share}. Touch a patch: curves show what it reads in block {l}. Or paint some grey: does it change its mind?", {
        N, L, answer, share: whole, l: shown + 1 }));
      const own = this.vote(state.patch), share = percent(Math.max(...this.reads(shown, state.patch)));
      const agree = range(N).filter((i) => this.vote(i) === now).length;
      return t("In block {l} this patch takes most, {share}, where the curve is thickest. In the end its token votes {own}, as one of "
        + "{N}: {agree} vote {answer}.", { l: shown + 1, share, own: classes[own], N, agree, answer });
    }

    tellGrey(k, answer, share) {
      const { turns, turned, searching, state: { helped } } = this, few = turns?.length;
      if (!turned) return sentences(tn("{n} patch grey: still {answer}, {share}.", "{n} patches grey: still {answer}, {share}.", k, { answer, share }),
        searching ? "" : few ? t("{few} are enough.", { few }) : "");
      const mine = helped ? "" : !few ? "" : k < few ? t("A search needs {few}: you beat it.", { few }) : t("A search needs {few}.", { few });
      return sentences(tn("{n} patch grey, and it says {answer}, {share}.", "{n} patches grey, and it says {answer}, {share}.", k, { answer, share }),
        mine, this.why());
    }

    ask() {
      const { friend, picture, turns } = this;
      return friend?.picture === picture ? t("A friend needed {needed} grey patches to change its mind. Can you?", friend)
        : turns ? t("Paint patches grey until it changes its mind: {few} are enough. Which?", { few: turns.length })
          : t("Paint patches grey until it changes its mind. How few are enough?");
    }

    // The view

    draw() {
      const { bests, picture, stop, last, state: { painted, helped } } = this;
      if (this.turned && !helped) bests[picture] = Math.min(painted.length, bests[picture] ?? painted.length);
      this.view.dataset.stop = stop;
      this.drawing.draw();
      this.view.classList.toggle("own", !window.vitSamples[picture]);
      this.view.classList.toggle("paints", Boolean(this.paints));
      this.view.classList.toggle("touched", painted.length > 0 && stop === last);
      this.view.style.setProperty("--at", stop / last);
      this.says.textContent = this.tell();
      this.play.textContent = this.playing ? t("Pause") : STILL.matches ? t("Next") : t("▶ Play");
      this.stops.forEach((one, k) => {
        one.toggleAttribute("aria-current", k === stop);
        one.classList.toggle("done", k <= stop);
      });
      this.tools.forEach((one, k) => setPressed(one, Boolean(this.paints) === Boolean(k)));
      this.reset.disabled = !painted.length;
      this.searcher.textContent = this.searching ? t("Stop") : t("Show me");
      this.friendly.disabled = !window.vitSamples[picture]; // no link holds a reader's picture
      this.grid.cells.forEach((cell, i) => {
        const said = [place(i, this.n), painted.includes(i) && t("grey"), i === this.state.patch && t("followed")];
        setPressed(cell, painted.includes(i));
        cell.setAttribute("aria-label", said.filter(Boolean).join(t(", ")));
      });
      this.say(this.says.textContent);
    }
  }

  customElements.define("vit-first", VitFirst);
});
