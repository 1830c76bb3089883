/* <vit-learn task="where" without="positions" depth="2" brief>: a ViT learns in the page, beside one that lacks a part.

   Two workers train from the same random numbers on the same pictures (learn.js); what they report is drawn here. With
   `brief` there are no settings. All that is set is in `state`, which a link holds. */
(() => {
  "use strict";

  const {
    VitExplorer, button, clauses, copied, folded, grid, h, keeps, linked, note, paint, perCent, percent, place, range, select, setPressed,
    sides, squares, working,
  } = window.vitExplorer;

  const SCRIPTS = ["vit.js", "kernel.js", "learn-tasks.js", "learn.js"];
  const PARTS = { // what the other run lacks
    positions: { positions: false }, attention: { attention: false }, MLP: { mlp: false },
    residual: { residual: false }, LayerNorm: { norm: false },
  };
  const CHOICES = { // of the settings, the first is meant
    depth: [2, 1, 4, 6], width: [16, 8, 32], heads: [2, 1, 4], patch: [4, 2, 8, 16], pool: ["avg", "token"],
    rate: [0.003, 0.0001, 0.001, 0.01, 0.03, 0.1], scatter: [1, 0.02], steps: [600, 300, 1200], seed: range(10),
  };
  const NAMES = {
    depth: t("blocks"), width: t("width D"), heads: t("heads"), patch: t("patch size"), pool: t("the head reads"), rate: t("learning rate"),
    scatter: t("positions start at"), steps: t("steps"), seed: t("seed"), avg: t("the mean"), token: "CLS",
  };
  // t("without positions") t("without attention") t("without MLP") t("without residual") t("without LayerNorm")
  const lacks = (part) => t(`without ${part}`);
  const scatter = (task) => (task === "where" ? 0.02 : 1); // where its positions start
  const SHOWN = 8, SEED = 77; // pictures on the page
  const LATEST = 10; // batches that the accuracy is the mean of; each picture in them was new
  const PHONE = matchMedia("(pointer: coarse)").matches; // there one run after the other, in shorter turns
  const PACE = { latest: LATEST, report: PHONE ? 250 : 100, turn: PHONE ? 15 : 30 }; // ms

  /* The worker's side: { make, pictures }, { going, until }, { watch } come; reports go. */
  function work(here, pace) {
    let learner, pictures, rights, going = false, until = 0, watch = { picture: 0, patch: 0 };
    const mean = (list) => list.reduce((a, b) => a + b, 0) / Math.max(1, list.length);
    const report = () => {
      const { T } = learner, answers = learner.answers(pictures), token = 1 + watch.patch;
      const h = learner.options.heads, heads = learner.maps().at(-1)?.slice(watch.picture * h).slice(0, h);
      const map = heads && heads[0].subarray(1, T).map((_, s) => mean(heads.map((one) => one[token * T + 1 + s])));
      const { loss, steps } = learner;
      here.postMessage({ steps, loss, accuracy: steps ? mean(rights) : null, answers, map });
    };
    const one = () => {
      learner.step();
      rights = [...rights, learner.right].slice(-pace.latest);
    };
    let turning = false, last = 0;
    const turn = () => {
      turning = going && learner.steps < until;
      if (!turning) return report();
      const began = performance.now();
      do one(); while (learner.steps < until && performance.now() - began < pace.turn);
      if (performance.now() - last > pace.report) {
        last = performance.now();
        report();
      }
      setTimeout(turn);
    };
    here.onmessage = ({ data }) => {
      ({ pictures = pictures, going = going, until = until, watch = watch } = data);
      if (data.make) [learner, rights] = [new here.vitLearner(data.make), []];
      if (data.single) one();
      if (going && !turning) turn();
      else if (!turning) report();
    };
  }

  class VitLearn extends VitExplorer {
    static style = `
      .row select { max-width: 100%; }
      .curves { height: 240px; }
      .eight { display: grid; gap: 0.5rem; grid-template-columns: repeat(4, 1fr); }
      .eight button { align-content: start; background: none; display: grid; font-size: 0.72rem; line-height: 1.25;
        padding: 3px; }
      .eight button[aria-pressed="true"] { background: none; color: inherit; box-shadow: 0 0 0 2px var(--accent); }
      .eight .wrong { color: var(--soft); }
      .first { color: var(--accent); font-weight: 600; } .second { color: var(--warm); font-weight: 600; }
      .maps { display: grid; gap: 0.8rem; grid-template-columns: repeat(2, minmax(0, 14rem)); margin-top: 1rem; }
      .maps > div { align-self: end; } .maps p { margin: 0 0 0.3rem; } .maps > p { grid-column: 1 / -1; margin: 0; }
      .settings { display: grid; gap: 0.4rem 0.8rem; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); }
      .settings label { font-size: 0.85rem; } .settings select { display: block; width: 100%; }
      summary { padding: 0.3rem 0; }`;

    async build() {
      for (const script of SCRIPTS) await window.vit.script(script);
      const { classes, size } = window.vitTasks, brief = this.hasAttribute("brief");
      Object.assign(this, { size, going: false, runs: [] });
      this.state = this.fromLink() ?? this.fresh();
      const set = (name, values, label, shown = (value) => String(value)) => {
        const one = select(label, values.map(shown), () => this.set({ [name]: values[one.selectedIndex] }));
        one.draw = () => { one.selectedIndex = values.findIndex((value) => value === this.state[name]); };
        return one;
      };
      this.selects = [set("task", Object.keys(classes), t("Task")),
        set("without", ["", ...Object.keys(PARTS)], t("Beside it"), (part) => (part ? lacks(part) : t("nothing")))];
      const settings = Object.entries(CHOICES).map(([name, values]) => {
        const one = set(name, [...values].sort((a, b) => a - b), NAMES[name], (value) => NAMES[value] ?? String(value));
        this.selects.push(one);
        return h("label", {}, NAMES[name], one);
      });
      this.start = button(t("Start"), () => this.go(!this.going));
      this.start.className = "primary";
      this.single = button(t("One step"), () => this.tell({ single: true }));
      this.said = keeps(h("p"), t("Of the last {n} pictures: with everything 100 % (after 1200 steps), without positions 100 % "
        + "(after 1200 steps); chance 50 %.", { n: LATEST * 64 }));
      this.curves = h("canvas", { class: "curves", role: "img" });
      this.legend = h("p", { class: "note" });
      this.eight = h("div", { class: "eight", role: "group", "aria-label": t("Eight pictures and the answers") });
      this.maps = h("div", { class: "maps" });
      this.view.append(
        this.verdict,
        h("div", { class: "row" }, this.selects[0], h("span", {}, t("beside it:")), this.selects[1]),
        h("div", { class: "row" }, this.start, this.single, button(t("Start again"), () => this.set({})), brief ? [] : this.linking()),
        this.said, sides([this.curves, this.legend], [this.eight]), this.maps,
        ...(brief ? [] : [folded(t("Settings"), false, h("div", { class: "settings" }, settings))]));
      const stop = () => { if (document.hidden) this.go(false); };
      document.addEventListener("visibilitychange", stop, this.whileHere);
      this.here.signal.addEventListener("abort", () => this.runs.forEach(({ worker }) => worker.terminate()));
      this.set({});
    }

    /* The state in which it opens, but for what is asked; where positions start follows the task. */
    fresh(asked = {}) {
      const first = Object.entries(CHOICES).map(([name, [value]]) => [name, value]);
      const given = ["task", "without", "depth"].filter((name) => this.hasAttribute(name));
      const value = (name) => (CHOICES[name] ? Number(this.getAttribute(name)) : this.getAttribute(name));
      const told = given.map((name) => [name, value(name)]);
      const tag = { task: "where", without: "positions", ...Object.fromEntries(told), ...asked };
      return { ...Object.fromEntries(first), scatter: scatter(tag.task), ...tag };
    }

    /* Settings; both runs begin anew. */
    set(changes) {
      this.state = { ...this.state, ...(changes.task && { scatter: scatter(changes.task) }), ...changes };
      const { task, without, steps, ...options } = this.state, classes = window.vitTasks.classes[task];
      this.going = false;
      this.pictures = window.vitTasks.draw(task, SHOWN, window.vitRandom(SEED));
      this.watch = { picture: 0, patch: 0 };
      const made = [{ task, ...options }, ...(without ? [{ task, ...options, ...PARTS[without] }] : [])];
      this.runs.slice(made.length).forEach(({ worker }) => worker.terminate());
      this.runs = made.map((make, i) => {
        const worker = this.runs[i]?.worker ?? this.worker(i);
        const pictures = this.pictures.pixels, { watch } = this;
        worker.postMessage({ make, pictures, until: steps, going: false, watch });
        return { worker, log: [], name: i ? lacks(without) : t("with everything") };
      });
      this.selects.forEach((one) => one.draw());
      this.legend.replaceChildren(...this.runs.map(({ name }, i) =>
        h("span", { class: ["first", "second"][i] }, `${i ? " - -" : "—"} ${name}`)), ` ···\u00a0${t("chance")}`);
      this.cells = range(SHOWN).map((p) => {
        const spans = this.runs.map(() => keeps(h("span"), ...classes.map((name) => `✗ ${name}`)));
        const truth = h("b"), names = this.runs.map(() => h("span", { class: "silent" }));
        const onclick = () => this.look({ picture: p });
        const said = spans.flatMap((one, i) => [names[i], one]);
        const node = h("button", { type: "button", onclick }, this.picture(p),
          h("span", { class: "silent" }, t("picture {n}, ", { n: p + 1 })), truth, ...said);
        return { node, truth, names, spans };
      });
      this.eight.replaceChildren(...this.cells.map(({ node }) => node));
      this.draw();
    }

    worker(i) {
      const { vit, panels, tasks, learn } = window.vitSources;
      const worker = working(vit, panels, tasks, learn, `(${work})(globalThis, ${JSON.stringify(PACE)});`);
      worker.onerror = ({ message }) => { this.said.textContent = t("It cannot go on: {message}", { message }); };
      worker.onmessage = ({ data }) => this.report(i, data);
      return worker;
    }

    tell(what) {
      this.runs.forEach(({ worker }) => worker.postMessage(what));
    }

    /* The runs that have not come to their end. */
    get left() {
      return this.runs.filter(({ now }) => !(now?.steps >= this.state.steps));
    }

    go(going) {
      this.going = going;
      const [next] = this.left;
      this.runs.forEach((run) => run.worker.postMessage({ going: going && (!PHONE || run === next) }));
      this.draw();
    }

    report(i, data) {
      const run = this.runs[i];
      if (!run) return;
      run.now = data;
      if (data.steps < (run.log.at(-1)?.steps ?? 0)) run.log = [];
      if (data.steps && data.steps !== run.log.at(-1)?.steps) run.log.push(data);
      if (this.going && data.steps >= this.state.steps) {
        this.going = this.left.length > 0;
        if (!this.going) this.say(this.sentence());
        else if (PHONE) return this.go(true);
      }
      this.draw();
    }

    get chance() {
      return 1 / window.vitTasks.classes[this.state.task].length;
    }

    /* What was seen, in a sentence. */
    sentence() {
      const [first] = this.runs, steps = first.now?.steps ?? 0;
      if (!steps) return t("Chance is {share}. Press Start: each step draws 64 new pictures.", { share: percent(this.chance) });
      const batches = Math.min(steps, LATEST), begun = this.runs.filter(({ now }) => now?.steps >= batches);
      const after = (n) => tn("(after {n} step)", "(after {n} steps)", n);
      const each = clauses(begun.map(({ name, now }) => t("{name} {share} {after}", {
        name, share: percent(now.accuracy), after: after(now.steps) })));
      const says = { n: 64 * batches, each, chance: percent(this.chance) };
      return steps > LATEST ? t("Of the last {n} pictures: {each}; chance {chance}.", says)
        : t("Of the first {n} pictures: {each}; chance {chance}.", says);
    }

    draw() {
      const { says, classes } = window.vitTasks, { task } = this.state, done = !this.left.length;
      this.verdict.textContent = says[task];
      this.start.textContent = this.going ? t("Pause") : done ? t("Done") : t("Start");
      this.start.disabled = done && !this.going;
      this.said.textContent = this.sentence();
      this.drawCurves();
      this.cells.forEach(({ node, truth, names, spans }, p) => {
        const label = this.pictures.labels[p];
        truth.textContent = classes[task][label];
        this.runs.forEach(({ name, now }, i) => {
          const said = now?.answers[p], right = said === label;
          names[i].textContent = now ? t("; {name}: ", { name }) : "";
          spans[i].className = `keeps ${right ? ["first", "second"][i] : "wrong"}`;
          spans[i].textContent = now ? `${right ? "✓" : "✗"} ${classes[task][said]}` : "";
        });
        setPressed(node, p === this.watch.picture);
      });
      this.drawMaps();
    }

    picture(p) {
      const { size, pictures: { pixels } } = this;
      const grey = window.vitTasks.greys(pixels.subarray(p * size ** 2, (p + 1) * size ** 2));
      return paint([...grey, ...grey, ...grey]);
    }

    look(changes) {
      Object.assign(this.watch, changes);
      this.tell({ watch: this.watch });
      this.draw();
    }

    /* Accuracy against steps, chance as a dotted line. */
    drawCurves() {
      const ratio = devicePixelRatio || 1, css = getComputedStyle(this), high = 240;
      const width = this.curves.clientWidth || 320;
      const colours = ["--accent", "--warm"].map((name) => css.getPropertyValue(name)), { steps: last } = this.state;
      Object.assign(this.curves, { width: width * ratio, height: high * ratio });
      const pen = this.curves.getContext("2d"), left = 44, bottom = high - 22, top = 8;
      pen.scale(ratio, ratio);
      const x = (step) => left + ((width - left - 8) * step) / last, y = (share) => bottom - (bottom - top) * share;
      pen.font = "12px system-ui, sans-serif";
      pen.fillStyle = css.getPropertyValue("--soft");
      pen.textAlign = "right";
      [0, 0.5, 1].forEach((share) => pen.fillText(perCent(100 * share), left - 6, y(share) + 4));
      pen.fillText(t("{last} steps", { last }), width - 8, high - 6);
      const line = (points, colour, dashes, thick) => {
        pen.beginPath();
        points.forEach(([step, share]) => pen.lineTo(x(step), y(share)));
        Object.assign(pen, { strokeStyle: colour, lineWidth: thick });
        pen.setLineDash(dashes);
        pen.stroke();
      };
      const rule = css.getPropertyValue("--rule");
      [0, 1].forEach((share) => line([[0, share], [last, share]], rule, [], 1));
      line([[0, this.chance], [last, this.chance]], css.getPropertyValue("--soft"), [2, 4], 1.5);
      this.runs.forEach(({ log }, i) =>
        line(log.map(({ steps, accuracy }) => [steps, accuracy]), colours[i], i ? [7, 4] : [], 2.5));
      this.curves.setAttribute("aria-label", t("Accuracy against steps. {sentence}", { sentence: this.sentence() }));
    }

    /* The watched picture, to choose a patch on, and what that reads in the last block. */
    drawMaps() {
      const n = this.size / this.state.patch;
      if (this.asker?.n !== n) {
        const asker = grid(n, t("Which patch asks"), (patch) => this.look({ patch }));
        const drawn = h("canvas", { role: "img" });
        this.asker = { ...asker, n, drawn };
        this.maps.replaceChildren(
          note(t("Inside the ViT with everything, for the framed picture: press a patch, and it asks.")),
          h("div", {}, note(t("Who asks")), asker.node),
          h("div", {}, note(t("What it reads")), drawn));
      }
      const { canvas, cells, drawn } = this.asker, shown = this.picture(this.watch.picture), { now } = this.runs[0];
      Object.assign(canvas, { width: shown.width, height: shown.height });
      canvas.getContext("2d").drawImage(shown, 0, 0);
      cells.forEach((cell, i) => setPressed(cell, i === this.watch.patch));
      const empty = new Float32Array(n * n), map = now?.map?.length === n * n ? now.map : empty;
      const most = Math.max(...map) || 1;
      squares(drawn, this, map.map((share) => share / most), { picture: canvas, side: 160 });
      const where = place(map.indexOf(Math.max(...map)), n);
      drawn.setAttribute("aria-label", t("Attention of the last block, mean of the heads: most at {where}", { where }));
    }

    linking() {
      const link = button(t("Link to this"), async () => {
        history.replaceState(null, "", `#learn=${btoa(JSON.stringify(this.state))}`);
        link.textContent = (await copied(location.href)) ? t("Copied") : t("It is in the address line");
      });
      return link;
    }

    /* What a link has of the state, each value one that can be chosen; null without a link. */
    fromLink() {
      try {
        const got = linked("learn");
        const known = { ...CHOICES, task: Object.keys(window.vitTasks.classes), without: ["", ...Object.keys(PARTS)] };
        const right = Object.entries(got).filter(([name, value]) => known[name]?.includes(value));
        return this.hasAttribute("brief") ? null : this.fresh(Object.fromEntries(right));
      } catch {
        return null;
      }
    }
  }

  customElements.define("vit-learn", VitLearn);
})();
