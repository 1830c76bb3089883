/* <vit-lab model="cifar10-modern" picture="cat" brief>: a Vision Transformer to take apart, and to watch while it happens.

   All that was done to the picture and to the model is one small object, `state`; every change makes a new one, so that
   undo is a list, and a link is the state written down. `look` computes what follows from it, in one forward pass.
   With `brief`, only the picture, the answer and the eraser are shown. */
(() => {
  "use strict";

  const { VitExplorer, bars, define, grid, h, paint, percent, sample } = window.vitExplorer;
  const shuffled = (list, random = Math.random) => {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  };
  const TOOLS = { remove: "Rub out", paint: "Paint grey", swap: "Swap two" };
  const HINTS = { remove: "The token is left out, as if the picture had no such patch.", paint: "The patch stays and becomes grey; the model sees grey.", swap: "Press two patches: their contents change places." };

  class VitLab extends VitExplorer {
    static style = `
      .tools button[aria-pressed="true"]::before { content: "✓ "; }
      .lens { align-items: end; display: flex; gap: 0.3rem; } .lens button { flex: 1 1 0; line-height: 1.2; min-width: 0; padding: 0.2rem 0.1rem; font-size: 0.78rem; overflow: hidden; }
      .says { display: grid; font-size: 0.66rem; gap: 1px; grid-template-columns: repeat(var(--n), 1fr); } .says span { aspect-ratio: 1; align-items: center; display: flex; justify-content: center; overflow: hidden; border-radius: 2px; }
      .heads { border-collapse: collapse; } .heads th { color: var(--soft); font-size: 0.8rem; font-weight: 500; padding: 0 0.4rem; } .heads button { min-height: 1.8rem; min-width: 1.8rem; padding: 0; }
      .grid.removing > .out { background: repeating-linear-gradient(45deg, var(--ground) 0 4px, var(--rule) 4px 6px); }
      .grid > .out { background: repeating-linear-gradient(45deg, var(--ground) 0 4px, var(--rule) 4px 6px); }
      .grid > .first { box-shadow: inset 0 0 0 3px var(--warm); }
      .tour p { background: var(--back); border-left: 4px solid var(--accent); border-radius: 0.3rem; padding: 0.6rem 0.8rem; }
      .part { margin-top: 1rem; } summary { cursor: pointer; }`;

    async build() {
      const name = this.getAttribute("model") ?? "cifar10-modern";
      this.model = await window.vit.load(name);
      const { img_size, patch_size: P, depth: L, num_heads: heads } = this.model.config;
      Object.assign(this, { name, size: img_size, P, L, heads, n: img_size / P, N: (img_size / P) ** 2, tool: "remove", layer: L, past: [] });
      this.chance = shuffled([...Array(this.N).keys()]);
      this.grid = grid(this.n, "The picture: 8 by 8 patches", (i) => this.press(i));
      this.rubbing();
      const picker = await this.chooser(this.pictures(), (bytes, name) => this.take(bytes, name), img_size);
      await Promise.all(["lab-parts.js", "lab-tour.js", "lab-results.js"].map((file) => window.vit.script(file)));
      this.verdict = h("p", { class: "verdict" });
      this.change = h("p", {});
      this.hint = h("p", { class: "note" });
      this.bars = bars(this.model.classes);
      const tools = this.toolbox(), parts = [this.lens(), this.rankings()], inside = this.inside(), brief = this.hasAttribute("brief");
      this.view.append(...(brief ? [] : [this.guide()]), this.verdict, this.change, h("div", { class: "sides" },
        h("div", {}, this.grid.node, this.hint, ...(brief ? [] : [tools])), h("div", {}, this.bars.node, ...(brief ? [picker] : parts))), ...(brief ? [] : [inside, picker, this.foot()]));
      const state = window.vitLabParts.fromLink(this), first = this.getAttribute("picture") ?? "cat"; // a link may name another picture
      this.take(sample(first), first, state);
    }

    fresh() {
      return { order: [...Array(this.N).keys()], painted: [], removed: [], positions: null, heads: [] };
    }

    take(bytes, name, state = this.fresh()) {
      Object.assign(this, { bytes, picture: name, past: [], state: this.fresh() });
      this.before = this.look().probs;
      this.state = state;
      this.draw();
    }

    /* A new state; the old one is kept for undo. */
    set(changes) {
      this.past.push(this.state);
      this.state = { ...this.state, ...changes };
      this.draw();
    }

    /* The picture as it is now: its patches in their order, some of them grey. */
    picturesque() {
      const { size, P, n, bytes } = this, { order, painted } = this.state, out = new Uint8Array(bytes.length);
      for (let place = 0; place < this.N; place++) {
        const to = [Math.floor(place / n) * P, (place % n) * P], from = [Math.floor(order[place] / n) * P, (order[place] % n) * P];
        for (let c = 0; c < 3; c++)
          for (let p1 = 0; p1 < P; p1++)
            for (let p2 = 0; p2 < P; p2++)
              out[(c * size + to[0] + p1) * size + to[1] + p2] = painted.includes(place) ? 128 : bytes[(c * size + from[0] + p1) * size + from[1] + p2];
      }
      return out;
    }

    look() {
      const { positions, removed: remove, heads } = this.state;
      this.shown = this.picturesque();
      return (this.result = this.model.run(window.vitPictures.standardise(this.shown), { positions, remove, heads }));
    }

    // What the reader does

    press(i) {
      if (this.tool === "swap") {
        if (this.first === undefined) this.first = i;
        else {
          const order = [...this.state.order];
          [order[i], order[this.first]] = [order[this.first], order[i]];
          this.first = undefined;
          return this.set({ order });
        }
        return this.draw();
      }
      const key = this.tool === "remove" ? "removed" : "painted", list = this.state[key];
      this.set({ [key]: list.includes(i) ? list.filter((one) => one !== i) : [...list, i] });
    }

    /* Rubbing with the pointer: every patch that it passes while it is down; one step for undo. */
    rubbing() {
      let stroke = null;
      const at = (event) => {
        const box = this.grid.node.getBoundingClientRect(), col = Math.floor(((event.clientX - box.left) / box.width) * this.n), row = Math.floor(((event.clientY - box.top) / box.height) * this.n);
        return row >= 0 && col >= 0 && row < this.n && col < this.n ? row * this.n + col : -1;
      };
      this.grid.node.addEventListener("pointerdown", (event) => { if (this.tool !== "swap" && event.pointerType === "mouse") stroke = { from: at(event), done: new Set() }; });
      this.grid.node.addEventListener("pointermove", (event) => {
        const i = stroke && event.buttons ? at(event) : -1;
        if (i < 0 || stroke.done.has(i) || (i === stroke.from && !stroke.done.size)) return;
        const key = this.tool === "remove" ? "removed" : "painted", more = [i, ...(stroke.done.size ? [] : [stroke.from])].filter((one) => !this.state[key].includes(one));
        if (!stroke.done.size) this.past.push(this.state);
        [i, stroke.from].forEach((one) => stroke.done.add(one));
        this.state = { ...this.state, [key]: [...this.state[key], ...more] };
        this.draw();
      });
      addEventListener("pointerup", () => setTimeout(() => { stroke = null; }));
      this.grid.node.addEventListener("click", (event) => { if (stroke?.done.size) { event.stopPropagation(); event.preventDefault(); } }, true);
    }

    // The parts of the view

    toolbox() {
      this.toolButtons = Object.entries(TOOLS).map(([tool, label]) => h("button", { type: "button", "aria-pressed": "false", onclick: () => { this.tool = tool; this.first = undefined; this.draw(); } }, label));
      const { n, N } = this, half = n / 2, all = [...Array(N).keys()], at = (row, col) => row * n + col, row = (i) => Math.floor(i / n), col = (i) => i % n;
      const moves = {
        "Shuffle all": () => shuffled(this.state.order),
        "Swap quadrants": () => all.map((i) => this.state.order[at((row(i) + half) % n, (col(i) + half) % n)]),
        "Swap halves": () => all.map((i) => this.state.order[at(row(i), (col(i) + half) % n)]),
        "Mirror": () => all.map((i) => this.state.order[at(row(i), n - 1 - col(i))]),
      };
      const buttons = Object.entries(moves).map(([label, move]) => h("button", { type: "button", onclick: () => this.set({ order: move() }) }, label));
      this.undo = h("button", { type: "button", onclick: () => { this.state = this.past.pop(); this.draw(); } }, "Undo");
      this.reset = h("button", { type: "button", onclick: () => this.set(this.fresh()) }, "Start again");
      return h("div", {}, h("div", { class: "row tools", role: "group", "aria-label": "What a press on a patch does" }, this.toolButtons),
        h("div", { class: "row", role: "group", "aria-label": "Move patches" }, buttons), h("div", { class: "row" }, this.undo, this.reset));
    }

    /* What each layer would answer, if the head read it. */
    lens() {
      this.steps = Array.from({ length: this.L + 1 }, (_, layer) => h("button", { type: "button", "aria-pressed": "false", onclick: () => { this.layer = layer; this.draw(); } }));
      this.says = h("div", { class: "says", style: `--n:${this.n}`, role: "img" });
      this.saysNote = h("p", { class: "note" });
      return h("details", { class: "part", open: true }, h("summary", {}, "What each layer would answer (the logit lens)"), h("div", { class: "lens part", role: "group", "aria-label": "After which block" }, this.steps), this.saysNote, this.says);
    }

    rankings() {
      this.slider = h("input", { type: "range", min: "0", max: String(this.N), value: "0", "aria-label": "How many patches" });
      this.ranking = h("select", { "aria-label": "Ranked by" }, Object.keys(window.vitLabParts.RANKINGS).map((name) => h("option", {}, name)));
      this.mode = h("select", { "aria-label": "Remove or keep" }, h("option", { value: "delete" }, "remove the first"), h("option", { value: "insert" }, "keep only the first"));
      this.count = h("output", {}, "0");
      const apply = () => {
        const scores = window.vitLabParts.RANKINGS[this.ranking.value](this), order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]), k = Number(this.slider.value);
        this.count.textContent = `${k} patches`;
        const removed = this.mode.value === "delete" ? order.slice(0, k) : order.slice(k);
        if (!this.sliding) this.past.push(this.state);
        this.sliding = true;
        this.state = { ...this.state, removed };
        this.draw();
      };
      this.slider.addEventListener("input", apply);
      this.slider.addEventListener("change", () => { this.sliding = false; });
      [this.ranking, this.mode].forEach((one) => one.addEventListener("change", () => { apply(); this.sliding = false; }));
      return h("details", { class: "part" }, h("summary", {}, "Rub out by a ranking"), h("div", { class: "row part" }, this.mode, this.slider, this.count, h("span", {}, "by"), this.ranking));
    }

    inside() {
      this.places = h("select", { "aria-label": "Positions", onchange: () => this.set({ positions: { trained: null, none: "none", shuffled: shuffled([...Array(this.N).keys()]) }[this.places.value] }) },
        h("option", { value: "trained" }, "as trained"), h("option", { value: "none" }, "set to zero"), h("option", { value: "shuffled" }, "shuffled"));
      this.switches = [];
      const rows = Array.from({ length: this.L }, (_, layer) => h("tr", {}, h("th", { scope: "row" }, `layer ${layer}`), Array.from({ length: this.heads }, (_, head) => {
        const button = h("button", { type: "button", "aria-pressed": "true", "aria-label": `layer ${layer}, head ${head}`, onclick: () => {
          const on = this.state.heads.some(([l, k]) => l === layer && k === head);
          this.set({ heads: on ? this.state.heads.filter(([l, k]) => l !== layer || k !== head) : [...this.state.heads, [layer, head]] });
        } });
        this.switches.push({ layer, head, button });
        return h("td", {}, button);
      })));
      return h("details", { class: "part" }, h("summary", {}, "Inside the model: positions and heads"), h("div", { class: "sides part" }, h("div", { class: "row" }, h("span", {}, "Position embeddings"), this.places),
        h("div", {}, h("p", { class: "note" }, "Heads that work"), h("table", { class: "heads" }, h("tbody", {}, rows)))));
    }

    foot() {
      const done = h("span", { role: "status", class: "note" });
      const { dataset, test_accuracy: accuracy, parameters } = this.model.card;
      return h("div", { class: "row part" }, h("button", { type: "button", onclick: async () => {
        const link = window.vitLabParts.link(this);
        history.replaceState(null, "", link);
        try { await navigator.clipboard.writeText(location.href); done.textContent = "The link is copied."; } catch { done.textContent = "The address line holds the link."; }
      } }, "Link to this"), done, h("span", { class: "note" }, [`${this.name}: ${parameters.toLocaleString("en")} parameters`, ...(accuracy === null ? [] : [`trained on ${dataset}`, `${percent(accuracy)} of its test images right`])].join(", ") + ". Your picture stays on this page."));
    }

    /* The tour: a button, and once it is pressed a step at a time. */
    guide() {
      const steps = window.vitLab.models[this.name] ? window.vitTour(this) : [], node = h("div", { class: "tour" });
      const show = (at) => {
        if (at === null) return node.replaceChildren(...(steps.length ? [h("button", { type: "button", onclick: () => show(0) }, "Take the tour: five minutes")] : []));
        const { title, text, state } = steps[at], turn = (label, to) => h("button", { type: "button", onclick: () => show(to) }, label);
        node.replaceChildren(h("p", {}, h("b", {}, `${at + 1} of ${steps.length}: ${title}${/[.?]$/.test(title) ? "" : "."} `), text),
          h("div", { class: "row" }, ...(at ? [turn("Back", at - 1)] : []), ...(at + 1 < steps.length ? [turn("Next", at + 1)] : []), turn("End the tour", null)));
        this.set(state);
        this.say(`${title}. ${text}`);
        node.querySelector("button:nth-last-child(2), button").focus();
      };
      show(null);
      return node;
    }

    // The view

    draw() {
      const { classes } = this.model, { probs } = this.look(), { removed, painted, order, positions, heads } = this.state;
      const best = (list) => list.indexOf(Math.max(...list)), now = best([...probs]), was = best([...this.before]);
      paint(this.shown, this.grid.canvas);
      this.grid.cells.forEach((cell, i) => {
        cell.className = removed.includes(i) ? "out" : i === this.first ? "first" : "";
        cell.setAttribute("aria-label", `row ${Math.floor(i / this.n)}, column ${i % this.n}${removed.includes(i) ? ", rubbed out" : ""}${painted.includes(i) ? ", grey" : ""}`);
      });
      const moved = order.filter((from, to) => from !== to).length, did = [removed.length && `${removed.length} of ${this.N} patches rubbed out`, painted.length && `${painted.length} painted grey`, moved && `${moved} moved`,
        positions === "none" ? "positions set to zero" : positions && "positions shuffled", heads.length && `${heads.length} head${heads.length > 1 ? "s" : ""} off`].filter(Boolean);
      this.verdict.textContent = `${classes[now]}, ${percent(probs[now])}`;
      this.change.textContent = !did.length ? "Rub out patches until it changes its mind." : `${did.join(", ")}: ${now === was ? `still ${classes[now]}` : `it changed its mind, from ${classes[was]} to ${classes[now]}`} (${classes[was]} ${percent(this.before[was])} → ${percent(probs[was])}).`;
      this.hint.textContent = HINTS[this.tool];
      this.toolButtons.forEach((button, i) => button.setAttribute("aria-pressed", String(Object.keys(TOOLS)[i] === this.tool)));
      this.bars.show(probs, this.before);
      this.undo.disabled = !this.past.length;
      this.reset.disabled = !did.length;
      this.places.value = positions === "none" ? "none" : positions ? "shuffled" : "trained";
      this.switches.forEach(({ layer, head, button }) => {
        const off = heads.some(([l, k]) => l === layer && k === head);
        button.setAttribute("aria-pressed", String(!off));
        button.textContent = off ? "–" : "✓";
      });
      if (!this.hasAttribute("brief")) this.drawLens();
      this.say(`${this.verdict.textContent}. ${this.change.textContent}`);
    }

    drawLens() {
      const { classes } = this.model, best = (list) => list.indexOf(Math.max(...list));
      this.steps.forEach((button, layer) => {
        const { whole } = window.vitLabParts.answers(this, layer), k = best(whole);
        button.replaceChildren(layer ? `block ${layer - 1}` : "patches", h("br"), h("b", {}, classes[k]), h("br"), percent(whole[k]));
        button.setAttribute("aria-pressed", String(layer === this.layer));
      });
      const { patches } = window.vitLabParts.answers(this, this.layer), counts = new Map();
      this.says.replaceChildren(...Array.from({ length: this.N }, (_, i) => {
        const probs = patches.get(i);
        if (!probs) return h("span", {});
        const k = best(probs);
        counts.set(k, (counts.get(k) ?? 0) + 1);
        return h("span", { style: `background:color-mix(in srgb, var(--accent) ${Math.round(10 + 60 * probs[k])}%, transparent)`, title: `${classes[k]} ${percent(probs[k])}` }, classes[k].slice(0, 4));
      }));
      const [top] = [...counts].sort((a, b) => b[1] - a[1]);
      this.saysNote.textContent = `Each patch by itself, ${this.layer ? `after block ${this.layer - 1}` : "before the first block"}:${top ? ` ${top[1]} of ${patches.size} say ${classes[top[0]]}.` : ""}`;
      this.says.setAttribute("aria-label", this.saysNote.textContent);
    }
  }

  define("vit-lab", VitLab);
})();
