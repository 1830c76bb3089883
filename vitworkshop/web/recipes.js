/* How libraries make a model's pixels of a picture: `vitRecipes.fitted(recipe)` for `vitPictures.bytes`.

   A recipe is { short, filter, mean, std }: the shorter side becomes `short` times the model's size, and the middle is
   cut out; without `short`, the picture is stretched. Resampling is Pillow's, number for number, rows before columns; where
   Pillow 13 begins with the columns, a byte differs by 1 here and there. */
(() => {
  "use strict";

  const HALF = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };
  const IMAGENET = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
  // Their names: t("this book") t("timm: ViT (AugReg)") t("timm: DeiT, DINO") t("DeiT, DINO: their authors")
  // t("torchvision: ViT") t("transformers: ViT") t("transformers: DeiT, DINO")
  const WEB = { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] };
  const RECIPES = {
    "this book": HALF, // pictures.js fits it
    "timm: ViT (AugReg)": { short: 248 / 224, filter: "bicubic", ...HALF },
    "timm: DeiT, DINO": { short: 248 / 224, filter: "bicubic", ...IMAGENET },
    "DeiT, DINO: their authors": { short: 256 / 224, filter: "bicubic", ...IMAGENET },
    CLIP: { short: 1, filter: "bicubic", ...WEB },
    SigLIP: { short: null, filter: "bicubic", ...HALF },
    "torchvision: ViT": { short: 256 / 224, filter: "bilinear", ...IMAGENET },
    "transformers: ViT": { short: null, filter: "bilinear", ...HALF },
    "transformers: DeiT, DINO": { short: null, filter: "bilinear", ...IMAGENET },
  };
  const near = (x) => (1.5 * x - 2.5) * x * x + 1, far = (x) => ((x - 5) * x + 8) * x * -0.5 + 2;
  const FILTERS = { // how far one reaches, and its weight at a distance
    bilinear: [1, (x) => Math.max(0, 1 - x)],
    bicubic: [2, (x) => (x < 1 ? near(x) : x < 2 ? far(x) : 0)],
  };
  const FINE = 2 ** 22; // Pillow's weights are whole numbers of this

  /* Of n outputs, for each: the first input that counts and the weights of it and those after it. */
  function taps(size, n, filter) {
    const [reach, weight] = FILTERS[filter], scale = size / n, wide = Math.max(scale, 1);
    return Array.from({ length: n }, (_, i) => {
      const centre = (i + 0.5) * scale, first = Math.max(0, Math.trunc(centre - reach * wide + 0.5));
      const last = Math.min(size, Math.trunc(centre + reach * wide + 0.5));
      const all = Array.from({ length: last - first }, (__, j) => weight(Math.abs(j + first - centre + 0.5) / wide));
      const sum = all.reduce((a, b) => a + b, 0);
      return [first, all.map((w) => Math.trunc((w / sum) * FINE + (w < 0 ? -0.5 : 0.5)))];
    });
  }

  /* n x m numbers, `along` and `down` apart, become n x size: one direction of a picture. */
  function shrink(from, count, size, n, along, down, filter) {
    const out = new Uint8ClampedArray(count * n);
    if (size === n && along === 1) return from;
    taps(size, n, filter).forEach(([first, weights], i) => {
      for (let row = 0; row < count; row++) {
        let sum = 0, at = row * down + first * along;
        for (let j = 0; j < weights.length; j++, at += along) sum += from[at] * weights[j];
        out[along === 1 ? row * n + i : i * count + row] = Math.floor((sum + FINE / 2) / FINE);
      }
    });
    return out;
  }

  const even = (x) => (x % 1 === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)); // as Python rounds

  /* RGBA bytes of a w x h picture -> bytes (3, size, size), channels first. */
  const fitted = ({ short, filter }) => (rgba, w, h, size) => {
    const s = short && Math.floor(size * short + 1e-6), least = Math.min(w, h);
    const [W, H] = short ? [w, h].map((side) => Math.trunc((s * side) / least)) : [size, size];
    const [top, left] = [H, W].map((side) => even((side - size) / 2)), bytes = new Uint8Array(3 * size * size);
    for (let c = 0; c < 3; c++) {
      const plane = Uint8ClampedArray.from({ length: w * h }, (_, i) => rgba[4 * i + c]);
      const rows = shrink(plane, h, w, W, 1, w, filter), all = h === H ? rows : shrink(rows, W, h, H, W, 1, filter);
      for (let y = 0; y < size; y++)
        bytes.set(all.subarray((top + y) * W + left, (top + y) * W + left + size), (c * size + y) * size);
    }
    return bytes;
  };

  window.vitRecipes = { RECIPES, fitted: (recipe) => (recipe.filter ? fitted(recipe) : undefined) };
})();
