/* Figures that are wider than the screen scroll in their box: this lets the box take the focus while it scrolls, and
   gives it a name. Without this script it scrolls all the same, in most browsers by keys too. */

const follow = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1;
    target.toggleAttribute("tabindex", false);
    if (scrolls) target.tabIndex = 0;
    target.toggleAttribute("role", false);
    target.toggleAttribute("aria-label", false);
    if (scrolls) {
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", "Figure, scrolls sideways");
    }
  }
});

for (const drawing of document.querySelectorAll(".drawing")) follow.observe(drawing);
