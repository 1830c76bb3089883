"""Writes the whole book as one PDF: contents, pages, and all solutions at the end.

    python -m tools.pdf             (or: make pdf)

The built pages are joined into one, `_build/pdf/book.html`, which headless Chrome or Chromium prints to
`_build/patch-by-patch.pdf`. A link from page to page leads to its place in the PDF, and the headings are its outline.
Where there is neither, that is said, nothing is written, and the exit status is 1: who asked for a file has none.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

from bs4 import BeautifulSoup, Tag

import vitlib
from tools.build import BUILD, HTML, missing_pages, toc_pages

PDF = BUILD / "patch-by-patch.pdf"
BROWSERS = [
    *"chromium chromium-browser google-chrome google-chrome-stable chrome msedge".split(),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
]
LEAVE_OUT = ".headerlink, nav.vit-map-place.strip svg.tall, .only-dark, script, noscript, button"
COVER = f"Vision Transformers you can run<br>vitlib {vitlib.__version__}"
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


def chromium() -> str | None:
    """Returns where Chrome or Chromium is, None if there is neither."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def place(page: str, name: str = "") -> str:
    """Returns the name of a page's anchor in the joined document."""
    return f"{page.rsplit('/', 1)[-1]}--{name}"


def article(page: str, pages: list[str]) -> Tag:
    """Returns a page's text, with names and links that hold among all pages."""
    soup = BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    found = soup.select_one("article.bd-article")
    for each in found.select(LEAVE_OUT):
        each.decompose()
    files = {f"{each.rsplit('/', 1)[-1]}.html": each for each in pages}
    for each in found.select("[id]"):
        each["id"] = place(page, each["id"])
    for each in found.select("[href]"):
        target, _, name = each["href"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        if each.name == "image":  # in a drawing
            each["href"] = (HTML / page).parent.joinpath(target).resolve().as_uri()
            continue
        if not target or target in files:
            each["href"] = "#" + place(files.get(target, page), name)
        elif each.name == "a":  # downloads, sources, the index: not in the PDF
            del each["href"]
    for each in found.select("[src]"):
        each["src"] = (HTML / page).parent.joinpath(each["src"]).resolve().as_uri()
        each["loading"] = "eager"
    for each in found.select("[for], [aria-labelledby], [aria-describedby]"):
        for key in ("for", "aria-labelledby", "aria-describedby"):
            if each.get(key):
                each[key] = " ".join(place(page, name) for name in str(each[key]).split())
    found.name, found["id"], found["class"] = "section", place(page), ["bd-article", "page"]
    return found


def gather_solutions(soup: BeautifulSoup, parts: list[Tag]) -> Tag | None:
    """Takes the solutions out of the pages, leaves a link in the place of each, and returns them as a last part."""
    last = soup.new_tag("section", id=place("solutions"), attrs={"class": "bd-article page"})
    last.append(soup.new_tag("h1", string="Solutions"))
    for part in parts:
        solutions = part.select("details.solution")
        if solutions:
            last.append(soup.new_tag("h2", string=part.h1.get_text().strip()))
        for solution in solutions:
            line = solution.find("summary")
            link = soup.new_tag("p")
            link.append(soup.new_tag("a", href=f"#{solution['id']}", string=line.get_text().strip()))
            solution.replace_with(link)
            line.name, solution.name, solution["class"] = "h3", "div", ["answer"]
            last.append(solution)
    return last if len(last.contents) > 1 else None


def contents(soup: BeautifulSoup, parts: list[Tag]) -> Tag:
    """Returns the table of contents: pages and their sections, as links, but for those that every chapter has."""
    everywhere = {"Summary", "Key terms", "Exercises", "References"}

    def entry(name: str, heading: Tag) -> Tag:
        item = soup.new_tag("li")
        item.append(soup.new_tag("a", href=f"#{name}", string=heading.get_text().strip()))
        return item

    section = soup.new_tag("section", attrs={"class": "bd-article contents"})
    section.append(soup.new_tag("h1", string="Contents"))
    top = soup.new_tag("ul")
    for part in parts:
        item, inner = entry(part["id"], part.h1), soup.new_tag("ul")
        for heading in part.select("h2"):
            named = heading.parent.get("id") and heading.parent is not part
            if named and heading.get_text().strip() not in everywhere:
                inner.append(entry(heading.parent["id"], heading))
        if inner.contents:
            item.append(inner)
        top.append(item)
    section.append(top)
    return section


def join(pages: list[str], title: str = "Patch by Patch") -> str:
    """Returns the pages as one HTML document; their figures and style sheets stay where they were built."""
    soup = BeautifulSoup((HTML / f"{pages[0]}.html").read_text(encoding="utf-8"), "html.parser")
    base = (HTML / pages[0]).parent
    sheets = [
        base.joinpath(link["href"].split("?")[0]).resolve()
        for link in soup.select("head > link[rel=stylesheet]")
    ]
    parts = [article(page, pages) for page in pages]
    if solutions := gather_solutions(soup, parts):
        parts.append(solutions)
    head = [f'<link rel="stylesheet" href="{sheet.as_uri()}">' for sheet in sheets]
    head += [f"<style>{STYLE}</style>", f"<title>{html.escape(title)}</title>"]
    cover = f'<section class="cover"><p>{html.escape(title)}</p><p>{COVER}</p></section>'
    body = "\n".join([cover, *map(str, [contents(soup, parts), *parts])])
    return (
        '<!DOCTYPE html>\n<html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">\n'
        + "\n".join(head)
        + f"\n</head><body>{body}\n</body></html>\n"
    )


def write(pages: list[str], path: Path, window, title: str = "Patch by Patch") -> None:
    """Prints the pages, joined, to a PDF at ``path``; ``window`` is playwright's browser."""
    joined = BUILD / "pdf" / f"{path.stem}.html"
    joined.parent.mkdir(parents=True, exist_ok=True)
    joined.write_text(join(pages, title), encoding="utf-8")
    tab = window.new_page(color_scheme="light")
    tab.set_default_timeout(600_000)
    tab.route(re.compile("^https?:"), lambda route: route.abort())  # nothing comes from elsewhere
    tab.goto(joined.as_uri(), wait_until="load")
    tab.evaluate("document.fonts.ready")
    foot = '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></div>'
    margin = {"top": "16mm", "bottom": "16mm", "left": "15mm", "right": "15mm"}
    frame = {"display_header_footer": True, "header_template": "<span></span>", "footer_template": foot}
    tab.pdf(path=path, format="A4", print_background=True, tagged=True, outline=True, margin=margin, **frame)
    tab.close()


def main() -> int:
    """Writes the book's PDF and returns the exit status."""
    if gone := missing_pages():
        print(f"The book is not built yet (no page for {gone[0]}): run `make book` first.")
        return 1
    program = chromium()
    if program is None:
        print("No PDF was written: it takes Chrome or Chromium to print the pages, and neither was found.")
        return 1
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        write(toc_pages(), PDF, window)
        window.close()
    print(f"Wrote {PDF}, {PDF.stat().st_size / 1e6:.1f} MB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
