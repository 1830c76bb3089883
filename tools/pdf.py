"""Writes the whole book as one PDF: contents, pages, and all solutions at the end.

    python -m tools.pdf             (or: make pdf)

The built pages are joined into one, `_build/pdf/book.html`, which headless Chrome or Chromium prints to
`_build/patch-by-patch.pdf`. A link from page to page leads to its place in the PDF, and the headings are its outline.
Where there is neither, that is said, nothing is written, and the exit status is 1: who asked for a file has none.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, Tag

import vitlib
from page.browser import HTML, chromium, launched
from page.explorers import is_state
from tools.build import BUILD, missing_pages, toc_pages

PDF = BUILD / "patch-by-patch.pdf"
LEAVE_OUT = ".headerlink, nav.vit-map-place.strip svg.tall, .only-dark, script, noscript, button"
# sections of every chapter
EVERYWHERE = {
    "What to take",
    "Key terms",
    "Exercises",
    "References",
}
STYLE = """
body { margin: 0 auto; max-width: 46rem; padding: 0 1rem; }
section.page, section.contents { break-before: page; }
section.cover { padding-top: 30mm; text-align: center; }
section.cover p:first-child { font-size: 3rem; font-weight: 750; }
section.contents > ul { columns: 2; padding: 0; }
section.contents > ul > li { break-inside: avoid; font-weight: 650; margin-bottom: 0.7rem; }
section.contents ul ul { font-weight: 400; margin: 0; }
section.contents ul { list-style: none; padding-left: 1.2rem; }
h1, h2, h3 { padding-top: 0.15em; } /* letters above their box would be on two pages, and twice in the outline */
"""
WHOLE = """<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">
{sheets}
<style>{style}</style>
<title>{title}</title>
</head><body><section class="cover"><p>{title}</p><p>Vision Transformers you can run<br>vitlib {version}</p></section>
{parts}
</body></html>
"""


def place(page: str, name: str = "") -> str:
    """The name of a page's anchor in the joined document."""
    return f"{page.rsplit('/', 1)[-1]}--{name}"


def soup_of(page: str) -> BeautifulSoup:
    """A built page."""
    return BeautifulSoup(
        (HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser"
    )


def article(page: str, pages: list[str]) -> Tag:
    """A page's text, with names and links that hold among all pages."""
    found, folder = soup_of(page).select_one("article.bd-article"), (HTML / page).parent
    files = {f"{each.rsplit('/', 1)[-1]}.html": each for each in pages}
    for each in found.select(LEAVE_OUT):
        each.decompose()
    for each in found.select("[id]"):
        each["id"] = place(page, each["id"])
    for each in found.select("[href]"):
        target, _, name = each["href"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        if each.name == "image":  # in a drawing
            each["href"] = (folder / target).resolve().as_uri()
        elif not target or target in files:
            each["href"] = "#" + place(
                files.get(target, page), "" if is_state(name) else name
            )
        elif each.name == "a":  # downloads, sources, the index: not in the PDF
            del each["href"]
    for each in found.select("[src]"):
        each["src"] = (folder / each["src"]).resolve().as_uri()
        each["loading"] = "eager"
    for key in ("for", "aria-labelledby", "aria-describedby"):
        for each in found.select(f"[{key}]"):
            each[key] = " ".join(place(page, name) for name in str(each[key]).split())
    found.name, found["id"], found["class"] = (
        "section",
        place(page),
        ["bd-article", "page"],
    )
    return found


def gather_solutions(soup: BeautifulSoup, parts: list[Tag]) -> Tag:
    """Takes the solutions out of the pages, leaves a link in the place of each, and returns them as a last part."""
    last = soup.new_tag(
        "section", id=place("solutions"), attrs={"class": "bd-article page"}
    )
    last.append(soup.new_tag("h1", string="Solutions"))
    for part in parts:
        for i, solution in enumerate(part.select("details.solution")):
            if i == 0:
                last.append(soup.new_tag("h2", string=text_of(part.h1)))
            link = soup.new_tag("p")
            link.append(
                soup.new_tag(
                    "a", href=f"#{solution['id']}", string=text_of(solution.summary)
                )
            )
            solution.replace_with(link)
            solution.summary.name, solution.name, solution["class"] = (
                "h3",
                "div",
                ["answer"],
            )
            last.append(solution)
    return last


def text_of(tag: Tag) -> str:
    """The words of a heading."""
    return tag.get_text().strip()


def contents(parts: list[Tag]) -> str:
    """The table of contents: pages and their sections, as links, but for those that every chapter has."""
    items = []
    for part in parts:
        sections = [
            f'<li><a href="#{h2.parent["id"]}">{escape(text_of(h2), False)}</a></li>'
            for h2 in part.select("h2")
            if h2.parent.get("id")
            and h2.parent is not part
            and text_of(h2) not in EVERYWHERE
        ]
        inner = f"<ul>{''.join(sections)}</ul>" if sections else ""
        items.append(
            f'<li><a href="#{part["id"]}">{escape(text_of(part.h1), False)}</a>{inner}</li>'
        )
    return f'<section class="bd-article contents"><h1>Contents</h1><ul>{"".join(items)}</ul></section>'


def join(pages: list[str], title: str = "Patch by Patch") -> str:
    """The pages as one HTML document; their figures and style sheets stay where they were built."""
    soup, base = soup_of(pages[0]), (HTML / pages[0]).parent
    links = soup.select("head > link[rel=stylesheet]")
    sheets = [(base / link["href"].split("?")[0]).resolve().as_uri() for link in links]
    parts = [article(page, pages) for page in pages]
    if any(part.select("details.solution") for part in parts):
        parts.append(gather_solutions(soup, parts))
    return WHOLE.format(
        sheets="\n".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in sheets),
        style=STYLE,
        title=escape(title),
        version=vitlib.__version__,
        parts="\n".join([contents(parts), *map(str, parts)]),
    )


def write(pages: list[str], path: Path, window, title: str = "Patch by Patch") -> None:
    """Prints the pages, joined, to a PDF at ``path``; ``window`` is playwright's browser."""
    joined = BUILD / "pdf" / f"{path.stem}.html"
    joined.parent.mkdir(parents=True, exist_ok=True)
    joined.write_text(join(pages, title), encoding="utf-8")
    tab = window.new_page(color_scheme="light")
    tab.set_default_timeout(600_000)
    # nothing comes from elsewhere
    tab.route(re.compile("^https?:"), lambda route: route.abort())
    tab.goto(joined.as_uri(), wait_until="load")
    tab.evaluate("document.fonts.ready")
    foot = '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></div>'
    margin = {"top": "16mm", "bottom": "16mm", "left": "15mm", "right": "15mm"}
    frame = {
        "display_header_footer": True,
        "header_template": "<span></span>",
        "footer_template": foot,
    }
    tab.pdf(
        path=path,
        format="A4",
        print_background=True,
        tagged=True,
        outline=True,
        margin=margin,
        **frame,
    )
    tab.close()


def main() -> int:
    """Writes the book's PDF and returns the exit status."""
    if gone := missing_pages():
        print(
            f"The book is not built yet (no page for {gone[0]}): run `make book` first."
        )
        return 1
    if chromium() is None:
        print(
            "No PDF was written: it takes Chrome or Chromium to print the pages, and neither was found."
        )
        return 1
    with launched() as window:
        write(toc_pages(), PDF, window)
    print(f"Wrote {PDF}, {PDF.stat().st_size / 1e6:.1f} MB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
