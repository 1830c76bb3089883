/* What the explorers share: an element that takes its look from the page, and the parts that they are built of.

   An explorer is a custom element. What stands inside it (a figure with its caption) is shown where scripts are off and
   on paper; with scripts, its own view is shown instead. Colours come from the page's CSS variables. */
(() => {
  "use strict";

  const STYLE = `
    :host {
      --accent: var(--pbp-ring, #0072b2); --back: var(--pst-color-surface, #f5f7f9);
      --ground: var(--pst-color-background, #fff); --ink: var(--pst-color-text-base, #23272e);
      --rule: var(--pbp-rule, #dfe4ea); --soft: var(--pst-color-text-muted, #48566b); --warm: var(--pbp-wrong, #a34700);
      color: var(--ink); container-type: inline-size; display: block; margin: 1.5rem 0;
      font: 0.95rem/1.45 var(--pst-font-family-base, system-ui, sans-serif); }
    .view { border: 1px solid var(--rule); border-radius: 0.6rem; padding: 1rem; }
    p { margin: 0 0 0.6rem; }
    .title { font-size: 1.05rem; font-weight: 600; }
    .row { align-items: center; display: flex; flex-wrap: wrap; gap: 0.4rem; margin-bottom: 0.7rem; }
    .sides { display: grid; gap: 1rem 1.4rem; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); }
    .pair > div { display: grid; gap: 0; grid-row: span 2; grid-template: subgrid / minmax(0, 1fr); }
    button, select { background: var(--back); border: 1px solid var(--rule); border-radius: 0.4rem; color: inherit;
      cursor: pointer; font: inherit; font-size: 0.9rem; min-height: 2rem; padding: 0.15rem 0.6rem; }
    button { position: relative; }
    button:is([aria-pressed="true"], .primary) { background: var(--accent); border-color: var(--accent);
      color: var(--ground); }
    button::after { background: currentcolor; border-radius: inherit; content: ""; inset: 0; opacity: 0;
      position: absolute; }
    .grid > button::after { background: #fff; }
    @media (hover: hover) {
      button:enabled:hover::after { opacity: 0.08; }
      .grid > button:hover::after { opacity: 0.2; }
      :is(select, button:not([aria-pressed="true"], .primary)):enabled:hover { border-color: var(--soft); }
    }
    button:enabled:active::after { opacity: 0.25; }
    select:enabled:active { border-color: var(--accent); }
    button:disabled { cursor: default; opacity: 0.5; }
    input[type="range"] { accent-color: var(--accent); min-width: 6rem; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    canvas { display: block; image-rendering: pixelated; width: 100%; }
    .samples { display: contents; }
    .samples button { line-height: 0; min-height: 0; padding: 2px; }
    .samples canvas { height: 35px; width: 35px; }
    .grid { aspect-ratio: var(--m) / var(--n); display: grid; position: relative;
      grid-template: repeat(var(--n), 1fr) / repeat(var(--m), 1fr); touch-action: pan-y pinch-zoom; user-select: none; }
    .grid > canvas { inset: 0; position: absolute; height: 100%; }
    .grid > button { background: none; border: 0; border-radius: 0; min-height: 0; min-width: 0; padding: 0;
      position: relative; }
    .grid > button[aria-pressed="true"] { background: none;
      box-shadow: inset 0 0 0 2px var(--accent), inset 0 0 0 3.5px #fff; }
    .grid > button:focus-visible { outline-offset: -3px; z-index: 1; }
    .bars { display: grid; gap: 0.25rem 0.6rem; grid-template-columns: minmax(var(--name), max-content) 1fr 3.2em;
      margin: 0; }
    .bars dt { grid-column: 1; margin: 0; }
    .bars dd { margin: 0; }
    .bars .bar { align-self: center; background: var(--back); border-radius: 0.2rem; height: 0.8rem;
      position: relative; }
    .bars .bar i { background: var(--accent); border-radius: 0.2rem; display: block; height: 100%;
      transition: width 0.15s; }
    .bars .bar b { border-left: 2px solid var(--ink); height: 130%; position: absolute; top: -15%; }
    .bars .value { font-variant-numeric: tabular-nums; text-align: right; }
    .facts { display: grid; font-variant-numeric: tabular-nums; gap: 0.1rem 0.8rem; margin: 0 0 0.8rem;
      grid-template-columns: fit-content(70%) 1fr; }
    .facts dd { margin: 0; }
    .verdict { font-size: 1.15rem; font-weight: 600; min-height: 1.5em; }
    .note { color: var(--soft); font-size: 0.88rem; }
    .keeps { display: flow-root; overflow-wrap: anywhere; }
    .keeps::before { content: attr(data-longest); float: left; margin-right: -100%; visibility: hidden; width: 100%; }
    summary { cursor: pointer; line-height: 1.5rem; }
    [hidden] { display: none !important; }
    .silent { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap;
      width: 1px; }
    .view.dropping { outline: 3px dashed var(--accent); }
    :host([data-ready="yes"]) slot { display: none; }
    @media print { .view { display: none; } :host([data-ready="yes"]) slot { display: block; } }
    @media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }`;

  /* h("button", { class: "x", onclick: f, "aria-label": "…" }, "text", other nodes) */
  function h(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (typeof value !== "string" && typeof made[name] === typeof value) made[name] = value;
      else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat());
    return made;
  }

  /* Bytes (3, size, size), channels first, on a canvas. */
  function paint(bytes, canvas = h("canvas")) {
    const size = Math.sqrt(bytes.length / 3), data = new ImageData(size, size);
    for (let i = 0; i < size * size; i++)
      data.data.set([bytes[i], bytes[size * size + i], bytes[2 * size * size + i], 255], 4 * i);
    canvas.width = canvas.height = size;
    canvas.getContext("2d").putImageData(data, 0, 0);
    return canvas;
  }

  /* Weights of n x n places as squares on the explorer's picture, dimmed, or on nothing: the area of a square is its
     weight, the largest fills its place. */
  function squares(canvas, explorer, weights, { side = 320, picture = explorer.grid.canvas } = {}) {
    const n = Math.sqrt(weights.length), cell = side / n, css = getComputedStyle(explorer);
    const context = canvas.getContext("2d");
    canvas.width = canvas.height = side;
    context.imageSmoothingEnabled = false;
    context.globalAlpha = 0.45;
    if (picture) context.drawImage(picture, 0, 0, side, side);
    context.globalAlpha = 1;
    context.fillStyle = css.getPropertyValue("--accent");
    context.strokeStyle = css.getPropertyValue("--ground");
    weights.forEach((weight, i) => {
      const width = cell * 0.92 * Math.sqrt(weight);
      const x = ((i % n) + 0.5) * cell - width / 2, y = (Math.floor(i / n) + 0.5) * cell - width / 2;
      context.fillRect(x, y, width, width);
      context.strokeRect(x, y, width, width);
    });
  }

  const written = (number) => number.toFixed(3).replace("-", "−");
  const perCent = (n) => t("{n}\u00a0%", { n });
  const percent = (share) => perCent((100 * share).toFixed(share > 0.0995 ? 0 : 1));
  /* What is said one after the other, as one text. */
  const clauses = (all) => all.filter(Boolean).reduce((one, two) => t("{one}, {two}", { one, two }));
  const sentences = (...all) => all.filter(Boolean).reduce((one, two) => t("{one} {two}", { one, two }));
  const upper = (text) => text[0].toUpperCase() + text.slice(1);

  const range = (n) => [...Array(n).keys()];
  const clamp = (value, least, most) => Math.min(most, Math.max(least, value));
  const argmax = (list) => list.indexOf(Math.max(...list));

  /* What a picture is of, by its name: "cat 2" and "drawn cat" are cats; a reader's own says nothing. */
  const kind = (name) => (/^(your )?picture\b/.test(name) ? null : name.replace(/^drawn | \d+$/g, ""));

  /* Where place i is, with m places to a row. */
  const place = (i, m) => t("row {row}, column {column}", { row: Math.floor(i / m), column: i % m });

  /* Where the pointer is in a node, as shares of its width and height. */
  function pointer({ clientX, clientY }, node) {
    const { left, top, width, height } = node.getBoundingClientRect();
    return [(clientX - left) / width, (clientY - top) / height];
  }

  /* The places of an n x n picture on the line from one point to another, in shares of its sides: a fast pointer skips some. */
  function passed([x0, y0], [x1, y1], n) {
    const steps = Math.ceil(4 * n * Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1e-9));
    const places = range(steps + 1).flatMap((k) => {
      const [col, row] = [x0 + ((x1 - x0) * k) / steps, y0 + ((y1 - y0) * k) / steps].map((at) => Math.floor(at * n));
      return Math.min(row, col) >= 0 && Math.max(row, col) < n ? [row * n + col] : [];
    });
    return [...new Set(places)];
  }

  /* Strokes over an n x n picture: one begins in `area` where `begins(event)` says so, and once it has left its first place,
     `rub(places, stroke)` gets what it passes. Its click presses nothing. */
  function onStrokes(node, n, area, begins, rub, whileHere) {
    let stroke = null; // where it is, its first place, whether it has left it
    const end = () => {
      const ended = stroke;
      setTimeout(() => { if (stroke === ended) stroke = null; }, 50); // after its click
    };
    area.addEventListener("pointerdown", (event) => {
      const at = pointer(event, node), yes = !event.button && event.isPrimary && begins(event);
      stroke = yes ? { at, first: passed(at, at, n)[0], moved: false } : null;
    });
    addEventListener("pointermove", (event) => {
      if (!stroke || !event.buttons) return;
      const at = pointer(event, node), path = passed(stroke.at, at, n);
      if (!stroke.moved && path.every((i) => i === stroke.first)) return; // still a press
      Object.assign(stroke, { at, moved: true });
      getSelection().empty();
      if (path.length) rub(path, stroke);
    }, whileHere);
    addEventListener("pointerup", end, whileHere);
    addEventListener("pointercancel", end, whileHere);
    node.addEventListener("click", (event) => {
      if (stroke?.moved && event.detail) event.stopPropagation(); // a key's click has no detail
    }, true);
    node.addEventListener("contextmenu", (event) => { if (stroke) event.preventDefault(); }); // a finger that rests
  }

  /* A picture (3, size, size) with the patch of place order[to] in place `to`, some places grey. */
  function patched(bytes, size, P, painted, order = range((size / P) ** 2)) {
    const n = size / P, made = new Uint8Array(bytes.length);
    const start = (i, c, p1) => (c * size + Math.floor(i / n) * P + p1) * size + (i % n) * P;
    order.forEach((from, to) => {
      for (let c = 0; c < 3; c++)
        for (let p1 = 0; p1 < P; p1++) {
          const at = start(from, c, p1), row = bytes.subarray(at, at + P);
          made.set(painted.includes(to) ? row.map(() => 128) : row, start(to, c, p1));
        }
    });
    return made;
  }

  const button = (label, onclick) => h("button", { type: "button", onclick }, label);
  const setPressed = (one, yes) => one.setAttribute("aria-pressed", yes);
  const select = (label, names, onchange) =>
    h("select", { "aria-label": label, onchange }, names.map((name) => h("option", { value: name }, t(name))));
  const slider = (label, min, max, step, value, oninput) =>
    h("input", { type: "range", "aria-label": label, min, max, step, value, oninput });
  const note = (...text) => h("p", { class: "note" }, ...text);
  const title = (...text) => h("p", { class: "title" }, ...text); // no heading: what stands around it has those

  /* Words, the longest first. */
  const byLength = (texts) => [...texts].sort((a, b) => b.length - a.length);

  /* A line that is as high as the longest of what it may say, whatever it says, so that nothing below it moves. */
  function keeps(line, ...texts) {
    line.classList.add("keeps");
    line.dataset.longest = byLength(texts)[0];
    return line;
  }

  /* Copies a text; whether the browser let it. */
  async function copied(text) {
    try {
      await navigator.clipboard.writeText(text); // there is no clipboard where a page is not trusted
      return true;
    } catch {
      return false;
    }
  }

  /* A worker that runs these sources, in the page's language. */
  function working(...sources) {
    const { bookWords, vitSources: { words } } = window;
    const code = [`bookWords = ${JSON.stringify(bookWords)};`, words, ...sources].join("\n");
    const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" })), worker = new Worker(address);
    URL.revokeObjectURL(address);
    return worker;
  }

  /* What opens the reader's files; a button presses it. */
  const files = (accept, multiple, take) => {
    const onchange = () => {
      if (input.files.length) take([...input.files]);
      input.value = "";
    };
    const input = h("input", { type: "file", accept, multiple, class: "silent", tabindex: "-1", "aria-hidden": "true", onchange });
    return input;
  };

  const sides = (...columns) => h("div", { class: "sides" }, columns.map((column) => h("div", {}, column)));

  /* Columns of a note and what it speaks of, which begins at one height however long the notes are. */
  const pair = (...columns) => {
    const made = sides(...columns.map(([says, ...rest]) => [says, h("div", {}, rest)]));
    made.classList.add("pair");
    return made;
  };

  const folded = (title, open, ...children) => h("details", { open }, h("summary", {}, title), children);

  /* Facts by name, for a <dl>. */
  const terms = (facts) => Object.entries(facts).flatMap(([term, fact]) => [h("dt", {}, term), h("dd", {}, fact)]);

  /* The likeliest classes as bars, or all in their own order where there is room; a tick where each bar was before. */
  function bars(classes, most = 5) {
    const wide = Math.min(14, byLength(classes)[0]?.length ?? 0);
    const list = h("dl", { class: "bars", style: `--name:${wide}ch` });
    return { node: list, show(probs, before) {
      const all = [...probs.keys()];
      const best = classes.length > most ? all.sort((a, b) => probs[b] - probs[a]).slice(0, most) : all;
      list.replaceChildren(...best.flatMap((k) => [h("dt", {}, classes[k]),
        h("dd", { class: "bar", "aria-hidden": "true" },
          h("i", { style: `width:${100 * probs[k]}%` }),
          before ? h("b", { style: `left:${100 * before[k]}%` }) : []),
        h("dd", { class: "value" }, percent(probs[k]))]));
    } };
  }

  const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

  /* On arrow keys in a node: `walk(down, across, event)`. */
  function onArrows(node, walk) {
    node.addEventListener("keydown", (event) => {
      if (!ARROWS[event.key]) return;
      event.preventDefault();
      walk(...ARROWS[event.key], event);
    });
  }

  /* n x m buttons over a picture, one tab stop: arrows move, Space and Enter press. `hover` gets the pointer's event,
     none if the focus came. */
  function grid(n, label, choose, hover = () => {}, m = n) {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const cells = range(n * m).map((i) => h("button", {
      type: "button",
      tabindex: i ? -1 : 0,
      "aria-pressed": "false",
      "aria-label": place(i, m),
      onclick: () => choose(i),
      onpointerenter: (event) => hover(i, event),
      onfocus: () => hover(i),
    }));
    const looks = { class: "grid", style: `--n:${n};--m:${m}`, role: "group", "aria-label": label };
    const node = h("div", looks, canvas, cells);
    onArrows(node, (down, across, { target }) => {
      const at = cells.indexOf(target), row = Math.floor(at / m) + down, col = (at % m) + across;
      if (row < 0 || col < 0 || row >= n || col >= m) return;
      cells.find((cell) => cell.tabIndex === 0).tabIndex = -1; // not `at`, where a click has brought the focus
      cells[row * m + col].tabIndex = 0;
      cells[row * m + col].focus();
    });
    return { node, canvas, cells };
  }

  /* A file dropped on a node, or pasted while the pointer or the focus is in the element around it. */
  function whenGiven(node, element, take) {
    const given = (transfer) => { if (transfer?.files.length) take(transfer.files[0]); };
    for (const name of ["dragover", "dragleave", "drop"])
      node.addEventListener(name, (event) => {
        event.preventDefault();
        node.classList.toggle("dropping", name === "dragover");
        if (name === "drop") given(event.dataTransfer);
      });
    document.addEventListener("paste", (event) => {
      if (element.matches(":hover, :focus-within")) given(event.clipboardData);
    }, element.whileHere);
  }

  class VitExplorer extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      this.here = new AbortController();
      this.whileHere = { signal: this.here.signal }; // for listeners elsewhere
      this.attachShadow({ mode: "open" }).innerHTML = `<style>${STYLE}${this.constructor.style}</style><slot></slot>`;
      this.spoken = h("div", { class: "silent", role: "status" });
      this.view = h("div", { class: "view" }, this.spoken);
      this.verdict = h("p", { class: "verdict" });
      this.build().then(() => {
        if (!this.view.isConnected) this.shadowRoot.append(this.view);
        this.view.hidden = false;
        this.dataset.ready = "yes";
        // canvases do not take their colours from the page by themselves
        const theme = new MutationObserver(() => this.draw?.());
        theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
        this.here.signal.addEventListener("abort", () => theme.disconnect());
      }).catch((error) => {
        this.dataset.ready = "no"; // the figure stays
        console.error(`${this.localName}: ${error.message}`);
      });
    }

    disconnectedCallback() {
      this.here.abort();
    }

    /* For screen readers; the last sentence of a moment is read. */
    say(text) {
      clearTimeout(this.saying);
      this.saying = setTimeout(() => { this.spoken.textContent = text; }, 400);
    }

    /* The model of the attribute `model`, and its sizes. */
    async loadModel() {
      this.name = this.getAttribute("model") ?? window.vit.first.model;
      this.model = this.given?.model ?? await window.vit.load(this.name); // given: by an element around it
      const { img_size: size, patch_size: P, depth: L, num_heads: heads, global_pool } = this.model.config;
      const n = size / P;
      Object.assign(this, { size, P, L, heads, n, N: n * n, readsCls: global_pool === "token" });
    }

    stays = t("A picture of yours stays on this page.");

    /* The picture that is shown first. */
    get firstPicture() {
      return this.getAttribute("picture") ?? window.vit.first.picture;
    }

    /* The samples to choose from, by their names, as the attribute `pictures` lists them, with commas; without it, all
       of the model's classes, and three of none. */
    async samples() {
      await window.vit.script("samples.js");
      const known = Object.keys(window.vitSamples).filter((name) => this.knows(name));
      const listed = this.getAttribute("pictures")?.split(",").filter(Boolean);
      const names = listed ?? [...known, "astronaut", "coffee", "rocket"];
      return Object.fromEntries([...new Set([this.firstPicture, ...names])].map((name) => [name, sample(name)]));
    }

    /* Whether a picture is of one of the model's classes; of a reader's own, or without a model, nobody asks. */
    knows(picture) {
      return !kind(picture) || (this.model?.classes?.includes(kind(picture)) ?? true);
    }

    /* Of a picture that is none of the model's classes, or that it takes for another: that it is so. Without an answer,
       what might have to be said. */
    remark(picture, probs = []) {
      const { classes } = this.model, is = kind(picture);
      if (!this.knows(picture))
        return t("It knows {n} classes, and “{picture}” is none of them: it names one all the same.", {
          n: classes.length, picture });
      return !is || classes[argmax(probs)] === is ? "" : /^[aeiou]/.test(is)
        ? t("It is an {is}: this model is wrong here.", { is }) : t("It is a {is}: this model is wrong here.", { is });
    }

    /* A choice of pictures (name -> bytes), or a file, a paste, a drop: each is shown. */
    async chooser(pictures) {
      await window.vit.script("pictures.js");
      const told = keeps(note(this.stays), t("The browser shows this picture, but lets no page read its pixels."));
      this.status = told;
      told.setAttribute("role", "status");
      let last = 0; // what was asked for last counts, whatever is ready first
      const choose = this.choose = async (name, bytes, meanwhile = this.stays) => {
        const asked = ++last;
        told.textContent = meanwhile;
        try {
          const ready = await bytes;
          if (asked !== last) return;
          this.show(name, ready);
          told.textContent = this.stays;
        } catch (error) {
          if (asked === last) told.textContent = t("{message}.", error);
        }
      };
      const own = this.own = (file) => {
        this.file = file;
        return choose("your picture", this.read(file), t("Reading {file} …", { file: window.vitPictures.called(file) }));
      };
      const looks = (name) => ({ type: "button", "aria-pressed": "false", "aria-label": name, title: name });
      const known = ([name]) => this.knows(name), all = Object.entries(pictures);
      const choices = (some) => some.map(([name, bytes]) =>
        h("button", { ...looks(name), onclick: () => choose(name, this.full(name, bytes)) }, paint(bytes)));
      const [ours, others] = [all.filter(known), all.filter((one) => !known(one))].map(choices);
      this.pictures = [...ours, ...others];
      const input = files("image/*", false, ([file]) => own(file));
      whenGiven(this.view, this, own);
      return h("div", {}, h("div", { class: "row" },
        h("div", { class: "samples", role: "group", "aria-label": t("Sample pictures") },
          ours, others.length ? h("span", {}, h("span", { class: "note" }, t("None of its classes: ")), others) : []),
        button(t("Your picture …"), () => input.click()), input), told);
    }

    /* A reader's file, and a sample, as the model gets them. */
    read(file) {
      return window.vitPictures.bytes(file, this.size);
    }

    full(name, bytes) {
      return bytes;
    }

    /* Shows a picture, and marks it among the samples. */
    show(name, bytes, ...rest) {
      this.pictures.forEach((one) => setPressed(one, one.title === name));
      this.take(bytes, name, ...rest);
    }
  }

  const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); // of base64

  /* Bytes (3, 32, 32) of an embedded sample. */
  const sample = (name) => decoded(window.vitSamples[name]);

  /* The state that the page's link has for an explorer, in the letters of base64 or of its form for addresses. */
  function linked(name) {
    const text = location.hash.match(new RegExp(`^#${name}[=-]([\\w+/=-]{1,8000})$`))?.[1];
    return text && JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
  }

  window.vitExplorer = {
    VitExplorer, argmax, bars, button, byLength, clamp, clauses, copied, decoded, files, folded, grid, h, keeps,
    linked, note, onArrows, onStrokes, paint, pair, patched, perCent, percent, place, pointer, range, sample, select, sentences, setPressed,
    sides, slider, squares, terms, title, upper, working, written,
  };
})();
