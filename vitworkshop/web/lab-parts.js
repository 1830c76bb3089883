/* What the lab computes and keeps beside its view: what each layer would answer, and links.

   All of it in `window.vitLabParts`, as functions of the lab: `lab.result` is the last forward pass, `lab.state` what
   was done to the picture and the model. */
(() => {
  "use strict";

  const { softmax } = window.vitMath, { tokenAfter } = window.vitRankings;
  const all = (n) => [...Array(n).keys()];

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

  window.vitLabParts = { answers, fromLink, link };
})();
