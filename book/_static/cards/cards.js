/* Cards: what a key term or a name of vitlib means, shown beside its link on hover and on focus. Escape closes a card.
   The texts lie in cards-text.js, loaded with the first card. Without scripts the links are plain ones. */
(() => {
  "use strict";
  const texts = new URL("../cards-text.js", document.currentScript.src).href;
  let card, owner, waiting;

  const load = () => new Promise((done) => {
    if (window.bookCards) return done();
    const script = document.createElement("script");
    script.src = texts;
    script.onload = script.onerror = done;
    document.head.append(script);
  });

  const close = () => {
    clearTimeout(waiting);
    if (owner) owner.removeAttribute("aria-describedby");
    if (card) card.hidden = true;
    owner = null;
  };

  const open = async (link) => {
    await load();
    const text = (window.bookCards || {})[decodeURIComponent(link.hash.slice(1))];
    if (!text || !link.isConnected || !(link.matches(":hover") || link === document.activeElement)) return;
    close();
    if (!card) {
      card = document.createElement("div");
      card.id = "book-card";
      card.setAttribute("role", "tooltip");
      card.append(document.createElement("strong"), document.createElement("p"));
      card.addEventListener("mouseenter", () => clearTimeout(waiting));
      card.addEventListener("mouseleave", later);
      document.body.append(card);
    }
    owner = link;
    card.firstChild.textContent = text[0];
    card.firstChild.className = link.hash.startsWith("#vitlib.") ? "code" : "";
    card.lastChild.textContent = text[1];
    card.hidden = false;
    const line = link.getClientRects()[0];
    const left = Math.min(line.left, document.documentElement.clientWidth - card.offsetWidth - 8);
    const below = line.bottom + card.offsetHeight + 8 < innerHeight;
    card.style.left = `${Math.max(8, left)}px`;
    card.style.top = `${below ? line.bottom + 4 : Math.max(4, line.top - card.offsetHeight - 4)}px`;
    link.setAttribute("aria-describedby", card.id);
  };

  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(close, 200);
  };
  const linkOf = (event) => event.target.closest?.("article a[href*='#term-'], article a[href*='#vitlib.']");
  document.addEventListener("mouseover", (event) => {
    const link = linkOf(event);
    if (!link || link === owner) return link && clearTimeout(waiting);
    clearTimeout(waiting);
    waiting = setTimeout(() => open(link), 120);
  });
  document.addEventListener("mouseout", (event) => linkOf(event) && later());
  document.addEventListener("focusin", (event) => linkOf(event) && open(linkOf(event)));
  document.addEventListener("focusout", (event) => linkOf(event) && close());
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
  addEventListener("scroll", close, { passive: true });
})();
