/* <vit-patches picture="astronaut" patch-size="16">: a picture cut into patches, and the patches a sequence of tokens.

   One pixel is looked at: in the picture, in its patch, among the tokens, and as three places of the flattened row, in
   the order of `vl.patchify`, "(p1 p2 c)". Below, what the cut costs, as `vl.count_macs` counts. Pictures: photos.js;
   what is drawn and what is counted stands in patches-parts.js. */
(() => {
  "use strict";

  const { VitExplorer, define, h, paint } = window.vitExplorer;

  const SIZE = 224, C = 3;
  const COLOURS = ["red", "green", "blue"];
  const SIDES = [...Array(SIZE + 1).keys()].filter((P) => SIZE % P === 0);
  const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }; // down, across

  const between = (value, least, most) => Math.min(most, Math.max(least, value));
  const whole = (number) => number.toLocaleString("en-US");

  /* Facts by name, for a <dl>. */
  const terms = (facts) => Object.entries(facts).flatMap(([term, fact]) => [h("dt", {}, term), h("dd", {}, fact)]);

  class VitPatches extends VitExplorer {
    static style = `
      h3 { font-size: 0.95rem; margin: 1rem 0 0.3rem; }
      .size { flex: 1 1 10rem; }
      .stage { position: relative; }
      .flying { height: 100%; inset: 0; pointer-events: none; position: absolute; z-index: 2; }
      .place { cursor: crosshair; position: relative; touch-action: pan-y; user-select: none; }
      .place > canvas { border-radius: 2px; height: 100%; }
      .picture, .patch { aspect-ratio: 1; }
      .patch { margin-bottom: 0.6rem; width: min(11rem, 60%); }
      .line { height: 2.6rem; margin: 0.2rem 0; }
      .mark { min-height: 1px; min-width: 1px; pointer-events: none; position: absolute;
        box-shadow: 0 0 0 1px #fff, 0 0 0 3px var(--accent), 0 0 0 4px #fff; }
      .mark.pixel { box-shadow: 0 0 0 1px #fff, 0 0 0 2.5px var(--warm), 0 0 0 3.5px #fff; }
      .mark:not([style]) { display: none; }
      .near, .numbers { display: grid; font-size: 0.8rem; font-variant-numeric: tabular-nums; margin: 0 0 0.2rem;
        text-align: center; }
      .near { gap: 0.3rem; grid-template-columns: repeat(7, 1fr); }
      .near canvas { aspect-ratio: 1; }
      .near span, .numbers span { min-width: 0; }
      .near .now, .numbers .now { font-weight: 700; }
      .near .now canvas { outline: 3px solid var(--accent); }
      .numbers { gap: 2px; grid-auto-columns: 1fr; grid-auto-flow: column; line-height: 1.25; }
      .numbers span { background: var(--back); border-top: 4px solid; overflow: hidden; padding: 1px 0;
        white-space: nowrap; }
      .numbers .now { outline: 2px solid var(--warm); outline-offset: -2px; }
      .numbers small { color: var(--soft); display: block; font-size: 0.7rem; font-weight: 400; }
      .numbers .red { border-color: #d62f2f; }
      .numbers .green { border-color: #2e9e44; }
      .numbers .blue { border-color: #3a6fe0; }
      dl { display: grid; font-variant-numeric: tabular-nums; gap: 0.15rem 0.9rem; margin: 0;
        grid-template-columns: max-content 1fr; }
      dt { color: var(--soft); }
      dd { margin: 0; }
      @container (max-width: 460px) {
        .numbers span:is(:first-child, :nth-child(2), :nth-last-child(2), :last-child) { display: none; }
        dl.costs { grid-template-columns: 1fr; }
        dl.costs dd { margin-bottom: 0.3rem; }
      }`;

    async build() {
      const photos = await this.photos();
      await window.vit.script("patches-parts.js");
      this.parts = window.vitPatchesParts;
      const first = this.getAttribute("picture") ?? "astronaut";
      const P = Number(this.getAttribute("patch-size") ?? 16);
      Object.assign(this, { P: SIDES.includes(P) ? P : 16, row: 100, col: 120, c: 0, source: h("canvas") });
      const picker = await this.chooser(Object.keys(photos), (bytes) => this.take(bytes), SIZE, (name) => photos[name]);
      this.verdict = h("p", { class: "verdict" });
      this.places();
      this.view.append(picker, this.cutting(), this.verdict, this.stage(), ...this.flattened(), ...this.costing());
      this.cut(this.P, false);
      this.take(photos[first] ?? photos.astronaut, false);
      this.mark(first);
      const seen = new IntersectionObserver(([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        seen.disconnect();
        this.fly();
      }, { threshold: 0.4 });
      seen.observe(this);
    }

    /* The photographs to choose from: a name -> its bytes (3, SIZE, SIZE). */
    async photos() {
      if (!window.vitPictures) await window.vit.script("pictures.js");
      if (!window.vitPhotos) await window.vit.script("photos.js");
      const photos = {};
      for (const [name, text] of Object.entries(window.vitPhotos)) {
        const file = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        photos[name] = await window.vitPictures.bytes(new Blob([file]), SIZE);
      }
      return photos;
    }

    cutting() {
      this.side = h("input", {
        type: "range", min: "0", max: String(SIDES.length - 1), value: String(SIDES.indexOf(this.P)),
        class: "size", "aria-label": "Patch size", oninput: () => this.cut(SIDES[this.side.value]),
      });
      this.shownSide = h("output");
      const again = h("button", { type: "button", onclick: () => this.fly() }, "Cut again");
      return h("div", { class: "row" }, h("span", {}, "Patch size P"), this.side, this.shownSide, again);
    }

    /* What patches fly over: the picture, its patch, the sequence. */
    stage() {
      this.address = h("dl", { class: "address" });
      this.notAll = h("span");
      this.near = h("div", { class: "near", "aria-hidden": "true" });
      this.flying = h("canvas", { class: "flying", "aria-hidden": "true" });
      return h("div", { class: "stage" },
        h("div", { class: "sides" },
          this.picture.node,
          h("div", {}, h("p", { class: "note" }, "The patch, enlarged"), this.patch.node, this.address)),
        h("h3", {}, "The sequence"),
        h("p", { class: "note" }, "Its tokens side by side, made narrow to fit. ", this.notAll),
        this.tokens.node, this.near, this.flying);
    }

    flattened() {
      this.pixelsOnly = h("span");
      this.numbers = h("div", { class: "numbers", "aria-hidden": "true" });
      return [
        h("h3", {}, "The token: one row of numbers"),
        h("p", { class: "note" }, "Pixel after pixel of the patch; of each, red, green and blue. ", this.pixelsOnly),
        this.numbered.node, this.numbers,
      ];
    }

    costing() {
      const options = Object.keys(this.parts.MODELS).map((name) => h("option", { selected: name === "ViT-B" }, name));
      this.model = h("select", { "aria-label": "Cost for which model", onchange: () => this.count() }, options);
      this.costs = h("dl", { class: "costs" });
      return [h("h3", {}, "What it costs"), h("div", { class: "row" }, h("label", {}, "in ", this.model)), this.costs];
    }

    /* The four places where the pixel is seen: each can be hovered, dragged over and walked with the arrow keys. */
    places() {
      const walk = (down, across, event) => {
        const step = event.shiftKey ? this.P : 1;
        this.look(this.row + down * step, this.col + across * step);
      };
      const square = (name, label, at) => this.place({ name, label, role: "application", at, key: walk });
      const line = (label, count, now, go) => this.place({
        name: "line", label, role: "slider",
        at: (x) => go(Math.floor(x * count())),
        key: (down, across) => go(between(now() + across - down, 0, count() - 1)),
        ends: (last) => go(last ? count() - 1 : 0),
      });
      this.picture = square("picture", "The picture: arrow keys go from pixel to pixel, with Shift from patch to patch",
        (x, y) => this.look(Math.floor(y * SIZE), Math.floor(x * SIZE)));
      this.patch = square("patch", "The patch, enlarged: arrow keys go from pixel to pixel",
        (x, y) => this.inside(Math.floor(y * this.P), Math.floor(x * this.P)));
      this.tokens = line("Token", () => this.N, () => this.token, (n) => this.toToken(n));
      this.numbered = line("Place in the token", () => this.K, () => this.k, (k) => this.toNumber(k));
    }

    /* A canvas with two marks, for a patch and a pixel; a mark that is never put anywhere is not shown.
       `at` gets where the pointer is, as shares of width and height; `key`, how far an arrow goes down and across;
       `ends`, of a slider, whether End was pressed or Home. */
    place({ name, label, role, at, key, ends }) {
      const canvas = h("canvas"), big = h("i", { class: "mark" }), small = h("i", { class: "mark pixel" });
      const node = h("div", { class: `place ${name}`, role, tabindex: "0", "aria-label": label }, canvas, big, small);
      const point = (event) => {
        const box = node.getBoundingClientRect(), share = (length, all) => between(length / all, 0, 0.999999);
        at(share(event.clientX - box.left, box.width), share(event.clientY - box.top, box.height));
      };
      node.addEventListener("pointermove", point);
      node.addEventListener("pointerdown", point);
      node.addEventListener("keydown", (event) => {
        if (ARROWS[event.key]) key(...ARROWS[event.key], event);
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

    /* Number k of token n. */
    value(k, n = this.token) {
      const { P, grid } = this, pixel = Math.floor(k / C);
      const row = Math.floor(n / grid) * P + Math.floor(pixel / P), col = (n % grid) * P + (pixel % P);
      return this.bytes[((k % C) * SIZE + row) * SIZE + col];
    }

    look(row, col, c = this.c) {
      Object.assign(this, { row: between(row, 0, SIZE - 1), col: between(col, 0, SIZE - 1), c });
      this.link();
    }

    /* To a pixel of the same patch. */
    inside(p1, p2, c = this.c) {
      this.look(this.row - (this.row % this.P) + p1, this.col - (this.col % this.P) + p2, c);
    }

    /* To the same pixel of another patch. */
    toToken(n) {
      const { P, grid } = this;
      this.look(Math.floor(n / grid) * P + (this.row % P), (n % grid) * P + (this.col % P));
    }

    toNumber(k) {
      const pixel = Math.floor(k / C);
      this.inside(Math.floor(pixel / this.P), pixel % this.P, k % C);
    }

    take(bytes, fly = true) {
      this.bytes = bytes;
      paint(bytes, this.source);
      this.link();
      this.fly(fly);
    }

    fly(wanted = true) {
      this.parts.fly(this, wanted);
    }

    cut(P, fly = true) {
      this.P = P;
      this.shownSide.textContent = `${P} pixels`;
      this.side.setAttribute("aria-valuetext", `${P} pixels`);
      this.count();
      if (fly) this.take(this.bytes);
    }

    count() {
      const { P, K } = this, name = this.model.value;
      this.cost = this.parts.costs(P, name);
      const { N, entries } = this.cost;
      this.costs.replaceChildren(...terms(this.parts.facts(P, name, this.cost)));
      this.verdict.textContent = `${whole(N)} token${N > 1 ? "s" : ""} of ${whole(K)} numbers.`;
      this.say(`${this.verdict.textContent} One head's attention: ${whole(entries)} entries.`);
    }

    /* Shows the same pixel everywhere. */
    link() {
      const { P, grid, N, K, row, col, c, token: n, k } = this, at = k - c; // where its red stands
      const i = Math.floor(row / P), j = Math.floor(col / P), p1 = row % P, p2 = col % P;
      const put = (mark, ...shares) => {
        const [left, top, width, height] = shares.map((share) => `${100 * share}%`);
        Object.assign(mark.style, { left, top, width, height });
      };
      put(this.picture.big, j / grid, i / grid, 1 / grid, 1 / grid);
      put(this.picture.small, col / SIZE, row / SIZE, 1 / SIZE, 1 / SIZE);
      put(this.patch.small, p2 / P, p1 / P, 1 / P, 1 / P);
      put(this.tokens.big, n / N, 0, 1 / N, 1);
      put(this.numbered.small, at / K, 0, C / K, 1);
      this.parts.copy(this, this.patch.canvas, n);
      this.parts.strip(this, n);
      this.showNear(n);
      this.showNumbers(at);
      const colours = COLOURS.map((colour, which) => `${colour} ${this.value(at + which)}`).join(", ");
      this.address.replaceChildren(...terms({
        "pixel": `row ${row}, column ${col}`,
        "patch": `i = ${i}, j = ${j}`,
        "token": `n = ${i} · ${grid} + ${j} = ${whole(n)}`,
        "in the patch": `p₁ = ${p1}, p₂ = ${p2}`,
        "places": `k = (${p1} · ${P} + ${p2}) · 3 + c = ${whole(at)} to ${whole(at + 2)}`,
        "numbers": colours,
      }));
      this.setSlider(this.tokens, n, N - 1, `token ${n} of ${N}`);
      this.setSlider(this.numbered, k, K - 1, `place ${k} of ${K}: ${COLOURS[c]} ${this.value(k)}`);
      this.say(`Row ${row}, column ${col}: token ${n}, places ${at} to ${at + 2}; ${colours}.`);
    }

    /* Seven tokens: this one in the middle, unless the sequence ends. */
    showNear(n) {
      const { N } = this, middle = between(n, Math.min(3, N - 1), Math.max(0, N - 4));
      const near = [...Array(7).keys()].map((step) => middle - 3 + step).filter((m) => m >= 0 && m < N);
      this.near.replaceChildren(...near.map((m) => h("span", { class: m === n ? "now" : "" },
        this.parts.copy(this, h("canvas"), m), whole(m))));
    }

    /* Nine numbers of the token: the pixel's three in the middle. */
    showNumbers(at) {
      const nine = [...Array(9).keys()].map((step) => at - 3 + step);
      this.numbers.replaceChildren(...nine.map((k) => {
        if (k < 0 || k >= this.K) return h("span", { style: "visibility:hidden" }, "·");
        const looks = `${COLOURS[k % C]}${k === this.k ? " now" : ""}`;
        return h("span", { class: looks }, h("small", {}, whole(k)), String(this.value(k)));
      }));
    }

    setSlider({ node }, now, most, text) {
      for (const [name, value] of Object.entries({ min: 0, max: most, now, text }))
        node.setAttribute(`aria-value${name}`, value);
    }
  }

  define("vit-patches", VitPatches);
})();
