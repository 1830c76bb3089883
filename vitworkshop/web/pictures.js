/* Any picture as a model's pixels, exactly as `vl.load_image` and `vl.normalize` make them: the middle square, shrunk
   by averaging areas (OpenCV's INTER_AREA; enlarged by its INTER_CUBIC), rounded to bytes, then from -1 to 1.

   The canvas's own smoothing would give other numbers, and another answer. Nothing leaves the page. */
((root) => {
  "use strict";

  const MOST = 4096; // pixels a side; larger ones become smaller while they are decoded: a phone has little memory
  const HUGE = 1024, DRAWING = 512; // the shorter side that they get, the longer of an SVG

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

  const standardise = (bytes, { mean, std } = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] }) =>
    Float32Array.from(bytes, (value, i) => {
      const c = Math.floor((3 * i) / bytes.length);
      return (value / 255 - mean[c]) / std[c];
    });

  /* How the pixels of a picture come to lie that EXIF calls 2 to 8: the first numbers of a canvas's transform. */
  const TURNS = { 2: [-1, 0, 0, 1], 3: [-1, 0, 0, -1], 4: [1, 0, 0, -1], 5: [0, 1, 1, 0], 6: [0, 1, -1, 0],
    7: [0, -1, -1, 0], 8: [0, -1, 1, 0] };

  const latin = (buffer, from = 0, n = buffer.byteLength) => String.fromCharCode(...new Uint8Array(buffer, from, n));

  /* A WebP without its EXIF, which some browsers follow and some do not, and how it says that the picture is turned. */
  async function upright(file) {
    const buffer = await file.arrayBuffer(), view = new DataView(buffer);
    let turn;
    for (let at = 12, length; at + 8 < buffer.byteLength; at += 8 + length + (length % 2)) {
      length = view.getUint32(at + 4, true);
      if (latin(buffer, at, 4) !== "EXIF") continue;
      const start = at + 8 + (latin(buffer, at + 8, 4) === "Exif" ? 6 : 0), little = latin(buffer, start, 2) === "II";
      const tags = start + view.getUint32(start + 4, little);
      for (let k = 0; k < view.getUint16(tags, little); k++)
        if (view.getUint16(tags + 2 + 12 * k, little) === 0x112) turn = TURNS[view.getUint16(tags + 10 + 12 * k, little)];
      view.setUint32(at, 0); // a chunk of no kind
    }
    return [new Blob([buffer], { type: file.type }), turn];
  }

  function turned(picture, [a, b, c, d]) {
    const { width: w, height: h } = picture, canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = a ? [w, h] : [h, w];
    const context = canvas.getContext("2d");
    context.setTransform(a, b, c, d, a < 0 ? w : c < 0 ? h : 0, b < 0 ? w : d < 0 ? h : 0);
    context.drawImage(picture, 0, 0);
    return canvas;
  }

  // What few browsers read, by its first bytes
  const STRANGE = { HEIC: /^.{4}ftyp(hei|hev|mif1|msf1)/s, TIFF: /^(II\*\0|MM\0\*)/, PDF: /^%PDF/, PSD: /^8BPS/ };

  /* What a sentence calls a file. */
  const called = ({ name }) => (name?.length > 24 ? `${name.slice(0, 16)} … ${name.slice(-6)}` : name || t("the file"));

  /* A file as a picture: an SVG as an image, anything else as a bitmap, resized while it is decoded if it is huge. */
  async function read(given) {
    const first = latin(await given.slice(0, 16).arrayBuffer()), svg = given.type.startsWith("image/svg");
    const image = new Image();
    try {
      const [file, turn] = /^RIFF.{4}WEBP/s.test(first) ? await upright(given) : [given], src = URL.createObjectURL(file);
      await new Promise((done, fail) => Object.assign(image, { onload: done, onerror: fail, src }));
      if (svg) return image;
      const { naturalWidth: w, naturalHeight: h } = image, share = Math.min(1, HUGE / Math.min(w, h));
      const smaller = Math.max(w, h) <= MOST ? {}
        : { resizeWidth: Math.round(w * share), resizeHeight: Math.round(h * share), resizeQuality: "high" };
      const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none", ...smaller });
      return turn ? turned(bitmap, turn) : bitmap;
    } catch {
      const name = { file: called(given), kind: Object.keys(STRANGE).find((kind) => STRANGE[kind].test(first)) };
      if (!given.size) throw new Error(t("{file} is empty", name));
      throw new Error(name.kind ? t("{file} is {kind}, which this browser cannot read: save it as JPEG, and take that", name)
        : t("{file} is no picture that the browser can read", name));
    } finally {
      URL.revokeObjectURL(image.src);
    }
  }

  /* A File, a Blob, an image, a canvas, an ImageBitmap or ImageData -> bytes (3, size, size); recipes.js fits otherwise. */
  async function bytes(source, size = 32, fitted = fit) {
    const picture = source instanceof Blob ? await read(source) : source;
    if (picture instanceof ImageData) return fitted(picture.data, picture.width, picture.height, size);
    const [w, h] = [picture.naturalWidth || picture.width, picture.naturalHeight || picture.height];
    if (!w || !h) throw new Error(t("the picture has no pixels"));
    const long = Math.max(w, h), svg = picture !== source && picture instanceof Image; // it has no pixels of its own
    const shrink = long / (svg ? DRAWING : Math.min(long, MOST)), canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, Math.round(w / shrink)), Math.max(1, Math.round(h / shrink))];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    let data;
    try {
      ({ data } = context.getImageData(0, 0, canvas.width, canvas.height));
    } catch { // an SVG with a page in it, an image from elsewhere
      throw new Error(t("the browser shows this picture, but lets no page read its pixels"));
    }
    return fitted(data, canvas.width, canvas.height, size);
  }

  const pixels = async (source, size) => standardise(await bytes(source, size));

  Object.assign(root, { vitPictures: { bytes, called, pixels, standardise } });
})(typeof window === "undefined" ? globalThis : window);
