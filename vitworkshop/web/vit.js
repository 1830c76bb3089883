/* The forward pass of a Vision Transformer, with vitlib's names: pixels in, logits, attention and tokens out.

   `new VisionTransformer(config, weights)` takes a config as `ViTConfig` has it, and the weights of a `state_dict` as
   Float32Arrays. A matrix is an array, row after row; D numbers a token, h heads of d. T tokens: CLS, whose place stays
   empty in a model without, the N patches, registers. A question that reads the tokens at the end (attention pooling)
   is one block more, in which it stands at CLS's place. Works in any browser and in Node, needs nothing else. */
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

  /* An activation is x times a factor. */
  const sigmoid = (x) => 1 / (1 + Math.exp(-x)), factors = {
    gelu: below, gelu_tanh: (x) => sigmoid(Math.sqrt(8 / Math.PI) * (x + 0.044715 * x ** 3)),
    quick_gelu: (x) => sigmoid(1.702 * x), silu: sigmoid,
  };

  function gelu(x, factor = below) {
    const y = new Float32Array(x.length);
    for (let i = 0; i < x.length; i++) y[i] = x[i] * factor(x[i]);
    return y;
  }

  /* A gated MLP's hidden numbers: the first half of each row, activated, times the second: (T, 2M) -> (T, M). */
  function gate(x, T, factor) {
    const M = x.length / T / 2, y = new Float32Array(T * M);
    for (let t = 0, i = 0; t < T; t++)
      for (let g = 2 * t * M; g < (2 * t + 1) * M; g++) y[i++] = x[g] * factor(x[g]) * x[g + M];
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
      const { global_pool, img_size, patch_size, reg_tokens = 0 } = config;
      const fits = config.patch_embed === "conv" && /^(learned|rope_unit)$/.test(config.pos_embed) && config.norm_order === "pre"
        && config.head === "linear" && config.act in factors && config.layer_scale === null;
      if (!fits) throw new Error("expected conv patches, learned positions or DINOv3's, pre-norm blocks and a linear head");
      this.config = config;
      this.weights = weights;
      this.grid = img_size / patch_size;
      this.N = this.grid ** 2;
      this.T = 1 + this.N + reg_tokens;
      this.L = config.depth + (global_pool === "map" ? 1 : 0); // its blocks, with that of the question
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
      const { cls_token: cls, pos_embed: pos, reg_token: registers = [] } = this.weights, x = new Float32Array(this.T * D);
      for (let i = 0; i < D; i++) x[i] = cls[i] + pos[i];
      for (let n = 0; n < N; n++) {
        const place = (1 + (Array.isArray(positions) ? positions[n] : n)) * D;
        const scale = positions === "none" ? 0 : 1, to = (1 + n) * D;
        for (let i = 0; i < D; i++) x[to + i] = y[n * D + i] + scale * pos[place + i];
      }
      x.set(registers, (1 + N) * D);
      const made = this.config.pre_norm ? this.norm("norm_pre", x, this.T) : x;
      keep?.({ patches, patch_embed: y, ...(made !== x && { placed: x }), embed: made });
      return made;
    }

    /* Cosine and sine of the angle by which numbers i and i + d/2 of a head turn in a place: one half of these pairs tells the
       row, the other the column, each from -2π to 2π across the picture. */
    angle(place, i) {
      const quarter = this.config.embed_dim / this.config.num_heads / 4, of = i < quarter ? Math.floor(place / this.grid) : place % this.grid;
      const angle = 2 * Math.PI * ((2 * of + 1) / this.grid - 1) * 100 ** -((i % quarter) / quarter);
      return [Math.cos(angle), Math.sin(angle)];
    }

    /* Queries and keys turned by the place of their patch (RoPE), values as they are: (T, 3D) -> (T, 3D). */
    turn(qkv, positions) {
      const { embed_dim: D, num_heads: h, pos_embed } = this.config, d = D / h;
      if (pos_embed === "learned" || positions === "none") return qkv;
      const turned = qkv.slice();
      for (let t = 1; t <= this.N; t++)
        for (let i = 0; i < d / 2; i++) {
          const [cos, sin] = this.angle(positions ? positions[t - 1] : t - 1, i);
          for (let at = 3 * t * D + i; at < (3 * t + 2) * D; at += d) {
            turned[at] = qkv[at] * cos - qkv[at + d / 2] * sin;
            turned[at + d / 2] = qkv[at + d / 2] * cos + qkv[at] * sin;
          }
        }
      return turned;
    }

    /* Attention of block l (Equations 5 to 8), from normalised tokens; `maps` takes the weights, (h, T, T). */
    attend(x, l, { positions, remove = [], heads = [] }, maps, keep) {
      const { embed_dim: D, num_heads: h, depth } = this.config, { T } = this, d = D / h, name = `blocks.${l}.attn`;
      const absent = this.absent(remove), silent = (t) => (l === depth ? t > 0 : absent[t]); // the question alone asks there
      const qkv = products.linear(x, T, ...this.layer(`${name}.qkv`), D, 3 * D), turned = l < depth ? this.turn(qkv, positions) : qkv;
      products.scores(turned, T, D, h, maps);
      const holes = [...absent.keys()].filter((s) => absent[s]);
      for (let row = 0; row < h * T; row++) {
        if (silent(row % T)) maps.fill(-Infinity, row * T, (row + 1) * T);
        for (const s of holes) maps[row * T + s] = -Infinity;
      }
      keep?.({ [`${name}.qkv`]: qkv, ...(turned !== qkv && { [`${name}.turned`]: turned }), [`${name}.scores`]: maps.slice(),
        [`${name}.weights`]: maps });
      for (let row = 0; row < h * T; row++)
        if (silent(row % T)) maps.fill(0, row * T, (row + 1) * T);
        else softmax(maps, row * T, T);
      const mixed = products.mix(maps, qkv, T, D, h);
      for (const [layer, head] of heads)
        for (let t = 0; layer === l && t < T; t++) mixed.fill(0, t * D + head * d, t * D + (head + 1) * d);
      const out = products.linear(mixed, T, ...this.layer(`${name}.proj`), D, D);
      keep?.({ [`${name}.mixed`]: mixed, [`${name}.proj`]: out });
      return out;
    }

    /* Block l (Equations 2 and 3): (T, D) -> (T, D), as `options` of `run` have it. The question reads what the last norm
       gives, and nothing of itself is added to what it reads. */
    block(x, l, options, maps, keep) {
      const { act, depth, embed_dim: D, mlp } = this.config, { T } = this, name = `blocks.${l}`, asks = l === depth;
      const y = this.norm(asks ? "norm" : `${name}.norm1`, x, T);
      if (asks) y.set(this.weights.question);
      keep?.({ [`${name}.norm1`]: y });
      const out = this.attend(y, l, options, maps, keep), mid = asks ? out : add(x, out), z = this.norm(`${name}.norm2`, mid, T);
      const [[W1, b1], [W2, b2]] = ["fc1", "fc2"].map((fc) => this.layer(`${name}.mlp.${fc}`));
      const fc1 = products.linear(z, T, W1, b1, D, W1.length / D), gated = mlp === "gated" && !asks;
      const hidden = gated ? gate(fc1, T, factors[act]) : gelu(fc1, factors[act]);
      const fc2 = products.linear(hidden, T, W2, b2, W2.length / D, D), made = add(mid, fc2);
      keep?.({ [`${name}.mid`]: mid, [`${name}.norm2`]: z, [`${name}.mlp.fc1`]: fc1, [`${name}.mlp.act`]: hidden,
        [`${name}.mlp.fc2`]: fc2, [name]: made });
      return made;
    }

    /* absent[t]: token t is not there. */
    absent(remove) {
      const absent = new Uint8Array(this.T);
      for (const n of remove) absent[1 + n] = 1;
      if (this.config.class_token === false) absent[0] = 1;
      return absent;
    }

    /* LayerNorm by its name; only others' models have an epsilon of their own. */
    norm(name, x, T) {
      return layerNorm(x, T, this.config.embed_dim, ...this.layer(name), this.config.norm_eps);
    }

    /* The head's K sums of each of T vectors; none in a model without a head. */
    answer(x, T) {
      const { num_classes: K } = this.config;
      return K ? products.linear(x, T, ...this.layer("head"), x.length / T, K) : new Float32Array(0);
    }

    /* Logits (T, K) of tokens, or of any vectors that stand where the encoder's output does: last norm, then head. */
    readOut(tokens, T = 1) {
      return this.answer(this.norm("norm", tokens, T), T);
    }

    /* The tokens that the head reads: CLS, or the question that stands in its place, the patches that were not removed, or
       CLS and those, or CLS and the first register. */
    readers(removed = []) {
      const { global_pool } = this.config, patches = [...Array(this.N).keys()].filter((n) => !removed.includes(n)).map((n) => 1 + n);
      return { avg: patches, token_avg: [0, ...patches], token_reg: [0, 1 + this.N] }[global_pool] ?? [0];
    }

    /* What the head would say if it read these tokens, (T, D), as shares: of the picture, (K), and of each token by itself,
       (T, K), where it reads one, or the mean of such. */
    answers(tokens, removed) {
      const { depth, fc_norm, global_pool, num_classes: K, num_heads: h } = this.config, { T } = this, options = { remove: removed };
      const last = global_pool === "map" ? this.block(tokens, depth, options, new Float32Array(h * T * T)) : tokens;
      const alone = K && !fc_norm && /^(token|avg)$/.test(global_pool), each = alone ? this.readOut(tokens, T) : new Float32Array(0);
      for (let t = 0; alone && t < T; t++) softmax(each, t * K, K);
      return { each, whole: softmax(this.answer(this.pool(last, options), 1)) };
    }

    /* Pixels (C * H * W), standardised, channels first -> { logits (K), probs (K), attention (L * h * T * T),
       tokens ((L + 1) * T * D): before the first block and after each }, of L blocks.

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
    *blocks(pixels, options = {}, keep) {
      const { embed_dim: D, num_heads: h } = this.config, { L, T } = this;
      this.check(pixels, options);
      const attention = new Float32Array(L * h * T * T), tokens = new Float32Array((L + 1) * T * D);
      let x = this.embed(this.patchify(pixels, options.order), options.positions, keep);
      tokens.set(x);
      for (let l = 0; l < L; l++) {
        x = this.block(x, l, options, attention.subarray(l * h * T * T, (l + 1) * h * T * T), keep);
        tokens.set(x, (l + 1) * T * D);
        yield l + 1;
      }
      const pooled = this.pool(x, options, keep), logits = this.answer(pooled, 1);
      keep?.({ pool: pooled, head: logits });
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

    /* The picture's one vector (Equation 4) from what the last block gives: what its readers hold after the last norm, of
       patches the mean. With fc_norm the vector is normalised in place of the tokens. */
    pool(x, { remove = [] }, keep) {
      const { embed_dim: D, fc_norm, global_pool } = this.config, { N, T } = this, read = this.readers(remove);
      const z = fc_norm || global_pool === "map" ? x : this.norm("norm", x, T), mean = new Float32Array(D);
      const patches = read.filter((t) => t && t <= N), token = (t) => z.subarray(t * D, (t + 1) * D);
      for (const t of patches) for (let i = 0; i < D; i++) mean[i] += z[t * D + i];
      for (let i = 0; i < D; i++) mean[i] /= patches.length || 1;
      const parts = { avg: [mean], token_avg: [token(0), mean], token_reg: [token(0), token(1 + N)] }[global_pool] ?? [token(0)];
      const pooled = Float32Array.from(parts.flatMap((part) => [...part]));
      keep?.({ norm: z, ...(fc_norm && { mean: pooled }) });
      return fc_norm ? this.norm("fc_norm", pooled, 1) : pooled;
    }

    check(pixels, { order, positions, remove = [], heads = [] }) {
      const { in_chans: C, img_size: H, num_heads: h } = this.config, { L, N } = this;
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

  const vitMath = { EPS, add, below, factors, gelu, layerNorm, linear, products, softmax, widen };
  Object.assign(root, { VisionTransformer, buildViT: build, vitMath });
})(typeof window === "undefined" ? globalThis : window);
