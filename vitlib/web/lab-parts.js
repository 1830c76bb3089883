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

  /* Ways to rank the patches, most important first; three of them know nothing of the model. */
  const RANKINGS = {
    attention: attended,
    "pixel variance": variances,
    "centre first": (lab) => all(lab.N).map((i) => {
      const middle = (lab.n - 1) / 2;
      return -Math.hypot(Math.floor(i / lab.n) - middle, (i % lab.n) - middle);
    }),
    random: (lab) => lab.chance,
  };

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

  /* The same of the last block, with every patch there: a ranking must not change while it is followed. */
  function attended(lab) {
    const { positions, heads } = lab.state;
    const result = lab.model.run(window.vitPictures.standardise(lab.picturesque()), { positions, heads });
    return received(lab, lab.L, result, []);
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
  function answers({ N, model, result, state }, layer) {
    const { embed_dim: D, num_classes: K, global_pool } = model.config, start = layer * (1 + N) * D;
    const read = (t) => model.readOut(result.tokens.subarray(start + t * D, start + (t + 1) * D));
    const logits = new Map(all(N).filter((i) => !state.removed.includes(i)).map((i) => [i, read(1 + i)]));
    // the head is linear, so the mean of the patches' logits is what it says of their mean
    const sum = (k) => [...logits.values()].reduce((total, one) => total + one[k], 0);
    const mean = Float32Array.from(all(K), (k) => sum(k) / logits.size);
    const whole = global_pool === "token" ? read(0) : logits.size ? mean : model.weights["head.bias"].slice();
    return { patches: new Map([...logits].map(([i, one]) => [i, softmax(one)])), whole: softmax(whole) };
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

  window.vitLabParts = { RANKINGS, answers, fromLink, link, received, shuffled };
})();
