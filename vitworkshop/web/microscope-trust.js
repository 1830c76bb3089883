/* How far a model's attention can be trusted on one picture, in the words of chapter 14: `vitTrust(microscope)` gives
   its node. A worker measures (microscope-work.js); what it found can be saved as one HTML file that opens offline. */
(() => {
  "use strict";

  const { button, h, note, paint, percent, range, squares } = window.vitExplorer;
  const OWN = ["last block", "rollout"], RANDOM = range(3).map((i) => `random ${i}`);
  const DASHES = ["", "6 3", "2 2", "8 3 2 3", "4 4", "1 3"];
  const stroke = (i) => `fill="none" stroke="currentColor" stroke-width="${i < 2 ? 2.5 : 1.2}" stroke-dasharray="${DASHES[i]}"`;
  const fixed = (x) => x.toFixed(3).replace("-", "−");

  /* Curves of what is left of the answer, the means of the random ones as one. */
  function plot(curves) {
    const [W, H] = [320, 150], x = (i, n) => 30 + ((W - 40) * i) / (n - 1), y = (v) => 10 + (H - 30) * (1 - v);
    const lines = Object.values(curves).map(({ points }, i) => `<polyline ${stroke(i)} points="${points.map((p, j) => `${x(j, points.length)},${y(p)}`).join(" ")}"/>`);
    const svg = h("div", { class: "plot" });
    svg.innerHTML = `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="What is left of the answer while patches are rubbed out">${
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
    return OWN.map((name) => {
      const not = blind.filter((one) => curves[name].area > curves[one].area - spread);
      return `The map of the ${name} ${not.length ? `does not beat the order by ${not.join(", ")}: on this `
        + "picture it says no more of what the answer rests on" : "beats all the orders that know less"}.`;
    }).join(" ");
  }

  window.vitTrust = (scope) => {
    const result = h("div"), save = button("Save as one HTML file", () => keep()), start = button("Measure", () => measure());
    save.hidden = true;
    const node = h("div", { class: "trust" }, h("h3", {}, "How far to trust its attention"),
      note("Patches are rubbed out, those first that a map calls important. The sooner the answer is lost, the better the map "
        + "says what counts: the smaller the area under its curve. Some 60 forward passes."), h("div", { class: "row" }, start, save), result);

    async function measure() {
      const { lab, model, way } = scope, { N, shown, wanted } = way, { standardise } = window.vitPictures;
      const name = ["coffee", "astronaut"].find((one) => one !== way.picture), tell = way.given.tell;
      const other = standardise(await way.full(name, window.vitExplorer.sample(name)), way.recipe);
      const { RANKINGS: { centre, variance }, shuffled } = window.vitRankings;
      const blind = { centre: centre(way), "pixel variance": variance(way),
        ...Object.fromEntries(RANDOM.map((one) => [one, shuffled(N)])) };
      start.disabled = true;
      try {
        const measuring = scope.measuring = lab.ask("trust", { pixels: wanted.pixels, other, blind }, (share) => tell(`Measuring …, ${percent(share)}`));
        show(await measuring, way, model, shown);
        tell("");
      } catch (error) {
        tell(error.message === "stopped" ? "Stopped." : `${error.message}.`);
      }
      start.disabled = false;
    }

    function show({ curves, even, sinks, k, unread, maps }, way, { name, classes }, shown) {
      const three = RANDOM.map((one) => curves[one]), areas = three.map(({ area }) => area), spread = Math.max(...areas) - Math.min(...areas);
      const random = { area: areas.reduce((a, b) => a + b) / 3, points: three[0].points.map((_, i) => three.reduce((sum, one) => sum + one.points[i] / 3, 0)) };
      const all = { ...Object.fromEntries(Object.entries(curves).filter(([one]) => !RANDOM.includes(one))), random }, picture = paint(shown);
      const image = (canvas, alt) => h("img", { src: canvas.toDataURL(), alt, width: 160, height: 160 });
      const drawn = OWN.map((one) => {
        const canvas = h("canvas"), most = Math.max(...maps[one]) || 1;
        squares(canvas, way, Array.from(maps[one], (w) => w / most), { picture });
        return h("figure", {}, image(canvas, `Map of the ${one}`), h("figcaption", {}, one));
      });
      const list = (heads) => heads.slice(0, 12).map(([l, head]) => `${l}.${head}`).join(", ") + (heads.length > 12 ? ", …" : "");
      const total = way.L * way.heads, answer = classes.length ? `Its answer: ${classes[k]}, ${percent(way.first.probs[k])}.` : "It has no head; "
        + "measured is the cosine of the picture's vector with what it was.";
      result.replaceChildren(h("p", {}, `${name}, ${way.picture}. ${answer} ${verdict(all, spread)} One picture says little of a model: try more.`),
        h("div", { class: "figures" }, h("figure", {}, image(picture, "The picture"), h("figcaption", {}, "the picture")), drawn, plot(all)),
        h("table", {}, h("thead", {}, h("tr", {}, ["Rubbed out first by", "Area", "Line"].map((one) => h("th", {}, one)))),
          h("tbody", {}, Object.entries(all).map(([one, { area }], i) => h("tr", {}, h("td", {}, one), h("td", {}, fixed(area)),
            sample(i))))),
        h("p", {}, `The three random orders differ by ${fixed(spread)}. In the last block nobody reads ${unread} of ${way.T} rows: their maps `
          + `say nothing of the answer. Heads that spread evenly over the tokens: ${even.length} of ${total}${even.length ? ` (${list(even)})` : ""}. `
          + `Heads that give one token more than half: ${sinks.length}${sinks.length ? ` (${list(sinks)})` : ""}; block.head, from 0.`));
      save.hidden = false;
    }

    function keep() {
      const style = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:46rem;padding:0 1rem}.figures{display:flex;flex-wrap:wrap;"
        + "gap:1rem}figure{margin:0}td,th{padding:0 1rem 0 0;text-align:left}svg{width:20rem}";
      const page = `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>How far to trust its attention</title><style>${style}</style><h1>How `
        + `far to trust its attention</h1>${result.innerHTML}<p>Measured in a browser, with the microscope of Patch by Patch.</p></html>`;
      const link = h("a", { href: URL.createObjectURL(new Blob([page], { type: "text/html" })), download: "attention.html" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
    return node;
  };
})();
