/* <vit-lab model="cifar10-modern" picture="cat" brief>: a Vision Transformer to take apart, and to watch meanwhile.

   All that was done to the picture and to the model is one small object, `state`; every change makes a new one, so that
   undo is a list, and a link is the state written down. `look` computes what follows from it, in one forward pass; the
   panels (lab-panels.js) show it. With `brief`, there are only the picture, the answer and the eraser. */
(() => {
  "use strict";

  const { VitExplorer, bars, define, grid, h, paint, percent, sample, sides } = window.vitExplorer;

  const TOOLS = {
    remove: ["Rub out", "The token is left out, as if the picture had no such patch."],
    paint: ["Paint grey", "The patch stays and becomes grey; the model sees grey."],
    swap: ["Swap two", "Press two patches: their contents change places."],
  };

  class VitLab extends VitExplorer {
    static style = `
      .head { align-items: start; display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; justify-content: space-between; }
      .head, .head p { margin-bottom: 0.4rem; }
      .grid + .row, .grid + .note, .bars + .row { margin-top: 0.6rem; }
      .tools button[aria-pressed="true"]::before { content: "✓ "; }
      .grid > button.out { background: repeating-linear-gradient(45deg, var(--ground) 0 4px, var(--rule) 4px 6px); }
      .grid > button[aria-pressed="true"] { box-shadow: none; }
      .grid > button.first { box-shadow: inset 0 0 0 3px var(--warm); }
      .tour p { background: var(--back); border-left: 4px solid var(--accent); border-radius: 0.3rem;
        padding: 0.6rem 0.8rem; }
      .part { margin-top: 0.8rem; }
      summary { cursor: pointer; }
      .layers { display: grid; gap: 0.25rem; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; }
      .layers button { font-size: 0.78rem; line-height: 1.35; padding: 0.2rem 0; }
      .layers small { font-size: 0.72rem; }
      .says { display: grid; font-size: 0.68rem; gap: 1px; grid-template-columns: repeat(var(--n), 1fr); }
      .says span { align-items: center; aspect-ratio: 1; border-radius: 2px; display: flex; justify-content: center;
        overflow: hidden; }
      .heads { border-collapse: collapse; }
      .heads th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.4rem; }
      .heads button { min-height: 1.8rem; min-width: 1.8rem; padding: 0; }`;

    async build() {
      const name = this.getAttribute("model") ?? "cifar10-modern", brief = this.hasAttribute("brief");
      this.model = await window.vit.load(name);
      const whole = ["lab-results.js", "lab-panels.js", "lab-tour.js", `scores-${name}.js`];
      const files = ["rankings.js", "lab-parts.js", ...(brief ? [] : whole)];
      await Promise.all(files.map(window.vit.script));
      const { img_size, patch_size: P, depth: L, num_heads: heads } = this.model.config, n = img_size / P;
      Object.assign(this, { name, size: img_size, P, L, heads, n, N: n * n, tool: "remove", past: [] });
      this.chance = window.vitRankings.shuffled(this.N);
      this.grid = grid(n, `The picture: ${n} by ${n} patches`, (i) => this.press(i));
      this.rubbing();

      this.verdict = h("p", { class: "verdict" });
      this.change = h("p");
      this.hint = h("p", { class: "note" });
      this.bars = bars(this.model.classes);
      const picker = await this.chooser(this.pictures(), (bytes, name) => this.take(bytes, name), img_size);
      const said = h("div", {}, this.verdict, this.change), tools = this.toolbox();
      if (brief) {
        this.panels = [];
        this.view.append(said, sides([this.grid.node, this.hint], [this.bars.node, picker, this.reset]));
      } else {
        const { layers, rankings, inside } = window.vitLabPanels;
        this.panels = [layers(this), rankings(this), inside(this)];
        const [first, second, third] = this.panels.map((panel) => panel.node);
        const tour = (this.tour = window.vitTour(this));
        this.view.append(h("div", { class: "head" }, said, tour.start), tour.node,
          sides([this.grid.node, picker], [this.bars.node, tools]),
          first, sides(second, third), this.foot());
      }

      this.follow();
      addEventListener("hashchange", () => this.follow(), this.whileHere);
    }

    /* Shows the state of the page's link, if it is for this lab; it may choose the picture as well. */
    follow() {
      const state = this.hasAttribute("brief") ? null : window.vitLabParts.fromLink(this);
      if (!state && this.state) return;
      const first = this.getAttribute("picture") ?? "cat";
      this.take(sample(first), first, state ?? this.fresh());
      this.mark(first);
      if (state) setTimeout(() => this.scrollIntoView());
    }

    fresh() {
      return { order: [...Array(this.N).keys()], painted: [], removed: [], positions: null, heads: [] };
    }

    take(bytes, name, state = this.tour?.state() ?? this.fresh()) {
      Object.assign(this, { bytes, picture: name, past: [], first: undefined, state: this.fresh() });
      this.before = this.look().probs;
      this.state = state;
      this.draw();
    }

    /* A new state; the old one is kept for undo, unless more of the same gesture follows. */
    set(changes, { keep = true } = {}) {
      if (keep) this.past.push(this.state);
      this.state = { ...this.state, ...changes };
      this.draw();
    }

    /* The picture as it is now: its patches in their order, some of them grey. */
    picturesque() {
      const { size, P, n, bytes } = this, { order, painted } = this.state, out = new Uint8Array(bytes.length);
      for (let place = 0; place < this.N; place++) {
        const to = [Math.floor(place / n) * P, (place % n) * P];
        const from = [Math.floor(order[place] / n) * P, (order[place] % n) * P];
        for (let c = 0; c < 3; c++)
          for (let p1 = 0; p1 < P; p1++)
            for (let p2 = 0; p2 < P; p2++) {
              const pixel = bytes[(c * size + from[0] + p1) * size + from[1] + p2];
              out[(c * size + to[0] + p1) * size + to[1] + p2] = painted.includes(place) ? 128 : pixel;
            }
      }
      return out;
    }

    look() {
      const { positions, removed: remove, heads } = this.state;
      this.shown = this.picturesque();
      const pixels = window.vitPictures.standardise(this.shown);
      return (this.result = this.model.run(pixels, { positions, remove, heads }));
    }

    // What the reader does

    press(i) {
      if (this.tool !== "swap") {
        const list = this.state[this.erased];
        this.set({ [this.erased]: list.includes(i) ? list.filter((one) => one !== i) : [...list, i] });
      } else if (this.first === undefined || this.first === i) {
        this.first = this.first === i ? undefined : i;
        this.draw();
      } else {
        const from = [...Array(this.N).keys()];
        [from[i], from[this.first]] = [this.first, i];
        this.first = undefined;
        this.move(from);
      }
    }

    /* What stands in place from[i] comes to place i, and what was done to it comes along. */
    move(from) {
      const { order, removed, painted } = this.state;
      const along = (list) => from.flatMap((old, place) => (list.includes(old) ? [place] : []));
      this.set({ order: from.map((i) => order[i]), removed: along(removed), painted: along(painted) });
    }

    /* The list of the state that the eraser in use writes to. */
    get erased() {
      return this.tool === "remove" ? "removed" : "painted";
    }

    /* Rubbing with the mouse: every patch that it passes while it is down; one step for undo.
       A finger's drag scrolls the page, so on a touch screen each patch is tapped. */
    rubbing() {
      const { node } = this.grid;
      let stroke = null;
      const at = ({ clientX, clientY }) => {
        const box = node.getBoundingClientRect();
        const col = Math.floor(((clientX - box.left) / box.width) * this.n);
        const row = Math.floor(((clientY - box.top) / box.height) * this.n);
        return Math.min(row, col) >= 0 && Math.max(row, col) < this.n ? row * this.n + col : -1;
      };
      const end = () => setTimeout(() => { stroke = null; });
      node.addEventListener("pointerdown", (event) => {
        const begins = this.tool !== "swap" && event.pointerType === "mouse" && event.button === 0;
        stroke = begins ? { last: at(event), done: new Set() } : null;
      });
      node.addEventListener("pointermove", (event) => {
        const i = stroke && event.buttons ? at(event) : -1;
        if (i < 0 || i === stroke.last) return;
        const begins = !stroke.done.size;
        this.between(stroke.last, i).forEach((one) => stroke.done.add(one));
        stroke.last = i;
        this.set({ [this.erased]: [...new Set([...this.state[this.erased], ...stroke.done])] }, { keep: begins });
      });
      addEventListener("pointerup", end, this.whileHere);
      addEventListener("pointercancel", end, this.whileHere);
      node.addEventListener("click", (event) => {
        if (!stroke?.done.size || !event.detail) return; // a key's click has no detail
        event.stopPropagation();
        event.preventDefault();
      }, true);
    }

    /* The places on the line from one to another: a fast pointer skips some. */
    between(from, to) {
      const { n } = this, rows = Math.floor(to / n) - Math.floor(from / n), cols = (to % n) - (from % n);
      const steps = Math.max(Math.abs(rows), Math.abs(cols), 1);
      return Array.from({ length: steps + 1 }, (_, k) =>
        Math.round(Math.floor(from / n) + (rows * k) / steps) * n + Math.round((from % n) + (cols * k) / steps));
    }

    toolbox() {
      const { n, N } = this, half = Math.floor(n / 2), all = [...Array(N).keys()];
      const row = (i) => Math.floor(i / n), col = (i) => i % n;
      const moves = { // from which place each gets its patch
        "Shuffle all": () => window.vitRankings.shuffled(N),
        "Swap quadrants": () => all.map((i) => ((row(i) + half) % n) * n + ((col(i) + half) % n)),
        "Swap halves": () => all.map((i) => row(i) * n + ((col(i) + half) % n)),
        Mirror: () => all.map((i) => row(i) * n + (n - 1 - col(i))),
      };
      const button = (label, onclick) => h("button", { type: "button", onclick }, label);
      this.toolButtons = Object.entries(TOOLS).map(([tool, [label]]) => button(label, () => {
        Object.assign(this, { tool, first: undefined });
        this.draw();
      }));
      this.undo = button("Undo", () => {
        this.state = this.past.pop();
        this.draw();
        if (this.undo.disabled) this.grid.cells.find((cell) => cell.tabIndex === 0).focus();
      });
      this.reset = button("Start again", () => this.set(this.fresh()));
      const movers = Object.entries(moves).map(([label, move]) => button(label, () => this.move(move())));
      return h("div", { class: "part" },
        h("div", { class: "row tools", role: "group", "aria-label": "What a press on a patch does" }, this.toolButtons),
        this.hint, h("div", { class: "row", role: "group", "aria-label": "Move patches" }, movers),
        h("div", { class: "row" }, this.undo, this.reset));
    }

    /* A link to the state, and which model it is. */
    foot() {
      const done = (this.linked = h("span", { role: "status", class: "note" }));
      const link = async () => {
        const without = window.vitSamples[this.picture] ? "" : ", without your picture";
        history.replaceState(null, "", window.vitLabParts.link(this));
        try {
          await navigator.clipboard.writeText(location.href);
          done.textContent = `The link is copied${without}.`;
        } catch {
          done.textContent = `The address line holds the link${without}.`;
        }
      };
      const { dataset, test_accuracy: accuracy, parameters } = this.model.card;
      const known = accuracy === null ? "" : `, trained on ${dataset}, ${percent(accuracy)} of its test images right`;
      const card = `${this.name}: ${parameters.toLocaleString("en")} parameters${known}.`;
      const page = location.protocol !== "about:"; // a notebook's frame has no address
      const button = page ? h("button", { type: "button", onclick: link }, "Link to this") : [];
      return h("div", { class: "row part" }, button, done,
        h("span", { class: "note" }, `${card} Your picture stays on this page.`));
    }

    // The view

    draw() {
      const { classes } = this.model, { probs } = this.look(), best = (list) => list.indexOf(Math.max(...list));
      const now = best(probs), was = best(this.before), did = this.told();
      this.drawPicture();
      this.verdict.textContent = `${classes[now]}, ${percent(probs[now])}`;
      const then = now === was
        ? `still ${classes[was]}`
        : `it changed its mind, from ${classes[was]} to ${classes[now]}`;
      this.change.textContent = did.length
        ? `${did.join(", ")}: ${then} (${classes[was]} ${percent(this.before[was])} → ${percent(probs[was])}).`
        : "Rub out patches until it changes its mind.";
      this.hint.textContent = TOOLS[this.tool][1];
      Object.keys(TOOLS).forEach((tool, i) =>
        this.toolButtons[i].setAttribute("aria-pressed", String(tool === this.tool)));
      this.bars.show(probs, this.before);
      this.undo.disabled = !this.past.length;
      this.reset.disabled = !did.length;
      if (this.linked) this.linked.textContent = "";
      this.panels.forEach((panel) => panel.draw());
      this.say(`${this.verdict.textContent}. ${this.change.textContent}`);
    }

    drawPicture() {
      const { removed, painted } = this.state;
      paint(this.shown, this.grid.canvas);
      this.grid.cells.forEach((cell, i) => {
        const gone = removed.includes(i), grey = painted.includes(i), first = i === this.first;
        const what = `${gone ? ", rubbed out" : grey ? ", grey" : ""}${first ? ", chosen" : ""}`;
        cell.className = first ? "first" : gone ? "out" : "";
        cell.setAttribute("aria-pressed", String(gone || grey || first));
        cell.setAttribute("aria-label", `row ${Math.floor(i / this.n)}, column ${i % this.n}${what}`);
      });
    }

    /* What was done, in words. */
    told() {
      const { order, painted, removed, positions, heads } = this.state;
      const moved = order.filter((from, to) => from !== to).length;
      return [
        removed.length && `${removed.length} of ${this.N} patches rubbed out`,
        painted.length && `${painted.length} painted grey`,
        moved && `${moved} moved`,
        positions && (positions === "none" ? "positions set to zero" : "positions shuffled"),
        heads.length && `${heads.length} head${heads.length > 1 ? "s" : ""} off`,
      ].filter(Boolean);
    }
  }

  define("vit-lab", VitLab);
})();
