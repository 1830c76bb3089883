/* Rankings of a picture's patches, as `vl.patch_scores` has them, and a view of them that explorers share.

   All of it in `window.vitRankings`, as functions of a `lab`: `result` is its last forward pass, `state` what was done
   to the picture and the model, `bytes` and `shown` the picture untouched and as it is now, `picture` its name. */
(() => {
  "use strict";

  const { argmax, h, place, range, select, squares } = window.vitExplorer;

  /* A state in which nothing was done to a picture of N patches, nor to the model. */
  const untouched = (N) => ({ order: range(N), painted: [], removed: [], positions: null, heads: [] });

  /* 0 to n - 1 in a random order (Fisher and Yates). */
  function shuffled(n) {
    const out = range(n);
    for (let i = n - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }

  /* What needs gradients is computed beforehand, for the book's own pictures as they are. */
  const GRADIENTS = ["relevance", "grad-cam", "integrated gradients"];
  const stored = (lab) => window.vitScores?.[lab.name]?.[lab.picture];

  /* Scores of the patches by name; the last three know nothing of the model. With every patch there: a ranking must not
     change while it is followed. */
  // Their names: t("attention") t("logit lens") t("occlusion") t("grad-cam") t("integrated gradients") t("variance")
  // t("centre") t("random")
  const RANKINGS = {
    attention: (lab) => received(lab, lab.L, whole(lab), []),
    rollout: (lab) => fromPatches(rollout(whole(lab).attention, lab).slice(-1), lab.model.readers(), lab),
    "logit lens": (lab) => {
      const { probs, tokens } = whole(lab), T = 1 + lab.N, K = probs.length, k = argmax(probs);
      const logits = lab.model.readOut(tokens.subarray((tokens.length * lab.L) / (lab.L + 1)), T);
      return range(lab.N).map((i) => logits[(1 + i) * K + k]);
    },
    occlusion,
    ...Object.fromEntries(GRADIENTS.map((name) => [name, (lab) => stored(lab)[name]])),
    variance,
    centre: ({ N, n }) => range(N).map((i) => -Math.hypot(Math.floor(i / n) - (n - 1) / 2, (i % n) - (n - 1) / 2)),
    random: (lab) => (lab.chance ??= shuffled(lab.N)),
  };

  /* The forward pass as it is now, but with every patch there. */
  function whole({ model, shown, state: { positions, heads } }, remove = []) {
    return model.run(window.vitPictures.standardise(shown), { positions, heads, remove });
  }

  /* What each patch gives to these tokens, in the mean of some maps (T, T). */
  const fromPatches = (maps, tokens, { N, T = 1 + N }) => range(N).map((i) => {
    const given = maps.flatMap((map) => tokens.map((t) => map[t * T + 1 + i]));
    return given.reduce((a, b) => a + b, 0) / (given.length || 1);
  });

  /* What the tokens that the head reads take from each patch in block `layer` - 1, by the heads that are on. */
  function received(lab, layer, { attention } = lab.result, removed = lab.state.removed) {
    const size = (1 + lab.N) ** 2, off = lab.state.heads.filter(([l]) => l === layer - 1).map(([, head]) => head);
    const on = range(lab.heads).filter((head) => !off.includes(head));
    const maps = on.map((head) => attention.subarray(((layer - 1) * lab.heads + head) * size));
    return fromPatches(maps, lab.model.readers(removed), lab);
  }

  /* How few of these weights make up half of their sum. */
  function halfOf(weights) {
    const sorted = [...weights].sort((a, b) => b - a), half = sorted.reduce((a, b) => a + b, 0) / 2;
    let sum = 0, few = 0;
    while (sum < half) sum += sorted[few++];
    return few;
  }

  /* Of each layer, (T, T): what each output token has taken from each input token, if attention alone splits it. */
  function rollout(attention, { L, heads, N }) {
    const T = 1 + N, rolled = [];
    for (let l = 0; l < L; l++) {
      const step = new Float32Array(T * T), out = new Float32Array(T * T);
      for (let i = 0; i < T * T; i++) {
        for (let head = 0; head < heads; head++) step[i] += attention[(l * heads + head) * T * T + i] / heads / 2;
        if (i % (T + 1) === 0) step[i] += 0.5;
      }
      for (let t = 0; t < T && l; t++)
        for (let s = 0; s < T; s++)
          for (let i = 0; i < T; i++) out[t * T + i] += step[t * T + s] * rolled[l - 1][s * T + i];
      rolled.push(l ? out : step);
    }
    return rolled;
  }

  /* How much the answer's logit falls without each patch: a forward pass for each, a pause after each. */
  async function occlusion(lab, tell) {
    const { logits, probs } = whole(lab), k = argmax(probs), falls = [];
    for (const n of range(lab.N)) {
      falls.push(logits[k] - whole(lab, [n]).logits[k]);
      tell(n + 1);
      await new Promise((done) => setTimeout(done));
    }
    return falls;
  }

  /* Of the pixels of each patch, all channels together. */
  function variance({ N, model, shown }) {
    const patches = model.patchify(shown), size = patches.length / N;
    return range(N).map((i) => {
      const values = patches.subarray(i * size, (i + 1) * size), mean = values.reduce((a, b) => a + b) / size;
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / size;
    });
  }

  /* A choice of rankings, and a picture of the chosen one: the larger a square, the earlier its patch. `order()` is its
     places, most important first, or null if another was asked for meanwhile. */
  function rankingView(lab, tell = () => {}) {
    const choice = select(t("Ranked by"), Object.keys(RANKINGS));
    const canvas = h("canvas", { role: "img", hidden: "" });
    let kept = { of: null };

    const now = () => {
      const { order, painted, positions, heads } = lab.state;
      return JSON.stringify([choice.value, lab.picture, order, painted, positions, heads]);
    };

    const stale = () => kept.of !== now() || kept.bytes !== lab.bytes; // two pictures may have one name

    async function order() {
      if (stale()) kept = { of: now(), bytes: lab.bytes, scores: RANKINGS[choice.value](lab, tell) };
      const mine = kept, scores = await mine.scores;
      if (mine !== kept || stale()) return null;
      const places = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
      show(places);
      return places;
    }

    function show(places) {
      const ranks = new Float32Array(lab.N), first = places.slice(0, 3).map((i) => place(i, lab.n)).join(t("; "));
      places.forEach((at, i) => { ranks[at] = (1 - i / lab.N) ** 3; }); // the first stand out
      squares(canvas, lab, ranks);
      canvas.setAttribute("aria-label", t("Ranked by {name}, first: {first}.", { name: t(choice.value), first }));
      canvas.hidden = false;
    }

    /* After a change; what is slow waits until it is asked for. */
    function refresh() {
      const { order: places, painted, positions, heads } = lab.state;
      const touched = painted.length || positions || heads.length || places.some((from, to) => from !== to);
      for (const option of choice.options)
        option.disabled = GRADIENTS.includes(option.value) && Boolean(touched || !stored(lab));
      if (choice.selectedOptions[0].disabled) choice.selectedIndex = 0;
      if (stale()) canvas.hidden = true;
    }

    return { choice, canvas, order, refresh };
  }

  window.vitRankings = { RANKINGS, halfOf, rankingView, received, rollout, shuffled, untouched };
})();
