/* Seven small things around the page. Without scripts: the browser itself lets keys reach what scrolls, there is no
   theme switch, and the page is light on paper by its style sheet.

   1. What scrolls sideways, and only that, is a tab stop with a name: code, tables, equations, figures.
   2. The theme's buttons keep the focus when keys pressed them (its scripts take it away).
   3. Its theme switch says which mode is on, and its search button is named by what it shows.
   4. Paper is light, whatever the screen is.
   5. The field that Ctrl + K opens fetches the search when one types in it.
   6. "Back to top" steps aside for explorers.
   7. The way to the other language leads to the section one reads, in the same tab, and takes the search's words along. */
(() => {
  "use strict";

  const nameOf = (box) => {
    const heading = box.closest("section")?.querySelector(":is(h1, h2, h3, h4)")?.firstChild?.textContent?.trim();
    if (box.tagName === "PRE") return box.closest(".cell_output") ? t("Printed text") : t("Code");
    if (box.classList.contains("math")) return t("Equation");
    if (box.classList.contains("drawing")) return t("Figure");
    const caption = box.querySelector("caption .caption-text, caption")?.textContent.trim();
    return caption || t("Table in “{heading}”", { heading });
  };

  const mark = (box) => {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    const marked = box.dataset.scrolls === "yes";
    if (scrolls) {
      box.tabIndex = 0;
      if (marked) return;
      box.dataset.scrolls = "yes";
      box.setAttribute("role", box.matches("pre, .drawing") ? "group" : "region");
      let name = nameOf(box); // one of its own for each: they are landmarks
      const same = document.querySelectorAll(`[aria-label^="${CSS.escape(name)}"][data-scrolls]`).length;
      if (same) name = t("{name} ({n})", { name, n: same + 1 });
      box.setAttribute("aria-label", t("{name}, scrolls sideways", { name }));
    } else {
      box.removeAttribute("tabindex");
      if (!marked) return;
      for (const name of ["data-scrolls", "role", "aria-label"]) box.removeAttribute(name);
    }
  };

  const BOXES = ".bd-article :is(pre, .pst-scrollable-table-container, div.math, .drawing)";
  const sizes = new ResizeObserver((changes) => changes.forEach((change) => mark(change.target)));
  document.querySelectorAll(BOXES).forEach((box) => sizes.observe(box));
  // The theme writes tabindex on these again, a while after each resize; what it writes on the rest is undone here
  const again = new MutationObserver((changes) =>
    changes.forEach(({ target }) => {
      if (target.matches(BOXES)) {
        if (target.tabIndex !== (target.dataset.scrolls ? 0 : -1)) mark(target);
      } else if (target.tabIndex === 0 && target.matches(".cell_output > .output")) target.removeAttribute("tabindex");
    }));
  const article = document.querySelector(".bd-article");
  if (article) again.observe(article, { subtree: true, attributes: true, attributeFilter: ["tabindex"] });

  const BUTTONS = ".theme-switch-button, .search-button, .primary-toggle, .secondary-toggle";
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(BUTTONS);
    if (!button) return;
    if (event.detail === 0) button.blur = () => {}; // a key: the focus stays
    else delete button.blur;
  }, true);

  const root = document.documentElement;
  const MODES = { light: t("Light"), dark: t("Dark"), auto: t("System Settings") };
  const sayMode = () => document.querySelectorAll(".theme-switch-button").forEach((button) =>
    button.setAttribute("aria-label", t("Color mode: {mode}", { mode: MODES[root.dataset.mode] || MODES.auto })));
  new MutationObserver(sayMode).observe(root, { attributes: true, attributeFilter: ["data-mode"] });
  sayMode();
  document.querySelectorAll(".search-button-field").forEach((button) => button.removeAttribute("aria-label"));

  document.getElementById("pst-search-dialog")?.addEventListener("input", () => {
    if (!document.querySelector(".bd-search-container"))
      for (const name of ["minisearch/minisearch", "sections", "search/search"]) {
        const src = `${root.dataset.content_root || "./"}_static/${name}.js`;
        document.head.append(Object.assign(document.createElement("script"), { async: false, src }));
      }
  }, { once: true });

  for (const other of document.querySelectorAll(".btn-language")) {
    other.removeAttribute("target");
    other.addEventListener("click", () => {
      const here = [...document.querySelectorAll(".bd-article section[id]")]
        .findLast((one) => one.getBoundingClientRect().top < innerHeight / 3);
      const aim = document.querySelector(":target")?.getBoundingClientRect().top;
      const kept = aim > -1 && aim < innerHeight; // what the address names is on the screen
      other.hash = kept ? location.hash : scrollY > 0 && here ? here.id : "";
      other.search = location.search;
    });
  }

  const up = document.getElementById("pst-back-to-top");
  const under = new Set();
  const strip = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) under[isIntersecting ? "add" : "delete"](target);
    if (up) up.style.visibility = under.size ? "hidden" : "";
  }, { rootMargin: "-80% 0px 0px" }); // where the button lies
  document.querySelectorAll(".bd-article *").forEach((one) => one.localName.startsWith("vit-") && strip.observe(one));

  let before = null;
  const light = () => {
    if (before === null) [before, root.dataset.theme] = [root.dataset.theme, "light"];
  };
  const back = () => {
    if (before !== null) [root.dataset.theme, before] = [before, null];
  };
  addEventListener("beforeprint", light);
  addEventListener("afterprint", back);
  const paper = matchMedia("print");
  paper.addEventListener("change", () => (paper.matches ? light() : back()));
})();
