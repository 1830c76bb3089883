"""One patch followed by mouse, keyboard and link, in headless Chromium; its numbers are those of `vl.trace`."""

import json
import random
import re

import pytest
import torch
from browsing import needs_browser
from pages import CHAPTERS, ROOT, prose
from web_pages import explorer, page, run, tiny_model

import vitlib as vl
from vitworkshop.web.export import SCRIPTS

pytestmark = [*needs_browser, pytest.mark.sampled(3, "way")]
STEPS = json.loads(
    (SCRIPTS / "way-steps.js")
    .read_text(encoding="utf-8")
    .partition(" = ")[2]
    .rstrip("; \n")
)
KINDS = {
    "token": tiny_model("token"),
    "avg": tiny_model("avg", global_pool="avg", depth=3),
}
DOWN = [
    "",
    ".mlp.fc2",
    ".mlp.act",
    ".mlp.fc1",
    ".norm2",
    ".mid",
    ".attn.proj",
    ".attn.mixed",
    ".attn.weights",
]
DOWN += [".attn.scores", ".attn.qkv", ".norm1", "embed", "patch_embed"]
PICTURE = vl.normalize(vl.sample_image("cat", 32)[None])
ERASED = {"painted": [9], "removed": [27, 3]}


@pytest.mark.parametrize("step", STEPS)
def test_each_step_leads_to_its_line_and_its_section(step):
    *_, file, code, place = STEPS[step]
    assert code in (ROOT / "vitlib" / file).read_text(encoding="utf-8")
    chapter, _, anchor = place.partition("#")
    text = prose(next(path for path in CHAPTERS if path.stem == chapter))
    label = re.escape(anchor.removeprefix("equation-"))
    assert re.search(rf"\({label}\)|:label: {label}", text)


def opened(browser, tmp_path, kind: str, tag: str = "", link: str = "", **screen):
    address = page(
        tmp_path,
        f'<vit-way model="{kind}" picture="cat" {tag}></vit-way>',
        [KINDS[kind]],
    )
    return explorer(browser, address + link, "vit-way", **screen)


def trace(kind: str) -> dict[str, torch.Tensor]:
    """What `vl.trace` says of the picture with something erased."""
    images = PICTURE.clone()
    for n in ERASED["painted"]:
        images[..., n // 8 * 4 : n // 8 * 4 + 4, n % 8 * 4 : n % 8 * 4 + 4] = (
            128 / 127.5 - 1
        )
    return vl.trace(KINDS[kind][0].half().float(), images, remove=ERASED["removed"])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_opened_at_random_are_those_of_python(browser, tmp_path, kind):
    """Each ends the sum that stands there, and the lines of Python name it."""
    draw, tensors = random.Random(0), trace(kind)
    with opened(browser, tmp_path, kind) as tab:
        run(tab, f"e.set({json.dumps(ERASED)})")
        for _ in range(100):
            name = draw.choice([name for name in tensors if name != "patches"])
            shape = tensors[name].shape[1:]
            place = [draw.randrange(size) for size in shape]
            head, t, i = [0, 0, 0][: 3 - len(place)] + place
            wanted = tensors[name][0][tuple(place)].item()
            got, sums = run(
                tab,
                "(e.inside.open([...a]), [Number(e.shadowRoot.querySelector('.sum b').textContent.replace('−', '-')),"
                " e.code.textContent])",
                *(name, t, i, head),
            )
            if abs(wanted) < float("inf"):
                most = tensors[name].abs().nan_to_num(0, 0, 0).max().item()
                # three digits stand there
                assert got == pytest.approx(wanted, abs=5e-4 + 1e-4 * most)
            assert f'print(trace["{name}"][0, {", ".join(map(str, place))}])' in sums


def test_a_number_opens_down_to_pixels_by_keyboard_and_a_link_brings_it_back(
    browser, tmp_path
):
    with opened(browser, tmp_path, "avg") as tab:
        tab.get_by_role("button", name="Tokens").press("Enter")
        tab.get_by_role("button", name="Tokens").press("ArrowRight")
        assert tab.locator(".title").first.inner_text() == "4 of 8: Block 0"
        assert (
            run(tab, "e.shadowRoot.activeElement.getAttribute('aria-label')")
            == "Block 0"
        )
        tab.get_by_text("These numbers as a table").press("Enter")
        tab.locator(".scroll button").first.press("Enter")
        while (further := tab.locator(".number .term button, .sum button")).count():
            further.last.press("Enter")  # what the branch adds; of a mixture, a weight
        assert [
            name.removeprefix("blocks.0")
            for name in run(tab, "e.state.open.map(at => at[0])")
        ] == DOWN
        run(tab, "e.set({ painted: [5], removed: [7], head: 1 })")
        before = run(tab, "e.state")
        tab.get_by_role("button", name="Link to this").click()
        tab.reload()
        tab.wait_for_selector("vit-way[data-ready]", state="attached")
        assert run(tab, "e.state") == before


def test_what_is_erased_spreads_from_block_to_block(browser, tmp_path):
    """Before the first block only the painted patch has changed, after it all have; rows that nobody reads say so."""
    with opened(browser, tmp_path, "token") as tab:
        assert run(tab, "e.changes(e.stages[4])") is None
        tab.get_by_role("button", name="Paint grey").click()
        tab.locator(".grid > button").nth(9).click()
        first, later = (run(tab, f"e.changes(e.stages[{k}])") for k in (2, 3))
        assert [t for t, far in enumerate(first) if far] == [10] and all(later)
        tab.get_by_role("button", name="Block 1").click()
        assert "nobody reads" in tab.locator(".telling").inner_text()
        tab.get_by_role("button", name="Start again").click()
        assert run(tab, "e.changes(e.stages[4])") is None
