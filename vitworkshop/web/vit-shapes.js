/* <vit-shapes preset="vit-b/16">: what a `ViTConfig` comes to: each part's output, parameters and multiplications.

   All counts are equal to `vl.count_parameters` and `vl.count_macs`; a config that `ViTConfig` refuses is refused here
   in its words, and the table stays as it was. What it counts stands in shapes-counts.js. */
(() => {
  "use strict";

  const { VitExplorer, define, h, percent } = window.vitExplorer;

  const FIELDS = { // `ViTConfig`'s defaults, and what they mean
    img_size: ["32", "image side"],
    patch_size: ["4", "patch side"],
    in_chans: ["3", "channels"],
    num_classes: ["10", "classes, 0: no head"],
    embed_dim: ["192", "width D"],
    depth: ["6", "blocks L"],
    num_heads: ["3", "heads h"],
    mlp_ratio: ["4.0", "MLP's width over D"],
    global_pool: ["token", "what the head reads"],
    qkv_bias: [true, "of q, k and v"],
  };
  const NAMES = Object.keys(FIELDS);
  const DEFAULTS = Object.fromEntries(NAMES.map((name) => [name, FIELDS[name][0]]));

  const paper = (patch_size, embed_dim, depth, num_heads) =>
    ({ img_size: 224, patch_size, num_classes: 1000, embed_dim, depth, num_heads });
  const book = (depth, global_pool) => ({ embed_dim: 96, depth, mlp_ratio: "2.0", global_pool });
  const PRESETS = {
    "The paper's and DeiT's": {
      "vit-ti/16": paper(16, 192, 12, 3),
      "vit-s/16": paper(16, 384, 12, 6),
      "vit-s/32": paper(32, 384, 12, 6),
      "vit-b/16": paper(16, 768, 12, 12),
      "vit-b/32": paper(32, 768, 12, 12),
      "vit-l/16": paper(16, 1024, 24, 16),
      "vit-l/32": paper(32, 1024, 24, 16),
      "vit-h/14": paper(14, 1280, 32, 16),
    },
    "This book's": {
      "ViTConfig()": {},
      "cifar10-plain": book(6, "token"),
      "cifar10-modern": book(6, "avg"),
      "cifar10-laptop": book(4, "avg"),
      "drawn10-token": book(4, "token"),
      "drawn10-small": book(4, "avg"),
    },
  };

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
      .legend { margin-top: 0.8rem; }
      .line { background: var(--back); border-radius: 0.4rem; display: block; margin: 0 0 0.8rem;
        overflow-wrap: anywhere; padding: 0.4rem 0.6rem; }
      table { border-collapse: collapse; font-size: 0.92em; font-variant-numeric: tabular-nums; width: 100%; }
      .stale table { outline: 2px dashed var(--warm); outline-offset: 4px; }
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
      await window.vit.script("shapes-counts.js");
      Object.assign(this, window.vitShapesCounts);
      this.problem = h("p", { class: "problem", id: "problem" });
      this.totals = h("p", { class: "verdict" });
      this.said = h("p", { class: "note said" });
      this.line = h("code", { class: "line" });
      this.view.append(
        h("div", { class: "row" }, h("span", {}, "Start from"), this.picker()),
        this.form(),
        this.problem,
        this.totals,
        this.said,
        this.empty(),
        h("p", { class: "note legend" },
          "The line under a number is its share of the whole model, all blocks together. A MAC is one multiplication "
          + "with its addition; norms, softmax, GELU and biases are left out, as is usual."),
        this.line);
      this.start(this.getAttribute("preset") ?? "vit-b/16");
    }

    /* The choice of a preset, or "your own" after a change. */
    picker() {
      const groups = Object.entries(PRESETS).map(([label, presets]) =>
        h("optgroup", { label }, Object.keys(presets).map((name) => h("option", {}, name))));
      this.picked = h("select", { "aria-label": "Start from", onchange: () => this.start(this.picked.value) },
        h("option", { value: "", disabled: true }, "your own"), groups);
      return this.picked;
    }

    form() {
      this.inputs = Object.fromEntries(NAMES.map((name) => [name, this.input(name)]));
      const labels = NAMES.map((name) =>
        h("label", {}, h("code", {}, name), this.inputs[name], h("small", {}, FIELDS[name][1])));
      const fields = h("div", { class: "fields", role: "group", "aria-label": "The config" }, labels);
      // what changed is told from where the field stood when it was entered, not from the last key pressed
      fields.addEventListener("focusin", () => { this.base = this.cfg; });
      fields.addEventListener("input", (event) => {
        if (event.target.type !== "number") this.base = this.cfg;
        this.picked.value = "";
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

    /* The table with its titles. */
    empty() {
      const titles = ["part", "output", "parameters", "MACs"].map((title) =>
        h("th", { scope: "col", role: "columnheader" }, title));
      this.body = h("tbody", { role: "rowgroup" });
      this.table = h("div", {},
        h("table", { role: "table", "aria-label": "Shapes, parameters and multiplications of every part" },
          h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, titles)), this.body));
      return this.table;
    }

    /* Fills the form with a preset. */
    start(name) {
      const presets = Object.assign({}, ...Object.values(PRESETS));
      const known = Object.hasOwn(presets, name) ? name : "vit-b/16";
      for (const [field, value] of Object.entries({ ...DEFAULTS, ...presets[known] })) {
        if (field === "qkv_bias") this.inputs[field].checked = value;
        else this.inputs[field].value = String(value);
      }
      this.picked.value = known;
      this.base = this.cfg;
      this.read();
    }

    /* The form as a config; if it is one, the table follows. */
    read() {
      const { qkv_bias, ...texts } = this.inputs;
      const cfg = Object.fromEntries(Object.entries(texts).map(([name, input]) => [name, input.value.trim()]));
      cfg.qkv_bias = qkv_bias.checked;
      const [why, ...faults] = this.refusal(cfg) ?? [""];
      for (const name of NAMES) this.blame(this.inputs[name], faults.includes(name));
      this.problem.textContent = why && `${why}. The table still shows the last config that works.`;
      this.table.classList.toggle("stale", Boolean(why));
      if (why) return this.say(this.problem.textContent);
      this.cfg = cfg;
      this.draw();
    }

    /* Marks a field that is at fault, for the eye and for screen readers. */
    blame(input, guilty) {
      const says = { "aria-invalid": "true", "aria-describedby": "problem" };
      for (const [name, value] of Object.entries(says)) {
        if (guilty) input.setAttribute(name, value);
        else input.removeAttribute(name);
      }
    }

    draw() {
      const { L, rows, total } = this.parts(this.cfg), old = this.base && this.parts(this.base);
      const was = Object.fromEntries((old ? [...old.rows, old.total] : []).map((one) => [one.key, one]));
      const lines = [...rows, total].map((one) => this.row(one, was[one.key], L, total));
      const title = h("th", { class: "group note", colspan: "4", scope: "rowgroup", role: "rowheader" },
        `in each of ${L} block${L > 1n ? "s" : ""}:`);
      lines.splice(rows.findIndex((one) => one.each), 0, h("tr", { role: "row" }, title));
      this.body.replaceChildren(...lines);
      const { parameters, macs } = total;
      this.totals.textContent = `${short(parameters)} parameters, ${short(macs)} MACs for one picture.`;
      this.said.textContent = `${this.told(rows, total, was)} In float32 its weights fill ${short(4n * parameters)}B.`;
      this.line.textContent = python(this.cfg);
      this.say(`${this.totals.textContent} ${this.said.textContent}`);
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
        count("parameters", " params"),
        count("macs", " MACs"));
    }

    /* A cell with its value as `write` writes it: marked if it `was` another one, underlined by its share of all. */
    cell(what, value, was, write, share = 0, unit = "") {
      const looks = { role: "cell", "data-what": what };
      if (share) {
        looks.title = `${percent(share)} of all`;
        looks.style = `--share:${(100 * share).toFixed(2)}%`;
      }
      if (was !== undefined && String(value) !== String(was)) {
        const way = what === "shape" ? "•" : value > was ? "▲" : "▼";
        Object.assign(looks, { class: "changed", "data-way": way, title: `was ${write(was)}` });
      }
      return h("td", looks, h("span", {}, write(value)), h("small", {}, unit));
    }

    /* In words: what was changed, and what changed with it. */
    told(rows, total, was) {
      const fields = this.base ? NAMES.filter((name) => this.base[name] !== this.cfg[name]) : [];
      if (!fields.length) return "Change a field: what changes with it is marked.";
      const changes = fields.map((name) => `${name} ${this.base[name]} → ${this.cfg[name]}`);
      const what = fields.length > 3 ? "Another model" : changes.join(", ");
      const times = (count) => {
        const [now, before] = [total, was.total].map((one) => Number(one[count]));
        return `× ${before ? rounded(now / before, 4) : "?"}`;
      };
      const where = this.where(rows, was), other = total.macs !== was.total.macs;
      const parameters = where ? `parameters ${times("parameters")}, ${where}` : "not one parameter changes";
      const macs = other ? `MACs ${times("macs")}` : "not one multiplication changes";
      return `${what}: ${parameters}; ${macs}.`;
    }

    /* The parts whose parameters changed, and whether there are more or fewer blocks; "" if none did. */
    where(rows, was) {
      const moved = rows.filter(({ key, parameters }) => parameters !== was[key].parameters);
      const parts = moved.filter(({ key }) => key !== "block" && key !== "blocks");
      const names = parts.map(({ label }) => label);
      if (moved.length > parts.length && !parts.some(({ each }) => each)) names.push("the number of blocks");
      if (names.length > 3) return `in ${names.length} parts`;
      return names.length ? `in ${names.join(" and ")}` : "";
    }
  }

  define("vit-shapes", VitShapes);
})();
