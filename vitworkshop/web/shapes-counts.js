/* What a `ViTConfig` comes to: why it is refused, and each part's output, parameters and multiplications.

   A config has the fields' texts as a form gives them; counts are whole numbers of any length (BigInt). */
(() => {
  "use strict";

  const COUNTS = ["patch_size", "in_chans", "embed_dim", "depth", "num_heads"]; // above 0
  const MOST = 1000000;

  /* Why `ViTConfig` refuses this, and which fields are at fault; null if it takes it. In its order and its words. */
  function refusal(cfg) {
    const whole = (name, least) => /^\d+$/.test(cfg[name]) && BigInt(cfg[name]) >= least;
    const got = (name) => cfg[name] || "nothing";
    if (!whole("img_size", 1n))
      return [`img_size must be a positive integer or (height, width), got ${got("img_size")}; try 224`, "img_size"];
    for (const name of COUNTS)
      if (!whole(name, 1n)) return [`${name} must be a positive integer, got ${got(name)}`, name];
    if (!whole("num_classes", 0n))
      return [`num_classes must be 0 (no head) or more, got ${got("num_classes")}`, "num_classes"];
    for (const name of ["img_size", "num_classes", ...COUNTS])
      if (Number(cfg[name]) > MOST)
        return [`expected ${name} of at most ${MOST.toLocaleString("en")}, got ${cfg[name]}; try a smaller one`, name];
    const [H, P, D, h] = ["img_size", "patch_size", "embed_dim", "num_heads"].map((name) => Number(cfg[name]));
    const hidden = D * Number(cfg.mlp_ratio || NaN);
    if (!(hidden >= 1 && hidden < 1e12)) {
      const wanted = "mlp_ratio must be a number that gives the MLP hidden units";
      return [`${wanted}, got ${got("mlp_ratio")}; the paper takes 4.0`, "mlp_ratio"];
    }
    if (H % P) {
      const sizes = [H - (H % P), Math.ceil(H / P) * P].filter(Boolean).join(" or ");
      return [`img_size ${H} is not a multiple of patch_size ${P}; try ${sizes}`, "img_size", "patch_size"];
    }
    if (D % h) {
      const width = Math.ceil(D / h) * h;
      return [`embed_dim ${D} is not a multiple of num_heads ${h}; try embed_dim ${width}`, "embed_dim", "num_heads"];
    }
    return null;
  }

  /* A row of the table: what it is, its name in the state dict, output shape, parameters, MACs. */
  const row = (key, label, name, shape, parameters = 0n, macs = 0n) => ({ key, label, name, shape, parameters, macs });
  const sum = (rows, what) => rows.reduce((all, one) => all + one[what], 0n);
  const linear = (from, to, bias = true) => from * to + (bias ? to : 0n); // its parameters

  /* The parts of one block, for T tokens of D numbers. */
  function blockParts(cfg, T, D) {
    const h = BigInt(cfg.num_heads), hidden = BigInt(Math.trunc(Number(cfg.embed_dim) * Number(cfg.mlp_ratio)));
    return [
      row("norm1", "norm", "norm1", [T, D], 2n * D),
      row("qkv", "queries, keys, values", "attn.qkv", [T, 3n * D], linear(D, 3n * D, cfg.qkv_bias), 3n * T * D * D),
      row("scores", "queries by keys", "", [h, T, T], 0n, T * T * D),
      row("average", "weights by values", "", [h, T, D / h], 0n, T * T * D),
      row("proj", "attention's output", "attn.proj", [T, D], linear(D, D), T * D * D),
      row("norm2", "norm", "norm2", [T, D], 2n * D),
      row("fc1", "MLP up, GELU", "mlp.fc1", [T, hidden], linear(D, hidden), T * D * hidden),
      row("fc2", "MLP down", "mlp.fc2", [T, D], linear(hidden, D), T * D * hidden),
    ].map((one) => ({ ...one, each: true }));
  }

  /* A row for each part, in order, those of one block with `each`; the number of blocks, and the whole model. */
  function parts(cfg) {
    const names = ["img_size", "patch_size", "in_chans", "num_classes", "embed_dim", "depth"];
    const [H, P, C, K, D, L] = names.map((name) => BigInt(cfg[name]));
    const N = (H / P) ** 2n, T = 1n + N;
    const each = blockParts(cfg, T, D);
    const block = row("block", "one block", "", [T, D], sum(each, "parameters"), sum(each, "macs"));
    const before = [
      row("images", "the picture", "", [C, H, H]),
      row("patch_embed", "patch embedding", "patch_embed", [N, D], linear(P * P * C, D), N * P * P * C * D),
      row("cls_token", "CLS token", "cls_token", [T, D], D),
      row("pos_embed", "positions", "pos_embed", [T, D], T * D),
    ];
    const blocks = row("blocks", `all ${L} blocks`, "blocks", [T, D], L * block.parameters, L * block.macs);
    const after = [
      row("norm", "last norm", "norm", [T, D], 2n * D),
      row("pool", cfg.global_pool === "token" ? "CLS, read out" : "mean of the patches", "", [D]),
      K ? row("head", "head: logits", "head", [K], linear(D, K), D * K) : row("head", "no head: features", "", [D]),
    ];
    const all = [...before, blocks, ...after];
    const total = row("total", "the whole model", "", [K || D], sum(all, "parameters"), sum(all, "macs"));
    return { L, rows: [...before, ...each, block, blocks, ...after], total };
  }

  window.vitShapesCounts = { parts, refusal };
})();
