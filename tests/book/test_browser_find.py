"""Finding one's way in the built book: how chapters open, where the reader is, search, cards."""

import re

import pytest
from browsing import built, first_hits, needs_browser, opened, show, unscripted

from page.browser import HTML

pytestmark = needs_browser
CHAPTER = "book/05-attention"
# What newcomers type, and the pages that answer, or what must come first; search.js was built on these, so they say
# nothing of other queries
BELOW = "why-is-my-training-accuracy-lower-than-the-validation-or-test-accuracy"
MEAN = "normalise-with-0-5-or-with-the-mean-and-std-of-my-own-dataset"
STUCK = "accuracy-stuck-at-10-always-the-same-class-predicted-a-loss-that-does-not-move-nan-where-do-i-look"
QUERIES = {
    "positional encoding": "03-position key-concepts#term-Position-embedding", "tokenizer": "01-patchify",
    "CLS token": "07-cls-or-gap", "ViT-B": "08-whole-vit",
    "why is my loss nan": "questions", "feed forward network": "06-encoder",
    "dropout": "06-encoder key-concepts#term-Dropout",
    "cosine learning rate schedule": "09-training 10-recipe",
    "heatmap": "13-attention-maps 14-rollout-and-grad-cam", "explainability": "14-rollout-and-grad-cam",
    "fine tune a pretrained model": "16-transfer", "freeze the backbone": "16-transfer",
    "masked autoencoder": "17-masked-patches", "FLOPs": "08-whole-vit",
    "image size not divisible": "02-patch-embedding 01-patchify 04-resolution",
    "object detection": "18-axial-and-after",
    "how to install": "how-to-run", "scaling laws": "12-scaling",
    "resume training": "09-training", "mixed precision": "10-recipe 12-scaling",
    "how many parameters": "08-whole-vit#count-every-parameter",
    "what is a patch": "key-concepts#term-Patch", "softmax": "key-concepts#term-Softmax",
    "learning rate warmup": "key-concepts#term-Learning-rate-schedule",
    "flash attention": "key-concepts#term-Fused-attention",
    "convolution vs transformer": "questions#i-have-a-few-thousand-pictures-vit-or-cnn",
    # as they are asked in forums
    "training accuracy lower than test accuracy": "questions#" + BELOW, "loss is nan": "questions#" + STUCK,
    "validation accuracy higher than training accuracy": "questions#" + BELOW,
    "training loss higher than validation loss": "questions#" + BELOW,
    "normalize with 0.5 or with the mean and std of my data": "questions#" + MEAN,
    "should I compute mean and std of my dataset": "questions#" + MEAN,
    "accuracy stuck at 10%": "questions#" + STUCK, "loss stuck at 2.30": "questions#" + STUCK,
    "model always predicts the same class": "questions#" + STUCK, "loss does not decrease": "questions",
    "duplicates": "key-concepts#term-Duplicates-leakage", "leakage": "key-concepts#term-Duplicates-leakage",
    "duplicate images in train and test": "questions", "data leakage": "questions",
    "cuda out of memory": "questions#out-of-memory-what-now",
    "image size 256 instead of 224": "questions 04-resolution",
    "change the number of classes of a pretrained vit": "16-transfer", "train on my own folder of images": "how-to-run",
    "how many images do I need to train a vit": "questions 11-inductive-bias 12-scaling",
    "which learning rate for vit": "09-training 10-recipe", "my model overfits": "09-training 10-recipe",
    "show attention of my own picture": "microscope 13-attention-maps",
    "vit worse than resnet on small dataset": "questions 11-inductive-bias",
    "how long does training take without gpu": "questions how-to-run", "which patch size for cifar-10": "questions",
    "different results every time I run": "questions", "early stopping": "09-training",
    # with ordinary typing errors: turned, missing, doubled and wrong letters
    "positoin embeding": "03-position key-concepts#term-Position-embedding",
    "attnetion": "key-concepts#term-Attention", "atention haed": "key-concepts#term-Attention-head",
    "lable smothing": "key-concepts#term-Label-smoothing", "fien tunning": "16-transfer",
    "pathc embeddign": "key-concepts#term-Patch-embedding", "witdh": "key-concepts#term-Width",
    "interpolatoin": "04-resolution", "overfiting": "09-training",
}  # fmt: skip


@pytest.fixture(params=["http", "file"])
def root(request):
    """Where the book lies: behind a server, or on the disk."""
    return (
        request.getfixturevalue("address")
        if request.param == "http"
        else HTML.resolve().as_uri()
    )


# The opening of a chapter, and the reader's place in it


def test_the_glance_says_its_minutes_and_is_open_on_paper(browser, address):
    with unscripted(browser, f"{address}/{built(CHAPTER)}") as tab:
        box = tab.locator("details.glance")
        assert re.fullmatch(
            r"At a glance\s*\d+ minutes to read", box.locator("summary").inner_text()
        )
        tab.emulate_media(media="print")
        assert box.locator("dd").first.is_visible()


@pytest.mark.sampled(3)
def test_the_bar_says_where_one_is(browser, address):
    """Nothing at the top; then the section, marked in the contents too, and fewer minutes, down to none."""
    with opened(browser, f"{address}/{built(CHAPTER)}") as (tab, _):
        bar, left = tab.locator(".bd-header-article"), tab.locator(".reading-left")
        named = "title => document.querySelector('.reading-name').textContent === title"
        titles = tab.eval_on_selector_all(
            "article h2", "all => all.map(one => one.firstChild.textContent)"
        )
        whole = int(
            re.search(r"\d+", tab.locator("details.glance .minutes").text_content())[0]
        )
        for width in (1280, 390):
            show(tab, width=width)
            tab.evaluate("scrollTo(0, 0)")
            tab.wait_for_function(named, arg="")
            assert left.text_content() == ""
            minutes = []
            for title in (titles[2], titles[5]):
                tab.locator("h2", has_text=title).first.evaluate(
                    "heading => heading.scrollIntoView()"
                )
                tab.wait_for_function(named, arg=title)
                minutes.append(int(re.search(r"\d+", left.text_content())[0]))
                assert (
                    tab.locator(".page-toc a[aria-current=location]")
                    .text_content()
                    .strip()
                    == title
                )
            assert whole > minutes[0] > minutes[1] > 0
            tab.evaluate("document.getElementById('references').scrollIntoView()")
            tab.wait_for_function(
                "document.querySelector('.reading-left').textContent === ''"
            )
            assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth + 1")
            assert (
                float(bar.evaluate("bar => bar.style.getPropertyValue('--read')")) == 1
            )


def test_pages_bear_their_names(browser, address):
    """The chapter's number stands in the heading, in the tab's title and beside; each page describes itself."""
    with opened(browser, f"{address}/{built(CHAPTER)}") as (tab, _):
        assert tab.title().startswith("05 Attention")
        assert tab.locator("article h1").text_content().startswith("05 Attention")
        assert tab.locator(".prev-next-title").all_text_contents() == [
            "04 Resolution",
            "06 Encoder",
        ]
        (described,) = tab.locator("meta[name=description]").all()
        promise = tab.locator("article p").first.text_content()
        assert promise.startswith(described.get_attribute("content").rstrip("…"))


# Search and cards


def test_a_hit_opens_its_section(browser, root):
    """Searching quotes clean text around the word and leads to the section, without a server too."""
    with opened(browser, f"{root}/{built('search')}?q=interpolation") as (tab, wrong):
        first = tab.locator("#search-hits li").first
        first.wait_for()
        assert "interpol" in first.locator("mark").first.text_content().lower()
        assert re.match(r"\d+ sections", tab.locator("#search-status").text_content())
        quotes = tab.locator("#search-hits .excerpt").all_text_contents()
        assert not [
            quote
            for quote in quotes
            if "you are here" in quote or "\\" in quote or len(quote) > 400
        ]
        assert re.match(
            r"\d\d ", tab.locator("#search-hits .where").first.text_content()
        )
        tab.locator("#search-hits a[href*='04-resolution.html#']").first.click()
        tab.wait_for_url("**/04-resolution.html#*")
        anchor = tab.url.split("#")[1]
        assert (
            tab.evaluate("id => document.getElementById(id).tagName", anchor)
            == "SECTION"
        )
        assert not wrong


def test_a_search_goes_on_by_keyboard(browser, address):
    """Typing finds anew, words in part or misspelt too, and says how many; Tab leads to the first hit."""
    with opened(browser, f"{address}/{built('search')}") as (tab, wrong):
        assert tab.locator("#search-status").text_content() == ""
        tab.keyboard.type("interpollation")
        tab.locator("#search-hits li").first.wait_for()
        tab.keyboard.press("Tab")
        assert tab.evaluate(
            "document.activeElement.closest('#search-hits li') !== null"
        )
        # which is not in the book
        tab.locator(".bd-search-container input").fill("quantization")
        tab.wait_for_function(
            "document.getElementById('search-status').textContent.startsWith('Nothing')"
        )
        hrefs = tab.eval_on_selector_all(
            "#search-hits a", "all => all.map(a => a.href)"
        )
        # the nearest terms
        assert len(hrefs) == 3 and all("#term-" in href for href in hrefs)
        assert not wrong


def test_newcomers_find_their_page_among_the_first_three(browser, address):
    """By the field's own words, not the book's; of each query one page that answers is enough."""
    with opened(browser, f"{address}/{built('search')}") as (tab, _):
        found = {}
        for words in QUERIES:
            hrefs = first_hits(tab, words)
            found[words] = [re.search(r"([\w-]+)\.html", href)[1] for href in hrefs]
            found[words].append(hrefs[0].rpartition("/")[2].replace(".html", ""))
        assert not {
            words: each
            for words, each in found.items()
            if not {*each} & {*QUERIES[words].split()}
        }


def test_every_page_searches_as_one_types(browser, root):
    """What the search reads is fetched with the first letter, not before; Tab leads to the hits."""
    with opened(browser, f"{root}/{built(CHAPTER)}", width=390) as (tab, wrong):
        fetched = "document.scripts.length"
        before = tab.evaluate(fetched)
        tab.keyboard.press("Control+k")
        assert tab.evaluate(fetched) == before
        tab.keyboard.type("positional enc")
        tab.locator("#search-hits mark", has_text="enc").first.wait_for()
        tab.keyboard.press("Tab")
        assert "03-position.html#" in tab.evaluate("document.activeElement.href")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390 and not wrong


@pytest.mark.sampled(2)
def test_cards_explain_terms_and_names(browser, root):
    """By mouse and by keyboard; Escape closes; nothing moves."""
    with opened(browser, f"{root}/{built(CHAPTER)}") as (tab, wrong):
        card, height = (
            tab.locator("#book-card"),
            "document.documentElement.scrollHeight",
        )
        for target, word in (("#term-", " "), ("#vitlib.", "(")):
            link = tab.locator(
                f"article p > a.has-card[href*='{target}']:visible"
            ).first
            link.scroll_into_view_if_needed()
            tall = tab.evaluate(height)
            tab.wait_for_timeout(200)
            link.hover()
            card.wait_for(state="visible")
            assert len(card.text_content()) > 40 and word in card.text_content()
            assert tab.evaluate(height) == tall
            tab.keyboard.press("Escape")
            assert card.is_hidden()
            tab.mouse.move(0, 0)
            link.focus()
            card.wait_for(state="visible")
            assert link.get_attribute("aria-describedby") == "book-card"
            tab.keyboard.press("Escape")
            assert card.is_hidden()
        link.click()
        tab.wait_for_url("**/api.html#vitlib.*")
        assert not wrong
