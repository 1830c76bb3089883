"""Colours for readers without scripts.

The theme's colours hang on `html[data-theme="light"]` and `"dark"`, which a script sets. Without it the page says
`data-theme="auto"`, and no rule holds. So every such rule of the built style sheets is written once more for "auto",
the dark ones for readers whose system is dark, into `_static/auto.css`, which only readers without scripts load.
"""

from __future__ import annotations

import re
from pathlib import Path

NAME = "auto.css"
THEME = r"""\[data-theme=["']?{}["']?\]"""
# One logo serves both modes, and the theme's second copy of it waits for a script
LOGO = 'html[data-theme="auto"] .navbar-brand .only-light { display: block !important; }\n'


def rules(css: str):
    """Yields the parts of a style sheet: what stands before the braces and what stands in them."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    start = depth = 0
    for place in re.finditer(r"[{};]", css):
        if place[0] == "{":
            depth += 1
            opened = place.end() if depth == 1 else opened
        elif place[0] == "}":
            depth -= 1
            if depth == 0:
                yield css[start : opened - 1].strip(), css[opened : place.start()].strip()
                start = place.end()
        elif depth == 0:  # @import, @charset
            start = place.end()


def for_auto(css: str, theme: str) -> str:
    """Returns the rules for this theme, so written that they hold where no script has chosen one."""
    found = []
    for head, body in rules(css):
        if head.startswith(("@media", "@supports")):
            if inner := for_auto(body, theme):
                found.append(f"{head} {{\n{inner}}}\n")
        elif not head.startswith("@"):
            mark = THEME.format(theme)
            heads = [each.strip() for each in re.split(r",(?![^(]*\))", head) if re.search(mark, each)]
            heads = [re.sub(mark, '[data-theme="auto"]', each) for each in heads]
            found += [f"{', '.join(heads)} {{ {body} }}\n"] if heads else []
    return "".join(found)


def write_auto(app, exception) -> None:
    """Writes the style sheet from those that the pages use."""
    static = Path(app.outdir) / "_static"
    if exception or not static.is_dir():
        return
    own = [static / (each if isinstance(each, str) else each[0]) for each in app.config.html_css_files]
    files = [static / "styles/pydata-sphinx-theme.css", static / "pygments.css"]
    files += [static / "styles/sphinx-book-theme.css", *sorted(static.glob("mystnb.*.css")), *own]
    css = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    light, dark = for_auto(css, "light"), for_auto(css, "dark")
    text = f"@media print, (prefers-color-scheme: light) {{\n{light}}}\n"
    text += f"@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n{LOGO}"
    (static / NAME).write_text(text, encoding="utf-8")


def add_link(app, pagename, templatename, context, doctree) -> None:
    """Links it in the head, for readers without scripts only."""
    link = f'<noscript><link rel="stylesheet" href="{context["pathto"](f"_static/{NAME}", 1)}"/></noscript>'
    context["metatags"] = context.get("metatags", "") + f"\n    {link}"


# The theme's script chooses after the page is shown; colours, and borders made of them, would come late and shift it.
CHOOSE = """\
{
  const page = document.documentElement.dataset;
  if (page.theme === "auto")
    page.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}"""


def setup(app):
    """Runs after the theme has written its colours of code."""
    app.add_js_file(None, body=CHOOSE)
    app.connect("build-finished", write_auto, priority=900)
    app.connect("html-page-context", add_link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
