/* `linear` of vit.js on four numbers at once (SIMD), where the browser can; learn.js takes it from `vitMath`.

   WASM is linear.wat, assembled: `python -m tools.kernel` writes it here. Small products stay in JavaScript. */
(function kernel(root) {
  "use strict";

  (root.vitSources ??= {}).kernel = `(${kernel})(globalThis);`;

  const WASM = "AGFzbQEAAAABEAJgAXsBfWAHf39/f39/fwADAwIAAQUDAQAgBxMCBm1lbW9yeQIABmxpbmVhcgABCuACAhkAIAD9HwAgAP0fAZIgAP0fAiAA/R8DkpILwwICBn8FeyAEQQJ0IQoDQEEAIQgDQCACIAggCmxqIQz9DAAAAAAAAAAAAAAAAAAAAAAhDiAOIQ8gDiEQIA4hEUEAIQkDQCAAIAlq/QAEACENIAwgCWohCyAOIA0gC/0ABAD95gH95AEhDiALIApqIQsgDyANIAv9AAQA/eYB/eQBIQ8gCyAKaiELIBAgDSAL/QAEAP3mAf3kASEQIAsgCmohCyARIA0gC/0ABAD95gH95AEhESAJQRBqIQkgCSAKSQ0ACyAIQQJ0IQsgAyALaiEMIAYgC2ohCyALIA4QACAMKgIAkjgCACALIA8QACAMKgIEkjgCBCALIBAQACAMKgIIkjgCCCALIBEQACAMKgIMkjgCDCAIQQRqIQggCCAFSQ0ACyAAIApqIQAgBiAFQQJ0aiEGIAdBAWohByAHIAFJDQALCwBxBG5hbWUBBgEAA3N1bQJEAgABAAF2ARIAAXgBAVQCAXcDAWIEAUkFAU8GAXkHAXQIAW8JAWkKA3JvdwsBcAwBcQ0Bdg4CczAPAnMxEAJzMhECczMDHAEBAwAGdG9rZW5zAQdvdXRwdXRzAgZpbnB1dHM=";
  const SMALL = 8000; // multiplications that JavaScript has done before the numbers are copied
  const plain = root.vitMath.linear, four = (n) => (n + 3) & ~3;
  let code;
  try {
    const bytes = Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0));
    code = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  } catch {
    return; // plain JavaScript does it all
  }

  /* Rows of `from` numbers into the kernel's memory, `to` apart, with zeros between. */
  function put(memory, at, x, rows, from, to) {
    if (from === to) return memory.set(x.subarray(0, rows * from), at);
    memory.fill(0, at, at + rows * to);
    for (let r = 0; r < rows; r++) memory.set(x.subarray(r * from, (r + 1) * from), at + r * to);
  }

  function linear(x, T, weight, bias, I, O) {
    if (T * I * O < SMALL) return plain(x, T, weight, bias, I, O);
    const inputs = four(I), outputs = four(O), w = T * inputs, b = w + outputs * inputs, y = b + outputs;
    const missing = 4 * (y + T * outputs) - code.memory.buffer.byteLength;
    if (missing > 0) code.memory.grow(Math.ceil(missing / 65536));
    const memory = new Float32Array(code.memory.buffer);
    put(memory, 0, x, T, I, inputs);
    put(memory, w, weight, O, I, inputs);
    put(memory, b, bias, 1, O, outputs);
    code.linear(0, T, 4 * w, 4 * b, inputs, outputs, 4 * y);
    if (O === outputs) return memory.slice(y, y + T * O);
    const out = new Float32Array(T * O);
    for (let t = 0; t < T; t++) out.set(memory.subarray(y + t * outputs, y + t * outputs + O), t * O);
    return out;
  }

  Object.assign(root.vitMath, { linear, plain });
})(typeof window === "undefined" ? globalThis : window);
