/* The guided tour of the lab: eight steps, each something to see on this picture and how often it happens on many.

   `vitTour(lab)` gives the steps: a title, a text, and what is done to the state. The shares come from
   `window.vitLab`, which is vitlib/results/lab.json (python -m tools.measure_lab). */
(() => {
  "use strict";

  window.vitTour = (lab) => {
    const { percent } = window.vitExplorer, measured = window.vitLab.models[lab.name], all = [...Array(lab.N).keys()];
    const share = (what) => percent(measured.interventions[what].changed.mean), many = `Of ${measured.n.toLocaleString("en")} pictures`;
    const half = all.filter((i) => (Math.floor(i / lab.n) + (i % lab.n)) % 2), fresh = () => lab.fresh();
    const quadrants = all.map((i) => ((Math.floor(i / lab.n) + lab.n / 2) % lab.n) * lab.n + (((i % lab.n) + lab.n / 2) % lab.n));
    const mixed = all.map((i) => (i * 37 + 11) % lab.N); // 37 and 64 have no common factor, so every patch has a place
    const heads = Object.entries(measured.interventions).filter(([what]) => what.startsWith("head ")).sort((a, b) => b[1].changed.mean - a[1].changed.mean);
    const [worst, head, layer] = heads[0][0].match(/head (\d+) of layer (\d+)/);
    const agree = measured.lens.map(percent);
    return [
      { title: "A picture, 64 patches, an answer", state: fresh(),
        text: `The model sees no cat: it reads 64 patches and says how likely each of ten classes is. It names ${percent(measured.accuracy)} of pictures like these rightly.` },
      { title: "Half is enough, often", state: { ...fresh(), removed: half },
        text: `Every second token is left out. A ViT reads whatever tokens there are. ${many}, ${share("remove 32 at random")} change their answer when 32 random patches are removed.` },
      { title: "Grey is not nothing", state: { ...fresh(), painted: half },
        text: `The same patches, painted grey instead. Grey is something to see: ${share("paint 32 at random")} of the answers change.` },
      { title: "A bag of patches", state: { ...fresh(), order: mixed },
        text: `All patches are there, each in a wrong place. ${share("shuffle all")} of the answers change; the others are the same without any order.` },
      { title: "Large pieces, wrong places", state: { ...fresh(), order: quadrants },
        text: `Only the quadrants have changed places: almost every patch still has its neighbours. And yet ${share("swap quadrants")} of the answers change.` },
      { title: "Without places, no order", state: { ...fresh(), order: mixed, positions: "none" },
        text: `Position embeddings set to zero: ${share("positions to zero")} change. Shuffling on top of that changes nothing more, to the last digit: press Undo and Shuffle, and watch the bars.` },
      { title: "One head", state: { ...fresh(), heads: [[Number(layer), Number(head)]] },
        text: `Of the ${heads.length} heads, this one matters most: without ${worst}, ${share(heads[0][0])} of the answers change; without the one that matters least, ${share(heads.at(-1)[0])}.` },
      { title: "When does it know?", state: fresh(),
        text: `Below the bars: what the head would say if it read an earlier layer. How many answers are final already, before the first block and after each: ${agree.join(", ")}.` },
    ];
  };
})();
