/* The forward pass of a Vision Transformer, with vitlib's names: pixels in, logits, attention and tokens out.

   `new VisionTransformer(config, weights)` takes a config as `ViTConfig` has it, and the weights of a `state_dict` as
   Float32Arrays. A matrix is an array, row after row; T = 1 + N tokens (CLS first), D numbers a token, h heads of d.
   Works in any browser and in Node, needs nothing else. */
(function vit(root) {
  "use strict";

  (root.vitSources ??= {}).vit = `(${vit})(globalThis);`; // for a worker, which can load no file from a disk

  const EPS = 1e-6;

  /* y = x Wᵀ + b: (T, I) -> (T, O). */
  function linear(x, T, weight, bias, I, O) {
    const y = new Float32Array(T * O);
    for (let t = 0; t < T; t++)
      for (let o = 0; o < O; o++) {
        let sum = bias[o];
        for (let i = 0; i < I; i++) sum += x[t * I + i] * weight[o * I + i];
        y[t * O + o] = sum;
      }
    return y;
  }

  /* Each token with mean 0 and variance 1, then times weight plus bias: (T, D) -> (T, D). */
  function layerNorm(x, T, D, weight, bias, eps = EPS) {
    const y = new Float32Array(T * D);
    for (let t = 0; t < T; t++) {
      let mean = 0, variance = 0;
      for (let i = t * D; i < (t + 1) * D; i++) mean += x[i];
      mean /= D;
      for (let i = t * D; i < (t + 1) * D; i++) variance += (x[i] - mean) ** 2;
      const scale = 1 / Math.sqrt(variance / D + eps);
      for (let i = 0; i < D; i++) y[t * D + i] = (x[t * D + i] - mean) * scale * weight[i] + bias[i];
    }
    return y;
  }

  /* How likely a normal number is below x. erf as in Abramowitz and Stegun, 7.1.26: off by at most 1.5e-7. */
  function below(x) {
    const z = Math.abs(x) * Math.SQRT1_2, t = 1 / (1 + 0.3275911 * z);
    const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    const erf = 1 - tail * Math.exp(-z * z);
    return 0.5 * (1 + (x < 0 ? -erf : erf));
  }

  function gelu(x) {
    const y = new Float32Array(x.length);
    for (let i = 0; i < x.length; i++) y[i] = x[i] * below(x[i]);
    return y;
  }

  /* In place, of the n numbers from `start`; what is -Infinity becomes 0. */
  function softmax(x, start = 0, n = x.length) {
    let most = -Infinity, sum = 0;
    for (let i = start; i < start + n; i++) most = Math.max(most, x[i]);
    for (let i = start; i < start + n; i++) sum += x[i] = Math.exp(x[i] - most);
    for (let i = start; i < start + n; i++) x[i] /= sum;
    return x;
  }

  function add(x, y) {
    const z = new Float32Array(x.length);
    for (let i = 0; i < x.length; i++) z[i] = x[i] + y[i];
    return z;
  }

  /* Each query times each key, over √d (Equation 6): (T, 3D) -> `out` (h, T, T). */
  function scores(qkv, T, D, h, out) {
    const d = D / h, scale = 1 / Math.sqrt(d);
    for (let head = 0; head < h; head++)
      for (let t = 0; t < T; t++)
        for (let s = 0; s < T; s++) {
          const q = t * 3 * D + head * d, k = s * 3 * D + D + head * d;
          let dot = 0;
          for (let i = 0; i < d; i++) dot += qkv[q + i] * qkv[k + i];
          out[(head * T + t) * T + s] = dot * scale;
        }
  }

  /* What each token takes of the values (Equations 7 and 8): (h, T, T), (T, 3D) -> (T, D). */
  function mix(weights, qkv, T, D, h) {
    const d = D / h, out = new Float32Array(T * D);
    for (let head = 0; head < h; head++)
      for (let t = 0; t < T; t++)
        for (let s = 0; s < T; s++) {
          const weight = weights[(head * T + t) * T + s], v = s * 3 * D + 2 * D + head * d, y = t * D + head * d;
          for (let i = 0; i < d; i++) out[y + i] += weight * qkv[v + i];
        }
    return out;
  }

  const products = { linear, mix, scores }; // kernel.js puts faster ones in their place

  class VisionTransformer {
    constructor(config, weights) {
      const fits = config.patch_embed === "conv" && config.pos_embed === "learned" && config.norm_order === "pre"
        && config.head === "linear" && config.act === "gelu" && config.layer_scale === null;
      if (!fits) throw new Error("expected conv patches, learned positions, pre-norm blocks and a linear head");
      this.config = config;
      this.weights = weights;
      this.grid = config.img_size / config.patch_size;
      this.N = this.grid ** 2;
    }

    /* The weight and the bias of a layer; a bias that it lacks is 0. */
    layer(name) {
      const weight = this.weights[`${name}.weight`];
      return [weight, this.weights[`${name}.bias`] ?? new Float32Array(weight.length)];
    }

    /* Pixels (C, H, W), standardised, as rows of flattened patches: (N, C * P * P), channels first.
       order[n]: the patch whose content stands in place n. */
    patchify(pixels, order) {
      const { in_chans: C, img_size: H, patch_size: P } = this.config, patches = new Float32Array(C * H * H);
      let i = 0;
      for (let n = 0; n < this.N; n++)
        for (let c = 0, from = order ? order[n] : n; c < C; c++)
          for (let p1 = 0; p1 < P; p1++)
            for (let p2 = 0; p2 < P; p2++) {
              const row = Math.floor(from / this.grid) * P + p1, col = (from % this.grid) * P + p2;
              patches[i++] = pixels[(c * H + row) * H + col];
            }
      return patches;
    }

    /* The encoder's input (Equation 1), from rows of flattened patches: (N, C * P * P) -> (1 + N, D).
       positions: "none", or for place n the place whose position it gets. */
    embed(patches, positions, keep) {
      const { embed_dim: D, in_chans: C, patch_size: P } = this.config, { N } = this;
      const y = products.linear(patches, N, ...this.layer("patch_embed.proj"), C * P * P, D);
      const { cls_token: cls, pos_embed: pos } = this.weights, x = new Float32Array((1 + N) * D);
      for (let i = 0; i < D; i++) x[i] = cls[i] + pos[i];
      for (let n = 0; n < N; n++) {
        const place = (1 + (Array.isArray(positions) ? positions[n] : n)) * D;
        const scale = positions === "none" ? 0 : 1, to = (1 + n) * D;
        for (let i = 0; i < D; i++) x[to + i] = y[n * D + i] + scale * pos[place + i];
      }
      keep?.({ patches, patch_embed: y, embed: x });
      return x;
    }

    /* Attention of one block (Equations 5 to 8), from normalised tokens; `maps` takes the weights, (h, T, T).
       absent[t]: token t is not there; off[head]: the head's output is 0. */
    attend(x, T, name, absent, off, maps, keep) {
      const { embed_dim: D, num_heads: h } = this.config, d = D / h;
      const qkv = products.linear(x, T, ...this.layer(`${name}.qkv`), D, 3 * D);
      products.scores(qkv, T, D, h, maps);
      for (let row = 0; row < h * T; row++)
        for (let s = 0; s < T; s++) if (absent[s] || absent[row % T]) maps[row * T + s] = -Infinity;
      keep?.({ [`${name}.qkv`]: qkv, [`${name}.scores`]: maps.slice(), [`${name}.weights`]: maps });
      for (let row = 0; row < h * T; row++)
        if (absent[row % T]) maps.fill(0, row * T, (row + 1) * T);
        else softmax(maps, row * T, T);
      const mixed = products.mix(maps, qkv, T, D, h);
      for (let head = 0; head < h; head++)
        for (let t = 0; off[head] && t < T; t++) mixed.fill(0, t * D + head * d, t * D + (head + 1) * d);
      const out = products.linear(mixed, T, ...this.layer(`${name}.proj`), D, D);
      keep?.({ [`${name}.mixed`]: mixed, [`${name}.proj`]: out });
      return out;
    }

    /* LayerNorm by its name; only others' models have an epsilon of their own. */
    norm(name, x, T) {
      return layerNorm(x, T, this.config.embed_dim, ...this.layer(name), this.config.norm_eps);
    }

    /* The head's K sums of each of T vectors; none in a model without a head. */
    answer(x, T) {
      const { embed_dim: D, num_classes: K } = this.config;
      return K ? products.linear(x, T, ...this.layer("head"), D, K) : new Float32Array(0);
    }

    /* Logits (T, K) of tokens, or of any vectors that stand where the encoder's output does: last norm, then head. */
    readOut(tokens, T = 1) {
      return this.answer(this.norm("norm", tokens, T), T);
    }

    /* The tokens that the head reads: CLS, or the patches that were not removed. */
    readers(removed = []) {
      if (this.config.global_pool === "token") return [0];
      return [...Array(this.N).keys()].filter((n) => !removed.includes(n)).map((n) => 1 + n);
    }

    /* What the head would say if it read these tokens, (T, D), as shares: of each by itself, (T, K), and of the picture,
       (K). The head is linear, so the mean of its sums is what it says of their mean. */
    answers(tokens, removed) {
      const { num_classes: K } = this.config, T = 1 + this.N, read = this.readers(removed);
      if (!K) return { each: new Float32Array(0), whole: new Float32Array(0) };
      const each = this.readOut(tokens, T);
      const whole = read.length ? new Float32Array(K) : this.layer("head")[1].slice();
      for (const t of read) for (let k = 0; k < K; k++) whole[k] += each[t * K + k] / read.length;
      for (let t = 0; t < T; t++) softmax(each, t * K, K);
      return { each, whole: softmax(whole) };
    }

    /* Pixels (C * H * W), standardised, channels first -> { logits (K), probs (K), attention (L * h * T * T),
       tokens ((L + 1) * T * D): before the first block and after each }.

       Interventions, all of them at once if wanted, in places counted from 0 row after row:
         order      for each place the patch whose content stands there
         positions  "none", or for each place the place whose position embedding it gets
         remove     places whose tokens are left out, as if the picture had no such patches; their attention is 0
         heads      [layer, head] pairs whose output is 0 */
    run(pixels, options, keep) {
      const blocks = this.blocks(pixels, options, keep);
      for (;;) {
        const { done, value } = blocks.next();
        if (done) return value;
      }
    }

    /* `run`, with a stop after each block: how many are done. */
    *blocks(pixels, { order, positions, remove = [], heads = [] } = {}, keep) {
      const { embed_dim: D, num_heads: h, depth: L, mlp_ratio: ratio } = this.config;
      const T = 1 + this.N, absent = new Uint8Array(T), hidden = Math.trunc(D * ratio);
      this.check(pixels, order, positions, remove, heads);
      for (const n of remove) absent[1 + n] = 1;
      const attention = new Float32Array(L * h * T * T), tokens = new Float32Array((L + 1) * T * D);
      let x = this.embed(this.patchify(pixels, order), positions, keep);
      tokens.set(x);
      for (let l = 0; l < L; l++) {
        const name = `blocks.${l}`, maps = attention.subarray(l * h * T * T, (l + 1) * h * T * T);
        const off = new Uint8Array(h);
        for (const [layer, head] of heads) if (layer === l) off[head] = 1;
        const y = this.norm(`${name}.norm1`, x, T);
        keep?.({ [`${name}.norm1`]: y });
        const mid = add(x, this.attend(y, T, `${name}.attn`, absent, off, maps, keep));
        const z = this.norm(`${name}.norm2`, mid, T);
        const fc1 = products.linear(z, T, ...this.layer(`${name}.mlp.fc1`), D, hidden), act = gelu(fc1);
        const fc2 = products.linear(act, T, ...this.layer(`${name}.mlp.fc2`), hidden, D);
        x = add(mid, fc2);
        keep?.({ [`${name}.mid`]: mid, [`${name}.norm2`]: z, [`${name}.mlp.fc1`]: fc1, [`${name}.mlp.act`]: act,
          [`${name}.mlp.fc2`]: fc2, [name]: x });
        tokens.set(x, (l + 1) * T * D);
        yield l + 1;
      }
      const z = this.norm("norm", x, T), pooled = this.pool(z, absent), logits = this.answer(pooled, 1);
      keep?.({ norm: z, pool: pooled, head: logits });
      return { logits, probs: softmax(logits.slice()), attention, tokens };
    }

    /* What `run` gives, and { tensors }: everything on the way, by the name of the module whose output it is. M is
       the width inside the MLP:
         patches (N, C * P * P), patch_embed (N, D)   in each place, so after `order`
         embed (T, D)                                 the encoder's input
         and of each block l, after `blocks.l`:
         .norm1 (T, D), .attn.qkv (T, 3D)
         .attn.scores (h, T, T)                       scaled, before the softmax; -Infinity where a token is absent
         .attn.weights (h, T, T), .attn.mixed (T, D)  the softmax, and what the projection reads
         .attn.proj (T, D), .mid (T, D)               attention's output, and the token with it
         .norm2 (T, D), .mlp.fc1 (T, M), .mlp.act (T, M), .mlp.fc2 (T, D)
         blocks.l (T, D)                              the block's output
         norm (T, D), pool (D), head (K) */
    trace(pixels, options) {
      const tensors = {}, found = this.run(pixels, options, (some) => Object.assign(tensors, some));
      return { ...found, tensors };
    }

    /* The picture's one vector (Equation 4): CLS, or the mean of the patch tokens that are there. */
    pool(tokens, absent) {
      const { embed_dim: D, global_pool } = this.config;
      if (global_pool === "token") return tokens.slice(0, D);
      const mean = new Float32Array(D);
      let n = 0;
      for (let t = 1; t <= this.N; t++)
        if (!absent[t] && ++n) for (let i = 0; i < D; i++) mean[i] += tokens[t * D + i];
      return mean.map((sum) => (n ? sum / n : 0));
    }

    check(pixels, order, positions, remove, heads) {
      const { in_chans: C, img_size: H, num_heads: h, depth: L } = this.config, { N } = this;
      const places = (list) => [...list].every((n) => Number.isInteger(n) && n >= 0 && n < N);
      const expect = (right, wanted) => { if (!right) throw new RangeError(`expected ${wanted}`); };
      expect(pixels.length === C * H * H, `${C * H * H} pixels, channels first; got ${pixels.length}`);
      expect(!order || (order.length === N && places(order)), `an order of ${N} places from 0 to ${N - 1}`);
      const given = Array.isArray(positions);
      expect(!positions || positions === "none" || (given && positions.length === N && places(positions)),
        `positions "none" or ${N} places from 0 to ${N - 1}`);
      expect(places(remove), `places from 0 to ${N - 1} to remove`);
      const below = (i, most) => Number.isInteger(i) && i >= 0 && i < most;
      const known = ([layer, head]) => below(layer, L) && below(head, h);
      expect(heads.every(known), `heads as [layer, head], ${L} x ${h}`);
    }
  }

  /* float16, as bits -> float32. */
  function widen(halves) {
    const values = new Float32Array(halves.length), bits = new Uint32Array(values.buffer);
    for (let i = 0; i < halves.length; i++) {
      const half = halves[i], exponent = (half >> 10) & 31;
      if (exponent && exponent < 31) bits[i] = ((half & 0x8000) << 16) | (((half & 0x7fff) << 13) + 0x38000000);
      else values[i] = (half >> 15 ? -1 : 1) * (exponent ? Infinity : 2 ** -24 * (half & 1023));
    }
    return values;
  }

  const decode = (text) => widen(new Uint16Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));

  /* A model as `python -m vitlib export-web` writes it: { config, shapes: [[name, [...shape]], ...], data }. */
  function build({ config, shapes, data }) {
    const all = decode(data), weights = {};
    let start = 0;
    for (const [name, shape] of shapes) {
      const size = shape.reduce((a, b) => a * b, 1);
      weights[name] = all.subarray(start, start += size);
    }
    if (start !== all.length) throw new Error(`expected ${start} weights, got ${all.length}; export the model again`);
    return new VisionTransformer(config, weights);
  }

  const vitMath = { EPS, add, below, gelu, layerNorm, linear, products, softmax, widen };
  Object.assign(root, { VisionTransformer, buildViT: build, vitMath });
})(typeof window === "undefined" ? globalThis : window);
