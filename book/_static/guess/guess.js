/* Guesses and answers on a page: what is typed into a field is judged as `vl.check` does, by data beside it
   (vitworkshop/exercises/data.py). A value there is a word, a list of words, or [numbers, whether they are counted]. */
(() => {
  "use strict";
  const DO = { "**": Math.pow, "*": (a, b) => a * b, "/": (a, b) => a / b, "+": (a, b) => a + b };
  // kinds: t("a number") t("numbers") t("numbers in any order") t("a word") t("words") t("words in order") t("True or False")
  const NUMBER = "(-?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?)";
  const flat = (x) => [x].flat(Infinity), shape = (x) => (Array.isArray(x) ? `[${x.map(shape)}]` : "");

  // Numbers, lists, True and False as Python writes them, with sums and products; null for anything else
  function read(text) {
    let s = text.replace(/[，、；]/g, ",").replace(/（/g, "(").replace(/）/g, ")")
      .replace(/[−–]/g, "-").replace(/(\d)(?: - |-)(?=\d)/g, "$1+-").replace(/(\d)_(?=\d)/g, "$1");
    for (const sign of ["\\*\\*", "[*/]", "\\+"]) {
      const once = RegExp(`${NUMBER}\\s*(${sign})\\s*${NUMBER}`, "i");
      while (once.test(s)) s = s.replace(once, (_, a, doing, b) => DO[doing](+a, +b));
    }
    s = s.replace(RegExp(NUMBER, "gi"), (n) => +n).toLowerCase().replace(/[({]/g, "[").replace(/[)}]/g, "]");
    s = s.replace(/([\d\]])\s+(?=[-\d[])/g, "$1,").replace(/,\s*(?=\]|$)/g, "");
    try {
      const found = JSON.parse(`[${s}]`);
      return flat(found).some((x) => typeof x === "string") ? null : found.length === 1 ? found[0] : found;
    } catch {
      return null;
    }
  }

  // `bare` and `words` in answers.py there
  const bare = (word) => word.toLowerCase().replace(/(\w)['’]s\b|["'`‘’“”]/g, "$1")
    .replace(/^[\s,;.!?]+|[\s,;.!?]+$/g, "").replace(/^(the|an?|and)\s+|[\s,_-]/g, "");
  function words(typed, { kind, right: [right] }, spelled) {
    const text = typed.replace(/[[\](){}（）]/g, "").replace(/[，、；]|和/g, ","), letters = text.split(/[^\w.+*/-]+/);
    const apart = /[,;\n]| and /.test(text) ? /[,;\n]| and / : /\s+/;
    const parts = letters.every((one) => one.length < 2) ? letters : kind === "a word" ? [text] : text.split(apart);
    const found = parts.map(bare).filter(Boolean);
    if (kind === "a word") {
      const word = found.length === 1 || found.every((one) => one.length === 1) ? found.join("") : "";
      return Object.keys(spelled).find((one) => RegExp(spelled[one]).test(word)) || word || null;
    }
    const each = right.every((word) => word.length === 1) ? [...found.join("")] : found;
    return kind === "words" ? [...new Set(each)].sort() : each;
  }

  // `rounded` and `same` there
  const rounded = (got, want, whole) => {
    const off = Math.abs(got - want), size = Math.abs(want);
    return !off || (!whole && off <= 1e-4 * size) || (!whole || size >= 1e4) && [3, 4, 5, 6, 7, 8, 9].some((digits) => {
      const unit = 10 ** (Math.floor(Math.log10(size) + 1e-12) + 1 - digits);
      return Math.abs(got / unit - Math.round(got / unit)) < 1e-3 && off <= 0.500001 * unit;
    });
  };
  function fits(got, value, kind, tol) {
    if (kind.includes("word")) return String(got) === String(value);
    const [[want, whole], numbers, all] = [value, flat(got), flat(value[0])];
    if (kind === "numbers in any order") return String([...new Set(numbers)].sort((a, b) => a - b)) === String(all);
    const most = whole ? 0 : tol * (Math.max(...all.map(Math.abs)) || 1);
    return shape(got) === shape(want) && numbers.every((x, i) => typeof x === typeof all[i])
      && (numbers.every((x, i) => Math.abs(x - all[i]) <= most) || numbers.every((x, i) => rounded(x, all[i], whole)));
  }

  // What is said of a wrong answer that is no known mistake; `told.py` says more
  function told(got, { kind, right: [right], known }, text, tol) {
    const all = flat(got), want = kind.includes("word") ? right : right[0], fine = flat(want);
    const strange = Object.keys(known).length && [...all].sort().find((word) => !(word in known));
    const typed = text.split(/[,;\n]| and /).find((word) => bare(word) === strange) || String(strange);
    if (strange) return t("unknown word “{word}”; the known ones are {known}", {
      word: typed.trim(), known: Object.values(known).join(t(", ")) });
    if (kind === "words" || kind === "numbers in any order")
      return all.every((one) => fine.includes(one)) ? t("right so far, and more belong here") : t("not all belong here");
    if (shape(got) !== shape(want))
      return kind === "numbers" ? t("expected numbers, {n} of them", { n: fine.length }) : t("expected {kind}", { kind: t(kind) });
    const near = Math.abs(got / want - 1) < 0.05, way = got > want ? near ? t("a little too large") : t("too large")
      : near ? t("a little too small") : t("too small");
    const off = fine.filter((one, i) => one !== all[i] && !fits(all[i], [one, right[1]], kind, tol)).length;
    if (fine.length > 1) return tn("{n} of {all} is wrong", "{n} of {all} are wrong", off, { all: fine.length });
    return kind === "a number" ? way : t("not this one");
  }

  // The verdicts on what was typed, by the names of the parts
  function judge({ tol, spelled, parts, mistakes, pairs }, typed) {
    const given = Object.keys(parts).filter((part) => typed[part]?.trim());
    const take = (text, part) => (part.kind.includes("word") ? words(text, part, spelled)
      : read(part.kind === "a number" ? text.replace(/(\d),(?=\d{3}(?!\d))/g, "$1") : text));
    const got = Object.fromEntries(given.map((part) => [part, take(typed[part].trim(), parts[part])]));
    const fit = (part, value) => got[part] !== null && fits(got[part], value, parts[part].kind, tol);
    const hit = mistakes.map(([, , values]) => given.filter((part) => part in values && fit(part, values[part])));
    const say = (part) => {
      if (got[part] === null) return t("expected {kind}, got “{typed}”", { kind: t(parts[part].kind), typed: typed[part].trim() });
      const named = mistakes.flatMap(([sentence, wrong], i) => { // best are those that explain the other parts as well
        const off = wrong.filter((one) => given.includes(one)), all = off.every((one) => hit[i].includes(one));
        return hit[i].includes(part) ? [[1e4 * all + 99 * off.length - wrong.length, sentence]] : [];
      });
      const best = Math.max(...named.map(([how]) => how)), said = named.filter(([how]) => how === best);
      return [...new Set(said.map(([, sentence]) => sentence))].join(t("; or ")).replace(/\?; or/g, "? Or").replace(/？；/g, "？")
        || pairs.find(([, values]) => part in values && fit(part, values[part]))?.[0]
        || told(got[part], parts[part], typed[part], tol);
    };
    return given.map((part) => [part, parts[part].right.some((x) => fit(part, x)) ? t("right")
      : t("not yet: {what}", { what: say(part) })]);
  }
  window.bookGuess = judge; // for its test

  document.querySelectorAll("form.guess").forEach((form) => {
    const answer = form.querySelector("[role=status]"), inputs = [...form.querySelectorAll("input")];
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const data = JSON.parse(form.querySelector("script").textContent);
      const said = judge(data, Object.fromEntries(inputs.map(({ name, value }) => [name, value])));
      const alike = said.length === inputs.length && said.every(([, what]) => what === said[0][1]);
      const lines = alike ? [said[0][1]] : said.map(([part, what]) => t("{part}: {what}", { part, what }));
      answer.textContent = lines.join("\n") || t("nothing is typed yet");
    });
    const show = form.querySelector("[type=button]"), { lastElementChild: right } = form.nextElementSibling;
    show.addEventListener("click", () => (answer.textContent = right.textContent));
  });
})();
