/* The lab's panels: what happens in each layer, rubbing out by a ranking, what can be switched inside the model.

   `window.vitLabPanels.NAME(lab)` gives { node, draw }; `draw` shows `lab.state` and `lab.result`. */
(() => {
  "use strict";

  const {
    argmax, button, byLength, folded, h, keeps, note, pair, percent, range, select, sentences, setPressed, slider,
    squares,
  } = window.vitExplorer;
  const { halfOf, rankingView, received, shuffled } = window.vitRankings;

  /* Names for narrow places: cut, or the classes' numbers where cut ones would be alike. */
  function shorten(classes) {
    const short = classes.map((name) => (name.length > 6 ? `${name.slice(0, 4)}.` : name));
    return new Set(short).size === short.length ? short : classes.map((_, k) => String(k));
  }

  function panel(title, open, ...children) {
    const node = folded(title, open, ...children);
    node.className = "part";
    return node;
  }

  /* The logit lens, and attention: of the picture after every block, of each patch after the chosen one. */
  function layers(lab) {
    const { classes } = lab.model, short = shorten(classes);
    let chosen = lab.L;
    const name = (layer) => (layer ? t("after block {n}", { n: layer - 1 }) : t("before the first block"));
    const steps = range(lab.L + 1).map((layer) => button("", () => {
      chosen = layer;
      draw();
    }));
    const says = h("div", { class: "says", style: `--n:${lab.n}`, role: "img" }), map = h("canvas", { role: "img" });
    const [start, long] = [name(0), byLength(classes)[0]];
    const saysNote = keeps(note(), patchesSay(t("{n} of {all} say {answer}", { n: lab.N, all: lab.N, answer: long }), start));
    const mapNote = keeps(note(), attentionIs(lab.L, lab.N));

    const cell = (probs) => {
      if (!probs) return h("span");
      const k = argmax(probs), ink = Math.round(6 + 36 * probs[k]);
      const style = `background: color-mix(in srgb, var(--accent) ${ink}%, transparent)`;
      return h("span", { style, title: `${classes[k]} ${percent(probs[k])}` }, short[k]);
    };

    function patchesSay(what, when) {
      return sentences(t("Each patch by itself, {when}: {what}.", { when, what }),
        lab.readsCls && t("The head was trained to read CLS, never a patch."));
    }

    function attentionIs(block, few) {
      const n = block - 1, { N } = lab;
      if (!few) return t("Attention in block {n}: none.", { n });
      return lab.readsCls ? t("Attention in block {n}: half of what CLS reads of patches comes from {few} of {N}.", { n, few, N })
        : t("Attention in block {n}: half of what the patches read of patches comes from {few} of {N}.", { n, few, N });
    }

    function drawAnswers({ patches }) {
      const counts = classes.map(() => 0);
      for (const probs of patches.values()) counts[argmax(probs)]++;
      says.replaceChildren(...range(lab.N).map((i) => cell(patches.get(i))));
      const most = argmax(counts), { size: all } = patches;
      const what = all ? t("{n} of {all} say {answer}", { n: counts[most], all, answer: classes[most] }) : t("none is left");
      saysNote.textContent = patchesSay(what, name(chosen));
      says.setAttribute("aria-label", saysNote.textContent);
    }

    function drawAttention() {
      const block = Math.max(chosen, 1), got = received(lab, block), most = Math.max(...got) || 1, few = halfOf(got);
      squares(map, lab, got.map((one) => one / most));
      mapNote.textContent = attentionIs(block, few);
      map.setAttribute("aria-label", mapNote.textContent);
    }

    function draw() {
      const said = steps.map((_, layer) => lab.answers(layer));
      steps.forEach((step, layer) => {
        const { whole } = said[layer], k = argmax(whole);
        step.replaceChildren(h("small", {}, layer ? String(layer - 1) : t("start")), h("br"),
          h("b", {}, short[k]), h("br"), percent(whole[k]));
        step.title = t("{when}: {answer}, {share}", { when: name(layer), answer: classes[k], share: percent(whole[k]) });
        setPressed(step, layer === chosen);
      });
      drawAnswers(said[chosen]);
      drawAttention();
    }

    const node = panel(t("What the head would say after each block (the logit lens)"), true,
      h("div", { class: "layers part", role: "group", "aria-label": t("After which block") }, steps),
      h("div", { class: "part" }, pair([saysNote, says], [mapNote, map])));
    return { node, draw };
  }

  /* Deletion and insertion: a slider over a ranking of the patches. */
  function rankings(lab) {
    const many = slider(t("How many patches"), 0, lab.N, 1, 0, apply);
    const mode = select(t("Remove or keep"), [t("remove the first"), t("keep only the first")], () => again() && apply());
    const count = h("output", { style: "min-width: 11em" }, t("0 patches"));
    const view = rankingView(lab, (n) => { count.textContent = t("asked {n} of {N} times", { n, N: lab.N }); });
    let own = null; // what the slider has removed
    const again = () => lab.state.removed === own;

    async function apply() {
      const order = await view.order();
      if (!order) return;
      const k = Number(many.value), keep = !again(); // one step for undo
      own = mode.selectedIndex ? order.slice(k) : order.slice(0, k);
      lab.set({ removed: own }, { keep });
    }

    view.choice.addEventListener("change", () => (again() ? apply() : view.order()));

    /* Undo, a press or another picture may have left what the slider says. */
    function draw() {
      if (!again()) many.value = "0";
      count.textContent = t("{n} patches", { n: many.value });
      view.refresh();
    }

    const row = h("div", { class: "row part" }, mode, many, count, h("span", {}, t("by")), view.choice);
    return { node: panel(t("Rub out by a ranking"), false, row, view.canvas), draw };
  }

  /* Position embeddings and heads. */
  function inside(lab) {
    // t("as trained") t("set to zero") t("shuffled")
    const set = { "as trained": () => null, "set to zero": () => "none", shuffled: () => shuffled(lab.N) };
    const places = select(t("Position embeddings"), Object.keys(set), () => lab.set({ positions: set[places.value]() }));
    const isOff = ([layer, head]) => lab.state.heads.some(([l, k]) => l === layer && k === head);
    const switches = []; // [the layer and the head, their button]
    const cell = (...at) => {
      const one = button("", () => {
        const { heads } = lab.state, others = heads.filter((other) => String(other) !== String(at));
        lab.set({ heads: isOff(at) ? others : [...heads, at] });
      });
      one.setAttribute("aria-label", t("layer {layer}, head {head}", { layer: at[0], head: at[1] }));
      switches.push([at, one]);
      return h("td", {}, one);
    };
    const rows = range(lab.L).map((layer) => h("tr", {}, h("th", { scope: "row" }, t("layer {layer}", { layer })),
      range(lab.heads).map((head) => cell(layer, head))));

    function draw() {
      const { positions } = lab.state;
      places.value = positions === "none" ? "set to zero" : positions ? "shuffled" : "as trained";
      switches.forEach(([at, one]) => {
        setPressed(one, !isOff(at));
        one.textContent = isOff(at) ? "–" : "✓";
      });
    }

    const node = panel(t("Inside the model: positions and heads"), false,
      h("div", { class: "row part" }, h("span", {}, t("Position embeddings")), places),
      note(t("Heads that work; press one to switch it off")),
      h("table", { class: "heads" }, h("tbody", {}, rows)));
    return { node, draw };
  }

  window.vitLabPanels = { inside, layers, rankings };
})();
