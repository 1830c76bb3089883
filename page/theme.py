"""What the theme, Sphinx and other extensions do wrong on a page, mended; the theme itself is only set and styled.

Scripts that the book does not need are left out, and markup that axe-core calls wrong is mended. For readers without
scripts there are colours: the theme's hang on `html[data-theme="light"]` and `"dark"`, which a script sets. Without it
the page says `data-theme="auto"`, and no rule holds. So every such rule of the built style sheets is written once more
for "auto", the dark ones for readers whose system is dark, into `_static/auto.css`, which only they load.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import tinycss2

from page.words import t

# From another host (a widget's), of an extension that is not used, or for solutions, which fold without a script
UNWANTED = re.compile(r"^http|sphinx-thebe|togglebutton")
ICONS = re.compile(r'\s*<script src="[^"]*/fontawesome\.js[^"]*"></script>')
SIDEBAR = '<div id="pst-primary-sidebar"'  # with the logo, which stands in no landmark
AUTO = "auto.css"
# One logo serves both modes, and the theme's second copy of it waits for a script
LOGO = (
    'html[data-theme="auto"] .navbar-brand .only-light { display: block !important; }\n'
)
# The theme's script chooses after the page is shown; colours, and borders made of them, would come late and shift it.
CHOOSE = """\
{
  const page = document.documentElement.dataset;
  if (page.theme === "auto")
    page.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}"""


def drop_thebe(app, config) -> None:
    """Switches sphinx-thebe off: even unused, it writes a script that is an error on every page."""
    for listeners in app.events.listeners.values():
        for listener in [
            each for each in listeners if each.handler.__module__ == "sphinx_thebe"
        ]:
            app.disconnect(listener.id)


def change_pages(app, change: Callable[[str], str]) -> None:
    """Changes whole pages where the theme has no setting: what its templates write."""
    if app.builder.format == "html":
        render = app.builder.templates.render
        app.builder.templates.render = lambda name, context: change(
            render(name, context)
        )


def drop_icon_script(app) -> None:
    """Leaves out the theme's script of icons, 1.5 MB, for a font of 3 kB (`fonts.css`)."""
    change_pages(app, lambda page: ICONS.sub("", page))


def name_bars(app) -> None:
    """Makes the bar with the logo a landmark; names that the theme has only in English are the book's."""
    named = f'{SIDEBAR} role="complementary" aria-label="{t("The book")}"'
    said = {
        "Main": t("Main"),
        "Page": t("Page"),
        "Toggle primary sidebar": t("Toggle primary sidebar"),
        "Toggle secondary sidebar": t("Toggle secondary sidebar"),
    }
    bars = re.compile(rf'((?:aria-label|title)=")({"|".join(said)})(?=")')

    def change(page: str) -> str:
        page = page.replace(SIDEBAR, named)
        return bars.sub(lambda bar: bar[1] + said[bar[2]], page)

    change_pages(app, change)


def is_wanted(file) -> bool:
    """Whether a page needs a script or style sheet."""
    text = getattr(file, "attributes", {}).get("body", "")
    return not UNWANTED.search(f"{getattr(file, 'filename', file)} {text}")


def mend(body: str) -> str:
    """A page's HTML with the roles, lists and names that it should have."""

    def as_lines(signature: re.Match) -> str:  # not a list of definitions without terms
        text = re.sub(
            r"<d([ld])>",
            lambda tag: f'<span class="sig-line{"s" * (tag[1] == "l")}">',
            signature[0],
        )
        return re.sub(r"</d[ld]>", "</span>", text)

    # deprecated, and it stands in a list
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    # named by what it says
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    # a corner heads nothing
    body = body.replace('<th class="head"><p></p></th>', '<td class="head"></td>')
    return re.sub(r'<dt class="sig .*?</dt>', as_lines, body, flags=re.S)


def mend_page(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Mends a page, and leaves out what it does not need."""
    if "body" in context:
        context["body"] = mend(context["body"])
    for kind in ("script_files", "css_files"):
        context[kind] = list(filter(is_wanted, context[kind]))


def link_auto(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Links the colours for readers without scripts."""
    link = f'<noscript><link rel="stylesheet" href="{context["pathto"](f"_static/{AUTO}", 1)}"/></noscript>'
    context["metatags"] = context.get("metatags", "") + f"\n    {link}"


def for_auto(rules: list | str, theme: str) -> str:
    """The rules for a theme, so written that they hold where no script has chosen one."""
    found, mark = "", re.compile(rf"""\[data-theme=["']?{theme}["']?\]""")
    for rule in tinycss2.parse_rule_list(
        rules, skip_comments=True, skip_whitespace=True
    ):
        head = tinycss2.serialize(getattr(rule, "prelude", ())).strip()
        if rule.type == "qualified-rule":
            parts = [
                each.strip()
                for each in re.split(r",(?![^(]*\))", head)
                if mark.search(each)
            ]
            if parts:
                heads = mark.sub('[data-theme="auto"]', ", ".join(parts))
                found += f"{heads} {{ {tinycss2.serialize(rule.content).strip()} }}\n"
        elif rule.type == "at-rule" and rule.at_keyword in ("media", "supports"):
            if inner := for_auto(rule.content, theme):
                found += f"@{rule.at_keyword} {head} {{\n{inner}}}\n"
    return found


def write_auto(app, error) -> None:
    """Writes the colours for readers without scripts, from the style sheets that the pages use."""
    static = Path(app.outdir) / "_static"
    if error or not static.is_dir():
        return
    own = [
        each if isinstance(each, str) else each[0] for each in app.config.html_css_files
    ]
    theme = [
        "styles/pydata-sphinx-theme.css",
        "pygments.css",
        "styles/sphinx-book-theme.css",
    ]
    files = [
        *map(static.joinpath, theme),
        *sorted(static.glob("mystnb.*.css")),
        *map(static.joinpath, own),
    ]
    css = "\n".join(
        file.read_text(encoding="utf-8") for file in files if file.is_file()
    )
    rules = tinycss2.parse_component_value_list(css, skip_comments=True)
    text = f"@media print, (prefers-color-scheme: light) {{\n{for_auto(rules, 'light')}}}\n"
    text += f"@media screen and (prefers-color-scheme: dark) {{\n{for_auto(rules, 'dark')}}}\n{LOGO}"
    (static / AUTO).write_text(text, encoding="utf-8")


def setup(app) -> None:
    """Mends pages when all others are done with them; `auto.css` comes after the theme's colours of code."""
    app.add_js_file(None, body=CHOOSE)
    app.connect("config-inited", drop_thebe)
    app.connect("builder-inited", drop_icon_script)
    app.connect("builder-inited", name_bars)
    app.connect("html-page-context", link_auto)
    app.connect("html-page-context", mend_page, priority=950)
    app.connect("build-finished", write_auto, priority=900)
