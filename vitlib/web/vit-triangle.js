/* <vit-triangle>: one query, three keys, three values; the output moves inside the triangle of the values.

   It starts as the worked example of chapter 05 does. The query has four numbers: the first two are a place in a plane,
   to be dragged; all four have sliders. Attention is softmax(q·k / √d / temperature), the numbers are the chapter's. */
(() => {
  "use strict";

  const { VitExplorer, define, h } = window.vitExplorer;
  const QUERY = [1, 2, 0, 1], D = QUERY.length, MOST = 4, STEP = 0.25;
  const TOKENS = [
    { name: "a", key: [2, 1, 1, 0], value: [10, 0] },
    { name: "b", key: [0, 1, 3, 0], value: [5, 10] },
    { name: "c", key: [0, 0, 2, 0], value: [0, 0] },
  ];
  const DASHES = ["none", "0.2 0.13", "none"];
  const between = (value, least, most) => Math.min(most, Math.max(least, value));
  const vector = (numbers) => `(${numbers.join(", ")})`;
  const tidy = (number) => String(Math.round(100 * number) / 100).replace("-", "−");
  const share = (weight) => (weight < 0.005 ? "under 1 %" : weight > 0.995 ? "over 99 %" : `${Math.round(100 * weight)} %`);
  const power = (number) => (number >= 1e4 || number < 1e-3 ? number.toExponential(0).replace("e+", "e") : number.toFixed(2));

  /* A query of d numbers -> scores, what the softmax gets, weights, and their mean of the values. */
  function attend(query, { scaled = true, temperature = 1 } = {}) {
    const scores = TOKENS.map(({ key }) => key.reduce((sum, k, i) => sum + k * query[i], 0));
    const logits = scores.map((score) => score / (scaled ? Math.sqrt(D) : 1) / temperature), most = Math.max(...logits);
    const powers = logits.map((one) => Math.exp(one - most)), sum = powers.reduce((a, b) => a + b), weights = powers.map((one) => one / sum);
    return { scores, logits, weights, output: [0, 1].map((i) => weights.reduce((all, weight, t) => all + weight * TOKENS[t].value[i], 0)) };
  }

  class VitTriangle extends VitExplorer {
    static style = `
      svg { display: block; width: 100%; font: inherit; } svg text { fill: var(--ink); font-size: 0.62px; } .pad text { font-size: 0.42px; } svg .soft { fill: var(--soft); }
      .pad { border: 1px solid var(--rule); border-radius: 0.4rem; cursor: grab; touch-action: pan-y; user-select: none; } .pad.held { cursor: grabbing; } .pad .dot { touch-action: none; }
      .knobs { align-items: center; display: grid; gap: 0.3rem 0.7rem; grid-template-columns: max-content minmax(5rem, 1fr) 3.2rem; font-variant-numeric: tabular-nums; margin-top: 0.8rem; }
      table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; } th, td { font-weight: 400; padding: 0.25rem 0.4rem; text-align: right; border-bottom: 1px solid var(--rule); }
      thead th { color: var(--soft); font-size: 0.85rem; } tbody th { text-align: left; } tbody th b { font-size: 1.05rem; } th small { color: var(--soft); display: block; white-space: nowrap; } th:last-child, td:last-child { width: 36%; }
      td .bar { background: var(--back); border-radius: 0.2rem; display: block; height: 0.7rem; } td .bar i { background: var(--accent); border-radius: 0.2rem; display: block; height: 100%; }
      @container (max-width: 460px) { th, td { padding: 0.25rem 0.2rem; font-size: 0.85rem; } th:last-child, td:last-child { width: 24%; } }`;

    async build() {
      Object.assign(this, { query: [...QUERY], scaled: true, temperature: 1 });
      this.pad = h("div", { class: "pad", role: "application", tabindex: "0", "aria-label": "The query's first two numbers: drag it, or move it with the arrow keys; with Shift four times as far" });
      this.plane = h("div", { role: "img" });
      this.body = h("tbody");
      this.scaleHead = h("th", { scope: "col" });
      const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col", style: "text-align:left" }, "token"), h("th", { scope: "col" }, "score"), this.scaleHead, h("th", { scope: "col" }, "e to that"), h("th", { scope: "col" }, "weight"))), this.body);
      this.verdict = h("p", { class: "verdict" });
      this.sqrt = h("button", { type: "button", "aria-pressed": "true", onclick: () => this.set({ scaled: !this.scaled }) }, "divide by √d = 2");
      const reset = h("button", { type: "button", onclick: () => this.set({ query: [...QUERY], scaled: true, temperature: 1 }) }, "As in the chapter");
      const none = h("button", { type: "button", onclick: () => this.set({ query: [0, 0, 0, 0] }) }, "Ask nothing: all 0");
      this.drawKeys();
      this.holding();
      this.view.append(this.verdict, h("div", { class: "sides" }, h("div", {}, h("p", { class: "note" }, "The query among the keys, by their numbers 0 and 1: drag it"), this.pad, this.sliders()),
        h("div", {}, h("p", { class: "note" }, "The output among the values"), this.plane, h("p", { class: "note" }, "Dashed: where it goes as the temperature falls from ∞ to 0."))),
        h("div", { class: "row", style: "margin-top:0.8rem" }, this.sqrt, none, reset), table);
      this.draw();
    }

    set(changes) {
      Object.assign(this, changes);
      this.draw();
    }

    move(i, value) {
      this.query[i] = between(Math.round(value / STEP) * STEP, -MOST, MOST);
    }

    /* Four sliders for the query's numbers, one for the temperature (its logarithm to the base 10, halves of a tenth). */
    sliders() {
      const row = (name, label, input) => [h("span", { "aria-hidden": "true" }, name), input, (this.shown[label] = h("output", {}))];
      const range = (label, least, most, step, act) => (this.inputs[label] = h("input", { type: "range", min: String(least), max: String(most), step: String(step), "aria-label": label, oninput: (event) => { act(Number(event.target.value)); this.draw(); } }));
      Object.assign(this, { shown: {}, inputs: {} });
      return h("div", { class: "knobs" }, QUERY.flatMap((_, i) => row(`query ${i}`, `query, number ${i}`, range(`query, number ${i}`, -MOST, MOST, STEP, (value) => this.move(i, value)))),
        row("temperature", "temperature", range("temperature", -1.3, 1.3, 0.05, (value) => { this.temperature = 10 ** value; })));
    }

    /* The pad: a mouse may drag anywhere, a finger the dot; a tap moves it there. */
    holding() {
      const to = (event) => {
        const box = this.pad.getBoundingClientRect(), span = 2 * (MOST + 0.6);
        this.move(0, ((event.clientX - box.left) / box.width) * span - span / 2);
        this.move(1, span / 2 - ((event.clientY - box.top) / box.height) * span);
        this.draw();
      };
      const held = (on) => () => this.pad.classList.toggle("held", on);
      this.pad.addEventListener("click", to);
      this.pad.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "touch" && !event.target.closest(".dot")) return; // it may be about to scroll
        this.pad.setPointerCapture(event.pointerId);
        held(true)();
        to(event);
      });
      this.pad.addEventListener("pointermove", (event) => { if (this.pad.classList.contains("held")) to(event); });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) this.pad.addEventListener(end, held(false));
      const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      this.pad.addEventListener("keydown", (event) => {
        const step = STEPS[event.key];
        if (!step) return;
        event.preventDefault();
        step.forEach((one, i) => this.move(i, this.query[i] + one * STEP * (event.shiftKey ? 4 : 1)));
        this.draw();
      });
    }

    draw() {
      const { query, scaled, temperature } = this, { scores, logits, weights, output } = this.result = attend(query, this);
      const shown = output.map((one) => one.toFixed(2));
      this.verdict.textContent = `${TOKENS.map(({ name }, t) => `${share(weights[t])} of ${name}`).join(", ")}: the output is (${shown.join(", ")}).`;
      this.sqrt.setAttribute("aria-pressed", String(scaled));
      this.scaleHead.replaceChildren(scaled ? "scaled" : "not scaled", h("small", {}, `÷ ${scaled ? "2" : "1"}${temperature === 1 ? "" : ` ÷ ${temperature.toFixed(2)}`}`));
      this.body.replaceChildren(...TOKENS.map(({ name, key, value }, t) => h("tr", {}, h("th", { scope: "row" }, h("b", {}, name), h("small", {}, `key ${vector(key)}`), h("small", {}, `value ${vector(value)}`)),
        h("td", {}, tidy(scores[t])), h("td", {}, tidy(logits[t])), h("td", {}, power(Math.exp(logits[t]))),
        h("td", {}, weights[t].toFixed(3), h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: `width:${100 * weights[t]}%` }))))));
      query.forEach((value, i) => {
        this.inputs[`query, number ${i}`].value = String(value);
        this.shown[`query, number ${i}`].textContent = tidy(value);
      });
      this.inputs.temperature.value = String(Math.log10(temperature));
      this.inputs.temperature.setAttribute("aria-valuetext", temperature.toFixed(2));
      this.shown.temperature.textContent = temperature.toFixed(2);
      this.drawPad();
      this.drawPlane();
      this.plane.setAttribute("aria-label", `The triangle of the values a, b and c; the output lies at ${shown.join(", ")}.`);
      this.say(`Query ${vector(query)}. ${this.verdict.textContent}`);
    }

    /* The plane of the first two numbers, y upwards: the keys as arrows, and the query, which `draw` moves. */
    drawKeys() {
      const side = MOST + 0.6, ticks = [-4, -2, 2, 4], labels = ["x='2.25' y='-0.9'", "x='-0.25' y='-0.9' text-anchor='end'", "x='-0.25' y='0.55' text-anchor='end'"];
      const arrows = TOKENS.map(({ name, key: [x, y] }, t) => `<path d="M0 0L${x} ${-y}" stroke="var(--ink)" stroke-width="0.09" stroke-dasharray="${DASHES[t]}"/>
        <circle cx="${x}" cy="${-y}" r="0.14" fill="var(--ink)"/><text ${labels[t]}>key ${name}</text>`);
      this.pad.innerHTML = `<svg viewBox="${-side} ${-side} ${2 * side} ${2 * side}" aria-hidden="true">
        ${ticks.map((at) => `<path d="M${at} ${-side}V${side}M${-side} ${at}H${side}" stroke="var(--rule)" stroke-width="0.03"/>`).join("")}
        <path d="M0 ${-side}V${side}M${-side} 0H${side}" stroke="var(--soft)" stroke-width="0.04"/>
        ${ticks.map((at) => `<text class="soft" x="${at}" y="0.5" text-anchor="middle">${tidy(at)}</text><text class="soft" x="-0.15" y="${0.15 - at}" text-anchor="end">${tidy(at)}</text>`).join("")}
        ${arrows.join("")}<line class="query" stroke="var(--warm)" stroke-width="0.12"/>
        <g class="dot"><circle r="0.8" fill="transparent"/><circle r="0.28" fill="var(--warm)" stroke="var(--ground)" stroke-width="0.08"/></g><text class="asks" style="font-weight:600">query</text></svg>`;
    }

    drawPad() {
      const [x, y] = this.query, set = (name, attributes) => { for (const [key, value] of Object.entries(attributes)) this.pad.querySelector(name).setAttribute(key, value); };
      set(".query", { x2: x, y2: -y });
      set(".dot", { transform: `translate(${x} ${-y})` });
      set(".asks", { x: x > 3 ? x - 0.4 : x + 0.4, y: -y - 0.3, "text-anchor": x > 3 ? "end" : "start" });
    }

    /* The plane of the values: their triangle, how much of each, and the output. */
    drawPlane() {
      const { weights, output: [x, y] } = this.result, corners = TOKENS.map(({ value: [a, b] }) => `${a},${-b}`).join(" ");
      const path = Array.from({ length: 81 }, (_, i) => attend(this.query, { scaled: this.scaled, temperature: i ? 10 ** (2 - i / 20) : 1e9 }).output).map(([a, b]) => `${a.toFixed(3)},${(-b).toFixed(3)}`).join(" ");
      const pulls = TOKENS.map(({ value: [a, b] }, t) => `<line x1="${a}" y1="${-b}" x2="${x}" y2="${-y}" stroke="var(--accent)" stroke-linecap="round" stroke-width="${0.5 * weights[t]}" opacity="0.55"/>`).join("");
      const names = TOKENS.map(({ name, value }, t) => `<circle cx="${value[0]}" cy="${-value[1]}" r="${0.12 + 0.5 * Math.sqrt(weights[t])}" fill="var(--accent)"/>
        <text x="${value[0]}" y="${name === "b" ? -11 : 1.5}" text-anchor="middle">${name} ${vector(value)}</text>`).join("");
      this.plane.innerHTML = `<svg viewBox="-2.2 -12 14.4 14" aria-hidden="true"><polygon points="${corners}" fill="var(--back)" stroke="var(--ink)" stroke-width="0.08" stroke-linejoin="round"/>
        ${pulls}<polyline class="way" points="${path}" fill="none" stroke="var(--warm)" stroke-width="0.09" stroke-dasharray="0.3 0.2"/>${names}
        <circle class="output" cx="${x}" cy="${-y}" r="0.34" fill="var(--warm)" stroke="var(--ground)" stroke-width="0.1"/><text x="${x}" y="${-y - 0.6}" text-anchor="middle" style="font-weight:600;paint-order:stroke;stroke:var(--ground);stroke-width:.2px">output</text></svg>`;
    }
  }

  define("vit-triangle", VitTriangle);
})();
