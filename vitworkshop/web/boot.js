/* `window.vit`: models for whatever on the page asks for them. Small; the rest loads when it is needed.

     vit.models()                  names of the models that lie beside this script
     await vit.load(name)          the model (vit.js), with its name, classes and card

   Where an explorer stands (`<vit-lab>`, ...), its file is loaded once it comes near the window. The script's
   `data-models` and `data-explorers` name what there is, `data-model` and `data-picture` what comes first. Plain
   scripts only, so that it works from a disk. */
(() => {
  "use strict";

  if (window.vit?.script) return; // an element of a page may bear that name
  /* Sentences in the page's language: t("head {head}", { head }); tn("{n} head off", "{n} heads off", n) counts. The language's
     table is `bookWords` (page/catalogue.py); Chinese and Latin letters stand apart. */
  function words(root) {
    root.t = (english, values = {}) => (root.bookWords?.[english] ?? english)
      .replace(/(\p{Script=Han}?)\{(\w+)\}(?=(\p{Script=Han}?))/gu, (_, before, name, after) => {
        const value = String(values[name]), apart = (han, mark) => (han && mark.test(value) ? " " : "");
        return before + apart(before, /^[\w-]/) + value + apart(after, /[\w%]$/);
      });
    root.tn = (one, many, n, values) => t(root.bookWords?.[one] || n === 1 ? one : many, { n, ...values });
  }
  words(window);
  (window.vitSources ??= {}).words = `(${words})(globalThis);`; // for workers

  const here = document.currentScript, base = here?.src ? new URL(".", here.src).href : "";
  const list = (name) => (here?.dataset[name] ?? "").split(" ").filter(Boolean);
  const loaded = {};

  /* Loads a script beside this one, once; what is on the page already (in a notebook's frame) is not loaded. */
  const script = (file) => (loaded[file] ??= window.vitHere?.includes(file) ? Promise.resolve() : add(file));
  const add = (file) => new Promise((done, fail) => {
    const tag = document.createElement("script");
    tag.src = base + file;
    tag.async = false; // they run in the order of the calls
    tag.onload = done;
    tag.onerror = () => {
      delete loaded[file];
      tag.remove();
      fail(new Error(t("{file} could not be loaded", { file })));
    };
    document.head.append(tag);
  });

  const built = {};
  const load = (name) => (built[name] ??= (async () => {
    if (!vit.models().includes(name)) throw new Error(
      t("no model called {name}; there are: {models}", { name, models: vit.models().join(t(", ")) }));
    await Promise.all(["vit.js", "kernel.js"].map(script));
    if (!window.vitModels?.[name]) await script(`${name}.js`);
    const { classes, card } = window.vitModels[name];
    return Object.assign(window.buildViT(window.vitModels[name]), { name, classes, card });
  })().catch((error) => {
    delete built[name];
    throw error;
  }));

  const models = () => [...new Set([...list("models"), ...Object.keys(window.vitModels ?? {})])];
  const first = { model: here?.dataset.model, picture: here?.dataset.picture }; // where a tag names none
  window.vit = { models, load, script, first };

  const explorers = list("explorers");
  const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach(({ target }) => {
    near.unobserve(target);
    script("explorer.js").then(() => script(`${target.localName}.js`)).catch((error) => console.error(error.message));
  }), { rootMargin: "400px" });
  const watch = () => explorers.forEach((name) => document.querySelectorAll(name).forEach((one) => near.observe(one)));
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", watch);
  else watch();
})();
