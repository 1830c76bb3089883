/* <vit-patches>: a picture cut into patches, and the patches a sequence of tokens.

   One pixel is looked at: in the picture, in its patch, among the tokens, and as three places of the flattened row, in
   the order of `vl.patchify`, "(p1 p2 c)". */
(() => {
  "use strict";

  const {
    VitExplorer, clamp, clauses, decoded, h, note, onArrows, paint, pointer, range, sentences, sides, slider, terms, title,
  } = window.vitExplorer;

  const SIZE = 224, C = 3;
  const COLOURS = ["red", "green", "blue"]; // t("red") t("green") t("blue")
  const SIDES = range(SIZE + 1).filter((P) => SIZE % P === 0);
  const WIDE = 1344, HIGH = 84; // pixels to draw a sequence with
  const MOST_FLYING = 3136; // patches
  const FLIGHT = 1100, EACH = 0.55 * FLIGHT; // milliseconds for all patches, and for one

  const whole = (number) => number.toLocaleString("en-US");
  const mebi = (bytes) => (bytes / 2 ** 20).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const memory = (bytes) => (bytes < 5000 ? t("{n} bytes", { n: whole(bytes) }) : `${mebi(bytes)} MiB`);

  /* From 0 to 1 and with no jerk at either end. */
  function eased(time) {
    const share = clamp(time, 0, 1);
    return share * share * (3 - 2 * share);
  }

  class VitPatches extends VitExplorer {
    static style = `
      .size { flex: 1 1 10rem; }
      .title { margin-top: 0.8rem; }
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
      .numbers { display: grid; font-size: 0.8rem; font-variant-numeric: tabular-nums; margin: 0 0 0.2rem;
        text-align: center; gap: 2px; grid-auto-columns: 1fr; grid-auto-flow: column; line-height: 1.25; }
      .numbers span { background: var(--back); border-top: 4px solid; min-width: 0; overflow: hidden; padding: 1px 0;
        white-space: nowrap; }
      .numbers .now { font-weight: 700; outline: 2px solid var(--warm); outline-offset: -2px; }
      .numbers small { color: var(--soft); display: block; font-size: 0.7rem; font-weight: 400; }
      .numbers .red { border-color: #d62f2f; }
      .numbers .green { border-color: #2e9e44; }
      .numbers .blue { border-color: #3a6fe0; }
      .facts { gap: 0.15rem 0.9rem; margin: 0; }
      .facts dt { color: var(--soft); }
      @container (max-width: 460px) {
        .numbers span:is(:first-child, :nth-child(2), :nth-last-child(2), :last-child) { display: none; }
      }`;

    async build() {
      Object.assign(this, { size: SIZE, P: 16, row: 100, col: 120, c: 0, source: h("canvas") });
      const photos = await this.photos();
      const cut = () => this.cut(SIDES[this.side.value]);
      this.side = slider(t("Patch size"), 0, SIDES.length - 1, 1, SIDES.indexOf(this.P), cut);
      this.side.className = "size";
      [this.shownSide, this.notAll, this.pixelsOnly] = [h("output"), h("span"), h("span")];
      this.address = h("dl", { class: "facts address" });
      this.costs = note();
      this.numbers = h("div", { class: "numbers", "aria-hidden": "true" });
      this.flying = h("canvas", { class: "flying", "aria-hidden": "true" });
      this.places();
      this.view.append(
        await this.chooser(photos),
        h("div", { class: "row" }, h("span", {}, t("Patch size P")), this.side, this.shownSide),
        this.verdict, this.costs,
        h("div", { class: "stage" }, // what patches fly over
          sides([this.picture.node], [note(t("The patch, enlarged")), this.patch.node, this.address]),
          title(t("The sequence")),
          note(t("Its tokens side by side, made narrow to fit. "), this.notAll),
          this.tokens.node, this.flying),
        title(t("The token: one row of numbers")),
        note(t("Pixel after pixel of the patch; of each, red, green and blue. "), this.pixelsOnly),
        this.numbered.node, this.numbers);
      this.cut(this.P);
      this.show("astronaut", photos.astronaut, false);
      const seen = new IntersectionObserver(([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        seen.disconnect();
        this.fly();
      }, { threshold: 0.4 });
      seen.observe(this);
    }

    /* The photographs to choose from: a name -> its bytes (3, SIZE, SIZE). */
    async photos() {
      await Promise.all(["pictures.js", "photos.js"].map(window.vit.script));
      const photos = {};
      for (const [name, text] of Object.entries(window.vitPhotos)) {
        photos[name] = await window.vitPictures.bytes(new Blob([decoded(text)]), SIZE);
      }
      return photos;
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
        key: (down, across) => go(clamp(now() + across - down, 0, count() - 1)),
        ends: (last) => go(last ? count() - 1 : 0),
      });
      this.picture = square("picture", t("The picture: arrow keys go from pixel to pixel, with Shift from patch to patch"),
        (x, y) => this.look(Math.floor(y * SIZE), Math.floor(x * SIZE)));
      this.patch = square("patch", t("The patch, enlarged: arrow keys go from pixel to pixel"),
        (x, y) => this.inside(Math.floor(y * this.P), Math.floor(x * this.P)));
      this.tokens = line(t("Token"), () => this.N, () => this.token, (n) => this.toToken(n));
      this.numbered = line(t("Place in the token"), () => this.K, () => this.k, (k) => this.toNumber(k));
    }

    /* A canvas with two marks, for a patch and a pixel; a mark that is never put anywhere is not shown.
       `at` gets where the pointer is, as shares of width and height; `key`, how far an arrow goes down and across;
       `ends`, of a slider, whether End was pressed or Home. */
    place({ name, label, role, at, key, ends }) {
      const canvas = h("canvas"), big = h("i", { class: "mark" }), small = h("i", { class: "mark pixel" });
      const point = (event) => at(...pointer(event, node).map((share) => clamp(share, 0, 0.999999)));
      const looks = { class: `place ${name}`, role, tabindex: "0", "aria-label": label };
      const node = h("div", { ...looks, onpointermove: point, onpointerdown: point }, canvas, big, small);
      onArrows(node, key);
      if (ends) node.addEventListener("keydown", (event) => {
        if (!["Home", "End"].includes(event.key)) return;
        event.preventDefault();
        ends(event.key === "End");
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
      Object.assign(this, { row: clamp(row, 0, SIZE - 1), col: clamp(col, 0, SIZE - 1), c });
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

    take(bytes, name, fly = true) {
      this.bytes = bytes;
      paint(bytes, this.source);
      this.link();
      this.fly(fly);
    }

    cut(P) {
      this.P = P;
      this.shownSide.textContent = t("{P} pixels", { P });
      this.side.setAttribute("aria-valuetext", t("{P} pixels", { P }));
      this.count();
      if (this.bytes) this.take(this.bytes);
    }

    count() {
      const { N, K } = this, n = (N + 1) ** 2;
      this.verdict.textContent = tn("{N} token of {K} numbers.", "{N} tokens of {K} numbers.", N, {
        N: whole(N), K: whole(K) });
      this.costs.textContent = t("With CLS, the attention of one head is a table of {n} numbers, {memory} in float32.", {
        n: whole(n), memory: memory(4 * n) });
      this.say(sentences(this.verdict.textContent, this.costs.textContent));
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
      this.copy(this.patch.canvas, n);
      this.strip(n);
      this.showNumbers(at);
      const colours = clauses(COLOURS.map((colour, which) => `${t(colour)} ${this.value(at + which)}`));
      this.address.replaceChildren(...terms({
        [t("pixel")]: t("row {row}, column {column}", { row, column: col }),
        [t("patch")]: t("i = {i}, j = {j}", { i, j }),
        [t("token")]: `n = ${i} · ${grid} + ${j} = ${whole(n)}`,
        [t("in the patch")]: t("p₁ = {p1}, p₂ = {p2}", { p1, p2 }),
        [t("places")]: t("k = ({p1} · {P} + {p2}) · 3 + c = {at} to {last}", { p1, P, p2, at: whole(at), last: whole(at + 2) }),
        [t("numbers")]: colours,
      }));
      this.setSlider(this.tokens, n, N - 1, t("token {n} of {N}", { n, N }));
      this.setSlider(this.numbered, k, K - 1, t("place {k} of {K}: {colour} {value}", {
        k, K, colour: t(COLOURS[c]), value: this.value(k) }));
      this.say(t("Row {row}, column {col}: token {n}, places {at} to {last}; {colours}.", { row, col, n, at, last: at + 2, colours }));
    }

    /* Nine numbers of the token: the pixel's three in the middle. */
    showNumbers(at) {
      const nine = range(9).map((step) => at - 3 + step);
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

    // Drawings

    /* Patch n, stretched over a box. */
    stretch(context, n, x, y, width, height) {
      const { source, P, grid } = this;
      context.drawImage(source, (n % grid) * P, Math.floor(n / grid) * P, P, P, x, y, width, height);
    }

    /* Patch n on a canvas of P x P pixels. */
    copy(canvas, n) {
      canvas.width = canvas.height = this.P;
      this.stretch(canvas.getContext("2d"), n, 0, 0, this.P, this.P);
      return canvas;
    }

    /* The picture with its cuts: gaps, where there is room for them. */
    sheet() {
      const { source, picture: { canvas }, P, grid } = this, side = 2 * SIZE, context = canvas.getContext("2d");
      canvas.width = canvas.height = side;
      context.imageSmoothingEnabled = false;
      context.drawImage(source, 0, 0, side, side);
      const gap = P > 4 ? 2 : P > 2 ? 1 : 0;
      for (let i = 1; i < grid && gap; i++) {
        context.clearRect(2 * i * P - gap / 2, 0, gap, side);
        context.clearRect(0, 2 * i * P - gap / 2, side, gap);
      }
    }

    /* Token n's row of numbers: each in its colour while they can be told apart, else pixels. */
    strip(n) {
      const { K, numbered: { canvas }, pixelsOnly } = this;
      const distinct = K <= WIDE, width = Math.min(K, WIDE), line = new ImageData(width, 1);
      for (let x = 0; x < width; x++) {
        const k = Math.floor((x * K) / width), red = k - (k % C);
        for (let c = 0; c < C; c++) line.data[4 * x + c] = distinct && c !== k % C ? 0 : this.value(red + c, n);
        line.data[4 * x + 3] = 255;
      }
      [canvas.width, canvas.height] = [width, 1];
      canvas.getContext("2d").putImageData(line, 0, 0);
      pixelsOnly.textContent = distinct ? "" : t("Too many to draw one by one: drawn are pixels.");
    }

    /* The patches leave the picture one after the other and take their places in the sequence; all at once, where there
       are too many, where motion is not wanted, or not `wanted` now. */
    fly(wanted = true) {
      const { N, grid, picture, tokens, flying } = this;
      cancelAnimationFrame(this.frame);
      this.sheet();
      this.notAll.textContent = N > WIDE ? t("Too many to draw them all: about one in {n} is.", { n: Math.round(N / WIDE) }) : "";
      [tokens.canvas.width, tokens.canvas.height] = [WIDE, HIGH];
      const sequence = tokens.canvas.getContext("2d");
      const land = (n) => {
        const [left, right] = [n, n + 1].map((m) => Math.round((m * WIDE) / N));
        if (right > left) this.stretch(sequence, n, left, 0, right - left, HIGH);
      };
      const clear = () => { flying.width = flying.height = 0; };
      clear(); // what may still be in the air
      if (!wanted || N > MOST_FLYING || matchMedia("(prefers-reduced-motion: reduce)").matches) {
        for (let n = 0; n < N; n++) land(n);
        return;
      }
      const begun = performance.now();
      let landed = 0;
      const step = (now) => {
        const [stage, from, to] = [flying, picture.node, tokens.node].map((one) => one.getBoundingClientRect());
        const cell = from.width / grid, slot = to.width / N;
        [flying.width, flying.height] = [stage.width, stage.height];
        const air = flying.getContext("2d");
        for (let n = landed; n < N; n++) {
          const share = eased((now - begun - (n / N) * (FLIGHT - EACH)) / EACH);
          const between = (a, b) => a + (b - a) * share;
          if (share === 1 && n === landed) {
            land(n);
            landed++;
          } else if (share > 0) {
            const x = between(from.left + (n % grid) * cell, to.left + n * slot) - stage.left;
            const y = between(from.top + Math.floor(n / grid) * cell, to.top) - stage.top;
            this.stretch(air, n, x, y, between(cell, slot), between(cell, to.height));
          }
        }
        if (landed < N) this.frame = requestAnimationFrame(step);
        else clear();
      };
      this.frame = requestAnimationFrame(step);
    }
  }

  customElements.define("vit-patches", VitPatches);
})();
