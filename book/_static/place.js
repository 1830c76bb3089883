/* Where the reader is in a chapter: the section and the minutes left, in the bar above the text, with a line that grows.

   The minutes are those of the box "At a glance", shared out by height down to the exercises. Nothing is kept, here or elsewhere. */
(() => {
  "use strict";

  const minutes = Number(document.querySelector("details.glance")?.dataset.minutes);
  const bar = document.querySelector(".bd-header-article .header-article__inner");
  const sections = [...document.querySelectorAll(".bd-article > section > section")];
  if (!minutes || !bar || !sections.length) return;

  const place = document.createElement("div");
  place.className = "reading-place";
  const [name, left] = ["name", "left"].map((part) => {
    const text = document.createElement("span");
    text.className = `reading-${part}`;
    place.append(text);
    return text;
  });
  bar.children[0].after(place);

  const titleOf = (section) => {
    const heading = section.querySelector("h2").cloneNode(true);
    heading.querySelector(".headerlink")?.remove();
    return heading.textContent.trim();
  };
  const titles = sections.map(titleOf);
  const links = sections.map((section) => document.querySelector(`.bd-toc-nav a[href="#${section.id}"], .page-toc a[href="#${section.id}"]`));
  const last = sections.find((section) => section.id === "exercises") ?? sections.at(-1);

  const tell = () => {
    const line = innerHeight / 3; // what is above it counts as read
    const here = sections.findLastIndex((section) => section.getBoundingClientRect().top < line);
    const [start, end] = [sections[0], last].map((section) => section.getBoundingClientRect().top);
    const read = Math.min(1, Math.max(0, (line - start) / (end - start)));
    name.textContent = titles[here] ?? "";
    left.textContent = here < 0 ? "" : read < 1 ? t("about {n} min left", { n: Math.ceil((1 - read) * minutes) }) : "";
    bar.parentElement.style.setProperty("--read", here < 0 ? 0 : read);
    links.forEach((link, i) => (i === here ? link?.setAttribute("aria-current", "location") : link?.removeAttribute("aria-current")));
  };
  let asked = false;
  const soon = () => {
    if (!asked) requestAnimationFrame(() => { asked = false; tell(); });
    asked = true;
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  tell();
})();
