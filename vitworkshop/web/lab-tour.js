/* The guided tour of the lab: eight steps, each something to see on this picture and how often it happens on many.

   The shares come from `window.vitLab`, which is vitlib/results/lab.json (python -m tools.measure_lab). */
(() => {
  "use strict";

  const { button, h, percent, range } = window.vitExplorer;

  /* Of each step: a title, a text, and what is done to the state. */
  function steps(lab) {
    const { accuracy, interventions, lens, n } = window.vitLab.models[lab.name], { N } = lab, half = lab.n / 2;
    const changed = (what) => percent(interventions[what].changed.mean);
    const all = range(N), row = (i) => Math.floor(i / lab.n), col = (i) => i % lab.n;
    const removed = all.filter((i) => (row(i) + col(i)) % 2);
    const quadrants = all.map((i) => ((row(i) + half) % lab.n) * lab.n + ((col(i) + half) % lab.n));
    const mixed = all.map((i) => (i * 37 + 11) % N); // 37 and 64 have no common factor: each patch stands somewhere
    const heads = Object.keys(interventions).filter((what) => what.startsWith("head "));
    heads.sort((a, b) => interventions[b].changed.mean - interventions[a].changed.mean);
    const [most, head, layer] = heads[0].match(/head (\d+) of layer (\d+)/);
    return [
      ["A picture, 64 patches, an answer", {},
        `The model reads 64 patches and says how likely each of its ten classes is. Of ${n.toLocaleString("en")}
        pictures that it has not learned from, it names ${percent(accuracy)} rightly. All shares on this tour are of
        these pictures: of how many the answer changes, right or wrong.`],
      ["Half is enough, often", { removed },
        `Every second token is left out; a ViT reads whatever tokens there are. When 32 random patches are removed,
        ${changed("remove 32 at random")} of the answers change.`],
      ["Grey is not nothing", { painted: removed },
        `The same patches, painted grey instead. Grey is something to see: when 32 random patches are painted,
        ${changed("paint 32 at random")} of the answers change.`],
      ["A bag of patches", { order: mixed },
        `All patches are there, each in a wrong place. In random orders, ${changed("shuffle all")} of the answers
        change; the rest do without the order.`],
      ["Large pieces, wrong places", { order: quadrants },
        `Only the quadrants have changed places: most pairs of neighbours are still together. Of the answers,
        ${changed("swap quadrants")} change.`],
      ["Without places, no order", { order: mixed, positions: "none" },
        `Position embeddings set to zero: ${changed("positions to zero")} of the answers change. Shuffling on top of
        that changes nothing more: press “Shuffle all”, and watch the bars.`],
      ["One head", { heads: [[Number(layer), Number(head)]] },
        `Of ${heads.length} heads, this one matters most here: without ${most}, ${changed(heads[0])} of the answers
        change; without the one that matters least, ${changed(heads.at(-1))}.`],
      ["When does it know?", {},
        `What the head would say if it read an earlier layer. So many answers are the final ones already, before the
        first block and after each: ${lens.map(percent).join(", ")}.`],
    ];
  }

  /* { start, node, state }: the button that begins the tour, where its steps stand, and what the present one does. */
  window.vitTour = (lab) => {
    const tour = window.vitLab.models[lab.name] ? steps(lab) : [], node = h("div", { class: "tour" });
    const go = (label, to) => button(label, () => show(to));
    const start = tour.length ? go("Take the tour: five minutes", 0) : [];

    let now = null;
    const state = () => ({ ...lab.fresh(), ...(now === null ? {} : tour[now][1]) });

    function show(at) {
      now = at;
      start.hidden = at !== null;
      lab.set(state());
      if (at === null) {
        node.replaceChildren();
        start.focus();
        return;
      }
      const [title, , text] = tour[at], plain = text.replace(/\s+/g, " ");
      const last = at + 1 === tour.length, next = last ? go("Finish", null) : go("Next", at + 1);
      node.replaceChildren(
        h("p", {}, h("b", {}, `${at + 1} of ${tour.length}: ${title}${/[.?]$/.test(title) ? "" : "."} `), plain),
        h("div", { class: "row" }, at ? go("Back", at - 1) : [], next, last ? [] : go("End the tour", null)));
      lab.say(`${title}. ${plain}`);
      next.focus();
    }

    return { start, node, state };
  };
})();
