/* <vit-patches picture="astronaut" patch-size="16">: a picture cut into patches, the patches a sequence, each a row of numbers.

   One pixel is looked at: in the picture, in its patch, among the tokens, and as three places of the flattened row, in
   the order of `vl.patchify`, "(p1 p2 c)". Below, what the cut costs, as `vl.count_macs` counts. Pictures: photos.js. */
(() => {
  "use strict";

  const { VitExplorer, define, h, paint, percent } = window.vitExplorer;
  const SIZE = 224, C = 3, COLOURS = ["red", "green", "blue"];
  const SIDES = [...Array(SIZE + 1).keys()].filter((P) => SIZE % P === 0);
  const MODELS = { "ViT-Ti": [12, 192], "ViT-S": [12, 384], "ViT-B": [12, 768], "ViT-L": [24, 1024], "ViT-H": [32, 1280] }; // layers, width
  const CLASSES = 1000, MOST_FLYING = 3136, FLIGHT = 1100, WIDE = 1344;
  const whole = (number) => number.toLocaleString("en-US");
  const short = (number, digits = 1) => number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const millions = (macs) => (macs < 1e9 ? `${short(macs / 1e6)} million` : `${short(macs / 1e9)} billion`);
  const memory = (bytes) => (bytes < 5000 ? `${whole(bytes)} bytes` : `${short(bytes / 2 ** 20, 2)} MiB`);
  const between = (value, least, most) => Math.min(most, Math.max(least, value));

  /* Multiply-accumulates, and the table of one head, for N patches of side P: chapters 01 and 08. */
  function costs(P, [depth, D]) {
    const N = (SIZE / P) ** 2, T = N + 1;
    const embedding = N * P * P * C * D, projections = 4 * T * D * D, products = 2 * T * T * D, mlp = 8 * T * D * D;
    return { N, T, entries: T * T, bytes: 4 * T * T, embedding, projections, products, attention: projections + products,
      model: embedding + depth * (projections + products + mlp) + D * CLASSES, share: T / (T + 6 * D) };
  }

  class VitPatches extends VitExplorer {
    static style = `
      .stage { position: relative; } .flying { inset: 0; pointer-events: none; position: absolute; height: 100%; z-index: 2; }
      .place { cursor: crosshair; position: relative; touch-action: pan-y; user-select: none; }
      .place > canvas { height: 100%; } .picture, .patch { aspect-ratio: 1; } .patch { width: min(11rem, 60%); margin-bottom: 0.6rem; }
      .line { height: 2.6rem; margin: 0.2rem 0; } .place canvas { border-radius: 2px; }
      .mark { box-shadow: 0 0 0 1px #fff, 0 0 0 3px var(--accent), 0 0 0 4px #fff; pointer-events: none; position: absolute; min-width: 1px; min-height: 1px; }
      .mark.pixel { box-shadow: 0 0 0 1px #fff, 0 0 0 2.5px var(--warm), 0 0 0 3.5px #fff; }
      .near, .numbers { display: grid; gap: 0.3rem; grid-template-columns: repeat(7, 1fr); margin: 0 0 0.2rem; text-align: center; font-size: 0.8rem; font-variant-numeric: tabular-nums; }
      .near span, .numbers span { min-width: 0; } .near .now, .numbers .now { font-weight: 700; } .near .now canvas { outline: 3px solid var(--accent); } .near canvas { aspect-ratio: 1; }
      .numbers { gap: 2px; grid-auto-columns: 1fr; grid-auto-flow: column; grid-template-columns: none; line-height: 1.25; } .numbers span { background: var(--back); border-top: 4px solid; overflow: hidden; padding: 1px 0; white-space: nowrap; }
      .numbers .now { outline: 2px solid var(--warm); outline-offset: -2px; } .numbers small { color: var(--soft); display: block; font-size: 0.7rem; font-weight: 400; }
      .numbers .red { border-color: #d62f2f; } .numbers .green { border-color: #2e9e44; } .numbers .blue { border-color: #3a6fe0; }
      dl { display: grid; gap: 0.15rem 0.9rem; grid-template-columns: max-content 1fr; margin: 0; font-variant-numeric: tabular-nums; } dt { color: var(--soft); } dd { margin: 0; }
      .size { flex: 1 1 10rem; } h3 { font-size: 0.95rem; margin: 1rem 0 0.3rem; }
      @container (max-width: 460px) { .numbers span:is(:first-child, :last-child, :nth-child(2), :nth-last-child(2)) { display: none; } dl.costs { grid-template-columns: 1fr; } dl.costs dd { margin-bottom: 0.3rem; } }`;

    async build() {
      if (!window.vitPictures) await window.vit.script("pictures.js");
      if (!window.vitPhotos) await window.vit.script("photos.js");
      const photos = {};
      for (const [name, text] of Object.entries(window.vitPhotos))
        photos[name] = await window.vitPictures.bytes(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), SIZE);
      const first = this.getAttribute("picture") ?? "astronaut", P = Number(this.getAttribute("patch-size") ?? 16);
      Object.assign(this, { P: SIDES.includes(P) ? P : 16, row: 100, col: 120, c: 0, source: h("canvas") });
      const picker = await this.chooser(Object.keys(photos), (bytes) => this.take(bytes), SIZE, (name) => photos[name]);
      const side = h("input", { type: "range", min: "0", max: String(SIDES.length - 1), value: String(SIDES.indexOf(this.P)), class: "size", "aria-label": "Patch size", oninput: () => this.cut(SIDES[side.value]) });
      Object.assign(this, { side, shownSide: h("output", {}) });
      const again = h("button", { type: "button", onclick: () => this.fly() }, "Cut again");
      this.model = h("select", { "aria-label": "Cost for which model", onchange: () => this.count() }, Object.keys(MODELS).map((name) => h("option", { selected: name === "ViT-B" }, name)));
      this.verdict = h("p", { class: "verdict" });
      this.places();
      for (const name of ["near", "numbers"]) this[name] = h("div", { class: name, "aria-hidden": "true" });
      for (const name of ["address", "costs"]) this[name] = h("dl", { class: name });
      this.many = [h("span", {}), h("span", {})];
      this.flying = h("canvas", { class: "flying", "aria-hidden": "true" });
      this.view.append(picker, h("div", { class: "row" }, h("span", {}, "Patch size P"), side, this.shownSide, again), this.verdict,
        h("div", { class: "stage" }, h("div", { class: "sides" }, this.picture.node, h("div", {}, h("p", { class: "note" }, "The patch, enlarged"), this.patch.node, this.address)),
          h("h3", {}, "The sequence"), h("p", { class: "note" }, "Its tokens side by side, made narrow to fit. ", this.many[0]), this.tokens.node, this.near, this.flying),
        h("h3", {}, "The token: one row of numbers"), h("p", { class: "note" }, "Pixel after pixel of the patch; of each, red, green and blue. ", this.many[1]), this.numbered.node, this.numbers,
        h("h3", {}, "What it costs"), h("div", { class: "row" }, h("label", {}, "in ", this.model)), this.costs);
      this.cut(this.P, false);
      this.take(photos[first] ?? photos.astronaut, false);
      picker.querySelector(`[aria-label="${first}"]`)?.setAttribute("aria-pressed", "true");
      const seen = new IntersectionObserver(([one]) => { if (one.isIntersecting) { seen.disconnect(); this.fly(); } }, { threshold: 0.4 });
      seen.observe(this);
    }

    /* The four places where the pixel is seen: each can be hovered, dragged over and walked with the arrow keys. */
    places() {
      const square = (label, side, look) => this.place({ label, role: "application", name: side === SIZE ? "picture" : "patch", at: (x, y) => look(y, x),
        key: (dy, dx, event) => this.look(this.row + dy * (event.shiftKey ? this.P : 1), this.col + dx * (event.shiftKey ? this.P : 1)) });
      this.picture = square("The picture: arrow keys go from pixel to pixel, with Shift from patch to patch", SIZE, (y, x) => this.look(Math.floor(y * SIZE), Math.floor(x * SIZE)));
      this.patch = square("The patch, enlarged: arrow keys go from pixel to pixel", 0, (y, x) => this.inside(Math.floor(y * this.P), Math.floor(x * this.P)));
      const line = (label, count, now, go) => this.place({ label, role: "slider", name: "line", at: (x) => go(Math.floor(x * count())), key: (dy, dx) => go(between(now() + dx - dy, 0, count() - 1)), ends: (last) => go(last ? count() - 1 : 0) });
      this.tokens = line("Token", () => this.N, () => this.token, (n) => this.toToken(n));
      this.numbered = line("Place in the token", () => this.K, () => this.k, (k) => this.inside(Math.floor(k / C / this.P), Math.floor(k / C) % this.P, k % C));
    }

    place({ label, role, name, at, key, ends }) {
      const canvas = h("canvas", {}), big = h("i", { class: "mark" }), small = h("i", { class: "mark pixel" });
      const node = h("div", { class: `place ${name}`, role, tabindex: "0", "aria-label": label }, canvas, big, small), STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      const point = (event) => {
        const box = node.getBoundingClientRect(), share = (value, from, length) => between((value - from) / length, 0, 0.999999);
        at(share(event.clientX, box.left, box.width), share(event.clientY, box.top, box.height));
      };
      node.addEventListener("pointermove", point);
      node.addEventListener("pointerdown", point);
      node.addEventListener("keydown", (event) => {
        if (STEPS[event.key]) key(...STEPS[event.key], event);
        else if (ends && ["Home", "End"].includes(event.key)) ends(event.key === "End");
        else return;
        event.preventDefault();
      });
      return { node, canvas, big, small };
    }

    // The pixel, its patch n = i (W / P) + j, and its place k = (p1 P + p2) C + c

    get grid() { return SIZE / this.P; }
    get N() { return this.grid ** 2; }
    get K() { return this.P * this.P * C; }
    get token() { return Math.floor(this.row / this.P) * this.grid + Math.floor(this.col / this.P); }
    get k() { return ((this.row % this.P) * this.P + (this.col % this.P)) * C + this.c; }
    value(k, n = this.token) {
      const { P, grid } = this, pixel = Math.floor(k / C), row = Math.floor(n / grid) * P + Math.floor(pixel / P), col = (n % grid) * P + (pixel % P);
      return this.bytes[((k % C) * SIZE + row) * SIZE + col];
    }

    look(row, col, c = this.c) {
      Object.assign(this, { row: between(row, 0, SIZE - 1), col: between(col, 0, SIZE - 1), c });
      this.link();
    }

    inside(p1, p2, c = this.c) { this.look(this.row - (this.row % this.P) + p1, this.col - (this.col % this.P) + p2, c); }

    toToken(n) { this.look(Math.floor(n / this.grid) * this.P + (this.row % this.P), (n % this.grid) * this.P + (this.col % this.P)); }

    take(bytes, fly = true) {
      this.bytes = bytes;
      paint(bytes, this.source);
      this.link();
      this.fly(fly);
    }

    cut(P, fly = true) {
      this.P = P;
      this.shownSide.textContent = `${P} pixels`;
      this.side.setAttribute("aria-valuetext", `${P} pixels`);
      this.count();
      if (fly) this.take(this.bytes);
    }

    count() {
      const { P, K } = this, name = this.model.value, cost = this.cost = costs(P, MODELS[name]);
      this.verdict.textContent = `${whole(cost.N)} token${cost.N > 1 ? "s" : ""} of ${whole(K)} numbers.`;
      const facts = { "tokens": `N = ${SIZE}² / ${P}² = ${whole(cost.N)}; with CLS N + 1 = ${whole(cost.T)}`,
        "attention, one head": `(N + 1)² = ${whole(cost.entries)} entries, ${memory(cost.bytes)} in float32`,
        "patch embedding": `${millions(cost.embedding)} multiply-accumulates`,
        "one attention layer": `${millions(cost.attention)}: four projections ${millions(cost.projections)}, tokens with tokens ${millions(cost.products)}`,
        [`the whole ${name}/${P}`]: `${millions(cost.model)}; tokens with tokens are ${percent(cost.share)} of each block` };
      this.costs.replaceChildren(...Object.entries(facts).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
      this.say(`${this.verdict.textContent} One head's attention: ${whole(cost.entries)} entries.`);
    }

    /* Shows the same pixel everywhere. */
    link() {
      const { P, grid, N, K, row, col, c, token: n, k } = this, i = Math.floor(row / P), j = Math.floor(col / P), p1 = row % P, p2 = col % P, at = k - c;
      const put = (mark, x, y, width, height) => { mark.style.cssText = `left:${100 * x}%;top:${100 * y}%;width:${100 * width}%;height:${100 * height}%`; };
      put(this.picture.big, j / grid, i / grid, 1 / grid, 1 / grid);
      put(this.picture.small, col / SIZE, row / SIZE, 1 / SIZE, 1 / SIZE);
      put(this.patch.small, p2 / P, p1 / P, 1 / P, 1 / P);
      put(this.tokens.big, n / N, 0, 1 / N, 1);
      put(this.numbered.small, at / K, 0, C / K, 1);
      for (const mark of [this.patch.big, this.tokens.small, this.numbered.big]) mark.hidden = true;
      this.copy(this.patch.canvas, n);
      const seven = [-3, -2, -1, 0, 1, 2, 3].map((step) => step + between(n, Math.min(3, N - 1), Math.max(0, N - 4))).filter((m) => m >= 0 && m < N);
      this.near.replaceChildren(...seven.map((m) => h("span", { class: m === n ? "now" : "" }, this.copy(h("canvas", {}), m), whole(m))));
      this.strip(n);
      const nine = [...Array(9).keys()].map((step) => at - 3 + step);
      this.numbers.replaceChildren(...nine.map((m) => (m < 0 || m >= K ? h("span", { style: "visibility:hidden" }, "·") : h("span", { class: `${COLOURS[m % C]}${m === k ? " now" : ""}` }, h("small", {}, whole(m)), String(this.value(m))))));
      const colours = COLOURS.map((colour, which) => `${colour} ${this.value(at + which)}`).join(", ");
      const facts = { pixel: `row ${row}, column ${col}`, patch: `i = ${i}, j = ${j}`, token: `n = ${i} · ${grid} + ${j} = ${whole(n)}`, "in the patch": `p₁ = ${p1}, p₂ = ${p2}`,
        places: `k = (${p1} · ${P} + ${p2}) · 3 + c = ${whole(at)} to ${whole(at + 2)}`, "numbers": colours };
      this.address.replaceChildren(...Object.entries(facts).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
      const slider = ({ node }, now, most, text) => { for (const [name, value] of Object.entries({ "aria-valuemin": 0, "aria-valuemax": most, "aria-valuenow": now, "aria-valuetext": text })) node.setAttribute(name, value); };
      slider(this.tokens, n, N - 1, `token ${n} of ${N}`);
      slider(this.numbered, k, K - 1, `place ${k} of ${K}: ${COLOURS[c]} ${this.value(k)}`);
      this.say(`Row ${row}, column ${col}: token ${n}, places ${at} to ${at + 2}; ${colours}.`);
    }

    /* Patch n on a canvas of P x P pixels. */
    copy(canvas, n) {
      const { P, grid } = this;
      canvas.width = canvas.height = P;
      canvas.getContext("2d").drawImage(this.source, (n % grid) * P, Math.floor(n / grid) * P, P, P, 0, 0, P, P);
      return canvas;
    }

    /* The token's row of numbers: each in its colour while they can be told apart, else pixels. */
    strip(n) {
      const { K } = this, { canvas } = this.numbered, width = Math.min(K, WIDE), apart = K <= WIDE, data = new ImageData(width, 1);
      for (let x = 0; x < width; x++) {
        const k = Math.floor((x * K) / width), pixel = k - (k % C), rgb = [0, 1, 2].map((c) => (apart && c !== k % C ? 0 : this.value(apart ? k : pixel + c, n)));
        data.data.set([...rgb, 255], 4 * x);
      }
      [canvas.width, canvas.height] = [width, 1];
      canvas.getContext("2d").putImageData(data, 0, 0);
      this.many[1].textContent = apart ? "" : "Too many to draw one by one: drawn are pixels.";
    }

    /* The patches leave the picture one after the other and take their places in the sequence. */
    fly(wanted = true) {
      cancelAnimationFrame(this.frame);
      const { N } = this, still = !wanted || N > MOST_FLYING || matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.many[0].textContent = N > WIDE ? `Too many to draw them all: about one in ${Math.round(N / WIDE)} is.` : "";
      this.sheet();
      let landed = 0;
      const { canvas } = this.tokens, context = canvas.getContext("2d"), at = (m) => Math.round((m * WIDE) / N);
      [canvas.width, canvas.height] = [WIDE, 84];
      const land = (m) => { if (at(m + 1) > at(m)) this.narrow(context, m, at(m), 0, at(m + 1) - at(m), 84); };
      const clear = () => { this.flying.width = this.flying.height = 0; };
      clear(); // what may still be in the air
      for (let m = 0; m < N && still; m++) land(m);
      if (still) return;
      const begun = performance.now(), each = FLIGHT * 0.55; // milliseconds
      const step = (now) => {
        const stage = this.flying.getBoundingClientRect(), from = this.picture.node.getBoundingClientRect(), to = this.tokens.node.getBoundingClientRect(), time = now - begun;
        [this.flying.width, this.flying.height] = [stage.width, stage.height];
        const air = this.flying.getContext("2d"), cell = from.width / this.grid, slot = to.width / N;
        for (let m = landed; m < N; m++) {
          const share = between((time - (m / N) * (FLIGHT - each)) / each, 0, 1), s = share * share * (3 - 2 * share), mix = (a, b) => a + (b - a) * s;
          if (share === 1 && m === landed) { land(m); landed++; continue; }
          if (share > 0) this.narrow(air, m, mix(from.left - stage.left + (m % this.grid) * cell, to.left - stage.left + m * slot), mix(from.top - stage.top + Math.floor(m / this.grid) * cell, to.top - stage.top), mix(cell, slot), mix(cell, to.height));
        }
        if (landed < N) this.frame = requestAnimationFrame(step);
        else clear();
      };
      this.frame = requestAnimationFrame(step);
    }

    narrow(context, m, x, y, width, height) {
      const { P, grid } = this;
      context.drawImage(this.source, (m % grid) * P, Math.floor(m / grid) * P, P, P, x, y, width, height);
    }

    /* The picture with its cuts: gaps, where there is room for them. */
    sheet() {
      const { canvas } = this.picture, { P, grid } = this, side = 2 * SIZE, context = canvas.getContext("2d");
      canvas.width = canvas.height = side;
      context.imageSmoothingEnabled = false;
      context.drawImage(this.source, 0, 0, side, side);
      if (P > 2) for (let i = 1; i < grid; i++) {
        const wide = P > 4 ? 2 : 1;
        context.clearRect(2 * i * P - wide / 2, 0, wide, side);
        context.clearRect(0, 2 * i * P - wide / 2, side, wide);
      }
    }
  }

  define("vit-patches", VitPatches);
})();
