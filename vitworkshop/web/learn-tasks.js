/* Tasks for a ViT that learns, drawn without end: 16 x 16 grey pictures with shapes of 3 x 3 pixels on weak noise.

   Each isolates one idea; which parts it needs was measured (vitlib/results/learns.json). Shapes keep to the grid of
   4 x 4 patches, but for `where` and `shade`, where one stands anywhere. */
(function tasks(root) {
  "use strict";

  (root.vitSources ??= {}).tasks = `(${tasks})(globalThis);`;

  const SIZE = 16, CELLS = 4, NOISE = 0.15, MEAN = 0.1, DEVIATION = 0.3;
  // their names: t("where") t("same") t("line") t("odd one") t("shade") t("count")
  const SHAPES = ["111101111", "010111010", "101010101", "111010010"]; // ring, plus, X, T
  const [RING, , X] = SHAPES.keys();

  /* Each draws a picture by `put(shape, row, column, sign)` or `cell(shape, place)` and returns its label. */
  const TASKS = {
    where: {
      classes: [t("top left"), t("top right"), t("bottom left"), t("bottom right")],
      says: t("In which quarter is the shape?"),
      draw({ below }, { put }) {
        const row = below(14), column = below(14);
        put(below(4), row, column);
        return 2 * (row >= 7) + (column >= 7);
      },
    },
    same: {
      classes: [t("different"), t("alike")],
      says: t("Are the two shapes alike?"),
      draw({ below }, { cell }) {
        const label = below(2), one = below(4), other = label ? one : (one + 1 + below(3)) % 4, place = below(16);
        cell(one, place);
        cell(other, (place + 1 + below(15)) % 16);
        return label;
      },
    },
    line: {
      classes: [t("one column"), t("one row")],
      says: t("Do the two rings stand in one row or in one column?"),
      draw({ below }, { cell }) {
        const label = below(2), row = below(4), column = below(4), far = 1 + below(3);
        cell(RING, row * 4 + column);
        cell(RING, label ? row * 4 + ((column + far) % 4) : ((row + far) % 4) * 4 + column);
        return label;
      },
    },
    "odd one": {
      classes: [t("top left"), t("top right"), t("bottom left"), t("bottom right")],
      says: t("Which of the four corners has another shape than the rest?"),
      draw({ below }, { cell }) {
        const label = below(4), swap = below(2);
        [0, 3, 12, 15].forEach((place, i) => cell((i === label) !== Boolean(swap) ? X : RING, place));
        return label;
      },
    },
    shade: {
      classes: [t("ring"), t("plus"), "X", "T"],
      says: t("Which shape is it, light or dark?"),
      draw({ below }, { put }) {
        const label = below(4);
        put(label, below(14), below(14), below(2) ? 1 : -1);
        return label;
      },
    },
    count: {
      classes: [t("one"), t("two"), t("three"), t("four")],
      says: t("How many shapes are there?"),
      draw({ below }, { cell }) {
        const label = below(4), shape = below(4), used = new Set();
        while (used.size <= label) used.add(below(16));
        used.forEach((place) => cell(shape, place));
        return label;
      },
    },
  };

  /* n pictures of a task, standardised: { pixels (n, 1, 16, 16), labels (n) }. */
  function draw(task, n, random) {
    const pixels = new Float32Array(n * SIZE * SIZE), labels = [];
    for (let b = 0; b < n; b++) {
      const picture = pixels.subarray(b * SIZE * SIZE, (b + 1) * SIZE * SIZE);
      for (let i = 0; i < picture.length; i++) picture[i] = NOISE * random.uniform();
      const put = (shape, row, column, sign = 1) => [...SHAPES[shape]].forEach((on, i) => {
        picture[(row + Math.floor(i / 3)) * SIZE + column + (i % 3)] += sign * on;
      });
      const cell = (shape, place) => put(shape, Math.floor(place / CELLS) * 4, (place % CELLS) * 4);
      labels.push(TASKS[task].draw(random, { put, cell }));
      for (let i = 0; i < picture.length; i++) picture[i] = (picture[i] - MEAN) / DEVIATION;
    }
    return { pixels, labels };
  }

  /* A picture's pixels as greys from 0 to 255. */
  const greys = (pixels) => Uint8ClampedArray.from(pixels, (x) => 100 + 110 * (x * DEVIATION + MEAN));

  const of = (what) => Object.fromEntries(Object.entries(TASKS).map(([name, task]) => [name, task[what]]));
  root.vitTasks = { size: SIZE, classes: of("classes"), says: of("says"), draw, greys };
})(typeof window === "undefined" ? globalThis : window);
