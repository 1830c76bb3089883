"""A book of four short pages, built with the book's own extensions: what each of them puts on a page."""

import json
import re

import pytest

pytest.importorskip("sphinx_exercise")
from sphinx.application import Sphinx

from page import search

EXTENSIONS = "chapters typography cards search theme preview"
PAGES = {
    "index": """
        Small book
        ==========
        It is 50% or -1.

        .. toctree::

           book/04-before
           book/05-attention
           book/key-concepts
           book/api
        """,
    "book/04-before": """
        Before
        ======
        What stands before.

        .. math:: a = b
           :label: eq-before
        """,
    "book/05-attention": """
        Attention
        =========
        Build "it" from a token & a query.

        .. admonition:: At a glance
           :class: glance

           - You learn to split. 45 minutes to read.

        Heads
        -----
        Tokens meet the query of `vl.split`; a token again, a supertoken, a gap, a GAP, *token*, a head. ``vl.none``.

        .. math:: x = y
           :label: eq-first

        .. math:: y = z
           :label: eq-second

        See :eq:`eq-second`, where :math:`-1 < x`, and 20%.

        .. code-block:: python

           "50%"

        .. exercise:: Split it
           :label: ex-split

           Do it.

        .. solution:: ex-split
           :label: done

           The answer is secret.

        .. admonition:: Mind
           :class: tip

           This box stays.

        Costs
        -----
        A token costs.

        Key terms
        ---------
        Query.
        """,
    "book/key-concepts": """
        Key concepts
        ============
        .. glossary::

           Token
              A row of numbers. It has more.

           query
              What a token asks.

           GAP
              The mean.

           Head
              The last layer.
        """,
    "book/api": """
        API
        ===
        .. math:: e = f
           :label: eq-else

        Names
        -----
        .. py:function:: vitlib.split(x: int) -> int

           Split it in two. As often as you like.

           Taught in chapter 05.

        .. py:function:: vitlib.join(x: int) -> int

           Join what `vl.split` split. Taught in chapter 04.
        """,
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of the finished pages."""
    folder = tmp_path_factory.mktemp("book")
    for name, text in PAGES.items():
        path = folder / f"{name}.rst"
        path.parent.mkdir(exist_ok=True)
        path.write_text(re.sub("^ {8}", "", text, flags=re.M), encoding="utf-8")
    settings = {
        "extensions": [
            "sphinx_exercise",
            *(f"page.{name}" for name in EXTENSIONS.split()),
        ],
        "html_theme": "basic",
        "html_math_renderer": "mathml",
        "html_permalinks": False,
        "numfig": True,
        "default_role": "code",
    }
    search.pages.clear()
    app = Sphinx(
        folder,
        None,
        folder / "out",
        folder / "trees",
        "html",
        settings,
        status=None,
        warningiserror=True,
    )
    app.build()
    return folder / "out"


@pytest.fixture(scope="module")
def read(book):
    """Gives a page's HTML, or what a script of the book holds."""

    def read(name: str):
        if name.endswith(".js"):
            return json.loads(
                (book / "_static" / name).read_text(encoding="utf-8").split("=", 1)[1]
            )
        return (book / f"{name}.html").read_text(encoding="utf-8")

    return read


def links(page: str) -> list[tuple[str, str]]:
    """The links with a card: where they lead, and their words."""
    found = re.findall(r'<a class="has-card[^>]* href="([^"]*)">(.*?)</a>', page)
    return [(where, re.sub("<.*?>", "", words)) for where, words in found]


# Links in prose


def test_a_term_is_linked_where_a_section_first_uses_it(read):
    """In plural too, whatever its capitals; an abbreviation only as it is; "head" never; and no part of a word."""
    heads, costs, _ = read("book/05-attention").split("<h2>")[1:]
    terms = [
        (where.split("#term-")[1], word)
        for where, word in links(heads)
        if "#term-" in where
    ]
    assert terms == [("Token", "Tokens"), ("query", "query"), ("GAP", "GAP")]
    assert ("key-concepts.html#term-Token", "token") in links(costs)


def test_a_name_leads_to_the_reference_and_an_unknown_one_nowhere(read):
    page = read("book/05-attention")
    assert ("api.html#vitlib.split", "vl.split") in links(page)
    assert "vl.none" in page and not [word for _, word in links(page) if "none" in word]


def test_a_chapter_names_what_the_reference_says_it_teaches(read):
    terms = read("book/05-attention").split("<h2>")[-1]
    assert "In the package: " in terms
    assert links(terms)[1:] == [("api.html#vitlib.split", "vl.split")], (
        "not vl.join, which is taught elsewhere"
    )


def test_the_reference_and_the_key_concepts_do_not_link_to_themselves(read):
    assert not links(read("book/api")) and not links(read("book/key-concepts"))


def test_cards_hold_a_first_sentence(read):
    cards = read("cards-text.js")
    assert cards["term-Token"] == ["Token", "A row of numbers."]
    assert cards["vitlib.split"] == ["vitlib.split(x: int) -> int", "Split it in two."]
    assert len(cards) == 6


# The search


def test_each_section_term_and_name_is_found_where_it_stands(read):
    found = {(each["address"], each["anchor"]): each for each in read("sections.js")}
    assert found["book/05-attention.html", "heads"]["page"] == "05 Attention"
    assert {
        "title": "Token",
        "text": "A row of numbers. It has more.",
    }.items() <= found["book/key-concepts.html", "term-Token"].items()
    name = found["book/api.html", "vitlib.split"]
    assert name["title"] == "vl.split" and name["text"].startswith(
        "Split it in two. As"
    )


def test_code_is_searched_and_solutions_are_not(read):
    heads = next(each for each in read("sections.js") if each["anchor"] == "heads")
    assert heads["code"] == '"50%"' and "50%" not in heads["text"]
    assert "Do it." in heads["text"], "an exercise"
    assert "secret" not in json.dumps(read("sections.js"))


def test_sphinx_writes_no_index_of_its_own(book):
    assert (book / "search.html").is_file() and not (book / "searchindex.js").exists()


# Names and numbers


def test_equations_and_exercises_are_numbered_in_their_chapter(read):
    page = read("book/05-attention")
    assert re.findall(r'<span class="eqno">(.*?)</span>', page) == ["(5.1)", "(5.2)"]
    assert '<span class="eqno">(4.1)</span>' in read("book/04-before")
    assert '<span class="eqno">(1)</span>' in read("book/api"), (
        "on a page that is no chapter"
    )
    assert 'href="#equation-eq-second">(5.2)</a>' in page
    assert '<span class="caption-number">Exercise 5.1 </span>' in page


# What folds


def test_the_glance_is_a_line_with_its_minutes(read):
    page = read("book/05-attention")
    assert '<details class="glance admonition" data-minutes="45">' in page
    line = re.search(r'<summary class="admonition-title">(.*?)</summary>', page)[1]
    assert line == 'At a glance<span class="minutes">45 minutes to read</span>'
    assert (
        "You learn to split."
        in re.search(r"glance admonition.*?</details>", page, re.S)[0]
    )
    assert page.count("data-minutes") == 1 and '<div class="tip admonition">' in page, (
        "other boxes stay"
    )


def test_a_solution_is_a_line_that_names_its_exercise(read):
    page = read("book/05-attention")
    solution = re.search(
        r'<details class="solution" id="done">(.*?)</details>', page, re.S
    )[1]
    assert "<summary>Solution to Exercise 5.1 (Split it)</summary>" in solution
    assert "The answer is secret." in solution
    assert "exercise-content" not in page and "solution-content" not in page
