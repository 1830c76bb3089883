/* The page search.html, and the field that Ctrl + K opens on every other: finds sections of the book while one types, and
   shows each with the words around the hit. The sections come from sections.js, which the build writes. A term of the glossary that is asked for comes first; where nothing is found, its nearest terms are offered.
   Nothing is fetched, so it works from a disk as well. Without scripts the page says so and leads to the contents. */
(() => {
  "use strict";
  const page = document.querySelector(".bd-search-container");
  const place = page ?? document.getElementById("pst-search-dialog");
  if (!page) place.insertAdjacentHTML("beforeend", '<p id="search-status" role="status"></p><ol id="search-hits"></ol>');
  const form = place.querySelector("form");
  const field = form.querySelector("input");
  const status = document.getElementById("search-status");
  const list = document.getElementById("search-hits");
  const root = document.documentElement.dataset.content_root || "./";
  const MOST = page ? 30 : 6;

  // What a newcomer may say, and the book's word for it
  const SAYS = [
    ...(window.bookSays ?? []).map(([theirs, ours]) => [RegExp(theirs, "g"), ours]), // in another language
    [/\bpositional\b/g, "position"],
    [/\bencodings?\b/g, "embedding"],
    [/\btokeni[sz](?:ers?|ing|ation|e)\b/g, "patchify"],
    [/\bclass(?:ification)? token\b/g, "CLS token"],
    [/\bfeed[ -]?forward(?: (?:network|layer|block)s?)?\b|\bffn\b/g, "MLP"],
    [/\bheat ?maps?\b/g, "attention map"],
    [/\b(?:explainab|interpretab)ility\b|\bxai\b/g, "explanation rollout"],
    [/\bautoencoders?\b|\bmae\b/g, "masked MAE"],
    [/\bfreez(?:e|ing)\b/g, "frozen"],
    [/\b(?:backbone|feature extractor)s?\b/g, "features"],
    [/\b(?:mixed precision|half precision|amp|fp16|bf16)\b/g, "bfloat16 precision"],
    [/\bflash[ -]?attention\b/g, "fused attention"],
    [/\b(?:learning[ -]rate )?warm[ -]?up\b/g, "learning rate schedule"],
    [/\b(?:cnn|conv\w*) (?:vs\.?|versus|or|against) (?:vi(?:t|sion) ?)?(?:transformer)?s?\b/g, "ViT or CNN"],
    [/\b(?:how many|number of)\b/g, "count"],
    [/\bdivisible\b/g, "divisible divide"],
    [/\bcolor/g, "colour"],
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
    : /^(?:Exercises|Summary|Key terms|练习|更多练习|值得带走的|关键术语)$/.test(title) ? 0.5 : /\/\d\d-/.test(address) || /^vl\./.test(field.value) ? 1
      : /api\.html/.test(address) ? 0.3 : 0.6);

  const sections = window.bookSections.map((section, id) => ({ ...section, id }));

  /* Of each word, of each section that has it: how much it counts there, by BM25+ (Lv and Zhai 2011), parts added up. */
  function indexed(parts) {
    const index = new Map();
    for (const [part, boost] of Object.entries(parts)) {
      const texts = sections.map((section) => tokenize(section[part])), often = new Map();
      const sizes = texts.map((words) => new Set(words).size), mean = sizes.reduce((a, b) => a + b, 0) / sizes.length;
      const within = (map, word) => map.get(word) ?? map.set(word, new Map()).get(word);
      texts.forEach((words, id) => words.map(stem).filter(Boolean).forEach((word) => {
        const counts = within(often, word);
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }));
      for (const [word, counts] of often) {
        const scores = within(index, word), rare = Math.log(1 + (sections.length - counts.size + 0.5) / (counts.size + 0.5));
        for (const [id, n] of counts) {
          const dense = 0.5 + (2.2 * n) / (n + 1.2 * (0.3 + (0.7 * sizes[id]) / mean));
          scores.set(id, (scores.get(id) ?? 0) + boost * rare * dense);
        }
      }
    }
    return index;
  }

  /* How many letters change to make one word of another (Levenshtein). */
  const apart = (one, other) => [...one].reduce((row, a, i) => [...other].reduce((next, b, j) =>
    [...next, Math.min(row[j] + (a !== b), row[j + 1] + 1, next[j] + 1)], [i + 1]), [...other, ""].map((_, j) => j)).at(-1);

  /* How much a word counts for one that is asked for: itself, what begins with it, what is written almost like it. */
  function likeness(word, asked, fuzzy) {
    if (word === asked) return 1;
    const n = word.length, longer = n - asked.length, most = Math.min(6, Math.round(asked.length * fuzzy));
    if ((asked.length > 2 || isHan(asked)) && word.startsWith(asked)) return (0.6 * n) / (n + 0.3 * longer);
    const far = Math.abs(longer) > most ? Infinity : apart(word, asked);
    return far > most ? 0 : (0.2 * n) / (n + far);
  }

  /* The sections that have any of the words, or some like them: { id, score, words (that it has), terms (by which) }. */
  function search(index, words, fuzzy, boost) {
    const hits = new Map();
    for (const asked of words)
      for (const [word, scores] of index) {
        const weight = likeness(word, asked, fuzzy(asked));
        for (const [id, score] of weight ? scores : []) {
          const hit = hits.get(id) ?? { id, score: 0, words: new Set(), terms: new Set() };
          hit.score += weight * score * boost(sections[id]);
          hit.words.add(asked);
          hit.terms.add(word);
          hits.set(id, hit);
        }
      }
    return [...hits.values()];
  }

  const index = indexed({ title: 5, page: 1.5, text: 1, code: 0.4 }), names = indexed({ title: 1 });

  // The words that are asked for, and the terms by theirs, in any order
  const asked = (words) => [...new Set(words.split(/[\s\p{P}]+/u).map((word) => word.toLowerCase())
    .filter((word) => word && !SILENT.has(word)).map(stem))].sort().join(" ");
  const terms = new Map(sections.filter(isTerm).flatMap(({ title, id }) =>
    title.split(/, |[，（）]/).filter(Boolean).map((name) => [asked(name), id])));

  // A section counts for more on a page with more about it; of each page the best comes before more of the same
  const find = (words) => {
    const said = SAYS.reduce((text, [theirs, ours]) => text.replace(theirs, ours), words.toLowerCase());
    const stems = [...new Set(tokenize(said).filter((word) => word && !SILENT.has(word)).map(stem))];
    const term = terms.get(asked(words)) ?? terms.get(asked(said));
    const asks = term === undefined && /^what(?:['’]s| is| are)\b|什么是|是什么/i.test(words);
    const found = search(index, stems.length ? stems : tokenize(words).map(stem).filter(Boolean),
      (word) => (word.length > 5 ? 0.15 : 0), (section) => (asks && isTerm(section) ? 2 : standing(section)));
    const most = Math.max(0, ...found.map((hit) => hit.words.size));
    const kept = found.filter((hit) => hit.words.size > most / 2);
    const totals = {}, before = {};
    for (const hit of kept) {
      const { address } = sections[hit.id];
      hit.score *= hit.words.size ** 3 / most ** 2;
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

  // The terms that are written most like it
  const nearest = (words) => search(names, tokenize(words).map(stem).filter(Boolean), () => 0.5, isTerm)
    .filter(({ score }) => score).sort((one, other) => other.score - one.score).slice(0, 3);

  const escape = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const element = (name, className, text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
  };

  // The text around the first hit, each hit marked; of code, the line that holds it
  const excerpt = (section, terms) => {
    const part = (term) => (!isHan(term) ? `(?<![\\p{L}\\p{N}])${escape(term)}\\p{L}*` : term.replace(/^(.)(.)$/, "$1(?=$2)|(?<=$1)$2"));
    const hit = new RegExp(`(?:${[...terms].map(part).join("|")})+`, "giu");
    const inText = section.text.search(hit);
    const line = inText < 0 && section.code.split("\n").find((each) => each.search(hit) >= 0);
    let text = line ? line.trim() : section.text;
    if (!line) {
      const room = text.match(HAN) ? 130 : 260; // Han characters are twice as wide
      let start = Math.max(0, inText - Math.round(room * 0.346));
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
    const hits = words ? find(words) : [], near = words && !hits.length ? nearest(words) : [];
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
  if (page) form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value.trim())}`);
    show();
  });
  if (page) field.value = new URLSearchParams(location.search).get("q") || "";
  show();
  field.focus();
})();
