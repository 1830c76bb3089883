/* What is inside a stage of <vit-way>: the followed patch's numbers, tensor after tensor, and each number opened into
   the sum that made it, level by level. `vitInside(way)` gives { node, draw, open, names, python }. */
(() => {
  "use strict";

  const {
    button, clauses, folded, h, note, pointer, range, select, upper, written,
  } = window.vitExplorer;
  const FEW = 48; // products shown at first
  const BLOCK = ["norm1", "attn.qkv", "attn.turned", "attn.scores", "attn.weights", "attn.mixed", "attn.proj", "mid", "norm2",
    "mlp.fc1", "mlp.act", "mlp.fc2", "block"];
  const SAYS = { // above the row with which a part begins
    norm1: t("Attention: a query of this token meets the key of every token. The scores become weights that sum to 1; the "
      + "values, mixed by these weights and projected, are added to the token."),
    norm2: t("MLP: the token alone, through two matrices with a bend between them; the result is added, too."),
  };
  const STYLE = `
    .rows .one { align-items: center; display: grid; gap: 0.1rem 0.8rem; grid-template-columns: 16rem 1fr;
      margin-bottom: 0.25rem; }
    .rows code { color: var(--soft); font-size: 0.72rem; white-space: nowrap; }
    .strips { display: grid; gap: 1px; }
    .strips canvas { border-left: 3px solid var(--warm); box-sizing: border-box; cursor: crosshair; height: 1.1rem; }
    .strips:has(:nth-child(3)) canvas { height: 0.7rem; }
    .number:not(:empty) { background: var(--back); border-radius: 0.5rem; margin: 0.8rem 0; padding: 0.8rem 1rem; }
    .number .title { margin: 0 0 0.3rem; }
    .number button { background: none; border: 0; border-radius: 2px; color: inherit; font-size: inherit; min-height: 0;
      padding: 0 2px; text-decoration: underline dotted; }
    .crumbs { font-size: 0.85rem; }
    .terms { display: grid; font-size: 0.75rem; font-variant-numeric: tabular-nums; gap: 2px; line-height: 1.5;
      grid-template-columns: repeat(auto-fill, minmax(4.6em, 1fr)); margin-bottom: 0.5rem; text-align: center; }
    .term { border-radius: 2px; display: grid; padding: 2px 0; }
    .sum { font-size: 1.05rem; font-variant-numeric: tabular-nums; }
    .scroll { overflow-x: auto; }
    .scroll :is(td, th, caption) { font-size: 0.75rem; font-variant-numeric: tabular-nums; font-weight: 400;
      padding: 1px 4px; text-align: right; }
    .scroll button { font-size: inherit; min-height: 1.5rem; padding: 1px 4px; }
    @container (max-width: 560px) { .rows .one { grid-template-columns: 1fr; } }`;

  /* What the products alone do not say, by the rule that made a number. */
  const RULES = {
    norm: ({ mean, deviation }) => t("The token's mean is {mean}, its deviation {deviation}.", {
      mean: written(mean), deviation: written(deviation) }),
    scores: ({ terms }) => t("Each number of the query is divided by √{n}, then times the key's.", { n: terms.length }),
    softmax: ({ row, most, sum }, i) => t("Here e to ({score} − {most}), the highest score of the row taken off, over a sum of "
      + "{sum}.", { score: written(row[i]), most: written(most), sum: written(sum) }),
    absent: () => t("Its patch was rubbed out."),
    gate: () => t("The second factor is its gate, times what the activation makes of it."),
    off: () => t("Its head is off."),
  };

  /* A tensor's block and what it is there: "blocks.3.mid" -> ["3", "mid"], "embed" -> [undefined, "embed"]. */
  const parts = (name) => {
    const [, l, own] = name.match(/^blocks\.(\d+)(?:\.(.+))?$/) ?? [];
    return l ? [l, own ?? "block"] : [undefined, name];
  };
  const about = (name) => {
    const [called, says, formula, file, code, page] = window.vitSteps[parts(name)[1]];
    return { called: t(called), says: t(says), formula: t(formula), file, code, page };
  };

  /* A tensor's letters and sizes, as chapters write them. */
  function shape({ D, N, T, P, heads, model: { config, classes } }, name) {
    const ratio = config.mlp_ratio, M = Math.trunc(D * ratio + 1e-6), hidden = [["T", `${+ratio.toFixed(2)}D`], [T, M]];
    const two = /^token_/.test(config.global_pool) ? 2 : 1, qkv = [["T", "3D"], [T, 3 * D]];
    const map = [["h", "T", "T"], [heads, T, T]];
    const [letters, sizes] = {
      patches: [["N", "P²C"], [N, 3 * P * P]], patch_embed: [["N", "D"], [N, D]], "attn.qkv": qkv, "attn.turned": qkv,
      "attn.scores": map, "attn.weights": map, "mlp.fc1": config.mlp === "gated" ? [["T", "2M"], [T, 2 * M]] : hidden,
      "mlp.act": hidden, mean: [["D"], [D]], pool: [[two > 1 ? "2D" : "D"], [two * D]],
      head: [["K"], [classes.length]],
    }[parts(name)[1]] ?? [["T", "D"], [T, D]];
    const text = `(${letters.join(", ")}) = (${sizes.join(", ")})`;
    return { sizes, wide: sizes.at(-1), rows: sizes.at(-2) ?? 1, text };
  }

  /* Whether [name, t, i, head] is a number that can be opened. */
  function exists(way, at) {
    if (!Array.isArray(at) || typeof at[0] !== "string" || at[0] === "patches") return false;
    const [name, t, i, head = 0] = at, [l, own] = parts(name);
    const below = (k, most) => Number.isInteger(k) && k >= 0 && k < most;
    if (!window.vitSteps[own] || BLOCK.includes(own) !== (l !== undefined && Number(l) < way.L)) return false;
    const { rows, wide } = shape(way, name);
    return below(t, rows) && below(i, wide) && below(head, way.heads);
  }

  function inside(way) {
    const rows = h("div", { class: "rows" }), panel = h("div", { class: "number" }), told = note();
    const which = select(t("Which numbers"), [], () => table()), numbers = h("div", { class: "scroll" });
    const asTable = folded(t("These numbers as a table"), false, which, numbers);
    asTable.addEventListener("toggle", () => table());
    const node = h("div", { class: "part" }, h("style", {}, STYLE), rows, panel, asTable);
    let whole = false; // whether all products of a sum are shown

    const perPlace = (name) => name === "patches" || name === "patch_embed";
    const alone = (name) => /^(mean|pool|head)$/.test(name);
    const who = (name, at) => (perPlace(name) ? way.where(at) : at ? way.where(at - 1) : way.called(0));
    const row = (name) => (alone(name) ? 0 : perPlace(name) ? way.state.patch : 1 + way.state.patch);
    const names = () => ({ photo: [], patches: ["patches"], tokens: way.isPatch ? ["patches", "patch_embed", "embed"] : ["embed"],
      pool: ["norm", "pool"], answer: ["pool", "head"] }[way.now.kind]
      ?? BLOCK.filter((own) => own !== "attn.turned" || way.turns).map((own) => `blocks.${way.now.l}${own === "block" ? "" : `.${own}`}`));

    /* A number in words. */
    function called([name, at, i, head]) {
      const [l, own] = parts(name), { D, heads } = way, d = D / heads, what = about(name).called, token = who(name, at);
      const where = (text) => (l === undefined ? text : t("{text}, block {l}", { text, l }));
      if (/qkv|turned/.test(own)) {
        const part = [t("query"), t("key"), t("value")][Math.floor(i / D)];
        return where(t("number {i} of the {part} of {token}, head {head}", { i: i % d, part, token, head: Math.floor((i % D) / d) }));
      }
      if (/scores|weights/.test(own))
        return where(t("{what} of {key} for {token}, head {head}", { what, key: who(name, i), token, head }));
      if (name === "head") return t("{what} of “{answer}”", { what, answer: way.model.classes[i] });
      return where(name === "pool" ? t("{what} {i}", { what, i }) : t("{what} {i} of {token}", { what, i, token }));
    }

    /* Opens a number; `further`: from the one that is open. */
    async function open(at, further = false) {
      if (!exists(way, at)) return;
      whole = false;
      await way.set({ open: further ? [...way.state.open, at] : [at] }, { keep: false });
      if (further) panel.querySelector(".title").focus();
      else panel.scrollIntoView({ block: "nearest" });
    }

    /* One row of a tensor as colours; a number of it can be pressed. */
    function strip(name, head) {
      const { wide } = shape(way, name), token = row(name);
      const values = way.row(name, token, wide, head ?? 0).map((v) => (Number.isFinite(v) ? v : 0));
      const canvas = h("canvas");
      const under = (event) => [name, token, Math.min(wide - 1, Math.floor(pointer(event, canvas)[0] * wide)), head ?? 0];
      window.vitDrawing.heat(canvas, way, values, 1, wide, (_, column) => column);
      canvas.addEventListener("click", (event) => open(under(event)));
      canvas.addEventListener("pointermove", (event) => {
        const at = under(event);
        told.textContent = t("{name}: {value}", { name: upper(called(at)), value: written(values[at[2]]) });
      });
      return canvas;
    }

    function drawRows() {
      rows.replaceChildren(...names().map((name) => {
        const { sizes, text } = shape(way, name), { called: what, says } = about(name);
        const heads = sizes.length > 2 ? range(way.heads) : [null];
        const begins = SAYS[parts(name)[1]], row = h("div", { class: "one", title: says },
          h("span", {}, h("b", {}, what), " ", h("code", {}, text)),
          h("div", { class: "strips" }, heads.map((head) => strip(name, head))));
        return begins ? h("div", {}, note(begins), row) : row;
      }));
      if (names().length) rows.prepend(told);
      told.textContent = t("Its numbers, step by step; press one to open it.");
    }

    function drawNumber() {
      const path = way.state.open, at = path.at(-1);
      panel.replaceChildren();
      if (!at) return;
      const made = way.opened(at);
      const { value, terms, plus, rule } = made;
      const { says, formula, code, file, page } = about(at[0]), share = ({ a, b }) => Math.abs(a * b);
      const crumb = (one, k) => {
        const text = t("{what} {row}, {column}", { what: about(one[0]).called, row: one[1], column: one[2] }), last = k === path.length - 1;
        const back = () => way.set({ open: path.slice(0, k + 1) }, { keep: false });
        return [k ? " ▸ " : "", last ? h("b", {}, text) : button(text, back)];
      };
      const part = (text, from) => (from ? button(text, () => open(from, true)) : h("span", {}, text));
      const most = Math.max(...terms.map(share)) || 1;
      const few = terms.length > FEW && !whole ? [...terms].sort((p, q) => share(q) - share(p)).slice(0, FEW) : terms;
      const products = few.map((one) => {
        const { a, b, from, fromB } = one, tint = `${Math.round((38 * share(one)) / most)}%`;
        const colour = `color-mix(in srgb, var(${a * b > 0 ? "--warm" : "--accent"}) ${tint}, transparent)`;
        return h("div", { class: "term", style: `background: ${colour}`, title: t("product {product}", { product: written(a * b) }) },
          part(written(a), from), part(`× ${written(b)}`, fromB));
      });
      const more = button(t("All {n} products; these are the {FEW} largest", { n: terms.length, FEW }), () => {
        whole = true;
        drawNumber();
      });
      const sum = terms.reduce((all, { a, b }) => all + a * b, 0);
      const first = { what: terms.length > 1 ? t("sum of {n} products", { n: terms.length }) : t("product"), value: sum };
      const line = [...(terms.length ? [first] : []), ...plus].flatMap(({ what, value: add, from }, k) =>
        [k ? (add < 0 ? " − " : " + ") : "", `${t(what)} `, part(written(k ? Math.abs(add) : add), from)]);
      const chapter = h("a", { href: page.replace("#", ".html#") }, t("Chapter {n} explains it", { n: page.slice(0, 2) }));
      panel.append(h("p", { class: "crumbs" }, path.flatMap(crumb)), h("p", { class: "title", tabindex: "-1" }, upper(called(at))),
        h("p", {}, t("{says}: ", { says: upper(says) }), h("i", {}, formula), t(". ") + (RULES[rule]?.(made, at[2]) ?? "")),
        h("div", { class: "terms" }, products), few.length < terms.length ? more : "",
        h("p", { class: "sum" }, ...line, " = ", h("b", {}, written(value))),
        note(h("code", {}, at[0]), t(" has the shape {shape}. In vitlib: ", { shape: shape(way, at[0]).text }), h("code", {}, code),
          t(" ({file}). ", { file }), location.protocol === "about:" ? "" : chapter));
    }

    /* A row of the chosen tensor as a table of buttons: for the keyboard, and for screen readers. */
    function table() {
      const name = which.value, columns = 8;
      if (!asTable.open || !name) return;
      const { wide, sizes } = shape(way, name), token = row(name), head = way.state.head === "mean" ? 0 : way.state.head;
      const values = way.row(name, token, wide, sizes.length > 2 ? head : 0);
      const cell = (i) => {
        const text = written(values[i]), at = [name, token, i, head];
        return exists(way, at) ? button(text, () => open(at)) : text;
      };
      const lines = range(Math.ceil(wide / columns)).map((k) => h("tr", {},
        h("th", { scope: "row" }, String(k * columns)),
        range(Math.min(columns, wide - k * columns)).map((j) => h("td", {}, cell(k * columns + j)))));
      const caption = clauses([name, !alone(name) && who(name, token), sizes.length > 2 && t("head {head}", { head })]);
      numbers.replaceChildren(h("table", {}, h("caption", {}, caption), h("tbody", {}, lines)));
    }

    function draw() {
      const all = names(), chosen = which.value;
      drawRows();
      drawNumber();
      which.replaceChildren(...all.map((name) => h("option", {}, name)));
      which.value = all.includes(chosen) ? chosen : all.at(-1);
      asTable.hidden = !all.length;
      table();
    }

    /* The number that is open, as Python asks for it; null if none is. */
    function python() {
      const at = way.state.open.at(-1);
      if (!at) return null;
      const [name, t, i, head] = at, place = [head, t, i].slice(3 - shape(way, name).sizes.length);
      return `["${name}"][0, ${place.join(", ")}]`;
    }
    return { node, draw, open, names, python };
  }

  window.vitInside = Object.assign(inside, { exists });
})();
