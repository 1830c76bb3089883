/* A .safetensors file as a model for vit.js, whoever made it: `vitForeign.read(file, dialect, told, tick)`.

   Names are read as vitlib/weights reads them (names.py, families.py, joined.py): `dialect` is its tables, as data. Nothing in such a file can
   run: 8 bytes of length, a header in JSON, numbers; every promise of the header is checked. A tensor is read at a time,
   so that no more than the weights stands in memory. `told` is what no file of weights tells; see `tell`. */
(function foreign(root) {
  "use strict";

  (root.vitSources ??= {}).foreign = `(${foreign})(globalThis);`;

  const BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2 };
  const HEADER = 1e8, MOST = 2e9; // bytes: of a header, of all that a model takes while it computes
  const SIDE = 224, MANY = 28; // pixels at which a larger picture is read; patches in a row, at most
  const LOOK = t("python -m vitlib look FILE says how a .safetensors file is made of it");
  const OTHERS = [ // what a file begins with that holds no weights, or none that are safe to read
    [/^PK[^]*\.npy/, t("it is NumPy's (.npz, as Google's); {LOOK}", { LOOK })],
    [/^(PK[^]*\.pkl|\x80)/, t("it is a PyTorch checkpoint, which can hold code; {LOOK}", { LOOK })],
    [/^PK/, t("it is a zip archive; unpack it and take the .safetensors file")],
    [/^version https:\/\/git-lfs/, t("it is a pointer of Git LFS; git lfs pull fetches the weights")],
    [/^\s*</, t("it is a web page; fetch the file itself")],
    [/^\s*\{/, t("it is JSON; take the weights that it speaks of, in one file")],
  ];

  const fail = (why) => { throw new Error(why); };
  const some = (all) => {
    const names = all.slice(0, 3).map((name) => (name.length > 60 ? `${name.slice(0, 57)}…` : name)).join(", ");
    return all.length > 3 ? t("{names} and {n} more", { names, n: all.length - 3 }) : names;
  };
  const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(1)} GB`;

  /* The tensors that the header promises, by name: { dtype, shape, from, to }. */
  async function header(file) {
    const start = new DataView(await file.slice(0, 256).arrayBuffer()), safe = start.byteLength > 8 && start.getUint8(8) === 123;
    const letters = String.fromCharCode(...new Uint8Array(start.buffer)), other = !safe && OTHERS.find(([mark]) => mark.test(letters));
    if (other) fail(other[1]);
    if (!safe) fail(file.size ? t("it is no .safetensors file") : t("it is empty"));
    const length = Number(start.getBigUint64(0, true)), damaged = (why) => fail(t("it is damaged: {why}; fetch it again", { why }));
    if (length > HEADER || 8 + length > file.size) damaged(t("its header says {length} bytes, of {size} in the file", {
      length, size: file.size }));
    let told;
    try {
      told = JSON.parse(await file.slice(8, 8 + length).text());
    } catch {
      damaged(t("its header is no JSON"));
    }
    const tensors = new Map(), whole = (n) => Number.isSafeInteger(n) && n >= 0;
    for (const [name, value] of Object.entries(told)) {
      if (name === "__metadata__") continue;
      const { dtype, shape, data_offsets: at } = value ?? {};
      if (![shape, at].every((list) => Array.isArray(list) && list.every(whole)) || at.length !== 2 || shape.length > 8)
        damaged(t("{name} has no shape and no place", { name: some([name]) }));
      const count = shape.reduce((a, b) => a * b, 1), [from, to] = at.map((byte) => 8 + length + byte);
      if (from > to || to > file.size) damaged(t("{name} lies outside the file", { name: some([name]) }));
      if (BYTES[dtype] && count * BYTES[dtype] !== to - from) damaged(t("{name} has not the bytes of its shape", { name: some([name]) }));
      tensors.set(name, { dtype, shape, from, to });
    }
    return tensors;
  }

  /* The numbers of a tensor, as float32. */
  async function numbers(file, name, { dtype, from, to }) {
    if (!BYTES[dtype]) fail(t("{name} is stored as {dtype}; save it as float32, float16 or bfloat16", {
      name, dtype: String(dtype).slice(0, 12) }));
    const buffer = await file.slice(from, to).arrayBuffer();
    if (buffer.byteLength !== to - from) fail(t("it became shorter while it was read; fetch it again"));
    let values = dtype === "F32" ? new Float32Array(buffer) : dtype === "F64" ? Float32Array.from(new Float64Array(buffer))
      : new Uint16Array(buffer);
    if (dtype === "F16") values = root.vitMath.widen(values);
    else if (dtype === "BF16") { // the upper half of a float32
      const bits = new Uint32Array(values.length);
      for (let i = 0; i < bits.length; i++) bits[i] = values[i] << 16;
      values = new Float32Array(bits.buffer);
    }
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[i] * 0;
    if (sum !== 0) fail(t("{name} holds NaN or infinity; fetch the weights again, as floats", { name }));
    return values;
  }

  /* The one ViT among these names, as `find_vit` of names.py finds it: { library, found: our name -> theirs, text, taken: of several, which }. */
  function find(names, shape, { libraries, names: patterns, chosen, passed, ours, head, absent, odd, no_such, unused }) {
    const is = (mark, name) => new RegExp(mark).test(name);
    const refuse = (parts, library) => { // parts that no model here has
      if (parts.length) fail(t("these are the weights ({library}) of a model with {there}; {no_such}", {
        library, there: parts.join(t(", ")), no_such: t(no_such) }));
    };
    const strange = (list) => absent.map(([mark, part]) => [part, list.filter((name) => is(mark, name))]).filter(([, all]) => all.length)
      .map(([part, all]) => t("{part}: {what}", { part: t(part), what: some(all) }));
    const dotted = new Map(names.map((name) => [name.replaceAll("/", "."), name]));
    let places = Object.entries(libraries).flatMap(([one, own]) => {
      const mark = new RegExp(`(?<![^.])${own}`);
      return [...dotted.keys()].filter((name) => mark.test(name)).map((name) => [one, name.slice(0, name.search(mark))]);
    });
    const better = (fits) => { if (places.some(fits)) places = places.filter(fits); };
    const apart = () => [...new Set(places.map(([, one]) => one))];
    better(([, one]) => !is(passed, one));
    const library = places[0]?.[0];
    better(([one]) => one === library);
    const all = apart(), several = all.length > 1;
    better(([, one]) => is(chosen, one));
    const prefixes = apart();
    if (prefixes.length !== 1) {
      refuse(strange([...dotted.keys()]), t("names unknown"));
      const known = Object.keys(libraries).join(t(", "));
      fail(prefixes.length
        ? t("expected the weights of one ViT under the names of {libraries}, got {n} rows of blocks, behind {places}", {
          libraries: known, n: prefixes.length, places: some(prefixes.map((one) => `'${one}'`)) })
        : t("expected the weights of one ViT under the names of {libraries}, got {names}", {
          libraries: known, names: some(names) || t("no tensors") }));
    }
    if (library === "Google") fail(t("its names are those of Flax; {LOOK}", { LOOK }));
    const [prefix] = prefixes, found = new Map(), facts = new Set([`library:${library}`, `place:${prefix || "-"}`]), beside = [];
    const take = (name, theirs) => {
      if (found.has(name)) fail(t("expected one {name}, got two under different names; keep one of them", { name }));
      found.set(name, theirs);
    };
    for (const [key, theirs] of [...dotted].sort(([one], [two]) => two.startsWith(prefix) - one.startsWith(prefix))) {
      let same = 0;
      while (same < prefix.length && key[same] === prefix[same]) same++;
      let name = key.slice(key.slice(0, same).lastIndexOf(".") + 1);
      for (const [mark, to] of patterns) name = name.replace(new RegExp(mark, "g"), to);
      const inside = key.startsWith(prefix);
      if (inside || (!found.has(name) && (is(ours, name) || (is(head, name) && !several)))) take(name, theirs);
      else facts.add(`beside:${key.split(".")[0]}`), beside.push(name);
      if (found.has(name) && !/^blocks\.[1-9]/.test(name)) facts.add(name).add(inside ? key.slice(prefix.length) : key);
    }
    const patch = shape(found.get("patch_embed.proj.weight")), rows = shape(found.get("pos_embed"))?.at(-2);
    if (patch?.length === 4) facts.add(`patch:${Math.min(patch[0], patch[3])}`).add(`width:${patch[0]}`);
    if (found.has("cls_token") && Number.isInteger(Math.sqrt(rows))) facts.add("cls:unplaced");
    const text = ` ${[...facts].sort().join(" ")} `;
    refuse(odd.filter(([mark]) => is(mark, text)).map(([, part]) => t(part)), library);
    for (const name of [...found.keys()]) if (is(unused, name)) found.delete(name);
    const layers = new Set([...found.keys()].filter((name) => is(head, name)).map((name) => name.replace(/\.[^.]+$/, "")));
    for (const [name, theirs] of layers.size === 1 ? [...found] : [])
      if (is(head, name) && found.delete(name)) found.set(`head.${name.split(".").at(-1)}`, theirs);
    refuse(strange([...found.keys(), ...beside.filter((name) => !is(unused, name))]), library);
    const called = (one) => one.replace(/\.$/, "") || t("the rest");
    return { library, found, text, taken: several && { one: called(prefix), others: some(all.filter((one) => one !== prefix).map(called)) } };
  }

  /* What stands in the files beside the weights: Hugging Face's config.json, timm's, and the card of a model of the book.
     { embed_dim, num_heads, norm_eps, global_pool, act, classes, recipe }, each where it is told; a number that can be
     none of these is refused. */
  function tell(json) {
    if (typeof json !== "object" || !json || Array.isArray(json)) fail(t("expected an object, as a config is"));
    if (json.weight_map) fail(t("its weights lie in several files; save_pretrained(folder, max_shard_size=\"9GB\") makes one"));
    const own = json.config ?? json.vision_config ?? json.image_config ?? json, data = { ...json.pretrained_cfg, ...json }, size = data.size ?? {}, told = {};
    const names = json.classes ?? json.label_names ?? (json.id2label && Object.entries(json.id2label)
      .sort(([a], [b]) => a - b).map(([, name]) => name));
    const check = (name, value, fits, wanted) => {
      if (!fits(value)) fail(t("expected {wanted}, got {value} as its {name}", { wanted, value: some([JSON.stringify(value)]), name }));
    };
    const whole = (value) => Number.isInteger(value) && value > 0, above = (value) => Number.isFinite(value) && value > 0;
    for (const [name, value, fits, wanted] of [
      ["embed_dim", own.hidden_size ?? json.num_features ?? own.embed_dim, whole, t("a whole number from 1")],
      ["num_heads", own.num_attention_heads ?? own.num_heads, whole, t("a whole number from 1")],
      ["norm_eps", own.layer_norm_eps ?? own.norm_eps, above, t("a number above 0")],
      ["global_pool", own.global_pool || null, (value) => /^(token|avg|map)$/.test(value), t("token (CLS), avg (the mean) or map (a question)")],
    ]) {
      if (value == null) continue;
      check(name, value, fits, wanted);
      told[name] = value;
    }
    const act = own.hidden_act ?? own.act;
    if (typeof act === "string") told.act = { gelu_new: "gelu_tanh", gelu_pytorch_tanh: "gelu_tanh", swish: "silu" }[act] ?? act;
    for (const name of ["library", "family"]) // export.py: its names have been changed
      if (typeof json[name] === "string") told[name] = json[name];
    if (Array.isArray(names)) told.classes = names.map((name) => String(name).split(",")[0].slice(0, 60));
    const three = (list) => Array.isArray(list) && list.length === 3 && list.every(Number.isFinite);
    const [mean, std] = [data.image_mean ?? data.mean, data.image_std ?? data.std];
    if (!three(mean) || !three(std)) return told;
    const short = typeof size === "number" ? null : size.shortest_edge, crop = data.crop_size?.height ?? data.crop_size;
    const filter = { 2: "bilinear", 3: "bicubic" }[data.resample] ?? (data.interpolation === "bilinear" ? "bilinear" : "bicubic");
    const longer = data.crop_pct != null ? 1 / data.crop_pct : short ? short / (crop || short) : null;
    std.forEach((value) => check(t("deviation"), value, above, t("a number above 0")));
    check(t("shorter side"), longer ?? 1, (value) => value >= 1 && value <= 4, t("1 to 4 times what is cut out"));
    told.recipe = { short: longer, filter, mean, std };
    return told;
  }

  const RECIPES = { // by family, or else by mean and deviation
    "torchvision's ViT": "torchvision: ViT", "ViT of transformers": "transformers: ViT", DINOv2: "DeiT, DINO: their authors", SigLIP: "SigLIP",
    "SigLIP of transformers": "SigLIP", half: "timm: ViT (AugReg)", imagenet: "timm: DeiT, DINO", clip: "CLIP",
  };

  /* A model's config as `family_of` of families.py has it, from the shapes of its tensors and from what is told, and { side, lead,
     assumed, recipe }: the grid of its positions and how many stand before them, the fields that neither says. */
  function configure(shape, text, { families, heads }, told) {
    const [D, C, P, Q] = shape("patch_embed.proj.weight") ?? [], has = (name) => !!shape(name), [family, , usual] = families.find(([name, mark]) => (told.family ? name === told.family : new RegExp(mark).test(text)));
    const cls = has("cls_token"), second = has("dist_token"), registers = shape("reg_token")?.at(-2) ?? 0;
    if (!Q || P !== Q) fail(t("expected square patches (D, 3, P, P), got {patch}", { patch: shape("patch_embed.proj.weight") ?? t("none") }));
    if (C !== 3) fail(t("expected pictures of 3 channels, got {n}", { n: C }));
    const turns = registers > 0 && !has("pos_embed"), rows = shape("pos_embed")?.at(-2) ?? 0;
    const lead = [cls + second, 0].find((n) => rows > n && Number.isInteger(Math.sqrt(rows - n)));
    if (rows && lead === undefined) fail(t("expected positions of a square of patches, got {positions}", { positions: rows }));
    const side = Math.sqrt(rows - lead), grid = turns || side > MANY ? Math.min(MANY, Math.round(SIDE / P)) : side;
    const hidden = shape("blocks.0.mlp.fc2.weight")?.[1], gated = has("blocks.0.mlp.fc1_g.weight") || shape("blocks.0.mlp.fc1.weight")?.[0] === 2 * hidden;
    const [K = 0, reads = D] = shape("head.weight") ?? [], fc_norm = has("fc_norm.weight");
    const pool = has("attn_pool.latent") ? "map" : K && second ? "token_reg" : reads === 2 * D ? "token_avg" : fc_norm || !cls ? "avg" : undefined;
    const guessed = { num_heads: heads[D] ?? Math.max(1, Math.floor(D / 64)), act: gated ? "silu" : "gelu", norm_eps: 1e-6, mean_std: "half",
      global_pool: "token", ...usual };
    const known = { ...told, mean_std: told.recipe, num_heads: (told.embed_dim ?? D) === D ? told.num_heads : undefined,
      global_pool: pool ?? told.global_pool };
    const assumed = Object.keys(guessed).filter((name) => known[name] === undefined);
    const [num_heads, act, norm_eps, global_pool] = ["num_heads", "act", "norm_eps", "global_pool"].map((name) => known[name] ?? guessed[name]);
    const config = { num_heads, act, norm_eps, global_pool, img_size: grid * P, patch_size: P, in_chans: 3, num_classes: K, embed_dim: D,
      depth: shape.depth, mlp_ratio: hidden / D, patch_embed: "conv", pos_embed: turns ? "rope_unit" : "learned", norm_order: "pre", head: "linear",
      layer_scale: null, class_token: cls, reg_tokens: registers + second, pre_norm: has("norm_pre.weight"), fc_norm, mlp: gated ? "gated" : "plain" };
    if (D % num_heads) fail(t("{D} numbers a token are not {num_heads} heads; say how many it has", { D, num_heads }));
    if (!(act in root.vitMath.factors)) fail(t("its config says {act}; a model here has {acts}", {
      act: act.slice(0, 20), acts: Object.keys(root.vitMath.factors).join(t(", ")) }));
    if (grid !== side) assumed.push("img_size");
    return { config, side, lead, assumed, recipe: RECIPES[family] ?? RECIPES[guessed.mean_std] };
  }

  /* How many numbers each weight of a model has. */
  function sizesOf({ class_token, depth, embed_dim: D, fc_norm, global_pool, mlp, mlp_ratio, num_classes: K, patch_size: P, pre_norm, reg_tokens }, N) {
    const M = Math.round(D * mlp_ratio), wide = mlp === "gated" ? 2 * M : M, sizes = { cls_token: D, pos_embed: (1 + N) * D };
    const layer = (name, I, O) => Object.assign(sizes, { [`${name}.weight`]: I * O, [`${name}.bias`]: O });
    const blocks = Array.from({ length: depth + (global_pool === "map") }, (_, l) => `blocks.${l}`);
    if (reg_tokens) sizes.reg_token = reg_tokens * D;
    layer("patch_embed.proj", 3 * P * P, D);
    for (const norm of [...(pre_norm ? ["norm_pre"] : []), fc_norm ? "fc_norm" : "norm", ...blocks.slice(0, depth).map((name) => `${name}.norm1`),
      ...blocks.map((name) => `${name}.norm2`)]) layer(norm, 1, D);
    for (const name of blocks)
      for (const [own, I, O] of [["attn.qkv", D, 3 * D], ["attn.proj", D, D], ["mlp.fc1", D, wide], ["mlp.fc2", M, D]]) layer(`${name}.${own}`, I, O);
    if (blocks[depth]) sizes.question = D;
    if (K) layer("head", /^token_/.test(global_pool) ? 2 * D : D, K);
    return sizes;
  }

  async function read(file, dialect, told = {}, tick = () => {}) {
    const tensors = await header(file), shapeOf = (name) => tensors.get(name)?.shape;
    const { library, found, text, taken } = find([...tensors.keys()].filter((name) => shapeOf(name).length), shapeOf, dialect);
    const depth = new Set([...found.keys()].map((name) => name.match(/^blocks\.(\d+)\./)?.[1]).filter(Boolean)).size;
    const get = (name) => numbers(file, name, tensors.get(found.get(name)));
    const projects = found.has("norm_pre.weight") && !(found.has("head.bias") && (await get("head.bias")).some((v) => v));
    for (const name of projects ? ["proj", "head.weight", "head.bias"] : []) found.delete(name); // into what pictures and words share
    const made = configure(Object.assign((name) => shapeOf(found.get(name)), { depth }), text, dialect, told), { config } = made;
    const { embed_dim: D, img_size, patch_size: P, num_heads: h, reg_tokens, num_classes: K } = config, N = (img_size / P) ** 2, T = 1 + N + reg_tokens;
    const all = [...found.values()].reduce((sum, name) => sum + shapeOf(name).reduce((a, b) => a * b, 1), 0);
    const needs = 8 * all + 4 * ((depth + 1) * T * (D + h * T) + 36 * T * D + 4 * h * T * T);
    if (needs > MOST) fail(t("a model of this size needs {size} here, with its {T} tokens; this page takes models up to ViT-B/16", {
      size: gigabytes(needs), T }));
    const weights = {};
    let done = 0, said = 0;
    for (const name of found.keys()) {
      if (name.startsWith("pre_logits.") && !K) continue; // a pooler, which only a head reads
      const values = weights[name.replace(/^attn_pool\.(latent$|norm\b|mlp\b|)/, (_, own) => ({ latent: "question", norm: `blocks.${depth}.norm2`,
        mlp: `blocks.${depth}.mlp` })[own] ?? `blocks.${depth}.attn.`)] = await get(name); // the question is one block more
      done += values.length;
      if (done - said > all / 20) await tick((said = done) / all);
    }
    const scales = Array.from({ length: 2 * depth }, (_, i) => `blocks.${i >> 1}.ls${1 + (i % 2)}.gamma`), unscaled = scales.filter((name) => !weights[name]);
    join(weights, made, N);
    const sizes = sizesOf(config, N), missing = unscaled.length < scales.length ? unscaled : []; // all LayerScale, or none
    missing.push(...Object.keys(sizes).filter((name) => !weights[name] && !/(qkv|proj|fc[12]|head)\.bias$/.test(name)));
    const left = Object.keys(weights).filter((name) => !(name in sizes)), wrong = Object.keys(sizes).find((name) => weights[name] && weights[name].length !== sizes[name]);
    if (missing.length || left.length) fail(t("the weights ({library}) are not those of one plain ViT: {why}", { library, why: [
      missing.length && t("missing: {names}", { names: some(missing) }), left.length && t("left over: {names}", { names: some(left) }),
    ].filter(Boolean).join(t("; ")) }));
    if (wrong) fail(t("{name} has {n} numbers, which does not fit the model's other tensors", { name: wrong, n: weights[wrong].length }));
    return { config, weights, library, count: all, projects, taken, ...made };
  }

  /* What other libraries keep apart in one, as joined.py does it, in place; positions of the model's grid; LayerScale in the layer
     before it. */
  function join(weights, { config, side, lead }, N) {
    const { embed_dim: D } = config, { dist_token: second, pos_embed: table = [] } = weights;
    const take = (name) => {
      const values = weights[name];
      delete weights[name];
      return values;
    };
    const put = (name, parts) => {
      weights[name] = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
      parts.reduce((at, one) => (weights[name].set(one, at), at + one.length), 0);
    };
    for (const name of Object.keys(weights)) {
      const kept = name.endsWith("qkv.bias_mask") && take(name), whole = name.slice(0, -5);
      if (kept) weights[whole] = weights[whole].map((v, i) => (kept[i] ? v : 0)); // DINOv3: keys have no bias
    }
    for (const name of Object.keys(weights)) {
      const parts = /\.q\./.test(name) ? (weights[name.replace(".q.", ".kv.")] ? [".q.", ".kv."] : [".q.", ".k.", ".v."])
        : /fc1_x/.test(name) ? ["fc1_g", "fc1_x"] : [], [first] = parts.slice(-1);
      if (parts.length) put(name.replace(/\.q\./, ".qkv.").replace("fc1_x", "fc1"), parts.map((part) => take(name.replace(parts[0] === "fc1_g" ? first : ".q.", part))
        ?? new Float32Array(part === ".k." ? D : 0)));
    }
    const places = side * side * D, own = table.length - places, patches = table.length ? table.subarray(own) : new Float32Array(N * D);
    put("pos_embed", [own > 0 ? table.subarray(0, D) : new Float32Array(D), table.length && N * D !== places ? resampled(patches, side, Math.sqrt(N), D) : patches]);
    weights.cls_token ??= new Float32Array(D);
    if (second) {
      weights.reg_token = take("dist_token").map((v, i) => v + (lead > 1 ? table[D + i] : 0));
      const { "head.weight": W, "head.bias": b } = weights, [V, c] = ["weight", "bias"].map((part) => take(`head_dist.${part}`));
      if (V) weights["head.weight"] = Float32Array.from({ length: 2 * W.length }, (_, i) => (i % (2 * D) < D ? W : V)[Math.floor(i / (2 * D)) * D + (i % D)] / 2);
      if (c) weights["head.bias"] = b.map((v, k) => (v + c[k]) / 2);
    }
    for (const name of Object.keys(weights)) {
      const [, block, k] = name.match(/^(.+)\.ls([12])\.gamma$/) ?? [], gamma = k && take(name);
      for (const part of k ? ["weight", "bias"] : []) {
        const values = weights[`${block}.${k === "1" ? "attn.proj" : "mlp.fc2"}.${part}`] ?? [], row = values.length / D;
        for (let i = 0; i < values.length; i++) values[i] *= gamma[Math.floor(i / row)];
      }
    }
  }

  /* Positions of n x n places read at m x m: bicubic and antialiased, as torch has it. (n * n, D) -> (m * m, D). */
  function resampled(table, n, m, D) {
    const wide = Math.max(n / m, 1), near = (x) => (1.5 * x - 2.5) * x * x + 1, far = (x) => ((x - 5) * x + 8) * x * -0.5 + 2;
    const taps = Array.from({ length: m }, (_, i) => {
      const centre = ((i + 0.5) * n) / m, first = Math.max(0, Math.trunc(centre - 2 * wide + 0.5)), last = Math.min(n, Math.trunc(centre + 2 * wide + 0.5));
      const all = Array.from({ length: last - first }, (__, j) => Math.abs(first + j - centre + 0.5) / wide).map((x) => (x < 1 ? near(x) : x < 2 ? far(x) : 0));
      const sum = all.reduce((a, b) => a + b, 0);
      return [first, all.map((w) => w / sum)];
    });
    const along = (x, row) => { // (n, row) -> (m, row)
      const out = new Float32Array(m * row);
      taps.forEach(([first, weights], i) => weights.forEach((w, j) => {
        for (let k = 0; k < row; k++) out[i * row + k] += w * x[(first + j) * row + k];
      }));
      return out;
    };
    const rows = along(table, n * D), out = new Float32Array(m * m * D);
    for (let i = 0; i < m; i++) out.set(along(rows.subarray(i * n * D, (i + 1) * n * D), D), i * m * D);
    return out;
  }

  root.vitForeign = { read, tell };
})(typeof window === "undefined" ? globalThis : window);
