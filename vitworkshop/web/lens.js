/* One number of a forward pass, opened into what it was computed from, which can be opened in turn.

     vitLens.open(model, tensors, name, t, i, head, options)
                                 number i of token (or place) t in tensors[name]; of scores and weights, what query t in
                                 `head` has of key i. `tensors` and `options` are what `trace` of vit.js gave and took.
     -> { value, rule,           value = the sum of all a * b, plus that of all values in `plus`
          terms: [{ a, b, from, fromB }],
          plus: [{ what, value, from }] }
   from, fromB: which number a (or the value) and b are, as [name, t, i, head]; null for a weight or a pixel.

     rule       a, b of its terms                            more in the answer
     linear     number of the input, weight                  of pixels, in each term: `at`, [channel, row, col]
     norm       (number - mean) / deviation, weight          mean, deviation: the token's
     scores     number of query t / √d, number of key i      scale: 1 / √d
     softmax    exp(score - most), 1 / sum                   row: the query's scores, most: the highest, sum
     mix        number of a token's value, its attention
     gelu       number, how likely a normal number is below  or what else the activation takes it times
     gate       number of the second half, its gate activated
     turn       the two numbers of a pair, cosine and sine
     mean       number of a patch token, 1 / how many        CLS pooling: the only number of `plus`
     residual, embed and same have no terms, nor has what an absent token or a head that is off makes "absent" or "off". */
// What stands beside a value: t("bias") t("absent") t("off") t("position") t("patch") t("CLS token") t("token") t("attention")
// t("register") t("the question")
(function lens(root) {
  "use strict";

  (root.vitSources ??= {}).lens = `(${lens})(globalThis);`;

  const { EPS, factors } = root.vitMath;

  function open(model, tensors, name, t, i, head = 0, { order, positions, remove = [], heads = [] } = {}) {
    const { config, weights } = model, { embed_dim: D, num_heads: h, depth: L, patch_size: P } = config;
    const { grid, N, T } = model, d = D / h, { fc_norm, global_pool, pre_norm } = config, factor = factors[config.act];
    const [block = "", l] = name.match(/^blocks\.(\d+)/) ?? [], own = block ? name.slice(block.length) : name, asks = +l === L;
    const before = +l ? `blocks.${l - 1}` : "embed", qkv = `${block}.attn.qkv`, turned = tensors[`${block}.attn.turned`] ? `${block}.attn.turned` : qkv;
    const absent = model.absent(remove), there = [...Array(T).keys()].filter((s) => !absent[s]); // the tokens
    const silent = asks ? t > 0 : absent[t];

    const width = (of) => (/scores|weights/.test(of) ? T : tensors[of].length / (/^patch/.test(of) ? N : T));
    const get = ([of, t, i, head]) => tensors[of][/^(mean|pool|head)$/.test(of) ? i : (head * T + t) * width(of) + i];
    const term = (from, b, fromB = null) => ({ a: get(from), b: fromB ? get(fromB) : b, from, fromB });
    const part = (what, from) => ({ what, value: get(from), from });
    const weight = (what, value) => ({ what, value, from: null });
    const bias = (layer) => (weights[`${layer}.bias`] ? [weight("bias", weights[`${layer}.bias`][i])] : []);
    const each = (n, make) => Array.from({ length: n }, (_, j) => make(j));

    function linear(from, layer = name) {
      const W = weights[`${layer}.weight`], I = from === "pool" ? tensors.pool.length : width(from);
      return { rule: "linear", terms: each(I, (j) => term([from, t, j, 0], W[i * I + j])), plus: bias(layer) };
    }

    function pixels() { // a pixel is where nothing opens further
      const n = order ? order[t] : t, made = linear("patches", "patch_embed.proj");
      made.terms.forEach((one, j) => Object.assign(one, { from: null, at: [Math.floor(j / P ** 2),
        Math.floor(n / grid) * P + Math.floor((j % P ** 2) / P), (n % grid) * P + (j % P)] }));
      return made;
    }

    function norm(from, layer = name) {
      if (asks && own === ".norm1" && !t) return { rule: "same", plus: [weight("the question", weights.question[i])] };
      const x = tensors[from].subarray(t * D, (t + 1) * D), mean = x.reduce((sum, v) => sum + v, 0) / D;
      const deviation = Math.sqrt(x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / D + (config.norm_eps ?? EPS));
      const one = { ...term([from, t, i, 0], weights[`${layer}.weight`][i]), a: (x[i] - mean) / deviation };
      return { rule: "norm", mean, deviation, terms: [one], plus: bias(layer) };
    }

    function scores() {
      if (silent || absent[i]) return { rule: "absent", plus: [weight("absent", -Infinity)] };
      const scale = 1 / Math.sqrt(d), terms = each(d, (j) => {
        const one = term([turned, t, head * d + j, 0], 0, [turned, i, D + head * d + j, 0]);
        return { ...one, a: one.a * scale };
      });
      return { rule: "scores", scale, terms };
    }

    function softmax() {
      if (silent || absent[i]) return { rule: "absent", plus: [weight("absent", 0)] };
      const from = `${block}.attn.scores`, row = tensors[from].subarray((head * T + t) * T, (head * T + t + 1) * T);
      const most = Math.max(...row), sum = row.reduce((all, score) => all + Math.exp(score - most), 0);
      return { rule: "softmax", row, most, sum, terms: [
        { ...term([from, t, i, head], 1 / sum), a: Math.exp(row[i] - most) }] };
    }

    function mix() {
      const of = Math.floor(i / d), off = heads.some(([layer, one]) => layer === +l && one === of);
      if (off || silent) return { rule: off ? "off" : "absent", plus: [weight(off ? "off" : "absent", 0)] };
      const seen = (s) => term([qkv, s, 2 * D + i, 0], 0, [`${block}.attn.weights`, t, s, of]);
      return { rule: "mix", terms: there.map(seen) };
    }

    function turn() { // of a pair: x cos - y sin, y cos + x sin
      const place = Array.isArray(positions) ? positions[t - 1] : t - 1, second = i % d >= d / 2;
      const [cos, sin] = t && t <= N && i < 2 * D ? model.angle(place, i % (d / 2)) : [1, 0];
      return { rule: "turn", terms: [term([qkv, t, i, 0], cos), second ? term([qkv, t, i - d / 2, 0], sin) : term([qkv, t, i + d / 2, 0], -sin)] };
    }

    function embed() {
      if (t > N) return { rule: "embed", plus: [weight("register", weights.reg_token[(t - 1 - N) * D + i])] };
      const { cls_token: cls, pos_embed: pos } = weights;
      const place = t && Array.isArray(positions) ? 1 + positions[t - 1] : t;
      const added = t && positions === "none" ? [] : [weight("position", pos[place * D + i])];
      const first = t ? part("patch", ["patch_embed", t - 1, i, 0]) : weight("CLS token", cls[i]);
      return { rule: "embed", plus: [first, ...added] };
    }

    const residual = (x, what, y) =>
      ({ rule: "residual", plus: [part("token", [x, t, i, 0]), part(what, [y, t, i, 0])] });
    const same = (what, from) => ({ rule: "same", plus: [part(what, from)] });

    function act(from) {
      const M = width(name), value = get([from, t, i, 0]);
      if (width(from) === M) return { rule: "gelu", terms: [term([from, t, i, 0], factor(value))] };
      return { rule: "gate", terms: [{ ...term([from, t, M + i, 0], value * factor(value)), fromB: [from, t, i, 0] }] };
    }

    /* What the readers hold: i counts on where there are two vectors. */
    function pooled() {
      const read = model.readers(remove), k = i % D, patches = read.filter((s) => s && s <= N);
      const first = global_pool !== "avg" && i < D, second = global_pool === "token_reg" && !first;
      if (first || second) return same(first ? "CLS token" : "register", ["norm", first ? 0 : 1 + N, k, 0]);
      return { rule: "mean", terms: patches.map((s) => term(["norm", s, k, 0], 1 / patches.length)) };
    }

    const rules = {
      patch_embed: pixels, placed: embed, embed: () => (pre_norm ? norm("placed", "norm_pre") : embed()),
      norm: () => (fc_norm || global_pool === "map" ? same("token", [`blocks.${model.L - 1}`, t, i, 0]) : norm(`blocks.${L - 1}`)),
      mean: pooled, pool: () => (fc_norm ? norm("mean", "fc_norm") : pooled()), head: () => linear("pool"),
      ".norm1": () => norm(before, asks ? "norm" : name), ".attn.qkv": () => linear(`${block}.norm1`), ".attn.turned": turn,
      ".attn.scores": scores, ".attn.weights": softmax, ".attn.mixed": mix, ".attn.proj": () => linear(`${block}.attn.mixed`),
      ".mid": () => (asks ? same("attention", [`${block}.attn.proj`, t, i, 0]) : residual(before, "attention", `${block}.attn.proj`)),
      ".norm2": () => norm(`${block}.mid`), ".mlp.fc1": () => linear(`${block}.norm2`), ".mlp.act": () => act(`${block}.mlp.fc1`),
      ".mlp.fc2": () => linear(`${block}.mlp.act`), "": () => residual(`${block}.mid`, "MLP", `${block}.mlp.fc2`),
    };
    if (!rules[own]) throw new Error(`${name} cannot be opened`);
    return { value: get([name, t, i, head]), terms: [], plus: [], ...rules[own]() };
  }

  root.vitLens = { open };
})(typeof window === "undefined" ? globalThis : window);
