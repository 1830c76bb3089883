/* How far a model's attention can be trusted on one picture, in the words of chapter 14: `vitTrust(microscope)` gives
   its node. A worker measures (microscope-work.js). */
(() => {
  "use strict";

  const { button, h, note, paint, percent, range, sentences, squares, title, written } = window.vitExplorer;
  // orders: t("last block") t("another picture's map") t("centre") t("pixel variance") t("random"); t("your picture")
  const OWN = ["last block", "rollout"], RANDOM = range(3).map((i) => `random ${i}`);
  const DASHES = ["", "6 3", "2 2", "8 3 2 3", "4 4", "1 3"];
  const stroke = (i) => `fill="none" stroke="currentColor" stroke-width="${i < 2 ? 2.5 : 1.2}" stroke-dasharray="${DASHES[i]}"`;

  /* Curves of what is left of the answer, the means of the random ones as one. */
  function plot(curves) {
    const [W, H] = [320, 150], x = (i, n) => 30 + ((W - 40) * i) / (n - 1), y = (v) => 10 + (H - 30) * (1 - v);
    const lines = Object.values(curves).map(({ points }, i) => `<polyline ${stroke(i)} points="${points.map((p, j) => `${x(j, points.length)},${y(p)}`).join(" ")}"/>`);
    const svg = h("div", { class: "plot" });
    svg.innerHTML = `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="${t("What is left of the answer while patches are rubbed out")}">${
      [0, 0.5, 1].map((v) => `<text x="0" y="${y(v) + 3}" font-size="9" fill="currentColor">${v}</text>`).join("")}${lines.join("")}</svg>`;
    return svg;
  }

  function sample(i) {
    const cell = h("td");
    cell.innerHTML = `<svg viewBox="0 0 60 8" style="width:60px"><path d="M0 4H60" ${stroke(i)}/></svg>`;
    return cell;
  }

  /* What the areas say: a map passes if it is below every blind order by more than the random orders differ. */
  function verdict(curves, spread) {
    const blind = Object.keys(curves).filter((name) => !OWN.includes(name));
    return OWN.map((one) => {
      const not = blind.filter((other) => curves[one].area > curves[other].area - spread), name = t(one);
      return not.length ? t("The map of the {name} does not beat the order by {orders}: on this picture it says no more of what the "
        + "answer rests on.", { name, orders: not.map((other) => t(other)).join(t(", ")) })
        : t("The map of the {name} beats all the orders that know less.", { name });
    });
  }

  window.vitTrust = (scope) => {
    const result = h("div"), start = button(t("Measure"), () => measure());
    const node = h("div", { class: "trust" }, title(t("How far to trust its attention")),
      note(t("Patches are rubbed out, those first that a map calls important. The sooner the answer is lost, the better the map "
        + "says what counts: the smaller the area under its curve. Some 60 forward passes.")), h("div", { class: "row" }, start), result);

    async function measure() {
      const { lab, model, way } = scope, { N, picture, shown, wanted } = way, { standardise } = window.vitPictures;
      const name = ["coffee", "astronaut"].find((one) => one !== picture), tell = way.given.tell;
      const other = standardise(await way.full(name, window.vitExplorer.sample(name)), way.recipe);
      const { RANKINGS: { centre, variance }, shuffled } = window.vitRankings;
      const blind = { centre: centre(way), "pixel variance": variance(way),
        ...Object.fromEntries(RANDOM.map((one) => [one, shuffled(N)])) };
      start.disabled = true;
      try {
        const measuring = scope.measuring = lab.ask("trust", { pixels: wanted.pixels, other, blind }, (share) =>
          tell(t("Measuring …, {share}", { share: percent(share) })));
        show(await measuring, way, model, picture, shown);
        tell("");
      } catch (error) {
        tell(error.message === "stopped" ? t("Stopped.") : t("{message}.", error));
      }
      start.disabled = false;
    }

    function show({ curves, k, unread, maps }, way, { name, classes }, of, shown) {
      const three = RANDOM.map((one) => curves[one]), areas = three.map(({ area }) => area), spread = Math.max(...areas) - Math.min(...areas);
      const random = { area: areas.reduce((a, b) => a + b) / 3, points: three[0].points.map((_, i) => three.reduce((sum, one) => sum + one.points[i] / 3, 0)) };
      const all = { ...Object.fromEntries(Object.entries(curves).filter(([one]) => !RANDOM.includes(one))), random }, picture = paint(shown);
      const drawn = OWN.map((one) => {
        const canvas = h("canvas"), most = Math.max(...maps[one]) || 1;
        squares(canvas, way, Array.from(maps[one], (w) => w / most), { picture });
        return h("figure", {}, canvas, h("figcaption", {}, t(one)));
      });
      const answer = classes.length ? t("Its answer: {answer}, {share}.", { answer: classes[k], share: percent(random.points[0]) })
        : t("It has no head; measured is the cosine of the picture's vector with what it was.");
      result.replaceChildren(h("p", {}, sentences(t("{name}, {picture}.", { name, picture: t(of) }), answer,
        ...verdict(all, spread), t("One picture says little of a model: try more."))),
        h("div", { class: "figures" }, h("figure", {}, picture, h("figcaption", {}, t("the picture"))), drawn, plot(all)),
        h("table", {}, h("thead", {}, h("tr", {}, [t("Rubbed out first by"), t("Area"), t("Line")].map((one) => h("th", {}, one)))),
          h("tbody", {}, Object.entries(all).map(([one, { area }], i) => h("tr", {}, h("td", {}, t(one)), h("td", {}, written(area)),
            sample(i))))),
        note(t("The three random orders differ by {spread}. In the last block nobody reads {unread} of {T} rows: their maps say nothing of the answer.", {
          spread: written(spread), unread, T: way.T })));
    }

    return node;
  };
})();
