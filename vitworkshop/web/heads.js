/* All heads of a model side by side in one picture: what one token reads of the patches in each block; below it the chosen
   map, and how long the tokens are that it reads, if that is known.

   `vitHeads(view)` gives { node, big, show }, big being the chosen map: view() is the explorer, with its N, n, T, L, heads and `shown`; show({ maps (L, h, T),
   norms (L, T) }) draws. */
(() => {
  "use strict";

  const { h, note, onArrows, paint, percent, pointer, range, sentences, squares } = window.vitExplorer;
  const GAP = 5, LEFT = 22, TOP = 14, BELOW = 16; // pixels: between maps, for the blocks' and heads' numbers, below a map
  const FLAT = 0.8, LONG = 2; // share of all patches in effect; times the median length

  /* How many patches are read in effect: e to the entropy of their shares. */
  function effect(weights) {
    const all = weights.reduce((a, b) => a + b, 0);
    return Math.exp(weights.reduce((sum, w) => sum - (w > 0 ? (w / all) * Math.log(w / all) : 0), 0));
  }

  window.vitHeads = (view) => {
    const picture = h("canvas", { tabindex: "0", role: "img" }), large = h("canvas"), lengths = h("canvas"), says = h("p");
    const [big, theirs] = [[t("What it reads: the larger a square, the more"), large], [t("How long each patch's token is there"), lengths]]
      .map(([what, canvas]) => h("div", {}, note(what), canvas));
    const node = h("div", {}, note(t("All heads side by side: a row a block, a column a head. Each map has a scale of its own, from zero; below it "
      + "stands how many patches are read in effect. Press one, or walk with the arrow keys.")), h("div", { class: "scroll" }, picture), says,
    h("div", { class: "sides" }, big, theirs));
    let found, chosen; // chosen: [block, head]

    const row = ([l, head]) => found.maps.subarray((l * view().heads + head) * view().T, (l * view().heads + head + 1) * view().T);
    const ours = (at) => row(at).subarray(1, 1 + view().N); // the patches' part
    const reads = (at) => ours(at).some((w) => w > 0); // a question asks in its own block alone

    function drawAll() {
      const { heads, L, n } = view(), context = picture.getContext("2d"), css = getComputedStyle(view());
      const rows = range(L).filter((l) => reads([l, 0])), room = (picture.parentNode.clientWidth || 640) - LEFT;
      const scale = Math.max(2, Math.floor(Math.min(64, room / heads - GAP) / n)), side = n * scale;
      const at = (column, line) => [LEFT + column * (side + GAP), TOP + line * (side + GAP + BELOW)];
      [picture.width, picture.height] = at(heads, rows.length);
      picture.style.width = `${picture.width}px`;
      context.font = "10px system-ui, sans-serif";
      const [ink, ground, accent, warm] = ["--ink", "--ground", "--accent", "--warm"].map((name) => css.getPropertyValue(name));
      context.fillStyle = ground;
      context.fillRect(0, 0, picture.width, picture.height);
      rows.forEach((l, line) => range(heads).forEach((head) => {
        const [x, y] = at(head, line), weights = ours([l, head]), most = Math.max(...weights);
        context.fillStyle = ink;
        if (!line) context.fillText(String(head), x, TOP - 4);
        if (!head) context.fillText(String(l), 2, y + side / 2);
        context.fillText(effect(weights).toFixed(0), x, y + side + 13);
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
        const [x, y] = pointer(event, picture);
        choose(rows[Math.floor((y * picture.height - TOP) / (side + GAP + BELOW))], Math.floor((x * picture.width - LEFT) / (side + GAP)));
      };
    }

    function choose(l, head) {
      if (l >= 0 && l < view().L && head >= 0 && head < view().heads && reads([l, head])) chosen = [l, head];
      draw();
    }
    onArrows(picture, (down, across) => choose(chosen[0] + down, chosen[1] + across));

    /* The chosen map, and in words why it is flat or spotted, if it is. */
    function draw() {
      const { N, T, shown } = view(), [l, head] = chosen, weights = ours(chosen), most = Math.max(...weights), photo = paint(shown);
      const long = found.norms?.subarray(l * T + 1, l * T + 1 + N) ?? [], middle = [...long].sort((a, b) => a - b)[N >> 1];
      const sum = (list) => list.reduce((a, b) => a + b, 0), spots = range(N).filter((i) => long[i] > LONG * middle);
      const share = sum(spots.map((i) => weights[i]));
      drawAll();
      squares(large, view(), Array.from(weights, (w) => w / most), { picture: photo });
      theirs.hidden = !long.length;
      if (long.length) squares(lengths, view(), Array.from(long, (v) => v / Math.max(...long)), { picture: photo });
      says.textContent = sentences(
        t("Block {l}, head {head}: {few} of {N} patches make up half of what it reads of them, {effect} are read in effect; the most that one gets is {most}.", {
          l, head, N, few: window.vitRankings.halfOf(weights), effect: effect(weights).toFixed(0), most: percent(most) }),
        row(chosen)[0] > 0 && t("CLS gets {share}.", { share: percent(row(chosen)[0]) }),
        T > 1 + N && t("The registers get {share}.", { share: percent(sum(row(chosen).subarray(1 + N))) }),
        effect(weights) > FLAT * N && t("Flat: nearly all patches are read alike, as a mean would; where they lie in the map says little."),
        share > (4 * spots.length) / N && t("Spotted: {n} patches whose tokens are more than twice as long as the median get {share} of it. In large "
          + "models such tokens were found to hold the picture as a whole and little of their own place; registers take their part (Darcet et al. 2024).",
        { n: spots.length, share: percent(share) }));
      picture.setAttribute("aria-label", says.textContent);
    }

    function show(made) {
      const { L } = view();
      found = made;
      if (!chosen || chosen[0] >= L || chosen[1] >= view().heads || !reads(chosen)) chosen = [range(L).findLast((l) => reads([l, 0])) ?? L - 1, 0];
      draw();
    }
    return { node, big, show };
  };
})();
