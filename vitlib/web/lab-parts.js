/* What the lab computes and keeps beside its view: rankings of patches, what each layer would answer, links.

   All of it in `window.vitLabParts`, as functions of the lab: `lab.result` is the last forward pass, `lab.state` what
   was done to the picture and the model. */
(() => {
  "use strict";

  const { softmax } = window.vitMath;
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

  /* Ways to rank the patches, most important first, as `vl.patch_scores` has them; the last three know nothing of the
     model. With every patch there: a ranking must not change while it is followed. */
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

  /* What the head says if it reads the tokens after `layer` blocks: of each patch that is there, and of the picture. */
  function answers(lab, layer) {
    const { N, model, result, state } = lab, { num_classes: K, global_pool } = model.config;
    const ask = (t) => model.readOut(tokenAfter(lab, result, layer, t));
    const logits = new Map(all(N).filter((i) => !state.removed.includes(i)).map((i) => [i, ask(1 + i)]));
    // the head is linear, so the mean of the patches' logits is what it says of their mean
    const sum = (k) => [...logits.values()].reduce((total, one) => total + one[k], 0);
    const mean = Float32Array.from(all(K), (k) => sum(k) / logits.size);
    const picture = global_pool === "token" ? ask(0) : logits.size ? mean : model.weights["head.bias"].slice();
    return { patches: new Map([...logits].map(([i, one]) => [i, softmax(one)])), whole: softmax(picture) };
  }

  /* The state written down; a picture of the reader's is in no link. */
  function link(lab) {
    const { order, painted, removed, positions, heads } = lab.state, moved = order.some((from, to) => from !== to);
    const picture = window.vitSamples[lab.picture] ? lab.picture : null;
    const state = { model: lab.name, picture, order: moved ? order : null, painted, removed, positions, heads };
    return `#lab=${btoa(JSON.stringify(state))}`;
  }

  /* The state of the page's link, null if it is not for this lab; what is not exactly right in it is left out. */
  function fromLink(lab) {
    const fresh = lab.fresh(), text = location.hash.match(/^#lab=([A-Za-z0-9+/=]{1,8000})$/)?.[1];
    const below = (list, most) => Array.isArray(list) && list.every((i) => Number.isInteger(i) && i >= 0 && i < most);
    const places = (list) => (below(list, lab.N) ? [...new Set(list)] : []);
    const permutes = (list) => below(list, lab.N) && list.length === lab.N && new Set(list).size === lab.N;
    const isHead = (one) => below(one, Infinity) && one.length === 2 && one[0] < lab.L && one[1] < lab.heads;
    const once = (list) => list.filter(([l, k], i) => list.findIndex((one) => one[0] === l && one[1] === k) === i);
    const isSample = (name) => typeof name === "string" && Object.hasOwn(window.vitSamples, name);
    try {
      const got = JSON.parse(atob(text));
      if (got.model !== lab.name) return null;
      if (isSample(got.picture)) lab.setAttribute("picture", got.picture);
      return {
        order: permutes(got.order) ? got.order : fresh.order,
        painted: places(got.painted),
        removed: places(got.removed),
        positions: got.positions === "none" || permutes(got.positions) ? got.positions : null,
        heads: Array.isArray(got.heads) ? once(got.heads.filter(isHead)) : [],
      };
    } catch {
      return null;
    }
  }

  window.vitLabParts = { RANKINGS, answers, fromLink, link, received, rollout, shuffled };
})();
