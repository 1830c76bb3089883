/* What is inside a stage of <vit-way>: the followed patch's numbers, tensor after tensor, and each number opened into
   the sum that made it, level by level. `vitInside(way)` gives { node, words, draw, open, leaves, python }. */
(() => {
  "use strict";

  const { argmax, button, folded, h, note, percent, place, pointer, range, select, terms } = window.vitExplorer;
  const { open: opened } = window.vitLens;
  const FEW = 48; // products shown at first
  const BLOCK = ["norm1", "attn.qkv", "attn.scores", "attn.weights", "attn.mixed", "attn.proj", "mid", "norm2", "mlp.fc1",
    "mlp.act", "mlp.fc2", ""];

  const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−");
  const kind = (name) => name.match(/^blocks\.\d+\.(.+)$/)?.[1] ?? (name.startsWith("blocks.") ? "block" : name);
  const block = (name) => name.match(/^blocks\.(\d+)/)?.[1];

  /* A tensor's letters and sizes, as chapters write them. */
  function shape({ D, N, T, heads, pixels, model: { config, classes } }, name) {
    const hidden = Math.trunc(D * config.mlp_ratio), K = classes.length;
    const known = {
      patches: [["N", "P²C"], [N, pixels]], patch_embed: [["N", "D"], [N, D]], "attn.qkv": [["T", "3D"], [T, 3 * D]],
      "attn.scores": [["h", "T", "T"], [heads, T, T]], "attn.weights": [["h", "T", "T"], [heads, T, T]],
      "mlp.fc1": [["T", `${config.mlp_ratio}D`], [T, hidden]], "mlp.act": [["T", `${config.mlp_ratio}D`], [T, hidden]],
      pool: [["D"], [D]], head: [["K"], [K]],
    };
    const [letters, sizes] = known[kind(name)] ?? [["T", "D"], [T, D]];
    return { letters, sizes, wide: sizes.at(-1), text: `(${letters.join(", ")}) = (${sizes.join(", ")})` };
  }

  /* Whether [name, t, i, head] is a number that can be opened. */
  function exists(way, at) {
    if (!Array.isArray(at) || typeof at[0] !== "string" || !window.vitSteps[kind(at[0])] || at[0] === "patches") return false;
    if (block(at[0]) !== undefined && !(Number(block(at[0])) < way.L && /^blocks\.\d+(\.|$)/.test(at[0]))) return false;
    if (block(at[0]) === undefined && BLOCK.includes(at[0])) return false;
    const { sizes, wide } = shape(way, at[0]), rows = sizes.length > 1 ? sizes.at(-2) : 1, below = (i, most) => Number.isInteger(i) && i >= 0 && i < most;
    return below(at[1], rows) && below(at[2], wide) && below(at[3] ?? 0, way.heads);
  }

  /* Numbers as colours, orange above zero, blue below; at(row, column) is a number's place among them. */
  function heat(canvas, element, numbers, rows, columns, at = (row, column) => column * rows + row) {
    const css = getComputedStyle(element), [warm, cold, ground] = ["--warm", "--accent", "--ground"].map((name) => rgb(css.getPropertyValue(name)));
    let squared = 0;
    for (const v of numbers) squared += v * v;
    const most = 2.5 * Math.sqrt(squared / numbers.length) || 1, data = new ImageData(columns, rows);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const v = numbers[at(row, column)], share = Math.min(1, Math.abs(v) / most), to = v > 0 ? warm : cold;
        data.data.set([...ground.map((c, k) => c + share * (to[k] - c)), 255], 4 * (row * columns + column));
      }
    [canvas.width, canvas.height] = [columns, rows];
    canvas.getContext("2d").putImageData(data, 0, 0);
  }

  /* A colour of the page as bytes. */
  function rgb(colour) {
    const context = h("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = colour.trim();
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }

  function inside(way) {
    const rows = h("div", { class: "rows" }), panel = h("div", { class: "number" }), words = h("dl", { class: "facts" });
    const which = select("Which numbers", [], () => table()), numbers = h("div", { class: "scroll" });
    const asTable = folded("These numbers as a table", false, which, numbers);
    asTable.addEventListener("toggle", () => table());
    let whole = false; // whether all products are shown
    const node = h("div", { class: "part" }, rows, panel, asTable);
    node.prepend(h("style", {}, STYLE));

    const who = (name, t) => (kind(name) === "patches" || kind(name) === "patch_embed" ? way.where(t) : t ? way.where(t - 1) : "CLS");
    /* The row of a tensor that is the followed patch's: where it begins. */
    const mine = (name, patch = way.state.patch) =>
      (["patches", "patch_embed"].includes(name) ? patch : ["pool", "head"].includes(name) ? 0 : 1 + patch);
    const names = () => {
      const { kind: what, l } = way.stage;
      return { photo: [], patches: ["patches"], tokens: ["patches", "patch_embed", "embed"], pool: ["norm", "pool"],
        answer: ["pool", "head"] }[what] ?? BLOCK.map((part) => (part ? `blocks.${l}.${part}` : `blocks.${l}`));
    };

    /* A number in words. */
    function called([name, t, i, head]) {
      const step = window.vitSteps[kind(name)], { D, heads } = way, d = D / heads, at = block(name) === undefined ? "" : `, block ${block(name)}`;
      if (kind(name) === "attn.qkv") {
        const part = ["query", "key", "value"][Math.floor(i / D)];
        return `number ${i % d} of the ${part} of ${who(name, t)}, head ${Math.floor((i % D) / d)}${at}`;
      }
      if (/scores|weights/.test(name)) return `${step.called} of ${who(name, i)} for ${who(name, t)}, head ${head}${at}`;
      if (name === "head") return `${step.called} of “${way.model.classes[i]}”`;
      if (name === "pool") return `${step.called} ${i}`;
      return `${step.called} ${i} of ${who(name, t)}${at}`;
    }

    const brief = ([name, t, i]) => `${kind(name) === "block" ? "token" : window.vitSteps[kind(name)].called} ${t}, ${i}`;

    /* Opens a number; `further` from the one that is open. */
    function open(at, further = false) {
      if (!exists(way, at)) return;
      whole = false;
      way.set({ open: further ? [...way.state.open, at] : [at] });
      if (further) panel.querySelector("h4")?.focus();
      else if (panel.getBoundingClientRect().top > innerHeight - 120) panel.scrollIntoView({ block: "nearest" });
    }

    function drawRows() {
      rows.replaceChildren(...names().map((name) => {
        const { text, wide, sizes } = shape(way, name), step = window.vitSteps[kind(name)];
        const maps = sizes.length === 3, values = way.trace.tensors[name];
        const of = (patch) => (maps ? range(way.heads).map((k) => [k, (k * way.T + 1 + patch) * way.T]) : [[0, mine(name, patch) * wide]]);
        const { patch, other } = way.state, pair = other === null || ["pool", "head"].includes(name) ? [patch] : [patch, other];
        const strips = pair.flatMap((one) => of(one).map(([head, start]) => {
          const canvas = h("canvas", { class: one === patch ? "" : "other" }), row = values.subarray(start, start + wide);
          heat(canvas, way, row.map((v) => (Number.isFinite(v) ? v : 0)), 1, wide, (_, column) => column);
          canvas.addEventListener("click", (event) => open([name, mine(name, one), Math.floor(pointer(event, canvas)[0] * wide), head]));
          canvas.addEventListener("pointermove", (event) => {
            const i = Math.min(wide - 1, Math.floor(pointer(event, canvas)[0] * wide));
            told.textContent = name === "patches" ? `pixel number ${i}: ${number(row[i])}` : `${called([name, mine(name, one), i, head])}: ${number(row[i])}`;
          });
          return canvas;
        }));
        const label = h("span", {}, h("b", {}, step.called), " ", h("code", {}, text));
        return h("div", { class: "one", title: step.says }, label, h("div", { class: "strips" }, strips));
      }), names().length ? told : "");
      told.textContent = "Its numbers, step by step; press one to open it.";
    }
    const told = note();

    function drawNumber() {
      const path = way.state.open;
      if (!path.length) {
        panel.replaceChildren();
        return;
      }
      const at = path.at(-1), [name] = at, step = window.vitSteps[kind(name)];
      const made = opened(way.model, way.trace.tensors, ...at, { remove: way.state.removed });
      const { value, terms: all, plus } = made;
      const crumbs = h("p", { class: "crumbs" }, path.map((one, k) => [k ? " ▸ " : "",
        k === path.length - 1 ? h("b", {}, brief(one)) : button(brief(one), () => way.set({ open: path.slice(0, k + 1) }))]).flat());
      const title = h("h4", { tabindex: "-1" }, upper(called(at)));
      const few = all.length > FEW && !whole ? [...all].sort((a, b) => Math.abs(b.a * b.b) - Math.abs(a.a * a.b)).slice(0, FEW) : all;
      const most = Math.max(...all.map(({ a, b }) => Math.abs(a * b))) || 1;
      const part = (text, from) => (from ? button(text, () => open(from, true)) : h("span", {}, text));
      const cells = few.map(({ a, b, from, fromB }) => {
        const share = Math.min(1, Math.abs(a * b) / most), hue = a * b > 0 ? "--warm" : "--accent";
        const one = h("div", { class: "term", style: `background: color-mix(in srgb, var(${hue}) ${Math.round(38 * share)}%, transparent)` },
          part(number(a), from), part(`× ${number(b)}`, fromB));
        one.title = `${number(a, 5)} × ${number(b, 5)} = ${number(a * b, 5)}`;
        return one;
      });
      const sum = all.reduce((total, { a, b }) => total + a * b, 0);
      const adds = [...(all.length ? [[all.length > 1 ? `sum of ${all.length} products` : "product", sum, null]] : []), ...plus.map((one) => [one.what, one.value, one.from])];
      const line = h("p", { class: "sum" }, adds.flatMap(([what, add, from], k) => [k ? (add < 0 ? " − " : " + ") : "",
        what, " ", part(number(k ? Math.abs(add) : add), from)]), " = ", h("b", {}, number(value)));
      const more = all.length > few.length ? button(`All ${all.length} products; these are the ${FEW} largest`, () => { whole = true; draw(); }) : "";
      const here = location.protocol !== "about:";
      panel.replaceChildren(crumbs, title, h("p", {}, `${upper(step.says)}: `, h("i", {}, step.formula), ". ",
        RULES[made.rule]?.(made, at[2]) ?? ""), h("div", { class: "terms" }, cells), more, line,
      note("In vitlib: ", h("code", {}, step.code), ` (${step.file}). `, h("code", {}, `${name}: ${shape(way, name).text}`), ". ",
        here ? h("a", { href: step.page.replace("#", ".html#") }, `Chapter ${step.page.slice(0, 2)} explains it`) : ""));
    }

    /* The chosen tensor's row as a table of buttons: for the keyboard, and for screen readers. */
    function table() {
      if (!asTable.open) return;
      const all = names(), name = all[Math.max(0, which.selectedIndex)], head = way.state.head === "mean" ? 0 : way.state.head;
      if (!name) return;
      const { wide, sizes } = shape(way, name), t = mine(name), start = (sizes.length === 3 ? head * way.T + t : t) * wide;
      const columns = 8, value = (i) => way.trace.tensors[name][start + i];
      const cell = (i) => h("td", {}, i >= wide ? "" : name === "patches" ? number(value(i)) : button(number(value(i)), () => open([name, t, i, head])));
      numbers.replaceChildren(h("table", {}, h("caption", {}, `${name}, ${who(name, t)}${sizes.length === 3 ? `, head ${head}` : ""}`),
        h("tbody", {}, range(Math.ceil(wide / columns)).map((row) =>
          h("tr", {}, h("th", { scope: "row" }, String(row * columns)), range(columns).map((column) => cell(row * columns + column)))))));
    }

    function drawWords() {
      const { stage: { kind: what, l }, state: { patch, other, removed }, n, D, T, trace: { tensors } } = way, facts = {};
      const row = (name, one = patch) => tensors[name].subarray((1 + one) * D, (2 + one) * D);
      const length = (v) => Math.sqrt(v.reduce((a, b) => a + b * b, 0));
      if (what === "block" && !removed.includes(patch)) {
        const reads = way.reads(l), near = (s) => s && Math.max(Math.abs(Math.floor((s - 1) / n) - Math.floor(patch / n)), Math.abs(((s - 1) % n) - (patch % n))) < 2;
        const sorted = [...reads].sort((a, b) => b - a), few = range(T).find((k) => sorted.slice(0, k + 1).reduce((a, b) => a + b, 0) >= 0.5) + 1;
        const before = l ? `blocks.${l - 1}` : "embed";
        facts["Reads most"] = way.most(reads, 4);
        facts["Half of it"] = `from ${few} of ${T - removed.length} tokens`;
        facts["Around itself"] = `${percent(reads.reduce((a, w, s) => a + (near(s) ? w : 0), 0))} within one patch`;
        facts["Attention adds"] = `${percent(length(row(`blocks.${l}.attn.proj`)) / length(row(before)))} of its length`;
        facts["The MLP adds"] = `${percent(length(row(`blocks.${l}.mlp.fc2`)) / length(row(`blocks.${l}.mid`)))}`;
      }
      if (other !== null && ["tokens", "block", "pool"].includes(what)) {
        const [a, b] = [patch, other].map((one) => way.after(way.stage).subarray((1 + one) * D, (2 + one) * D));
        const dot = a.reduce((sum, v, i) => sum + v * b[i], 0);
        facts["The two patches"] = `cosine ${number(dot / (length(a) * length(b)), 2)}; the second is ${place(other, n)}`;
      }
      const changed = way.changes(way.stage);
      if (changed) {
        const most = argmax([...changed].slice(1));
        facts["You changed it"] = `by ${percent(changed[1 + patch])} of its length; most: ${place(most, n)} (${percent(changed[1 + most])})`;
      }
      words.replaceChildren(...terms(facts));
    }

    function draw() {
      drawRows();
      drawNumber();
      drawWords();
      const all = names(), now = which.value;
      which.replaceChildren(...all.map((name) => h("option", {}, name)));
      which.value = all.includes(now) ? now : all.at(-1) ?? "";
      asTable.hidden = !all.length;
      table();
    }

    const leaves = () => (way.stage.kind === "block" ? `blocks.${way.stage.l}` : way.stage.kind === "tokens" ? "embed" : "norm");
    const python = () => {
      const at = way.state.open.at(-1);
      if (!at) return null;
      const [name, t, i, head] = at, { sizes } = shape(way, name);
      return `["${name}"][0, ${(sizes.length === 3 ? [head, t, i] : sizes.length === 2 ? [t, i] : [i]).join(", ")}]`;
    };
    return { node, words, draw, open, leaves, python };
  }

  const upper = (text) => text[0].toUpperCase() + text.slice(1);
  /* What the products alone do not say. */
  const RULES = {
    norm: ({ mean, deviation }) => `The token's mean is ${number(mean)}, its deviation ${number(deviation)}.`,
    scores: ({ terms }) => `Each number of the query is divided by √${terms.length}, then times the key's.`,
    softmax: ({ row, most, sum }, i) => `Here e^(${number(row[i])} − ${number(most)}), the highest score being taken off, `
      + `over a sum of ${number(sum)}.`,
    absent: () => "Its patch was rubbed out.",
  };
  const STYLE = `
    .rows .one { align-items: center; display: grid; gap: 0.1rem 0.8rem; grid-template-columns: 16rem 1fr; margin-bottom: 0.25rem; }
    .rows code { color: var(--soft); font-size: 0.72rem; white-space: nowrap; }
    .strips { display: grid; gap: 1px; }
    .strips canvas { cursor: crosshair; height: 1.1rem; border-left: 3px solid var(--warm); }
    .strips canvas.other { border-color: var(--accent); }
    .strips:has(:nth-child(3)) canvas { height: 0.7rem; }
    .number:not(:empty) { background: var(--back); border-radius: 0.5rem; margin: 0.8rem 0; padding: 0.8rem 1rem; }
    .number h4 { font-size: 1rem; margin: 0 0 0.3rem; }
    .number button { background: none; border: 0; border-radius: 2px; color: inherit; font-size: inherit; min-height: 0; padding: 0 2px;
      text-decoration: underline dotted; }
    .crumbs { font-size: 0.85rem; }
    .terms { display: grid; font-size: 0.75rem; font-variant-numeric: tabular-nums; gap: 2px; line-height: 1.3; margin-bottom: 0.5rem;
      grid-template-columns: repeat(auto-fill, minmax(4.6em, 1fr)); text-align: center; }
    .term { border-radius: 2px; display: grid; padding: 2px 0; }
    .sum { font-size: 1.05rem; font-variant-numeric: tabular-nums; }
    .scroll { overflow-x: auto; }
    .scroll td, .scroll th { font-size: 0.75rem; font-variant-numeric: tabular-nums; font-weight: 400; padding: 1px 4px; text-align: right; }
    .scroll button { font-size: inherit; min-height: 0; padding: 1px 4px; }
    .scroll caption { color: var(--soft); font-size: 0.8rem; text-align: left; }
    @container (max-width: 560px) { .rows .one { grid-template-columns: 1fr; } }`;

  window.vitInside = Object.assign(inside, { exists, heat });
})();
