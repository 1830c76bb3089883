"""What the search and the cards say, in parts: the text of nodes, formulas in a line, first sentences, linked terms."""

from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx_exercise")
from docutils import nodes
from sphinx import addnodes
from sphinx_design.dropdown import dropdown_main

from page import cards, search


def linked(
    *content: nodes.Node, terms=("Patch", "Patch embedding", "MLP")
) -> list[tuple[str, str]]:
    """The words that became links in a section of this content, and where they lead."""
    known = {("term", name): (cards.GLOSSARY, f"term-{name}") for name in terms}
    known |= {
        ("term", "elsewhere"): ("book/intro", "e"),
        ("label", "Label"): (cards.GLOSSARY, "l"),
    }
    env = SimpleNamespace(get_domain=lambda domain: SimpleNamespace(objects=known))
    app = SimpleNamespace(
        builder=SimpleNamespace(
            get_relative_uri=lambda here, there: there.split("/")[1]
        )
    )
    part = nodes.section("", *content)
    before = part.astext()
    cards.link_terms(app, part, "book/05-attention", cards.patterns(env))
    assert part.astext() == before, "a link changes no word"
    links = [
        way for way in part.findall(nodes.reference) if "has-card" in way["classes"]
    ]
    return [(way.astext(), way["refuri"]) for way in links]


def paragraph(text: str) -> nodes.paragraph:
    return nodes.paragraph("", text)


# The search


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"P^2 C", "P² C"),
        (r"z_\ell \in \mathbb{R}^{N \times D}", "z_ℓ ∈ R^N × D"),
        (r"QK^\top", "QKᵀ"),
        (r"\operatorname{softmax}\, x", "softmax x"),
        (r"\text{two words} \le 3", "two words ≤ 3"),
        (r"a & b", "…"),
        ("x + " * 20, "…"),
    ],
)
def test_a_short_formula_is_read_as_text(tex, text):
    assert search.plain_math(tex) == text


def test_text_is_what_a_reader_would_read_aloud():
    page = nodes.section(
        "",
        nodes.paragraph("", "", nodes.Text("One "), nodes.emphasis("", "word"), nodes.math("", "x^2")),
        nodes.literal_block("", "code()"),
        nodes.math_block("", "y = 1"),
        nodes.raw("", "<b>"),
        nodes.comment("", "to do"),
        type("vit_map", (nodes.General, nodes.Element), {})("", paragraph("you are here")),
        nodes.container("", paragraph("printed"), nodes.caption("", "A caption."), classes=["cell_output"]),
        nodes.title("", "Left out"),
        nodes.paragraph("", "End\nof it."),
    )  # fmt: skip
    assert search.text_of(page, (nodes.title,)) == "One wordx² A caption. End of it."


def test_a_section_is_an_entry_with_its_words_and_its_code():
    """What a cell printed is not searched, and a section without words is none."""
    output = nodes.container(
        "", nodes.literal_block("", "tensor(1)"), classes=["cell_output"]
    )
    cell = nodes.container("", nodes.literal_block("", "vl.split(x)"), output)
    empty = nodes.section("", nodes.title("", "Empty"), ids=["empty"])
    full = nodes.section(
        "",
        nodes.title("", "Full"),
        paragraph("Words."),
        cell,
        empty,
        ids=["full", "old"],
    )
    assert search.entries(full) == [
        {"title": "Full", "anchor": "full", "text": "Words.", "code": "vl.split(x)"}
    ]


def test_a_fold_within_a_fold_is_an_entry_of_its_own_and_its_runs_are_none():
    def fold(title: str, *content: nodes.Node) -> dropdown_main:
        return dropdown_main("", nodes.rubric("", title), nodes.container("", *content))

    runs = nodes.container("", paragraph("cosine lr=0.01: 40.1 %"), classes=["runs"])
    log = fold("Log", paragraph("It took an hour."), runs)
    page = nodes.section("", fold("Does it help?", paragraph("It does."), log))
    found = {each["title"]: each["text"] for each in search.entries(page)}
    assert found == {"Does it help?": "It does.", "Log": "It took an hour."}


def test_a_name_is_an_entry_with_its_signature():
    sign = addnodes.desc_signature(
        "", "vitlib.split(x)", nodes.inline("", "[source]"), ids=["vitlib.split"]
    )
    inner = addnodes.desc(
        "", addnodes.desc_signature("", "part", ids=["vitlib.split.part"])
    )
    text = addnodes.desc_content("", paragraph("Split it."), inner)
    (found,) = search.entries(nodes.section("", addnodes.desc("", sign, text)))
    names = {"title": "vl.split", "anchor": "vitlib.split", "sign": "vitlib.split(x)"}
    assert found == {**names, "text": "Split it.", "code": ""}


# Cards


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Is it? “Yes.”", "Is it?"),
        ("About 0.5 of them. More.", "About 0.5 of them."),
        ("The data, e.g. CIFAR-10. More.", "The data, e.g. CIFAR-10."),
        ("Past the blocks [He et al., 2016]. More.", "Past the blocks."),
        ("Kept (N × D numbers) [CLS]. More.", "Kept (N × D numbers) [CLS]."),
    ],
)
def test_a_card_says_the_first_sentence_without_its_sources(text, first):
    assert cards.first_sentence(text) == first


def test_a_term_within_a_longer_one_is_not_linked_and_each_once_in_a_section():
    text = "The patch embedding cuts", "Two patches, a patch; MLPs, an mlp, an MLP."
    assert linked(*map(paragraph, text)) == [
        ("patch embedding", "key-concepts#term-Patch embedding"),
        ("patches", "key-concepts#term-Patch"),
        ("MLPs", "key-concepts#term-MLP"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "A dispatch, a sub-patch, a patch-wise head of this width, elsewhere; Label.",
            [],
        ),
        ("a “patch” so called", []),
        ("the patch size, then patches", ["patch size", "patches"]),
        ("a patch size, the patch size", ["patch size"]),
    ],
)
def test_words_within_words_other_meanings_and_other_pages_are_left(text, words):
    terms = ("Patch", "Patch size", "Head", "Width")
    assert [word for word, _ in linked(paragraph(text), terms=terms)] == words


def test_links_code_headings_and_tables_stay_as_they_are():
    closed = [
        nodes.title,
        nodes.literal,
        nodes.math,
        nodes.strong,
        nodes.emphasis,
        nodes.literal_block,
    ]
    assert (
        linked(
            *(kind("", "a patch") for kind in closed),
            nodes.table("", paragraph("a patch")),
        )
        == []
    )
    assert linked(nodes.container("", paragraph("a patch"), classes=["cell"])) == []
    there = nodes.paragraph("", "", nodes.reference("", "patch", refuri="#there"))
    assert linked(there, paragraph("A patch.")) == [], (
        "the author has linked it already"
    )


# Names of pages
