/* What the microscope's worker does: it holds one model and its last trace, and gives what is asked for.

   A message { id, job, ... } is answered with { id, found } or { id, error }, and { id, share } on the way; { stop: id }
   ends it where it stands. The worker's end frees everything. */
(() => {
  "use strict";

  function work(root) {
    const { softmax } = root.vitMath, stopped = new Set();
    let model, tensors;

    const sizes = () => {
      const { embed_dim: D, num_heads: h, depth: L, num_classes: K } = model.config;
      return { D, h, L, K, N: model.N, T: 1 + model.N };
    };

    async function pass(pixels, options, tick, keep) {
      const blocks = model.blocks(pixels, options, keep);
      for (;;) {
        const { done, value } = blocks.next();
        if (done) return value;
        await tick(value);
      }
    }

    const jobs = {
      async load({ file, dialect, told, config, weights }, tick) {
        const found = weights ? { config, weights, library: "timm" } : await root.vitForeign.read(file, dialect, told, tick);
        model = new root.VisionTransformer(found.config, found.weights);
        const count = Object.values(found.weights).reduce((sum, { length }) => sum + length, 0);
        return { config: found.config, library: found.library, count };
      },

      /* The pass and what a page shows at once: the tokens, (L + 1, T, D), and what follows the last block. */
      async run({ pixels, options }, tick) {
        const made = {}, { probs, tokens } = await pass(pixels, options, tick, (some) => Object.assign(made, some));
        tensors = made;
        const { norm, pool, head } = made;
        return { probs, tokens, norm, pool, head };
      },

      /* Row t of a tensor; of scores and weights that of each head, one after another. */
      rows({ keys }) {
        const { h, T, N } = sizes();
        return keys.map(([name, t]) => {
          const all = tensors[name], perPlace = /^patch/.test(name);
          if (/^(pool|head)$/.test(name)) return all;
          const wide = /scores|weights/.test(name) ? T : all.length / (perPlace ? N : T);
          if (wide !== T || !/scores|weights/.test(name)) return all.slice(t * wide, (t + 1) * wide);
          const row = new Float32Array(h * T);
          for (let head = 0; head < h; head++) row.set(all.subarray((head * T + t) * T, (head * T + t + 1) * T), head * T);
          return row;
        });
      },

      opened: ({ at, options }) => root.vitLens.open(model, tensors, ...at, options),

      /* What the head would say of each token after some blocks, and of the picture: (T, K) and (K) shares. */
      answers({ layer, removed }) {
        const { K, L, T, N } = sizes(), x = tensors[layer ? `blocks.${layer - 1}` : "embed"];
        if (!K || layer > L) return { each: new Float32Array(0), whole: new Float32Array(0) };
        const each = model.readOut(x, T), whole = new Float32Array(K), cls = model.config.global_pool === "token";
        const read = cls ? [0] : [...Array(N).keys()].filter((n) => !removed.includes(n)).map((n) => 1 + n);
        for (const t of read) for (let k = 0; k < K; k++) whole[k] += each[t * K + k] / read.length;
        for (let t = 0; t < T; t++) softmax(each, t * K, K);
        return { each, whole: softmax(whole) };
      },
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
        root.postMessage({ id, error: memory ? "this device has not the memory for it; a smaller model may do" : error.message });
      }
    };
  }

  window.vitWork = work;
})();
