/* Position embeddings, and how they are read on another grid: what `vl.sincos_2d` and `vl.resample_pos_embed` compute.

   A table is an array (N, D), a place after the other in reading order, without CLS. Weights are rows, one for each new
   place: what it takes from each old one. Chapter 04 derives them; where PyTorch rounds to float32, so do we. */
(() => {
  "use strict";

  const f32 = Math.fround;

  /* `vl.sincos_2d`: (N, D), [sin(row w), cos(row w), sin(column w), cos(column w)]. */
  function sincos2d([R, C], D) {
    const K = D / 4, table = new Float32Array(R * C * D);
    for (let n = 0; n < R * C; n++)
      [Math.floor(n / C), n % C].forEach((p, half) => {
        for (let k = 0; k < K; k++) {
          const angle = f32(p * f32(10000 ** f32(-k / K)));
          table[n * D + 2 * half * K + k] = Math.sin(angle);
          table[n * D + (2 * half + 1) * K + k] = Math.cos(angle);
        }
      });
    return table;
  }

  /* An untrained table: normal, standard deviation 0.02, by Box and Muller's rule. */
  const untrained = (size) => Float32Array.from({ length: size }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - Math.random())), angle = 2 * Math.PI * Math.random();
    return 0.02 * radius * Math.cos(angle);
  });

  // Weights on a line: (new, old), row i is what new place i takes from each old place

  const centres = (old, now) => Array.from({ length: now }, (_, i) => ((i + 0.5) * old) / now - 0.5);
  const triangle = (x) => Math.max(0, 1 - Math.abs(x));
  const keys = (a) => (x) => {
    const u = Math.abs(x);
    return u <= 1 ? 1 - (a + 3) * u ** 2 + (a + 2) * u ** 3 : u < 2 ? a * (u - 1) * (u - 2) ** 2 : 0;
  };
  /* What lies beyond the edge counts as the edge. */
  const repeated = (kernel) => (old, now) => centres(old, now).map((x) => {
    const row = new Float64Array(old);
    for (let j = Math.floor(x) - 2; j <= x + 3; j++) row[Math.min(old - 1, Math.max(0, j))] += kernel(j - x);
    return row;
  });
  /* Distances in new places where the grid shrinks; each row is divided by its sum. */
  const antialiased = (kernel) => (old, now) => centres(old, now).map((x) => {
    const wide = Math.max(old / now, 1), row = Float64Array.from({ length: old }, (_, j) => kernel((j - x) / wide));
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((weight) => weight / sum);
  });
  const nearest = (old, now) => centres(old, now).map((_, i) => {
    const row = new Float64Array(old);
    row[Math.min(old - 1, Math.floor(f32((i + 0.5) * f32(old / now))))] = 1;
    return row;
  });
  const METHODS = {
    "bicubic, antialiased": antialiased(keys(-0.5)),
    bicubic: repeated(keys(-0.75)),
    bilinear: repeated(triangle),
    nearest,
  };

  /* Weights on a grid: (N', N), the product of the weight down and the weight across. */
  const outer = (rows, cols) => Float64Array.from({ length: rows.length * cols.length }, (_, n) =>
    rows[Math.floor(n / cols.length)] * cols[n % cols.length]);
  const product = (down, across) => down.flatMap((rows) => across.map((cols) => outer(rows, cols)));
  const only = (place, N) => Float64Array.from({ length: N }, (_, n) => Number(n === place));
  const LAYOUTS = {
    "rows and columns": (line, old, now) => product(line(old[0], now[0]), line(old[1], now[1])),
    "one line": (line, old, now) => line(old[0] * old[1], now[0] * now[1]),
    "(columns, rows), swapped": (line, old, now) => product(line(old[0], now[1]), line(old[1], now[0])),
    "the first N, then again": (line, old, now) => {
      const N = old[0] * old[1];
      return Array.from({ length: now[0] * now[1] }, (_, i) => only(i % N, N));
    },
  };

  /* (N', N) times (N, D). */
  function apply(weights, table, D) {
    const out = new Float64Array(weights.length * D);
    weights.forEach((row, i) => row.forEach((weight, n) => {
      if (weight) for (let k = 0; k < D; k++) out[i * D + k] += weight * table[n * D + k];
    }));
    return Float32Array.from(out);
  }

  /* Cosines of all pairs of rows, (N, N); `centred`: after the mean of all rows is subtracted. */
  function cosines(table, D, centred) {
    const N = table.length / D, unit = Float64Array.from(table);
    for (let k = 0; k < D && centred; k++) {
      let mean = 0;
      for (let n = 0; n < N; n++) mean += table[n * D + k] / N;
      for (let n = 0; n < N; n++) unit[n * D + k] -= mean;
    }
    for (let n = 0; n < N; n++) {
      const row = unit.subarray(n * D, (n + 1) * D), length = Math.max(1e-12, Math.hypot(...row));
      row.forEach((value, k) => { row[k] = value / length; });
    }
    const alike = Array.from({ length: N }, () => new Float64Array(N));
    for (let i = 0; i < N; i++) for (let j = 0; j <= i; j++) {
      let dot = 0;
      for (let k = 0; k < D; k++) dot += unit[i * D + k] * unit[j * D + k];
      alike[i][j] = alike[j][i] = dot;
    }
    return alike;
  }

  window.vitResample = { sincos2d, untrained, centres, METHODS, LAYOUTS, apply, cosines };
})();
