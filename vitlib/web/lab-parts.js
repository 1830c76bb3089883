/* What the lab computes and keeps beside its view: rankings of patches, what each layer would answer, links.

   All of it in `window.vitLabParts`, as functions of the lab: `lab.result` is the last forward pass, `lab.state` what was
   done to the picture and the model. */
(() => {
  "use strict";

  const all = (n) => [...Array(n).keys()];

  /* Ways to rank the patches, most important first; three of them know nothing of the model. */
  const RANKINGS = {
    "attention": attended,
    "pixel variance": variances,
    "centre first": (lab) => all(lab.N).map((i) => -Math.hypot(Math.floor(i / lab.n) - (lab.n - 1) / 2, (i % lab.n) - (lab.n - 1) / 2)),
    "random": (lab) => lab.chance,
  };

  /* Attention that each patch gets in the last layer, heads averaged: from CLS, or from all patches where none reads CLS.
     With every patch there: a ranking must not change while it is followed. */
  function attended(lab) {
    const { N, L, heads } = lab, { positions, heads: off } = lab.state, T = 1 + N, sums = new Float32Array(N);
    const { attention } = lab.model.run(window.vitPictures.standardise(lab.picturesque()), { positions, heads: off });
    const queries = lab.model.config.global_pool === "token" ? [0] : all(N).map((i) => 1 + i);
    for (let head = 0; head < heads; head++)
      for (const q of queries)
        for (let i = 0; i < N; i++) sums[i] += attention[(((L - 1) * heads + head) * T + q) * T + 1 + i];
    return sums;
  }

  function variances({ N, size, P, n, shown }) {
    return all(N).map((i) => {
      const values = [];
      for (let c = 0; c < 3; c++)
        for (let p1 = 0; p1 < P; p1++)
          for (let p2 = 0; p2 < P; p2++) values.push(shown[(c * size + Math.floor(i / n) * P + p1) * size + (i % n) * P + p2]);
      const mean = values.reduce((a, b) => a + b) / values.length;
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    });
  }

  function softmax(logits) {
    const most = Math.max(...logits), powers = [...logits].map((x) => Math.exp(x - most)), sum = powers.reduce((a, b) => a + b);
    return powers.map((x) => x / sum);
  }

  /* What the head says if it reads the tokens after `layer` blocks: of each patch that is there, and of the picture. */
  function answers(lab, layer) {
    const { N, model } = lab, { embed_dim: D, num_classes: K, global_pool } = model.config, start = layer * (1 + N) * D;
    const read = (t) => model.readOut(lab.result.tokens.subarray(start + t * D, start + (t + 1) * D));
    const logits = new Map(all(N).filter((i) => !lab.state.removed.includes(i)).map((i) => [i, read(1 + i)]));
    const mean = () => all(K).map((k) => [...logits.values()].reduce((sum, one) => sum + one[k], 0) / logits.size);
    const whole = global_pool === "token" || !logits.size ? read(0) : mean();
    return { patches: new Map([...logits].map(([i, one]) => [i, softmax(one)])), whole: softmax(whole) };
  }

  /* The state written down; a picture of the reader's is in no link. */
  function link(lab) {
    const { order, painted, removed, positions, heads } = lab.state, moved = order.some((from, to) => from !== to);
    const picture = window.vitSamples[lab.picture] ? lab.picture : null;
    return `#lab=${btoa(JSON.stringify({ model: lab.name, picture, order: moved ? order : null, painted, removed, positions, heads }))}`;
  }

  /* The state of the page's link; whatever is not exactly right in it is as if it were not there. */
  function fromLink(lab) {
    const fresh = lab.fresh(), text = location.hash.match(/^#lab=([A-Za-z0-9+/=]{1,8000})$/)?.[1];
    const below = (list, most) => Array.isArray(list) && list.every((i) => Number.isInteger(i) && i >= 0 && i < most);
    const places = (list) => (below(list, lab.N) ? [...new Set(list)] : []);
    const permutes = (list) => below(list, lab.N) && list.length === lab.N && new Set(list).size === lab.N;
    const head = (one) => below(one, Infinity) && one.length === 2 && one[0] < lab.L && one[1] < lab.heads;
    try {
      const got = JSON.parse(atob(text));
      if (got.model !== lab.name) return fresh;
      if (typeof got.picture === "string" && Object.hasOwn(window.vitSamples, got.picture)) lab.setAttribute("picture", got.picture);
      return {
        order: permutes(got.order) ? got.order : fresh.order,
        painted: places(got.painted),
        removed: places(got.removed),
        positions: got.positions === "none" || permutes(got.positions) ? got.positions : null,
        heads: Array.isArray(got.heads) ? got.heads.filter(head) : [],
      };
    } catch {
      return fresh;
    }
  }

  window.vitLabParts = { RANKINGS, answers, fromLink, link };
})();
