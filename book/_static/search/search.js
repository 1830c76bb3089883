/* Finds sections of the book while one types, on search.html and in the field that Ctrl + K opens on every other page, and
   shows the words around each hit. The sections come from sections.js, which the build writes; MiniSearch ranks them. A
   term that is asked for comes first; where nothing is found, the nearest are offered. Nothing is fetched. */
(() => {
  "use strict";
  const page = document.querySelector(".bd-search-container");
  const place = page ?? document.getElementById("pst-search-dialog");
  if (!page) place.insertAdjacentHTML("beforeend", '<p id="search-status" role="status"></p><ol id="search-hits"></ol>');
  const field = place.querySelector("form input");
  const status = document.getElementById("search-status");
  const list = document.getElementById("search-hits");
  const root = document.documentElement.dataset.content_root || "./";
  const MOST = page ? 30 : 6;

  // What a newcomer may say, and the book's word for it
  const SAYS = [
    ...(window.bookSays ?? []).map(([theirs, ours]) => [RegExp(theirs, "g"), ours]), // in another language
    [/\bpositional\b/g, "position"],
    [/\bencodings?\b/g, "embedding"],
    [/\btokeni[sz]\w+/g, "patchify"],
    [/\bclass(?:ification)? token\b/g, "CLS token"],
    [/\bfeed[ -]?forward(?: \w+)?|\bffn\b/g, "MLP"],
    [/\bheat ?maps?\b/g, "attention map"],
    [/\b(?:explainab|interpretab)ility\b|\bxai\b/g, "explanation rollout"],
    [/\b(?:(?:mixed|half) precision|amp|fp16|bf16)\b/g, "bfloat16 precision"],
    [/\bflash[ -]?attention\b/g, "fused attention"],
    [/\b(?:learning[ -]rate )?warm[ -]?up\b/g, "learning rate schedule"],
    [/\b(?:cnn|conv\w*) (?:vs\.?|versus|or|against) (?:vits?|(?:vision )?transformers?)\b/g, "ViT or CNN"],
    [/\b(?:how many|number of)\b/g, "count"],
  ];
  const SILENT = new Set(`a an and any are as at be by can could do does did for from get has have how i in into is it its
    me my not of on or should so that the there this to use was what when where which why will with`.split(/\s+/));
  // "ViT-B/16" is found by "vit-b" as a whole, and "tunes", "tuned" by "tuning"; Chinese, which has no spaces, by pairs of characters
  const HAN = /\p{Script=Han}+/gu, isHan = (text) => /^\p{Script=Han}/u.test(text);
  const pairs = (run) => (run.length < 3 ? [run] : [...run.slice(1)].map((_, i) => run.slice(i, i + 2)));
  const tokenize = (text) => [...text.replace(HAN, " ").split(/[\s\p{P}]+/u), ...(text.match(HAN) ?? []).flatMap(pairs),
    ...(text.match(/\p{L}+-\p{L}+/gu) ?? []).map((one) => one.replace("-", ""))];
  const stem = (word) => word.toLowerCase().replace(/iz(?=[eia])/, "is").replace(/(?<=\p{L}{3})(?:ings?|ed|es|(?<!s)s|e)$/u, "");
  // Chapters teach; lists of sources hold every word, and the reference answers those who know a name
  const isTerm = ({ anchor }) => anchor.startsWith("term-");
  const standing = ({ title, address }) => (/^(?:References|Bibliography|参考文献)$/.test(title) ? 0.1
    : /^(?:Exercises|Summary|Key terms|练习|更多练习|本章小结|关键术语)$/.test(title) ? 0.5 : /\/\d\d-/.test(address) || /^vl\./.test(field.value) ? 1
      : /api\.html/.test(address) ? 0.3 : 0.6);

  const sections = window.bookSections.map((section, id) => ({ ...section, id }));
  const index = new MiniSearch({ fields: ["title", "page", "text", "code"], tokenize, processTerm: stem });
  index.addAll(sections);

  // The words that are asked for, in any order, and the terms by theirs
  const asked = (words) => [...new Set(tokenize(words.toLowerCase()).filter((word) => word && !SILENT.has(word)).map(stem))].sort().join(" ");
  const terms = new Map(sections.filter(isTerm).flatMap(({ title, id }) =>
    title.split(/, |[，（）]/).filter(Boolean).map((name) => [asked(name), id])));

  // A word that no section has is read as one with two letters turned, or a letter more, fewer or other, but the first:
  // the commonest, in titles above all
  const counts = { __proto__: null };
  for (const { title, text } of sections)
    for (const word of (title + " ").repeat(20).concat(text).toLowerCase().match(/[a-z]{4,}/g) ?? []) counts[word] = (counts[word] ?? 0) + 1;
  const spell = (word) => {
    if (index.search(word, { prefix: true }).length) return word;
    const near = RegExp([...word].map((c, i) => [word.slice(0, i), c, word.slice(i + 1)]).slice(1)
      .map(([a, c, b]) => `^${a}(?:${b.slice(0, 1)}${c}${b.slice(1)}|(?:.?|.${c}|${c}.)${b})$`).join("|"));
    return Object.keys(counts).filter((other) => near.test(other)).sort((one, other) => counts[other] - counts[one])[0] ?? word;
  };

  // A section counts for more on a page with more about it; of each page the best comes before more of the same
  const find = (words) => {
    const said = SAYS.reduce((text, [theirs, ours]) => text.replace(theirs, ours), words.toLowerCase().replace(/[a-z]{4,}/g, spell));
    const term = terms.get(asked(words)) ?? terms.get(asked(said));
    const asks = term === undefined && /^what(?:['’]s| is| are)\b|什么是|是什么/i.test(words);
    const found = index.search(asked(said) || words, {
      boost: { title: 5, page: 1.5, text: 1, code: 0.4 },
      boostDocument: (id) => (asks && isTerm(sections[id]) ? 2 : standing(sections[id])),
      prefix: (term) => term.length > 2 || (term.length === 1 && isHan(term)),
      weights: { prefix: 0.6 },
    });
    const most = Math.max(0, ...found.map((hit) => hit.queryTerms.length));
    const kept = found.filter((hit) => hit.queryTerms.length > most / 2);
    const totals = {}, before = {};
    for (const hit of kept) {
      const { address } = sections[hit.id];
      hit.score *= (hit.queryTerms.length / most) ** 2;
      totals[address] = (totals[address] ?? 0) + hit.score;
    }
    const whole = Math.max(...Object.values(totals));
    for (const hit of kept.sort((one, other) => other.score - one.score)) {
      const { address } = sections[hit.id];
      before[address] = (before[address] ?? 0) + 1;
      hit.score *= hit.id === term ? Infinity : (0.3 + totals[address] / whole) * 0.7 ** (before[address] - 1);
    }
    return kept.sort((one, other) => other.score - one.score);
  };

  const element = (name, className = "", textContent = "") => Object.assign(document.createElement(name), { className, textContent });

  // The text around the first hit, each hit marked; of code, the line that holds it
  const excerpt = (section, terms) => {
    const part = (term) => (!isHan(term) ? `(?<![\\p{L}\\p{N}])${term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\p{L}*` : term.replace(/^(.)(.)$/, "$1(?=$2)|(?<=$1)$2"));
    const hit = new RegExp(`(?:${terms.map(part).join("|")})+`, "giu");
    const inText = section.text.search(hit);
    const line = inText < 0 && section.code.split("\n").find((each) => each.search(hit) >= 0);
    let text = line ? line.trim() : section.text;
    if (!line) {
      const room = text.match(HAN) ? 130 : 260; // Han characters are twice as wide
      let start = Math.max(0, inText - room / 3);
      if (start) start += text.slice(start, inText).search(/[ ，。；：、！？]/) + 1;
      let end = Math.min(text.length, start + room);
      if (end < text.length) end = start + text.slice(start, end + 1).search(/[ ，。；：、！？][^ ，。；：、！？]*$/);
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
    const near = hits.length ? [] : index.search(words, { fields: ["title"], fuzzy: 0.5, filter: ({ id }) => isTerm(sections[id]) }).slice(0, 3);
    list.replaceChildren(...[...hits.slice(0, MOST), ...near].map((hit) => {
      const section = sections[hit.id];
      const item = element("li");
      const link = element("a", "", section.title);
      link.href = `${root}${section.address}#${section.anchor}`;
      const quote = element("p", "excerpt");
      quote.append(excerpt(section, hit.terms));
      item.append(link, ...(section.page === section.title ? [] : [element("span", "where", section.page)]), quote);
      return item;
    }));
    const n = hits.length, most = { n, most: MOST };
    if (!words) status.textContent = "";
    else if (!n) status.textContent = near.length ? t("Nothing found for “{words}”. The nearest terms:", { words })
      : t("Nothing found for “{words}”.", { words });
    else status.textContent = n <= MOST ? tn("{n} section found.", "{n} sections found.", n)
      : page ? t("{n} sections; the first {most} are shown.", most)
        : t("{n} sections; the first {most} are shown, Enter shows more.", most);
    if (page) document.title = document.title.replace(/^.*?(?=(?:Search|搜索) —)/, words ? `${words} · ` : "");
  };

  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  if (page) field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value.trim())}`);
    show();
  });
  if (page) field.value = new URLSearchParams(location.search).get("q") || "";
  show();
  field.focus();
})();
