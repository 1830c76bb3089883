/* Rankings of a picture's patches, as `vl.patch_scores` has them, and a view of them that explorers share.

   All of it in `window.vitRankings`, as functions of a `lab`: `result` is its last forward pass, `state` what was done
   to the picture and the model, `bytes` and `shown` the picture untouched and as it is now, `picture` its name. */
(() => {
  "use strict";

  const { h, squares } = window.vitExplorer;
  const all = (n) => [...Array(n).keys()];

  /* 0 to n - 1 in a random order (Fisher and Yates). */
  function shuffled(n) {
    const out = all(n);
    for (let i = n - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }

  /* Scores of the patches by name; the last three know nothing of the model. With every patch there: a ranking must not
     change while it is followed. */
  const RANKINGS = {
    attention: (lab) => received(lab, lab.L, whole(lab), []),
    rollout: (lab) => read(lab, rollout(whole(lab).attention, lab).at(-1)),
    "logit lens": (lab) => {
      const result = whole(lab), k = result.probs.indexOf(Math.max(...result.probs));
      return all(lab.N).map((i) => lab.model.readOut(tokenAfter(lab, result, lab.L, 1 + i))[k]);
    },
    occlusion,
    relevance: precomputed("relevance"),
    "grad-cam": precomputed("grad-cam"),
    "integrated gradients": precomputed("integrated gradients"),
    variance: variances,
    centre: (lab) => all(lab.N).map((i) => {
      const middle = (lab.n - 1) / 2;
      return -Math.hypot(Math.floor(i / lab.n) - middle, (i % lab.n) - middle);
    }),
    random: (lab) => lab.chance,
  };

  /* The forward pass as it is now, but with every patch there. */
  function whole(lab, remove = []) {
    const { positions, heads } = lab.state;
    return lab.model.run(window.vitPictures.standardise(lab.picturesque()), { positions, heads, remove });
  }

  const tokenAfter = ({ N, model }, { tokens }, layer, t) => {
    const D = model.config.embed_dim, start = (layer * (1 + N) + t) * D;
    return tokens.subarray(start, start + D);
  };

  /* What the head's token takes from each patch: the row of CLS, or the mean over the patches' rows. */
  function read({ N, model }, relation) {
    const T = 1 + N, rows = model.config.global_pool === "token" ? [0] : all(T).slice(1);
    return all(N).map((i) => rows.reduce((sum, row) => sum + relation[row * T + 1 + i], 0) / rows.length);
  }

  /* Of each layer, (T, T): what each output token has taken from each input token, if attention alone splits it. */
  function rollout(attention, { L, heads, T = Math.sqrt(attention.length / L / heads) }) {
    const rolled = [];
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
    const { logits, probs } = whole(lab), k = probs.indexOf(Math.max(...probs)), falls = [];
    for (const n of all(lab.N)) {
      falls.push(logits[k] - whole(lab, [n]).logits[k]);
      tell(n + 1);
      await new Promise((done) => setTimeout(done));
    }
    return falls;
  }

  /* What needs gradients is computed beforehand, for the book's own pictures as they are: `window.vitScores`. */
  function precomputed(name) {
    const find = (lab) => window.vitScores?.[lab.name]?.[lab.picture]?.[name];
    return Object.assign((lab) => find(lab), { known: (lab) => Boolean(find(lab)) });
  }

  /* Attention that each patch gets after `layer` blocks from the last of them, heads that are on averaged: from CLS, or
     the mean over the patches where the head does not read CLS. */
  function received({ N, heads, model, result, state }, layer, { attention } = result, removed = state.removed) {
    const T = 1 + N, got = new Float32Array(N);
    const queries = model.config.global_pool === "token" ? [0] : all(T).slice(1);
    const there = queries.filter((q) => !q || !removed.includes(q - 1));
    const on = all(heads).filter((head) => !state.heads.some(([l, k]) => l === layer - 1 && k === head));
    for (const head of on)
      for (const q of there) {
        const row = (((layer - 1) * heads + head) * T + q) * T;
        for (let i = 0; i < N; i++) got[i] += attention[row + 1 + i] / on.length / there.length;
      }
    return got;
  }

  /* Of the pixels of each patch, all channels together. */
  function variances({ N, size, P, n, shown }) {
    return all(N).map((i) => {
      const values = [];
      for (let c = 0; c < 3; c++)
        for (let p1 = 0; p1 < P; p1++) {
          const start = (c * size + Math.floor(i / n) * P + p1) * size + (i % n) * P;
          values.push(...shown.subarray(start, start + P));
        }
      const mean = values.reduce((a, b) => a + b) / values.length;
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    });
  }

  /* A choice of rankings, and a picture of the chosen one: the larger a square, the earlier its patch. `order()` is its
     places, most important first, or null if another was asked for meanwhile. */
  function rankingView(lab, tell = () => {}) {
    const names = Object.keys(RANKINGS).map((name) => h("option", {}, name));
    const select = h("select", { "aria-label": "Ranked by" }, names);
    const canvas = h("canvas", { role: "img", hidden: "" });
    let kept = { of: null };

    const now = () => {
      const { order, painted, positions, heads } = lab.state;
      return JSON.stringify([select.value, lab.picture, order, painted, positions, heads]);
    };

    const stale = () => kept.of !== now() || kept.bytes !== lab.bytes; // two pictures may have one name

    async function order() {
      if (stale()) kept = { of: now(), bytes: lab.bytes, scores: RANKINGS[select.value](lab, tell) };
      const mine = kept, scores = await mine.scores;
      if (mine !== kept || stale()) return null;
      const places = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
      show(places);
      return places;
    }

    function show(places) {
      const ranks = new Float32Array(lab.N), at = (i) => `row ${Math.floor(i / lab.n)}, column ${i % lab.n}`;
      places.forEach((place, i) => { ranks[place] = (1 - i / lab.N) ** 3; }); // the first stand out
      squares(canvas, lab, ranks, { side: 320, picture: lab.grid.canvas, dim: 0.45 });
      canvas.setAttribute("aria-label", `Ranked by ${select.value}, first: ${places.slice(0, 3).map(at).join("; ")}.`);
      canvas.hidden = false;
    }

    /* After a change. What needs gradients is known of the book's pictures only, as they are; what is slow waits until
       it is asked for. */
    function refresh() {
      const { order: places, painted, positions, heads } = lab.state;
      const touched = painted.length || positions || heads.length || places.some((from, to) => from !== to);
      for (const option of select.options) {
        const { known } = RANKINGS[option.value];
        option.disabled = known ? Boolean(touched) || !known(lab) : false;
      }
      if (select.selectedOptions[0].disabled) select.selectedIndex = 0;
      if (stale()) canvas.hidden = true;
    }

    return { select, canvas, order, refresh };
  }

  window.vitRankings = { RANKINGS, rankingView, received, rollout, shuffled, tokenAfter };
})();
