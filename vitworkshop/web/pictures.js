/* Any picture as a model's pixels, exactly as `vl.load_image` and `vl.normalize` make them: the middle square, shrunk
   by averaging areas (OpenCV's INTER_AREA; enlarged by its INTER_CUBIC), rounded to bytes, then from -1 to 1.

   The canvas's own smoothing would give other numbers, and another answer. Nothing leaves the page. */
((root) => {
  "use strict";

  const MOST = 4096; // pixels a side; larger pictures are drawn smaller first, or a phone runs out of memory

  /* Of n outputs, for each: the first input that counts and the weights of it and those after it. */
  function area(size, n) {
    const scale = size / n;
    return Array.from({ length: n }, (_, i) => {
      const start = i * scale, end = Math.min(size, start + scale), first = Math.floor(start), weights = [];
      const share = (j) => (Math.min(j + 1, end) - Math.max(j, start)) / (end - start);
      for (let j = first; j < end - 1e-9; j++) weights.push(share(j));
      return [first, weights];
    });
  }

  function cubic(size, n) {
    const a = -0.75, scale = size / n;
    const near = (x) => ((a + 2) * x - (a + 3)) * x * x + 1, far = (x) => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return Array.from({ length: n }, (_, i) => {
      const place = (i + 0.5) * scale - 0.5, left = Math.floor(place), t = place - left;
      return [left - 1, [far(1 + t), near(t), near(1 - t), far(2 - t)]];
    });
  }

  /* RGBA bytes of a w x h picture, on white -> bytes (3, size, size), channels first. */
  function fit(rgba, w, h, size) {
    const side = Math.min(w, h), top = Math.floor((h - side) / 2), left = Math.floor((w - side) / 2);
    const taps = side > size ? area(side, size) : cubic(side, size);
    const inside = (i) => Math.min(side - 1, Math.max(0, i));
    const rows = new Float64Array(3 * side * size), bytes = new Uint8ClampedArray(3 * size * size);
    for (let y = 0; y < side; y++)
      taps.forEach(([first, weights], x) => {
        weights.forEach((weight, j) => {
          const from = 4 * ((top + y) * w + left + inside(first + j)), alpha = rgba[from + 3] / 255;
          for (let c = 0; c < 3; c++) {
            const value = alpha === 1 ? rgba[from + c] : Math.round(rgba[from + c] * alpha + 255 * (1 - alpha));
            rows[(c * side + y) * size + x] += weight * value;
          }
        });
      });
    for (let c = 0; c < 3; c++)
      taps.forEach(([first, weights], y) => {
        for (let x = 0; x < size; x++) {
          let sum = 0;
          weights.forEach((weight, j) => { sum += weight * rows[(c * side + inside(first + j)) * size + x]; });
          bytes[(c * size + y) * size + x] = Math.round(sum);
        }
      });
    return bytes;
  }

  const standardise = (bytes) => Float32Array.from(bytes, (value) => (value / 255 - 0.5) / 0.5);

  /* A File, a Blob, an image, a canvas, an ImageBitmap or ImageData -> bytes (3, size, size). */
  async function bytes(source, size = 32) {
    let picture = source;
    if (source instanceof Blob) {
      try {
        picture = await createImageBitmap(source, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
      } catch {
        const name = source.name || "the file";
        throw new Error(source.size ? `${name} is no picture that the browser can read` : `${name} is empty`);
      }
    }
    if (picture instanceof ImageData) return fit(picture.data, picture.width, picture.height, size);
    const [w, h] = [picture.naturalWidth || picture.width, picture.naturalHeight || picture.height];
    if (!w || !h) throw new Error("the picture has no pixels");
    const shrink = Math.max(1, Math.max(w, h) / MOST), canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, Math.round(w / shrink)), Math.max(1, Math.round(h / shrink))];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return fit(data, canvas.width, canvas.height, size);
  }

  const pixels = async (source, size) => standardise(await bytes(source, size));

  Object.assign(root, { vitPictures: { bytes, pixels, standardise } });
})(typeof window === "undefined" ? globalThis : window);
