/* <vit-triangle>: one query, three keys, three values; the output moves inside the triangle of the values.

   It starts as the worked example of chapter 05 does. The query has four numbers: the first two are a place in a plane,
   to be dragged; all four have sliders. */
(() => {
  "use strict";

  const {
    VitExplorer, button, clamp, clauses, h, note, onArrows, pair, percent, pointer, sentences, setPressed, slider,
  } = window.vitExplorer;

  const QUERY = [1, 2, 0, 1], D = QUERY.length;
  const TOKENS = [ // with the dashes of the key's arrow, and where its name stands
    { name: "a", key: [2, 1, 1, 0], value: [10, 0], dashes: "none", label: 'x="2.25" y="-0.9"' },
    { name: "b", key: [0, 1, 3, 0], value: [5, 10], dashes: "0.2 0.13", label: 'x="-0.25" y="-0.9" text-anchor="end"' },
    { name: "c", key: [0, 0, 2, 0], value: [0, 0], dashes: "none", label: 'x="-0.25" y="0.55" text-anchor="end"' },
  ];
  const MOST = 4, STEP = 0.25; // of the query's numbers
  const EDGE = MOST + 0.6; // of the plane they are drawn in

  const vector = (numbers) => `(${numbers.join(", ")})`;
  const tidy = (number) => String(Math.round(100 * number) / 100).replace("-", "−");

  /* e to a logit: it may be tiny or huge. */
  function power(number) {
    return number >= 1e4 || number < 1e-3 ? number.toExponential(0).replace("e+", "e") : number.toFixed(2);
  }

  /* A query of d numbers -> scores, what the softmax gets, weights, and their mean of the values. */
  function attend(query, scaled) {
    const scores = TOKENS.map(({ key }) => key.reduce((sum, k, i) => sum + k * query[i], 0));
    const logits = scores.map((score) => score / (scaled ? Math.sqrt(D) : 1));
    const most = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - most));
    const sum = powers.reduce((a, b) => a + b);
    const weights = powers.map((one) => one / sum);
    const output = [0, 1].map((i) => weights.reduce((all, weight, k) => all + weight * TOKENS[k].value[i], 0));
    return { scores, logits, weights, output };
  }

  class VitTriangle extends VitExplorer {
    static style = `
      svg { display: block; width: 100%; font: inherit; }
      svg text { fill: var(--ink); font-size: 0.62px; }
      svg .soft { fill: var(--soft); }
      svg .strong { font-weight: 600; }
      .pad { border: 1px solid var(--rule); border-radius: 0.4rem; cursor: grab; touch-action: pan-y;
        user-select: none; }
      .pad.held { cursor: grabbing; }
      .pad text { font-size: 0.42px; }
      .pad .dot { touch-action: none; }
      .knobs { align-items: center; display: grid; gap: 0.3rem 0.7rem; margin-top: 0.8rem;
        grid-template-columns: max-content minmax(5rem, 1fr) 3.2rem; font-variant-numeric: tabular-nums; }
      table { border-collapse: collapse; margin-top: 0.8rem; font-variant-numeric: tabular-nums; width: 100%; }
      th, td { border-bottom: 1px solid var(--rule); font-weight: 400; padding: 0.25rem 0.4rem; text-align: right; }
      thead th { color: var(--soft); font-size: 0.85rem; }
      th:first-child { text-align: left; }
      tbody th b { font-size: 1.05rem; }
      th small { color: var(--soft); display: block; white-space: nowrap; }
      th:last-child, td:last-child { width: 36%; }
      td .bar { background: var(--back); border-radius: 0.2rem; display: block; height: 0.7rem; }
      td .bar i { background: var(--accent); border-radius: 0.2rem; display: block; height: 100%; }
      @container (max-width: 460px) {
        th, td { padding: 0.25rem 0.2rem; font-size: 0.85rem; }
        th:last-child, td:last-child { width: 24%; }
      }`;

    async build() {
      const chapter = () => ({ query: [...QUERY], scaled: true });
      Object.assign(this, chapter());
      this.plane = h("div", { role: "img" });
      this.root = button(t("divide by √d = 2"), () => this.set({ scaled: !this.scaled }));
      this.scaleHead = h("th", { scope: "col" });
      this.body = h("tbody");
      const head = (title) => h("th", { scope: "col" }, title);
      const titles = [head(t("token")), head(t("score")), this.scaleHead, head(t("e to that")), head(t("weight"))];
      this.makePad();
      this.view.append(
        this.verdict,
        pair(
          [note(t("The query among the keys, by their numbers 0 and 1: drag it")), this.pad, this.sliders()],
          [note(t("The output among the values")), this.plane,
            note(t("Dashed: where it goes as the query grows, times 0 to times 100.")),
            h("div", { class: "row" },
              this.root,
              button(t("Ask nothing: all 0"), () => this.set({ query: [0, 0, 0, 0] })),
              button(t("As in the chapter"), () => this.set(chapter())))]),
        h("table", {}, h("thead", {}, h("tr", {}, titles)), this.body));
      this.draw();
    }

    /* Four sliders for the query's numbers. */
    sliders() {
      this.knobs = []; // each shows what is set now
      const row = (_, i) => {
        const shown = h("output"), input = slider(t("query, number {i}", { i }), -MOST, MOST, STEP, 0, () => {
          this.move(i, Number(input.value));
          this.draw();
        });
        this.knobs.push(() => {
          input.value = this.query[i];
          shown.textContent = tidy(this.query[i]);
        });
        return [h("span", { "aria-hidden": "true" }, t("query {i}", { i })), input, shown];
      };
      return h("div", { class: "knobs" }, QUERY.flatMap(row));
    }

    set(changes) {
      Object.assign(this, changes);
      this.draw();
    }

    /* Gives number i of the query a value, or the nearest one that it may have. */
    move(i, value) {
      this.query[i] = clamp(Math.round(value / STEP) * STEP, -MOST, MOST);
    }

    /* The pad: a mouse may drag anywhere, a finger the dot; a tap moves it there, arrow keys by a step. */
    makePad() {
      this.pad = h("div", { class: "pad", role: "application", tabindex: "0", "aria-label":
        t("The query's first two numbers: drag it, or move it with the arrow keys; with Shift four times as far") });
      const moveTo = (event) => {
        const [x, y] = pointer(event, this.pad);
        this.move(0, x * 2 * EDGE - EDGE);
        this.move(1, EDGE - y * 2 * EDGE);
        this.draw();
      };
      this.pad.addEventListener("click", moveTo);
      this.pad.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "touch" && !event.target.closest(".dot")) return; // it may be about to scroll
        this.pad.setPointerCapture(event.pointerId);
        this.pad.classList.add("held");
        moveTo(event);
      });
      this.pad.addEventListener("pointermove", (event) => {
        if (this.pad.classList.contains("held")) moveTo(event);
      });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
        this.pad.addEventListener(end, () => this.pad.classList.remove("held"));
      onArrows(this.pad, (down, across, { shiftKey }) => {
        const step = STEP * (shiftKey ? 4 : 1);
        this.move(0, this.query[0] + across * step);
        this.move(1, this.query[1] - down * step);
        this.draw();
      });
      this.drawKeys();
    }

    draw() {
      this.result = attend(this.query, this.scaled);
      const place = this.result.output.map((one) => one.toFixed(2)).join(", ");
      const shares = TOKENS.map(({ name }, i) => t("{share} of {name}", { share: percent(this.result.weights[i]), name }));
      this.verdict.textContent = t("{shares}: the output is ({place}).", { shares: clauses(shares), place });
      this.drawTable();
      this.knobs.forEach((show) => show());
      setPressed(this.root, this.scaled);
      this.drawQuery();
      this.drawPlane();
      this.plane.setAttribute("aria-label", t("The triangle of the values a, b and c; the output lies at {place}.", { place }));
      this.say(sentences(t("Query {query}.", { query: vector(this.query) }), this.verdict.textContent));
    }

    drawTable() {
      const { scaled, result: { scores, logits, weights } } = this;
      this.scaleHead.replaceChildren(scaled ? t("scaled") : t("not scaled"), h("small", {}, scaled ? "÷ 2" : "÷ 1"));
      const bar = (weight) => h("span", { class: "bar", "aria-hidden": "true" },
        h("i", { style: `width:${100 * weight}%` }));
      this.body.replaceChildren(...TOKENS.map(({ name, key, value }, i) => h("tr", {},
        h("th", { scope: "row" },
          h("b", {}, name),
          h("small", {}, t("key {key}", { key: vector(key) })),
          h("small", {}, t("value {value}", { value: vector(value) }))),
        h("td", {}, tidy(scores[i])),
        h("td", {}, tidy(logits[i])),
        h("td", {}, power(Math.exp(logits[i]))),
        h("td", {}, weights[i].toFixed(3), bar(weights[i])))));
    }

    /* The plane of the first two numbers, y upwards: the keys as arrows, and the query, which `drawQuery` moves. */
    drawKeys() {
      const ticks = [-4, -2, 2, 4];
      const lines = ticks.map((at) =>
        `<path d="M${at} ${-EDGE}V${EDGE}M${-EDGE} ${at}H${EDGE}" stroke="var(--rule)" stroke-width="0.03"/>`);
      const numbers = ticks.map((at) =>
        `<text class="soft" x="${at}" y="0.5" text-anchor="middle">${tidy(at)}</text>
        <text class="soft" x="-0.15" y="${0.15 - at}" text-anchor="end">${tidy(at)}</text>`);
      const arrows = TOKENS.map(({ name, key: [x, y], dashes, label }) =>
        `<path d="M0 0L${x} ${-y}" stroke="var(--ink)" stroke-width="0.09" stroke-dasharray="${dashes}"/>
        <circle cx="${x}" cy="${-y}" r="0.14" fill="var(--ink)"/>
        <text ${label}>${t("key {name}", { name })}</text>`);
      this.pad.innerHTML = `<svg viewBox="${-EDGE} ${-EDGE} ${2 * EDGE} ${2 * EDGE}" aria-hidden="true">
        ${lines.join("")}
        <path d="M0 ${-EDGE}V${EDGE}M${-EDGE} 0H${EDGE}" stroke="var(--soft)" stroke-width="0.04"/>
        ${numbers.join("")}
        ${arrows.join("")}
        <line class="query" stroke="var(--warm)" stroke-width="0.12"/>
        <g class="dot">
          <circle r="0.8" fill="transparent"/>
          <circle r="0.28" fill="var(--warm)" stroke="var(--ground)" stroke-width="0.08"/>
        </g>
        <text class="asks strong">${t("query")}</text></svg>`;
    }

    drawQuery() {
      const [x, y] = this.query, right = x > 3; // its name then stands to the left of it
      const set = (selector, attributes) => {
        const drawn = this.pad.querySelector(selector);
        for (const [name, value] of Object.entries(attributes)) drawn.setAttribute(name, value);
      };
      set(".query", { x2: x, y2: -y });
      set(".dot", { transform: `translate(${x} ${-y})` });
      set(".asks", { x: right ? x - 0.4 : x + 0.4, y: -y - 0.3, "text-anchor": right ? "end" : "start" });
    }

    /* Where the output goes as the query grows: times 0, then times 10⁻² to 10². */
    way() {
      const times = Array.from({ length: 81 }, (_, i) => (i ? 10 ** (i / 20 - 2) : 0));
      const outputs = times.map((by) => attend(this.query.map((number) => by * number), this.scaled).output);
      return outputs.map(([a, b]) => `${a.toFixed(3)},${(-b).toFixed(3)}`).join(" ");
    }

    /* The plane of the values: their triangle, how much of each, and the output. */
    drawPlane() {
      const { weights, output: [x, y] } = this.result;
      const corners = TOKENS.map(({ value: [a, b] }) => `${a},${-b}`);
      const pulls = TOKENS.map(({ value: [a, b] }, i) =>
        `<line x1="${a}" y1="${-b}" x2="${x}" y2="${-y}" stroke="var(--accent)" stroke-linecap="round"
          stroke-width="${0.5 * weights[i]}" opacity="0.55"/>`);
      const names = TOKENS.map(({ name, value: [a, b] }, i) =>
        `<circle cx="${a}" cy="${-b}" r="${0.12 + 0.5 * Math.sqrt(weights[i])}" fill="var(--accent)"/>
        <text x="${a}" y="${b ? -11 : 1.5}" text-anchor="middle">${name} ${vector([a, b])}</text>`);
      this.plane.innerHTML = `<svg viewBox="-2.2 -12 14.4 14" aria-hidden="true">
        <polygon points="${corners.join(" ")}" fill="var(--back)" stroke="var(--ink)" stroke-width="0.08"
          stroke-linejoin="round"/>
        ${pulls.join("")}
        <polyline class="way" points="${this.way()}" fill="none" stroke="var(--warm)" stroke-width="0.09"
          stroke-dasharray="0.3 0.2"/>
        ${names.join("")}
        <circle class="output" cx="${x}" cy="${-y}" r="0.34" fill="var(--warm)" stroke="var(--ground)"
          stroke-width="0.1"/>
        <text class="strong" x="${x}" y="${-y - 0.6}" text-anchor="middle"
          style="paint-order:stroke;stroke:var(--ground);stroke-width:.2px">${t("output")}</text></svg>`;
    }
  }

  customElements.define("vit-triangle", VitTriangle);
})();
