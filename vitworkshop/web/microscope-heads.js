/* All heads of a model side by side in one picture: what one token reads of the patches in each block. The chosen map
   stands below, beside how long the tokens are that it reads: `vitHeads(microscope)` gives { node, draw }. */
(() => {
  "use strict";

  const { h, note, onArrows, paint, pair, percent, pointer, range, sentences, squares, title } = window.vitExplorer;
  const GAP = 5, LEFT = 22, TOP = 14, BELOW = 12; // pixels: between maps, for the blocks' and heads' numbers, below a map
  const FLAT = 0.8, LONG = 2; // shares of all patches in effect; times the median length

  window.vitHeads = (scope) => {
    const picture = h("canvas", { tabindex: "0", role: "img" }), large = h("canvas"), lengths = h("canvas"), says = h("p", { role: "status" });
    const asker = h("select", { "aria-label": t("Who asks"), onchange: () => draw() });
    const node = h("div", { class: "trust" }, title(t("All heads side by side")), h("div", { class: "row" }, t("Who asks"), asker),
      note(t("A row a block, a column a head. Each map has a scale of its own, from zero; below it stands how many patches are read in "
        + "effect. Press one, or walk with the arrow keys.")), h("div", { class: "scroll" }, picture), says,
      pair([note(t("What it reads: the larger a square, the more")), large], [note(t("How long each patch's token is there")), lengths]));
    let found, seen, chosen; // chosen: [block, head]

    const asks = (token) => ({ followed: 1 + scope.way.state.patch })[token] ?? Number(token);
    const ours = ([l, head]) => { // the patches' part of a row
      const { N, T, heads } = scope.way, at = (l * heads + head) * T;
      return found.maps.subarray(at + 1, at + 1 + N);
    };

    /* How many patches are read in effect: e to the entropy of their shares. */
    function effect(weights) {
      const all = weights.reduce((a, b) => a + b, 0);
      return Math.exp(weights.reduce((sum, w) => sum - (w > 0 ? (w / all) * Math.log(w / all) : 0), 0));
    }

    function drawAll() {
      const { heads, L, n } = scope.way, context = picture.getContext("2d"), css = getComputedStyle(scope);
      const rows = range(L).filter((l) => ours([l, 0]).some((w) => w > 0)), room = (picture.parentNode.clientWidth || 640) - LEFT;
      const scale = Math.max(2, Math.floor(Math.min(64, room / heads - GAP) / n)), side = n * scale;
      const at = (column, row) => [LEFT + column * (side + GAP), TOP + row * (side + GAP + BELOW)];
      [picture.width, picture.height] = at(heads, rows.length);
      picture.style.width = `${picture.width}px`;
      context.font = "10px system-ui, sans-serif";
      const [ink, ground, accent, warm] = ["--ink", "--ground", "--accent", "--warm"].map((name) => css.getPropertyValue(name));
      context.fillStyle = ground;
      context.fillRect(0, 0, picture.width, picture.height);
      rows.forEach((l, row) => range(heads).forEach((head) => {
        const [x, y] = at(head, row), weights = ours([l, head]), most = Math.max(...weights);
        context.fillStyle = ink;
        if (!row) context.fillText(String(head), x, TOP - 4);
        if (!head) context.fillText(String(l), 2, y + side / 2);
        context.fillText(effect(weights).toFixed(0), x, y + side + BELOW - 2);
        context.fillStyle = accent;
        weights.forEach((w, i) => {
          context.globalAlpha = 0.04 + (0.96 * w) / most;
          context.fillRect(x + (i % n) * scale, y + Math.floor(i / n) * scale, scale, scale);
        });
        context.globalAlpha = 1;
        if (l !== chosen[0] || head !== chosen[1]) return;
        context.strokeStyle = warm;
        context.lineWidth = 3;
        context.strokeRect(x - 1.5, y - 1.5, side + 3, side + 3);
      }));
      picture.onclick = (event) => {
        const [x, y] = pointer(event, picture), head = Math.floor((x * picture.width - LEFT) / (side + GAP));
        choose(rows[Math.floor((y * picture.height - TOP) / (side + GAP + BELOW))], head);
      };
    }

    function choose(l, head) {
      const { heads, L } = scope.way;
      if (l >= 0 && l < L && head >= 0 && head < heads && ours([l, head]).some((w) => w > 0)) chosen = [l, head];
      show();
    }
    onArrows(picture, (down, across) => choose(chosen[0] + down, chosen[1] + across));

    /* The chosen map, and in words why it is flat or spotted, if it is. */
    function show() {
      const { way } = scope, { N, T, heads } = way, [l, head] = chosen, weights = ours(chosen), most = Math.max(...weights), shown = paint(way.shown);
      const long = found.norms.subarray(l * T + 1, l * T + 1 + N), middle = [...long].sort((a, b) => a - b)[N >> 1], longest = Math.max(...long);
      const row = found.maps.subarray((l * heads + head) * T, (l * heads + head + 1) * T), sum = (list) => list.reduce((a, b) => a + b, 0);
      const spots = range(N).filter((i) => long[i] > LONG * middle), share = sum(spots.map((i) => weights[i])), others = T - 1 - N;
      drawAll();
      squares(large, way, Array.from(weights, (w) => w / most), { picture: shown });
      squares(lengths, way, Array.from(long, (v) => v / longest), { picture: shown });
      says.textContent = sentences(
        t("Block {l}, head {head}: {few} of {N} patches make up half of what it reads of them, {effect} are read in effect; the most that one gets is {most}.", {
          l, head, N, few: window.vitRankings.halfOf(weights), effect: effect(weights).toFixed(0), most: percent(most) }),
        row[0] > 0.01 && t("CLS gets {share}.", { share: percent(row[0]) }),
        others && t("The registers get {share}.", { share: percent(sum(row.subarray(1 + N))) }),
        effect(weights) > FLAT * N && t("Flat: nearly all patches are read alike, as a mean would; where they lie in the map says little."),
        share > 4 * spots.length / N && t("Spotted: {n} patches whose tokens are more than twice as long as the median (right) get {share} of it. "
          + "In large models such tokens were found to hold the picture as a whole and little of their own place; registers take their part "
          + "(Darcet et al. 2024).", { n: spots.length, share: percent(share) }));
      picture.setAttribute("aria-label", says.textContent);
    }

    async function draw() {
      const { lab, model, way } = scope, { class_token, reg_tokens = 0 } = model.config, { L, N } = way, was = asker.value;
      const names = { ...(class_token !== false && { 0: "CLS" }), ...(L > model.config.depth && { 0: t("the question") }), followed: t("the followed token"),
        ...Object.fromEntries(range(reg_tokens).map((r) => [1 + N + r, t("register {r}", { r })])) };
      if (asker.children.length !== Object.keys(names).length)
        asker.replaceChildren(...Object.entries(names).map(([value, name]) => h("option", { value }, name)));
      asker.value = names[was] ? was : names[0] ? "0" : "followed";
      const token = asks(asker.value), asked = `${way.picture} ${way.has} ${token}`;
      if (asked === seen) return found && show();
      seen = asked;
      const got = await lab.ask("heads", { t: token });
      if (seen !== asked) return;
      found = got;
      const read = ([l, head]) => ours([l, head]).some((w) => w > 0);
      if (!chosen || !read(chosen)) chosen = [range(L).findLast((l) => read([l, 0])) ?? L - 1, 0];
      show();
    }
    return { node, draw };
  };
})();
