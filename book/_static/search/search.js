/* The page search.html: finds sections of the book and shows each with the words around the hit.
   The sections come from sections.js, which the build writes; MiniSearch ranks them. Nothing is fetched, so it works
   from a disk as well. Without scripts the page says so and leads to the contents. */
(() => {
  "use strict";
  const form = document.querySelector(".bd-search-container form");
  const field = form.querySelector("input");
  const status = document.getElementById("search-status");
  const list = document.getElementById("search-hits");
  const root = document.documentElement.dataset.content_root || "./";
  const MOST = 30;

  const sections = window.bookSections.map((section, id) => ({ ...section, id }));
  const index = new MiniSearch({ fields: ["title", "page", "text", "code"] });
  index.addAll(sections);

  const find = (words) => {
    const options = {
      boost: { title: 5, page: 1.5, text: 1, code: 0.4 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 5 ? 0.15 : 0),
      weights: { prefix: 0.6, fuzzy: 0.2 },
    };
    const all = index.search(words, { ...options, combineWith: "AND" });
    return all.length ? all : index.search(words, options);
  };

  const escape = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const element = (name, className, text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
  };

  // The text around the first hit, each hit marked; of code, the line that holds it
  const excerpt = (section, terms) => {
    const hit = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.map(escape).join("|")})(?![\\p{L}\\p{N}])`, "giu");
    const inText = section.text.search(hit);
    const line = inText < 0 && section.code.split("\n").find((each) => each.search(hit) >= 0);
    let text = line ? line.trim() : section.text;
    if (!line) {
      let start = Math.max(0, inText - 90);
      if (start) start = text.indexOf(" ", start) + 1;
      let end = Math.min(text.length, start + 260);
      if (end < text.length) end = text.lastIndexOf(" ", end);
      text = (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
    }
    const shown = element(line ? "code" : "span");
    let last = 0;
    for (const found of text.matchAll(hit)) {
      shown.append(text.slice(last, found.index), element("mark", "", found[0]));
      last = found.index + found[0].length;
    }
    shown.append(text.slice(last));
    return shown;
  };

  const show = () => {
    const words = field.value.trim();
    const hits = words ? find(words) : [];
    list.replaceChildren(...hits.slice(0, MOST).map((hit) => {
      const section = sections[hit.id];
      const item = element("li");
      const link = element("a", "", section.title);
      link.href = `${root}${section.address}#${section.anchor}`;
      const quote = element("p", "excerpt");
      quote.append(excerpt(section, hit.terms));
      item.append(link, ...(section.page === section.title ? [] : [element("span", "where", section.page)]), quote);
      return item;
    }));
    const count = hits.length === 1 ? "1 section" : `${hits.length} sections`;
    if (!words) status.textContent = "";
    else if (!hits.length) status.textContent = `Nothing found for “${words}”.`;
    else status.textContent = count + (hits.length > MOST ? `; the first ${MOST} are shown.` : " found.");
    document.title = document.title.replace(/^.*?(?=Search —)/, words ? `${words} · ` : "");
  };

  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value.trim())}`);
    show();
  });
  field.value = new URLSearchParams(location.search).get("q") || "";
  show();
  field.focus();
})();
