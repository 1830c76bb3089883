/* A Vision Transformer that learns: forward, backward and AdamW, with vitlib's names; the products are vit.js's.

   Each layer has `forward`, which keeps what `backward` needs, and `backward`, which takes the gradient of the loss by
   its output, adds to its parameters' gradients and returns the gradient by its input. A batch of B pictures is
   n = B * T rows of D numbers. Everything runs in a page, in a worker, and in Node. */
(function learn(root) {
  "use strict";

  (root.vitSources ??= {}).learn = `(${learn})(globalThis);`;

  const { EPS, add, below, gelu, layerNorm, linear, softmax } = root.vitMath;
  const PHI = 1 / Math.sqrt(2 * Math.PI);

  /* (rows, cols) -> (cols, rows) */
  function transpose(x, rows, cols) {
    const y = new Float32Array(x.length);
    for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) y[c * rows + r] = x[r * cols + c];
    return y;
  }

  const zeros = (n) => new Float32Array(n);
  const addTo = (sum, x) => { for (let i = 0; i < x.length; i++) sum[i] += x[i]; };

  /* x yᵀ: (n, k), (m, k) -> (n, m) */
  const product = (x, y, n, m, k) => linear(x, n, y, zeros(m), k, m);

  /* Numbers from 0 to 1 that follow from a seed (mulberry32), and normal ones of them (Box and Muller). */
  function random(seed) {
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal, below: (k) => Math.floor(uniform() * k) };
  }

  /* y = x Wᵀ + b (Equation 1): dx = dy W, dW = dyᵀ x, db = the sum of dy's rows. */
  class Linear {
    constructor(parameters, name, I, O) {
      Object.assign(this, { I, O });
      [this.weight, this.bias] = [parameters[`${name}.weight`], parameters[`${name}.bias`]];
    }

    forward(x) {
      this.x = x;
      this.n = x.length / this.I;
      return linear(x, this.n, this.weight.value, this.bias.value, this.I, this.O);
    }

    backward(dy) {
      const { I, O, n, x } = this;
      addTo(this.weight.grad, product(transpose(dy, n, O), transpose(x, n, I), O, I, n));
      for (let i = 0; i < n * O; i++) this.bias.grad[i % O] += dy[i];
      return product(dy, transpose(this.weight.value, O, I), n, I, O);
    }
  }

  /* y = (x - mean) / deviation * w + b, token by token. */
  class LayerNorm {
    constructor(parameters, name, D) {
      this.D = D;
      [this.weight, this.bias] = [parameters[`${name}.weight`], parameters[`${name}.bias`]];
    }

    forward(x) {
      this.x = x;
      return layerNorm(x, x.length / this.D, this.D, this.weight.value, this.bias.value);
    }

    backward(dy) {
      const { D, x } = this, dx = zeros(x.length), hat = zeros(D); // a token with mean 0 and variance 1
      for (let t = 0; t < x.length; t += D) {
        let mean = 0, variance = 0, sum = 0, along = 0;
        for (let i = t; i < t + D; i++) mean += x[i] / D;
        for (let i = t; i < t + D; i++) variance += (x[i] - mean) ** 2 / D;
        const scale = 1 / Math.sqrt(variance + EPS);
        for (let i = 0; i < D; i++) {
          const d = dy[t + i] * this.weight.value[i];
          hat[i] = (x[t + i] - mean) * scale;
          sum += d / D;
          along += (d * hat[i]) / D;
          this.weight.grad[i] += dy[t + i] * hat[i];
          this.bias.grad[i] += dy[t + i];
        }
        for (let i = 0; i < D; i++) dx[t + i] = scale * (dy[t + i] * this.weight.value[i] - sum - hat[i] * along);
      }
      return dx;
    }
  }

  /* Heads of softmax(q kᵀ / √d) v (Equations 5 to 8). */
  class Attention {
    constructor(parameters, name, { D, h, T }) {
      Object.assign(this, { D, h, T, d: D / h });
      this.qkv = new Linear(parameters, `${name}.qkv`, D, 3 * D);
      this.proj = new Linear(parameters, `${name}.proj`, D, D);
    }

    /* A head's (T, d) out of the rows of one picture, which are `wide` numbers each, and back into them. */
    take(x, first, wide) {
      const { T, d } = this, out = zeros(T * d);
      for (let t = 0; t < T; t++) for (let i = 0; i < d; i++) out[t * d + i] = x[first + t * wide + i];
      return out;
    }

    put(part, x, first, wide) {
      const { T, d } = this;
      for (let t = 0; t < T; t++) for (let i = 0; i < d; i++) x[first + t * wide + i] = part[t * d + i];
    }

    forward(x) {
      const { D, T, d, h } = this, pictures = x.length / (T * D), out = zeros(x.length), scale = 1 / Math.sqrt(d);
      const qkv = this.qkv.forward(x);
      this.kept = [];
      for (let b = 0; b < pictures; b++)
        for (let head = 0; head < h; head++) {
          const [q, k, v] = [0, 1, 2].map((part) => this.take(qkv, b * T * 3 * D + part * D + head * d, 3 * D));
          const map = product(q, k, T, T, d).map((score) => score * scale);
          for (let t = 0; t < T; t++) softmax(map, t * T, T);
          this.put(product(map, transpose(v, T, d), T, d, T), out, b * T * D + head * d, D);
          this.kept.push({ q, k, v, map });
        }
      return this.proj.forward(out);
    }

    backward(dy) {
      const { D, T, d, h } = this, scale = 1 / Math.sqrt(d), dout = this.proj.backward(dy);
      const dqkv = zeros(3 * dout.length);
      this.kept.forEach(({ q, k, v, map }, i) => {
        const b = Math.floor(i / h), head = i % h, dheads = this.take(dout, b * T * D + head * d, D);
        const dmap = product(dheads, v, T, T, d), dscores = zeros(T * T);
        for (let t = 0; t < T; t++) { // through the softmax: p * (dp - the mean of dp under p)
          let mean = 0;
          for (let s = t * T; s < (t + 1) * T; s++) mean += map[s] * dmap[s];
          for (let s = t * T; s < (t + 1) * T; s++) dscores[s] = map[s] * (dmap[s] - mean) * scale;
        }
        const parts = [
          product(dscores, transpose(k, T, d), T, d, T),
          product(transpose(dscores, T, T), transpose(q, T, d), T, d, T),
          product(transpose(map, T, T), transpose(dheads, T, d), T, d, T),
        ];
        parts.forEach((part, which) => this.put(part, dqkv, b * T * 3 * D + which * D + head * d, 3 * D));
      });
      return this.qkv.backward(dqkv);
    }
  }

  /* Two linear layers around a GELU. */
  class Mlp {
    constructor(parameters, name, { D, hidden }) {
      this.fc1 = new Linear(parameters, `${name}.fc1`, D, hidden);
      this.fc2 = new Linear(parameters, `${name}.fc2`, hidden, D);
    }

    forward(x) {
      this.middle = this.fc1.forward(x);
      return this.fc2.forward(gelu(this.middle));
    }

    backward(dy) {
      const slope = (x) => below(x) + x * PHI * Math.exp((-x * x) / 2);
      return this.fc1.backward(this.fc2.backward(dy).map((d, i) => d * slope(this.middle[i])));
    }
  }

  /* x + branch(norm(x)) (Equations 2 and 3); without `norm` or `residual`, the branch alone or of x as it is. */
  class Step {
    constructor(branch, norm, residual) {
      Object.assign(this, { branch, norm, residual });
    }

    forward(x) {
      const y = this.branch.forward(this.norm ? this.norm.forward(x) : x);
      return this.residual ? add(x, y) : y;
    }

    backward(dy) {
      const through = this.branch.backward(dy), dx = this.norm ? this.norm.backward(through) : through;
      return this.residual ? add(dx, dy) : dx;
    }
  }

  /* What `new Learner` may be told; `positions`, `attention`, `mlp`, `residual` and `norm` switch a part off. */
  const DEFAULTS = {
    task: "where", seed: 0, depth: 2, width: 16, heads: 2, patch: 4, rate: 3e-3, pool: "avg", scatter: 1, batch: 64,
    positions: true, attention: true, mlp: true, residual: true, norm: true,
  };
  const RATIO = 2, WARMUP = 50, DECAY = 0.01;

  /* A ViT on one task: `step(n)`, `loss`, `accuracy()`, `weights()`, `forward(pixels)`. */
  class Learner {
    constructor(options = {}) {
      const { size, draw, classes } = root.vitTasks, o = (this.options = { ...DEFAULTS, ...options });
      this.classes = classes[o.task];
      this.config = {
        img_size: size, patch_size: o.patch, in_chans: 1, num_classes: this.classes.length, embed_dim: o.width,
        depth: o.depth, num_heads: o.heads, mlp_ratio: RATIO, global_pool: o.pool,
      };
      const grid = size / o.patch, D = o.width, I = o.patch ** 2, T = 1 + grid ** 2;
      const read = o.pool === "token" ? [0, 1] : [1, T]; // the tokens whose mean the head reads
      Object.assign(this, { D, I, T, grid, draw, read, steps: 0, loss: NaN, parameters: {} });
      this.initialise();
      const make = (Kind, name, ...sizes) => new Kind(this.parameters, name, ...sizes);
      const sizes = { D, T, h: o.heads, hidden: RATIO * D };
      this.patches = make(Linear, "patch_embed.proj", I, D);
      this.blocks = Array.from({ length: o.depth }, (_, l) => [
        o.attention && ["attn", Attention, "norm1"], o.mlp && ["mlp", Mlp, "norm2"],
      ].filter(Boolean).map(([branch, Kind, norm]) => new Step(make(Kind, `blocks.${l}.${branch}`, sizes),
        o.norm && make(LayerNorm, `blocks.${l}.${norm}`, D), o.residual))).flat();
      this.norm = o.norm && make(LayerNorm, "norm", D);
      this.head = make(Linear, "head", D, this.classes.length);
      this.stream = random(2 * o.seed + 1);
    }

    /* The model's numbers, as `state_dict` names them: positions and CLS with deviation `scatter`, the head with 0.02,
       other matrices with one over the root of their inputs; norms 1 and 0, biases 0. */
    initialise() {
      const { D, I, T, options: { depth, scatter, seed } } = this, { normal } = random(7919 * seed + 1);
      const put = (name, shape, deviation, mean = 0) => {
        const value = zeros(shape.reduce((a, b) => a * b)).map(() => mean + (deviation && deviation * normal()));
        const [grad, m, v] = [0, 0, 0].map(() => zeros(value.length));
        const decays = shape.length > 1 && !/cls_token|pos_embed/.test(name);
        this.parameters[name] = { shape, value, grad, m, v, decays };
      };
      const layer = (name, O, inputs, deviation = inputs ** -0.5, shape = [O, inputs]) => {
        put(`${name}.weight`, shape, deviation);
        put(`${name}.bias`, [O], 0);
      };
      const norm = (name) => {
        put(`${name}.weight`, [D], 0, 1);
        put(`${name}.bias`, [D], 0);
      };
      put("cls_token", [1, 1, D], scatter);
      put("pos_embed", [1, T, D], scatter);
      layer("patch_embed.proj", D, I, I ** -0.5, [D, 1, Math.sqrt(I), Math.sqrt(I)]);
      for (let l = 0; l < depth; l++) {
        norm(`blocks.${l}.norm1`);
        layer(`blocks.${l}.attn.qkv`, 3 * D, D);
        layer(`blocks.${l}.attn.proj`, D, D);
        norm(`blocks.${l}.norm2`);
        layer(`blocks.${l}.mlp.fc1`, RATIO * D, D);
        layer(`blocks.${l}.mlp.fc2`, D, RATIO * D);
      }
      norm("norm");
      layer("head", this.classes.length, D, 0.02);
    }

    /* Standardised pixels (B, 1, H, H) -> logits (B, K). */
    forward(pixels) {
      const { D, I, T, grid, read: [from, to], options: { patch: P, positions } } = this;
      const size = grid * P, B = pixels.length / size ** 2, rows = zeros(pixels.length);
      for (let i = 0; i < pixels.length; i++) {
        const b = Math.floor(i / size ** 2), r = Math.floor(i / size) % size, c = i % size;
        const n = Math.floor(r / P) * grid + Math.floor(c / P);
        rows[(b * (T - 1) + n) * I + (r % P) * P + (c % P)] = pixels[i];
      }
      const tokens = this.patches.forward(rows), cls = this.parameters.cls_token.value;
      const pos = positions ? this.parameters.pos_embed.value : zeros(T * D);
      let x = zeros(B * T * D);
      for (let b = 0; b < B; b++) {
        x.set(cls, b * T * D);
        x.set(tokens.subarray(b * (T - 1) * D, (b + 1) * (T - 1) * D), (b * T + 1) * D);
        for (let i = 0; i < T * D; i++) x[b * T * D + i] += pos[i];
      }
      for (const block of this.blocks) x = block.forward(x);
      if (this.norm) x = this.norm.forward(x);
      const pooled = zeros(B * D);
      for (let b = 0; b < B; b++)
        for (let t = from; t < to; t++)
          for (let i = 0; i < D; i++) pooled[b * D + i] += x[(b * T + t) * D + i] / (to - from);
      return (this.logits = this.head.forward(pooled));
    }

    /* The mean cross-entropy of the last forward pass, and its gradients in `parameters`. */
    backward(labels) {
      const { D, T, read: [from, to], options: { positions } } = this, K = this.classes.length, B = labels.length;
      const probs = this.logits.slice(), answers = this.named(probs);
      for (const { grad } of Object.values(this.parameters)) grad.fill(0);
      this.loss = this.right = 0; // the latter: the share of the batch that was named rightly
      for (let b = 0; b < B; b++) {
        softmax(probs, b * K, K);
        this.right += (answers[b] === labels[b]) / B;
        this.loss -= Math.log(Math.max(probs[b * K + labels[b]], 1e-30)) / B;
        probs[b * K + labels[b]] -= 1;
      }
      const dpooled = this.head.backward(probs.map((d) => d / B));
      let dx = zeros(B * T * D);
      for (let b = 0; b < B; b++)
        for (let t = from; t < to; t++)
          for (let i = 0; i < D; i++) dx[(b * T + t) * D + i] = dpooled[b * D + i] / (to - from);
      if (this.norm) dx = this.norm.backward(dx);
      for (const block of this.blocks.toReversed()) dx = block.backward(dx);
      const { cls_token: cls, pos_embed: pos } = this.parameters, dtokens = zeros(B * (T - 1) * D);
      for (let b = 0; b < B; b++) {
        const rows = dx.subarray(b * T * D, (b + 1) * T * D);
        if (positions) addTo(pos.grad, rows);
        addTo(cls.grad, rows.subarray(0, D));
        dtokens.set(rows.subarray(D), b * (T - 1) * D);
      }
      this.patches.backward(dtokens);
      return this.loss;
    }

    /* AdamW, with a warm-up: matrices decay, vectors, CLS and positions do not. */
    update() {
      this.steps++;
      const rate = this.options.rate * Math.min(1, this.steps / WARMUP);
      const [c1, c2] = [0.9, 0.999].map((beta) => 1 - beta ** this.steps);
      for (const { value, grad, m, v, decays } of Object.values(this.parameters)) {
        const decay = decays ? 1 - rate * DECAY : 1;
        for (let i = 0; i < value.length; i++) {
          m[i] += 0.1 * (grad[i] - m[i]);
          v[i] += 0.001 * (grad[i] ** 2 - v[i]);
          value[i] = value[i] * decay - (rate * m[i]) / c1 / (Math.sqrt(v[i] / c2) + 1e-8);
        }
      }
    }

    /* n steps, each on pictures never seen before; the last loss. */
    step(n = 1) {
      for (let i = 0; i < n; i++) {
        const { pixels, labels } = this.draw(this.options.task, this.options.batch, this.stream);
        this.forward(pixels);
        this.backward(labels);
        this.update();
      }
      return this.loss;
    }

    /* The share of n pictures that are named rightly; always the same pictures. */
    accuracy(n = 256) {
      const { pixels, labels } = this.draw(this.options.task, n, random(1234567)), answers = this.answers(pixels);
      return labels.filter((label, b) => answers[b] === label).length / n;
    }

    /* The likeliest class of each picture; of its logits. */
    answers(pixels) {
      return this.named(this.forward(pixels));
    }

    named(logits) {
      const K = this.classes.length;
      return Array.from({ length: logits.length / K }, (_, b) => {
        const row = logits.subarray(b * K, (b + 1) * K);
        return row.indexOf(Math.max(...row));
      });
    }

    /* Attention of the last forward pass: of each block with attention, of each picture and head, (T, T). */
    maps() {
      return this.blocks.filter(({ branch }) => branch.kept).map(({ branch }) => branch.kept.map(({ map }) => map));
    }

    /* As `vl` reads them: { config, weights: { name: { shape, values } } }. */
    weights() {
      const of = ([name, { shape, value }]) => [name, { shape, values: [...value] }];
      return { config: this.config, weights: Object.fromEntries(Object.entries(this.parameters).map(of)) };
    }
  }

  Object.assign(root, { vitRandom: random, vitLearner: Learner });
})(typeof window === "undefined" ? globalThis : window);
