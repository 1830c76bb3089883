/* What <vit-first> draws: `vitFirstDrawing(first)` gives { photo, maps, tokens, answer, draw, fly }, four nodes to place,
   and what draws them. All of it is HTML and SVG in the colours of first.css, so that the page can keep it as it stands. */
(() => {
  "use strict";

  const { argmax, clamp, h, paint, perCent, range } = window.vitExplorer;
  const ROWS = 12; // of a token's numbers are drawn
  const SHADES = 8; // of what is dark, and of each colour of a number
  const THUMBS = 40, TABLE = 53, FOOT = 122; // of the drawing of the tokens: where its parts begin, and where it ends
  const APEX = 0.79; // where the votes meet, a share of its width
  const LEAST = 0.14; // of the thickest curve: thinner ones are not drawn

  /* s("path", { d: "…" }, other nodes): as `h`, but SVG. */
  function s(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.flat());
    return made;
  }

  const whole = (p) => perCent(Math.round(100 * p));
  const shades = (name) => range(SHADES).map((k) => s("path", { class: name, opacity: (k + 1) / SHADES }));

  /* n squares as one path a shade: `shade(i)` is that of square i, from 0 (none) to 1; `square(i)` its "M … z". */
  function fill(paths, n, shade, square) {
    const drawn = paths.map(() => "");
    for (let i = 0; i < n; i++) {
      const k = Math.round(shade(i) * SHADES);
      if (k > 0) drawn[Math.min(k, SHADES) - 1] += square(i);
    }
    paths.forEach((path, k) => path.setAttribute("d", drawn[k]));
  }

  const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

  function drawing(first) {
    const { N, n, T, L, D, model: { classes } } = first;
    const row = (i) => Math.floor(i / n), col = (i) => i % n, cell = (i) => box(col(i), row(i), 1, 1);
    const lines = range(n - 1).map((k) => `M0 ${k + 1}h${n}M${k + 1} 0v${n}`).join("");
    const squared = { viewBox: `0 0 ${n} ${n}`, "aria-hidden": "true" };
    const frame = (name) => s("rect", { class: name, width: 1, height: 1 });

    // The photograph, as small as the model gets it, what is dark, and the curves
    const small = h("canvas", { class: "small", "aria-hidden": "true" }), dark = shades("dark"), grey = s("path", { class: "grey" });
    const curves = s("g", { class: "curves" }), frames = s("g", {}, frame("halo"), frame("followed"));
    const photo = h("div", { class: "photo" }, first.still, small,
      s("svg", squared, dark, grey, s("path", { class: "lines", d: lines }), curves, frames), first.grid.node);

    // What the patch reads in each block
    const blocks = range(L).map((l) => {
      const canvas = h("canvas"), shade = shades("dark"), mine = frame("followed"), vote = h("span");
      const node = h("button", { type: "button", onclick: () => first.set({ block: l, stop: first.last }) },
        h("span", { class: "map" }, canvas, s("svg", squared, shade, mine)), vote);
      return { node, canvas, shade, mine, vote };
    });
    const reading = h("p", { class: "label" });
    const maps = h("div", { class: "reads" }, reading, h("ol", {}, blocks.map(({ node }) => h("li", {}, node))));

    // The tokens, a column each, and their votes
    const wide = N + 2, x = (token) => (token ? token + 0.8 : 0.1); // where a column begins
    const high = (FOOT - TABLE) / ROWS, strip = h("canvas", { "aria-hidden": "true", width: N * first.P, height: first.P });
    const [above, below] = ["above", "below"].map(shades), votes = s("g", { class: "votes" });
    const mine = s("rect", { class: "followed", width: 1, y: THUMBS - 2, height: FOOT - THUMBS + 3 });
    const gaps = range(N).map((i) => `M${x(1 + i)} 0v${FOOT}`).join("");
    const table = s("g", { class: "table" }, s("path", { class: "cls", d: box(x(0), THUMBS, 0.86, 10) }), above, below,
      s("path", { class: "gaps", d: gaps }));
    const tokens = h("div", { class: "tokens" }, strip,
      s("svg", { viewBox: `0 0 ${wide} ${FOOT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, table, votes, mine));

    // The answer: all classes, in an order that never changes
    const [said, share, lens] = [h("span"), h("span"), h("p", { class: "label" })];
    const bars = classes.map((name) => {
      const [bar, was, value] = [h("i"), h("b"), h("dd", { class: "value" })];
      return { bar, was, value, row: h("div", {}, h("dt", {}, name), h("dd", { class: "bar", "aria-hidden": "true" }, bar, was), value) };
    });
    const answer = h("div", { class: "answer" }, lens, h("p", { class: "head" }, said, share),
      h("dl", {}, bars.map((one) => one.row)));

    /* From a patch to one that it reads; the curve bends upwards. */
    function curve(from, to) {
      const [x0, y0, x1, y1] = [col(from) + 0.5, row(from) + 0.5, col(to) + 0.5, row(to) + 0.5];
      const sign = x1 > x0 || (x1 === x0 && y1 > y0) ? 1 : -1, [bx, by] = [(y1 - y0) * sign * 0.19, (x0 - x1) * sign * 0.19];
      const along = (k) => [x0 + (x1 - x0) * k + bx, y0 + (y1 - y0) * k + by].map((v) => v.toFixed(2)).join(" ");
      return `M${x0} ${y0}C${along(0.33)} ${along(0.67)} ${x1} ${y1}`;
    }

    function drawPhoto() {
      const { patch, painted } = first.state, weights = first.reads(first.shown, patch), most = Math.max(...weights);
      const part = (i) => weights[i] / most;
      fill(dark, N, (i) => (i === patch || painted.includes(i) ? 0 : 1 - part(i) ** 0.75), cell);
      grey.setAttribute("d", painted.map(cell).join(""));
      frames.setAttribute("transform", `translate(${col(patch)} ${row(patch)})`);
      const read = range(N).filter((i) => i !== patch && part(i) > LEAST).sort((a, b) => weights[a] - weights[b]);
      curves.replaceChildren(...["halo", ""].flatMap((halo) => read.map((i) => s("path", {
        class: halo, d: curve(patch, i), opacity: (0.25 + 0.75 * part(i)).toFixed(2),
        "stroke-width": (0.02 + 0.13 * part(i) ** 1.3 + (halo ? 0.06 : 0)).toFixed(3) }))),
      ...read.map((i) => s("circle", { cx: col(i) + 0.5, cy: row(i) + 0.5, r: (0.03 + 0.11 * part(i)).toFixed(3) })));
    }

    function drawMaps() {
      const { patch } = first.state, best = argmax(first.result.probs);
      blocks.forEach(({ node, shade, mine: framed, vote }, l) => {
        const weights = first.reads(l, patch), most = Math.max(...weights), says = first.votes(1 + l)[best + patch * classes.length];
        fill(shade, N, (i) => 1 - Math.sqrt(weights[i] / most), cell);
        framed.setAttribute("transform", `translate(${col(patch)} ${row(patch)})`);
        vote.textContent = first.depth > l ? whole(says) : "\u00a0";
        node.setAttribute("aria-pressed", l === first.shown);
        node.setAttribute("aria-label", t("Block {l}: after it, this patch's token says {answer}, {share}", {
          l: l + 1, answer: classes[best], share: whole(says) }));
        node.classList.toggle("later", first.depth < l + 1);
      });
      reading.replaceChildren(h("b", {}, t("Blocks 1 to {L}:", { L })), " ",
        first.stop < first.last ? t("what the framed patch reads")
          : t("what the framed patch reads; its vote for {answer}", { answer: classes[best] }));
    }

    function drawTokens() {
      const { patch } = first.state, numbers = first.result.tokens.subarray(first.depth * T * D, (first.depth + 1) * T * D);
      const most = 2.2 * Math.sqrt(numbers.reduce((sum, v) => sum + v * v, 0) / numbers.length);
      const every = Math.floor(D / ROWS), middle = Math.floor(every / 2);
      const at = (i) => numbers[Math.floor(i / ROWS) * D + (i % ROWS) * every + middle] / most;
      const square = (i) => box(x(Math.floor(i / ROWS)), (TABLE + (i % ROWS) * high).toFixed(1), 0.86, (high - 1).toFixed(1));
      fill(above, T * ROWS, (i) => clamp(at(i), 0, 1), square);
      fill(below, T * ROWS, (i) => clamp(-at(i), 0, 1), square);
      mine.setAttribute("x", x(1 + patch) - 0.07);
      const best = argmax(first.result.probs), K = classes.length, each = first.votes(L), apex = wide * APEX;
      const order = range(N).sort((a, b) => (a === patch) - (b === patch));
      votes.replaceChildren(...order.map((i) => {
        const from = x(1 + i) + 0.43, vote = each[i * K + best];
        const d = `M${from} ${THUMBS - 3}C${from} 6 ${(apex + (from - apex) * 0.16).toFixed(2)} 24 ${apex} 2`;
        return s("path", { d, class: i === patch ? "followed" : "", opacity: (i === patch ? 1 : 0.12 + 0.4 * vote).toFixed(2) });
      }), s("path", { class: "tip", d: `M${apex - 0.6} 8L${apex} 0L${apex + 0.6} 8z` }));
    }

    function drawAnswer() {
      const { stop, last, before } = first, open = stop < last - 1, probs = stop === last ? first.result.probs : first.answers(first.depth).whole;
      const best = argmax(probs);
      bars.forEach(({ row: line, bar, was, value }, k) => {
        bar.style.setProperty("--p", open ? 0 : probs[k].toFixed(3));
        was.style.setProperty("--p", before[k].toFixed(3));
        value.textContent = open ? "" : whole(probs[k]);
        line.className = !open && k === best ? "best" : "";
      });
      said.textContent = open ? "…" : classes[best];
      share.textContent = open ? "" : whole(probs[best]);
      lens.textContent = open ? t("No answer yet") : stop < last ? t("If it answered after block {l}", { l: first.depth })
        : t("Its answer: the mean of {N} votes", { N });
    }

    /* A new picture, or new grey. */
    function sharpen() {
      paint(first.seen, small);
      blocks.forEach(({ canvas }) => paint(first.seen, canvas));
      const context = strip.getContext("2d"), { P } = first;
      range(N).forEach((i) => context.drawImage(small, col(i) * P, row(i) * P, P, P, i * P, 0, P, P));
    }

    /* Patches on their way to their columns, in so many milliseconds. */
    function fly(time) {
      const stage = photo.parentNode, [from, to, all] = [photo, strip, stage].map((node) => node.getBoundingClientRect());
      const side = from.width / n, air = h("div", { class: "air", "aria-hidden": "true" }, range(N).map((i) => {
        const one = h("i", { style: `background-position:${(100 * col(i)) / (n - 1)}% ${(100 * row(i)) / (n - 1)}%;width:${side}px` });
        const [left, top] = [from.left - all.left + col(i) * side, from.top - all.top + row(i) * side];
        const end = [to.left - all.left + ((i + 0.5) * to.width) / N - side / 2, to.top - all.top + to.height / 2 - side / 2];
        one.animate([{ transform: `translate(${left}px,${top}px)`, opacity: 1 },
          { transform: `translate(${end[0]}px,${end[1]}px) scale(${10 / side})`, opacity: 1 }],
        { duration: time * 0.4, delay: (time * 0.6 * i) / N, easing: "ease-in-out" });
        return one;
      }));
      air.style.setProperty("--small", `url(${small.toDataURL()})`);
      stage.append(air);
      setTimeout(() => air.remove(), time);
    }

    return { photo, maps, tokens, answer, fly, sharpen, draw() {
      drawPhoto();
      drawMaps();
      drawTokens();
      drawAnswer();
    } };
  }

  window.vitFirstDrawing = drawing;
})();
