/* The products of vit.js on four numbers at once (SIMD), where the browser can: `vitMath.products` for weights that stay
   as they are, which are packed once, and `vitMath.linear` for those that learn.

   WASM is panels.wat, assembled: `python -m tools.kernel` writes it here. Small products stay in JavaScript. */
(function panels(root) {
  "use strict";

  (root.vitSources ??= {}).panels = `(${panels})(globalThis);`;

  const WASM = "AGFzbQEAAAABDAFgCH9/f39/f39/AAMCAQAFAwEAAQcSAgZtZW1vcnkCAAV0aW1lcwAACvUEAfIEDgR/A3sBfwJ7AX8CewF/AnsBfwJ7AX8CewF/AnsDQEEAIQggACEPIAYhCwNAIA8gAWohEiASIAFqIRUgFSABaiEYIBggAWohGyAbIAFqIR4gA/0ABAAhECAD/QAEECERIBAhEyARIRQgECEWIBEhFyAQIRkgESEaIBAhHCARIR0gECEfIBEhICADIQogBCEJA0AgCkEgaiEKIAr9AAQAIQ0gCv0ABBAhDiAP/QkCACEMIBAgDCAN/eYB/eQBIRAgESAMIA795gH95AEhESAPQQRqIQ8gEv0JAgAhDCATIAwgDf3mAf3kASETIBQgDCAO/eYB/eQBIRQgEkEEaiESIBX9CQIAIQwgFiAMIA395gH95AEhFiAXIAwgDv3mAf3kASEXIBVBBGohFSAY/QkCACEMIBkgDCAN/eYB/eQBIRkgGiAMIA795gH95AEhGiAYQQRqIRggG/0JAgAhDCAcIAwgDf3mAf3kASEcIB0gDCAO/eYB/eQBIR0gG0EEaiEbIB79CQIAIQwgHyAMIA395gH95AEhHyAgIAwgDv3mAf3kASEgIB5BBGohHiAJQQFrIgkNAAsgCyAQ/QsEACALIBH9CwQQIAsgB2ohCyALIBP9CwQAIAsgFP0LBBAgCyAHaiELIAsgFv0LBAAgCyAX/QsEECALIAdqIQsgCyAZ/QsEACALIBr9CwQQIAsgB2ohCyALIBz9CwQAIAsgHf0LBBAgCyAHaiELIAsgH/0LBAAgCyAg/QsEECALIAdqIQsgHiABIARBAnRraiEPIAhBBmoiCCACSQ0ACyAKQSBqIQMgBkEgaiEGIAVBCGsiBQ0ACws=";
  const SMALL = 4000; // multiplications that JavaScript has done before the numbers are copied
  const plain = { ...root.vitMath.products }, up = (n, m) => Math.ceil(n / m) * m, places = new WeakMap();
  let code, memory, top = 0; // below `top` lie weights
  try {
    const bytes = Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0));
    code = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    memory = new Float32Array(code.memory.buffer);
  } catch {
    return; // plain JavaScript does it all
  }

  function room(end) {
    const missing = 4 * end - code.memory.buffer.byteLength;
    if (missing <= 0) return;
    code.memory.grow(Math.ceil(missing / 65536));
    memory = new Float32Array(code.memory.buffer); // the old one is empty
  }

  /* O rows of I weights, `down` and within a row `along` apart from w[first] on, as panels of eight at `at`, with the
     biases; returns where they end. */
  function pack(at, w, O, I, first, down, along, scale = 1, bias = null) {
    const end = at + up(O, 8) * (1 + I);
    room(end);
    for (let o = 0; o < O; o++) {
      const to = at + (o & ~7) * (1 + I) + (o & 7), from = first + o * down;
      memory[to] = bias ? bias[o] : 0;
      for (let i = 0; i < I; i++) memory[to + 8 * (1 + i)] = w[from + i * along] * scale;
    }
    return end;
  }

  /* x into memory at `at`; returns where it ends, with six tokens more, which may be read but count for nothing. */
  function put(x, at, wide) {
    room(at + x.length + 6 * wide);
    memory.set(x, at);
    return at + x.length + 6 * wide;
  }

  /* T rows of I numbers at x, `wide` apart, times panels at w; their O numbers into `out`, from `to` on `far` apart.
     From y on memory is free. */
  function times(x, wide, T, w, I, O, y, out, to, far) {
    const O8 = up(O, 8), T6 = up(T, 6);
    room(y + T6 * O8);
    code.times(4 * x, 4 * wide, T6, 4 * w, I, O8, 4 * y, 4 * O8);
    for (let t = 0; t < T; t++) out.set(memory.subarray(y + t * O8, y + t * O8 + O), to + t * far);
  }

  function packed(x, T, weight, bias, I, O) {
    if (T * I * O < SMALL) return plain.linear(x, T, weight, bias, I, O);
    if (!places.has(weight)) {
      places.set(weight, top);
      top = pack(top, weight, O, I, 0, I, 1, 1, bias);
    }
    const out = new Float32Array(T * O), y = put(x, top, I);
    times(top, I, T, places.get(weight), I, O, y, out, 0, O);
    return out;
  }

  function linear(x, T, weight, bias, I, O) {
    if (T * I * O < SMALL) return plain.linear(x, T, weight, bias, I, O);
    const out = new Float32Array(T * O), w = put(x, top, I);
    times(top, I, T, w, I, O, pack(w, weight, O, I, 0, I, 1, 1, bias), out, 0, O);
    return out;
  }

  function scores(qkv, T, D, h, out) {
    const d = D / h, keys = put(qkv, top, 3 * D);
    for (let head = 0; head < h; head++) {
      const y = pack(keys, qkv, T, d, D + head * d, 3 * D, 1, 1 / Math.sqrt(d));
      times(top + head * d, 3 * D, T, keys, d, T, y, out, head * T * T, T);
    }
  }

  function mix(weights, qkv, T, D, h) {
    const d = D / h, out = new Float32Array(T * D), values = put(weights, top, T);
    for (let head = 0; head < h; head++) {
      const y = pack(values, qkv, d, T, 2 * D + head * d, 1, 3 * D);
      times(top + head * T * T, T, T, values, T, d, y, out, head * d, D);
    }
    return out;
  }

  Object.assign(root.vitMath.products, { linear: packed, scores, mix });
  Object.assign(root.vitMath, { linear, plain });
})(typeof window === "undefined" ? globalThis : window);
