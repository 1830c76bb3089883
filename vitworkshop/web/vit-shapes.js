/* <vit-shapes>: what a `ViTConfig` comes to: each part's output, parameters and multiplications.

   All counts are equal to `vl.count_parameters` and `vl.count_macs`; a config that `ViTConfig` refuses is refused here
   in its words, and the table stays as it was. A config has the fields' texts as a form gives them; counts are whole
   numbers of any length (BigInt). */
(() => {
  "use strict";

  const { VitExplorer, clauses, h, note, percent, sentences } = window.vitExplorer;

  const FIELDS = { // `ViTConfig`'s defaults, and what they mean
    img_size: ["32", t("image side")],
    patch_size: ["4", t("patch side")],
    in_chans: ["3", t("channels")],
    num_classes: ["10", t("classes, 0: no head")],
    embed_dim: ["192", t("width D")],
    depth: ["6", t("blocks L")],
    num_heads: ["3", t("heads h")],
    mlp_ratio: ["4.0", t("MLP's width over D")],
    global_pool: ["token", t("what the head reads")],
    qkv_bias: [true, t("of q, k and v")],
  };
  const NAMES = Object.keys(FIELDS);
  const DEFAULTS = Object.fromEntries(NAMES.map((name) => [name, FIELDS[name][0]]));

  const paper = (patch_size, embed_dim, depth, num_heads) =>
    ({ img_size: 224, patch_size, num_classes: 1000, embed_dim, depth, num_heads });
  const book = (depth, global_pool, mlp_ratio = "2.0") => ({ embed_dim: 96, depth, mlp_ratio, global_pool });
  const PRESETS = {
    [t("The paper's and DeiT's")]: {
      "vit-ti/16": paper(16, 192, 12, 3),
      "vit-s/16": paper(16, 384, 12, 6),
      "vit-s/32": paper(32, 384, 12, 6),
      "vit-b/16": paper(16, 768, 12, 12),
      "vit-b/32": paper(32, 768, 12, 12),
      "vit-l/16": paper(16, 1024, 24, 16),
      "vit-l/32": paper(32, 1024, 24, 16),
      "vit-h/14": paper(14, 1280, 32, 16),
    },
    [t("This book's")]: {
      "ViTConfig()": {},
      "cifar10-plain": book(6, "token"),
      "cifar10-photo": book(6, "avg", "3.0"),
      "cifar10-modern": book(6, "avg"),
      "drawn10-token": book(4, "token"),
      "drawn10-small": book(4, "avg"),
    },
  };

  const COUNTS = ["patch_size", "in_chans", "embed_dim", "depth", "num_heads"]; // above 0

  /* Why `ViTConfig` refuses this, and which fields are at fault; null if it takes it. In its order and its words. */
  function refusal(cfg) {
    const whole = (name, least) => /^\d+$/.test(cfg[name]) && BigInt(cfg[name]) >= least;
    const got = (name) => cfg[name] || t("nothing");
    if (!whole("img_size", 1n))
      return [t("img_size must be a positive integer or (height, width), got {got}; try 224", { got: got("img_size") }), "img_size"];
    for (const name of COUNTS)
      if (!whole(name, 1n)) return [t("{name} must be a positive integer, got {got}", { name, got: got(name) }), name];
    if (!whole("num_classes", 0n))
      return [t("num_classes must be 0 (no head) or more, got {got}", { got: got("num_classes") }), "num_classes"];
    const [H, P, D, h] = ["img_size", "patch_size", "embed_dim", "num_heads"].map((name) => Number(cfg[name]));
    const hidden = D * Number(cfg.mlp_ratio || NaN);
    if (!(hidden >= 1 && hidden < 1e12)) {
      return [t("mlp_ratio must be a number that gives the MLP hidden units, got {got}; the paper takes 4.0", {
        got: got("mlp_ratio") }), "mlp_ratio"];
    }
    if (H % P) {
      const sizes = [H - (H % P), Math.ceil(H / P) * P].filter(Boolean).join(t(" or "));
      return [t("img_size {H} is not a multiple of patch_size {P}; try {sizes}", { H, P, sizes }), "img_size", "patch_size"];
    }
    if (D % h) {
      const width = Math.ceil(D / h) * h;
      return [t("embed_dim {D} is not a multiple of num_heads {h}; try embed_dim {width}", { D, h, width }), "embed_dim", "num_heads"];
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
      row("norm1", t("norm"), "norm1", [T, D], 2n * D),
      row("qkv", t("queries, keys, values"), "attn.qkv", [T, 3n * D], linear(D, 3n * D, cfg.qkv_bias), 3n * T * D * D),
      row("scores", t("queries by keys"), "", [h, T, T], 0n, T * T * D),
      row("average", t("weights by values"), "", [h, T, D / h], 0n, T * T * D),
      row("proj", t("attention's output"), "attn.proj", [T, D], linear(D, D), T * D * D),
      row("norm2", t("norm"), "norm2", [T, D], 2n * D),
      row("fc1", t("MLP up, GELU"), "mlp.fc1", [T, hidden], linear(D, hidden), T * D * hidden),
      row("fc2", t("MLP down"), "mlp.fc2", [T, D], linear(hidden, D), T * D * hidden),
    ].map((one) => ({ ...one, each: true }));
  }

  /* A row for each part, in order, those of one block with `each`; the number of blocks, and the whole model. */
  function parts(cfg) {
    const names = ["img_size", "patch_size", "in_chans", "num_classes", "embed_dim", "depth"];
    const [H, P, C, K, D, L] = names.map((name) => BigInt(cfg[name]));
    const N = (H / P) ** 2n, T = 1n + N;
    const each = blockParts(cfg, T, D);
    const block = row("block", t("one block"), "", [T, D], sum(each, "parameters"), sum(each, "macs"));
    const before = [
      row("images", t("the picture"), "", [C, H, H]),
      row("patch_embed", t("patch embedding"), "patch_embed", [N, D], linear(P * P * C, D), N * P * P * C * D),
      row("cls_token", t("CLS token"), "cls_token", [T, D], D),
      row("pos_embed", t("positions"), "pos_embed", [T, D], T * D),
    ];
    const blocks = row("blocks", t("all {L} blocks", { L }), "blocks", [T, D], L * block.parameters, L * block.macs);
    const after = [
      row("norm", t("last norm"), "norm", [T, D], 2n * D),
      row("pool", cfg.global_pool === "token" ? t("CLS, read out") : t("mean of the patches"), "", [D]),
      K ? row("head", t("head: logits"), "head", [K], linear(D, K), D * K) : row("head", t("no head: features"), "", [D]),
    ];
    const all = [...before, blocks, ...after];
    const total = row("total", t("the whole model"), "", [K || D], sum(all, "parameters"), sum(all, "macs"));
    return { L, rows: [...before, ...each, block, blocks, ...after], total };
  }

  const digits = (n) => n.toLocaleString("en");
  const shaped = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
  const rounded = (number, places) => Number(number.toPrecision(places));

  /* 86567656n -> "86.6 M" */
  function short(n) {
    const step = Math.min(4, Math.floor((String(n).length - 1) / 3));
    return `${rounded(Number(n) / 1000 ** step, 3)} ${["", "k", "M", "G", "T"][step]}`;
  }

  /* The config as a line of Python, with what is not as by default. */
  function python(cfg) {
    const written = {
      global_pool: `"${cfg.global_pool}"`,
      qkv_bias: cfg.qkv_bias ? "True" : "False",
    };
    const same = (name) => cfg[name] === DEFAULTS[name] || Number(cfg[name]) === Number(DEFAULTS[name]);
    const changed = NAMES.filter((name) => !same(name));
    return `cfg = vl.ViTConfig(${changed.map((name) => `${name}=${written[name] ?? Number(cfg[name])}`).join(", ")})`;
  }

  class VitShapes extends VitExplorer {
    static style = `
      code { color: inherit; font-size: 0.9em; }
      .fields { border: 0; display: grid; gap: 0.5rem 0.8rem; margin: 0 0 0.8rem; min-width: 0; padding: 0;
        grid-template-columns: repeat(auto-fill, minmax(8.6rem, 1fr)); }
      .fields label { align-content: start; display: grid; gap: 0.1rem; }
      .fields small { color: var(--soft); }
      .fields input, .fields select { box-sizing: border-box; font: inherit; font-variant-numeric: tabular-nums;
        min-height: 2.2rem; width: 100%; }
      .fields input[type="number"] { background: var(--back); border: 1px solid var(--rule); border-radius: 0.4rem;
        color: inherit; padding: 0.2rem 0.6rem; }
      .fields input[type="checkbox"] { accent-color: var(--accent); height: 1.4rem; margin: 0.4rem 0; min-height: 0;
        width: 1.4rem; }
      .fields [aria-invalid="true"] { border: 2px solid var(--warm) !important; }
      .problem { color: var(--warm); font-weight: 600; }
      .problem:empty { display: none; }
      .said { min-height: 2.9em; }
      table + .note { margin-top: 0.8rem; }
      .line { background: var(--back); border-radius: 0.4rem; display: block; margin: 0 0 0.8rem;
        overflow-wrap: anywhere; padding: 0.4rem 0.6rem; }
      table { border-collapse: collapse; font-size: 0.92em; font-variant-numeric: tabular-nums; width: 100%; }
      table.stale { outline: 2px dashed var(--warm); outline-offset: 4px; }
      th, td { border-bottom: 1px solid var(--rule); font-weight: 400; padding: 0.25rem 0.4rem; text-align: right;
        white-space: nowrap; }
      th:first-child { text-align: left; white-space: normal; }
      thead th { color: var(--soft); font-size: 0.85rem; }
      th code { color: var(--soft); font-size: 0.8rem; margin-left: 0.3rem; }
      .each th:first-child { border-left: 3px solid var(--rule); padding-left: 0.8rem; }
      .sum th, .sum td { font-weight: 600; }
      td[style] { background: linear-gradient(var(--accent), var(--accent)) left bottom / var(--share) 3px no-repeat; }
      .changed { background-color: color-mix(in srgb, var(--accent) 16%, transparent) !important; font-weight: 600; }
      .changed::before { content: attr(data-way) " "; }
      td small { display: none; }
      @container (max-width: 34rem) {
        thead { clip-path: inset(50%); position: absolute; }
        table, tbody, .group { display: block; }
        tr { border-bottom: 1px solid var(--rule); display: grid; padding: 0.2rem 0;
          grid-template-columns: minmax(0, 1fr) minmax(0, 1.15fr); }
        th, td { align-self: start; border: 0; padding: 0.1rem 0.2rem 0.25rem; }
        td { font-size: 0.8rem; }
        tbody th { display: grid; }
        th code { margin: 0; }
        td small { color: var(--soft); display: inline; font-size: 0.7rem; font-weight: 400; }
      }`;

    async build() {
      const groups = Object.entries(PRESETS).map(([label, presets]) =>
        h("optgroup", { label }, Object.keys(presets).map((name) => h("option", {}, name))));
      this.picked = h("select", { "aria-label": t("Start from"), onchange: () => this.start(this.picked.value) },
        h("option", { value: "", disabled: true }, t("your own")), groups);
      this.problem = h("p", { class: "problem", id: "problem" });
      this.said = h("p", { class: "note said" });
      this.line = h("code", { class: "line" });
      const titles = [t("part"), t("output"), t("parameters"), t("MACs")].map((title) =>
        h("th", { scope: "col", role: "columnheader" }, title));
      this.body = h("tbody", { role: "rowgroup" });
      this.table = h("table", { role: "table", "aria-label": t("Shapes, parameters and multiplications of every part") },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, titles)), this.body);
      this.view.append(
        h("div", { class: "row" }, h("span", {}, t("Start from")), this.picked),
        this.form(),
        this.problem,
        this.verdict,
        this.said,
        this.table,
        note(t("The line under a number is its share of the whole model, all blocks together. A MAC is one multiplication "
          + "with its addition; norms, softmax, GELU and biases are left out, as is usual.")),
        this.line);
      this.start("vit-b/16");
    }

    form() {
      this.inputs = Object.fromEntries(NAMES.map((name) => [name, this.input(name)]));
      const labels = NAMES.map((name) =>
        h("label", {}, h("code", {}, name), this.inputs[name], h("small", {}, FIELDS[name][1])));
      const fields = h("div", { class: "fields", role: "group", "aria-label": t("The config") }, labels);
      // what changed is told from where the field stood when it was entered, not from the last key pressed
      fields.addEventListener("focusin", () => { this.base = this.cfg; });
      fields.addEventListener("input", (event) => {
        if (event.target.type !== "number") this.base = this.cfg;
        this.picked.value = ""; // your own
        this.read();
      });
      return fields;
    }

    input(name) {
      if (name === "global_pool") return h("select", { name }, h("option", {}, "token"), h("option", {}, "avg"));
      if (name === "qkv_bias") return h("input", { name, type: "checkbox" });
      const min = name === "num_classes" ? "0" : "1";
      const kind = name === "mlp_ratio" ? { step: "any", inputmode: "decimal" } : { step: "1", inputmode: "numeric" };
      return h("input", { name, type: "number", min, ...kind });
    }

    start(name) {
      const preset = Object.values(PRESETS).find((presets) => name in presets)[name];
      for (const [field, value] of Object.entries({ ...DEFAULTS, ...preset }))
        this.inputs[field][field === "qkv_bias" ? "checked" : "value"] = value;
      this.picked.value = name;
      this.base = this.cfg;
      this.read();
    }

    /* The form as a config; if it is one, the table follows. */
    read() {
      const { qkv_bias, ...texts } = this.inputs;
      const cfg = Object.fromEntries(Object.entries(texts).map(([name, input]) => [name, input.value.trim()]));
      cfg.qkv_bias = qkv_bias.checked;
      const [why, ...faults] = refusal(cfg) ?? [""];
      for (const name of NAMES)
        for (const [attribute, value] of [["aria-invalid", "true"], ["aria-describedby", "problem"]])
          if (faults.includes(name)) this.inputs[name].setAttribute(attribute, value);
          else this.inputs[name].removeAttribute(attribute);
      this.problem.textContent = why && t("{why}. The table still shows the last config that works.", { why });
      this.table.classList.toggle("stale", Boolean(why));
      if (why) return this.say(this.problem.textContent);
      this.cfg = cfg;
      this.draw();
    }

    draw() {
      const { L, rows, total } = parts(this.cfg), old = this.base && parts(this.base);
      const was = Object.fromEntries((old ? [...old.rows, old.total] : []).map((one) => [one.key, one]));
      const lines = [...rows, total].map((one) => this.row(one, was[one.key], L, total));
      const title = h("th", { class: "group note", colspan: "4", scope: "rowgroup", role: "rowheader" },
        tn("in each of {n} block:", "in each of {n} blocks:", Number(L)));
      lines.splice(rows.findIndex((one) => one.each), 0, h("tr", { role: "row" }, title));
      this.body.replaceChildren(...lines);
      const { parameters, macs } = total;
      this.verdict.textContent = t("{parameters} parameters, {macs} MACs for one picture.", {
        parameters: short(parameters), macs: short(macs) });
      this.said.textContent = sentences(this.told(total, was),
        t("In float32 its weights fill {size}B.", { size: short(4n * parameters) }));
      this.line.textContent = python(this.cfg);
      this.say(sentences(this.verdict.textContent, this.said.textContent));
    }

    /* A row of the table; `was` is the part before the change. */
    row(one, was, L, total) {
      const { key, label, name, shape, parameters, macs, each } = one;
      const looks = each ? "each" : ["block", "blocks", "total"].includes(key) && "sum";
      // a block's parts stand for those of all blocks
      const bar = (what) => (["block", "total"].includes(key) || !one[what] ? 0
        : Number(each ? L * one[what] : one[what]) / Number(total[what]));
      const count = (what, unit) => this.cell(what, one[what], was?.[what], digits, bar(what), unit);
      return h("tr", { role: "row", "data-part": key, class: looks },
        h("th", { scope: "row", role: "rowheader" }, label, name && key !== "blocks" ? h("code", {}, name) : ""),
        this.cell("shape", shape, was?.shape, shaped),
        count("parameters", t(" params")),
        count("macs", t(" MACs")));
    }

    /* A cell with its value as `write` writes it: marked if it `was` another one, underlined by its share of all. */
    cell(what, value, was, write, share = 0, unit = "") {
      const looks = { role: "cell", "data-what": what };
      if (share) {
        looks.title = t("{share} of all", { share: percent(share) });
        looks.style = `--share:${(100 * share).toFixed(2)}%`;
      }
      if (was !== undefined && String(value) !== String(was)) {
        const way = what === "shape" ? "•" : value > was ? "▲" : "▼";
        Object.assign(looks, { class: "changed", "data-way": way, title: t("was {was}", { was: write(was) }) });
      }
      return h("td", looks, h("span", {}, write(value)), h("small", {}, unit));
    }

    /* In words: what was changed, and what changed with it. */
    told(total, was) {
      const fields = this.base ? NAMES.filter((name) => this.base[name] !== this.cfg[name]) : [];
      if (!fields.length) return t("Change a field: what changes with it is marked.");
      const changes = fields.map((name) => `${name} ${this.base[name]} → ${this.cfg[name]}`);
      const times = (count) => rounded(Number(total[count]) / Number(was.total[count]), 4);
      return t("{what}: parameters × {parameters}, MACs × {macs}.", {
        what: fields.length > 3 ? t("Another model") : clauses(changes), parameters: times("parameters"), macs: times("macs") });
    }
  }

  customElements.define("vit-shapes", VitShapes);
})();
