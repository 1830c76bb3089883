/* The guided tour of the lab: eight steps. Each asks first, then shows what was guessed beside how often it happens on
   many pictures, and what happens on this one, which is one that shows it; it opens, scrolls to and rings the part of
   the lab that it speaks of.

   The shares come from `window.vitLab`, which is vitlib/results/lab.json (python -m tools.measure.lab); what the texts
   say of them holds for each of its models (tests/book/test_browser_explorers.py). */
(() => {
  "use strict";

  const { argmax, bars, button, clauses, h, perCent, percent, range, sample, sentences, slider } = window.vitExplorer;

  /* Of each step: a title, the part, a question, the share that answers it, a text, what is done to the state, and
     whether a picture shows it, asked with `turns`, whether a change to the state turns the answer, and `differs`,
     whether the answer after some blocks is another than the last. */
  function steps(lab) {
    const { accuracy, interventions, lens, n } = window.vitLab.models[lab.name], { N, L } = lab, half = lab.n / 2;
    const changed = (what) => interventions[what].changed.mean, told = (what) => percent(changed(what));
    const all = range(N), row = (i) => Math.floor(i / lab.n), col = (i) => i % lab.n;
    const removed = all.filter((i) => (row(i) + col(i)) % 2);
    const quadrants = all.map((i) => ((row(i) + half) % lab.n) * lab.n + ((col(i) + half) % lab.n));
    const mixed = all.map((i) => (i * 37 + 11) % N); // 37 and 64 have no common factor: each patch stands somewhere
    const heads = Object.keys(interventions).filter((what) => what.startsWith("head "));
    heads.sort((a, b) => changed(b) - changed(a));
    const [, head, layer] = heads[0].match(/head (\d+) of layer (\d+)/);
    const { node } = lab.grid, find = (what) => () => lab.view.querySelector(what);
    const step = (title, part, asks, share, says, does, shows) => ({ title, part, asks, share, says, does, shows });
    const left = { removed }, grey = { painted: removed }, strewn = { order: mixed }, large = { order: quadrants };
    const lost = { ...strewn, positions: "none" }, off = { heads: [[Number(layer), Number(head)]] };
    const eraser = (turns) => !turns(left) && turns(grey), pieces = (turns) => !turns(strewn) && turns(large);
    return [
      step(t("A picture, 64 patches, an answer"), () => node,
        t("The model reads 64 patches, each as a token, and says how likely each of its ten classes is. Of {n} pictures "
          + "that it has not learned from, how many does it name rightly?", { n: n.toLocaleString("en") }), accuracy,
        t("{share} are named rightly. All shares on this tour are of these pictures; from here on, of how many the "
          + "answer changes, right or wrong. Beside each share stands one picture, chosen because it shows the effect.",
        { share: percent(accuracy) }), {}, () => true),
      step(t("Every second token"), () => node,
        t("A ViT reads whatever tokens there are. Leave out 32 patches of 64: how many answers change?"),
        changed("remove 32 at random"),
        t("Without 32 random patches, {share} of the answers change. Here every second one is left out.",
          { share: told("remove 32 at random") }), left, eraser),
      step(t("Grey is not nothing"), () => node,
        t("The same patches stay, but are painted grey. Left out, they changed {share} of the answers; how many now?",
          { share: told("remove 32 at random") }), changed("paint 32 at random"),
        t("More: {share} change when 32 random patches are painted. Grey is something to see.",
          { share: told("paint 32 at random") }), grey, eraser),
      step(t("A bag of patches"), () => node,
        t("All patches are there, in a random order. How many answers change?"), changed("shuffle all"),
        t("{share} change, {rest} stay as they were, although next to no patch stands in its place.",
          { share: told("shuffle all"), rest: percent(1 - changed("shuffle all")) }), strewn, pieces),
      step(t("Large pieces, wrong places"), () => node,
        t("Only the quadrants change places; inside them, all neighbours are together still. A full shuffle changed {share}. "
          + "And this?", { share: told("shuffle all") }), changed("swap quadrants"),
        t("More: {share}. Not because parts stay whole: 2 × 2 blocks in a random order change {blocks}. Height counts more: "
          + "left and right swapped change {sides}, top and bottom {halves}, also with each row shuffled ({rows}).", {
          share: told("swap quadrants"), blocks: told("move 2 x 2 blocks at random"), sides: told("swap left and right"),
          halves: told("swap top and bottom"), rows: told("swap top and bottom, shuffle inside rows"),
        }), large, pieces),
      step(t("Without places, no order"), find(`select[aria-label='${t("Position embeddings")}']`),
        t("Position embeddings set to zero: nothing says where a patch stands. How many answers change?"),
        changed("positions to zero"),
        t("{share}. With a shuffle on top of it, {both}: there is no order left to lose. Press “Shuffle all” above, and "
          + "watch the bars.", { share: told("positions to zero"), both: told("shuffle all, positions to zero") }),
        lost, (turns) => turns(lost)),
      step(t("One head"), find(`[aria-label='${t("layer {layer}, head {head}", { layer, head })}']`),
        t("Of {n} heads, the one that matters most is switched off. How many answers change?", { n: heads.length }),
        changed(heads[0]),
        t("Without head {head} of layer {layer}, ringed here, {share} change; without the one that matters least, {least}.",
          { head, layer, share: told(heads[0]), least: told(heads.at(-1)) }), off, (turns) => !turns(off)),
      step(t("When does it know?"), find(".layers"),
        t("Let the last part, which gives the answer, read an earlier layer. After half of the blocks, how many answers are "
          + "the final ones already?"), lens[L / 2],
        t("{share} after block {n}. Before the first block and after each: {shares}.",
          { share: percent(lens[L / 2]), n: L / 2 - 1, shares: clauses(lens.map(percent)) }), {}, (_, differs) => differs(L / 2)),
    ];
  }

  /* { start, node, state, draw }: the button that begins it, where its steps stand, and what the present one does. */
  window.vitTour = (lab) => {
    const tour = window.vitLab.models[lab.name] ? steps(lab) : [], node = h("div", { class: "tour" }), guesses = [];
    const go = (label, to) => button(label, () => show(to));
    const start = tour.length ? go(t("Take the tour: five minutes"), 0) : [], here = h("span");

    let now = null;
    const state = () => ({ ...lab.fresh(), ...(now in guesses ? tour[now].does : {}) });

    /* Whether a picture, named rightly if its class is known, shows a step: tried on a lab of its own. */
    function fits({ shows }, name, bytes) {
      const other = Object.assign(Object.create(lab), { bytes });
      const look = (does) => Object.assign(other, { state: { ...lab.fresh(), ...does } }).look().probs;
      const probs = look({}), turns = (does) => argmax(look(does)) !== argmax(probs);
      const differs = (layer) => look({}) && argmax(other.answers(layer).whole) !== argmax(probs);
      return !lab.remark(name, probs) && shows(turns, differs);
    }

    /* Shows the first of the samples that shows a step, unless the present picture does. */
    function choose(one) {
      if (fits(one, lab.picture, lab.bytes)) return;
      const name = lab.pictures.map(({ title }) => title).find((each) => fits(one, each, sample(each)));
      if (name) lab.show(name, sample(name));
    }

    /* What the step does to this picture. */
    function draw() {
      const { probs } = lab.result;
      here.textContent = now in guesses && lab.told().length ? t(" On this picture: {turn}.", { turn: lab.turn(probs) }) : "";
    }

    /* The part that a step speaks of: open, in view and ringed; of the picture, its answer in view as well. */
    function ring(part) {
      lab.view.querySelectorAll(".ringed").forEach((one) => one.classList.remove("ringed"));
      if (!part) return;
      part.classList.add("ringed");
      for (const one of lab.view.querySelectorAll("details")) if (one.contains(part)) one.open = true;
      const room = innerHeight > 700; // for the answer above the picture
      (part === lab.grid.node && room ? lab.head : part).scrollIntoView({ block: "start", behavior: "instant" });
    }

    function show(at) {
      const comes = at !== null && at !== now;
      now = at;
      if (comes) choose(tour[at]);
      start.hidden = at !== null;
      lab.set(state());
      ring(tour[at]?.part());
      if (at === null) {
        node.replaceChildren();
        start.focus();
        return;
      }
      const { title, asks, says, share } = tour[at], known = at in guesses, last = at + 1 === tour.length;
      const whole = /[.?？]$/.test(title) ? title : t("{title}.", { title });
      const plain = known ? says : asks, shown = h("output", {}, perCent(50));
      const guess = slider(t("Your guess, in percent"), 0, 100, 1, 50, () => { shown.textContent = perCent(guess.value); });
      const next = last ? go(t("Finish"), null) : go(t("Next"), at + 1), compared = bars([t("you guessed"), t("it is")]);
      compared.show([guesses[at] ?? 0, share]);
      const onsubmit = (event) => {
        event.preventDefault();
        guesses[at] = guess.value / 100;
        show(at);
      };
      node.replaceChildren(
        h("p", {}, h("b", {}, t("{n} of {all}: {title} ", {
          n: at + 1, all: tour.length, title: whole })), plain, here),
        h("form", { onsubmit },
          known ? compared.node : h("div", { class: "row" }, h("span", {}, t("Your guess")), guess, shown),
          h("div", { class: "row" }, at ? go(t("Back"), at - 1) : [], known ? next : h("button", {}, t("Show it")),
            known && last ? [] : go(t("End the tour"), null))));
      lab.say(sentences(whole, known && t("You guessed {share}.", { share: percent(guesses[at]) }), plain + here.textContent));
      (known ? next : guess).focus({ preventScroll: true });
    }

    return { start, node, state, draw };
  };
})();
