/* <vit-shapes preset="vit-b/16">: what a `ViTConfig` comes to: each part's output, parameters and multiplications.

   All counts are whole numbers of any length (BigInt), equal to `vl.count_parameters` and `vl.count_macs`; a config that
   `ViTConfig` refuses is refused here in its words, and the table stays as it was. */
(() => {
  "use strict";

  const { VitExplorer, define, h, percent } = window.vitExplorer;

  const DEFAULTS = { img_size: "32", patch_size: "4", in_chans: "3", num_classes: "10", embed_dim: "192", depth: "6", num_heads: "3", mlp_ratio: "4.0",
    global_pool: "token", qkv_bias: true }; // `ViTConfig`'s
  const MEANS = { img_size: "image side", patch_size: "patch side", in_chans: "channels", num_classes: "classes, 0: no head", embed_dim: "width D", depth: "blocks L",
    num_heads: "heads h", mlp_ratio: "MLP's width over D", global_pool: "what the head reads", qkv_bias: "of q, k and v" };
  const SIZES = { ti: [12, 192, 3], s: [12, 384, 6], b: [12, 768, 12], l: [24, 1024, 16], h: [32, 1280, 16] }; // depth, width, heads
  const paper = (size, P, [depth, embed_dim, num_heads] = SIZES[size]) => ({ img_size: 224, patch_size: P, num_classes: 1000, embed_dim, depth, num_heads });
  const small = (depth, global_pool) => ({ embed_dim: 96, depth, mlp_ratio: "2.0", global_pool });
  const PRESETS = {
    "The paper's and DeiT's": Object.fromEntries([["ti", 16], ["s", 16], ["s", 32], ["b", 16], ["b", 32], ["l", 16], ["l", 32], ["h", 14]]
      .map(([size, P]) => [`vit-${size}/${P}`, paper(size, P)])),
    "This book's": { "ViTConfig()": {}, "cifar10-plain": small(6, "token"), "cifar10-modern": small(6, "avg"), "cifar10-laptop": small(4, "avg"),
      "drawn10-token": small(4, "token"), "drawn10-small": small(4, "avg") },
  };
  const COUNTS = ["patch_size", "in_chans", "embed_dim", "depth", "num_heads"]; // whole numbers above 0, as are img_size and classes
  const MOST = 1000000;

  /* Why `ViTConfig` refuses this, and which fields are at fault; null if it takes it. In its order and its words. */
  function refusal(cfg) {
    const whole = (name) => /^\d+$/.test(cfg[name]), got = (name) => cfg[name] || "nothing";
    if (!whole("img_size") || BigInt(cfg.img_size) < 1n) return [`img_size must be a positive integer or (height, width), got ${got("img_size")}; try 224`, "img_size"];
    for (const name of COUNTS) if (!whole(name) || BigInt(cfg[name]) < 1n) return [`${name} must be a positive integer, got ${got(name)}`, name];
    if (!whole("num_classes")) return [`num_classes must be 0 (no head) or more, got ${got("num_classes")}`, "num_classes"];
    for (const name of ["img_size", "num_classes", ...COUNTS]) if (Number(cfg[name]) > MOST) return [`expected ${name} of at most ${MOST.toLocaleString("en")}, got ${cfg[name]}; try a smaller one`, name];
    const ratio = Number(cfg.mlp_ratio || NaN), [H, P, D, heads] = ["img_size", "patch_size", "embed_dim", "num_heads"].map((name) => Number(cfg[name]));
    if (!(D * ratio >= 1 && D * ratio < 1e12)) return [`mlp_ratio must be a number that gives the MLP hidden units, got ${got("mlp_ratio")}; the paper takes 4.0`, "mlp_ratio"];
    if (H % P) return [`img_size ${H} is not a multiple of patch_size ${P}; try ${H > P ? `${H - (H % P)} or ` : ""}${Math.ceil(H / P) * P}`, "img_size", "patch_size"];
    if (D % heads) return [`embed_dim ${D} is not a multiple of num_heads ${heads}; try embed_dim ${Math.ceil(D / heads) * heads}`, "embed_dim", "num_heads"];
    return null;
  }

  /* A row for each part: key, what it is, its name in the state dict, output shape, parameters, MACs; `each`: in every block. */
  function parts(cfg) {
    const [H, P, C, K, D, L, heads] = ["img_size", "patch_size", "in_chans", "num_classes", "embed_dim", "depth", "num_heads"].map((name) => BigInt(cfg[name]));
    const N = (H / P) ** 2n, T = 1n + N, hidden = BigInt(Math.trunc(Number(cfg.embed_dim) * Number(cfg.mlp_ratio)));
    const row = (key, label, name, shape, parameters = 0n, macs = 0n, each = false) => ({ key, label, name, shape, parameters, macs, each });
    const linear = (from, to, bias = true) => from * to + (bias ? to : 0n);
    const block = [
      row("norm1", "norm", "norm1", [T, D], 2n * D),
      row("qkv", "queries, keys, values", "attn.qkv", [T, 3n * D], linear(D, 3n * D, cfg.qkv_bias), 3n * T * D * D),
      row("scores", "queries by keys", "", [heads, T, T], 0n, T * T * D),
      row("average", "weights by values", "", [heads, T, D / heads], 0n, T * T * D),
      row("proj", "attention's output", "attn.proj", [T, D], linear(D, D), T * D * D),
      row("norm2", "norm", "norm2", [T, D], 2n * D),
      row("fc1", "MLP up, GELU", "mlp.fc1", [T, hidden], linear(D, hidden), T * D * hidden),
      row("fc2", "MLP down", "mlp.fc2", [T, D], linear(hidden, D), T * D * hidden),
    ].map((one) => ({ ...one, each: true }));
    const sum = (rows, what) => rows.reduce((all, one) => all + one[what], 0n);
    const one = [sum(block, "parameters"), sum(block, "macs")];
    const before = [
      row("images", "the picture", "", [C, H, H]),
      row("patch_embed", "patch embedding", "patch_embed", [N, D], linear(P * P * C, D), N * P * P * C * D),
      row("cls_token", "CLS token", "cls_token", [T, D], D),
      row("pos_embed", "positions", "pos_embed", [T, D], T * D),
    ], blocks = row("blocks", `all ${L} blocks`, "blocks", [T, D], L * one[0], L * one[1]), after = [
      row("norm", "last norm", "norm", [T, D], 2n * D),
      row("pool", cfg.global_pool === "token" ? "CLS, read out" : "mean of the patches", "", [D]),
      K ? row("head", "head: logits", "head", [K], linear(D, K), D * K) : row("head", "no head: features", "", [D]),
    ];
    const counted = [...before, blocks, ...after];
    return { L, rows: [...before, ...block, row("block", "one block", "", [T, D], ...one), blocks, ...after],
      total: row("total", "the whole model", "", [K || D], sum(counted, "parameters"), sum(counted, "macs")) };
  }

  const digits = (n) => n.toLocaleString("en");
  const shaped = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
  const share = (n, all) => (all ? Number(n) / Number(all) : 0);
  /* 86567656n -> "86.6 M" */
  function short(n) {
    const step = Math.min(4, Math.floor((String(n).length - 1) / 3));
    return `${Number((Number(n) / 1000 ** step).toPrecision(3))} ${["", "k", "M", "G", "T"][step]}`;
  }

  class VitShapes extends VitExplorer {
    static style = `
      .fields { display: grid; gap: 0.5rem 0.8rem; grid-template-columns: repeat(auto-fill, minmax(8.6rem, 1fr)); border: 0; margin: 0 0 0.8rem; padding: 0; min-width: 0; }
      .fields label { display: grid; gap: 0.1rem; align-content: start; } .fields small { color: var(--soft); } code { color: inherit; font-size: 0.9em; }
      .fields input, .fields select { box-sizing: border-box; width: 100%; font: inherit; font-variant-numeric: tabular-nums; min-height: 2.2rem; }
      .fields input:not([type="checkbox"]) { background: var(--back); border: 1px solid var(--rule); border-radius: 0.4rem; color: inherit; padding: 0.2rem 0.6rem; }
      .fields input[type="checkbox"] { accent-color: var(--accent); height: 1.4rem; margin: 0.4rem 0; min-height: 0; width: 1.4rem; }
      .fields [aria-invalid="true"] { border: 2px solid var(--warm) !important; }
      .problem { color: var(--warm); font-weight: 600; } .problem:empty { display: none; }
      .said { min-height: 2.9em; } .line { display: block; background: var(--back); border-radius: 0.4rem; margin: 0 0 0.8rem; overflow-wrap: anywhere; padding: 0.4rem 0.6rem; }
      table { border-collapse: collapse; font-size: 0.92em; font-variant-numeric: tabular-nums; width: 100%; } .stale table { outline: 2px dashed var(--warm); outline-offset: 4px; }
      th, td { border-bottom: 1px solid var(--rule); font-weight: 400; padding: 0.25rem 0.4rem; text-align: right; white-space: nowrap; }
      th:first-child { text-align: left; white-space: normal; } thead th { color: var(--soft); font-size: 0.85rem; }
      th code { color: var(--soft); font-size: 0.8rem; margin-left: 0.3rem; }
      .each th:first-child { border-left: 3px solid var(--rule); padding-left: 0.8rem; } .sum th, .sum td { font-weight: 600; }
      td[style] { background: linear-gradient(var(--accent), var(--accent)) left bottom / var(--share) 3px no-repeat; }
      .changed { background-color: color-mix(in srgb, var(--accent) 16%, transparent) !important; font-weight: 600; } .changed::before { content: attr(data-way) " "; }
      td small { display: none; }
      @container (max-width: 34rem) {
        thead { clip-path: inset(50%); position: absolute; } table, tbody, .group { display: block; }
        tr { border-bottom: 1px solid var(--rule); display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.15fr); padding: 0.2rem 0; }
        th, td { align-self: start; border: 0; padding: 0.1rem 0.2rem 0.25rem; } td { font-size: 0.8rem; } tbody th { display: grid; } th code { margin: 0; }
        td small { color: var(--soft); display: inline; font-size: 0.7rem; font-weight: 400; } }`;

    async build() {
      this.inputs = {};
      this.picked = h("select", { "aria-label": "Start from", onchange: () => this.start(this.picked.value) }, h("option", { value: "", disabled: true }, "your own"),
        Object.entries(PRESETS).map(([title, presets]) => h("optgroup", { label: title }, Object.keys(presets).map((name) => h("option", {}, name)))));
      const fields = h("div", { class: "fields", role: "group", "aria-label": "The config" }, Object.keys(DEFAULTS).map((name) => this.field(name)));
      // what changed is told from where the field stood when it was entered, not from the last key pressed
      fields.addEventListener("focusin", () => { this.base = this.cfg; });
      fields.addEventListener("input", (event) => {
        if (event.target.type !== "number") this.base = this.cfg;
        this.picked.value = "";
        this.read();
      });
      this.problem = h("p", { class: "problem", id: "problem" });
      this.totals = h("p", { class: "verdict" });
      this.said = h("p", { class: "note said" });
      this.line = h("code", { class: "line" });
      this.body = h("tbody", { role: "rowgroup" });
      const titles = ["part", "output", "parameters", "MACs"];
      this.table = h("div", {}, h("table", { role: "table", "aria-label": "Shapes, parameters and multiplications of every part" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, titles.map((title) => h("th", { scope: "col", role: "columnheader" }, title)))), this.body));
      this.view.append(h("div", { class: "row" }, h("span", {}, "Start from"), this.picked), fields, this.problem, this.totals, this.said, this.table,
        h("p", { class: "note", style: "margin-top:0.8rem" }, "The line under a number is its share of the whole model, all blocks together. A MAC is one multiplication with its addition; norms, softmax, GELU and biases are left out, as is usual."), this.line);
      this.start(this.getAttribute("preset") ?? "vit-b/16");
    }

    field(name) {
      const choice = name === "global_pool", input = choice ? h("select", {}, h("option", {}, "token"), h("option", {}, "avg"))
        : h("input", name === "qkv_bias" ? { type: "checkbox" } : { type: "number", min: name === "num_classes" ? "0" : "1", step: name === "mlp_ratio" ? "any" : "1", inputmode: name === "mlp_ratio" ? "decimal" : "numeric" });
      input.name = name;
      this.inputs[name] = input;
      return h("label", {}, h("code", {}, name), input, h("small", {}, MEANS[name]));
    }

    /* Fills the form with a preset. */
    start(name) {
      const presets = Object.assign({}, ...Object.values(PRESETS)), known = Object.hasOwn(presets, name) ? name : "vit-b/16";
      for (const [key, value] of Object.entries({ ...DEFAULTS, ...presets[known] })) {
        if (key === "qkv_bias") this.inputs[key].checked = value;
        else this.inputs[key].value = String(value);
      }
      this.picked.value = known;
      this.base = this.cfg;
      this.read();
    }

    /* The form as a config; if it is one, the table follows. */
    read() {
      const cfg = Object.fromEntries(Object.entries(this.inputs).map(([name, input]) => [name, name === "qkv_bias" ? input.checked : input.value.trim()]));
      const [why, ...faults] = refusal(cfg) ?? [""];
      for (const [name, input] of Object.entries(this.inputs)) {
        if (faults.includes(name)) { input.setAttribute("aria-invalid", "true"); input.setAttribute("aria-describedby", "problem"); }
        else ["aria-invalid", "aria-describedby"].forEach((attribute) => input.removeAttribute(attribute));
      }
      this.problem.textContent = why && `${why}. The table still shows the last config that works.`;
      this.table.classList.toggle("stale", Boolean(why));
      if (why) return this.say(this.problem.textContent);
      this.cfg = cfg;
      this.draw();
    }

    draw() {
      const { L, rows, total } = parts(this.cfg), old = this.base && parts(this.base), was = Object.fromEntries((old ? [...old.rows, old.total] : []).map((one) => [one.key, one]));
      const cells = rows.concat(total).map((one) => this.row(one, was[one.key], L, total));
      const first = rows.findIndex((one) => one.each);
      cells.splice(first, 0, h("tr", { role: "row" }, h("th", { class: "group note", colspan: "4", scope: "rowgroup", role: "rowheader" }, `in each of ${L} block${L > 1n ? "s" : ""}:`)));
      this.body.replaceChildren(...cells);
      this.totals.textContent = `${short(total.parameters)} parameters, ${short(total.macs)} MACs for one picture.`;
      this.said.textContent = `${this.told(rows, total, was)} In float32 its weights fill ${short(4n * total.parameters)}B.`;
      const changed = Object.keys(DEFAULTS).filter((name) => (typeof DEFAULTS[name] === "string" && name !== "global_pool" ? Number(DEFAULTS[name]) !== Number(this.cfg[name]) : DEFAULTS[name] !== this.cfg[name]));
      const written = (name) => ({ global_pool: `"${this.cfg[name]}"`, qkv_bias: this.cfg[name] ? "True" : "False" })[name] ?? String(Number(this.cfg[name]));
      this.line.textContent = `cfg = vl.ViTConfig(${changed.map((name) => `${name}=${written(name)}`).join(", ")})`;
      this.say(`${this.totals.textContent} ${this.said.textContent}`);
    }

    row(one, was, L, total) {
      const cell = (what, small, text, value, before) => {
        const differs = was && String(value) !== String(before), times = one.each || one.key === "block" ? L : 1n;
        const bar = what !== "shape" && one.key !== "total" && one.key !== "block" && value ? share(times * value, total[what]) : 0;
        return h("td", { role: "cell", "data-what": what, class: differs ? "changed" : false, "data-way": differs ? (what === "shape" ? "•" : value > before ? "▲" : "▼") : false,
          title: differs ? `was ${what === "shape" ? shaped(before) : digits(before)}` : bar ? `${percent(bar)} of all` : false, style: bar ? `--share:${(100 * bar).toFixed(2)}%` : false },
          h("span", {}, text), h("small", {}, small));
      };
      return h("tr", { role: "row", "data-part": one.key, class: one.each ? "each" : ["block", "blocks", "total"].includes(one.key) ? "sum" : false },
        h("th", { scope: "row", role: "rowheader" }, one.label, one.name && one.name !== "blocks" ? h("code", {}, one.name) : ""),
        cell("shape", "", shaped(one.shape), one.shape, was?.shape), cell("parameters", " params", digits(one.parameters), one.parameters, was?.parameters), cell("macs", " MACs", digits(one.macs), one.macs, was?.macs));
    }

    /* In words: what was changed, and what changed with it. */
    told(rows, total, was) {
      const fields = this.base ? Object.keys(DEFAULTS).filter((name) => this.base[name] !== this.cfg[name]) : [];
      if (!fields.length) return "Change a field: what changes with it is marked.";
      const what = fields.length > 3 ? "Another model" : fields.map((name) => `${name} ${this.base[name]} → ${this.cfg[name]}`).join(", ");
      const own = rows.filter((one) => !["block", "blocks"].includes(one.key)), moved = own.filter((one) => one.parameters !== was[one.key].parameters);
      const blocks = rows.some((one) => one.key === "blocks" && one.parameters !== was.blocks.parameters) && !moved.some((one) => one.each);
      const names = [...moved.map((one) => one.label), ...(blocks ? ["the number of blocks"] : [])];
      const where = names.length > 3 ? `in ${names.length} parts` : `in ${names.join(" and ")}`;
      const times = (now, before) => `× ${before ? Number((Number(now) / Number(before)).toPrecision(4)) : "?"}`;
      const counts = { parameters: names.length ? `parameters ${times(total.parameters, was.total.parameters)}, ${where}` : "not one parameter changes",
        macs: total.macs === was.total.macs ? "not one multiplication changes" : `MACs ${times(total.macs, was.total.macs)}` };
      return `${what}: ${counts.parameters}; ${counts.macs}.`;
    }
  }

  define("vit-shapes", VitShapes);
})();
