"""A language made up for this test, English with its words turned round: data alone makes its pages."""

import re
import shutil

import pytest

pytest.importorskip("sphinx_exercise")
import yaml
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from pages import ROOT, shown
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

import vitworkshop.words
from page import catalogue, edition, search

LANGUAGE = "eo"  # Sphinx, docutils and Babel know it; the book does not
PAGES = ["microscope", "notation"]
# what the pages' theme says has no Esperanto
THEME = """Author Back Ctrl Main PDF Page Project Skip Toggle Version content main name not pdf primary secondary set
    sidebar top warning"""
# What stays as it is, roles with words of their own up to these words
KEPT = re.compile(
    r"(\{[\w:]+\}`(?=[^`]*<)|<[^>]*>`?|`[^`]*`|\{[^}]*\}|\$[^$]*\$|\]\([^)]*\)|^\(\S+\)=|^:\w+:.*)|[A-Za-z]{2,}",
    re.M,
)


def turned(text: str) -> str:
    """A text with its words turned round."""
    return KEPT.sub(lambda found: found[1] or found[0][::-1], text)


def translate(page: str, folder) -> None:
    """Writes a page's translation."""
    path = edition.BOOK / f"{page}.md"
    words = {
        edition.digest(each): turned(each)
        for each in edition.units(path.read_text("utf-8"))
        if edition.is_prose(each)
    }
    if page == "notation":
        words.popitem()
    text = "\n\n".join(f"<!-- page {hashed} -->\n{words[hashed]}" for hashed in words)
    (folder / path.name).write_text(text, "utf-8")


def write_catalogue(folder) -> None:
    """Writes what the book's code says."""
    catalog = Catalog(LANGUAGE)
    for message in catalogue.read():
        if message.id:
            both = isinstance(message.id, tuple)
            said = tuple(map(turned, message.id)) if both else turned(message.id)
            catalog.add(message.id, said, message.locations)
    with (folder / f"{LANGUAGE}.po").open("wb") as file:
        write_po(file, catalog)
    for name, ending in catalogue.COMPILED.items():
        (folder / f"{LANGUAGE}{name}.mo").write_bytes(
            catalogue.compiled(catalog, ending)
        )


def build(folder, language: str) -> None:
    """Builds the pages of a language that lie in a folder."""
    parse = yaml.safe_load((ROOT / "_config.yml").read_text())["parse"]
    settings = {
        "extensions": ["myst_nb", "sphinx_design", "sphinx_exercise", "page.words"]
        + [f"page.{name}" for name in ("chapters", "typography", "search", "language")],
        "html_theme": "sphinx_book_theme",
        "language": language,
        "root_doc": "book/microscope",
        "suppress_warnings": ["toc", "myst", "ref"],
        "exclude_patterns": ["page", "vit*"],
        **parse,
    }
    search.pages.clear()
    with docutils_namespace():
        Sphinx(
            folder,
            None,
            folder / "html",
            folder / "trees",
            "html",
            settings,
            status=None,
            warning=None,
        ).build()


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folders of the English and of the other book."""
    english, other = tmp_path_factory.mktemp("en"), tmp_path_factory.mktemp(LANGUAGE)
    catalogues = tmp_path_factory.mktemp("words")
    (english / "book" / LANGUAGE).mkdir(parents=True)
    for page in PAGES:
        shutil.copy(ROOT / f"book/{page}.md", english / "book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edition, "BOOK", english / "book")
        patch.setattr(search, "BOOK", english / "book")
        patch.setattr(vitworkshop.words, "FOLDER", catalogues)
        patch.setitem(vitworkshop.words.CHOSEN, "language", "en")
        patch.setenv("LANGUAGES", f"en,{LANGUAGE}")
        write_catalogue(catalogues)
        for page in PAGES:
            translate(page, english / "book" / LANGUAGE)
        edition.compose(LANGUAGE, other, english / "cache")
        build(english, "en")
        build(other, LANGUAGE)
    return english, other


def words(path) -> set[str]:
    """The words that a page shows, but for a name's capitals."""
    return set(re.findall("[A-Za-z]{3,}", " ".join(shown(path))))


@pytest.mark.sampled(3)
def test_data_alone_makes_a_language_and_what_stays_english_is_the_themes(book):
    english, other = (words(folder / "html/book/microscope.html") for folder in book)
    assert "epocsorciM" in other and "Microscope" in english
    stays = {word for word in english & other if word[::-1] not in english}
    assert stays == set(THEME.split())


def test_a_text_without_a_translation_is_english_and_marked(book):
    page = (book[1] / "html/book/notation.html").read_text("utf-8")
    assert page.count('<span class="untranslated">ni hsilgnE</span>') == 1
    assert turned(edition.BANNER).format(n=1) in page


def test_pages_of_languages_lead_to_each_other_under_their_own_names(book):
    ways = [("../eo/book", "Esperanto"), ("../../book", "English")]
    for folder, (where, name) in zip(book, ways, strict=True):
        page = (folder / "html/book/notation.html").read_text("utf-8")
        way = re.search(rf'<a href="{where}/notation.html".*?</a>', page, re.S)
        assert name in way[0]


def test_another_language_is_refused_with_those_there_are(monkeypatch):
    monkeypatch.setenv("LANGUAGES", "en,xx")
    with pytest.raises(SystemExit, match="expected some of en, zh; got 'en,xx'"):
        edition.languages()
