/* A .safetensors file as a model for vit.js, whoever made it: `vitForeign.read(file, dialect, told, tick)`.

   Names are read as vitlib/weights/foreign.py reads them: `dialect` is its table, as data. Nothing in such a file can
   run: 8 bytes of length, a header in JSON, numbers; every promise of the header is checked. A tensor is read at a time,
   so that no more than the weights stands in memory. `told` is what no file of weights tells; see `tell`. */
(function foreign(root) {
  "use strict";

  (root.vitSources ??= {}).foreign = `(${foreign})(globalThis);`;

  const BYTES = { F32: 4, F16: 2, BF16: 2 };
  const HEADER = 4e6, MOST = 1.2e9; // bytes: of a header, of all that a model takes while it computes
  const FIX = 'safetensors.torch.save_file(torch.load("x.pth", weights_only=True), "x.safetensors")';
  const OTHERS = [ // what a file begins with that holds no weights, or none that are safe to read
    [/^PK[^]*\.npy/, t("it is NumPy's (.npz, as Google's); vl.load_weights reads it and vl.save_pretrained writes it anew")],
    [/^(PK[^]*\.pkl|\x80)/, t("it is a PyTorch checkpoint, which can hold code; in Python, {FIX} makes a file without", { FIX })],
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
    let end = 8 + length;
    for (const { from, to } of [...tensors.values()].sort((a, b) => a.from - b.from || a.to - b.to)) {
      if (from !== end) damaged(t("its tensors overlap, or leave a gap"));
      end = to;
    }
    if (end !== file.size) damaged(t("its tensors end at byte {end}, the file at {size}", { end, size: file.size }));
    return tensors;
  }

  /* The numbers of a tensor, as float32. */
  async function numbers(file, name, { dtype, from, to }) {
    if (!BYTES[dtype]) fail(t("{name} is stored as {dtype}; save it as float32, float16 or bfloat16", {
      name, dtype: String(dtype).slice(0, 12) }));
    const buffer = await file.slice(from, to).arrayBuffer();
    if (buffer.byteLength !== to - from) fail(t("it became shorter while it was read; fetch it again"));
    let values = dtype === "F32" ? new Float32Array(buffer) : new Uint16Array(buffer);
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

  /* The one ViT among these names, as `find_vit` of foreign.py finds it: { library, found: our name -> theirs }. */
  function find(names, { libraries, names: patterns, averaged, ours, head, dino_head, absent, no_such }) {
    const refuse = (list, library) => { // a part that no model here has
      const parts = absent.map(([mark, part]) => [part, list.filter((name) => new RegExp(mark).test(name))]);
      const there = parts.filter(([, all]) => all.length).map(([part, all]) => t("{part}: {what}", { part: t(part), what: some(all) }));
      if (there.length) fail(t("these are the weights ({library}) of a model with {there}; {no_such}", {
        library, there: there.join(t(", ")), no_such: t(no_such) }));
    };
    const dotted = new Map(names.map((name) => [name.replaceAll("/", "."), name]));
    let library, prefixes = [];
    for (const [one, own] of Object.entries(libraries)) {
      const mark = new RegExp(`(?<![^.])${own}`);
      library = one;
      prefixes = [...new Set([...dotted.keys()].filter((name) => mark.test(name)).map((name) => name.slice(0, name.search(mark))))];
      if (prefixes.length) break;
    }
    const better = prefixes.filter((one) => new RegExp(averaged).test(one));
    if (better.length) prefixes = better;
    if (prefixes.length !== 1) {
      refuse([...dotted.keys()], t("names unknown"));
      fail(t("expected the weights of one ViT under the names of {libraries}, got {names}", {
        libraries: Object.keys(libraries).join(t(", ")), names: some(prefixes.length ? prefixes : names) || t("no tensors") }));
    }
    if (library === "Google") fail(t("its names are those of Flax; vl.load_weights reads it and vl.save_pretrained writes it anew"));
    const [prefix] = prefixes, found = new Map(), beside = [], is = (mark, name) => new RegExp(mark).test(name);
    for (const [key, theirs] of dotted) {
      let same = 0;
      while (same < prefix.length && key[same] === prefix[same]) same++;
      let name = key.slice(key.slice(0, same).lastIndexOf(".") + 1);
      for (const [mark, to] of patterns) name = name.replace(new RegExp(mark, "g"), to);
      if (is(dino_head, name) || !(key.startsWith(prefix) || is(ours, name) || is(head, name))) beside.push(name);
      else if (found.has(name)) fail(t("expected one {name}, got two under different names; keep one of them", { name }));
      else found.set(name, theirs);
    }
    const layers = new Set([...found.keys()].filter((name) => is(head, name)).map((name) => name.replace(/\.[^.]+$/, "")));
    for (const [name, theirs] of layers.size === 1 ? [...found] : [])
      if (is(head, name) && found.delete(name)) found.set(`head.${name.split(".").at(-1)}`, theirs);
    const triple = (name) => /attn\.[qkv]\./.test(name) && [..."qkv"].every((x) => found.has(name.replace(/attn\.[qkv]\./, `attn.${x}.`)));
    refuse([...[...found.keys()].filter((name) => !triple(name)), ...beside], library);
    return { library, found };
  }

  /* What stands in the files beside the weights: Hugging Face's config.json, timm's, and the card of a model of the book.
     { embed_dim, num_heads, norm_eps, global_pool, act, classes, recipe }, each where it is told; a number that can be
     none of these is refused. */
  function tell(json) {
    if (typeof json !== "object" || !json || Array.isArray(json)) fail(t("expected an object, as a config is"));
    if (json.weight_map) fail(t("its weights lie in several files; save_pretrained(folder, max_shard_size=\"9GB\") makes one"));
    const own = json.config ?? json, data = { ...json.pretrained_cfg, ...json }, size = data.size ?? {}, told = {};
    const names = json.classes ?? json.label_names ?? (json.id2label && Object.entries(json.id2label)
      .sort(([a], [b]) => a - b).map(([, name]) => name));
    const check = (name, value, fits, wanted) => {
      if (!fits(value)) fail(t("expected {wanted}, got {value} as its {name}", { wanted, value: some([JSON.stringify(value)]), name }));
    };
    const whole = (value) => Number.isInteger(value) && value > 0, above = (value) => Number.isFinite(value) && value > 0;
    for (const [name, value, fits, wanted] of [
      ["embed_dim", json.hidden_size ?? json.num_features ?? own.embed_dim, whole, t("a whole number from 1")],
      ["num_heads", json.num_attention_heads ?? own.num_heads, whole, t("a whole number from 1")],
      ["norm_eps", json.layer_norm_eps, above, t("a number above 0")],
      ["global_pool", own.global_pool || null, (value) => /^(token|avg)$/.test(value), t("token (CLS) or avg (the mean)")],
    ]) {
      if (value == null) continue;
      check(name, value, fits, wanted);
      told[name] = value;
    }
    const act = json.hidden_act ?? own.act;
    if (typeof act === "string") told.act = act;
    if (typeof json.library === "string") told.library = json.library; // export.py: its names have been changed
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

  /* A model's config, from the sizes of its tensors and from what is told. */
  function configure(shapes, library, told) {
    const patch = shapes("patch_embed.proj.weight"), positions = shapes("pos_embed")?.at(-2) ?? 0, D = patch?.[0];
    if (patch?.length !== 4 || patch[2] !== patch[3]) fail(t("expected square patches (D, 3, P, P), got {patch}", {
      patch: patch ?? t("none") }));
    if (patch[1] !== 3) fail(t("expected pictures of 3 channels, got {n}", { n: patch[1] }));
    if (!shapes("cls_token")) fail(t("it has no CLS token; a model here has one"));
    const grid = Math.sqrt(positions - 1), depth = shapes.depth, hidden = shapes("blocks.0.mlp.fc1.weight")?.[0];
    if (!Number.isInteger(grid) || grid < 1) fail(t("expected positions of CLS and of a square of patches, got {positions}", { positions }));
    const [K = 0, reads = D] = shapes("head.weight") ?? [], heads = (told.embed_dim ?? D) === D ? told.num_heads : null;
    const config = {
      img_size: grid * patch[2], patch_size: patch[2], in_chans: 3, num_classes: K, embed_dim: D, depth,
      num_heads: heads ?? Math.max(1, Math.round(D / 64)), mlp_ratio: hidden / D, patch_embed: "conv", pos_embed: "learned",
      norm_order: "pre", head: "linear", act: "gelu", layer_scale: null,
      global_pool: told.global_pool === "avg" ? "avg" : "token", norm_eps: told.norm_eps ?? (library === "transformers" ? 1e-12 : 1e-6),
    };
    if (reads !== D) fail(t("its head reads {reads} numbers, as DINOv2's (CLS and the mean); one here reads {D}; drop the head", { reads, D }));
    if (D % config.num_heads) fail(t("{D} numbers a token are not {num_heads} heads; say how many it has", { D, num_heads: config.num_heads }));
    if ((told.act ?? "gelu") !== "gelu") fail(t("its config says {act}; a model here has GELU as erf makes it", {
      act: told.act.slice(0, 20) }));
    return config;
  }

  async function read(file, dialect, told = {}, tick = () => {}) {
    if (file.size > MOST) fail(t("it has {size}; this page takes models up to ViT-B/16", { size: gigabytes(file.size) }));
    const tensors = await header(file), scalars = [...tensors].filter(([, { shape }]) => !shape.length).map(([name]) => name);
    const { library, found } = find([...tensors.keys()].filter((name) => !scalars.includes(name)), dialect);
    const fused = (name) => (found.has(name) ? [name] : ["q", "k", "v"].map((x) => name.replace("qkv", x)).filter((x) => found.has(x)));
    const shapes = (name) => tensors.get(found.get(name))?.shape;
    shapes.depth = new Set([...found.keys()].map((name) => name.match(/^blocks\.(\d+)\./)?.[1]).filter(Boolean)).size;
    const scaled = found.has("blocks.0.ls1.gamma"); // DINOv2
    const config = configure(shapes, scaled ? "timm" : library, told), { embed_dim: D, num_classes: K, img_size, patch_size: P, depth } = config;
    const T = 1 + (img_size / P) ** 2, M = Math.round(D * config.mlp_ratio), wanted = { cls_token: D, pos_embed: T * D };
    const layer = (name, I, O) => Object.assign(wanted, { [`${name}.weight`]: I * O, [`${name}.bias`]: O });
    layer("patch_embed.proj", 3 * P * P, D);
    for (let l = 0; l < depth; l++)
      for (const [name, I, O] of [["norm1", 1, D], ["attn.qkv", D, 3 * D], ["attn.proj", D, D], ["norm2", 1, D],
        ["mlp.fc1", D, M], ["mlp.fc2", M, D]]) layer(`blocks.${l}.${name}`, I, O);
    for (let l = 0; l < depth && scaled; l++) for (const k of [1, 2]) wanted[`blocks.${l}.ls${k}.gamma`] = D;
    layer("norm", 1, D);
    if (K) layer("head", D, K);
    const known = new Set(Object.keys(wanted).flatMap(fused));
    const left = [...found.keys()].filter((name) => !known.has(name) && name !== "mask_token"
      && !(name.startsWith("pre_logits.") && !K)); // a pooler, which only a head reads
    const missing = Object.keys(wanted).filter((name) => !fused(name).length && !name.endsWith("qkv.bias"));
    if (missing.length || left.length) fail(t("the weights ({library}) are not those of one plain ViT: {why}", { library, why: [
      missing.length && t("missing: {names}", { names: some(missing) }), left.length && t("left over: {names}", { names: some(left) }),
    ].filter(Boolean).join(t("; ")) }));
    const wrong = Object.keys(wanted).filter((name) => fused(name).length && wanted[name]
      !== fused(name).reduce((sum, part) => sum + shapes(part).reduce((a, b) => a * b, 1), 0));
    if (wrong.length) fail(t("{name} has the shape ({shape}), which does not fit the model's other tensors", {
      name: wrong[0], shape: shapes(fused(wrong[0])[0]) }));
    const count = Object.values(wanted).reduce((a, b) => a + b, 0);
    const traced = 4 * depth * T * (9 * D + 2 * M + 2 * config.num_heads * T), needs = 8 * count + 2 * traced;
    const large = t("a model of this size needs {size} here, with its {T} tokens; this page takes models up to ViT-B/16 at 224 pixels", {
      size: gigabytes(needs), T });
    if (needs > MOST) fail(T > 300 ? t("{large}; timm.create_model(…, img_size=224) makes it smaller", { large }) : large);
    const weights = {};
    let done = 0;
    for (const name of Object.keys(wanted)) {
      const parts = fused(name);
      for (const [i, part] of parts.entries()) {
        const values = await numbers(file, part, tensors.get(found.get(part)));
        if (parts.length === 1) weights[name] = values;
        else (weights[name] ??= new Float32Array(wanted[name])).set(values, i * values.length);
      }
      done += wanted[name];
      await tick(done / count);
    }
    fold(weights);
    return { config, weights, library };
  }

  /* LayerScale, a factor for each number that a layer puts out, goes into the layer, which then gives the same. */
  function fold(weights) {
    for (const [name, gamma] of Object.entries(weights)) {
      const [, block, k] = name.match(/^(.+)\.ls([12])\.gamma$/) ?? [];
      if (!k) continue;
      for (const part of ["weight", "bias"]) {
        const values = weights[`${block}.${k === "1" ? "attn.proj" : "mlp.fc2"}.${part}`], row = values.length / gamma.length;
        for (let i = 0; i < values.length; i++) values[i] *= gamma[Math.floor(i / row)];
      }
      delete weights[name];
    }
  }

  root.vitForeign = { read, tell };
})(typeof window === "undefined" ? globalThis : window);
