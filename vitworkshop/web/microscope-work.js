/* What the microscope's worker does: it holds one model and of its last pass tokens and attention; the rest of a block is
   computed anew when something in it is asked for.

   A message { id, job, ... } is answered with { id, found } or { id, error }, and { id, share } on the way; { stop: id }
   ends it where it stands. The worker's end frees everything. */
(() => {
  "use strict";

  function work(root) {
    const stopped = new Set();
    let model, kept, tensors, inside; // of the last pass; `inside`: the block whose tensors are there

    const sizes = () => {
      const { embed_dim: D, num_heads: h, num_classes: K } = model.config, { L, N, T } = model;
      return { D, h, L, K, N, T };
    };

    async function pass(pixels, options, tick, keep) {
      const blocks = model.blocks(pixels, options, keep);
      for (;;) {
        const { done, value } = blocks.next();
        if (done) return value;
        await tick(value);
      }
    }

    /* The tensors of the last pass, with those of the block that `name` speaks of. */
    function of(name) {
      const l = name.match(/^blocks\.(\d+)\./)?.[1], { h, T } = sizes();
      if (l === undefined || l === inside) return tensors;
      for (const old of Object.keys(tensors)) if (/^blocks\.\d+\./.test(old)) delete tensors[old];
      const maps = kept.attention.subarray(l * h * T * T, (+l + 1) * h * T * T);
      model.block(tensors[+l ? `blocks.${l - 1}` : "embed"], +l, kept.options, maps, (some) => Object.assign(tensors, some));
      inside = l;
      return tensors;
    }

    const jobs = {
      async load({ file, dialect, told, config, weights }, tick) {
        const found = weights ? { config, weights, library: "timm", assumed: [] } : await root.vitForeign.read(file, dialect, told, tick);
        model = new root.VisionTransformer(found.config, found.weights);
        return { ...found, weights: null, count: found.count ?? Object.values(weights).reduce((sum, { length }) => sum + length, 0) };
      },

      /* The pass and what a page shows at once: the tokens, (L + 1, T, D), and what follows the last block. */
      async run({ pixels, options }, tick) {
        const made = {}, { D, L, T } = sizes();
        const keep = (some) => { if (!Object.keys(some)[0].startsWith("blocks")) Object.assign(made, some); };
        const { attention, probs, tokens } = await pass(pixels, options, tick, keep);
        for (let l = 0; l <= L; l++) made[l ? `blocks.${l - 1}` : "embed"] = tokens.subarray(l * T * D, (l + 1) * T * D);
        [kept, tensors, inside] = [{ attention, options }, made, null];
        const { norm, pool, head } = made;
        return { probs, tokens, norm, pool, head };
      },

      /* Row t of a tensor; of scores and weights that of each head, one after another. */
      rows({ keys }) {
        const { h, T, N } = sizes();
        return keys.map(([name, t]) => {
          const all = of(name)[name], wide = all.length / (/^patch/.test(name) ? N : T);
          if (/^(mean|pool|head)$/.test(name)) return all;
          if (!/scores|weights/.test(name)) return all.slice(t * wide, (t + 1) * wide);
          const row = new Float32Array(h * T);
          for (let head = 0; head < h; head++) row.set(all.subarray((head * T + t) * T, (head * T + t + 1) * T), head * T);
          return row;
        });
      },

      /* What token t reads in every block and head, (L, h, T), and how long the tokens are that each block gets, (L, T). */
      heads({ t }) {
        const { D, L, T, h } = sizes(), maps = new Float32Array(L * h * T);
        for (let i = 0; i < L * h; i++) maps.set(kept.attention.subarray((i * T + t) * T, (i * T + t + 1) * T), i * T);
        const norms = Float32Array.from({ length: L * T }, (_, i) => {
          const x = tensors[i < T ? "embed" : `blocks.${Math.floor(i / T) - 1}`];
          let sum = 0;
          for (let k = (i % T) * D; k < ((i % T) + 1) * D; k++) sum += x[k] ** 2;
          return Math.sqrt(sum);
        });
        return { maps, norms };
      },

      opened: ({ at, options }) => root.vitLens.open(model, of(`${at[0]}.`), ...at, options),

      answers({ layer, removed }) {
        if (layer > model.config.depth) return { each: [], whole: root.vitMath.softmax(tensors.head.slice()) };
        return model.answers(tensors[layer ? `blocks.${layer - 1}` : "embed"], removed);
      },
    };

    /* Weights (T, T) of a block in the mean of its heads, as `read(t, s)`. */
    const meanOf = (attention, l, { h, T }) => (t, s) => {
      let sum = 0;
      for (let head = 0; head < h; head++) sum += attention[((l * h + head) * T + t) * T + s];
      return sum / h;
    };

    /* Scores of the patches: what the head's readers take of them in the last block, and through all blocks (rollout). */
    function maps(attention) {
      const all = sizes(), { L, N, T } = all, from = model.readers(), last = meanOf(attention, L - 1, all);
      const patches = (score) => Float32Array.from({ length: N }, (_, n) => score(1 + n));
      let share = new Float32Array(T);
      for (const t of from) share[t] = 1 / from.length;
      for (let l = L - 1; l >= 0; l--) {
        const read = meanOf(attention, l, all), next = share.map((v) => v / 2);
        for (let t = 0; t < T; t++) for (let s = 0; s < T && share[t]; s++) next[s] += (share[t] * read(t, s)) / 2;
        share = next;
      }
      return { "last block": patches((s) => from.reduce((sum, t) => sum + last(t, s) / from.length, 0)),
        rollout: patches((s) => share[s]) };
    }

    /* Deletion (Petsiuk et al. 2018) by the picture's maps, beside orders that know nothing of the picture or of the
       model. Without a head: the cosine with the picture's vector. */
    jobs.trust = async ({ pixels, other, blind }, tick) => {
      const { K, L, N, T } = sizes(), steps = 8;
      let vector, done = 0;
      const total = 1 + (steps - 1) * (3 + Object.keys(blind).length);
      const go = (x, options) => pass(x, options, () => tick(done / total), (some) => { vector = some.pool ?? vector; });
      const { attention, probs } = await go(pixels, {}), k = probs.indexOf(Math.max(...probs)), whole = vector;
      const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
      const left = async (remove) => {
        const { probs: now } = await go(pixels, { remove });
        done++;
        return K ? now[k] : dot(vector, whole) / (Math.sqrt(dot(vector, vector) * dot(whole, whole)) || 1);
      };
      const ours = maps(attention), theirs = maps((await go(other, {})).attention)["last block"];
      const none = await left([...Array(N).keys()]), curves = {};
      for (const [name, scores] of Object.entries({ ...ours, "another picture's map": theirs, ...blind })) {
        const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]), points = [K ? probs[k] : 1];
        for (let step = 1; step < steps; step++) points.push(await left(order.slice(0, Math.round((step * N) / steps))));
        points.push(none);
        curves[name] = { points, area: points.reduce((sum, p, i) => sum + (i % steps ? p : p / 2), 0) / steps };
      }
      return { curves, k, unread: T - model.readers().length, maps: ours };
    };

    root.onmessage = async ({ data: { id, job, stop, ...what } }) => {
      if (stop) return stopped.add(stop);
      const tick = async (share) => {
        root.postMessage({ id, share });
        await new Promise((done) => setTimeout(done)); // what came meanwhile is seen to
        if (stopped.has(id)) throw new Error("stopped");
      };
      try {
        root.postMessage({ id, found: await jobs[job](what, tick) });
      } catch (error) {
        const memory = error instanceof RangeError && !/^expected/.test(error.message);
        root.postMessage({ id, error: memory ? t("this device has not the memory for it; a smaller model may do") : error.message });
      }
    };
  }

  window.vitWork = work;
})();
