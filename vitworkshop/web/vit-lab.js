/* <vit-lab model="drawn10-token" picture="drawn house">: a Vision Transformer to take apart and to watch.

   All that was done to the picture and to the model is one small object, `state`; every change makes a new one, so that
   undo is a list, and a link is the state written down. `look` computes what follows from it, in one forward pass; the
   panels (lab-panels.js) show it. */
(() => {
  "use strict";

  const {
    VitExplorer, argmax, bars, button, byLength, clauses, copied, folded, grid, h, keeps, linked, note, onStrokes,
    paint, patched, percent, place, range, sample, sentences, setPressed, sides,
  } = window.vitExplorer;

  const RUB = matchMedia("(pointer: coarse)").matches ? t("Tap or stroke") : t("Click or drag");
  const TOOLS = {
    remove: [t("Rub out"), t("{RUB}: a patch's token is left out, as if the picture had no such patch.", { RUB })],
    paint: [t("Paint grey"), t("{RUB}: a patch stays and becomes grey; the model sees grey.", { RUB })],
  };

  class VitLab extends VitExplorer {
    static style = `
      .head { align-items: start; display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; justify-content: space-between; }
      .head, .head p { margin-bottom: 0.4rem; }
      .head > div { flex: 1 1 18rem; }
      .head > button { flex: none; }
      .grid + *, .bars + * { margin-top: 0.6rem; }
      .tools button[aria-pressed="true"]::before { content: "✓ "; }
      .erases .grid { touch-action: pinch-zoom; }
      .grid { -webkit-touch-callout: none; }
      .grid > button, .grid > button[aria-pressed="true"] { box-shadow: inset -1px -1px rgb(255 255 255 / 0.4),
        inset 1px 1px rgb(0 0 0 / 0.2); }
      .grid > button.out { background: repeating-linear-gradient(45deg, var(--ground) 0 4px, var(--rule) 4px 6px); }
      .tour:not(:empty) { background: var(--back); border: 2px solid var(--accent); border-radius: 0.4rem;
        bottom: 0.3rem; box-shadow: 0 0 1rem rgb(0 0 0 / 0.25); max-height: 50vh; overflow: auto;
        padding: 0.6rem 0.8rem; position: sticky; z-index: 1030; }
      @media (max-height: 700px) { .tour:not(:empty) { font-size: 0.85rem; max-height: 40vh; padding: 0.3rem 0.6rem; } }
      .tour .row { margin: 0.5rem 0 0; }
      .tour .row:last-child { background: var(--back); bottom: -0.6rem; padding-bottom: 0.4rem; position: sticky; }
      .tour input { flex: 1; }
      .ringed { border-radius: 2px; outline: 3px solid var(--warm); outline-offset: 3px; }
      .head, .ringed { scroll-margin-top: 5rem; }
      .part { margin-top: 0.8rem; }
      .layers { display: grid; gap: 0.25rem; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; }
      .layers button { font-size: 0.78rem; line-height: 1.35; padding: 0.2rem 0; white-space: nowrap; }
      @container (max-width: 330px) { .layers button { font-size: 0.66rem; } }
      .layers small { font-size: 0.72rem; }
      .says { display: grid; font-size: 0.68rem; gap: 1px; grid-template-columns: repeat(var(--n), 1fr); }
      .says span { align-items: center; aspect-ratio: 1; border-radius: 2px; display: flex; justify-content: center;
        overflow: hidden; }
      pre { background: var(--back); border-radius: 0.3rem; font-size: 0.8rem; margin: 0.4rem 0; overflow-x: auto;
        padding: 0.6rem; }
      .heads { border-collapse: collapse; }
      .heads th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.4rem; }
      .heads button { min-height: 1.8rem; min-width: 1.8rem; padding: 0; }`;

    mark = "lab"; // of its links

    async build() {
      await this.loadModel();
      const files = [`scores-${this.name}.js`, "lab-results.js", "lab-panels.js", "lab-tour.js"];
      const picker = await this.stage("remove", ...files), tools = this.toolbox(), foot = this.foot();
      const { layers, rankings, inside } = window.vitLabPanels;
      this.tour = window.vitTour(this);
      this.panels = [layers(this), rankings(this), inside(this), this.tour, tools, foot];
      const [first, second, third] = this.panels.map((panel) => panel.node);
      this.head = h("div", { class: "head" }, this.said, this.tour.start);
      this.view.append(this.head, sides([this.grid.node, picker], [this.bars.node, tools.node]), first,
        sides(second, third), foot.node, this.tour.node);
      this.follow();
    }

    /* What the way has as well: the picture to press and to rub, the answer, undo; gives the choice of pictures. */
    async stage(tool, ...files) {
      await this.loadModel();
      await Promise.all(["rankings.js", ...files].map(window.vit.script));
      const { n } = this, picker = await this.chooser(await this.samples());
      Object.assign(this, { tool, past: [], panels: [], bars: bars(this.model.classes) });
      this.grid = grid(n, t("The picture: {n} by {n} patches", { n }), (i) => this.press(i));
      this.rubbing();
      this.change = keeps(h("p"), ...this.longest());
      this.said = h("div", {}, this.verdict, this.change);
      this.undo = button(t("Undo"), () => {
        this.state = this.past.pop();
        this.draw();
        if (this.undo.disabled) this.grid.cells.find((cell) => cell.tabIndex === 0).focus();
      });
      this.reset = button(t("Start again"), () => this.set(this.fresh()));
      addEventListener("hashchange", () => this.follow(), this.whileHere);
      return picker;
    }

    fresh() {
      return window.vitRankings.untouched(this.N);
    }

    take(bytes, name, state = this.tour?.state() ?? this.fresh()) {
      Object.assign(this, { bytes, picture: name, past: [], state: this.fresh() });
      this.before = this.look().probs;
      this.state = state;
      this.draw();
    }

    /* A new state; the old one is kept for undo, unless more of the same gesture follows. */
    set(changes, { keep = true } = {}) {
      if (keep) this.past.push(this.state);
      this.state = { ...this.state, ...changes };
      return this.draw();
    }

    /* The forward pass on the picture in a state: its patches in their order, some of them grey. */
    look({ order, painted, positions, removed, heads } = this.state) {
      this.shown = patched(this.bytes, this.size, this.P, painted, order);
      const pixels = window.vitPictures.standardise(this.shown, this.recipe);
      return this.pass(pixels, { positions, remove: removed, heads });
    }

    pass(pixels, options) {
      return (this.result = this.model.run(pixels, options));
    }

    /* What the head says if it reads the tokens after `layer` blocks: of each patch that is there, and of all. */
    answers(layer) {
      const { N, state: { removed }, result: { tokens } } = this, size = tokens.length / (this.L + 1);
      const { each, whole } = this.model.answers(tokens.subarray(layer * size, (layer + 1) * size), removed);
      const there = range(N).filter((i) => !removed.includes(i)), K = whole.length;
      return { whole, patches: new Map(there.map((i) => [i, each.subarray((1 + i) * K, (2 + i) * K)])) };
    }

    // Links

    /* Shows the state of the page's link, if it is for this lab; it may choose the picture as well. */
    follow() {
      const state = this.fromLink();
      if (!state && this.state) return;
      const first = this.firstPicture;
      this.show(first, sample(first), state ?? this.fresh());
      if (state) setTimeout(() => this.scrollIntoView());
    }

    /* The state written down; a picture of the reader's is in no link. */
    link() {
      const { name, picture, state } = this, order = state.order.some((from, to) => from !== to) ? state.order : null;
      const known = window.vitSamples[picture] ? picture : null;
      return `#${this.mark}=${btoa(JSON.stringify({ model: name, picture: known, ...state, order }))}`;
    }

    /* The state of the page's link, null if it is not for this lab; what is not exactly right in it is left out. */
    fromLink() {
      const fresh = this.fresh();
      const below = (list, most) => Array.isArray(list) && list.every((i) => Number.isInteger(i) && i >= 0 && i < most);
      const places = (list) => (below(list, this.N) ? [...new Set(list)] : []);
      const permutes = (list) => below(list, this.N) && list.length === this.N && new Set(list).size === this.N;
      const isHead = (one) => below(one, Infinity) && one.length === 2 && one[0] < this.L && one[1] < this.heads;
      const once = (list) => list.filter(([l, k], i) => list.findIndex((one) => one[0] === l && one[1] === k) === i);
      try {
        const got = linked(this.mark);
        if (got.model !== this.name) return null;
        const isSample = typeof got.picture === "string" && Object.hasOwn(window.vitSamples, got.picture);
        if (isSample) this.setAttribute("picture", got.picture);
        return {
          order: permutes(got.order) ? got.order : fresh.order,
          painted: places(got.painted),
          removed: places(got.removed),
          positions: got.positions === "none" || permutes(got.positions) ? got.positions : null,
          heads: Array.isArray(got.heads) ? once(got.heads.filter(isHead)) : [],
        };
      } catch {
        return null;
      }
    }

    // What the reader does

    press(i) {
      const list = this.state[this.erased];
      this.set({ [this.erased]: list.includes(i) ? list.filter((one) => one !== i) : [...list, i] });
    }

    /* What stands in place from[i] comes to place i, and what was done to it comes along. */
    move(from) {
      const { order, removed, painted } = this.state;
      const along = (list) => from.flatMap((old, to) => (list.includes(old) ? [to] : []));
      this.set({ order: from.map((i) => order[i]), removed: along(removed), painted: along(painted) });
    }

    get erases() {
      return this.tool in TOOLS;
    }

    /* The list of the state that the eraser in use writes to. */
    get erased() {
      return this.tool === "remove" ? "removed" : "painted";
    }

    /* Rubbing: every patch that a pointer passes while it is down; one step for undo. A mouse may begin anywhere in the
       lab, a finger on the picture: beside it a swipe scrolls the page. */
    rubbing() {
      const { node } = this.grid;
      const begins = ({ pointerType, target }) => this.erases
        && (node.contains(target) || (pointerType !== "touch" && !target.closest("button, details, input, select")));
      onStrokes(node, this.n, this.view, begins, (path, stroke) => {
        const done = (stroke.done ??= new Set()), keep = !done.size;
        if (path.every((i) => done.has(i))) return;
        path.forEach((i) => done.add(i));
        this.set({ [this.erased]: [...new Set([...this.state[this.erased], ...done])] }, { keep });
      }, this.whileHere);
    }

    toolbox() {
      const { n, N } = this, half = Math.floor(n / 2), row = (i) => Math.floor(i / n), col = (i) => i % n;
      const moves = { // from which place each gets its patch
        [t("Shuffle all")]: () => window.vitRankings.shuffled(N),
        [t("Swap quadrants")]: () => range(N).map((i) => ((row(i) + half) % n) * n + ((col(i) + half) % n)),
        [t("Swap halves")]: () => range(N).map((i) => row(i) * n + ((col(i) + half) % n)),
        [t("Mirror")]: () => range(N).map((i) => row(i) * n + (n - 1 - col(i))),
      };
      const { hint, draw } = this.choices(TOOLS);
      const movers = Object.entries(moves).map(([label, move]) => button(label, () => this.move(move())));
      const erasers = { class: "row tools", role: "group", "aria-label": t("What a press on a patch does") };
      const node = h("div", { class: "part" }, h("div", erasers, ...this.tools.values()), hint,
        h("div", { class: "row", role: "group", "aria-label": t("Move patches") }, movers),
        h("div", { class: "row" }, this.undo, this.reset));
      return { node, draw };
    }

    /* A button for each tool, and what the one in use does. */
    choices(tools) {
      const hint = keeps(note(), ...Object.values(tools).map(([, says]) => says));
      this.tools = new Map(Object.entries(tools).map(([tool, [label]]) => [tool, button(label, () => {
        this.tool = tool;
        this.draw();
      })]));
      return { hint, draw: () => {
        hint.textContent = tools[this.tool][1];
        this.tools.forEach((one, tool) => setPressed(one, tool === this.tool));
      } };
    }

    /* Copies a text and says so, or what to do instead. */
    async give(text, done, otherwise) {
      this.status.textContent = (await copied(text)) ? done : otherwise;
    }

    /* A link to the state, the same in Python, and which model it is; a notebook's frame has neither. */
    foot() {
      const link = button(t("Link to this"), () => {
        history.replaceState(null, "", this.link());
        this.give(location.href, ...(window.vitSamples[this.picture] ? [t("The link is copied."), t("The link is in the address line.")]
          : [t("The link, without your picture, is copied."), t("The link, without your picture, is in the address line.")]));
      });
      const copy = button(t("Copy"), () => this.give(this.code.textContent, t("The lines are copied."), t("Mark them to copy them.")));
      this.code = h("pre", { tabindex: "0", "aria-label": t("Lines of Python") });
      const { dataset, test_accuracy: accuracy, parameters } = this.model.card;
      const says = { name: this.name, n: parameters.toLocaleString("en"), dataset, share: percent(accuracy) };
      const card = note(accuracy === null ? t("{name}: {n} parameters.", says)
        : t("{name}: {n} parameters, trained on {dataset}, {share} of its test images right.", says));
      const page = location.protocol !== "about:", same = folded(t("The same in Python"), false, this.code, copy);
      const node = h("div", { class: "part" }, card, page ? [h("div", { class: "row" }, link), same] : []);
      return { node, draw: () => { this.code.textContent = this.python(); } };
    }

    /* The lines that compute in a notebook what is shown; what is grey is painted before it moves. */
    python() {
      const { model: { card: { dataset } } } = this, { lines, what } = this.setting();
      const names = dataset?.startsWith("Drawn") ? "DRAWN10" : "CIFAR10";
      return [...lines, `logits = vl.intervene(${["model", "vl.normalize(image)", ...what].join(", ")})`,
        `for name, p in zip(vl.${names}_CLASSES, logits.softmax(-1)[0]):`,
        '    print(f"{name:12}{p:.3f}")', "",
      ].join("\n");
    }

    /* The lines of Python that make model and image, and what is done to them, as `vl.intervene` and `vl.trace` take it. */
    setting() {
      const { name, picture, size, n, P } = this, { order, painted, positions, removed, heads } = this.state;
      const list = (all) => `[${all.join(", ")}]`, drawn = picture.match(/^drawn (.+)/)?.[1];
      const grey = painted.map((to) => order[to]), place = (k) => `${k} * ${P}:${k} * ${P} + ${P}`;
      const what = [
        order.some((from, to) => from !== to) && `order=${list(order)}`,
        positions && `positions=${positions === "none" ? '"none"' : list(positions)}`,
        removed.length && `remove=${list(removed)}`,
        heads.length && `heads=${list(heads.map(([l, k]) => `(${l}, ${k})`))}`,
      ].filter(Boolean);
      const lines = [
        "import vitlib as vl", "",
        `model, card = vl.load_pretrained("${name}")`,
        ...(drawn ? ['images, labels = vl.load_drawn10("test", n=200)',
          `image = images[labels == vl.DRAWN10_CLASSES.index("${drawn}")][:1]`]
          : window.vitSamples[picture] ? [`image = vl.sample_image("${picture}", ${size})[None]`]
            : [`image = vl.load_image("your-picture.jpg", ${size})[None]`]),
        ...(grey.length ? [`for n in ${list(grey)}:  # grey`,
          `    image[..., ${place(`(n // ${n})`)}, ${place(`(n % ${n})`)}] = 128`] : []),
      ];
      return { lines, what };
    }

    // The view

    draw() {
      const { classes } = this.model, { probs } = this.look(), now = argmax(probs);
      this.view.classList.toggle("erases", this.erases);
      this.drawPicture();
      this.verdict.textContent = t("{now}, {share}", { now: classes[now], share: percent(probs[now]) });
      this.change.textContent = this.tell();
      this.bars.show(probs, this.before);
      this.undo.disabled = !this.past.length;
      this.reset.disabled = !this.told().length;
      this.status.textContent = this.stays;
      this.panels.forEach((panel) => panel.draw());
      this.say(t("{verdict}. {change}", { verdict: this.verdict.textContent, change: this.change.textContent }));
    }

    tell() {
      const did = this.told();
      return did.length ? t("{did}: {turn}.", { did: clauses(did), turn: this.turn(this.result.probs) })
        : this.opening(this.picture, this.result.probs);
    }

    drawPicture() {
      const { removed, painted } = this.state;
      paint(this.shown, this.grid.canvas);
      this.grid.cells.forEach((cell, i) => {
        const gone = removed.includes(i), grey = painted.includes(i);
        cell.className = gone ? "out" : "";
        setPressed(cell, gone || grey);
        cell.setAttribute("aria-label", clauses([place(i, this.n), gone ? t("rubbed out") : grey && t("grey")]));
      });
    }

    /* The answer before and now, in words. */
    turn(probs) {
      const { classes } = this.model, [was, now] = [this.before, probs].map(argmax);
      const first = `${classes[was]} ${percent(this.before[was])}`, share = percent(probs[now]);
      const { painted, removed } = this.state;
      if (new Set([...painted, ...removed]).size === this.N)
        return t("nothing of the picture is left, and what it says now ({now} {share}) rests on nothing", { now: classes[now], share });
      return now === was ? t("still {first} → {share}", { first, share })
        : t("it changed its mind, {first} → {now} {share}", { first, now: classes[now], share });
    }

    /* Said of an untouched picture: whether the model is wrong about it, and what there is to do. */
    opening(name, probs) {
      return sentences(this.remark(name, probs), t("Rub out patches: how many can it spare?"));
    }

    /* The longest that can be said. */
    longest() {
      const { N } = this, [now] = byLength(this.model.classes);
      const known = Object.keys(window.vitSamples).map((name) => this.opening(name));
      return [...known, t("{N} of {N} patches rubbed out, {N} painted grey, positions set to zero: nothing of the picture is "
        + "left, and what it says now ({now} 99 %) rests on nothing.", { N, now })];
    }

    /* What was done, in words. */
    told() {
      const { order, painted, removed, positions, heads } = this.state;
      const moved = order.filter((from, to) => from !== to).length;
      const all = [
        removed.length && t("{n} of {N} patches rubbed out", { n: removed.length, N: this.N }),
        painted.length && t("{n} painted grey", { n: painted.length }),
        moved && t("{moved} moved", { moved }),
        positions && (positions === "none" ? t("positions set to zero") : t("positions shuffled")),
        heads.length && tn("{n} head off", "{n} heads off", heads.length),
      ].filter(Boolean);
      return all.length < 4 ? all : [...all.slice(0, 2), t("{n} more changes", { n: all.length - 2 })];
    }
  }

  customElements.define("vit-lab", VitLab);
})();
