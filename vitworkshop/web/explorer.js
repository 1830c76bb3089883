/* What the explorers share: an element that takes its look from the page, and the parts that they are built of.

   An explorer is a custom element. What stands inside it (a figure with its caption) is shown where scripts are off and
   on paper; with scripts, its own view is shown instead. Colours come from the page's CSS variables. */
(() => {
  "use strict";

  if (window.vitExplorer) return;

  const STYLE = `
    :host {
      --accent: var(--pbp-ring, #0072b2); --back: var(--pst-color-surface, #f5f7f9);
      --ground: var(--pst-color-background, #fff); --ink: var(--pst-color-text-base, #23272e);
      --rule: var(--pbp-rule, #dfe4ea); --soft: var(--pst-color-text-muted, #48566b); --warm: var(--pbp-wrong, #a34700);
      color: var(--ink); container-type: inline-size; display: block; margin: 1.5rem 0;
      font: 0.95rem/1.45 var(--pst-font-family-base, system-ui, sans-serif); }
    .view { border: 1px solid var(--rule); border-radius: 0.6rem; padding: 1rem; }
    h3 { font-size: 1.05rem; margin: 0 0 0.6rem; }
    p { margin: 0 0 0.6rem; }
    .row { align-items: center; display: flex; flex-wrap: wrap; gap: 0.4rem; margin-bottom: 0.7rem; }
    .sides { display: grid; gap: 1rem 1.4rem; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); }
    button, select { background: var(--back); border: 1px solid var(--rule); border-radius: 0.4rem; color: inherit;
      cursor: pointer; font: inherit; font-size: 0.9rem; min-height: 2rem; padding: 0.15rem 0.6rem; }
    button[aria-pressed="true"] { background: var(--accent); border-color: var(--accent); color: var(--ground); }
    button:disabled { cursor: default; opacity: 0.5; }
    input[type="range"] { accent-color: var(--accent); min-width: 6rem; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    canvas { display: block; image-rendering: pixelated; width: 100%; }
    .samples { display: flex; flex-wrap: wrap; gap: 0.35rem; }
    .samples button { line-height: 0; min-height: 0; padding: 2px; }
    .samples canvas { height: 36px; width: 36px; }
    .grid { aspect-ratio: var(--m) / var(--n); display: grid; position: relative; touch-action: pan-y;
      grid-template: repeat(var(--n), 1fr) / repeat(var(--m), 1fr); user-select: none; }
    .grid > canvas { inset: 0; position: absolute; height: 100%; }
    .grid > button { background: none; border: 0; border-radius: 0; min-height: 0; min-width: 0; padding: 0;
      position: relative; }
    .grid > button[aria-pressed="true"] { background: none;
      box-shadow: inset 0 0 0 2px var(--accent), inset 0 0 0 3.5px #fff; }
    .grid > button:focus-visible { outline-offset: -3px; z-index: 1; }
    .bars { display: grid; gap: 0.25rem 0.6rem; grid-template-columns: max-content 1fr 3.2em; margin: 0; }
    .bars dt { grid-column: 1; margin: 0; }
    .bars dd { margin: 0; }
    .bars .bar { align-self: center; background: var(--back); border-radius: 0.2rem; height: 0.8rem;
      position: relative; }
    .bars .bar i { background: var(--accent); border-radius: 0.2rem; display: block; height: 100%;
      transition: width 0.15s; }
    .bars .bar b { border-left: 2px solid var(--ink); height: 130%; position: absolute; top: -15%; }
    .bars .value { font-variant-numeric: tabular-nums; text-align: right; }
    .verdict { font-size: 1.15rem; font-weight: 600; min-height: 1.5em; }
    .note { color: var(--soft); font-size: 0.88rem; }
    [hidden] { display: none !important; }
    .silent { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap;
      width: 1px; }
    .view.dropping { outline: 3px dashed var(--accent); }
    slot { display: none; }
    @media print { .view { display: none; } slot { display: block; } }
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

  /* Weights of n x n places as squares on a picture: the area of a square is its weight, the largest fills its place.
     `picture` is a canvas, drawn dimmed with the opacity `dim`; `host` has the page's colours. */
  function squares(canvas, host, weights, { side, picture, dim = 0 }) {
    const n = Math.sqrt(weights.length), cell = side / n, css = getComputedStyle(host);
    const context = canvas.getContext("2d");
    canvas.width = canvas.height = side;
    context.imageSmoothingEnabled = false;
    context.globalAlpha = dim;
    if (dim) context.drawImage(picture, 0, 0, side, side);
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

  const percent = (share) => `${(100 * share).toFixed(share > 0.0995 ? 0 : 1)} %`;

  /* The likeliest classes as bars, with a tick where each bar was before. */
  function bars(classes, most = 5) {
    const list = h("dl", { class: "bars" });
    return { node: list, show(probs, before) {
      const best = [...probs.keys()].sort((a, b) => probs[b] - probs[a]).slice(0, most);
      list.replaceChildren(...best.flatMap((k) => [h("dt", {}, classes[k]),
        h("dd", { class: "bar", "aria-hidden": "true" },
          h("i", { style: `width:${100 * probs[k]}%` }),
          before ? h("b", { style: `left:${100 * before[k]}%` }) : []),
        h("dd", { class: "value" }, percent(probs[k]))]));
    } };
  }

  /* n x m buttons over a picture, one tab stop: arrows move, Space and Enter press. */
  function grid(n, label, press, hover = () => {}, m = n) {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const cells = Array.from({ length: n * m }, (_, i) => h("button", {
      type: "button",
      tabindex: i ? "-1" : "0",
      "aria-pressed": "false",
      "aria-label": `row ${Math.floor(i / m)}, column ${i % m}`,
      onclick: () => press(i),
      onpointerenter: (event) => hover(i, event),
      onfocus: () => hover(i),
    }));
    const looks = { class: "grid", style: `--n:${n};--m:${m}` };
    const node = h("div", { ...looks, role: "group", "aria-label": label }, canvas, cells);
    const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    node.addEventListener("keydown", (event) => {
      const at = cells.indexOf(event.target), step = STEPS[event.key];
      if (at < 0 || !step) return;
      event.preventDefault();
      const row = Math.floor(at / m) + step[0], col = (at % m) + step[1];
      if (row < 0 || col < 0 || row >= n || col >= m) return;
      cells[at].tabIndex = -1;
      cells[row * m + col].tabIndex = 0;
      cells[row * m + col].focus();
    });
    return { node, canvas, cells };
  }

  class VitExplorer extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      this.here = new AbortController();
      this.whileHere = { signal: this.here.signal }; // for listeners elsewhere
      const style = `${STYLE}${this.constructor.style ?? ""}`;
      this.attachShadow({ mode: "open" }).innerHTML = `<style>${style}</style><slot></slot>`;
      this.view = h("div", { class: "view" });
      this.spoken = h("div", { class: "silent", role: "status" });
      this.view.append(this.spoken);
      this.build().then(() => {
        this.shadowRoot.append(this.view);
        this.dataset.ready = "yes";
        // canvases do not take their colours from the page by themselves
        const theme = new MutationObserver(() => this.draw?.());
        theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
        this.here.signal.addEventListener("abort", () => theme.disconnect());
      }).catch((error) => {
        this.shadowRoot.querySelector("slot").style.display = "block"; // the figure stays
        this.dataset.ready = "no";
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

    /* The names of the samples to choose from, as the attribute `pictures` lists them, with commas. */
    pictures() {
      return (this.getAttribute("pictures") ?? "cat,astronaut,coffee,rocket").split(",").filter(Boolean);
    }

    /* Samples, a file, a paste, a drop: `take(bytes, name)` gets the bytes (3, size, size).
       Samples of another size than 32 come from `from`: a name -> its bytes. */
    async chooser(names, take, size = 32, from = sample) {
      if (from === sample && !window.vitSamples) await window.vit.script("samples.js");
      if (!window.vitPictures) await window.vit.script("pictures.js");
      const problem = h("span", { role: "alert", class: "note" });
      const press = (name) => buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.title === name)));
      let last = 0; // what was asked for last counts, whatever is ready first
      const own = async (file) => {
        const asked = ++last;
        problem.textContent = "";
        try {
          const bytes = await window.vitPictures.bytes(file, size);
          if (asked !== last) return;
          take(bytes, "your picture");
          press(null);
        } catch (error) {
          if (asked === last) problem.textContent = error.message;
        }
      };
      const choose = (name) => {
        last++;
        problem.textContent = "";
        press(name);
        take(from(name), name);
      };
      const buttons = names.map((name) => h("button", {
        type: "button", "aria-pressed": "false", "aria-label": name, title: name, onclick: () => choose(name),
      }, paint(from(name))));
      const input = h("input", {
        type: "file", accept: "image/*", class: "silent", tabindex: "-1", "aria-hidden": "true", onchange: () => {
          if (input.files[0]) own(input.files[0]);
          input.value = "";
        },
      });
      this.whenGiven(own);
      this.mark = press;
      return h("div", { class: "row" },
        h("div", { class: "samples", role: "group", "aria-label": "Sample pictures" }, buttons),
        h("button", { type: "button", onclick: () => input.click() }, "Your picture …"), input, problem);
    }

    /* A file dropped on the view, or pasted while the pointer or the focus is in it. */
    whenGiven(own) {
      const given = (transfer) => { if (transfer?.files.length) own(transfer.files[0]); };
      this.view.addEventListener("dragover", (event) => {
        event.preventDefault();
        this.view.classList.add("dropping");
      });
      this.view.addEventListener("dragleave", () => this.view.classList.remove("dropping"));
      this.view.addEventListener("drop", (event) => {
        event.preventDefault();
        this.view.classList.remove("dropping");
        given(event.dataTransfer);
      });
      document.addEventListener("paste", (event) => {
        if (this.matches(":hover, :focus-within")) given(event.clipboardData);
      }, this.whileHere);
    }
  }

  /* Bytes (3, 32, 32) of an embedded sample. */
  const sample = (name) => Uint8Array.from(atob(window.vitSamples[name]), (c) => c.charCodeAt(0));

  const define = (name, element) => { if (!customElements.get(name)) customElements.define(name, element); };

  const sides = (...columns) => h("div", { class: "sides" }, columns.map((column) => h("div", {}, column)));

  window.vitExplorer = { VitExplorer, bars, define, grid, h, paint, percent, sample, sides, squares };
})();
