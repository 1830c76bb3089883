/* <vit-microscope>: a reader's own ViT and picture, from files that stay in the page.

   Files are dropped or chosen: weights (foreign.js), config.json, a picture. A worker reads and computes; for each model
   there is a new one, and a new <vit-way-far> that shows what it holds. */
Promise.all(["pictures.js", "vit.js", "kernel.js", "lens.js", "foreign.js", "recipes.js", "dialect.js", "microscope-work.js",
  "rankings.js", "heads.js", "microscope-trust.js", "photos.js", "way-far.js"].map(window.vit.script)).then(() => customElements.whenDefined("vit-way-far")).then(() => {
  "use strict";

  const { VitExplorer, button, clauses, decoded, files, h, note, perCent, range, select, sentences, title, working } = window.vitExplorer;
  const { RECIPES } = window.vitRecipes;
  const ASKS = t("Drop files here: a .safetensors file of timm, Hugging Face, DeiT, DINO, torchvision or this book; with it, if you "
    + "have them, config.json and preprocessor_config.json; and a picture. Nothing leaves this page.");

  const ACTS = { gelu: "GELU", gelu_tanh: "GELU (tanh)", quick_gelu: "QuickGELU", silu: "SiLU" };
  const ASSUMED = { // what no weights tell, in words
    num_heads: ({ num_heads: n }) => tn("{n} head", "{n} heads", n), act: ({ act }) => ACTS[act], norm_eps: ({ norm_eps }) => `ε ${norm_eps.toExponential()}`,
    mean_std: (_, { recipe }) => t("pictures as of {recipe}", { recipe: t(recipe) }),
    global_pool: ({ global_pool }) => (global_pool === "avg" ? t("the mean is read") : t("CLS is read")),
    img_size: ({ img_size, patch_size }, { side }) => (!side ? t("pictures of {img_size} pixels", { img_size })
      : t("positions of {side} × {side} patches resampled to {n} × {n}", { side, n: img_size / patch_size })),
  };

  /* A worker and what it is asked: `ask(job, what, onShare)` gives a promise that can be stopped. */
  function laboratory() {
    const { vitSources: { vit, panels, lens, foreign }, vitWork } = window, waiting = new Map();
    const worker = working(vit, panels, lens, foreign, `(${vitWork})(globalThis);`);
    let last = 0;
    const all = (why) => waiting.forEach(({ fail }) => fail(new Error(why)));
    worker.onerror = ({ message }) => all(t("the worker ended: {message}", { message }));
    worker.onmessage = ({ data: { id, found, error, share } }) => {
      const one = waiting.get(id);
      if (share !== undefined) return one?.onShare(share);
      waiting.delete(id);
      return error ? one.fail(new Error(error)) : one.done(found);
    };
    const ask = (job, what = {}, onShare = () => {}) => {
      const id = ++last, made = new Promise((done, fail) => waiting.set(id, { done, fail, onShare }));
      worker.postMessage({ id, job, ...what });
      return Object.assign(made, { stop: () => worker.postMessage({ stop: id }) });
    };
    const end = () => {
      worker.terminate();
      all("stopped");
    };
    return { ask, end };
  }

  class VitMicroscope extends VitExplorer {
    static style = `
      .drop { border: 2px dashed var(--rule); border-radius: 0.6rem; margin-bottom: 0.8rem; padding: 0.8rem 1rem; }
      .drop p { margin: 0 0 0.5rem; }
      .drop .row { margin: 0; }
      .dropping .drop { border-color: var(--accent); }
      label { font-size: 0.88rem; }
      vit-way-far { margin: 1rem 0 0; }
      @media (max-width: 576px) { vit-way-far { margin-inline: -0.5rem; } }
      [role="status"] { font-weight: 600; min-height: 1.45em; }
      .wrong { color: var(--warm); }
      .trust { margin-top: 1.2rem; }
      .scroll { overflow-x: auto; }
      .figures { display: flex; flex-wrap: wrap; gap: 1rem; margin-bottom: 0.6rem; }
      .figures figure { flex: 1 1 8rem; margin: 0; max-width: 10rem; }
      .figures .plot { flex: 1 1 18rem; }
      .figures img { height: auto; max-width: 100%; }
      td, th { padding: 0 1rem 0 0; text-align: left; }`;

    async build() {
      const input = files(".safetensors,.json,image/*", true, (given) => this.give(given));
      this.said = h("p", { role: "status" });
      this.stopper = button(t("Stop"), () => this.stop());
      this.heads = h("select", { "aria-label": t("Heads"), onchange: () => this.change({ num_heads: Number(this.heads.value) }) });
      this.pools = select(t("The head reads"), ["CLS", t("the mean of the patches")], () =>
        this.change({ global_pool: this.pools.selectedIndex ? "avg" : "token" }));
      this.acts = select(t("Activation"), Object.keys(ACTS), () => this.change({ act: this.acts.value }));
      this.recipes = select(t("The picture is prepared as"), Object.keys(RECIPES), () => this.cook());
      const told = (text, one) => h("label", {}, `${text} `, one);
      this.asks = h("div", { class: "row" }, told(t("Heads"), this.heads), told(t("Its head reads"), this.pools),
        told(t("Activation"), this.acts), told(t("Picture as"), this.recipes));
      const row = h("div", { class: "row" }, button(t("Choose files …"), () => input.click()), this.stopper, input);
      this.view.append(h("div", { class: "drop" }, note(ASKS), row), this.said, this.asks);
      for (const name of ["dragover", "dragleave", "drop"])
        this.view.addEventListener(name, (event) => {
          event.preventDefault();
          event.stopPropagation();
          this.view.classList.toggle("dropping", name === "dragover");
          if (name === "drop") this.give([...event.dataTransfer.files]);
        }, true);
      this.view.hidden = true; // until all stands in it: what is inside must be in the page to come alive
      this.shadowRoot.append(this.view);
      const given = window.vitGiven;
      if (given) { // a megabyte at a time: a file of 200 is a string of 300 million letters
        const parts = given.file.match(/.{1,1000000}/g).map(decoded);
        await this.give([new File(parts, given.name)], given.told);
      }
      else {
        const { name, config, classes, weights } = await window.vit.load(this.getAttribute("model") ?? window.vit.first.model);
        await this.load({ name, size: 0 }, { classes }, { config, weights });
      }
    }

    /* Files, whatever they are: what the weights need is read before them, the picture after them. */
    async give(files, beside = {}) {
      const is = (mark) => files.filter(({ name, type }) => mark.test(name) || mark.test(type)), jsons = is(/\.json$/i);
      const pictures = is(/^image\/|\.(png|jpe?g|webp|avif|gif|svg|bmp|hei[cf]|tiff?)$/i), rest = files.filter((one) => ![...jsons, ...pictures].includes(one));
      this.said.classList.remove("wrong");
      try {
        const told = window.vitForeign.tell(beside);
        for (const file of jsons) {
          if (file.size > 2e6) throw new Error(t("{file} is too long for a config", { file: file.name }));
          const text = await file.text();
          try {
            Object.assign(told, window.vitForeign.tell(JSON.parse(text)));
          } catch (error) {
            const why = error instanceof SyntaxError ? t("it is no JSON") : error.message;
            throw new Error(t("{file}: {why}", { file: window.vitPictures.called(file), why }), { cause: error });
          }
        }
        if (rest.length > 1) throw new Error(t("expected one file of weights, got {n}", { n: rest.length }));
        if (pictures[0]) this.picture = pictures[0];
        if (rest.length) await this.load(rest[0], told);
        else if (jsons.length && this.file?.size) await this.load(this.file, { ...this.told, ...told });
        else if (pictures[0]) {
          await this.way.own(pictures[0]);
          this.picture = null;
          if (this.way.status.textContent) this.tell(this.way.status.textContent, true); // it is none
        }
      } catch (error) {
        this.tell(t("{message}.", error), true);
      }
    }

    /* Another model in place of the one that is there, if it is one; what held the old one is freed. */
    async load(file, told, ready = {}) {
      const lab = laboratory(), begun = performance.now(), dialect = window.vitDialect;
      this.coming?.end();
      this.coming = lab;
      this.tell(t("Reading {file} …", { file: window.vitPictures.called(file) }));
      try {
        const reading = (share) => this.tell(t("Reading {file} …, {share}", {
          file: window.vitPictures.called(file), share: perCent(Math.round(100 * share)) }));
        const found = await lab.ask("load", { file: ready.weights ? null : file, dialect, told, ...ready }, reading);
        const { config, count, assumed, projects, recipe, taken } = found, library = told.library ?? found.library, K = config.num_classes, own = told.classes;
        if (K === 1000 && own?.length !== K) await window.vit.script("imagenet.js");
        const names = own?.length === K ? own : K === 1000 ? window.vitImageNet : range(K).map((k) => t("class {k}", { k }));
        this.lab?.end();
        Object.assign(this, { lab, file, told, coming: null });
        this.heads.replaceChildren(...range(config.embed_dim).map((k) => 1 + k).filter((k) => config.embed_dim % k === 0 && k <= 32)
          .map((k) => h("option", { value: String(k), selected: k === config.num_heads }, String(k))));
        this.pools.selectedIndex = Number(config.global_pool === "avg");
        this.acts.value = config.act;
        this.pools.parentNode.hidden = !/^(token|avg)$/.test(config.global_pool);
        for (const [name, one] of Object.entries({ num_heads: this.heads, global_pool: this.pools, act: this.acts }))
          one.disabled = !(assumed.includes(name) || (told.asked && name in told)); // what the files say is not asked
        const theirs = { transformers: "transformers: ViT", torchvision: "torchvision: ViT" }[library];
        const proposed = ready.config ? "this book" : recipe ?? theirs ?? (K ? "timm: ViT (AugReg)" : "timm: DeiT, DINO");
        this.recipes.querySelector("[data-told]")?.remove();
        if (told.recipe) this.recipes.prepend(h("option", { "data-told": "", value: "told" }, t("its own files say")));
        this.recipes.value = told.recipe ? "told" : config.img_size < 64 ? "this book" : proposed;
        const shape = new window.VisionTransformer(config, {}); // its weights are the worker's
        this.model = { name: file.name, config, classes: names, card: { dataset: null, test_accuracy: null, parameters: count },
          weights: {}, L: shape.L, T: shape.T, patchify: (pixels) => shape.patchify(pixels) };
        const size = tn("{depth} blocks, {embed_dim} numbers a token, {n} head", "{depth} blocks, {embed_dim} numbers a token, {n} heads",
          config.num_heads, config);
        this.about = ready.config ? t("The book's model {name}: {size}.", { name: file.name, size })
          : t("{file}: {library}'s names, {count} weights, {size}, {classes}, {pixels} pixels; read in {ms} ms.", {
            file: window.vitPictures.called(file), library, count: count.toLocaleString("en"), size, pixels: config.img_size,
            classes: K ? t("{n} classes", { n: K.toLocaleString("en") }) : projects ? t("a projection, left out") : t("no head"),
            ms: Math.round(performance.now() - begun) });
        if (taken) this.about = sentences(this.about, t("Taken: {one}, not {others}.", taken));
        if (assumed.length) this.about = sentences(this.about, t("Assumed, as no config.json says it: {all}.", {
          all: clauses(assumed.map((name) => ASSUMED[name](config, found))) }));
        await this.cook();
      } catch (error) {
        lab.end();
        if (this.coming !== lab && this.lab !== lab) return; // another has come meanwhile
        this.coming = null;
        throw new Error(t("{file}: {message}", { file: window.vitPictures.called(file), message: error.message }), { cause: error });
      }
    }

    /* Shows the model anew, with a recipe for the picture. */
    async cook() {
      const { model, lab: { ask }, told, recipes, way: last } = this;
      const file = this.picture ?? (last?.picture === "your picture" ? last.file : undefined);
      this.picture = null;
      const way = h("vit-way-far", Object.fromEntries(["picture", "pictures"].map((name) => [name, this.getAttribute(name)])));
      const drawn = new Promise((done) => { this.drawn = done; });
      way.given = { model, ask, recipe: told.recipe && recipes.selectedOptions[0].hasAttribute("data-told") ? told.recipe
        : RECIPES[recipes.value], file, tell: (text) => {
          this.tell(text || this.about, /[.。]$/.test(text));
          if (!text) heads.draw();
          if (this.stopper.disabled) this.drawn();
        } };
      const trust = window.vitTrust(this), heads = this.allHeads();
      for (const old of [this.way, this.maps, this.trust]) old?.remove();
      this.view.append(way, heads.node, trust);
      Object.assign(this, { trust, maps: heads.node });
      this.way = way;
      await drawn;
    }

    /* The picture of all heads, and who asks in it. */
    allHeads() {
      const { lab, model: { config: { class_token, depth, reg_tokens = 0 }, L } } = this, heads = window.vitHeads(() => this.way);
      const first = class_token !== false ? "CLS" : L > depth && t("the question"), option = (value, name) => h("option", { value }, name);
      const asker = h("select", { "aria-label": t("Who asks"), onchange: () => draw() }, first ? option("0", first) : [], option("", t("the followed token")),
        range(reg_tokens).map((r) => option(String(r + 1), t("register {r}", { r }))));
      let seen;
      const draw = async () => {
        const { N, has, picture, state } = this.way, one = asker.value, token = one === "" ? 1 + state.patch : Number(one) && N + Number(one);
        const asked = `${picture} ${has} ${token}`, made = asked === seen ? null : lab.ask("heads", { t: token }).catch(() => null); // another model has come
        seen = asked;
        this.read = (await made) ?? this.read;
        if (seen === asked && this.read) heads.show(this.read);
      };
      return { draw, node: h("div", { class: "trust" }, title(t("All heads")), h("div", { class: "row" }, t("Who asks"), asker), heads.node) };
    }

    /* Something that no file of weights tells, told by the reader. */
    async change(what) {
      const told = { ...this.told, ...what, asked: true };
      if (this.file.size) await this.load(this.file, told).catch((error) => this.tell(t("{message}.", error), true));
    }

    stop() {
      if (this.coming) {
        this.coming.end();
        this.tell(t("Stopped."));
      } else [this.way?.running, this.measuring].forEach((one) => one?.stop());
    }

    /* A sentence, or what it is about: then it can be stopped. */
    tell(text, wrong = false) {
      this.stopper.disabled = /^$|[.。]$/.test(text);
      this.said.textContent = text;
      this.said.classList.toggle("wrong", wrong);
    }
  }

  customElements.define("vit-microscope", VitMicroscope);
});
