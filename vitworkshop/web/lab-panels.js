/* The lab's panels: what happens in each layer, rubbing out by a ranking, what can be switched inside the model.

   `window.vitLabPanels.NAME(lab)` gives { node, draw }; `draw` shows `lab.state` and `lab.result`. */
(() => {
  "use strict";

  const { h, percent, sides, squares } = window.vitExplorer;
  const { answers } = window.vitLabParts, { rankingView, received, shuffled } = window.vitRankings;
  const best = (list) => list.indexOf(Math.max(...list));

  /* Names for narrow places: cut, or the classes' numbers where cut ones would be alike. */
  function shorten(classes) {
    const short = classes.map((name) => (name.length > 6 ? `${name.slice(0, 4)}.` : name));
    return new Set(short).size === short.length ? short : classes.map((_, k) => String(k));
  }

  const pressed = (button, yes) => button.setAttribute("aria-pressed", String(yes));
  const panel = (title, open, ...children) => h("details", { class: "part", open }, h("summary", {}, title), children);

  /* The logit lens, and attention: of the picture after every block, of each patch after the chosen one. */
  function layers(lab) {
    const { classes } = lab.model, short = shorten(classes), token = lab.model.config.global_pool === "token";
    let chosen = lab.L;
    const name = (layer) => (layer ? `after block ${layer - 1}` : "before the first block");
    const choose = (layer) => {
      chosen = layer;
      draw();
    };
    const steps = Array.from({ length: lab.L + 1 }, (_, layer) =>
      h("button", { type: "button", "aria-pressed": "false", onclick: () => choose(layer) }));
    const says = h("div", { class: "says", style: `--n:${lab.n}`, role: "img" }), saysNote = h("p", { class: "note" });
    const map = h("canvas", { role: "img" }), mapNote = h("p", { class: "note" });

    const cell = (probs) => {
      if (!probs) return h("span");
      const k = best(probs), ink = Math.round(6 + 36 * probs[k]);
      const style = `background: color-mix(in srgb, var(--accent) ${ink}%, transparent)`;
      return h("span", { style, title: `${classes[k]} ${percent(probs[k])}` }, short[k]);
    };

    function drawAnswers({ patches }) {
      const counts = classes.map(() => 0);
      for (const probs of patches.values()) counts[best(probs)]++;
      says.replaceChildren(...Array.from({ length: lab.N }, (_, i) => cell(patches.get(i))));
      const most = best(counts), many = `${counts[most]} of ${patches.size}`;
      const what = patches.size ? `${many} say ${classes[most]}` : "none is left";
      const never = token ? " The head was trained to read CLS, never a patch." : "";
      saysNote.textContent = `Each patch by itself, ${name(chosen)}: ${what}.${never}`;
      says.setAttribute("aria-label", saysNote.textContent);
    }

    function drawAttention() {
      const block = Math.max(chosen, 1), got = received(lab, block), all = got.reduce((a, b) => a + b, 0);
      const most = Math.max(...got) || 1;
      squares(map, lab, got.map((one) => one / most), { side: 320, picture: lab.grid.canvas, dim: 0.45 });
      const sorted = [...got].sort((a, b) => b - a);
      let sum = 0, k = 0;
      while (sum < all / 2) sum += sorted[k++];
      const who = token ? "CLS reads" : "the patches read", where = `${k} of ${lab.N}`;
      const half = all ? `half of what ${who} of patches comes from ${where}` : "none";
      mapNote.textContent = `Attention in block ${block - 1}: ${half}.`;
      map.setAttribute("aria-label", mapNote.textContent);
    }

    function draw() {
      const said = steps.map((_, layer) => answers(lab, layer));
      steps.forEach((step, layer) => {
        const { whole } = said[layer], k = best(whole);
        step.replaceChildren(h("small", {}, layer ? String(layer - 1) : "start"), h("br"),
          h("b", {}, short[k]), h("br"), percent(whole[k]));
        step.title = `${name(layer)}: ${classes[k]}, ${percent(whole[k])}`;
        pressed(step, layer === chosen);
      });
      drawAnswers(said[chosen]);
      drawAttention();
    }

    const node = panel("What the head would say after each block (the logit lens)", true,
      h("div", { class: "layers part", role: "group", "aria-label": "After which block" }, steps),
      h("div", { class: "part" }, sides([saysNote, says], [mapNote, map])));
    return { node, draw };
  }

  /* Deletion and insertion: a slider over a ranking of the patches. */
  function rankings(lab) {
    const range = { type: "range", min: "0", max: String(lab.N), value: "0" };
    const slider = h("input", { ...range, "aria-label": "How many patches" });
    const modes = ["remove the first", "keep only the first"].map((value) => h("option", {}, value));
    const mode = h("select", { "aria-label": "Remove or keep" }, modes);
    const count = h("output", {}, "0 patches");
    const view = rankingView(lab, (n) => { count.textContent = `asked ${n} of ${lab.N} times`; });
    let own = null; // what the slider has removed

    async function apply() {
      const order = await view.order();
      if (!order) return;
      const k = Number(slider.value), again = lab.state.removed === own; // one step for undo
      own = mode.selectedIndex ? order.slice(k) : order.slice(0, k);
      lab.set({ removed: own }, { keep: !again });
    }

    slider.addEventListener("input", apply);
    mode.addEventListener("change", () => { if (lab.state.removed === own) apply(); });
    view.select.addEventListener("change", () => (lab.state.removed === own ? apply() : view.order()));

    /* Undo, a press or another picture may have left what the slider says. */
    function draw() {
      if (lab.state.removed !== own) slider.value = "0";
      count.textContent = `${slider.value} patches`;
      view.refresh();
    }

    const row = h("div", { class: "row part" }, mode, slider, count, h("span", {}, "by"), view.select);
    return { node: panel("Rub out by a ranking", false, row, view.canvas), draw };
  }

  /* Position embeddings and heads. */
  function inside(lab) {
    const set = { "as trained": () => null, "set to zero": () => "none", shuffled: () => shuffled(lab.N) };
    const change = () => lab.set({ positions: set[places.value]() });
    const places = h("select", { "aria-label": "Position embeddings", onchange: change },
      Object.keys(set).map((value) => h("option", {}, value)));
    const isOff = (layer, head) => lab.state.heads.findIndex(([l, k]) => l === layer && k === head);
    const press = (layer, head) => {
      const { heads } = lab.state, at = isOff(layer, head);
      lab.set({ heads: at < 0 ? [...heads, [layer, head]] : heads.filter((_, i) => i !== at) });
    };
    const switches = [];
    const cell = (layer, head) => {
      const label = `layer ${layer}, head ${head}`;
      const button = h("button", { type: "button", "aria-label": label, onclick: () => press(layer, head) });
      switches.push({ layer, head, button });
      return h("td", {}, button);
    };
    const rows = Array.from({ length: lab.L }, (_, layer) => h("tr", {}, h("th", { scope: "row" }, `layer ${layer}`),
      Array.from({ length: lab.heads }, (_, head) => cell(layer, head))));

    function draw() {
      const { positions } = lab.state;
      places.value = positions === "none" ? "set to zero" : positions ? "shuffled" : "as trained";
      switches.forEach(({ layer, head, button }) => {
        const on = isOff(layer, head) < 0;
        pressed(button, on);
        button.textContent = on ? "✓" : "–";
      });
    }

    const node = panel("Inside the model: positions and heads", false,
      h("div", { class: "row part" }, h("span", {}, "Position embeddings"), places),
      h("p", { class: "note" }, "Heads that work; press one to switch it off"),
      h("table", { class: "heads" }, h("tbody", {}, rows)));
    return { node, draw };
  }

  window.vitLabPanels = { inside, layers, rankings };
})();
