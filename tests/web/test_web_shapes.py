"""The shape calculator in a page: every number equal to what vitlib counts, every refusal in vitlib's words."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest
import torch
from browsing import needs_browser
from web_pages import explorer, page

import vitlib as vl

pytestmark = needs_browser

FIELDS = "img_size patch_size in_chans num_classes embed_dim depth num_heads mlp_ratio global_pool qkv_bias".split()
BOOKS = ("cifar10-plain", "cifar10-modern", "cifar10-laptop", "drawn10-token", "drawn10-small")
# Fills the form as a reader does, and tells what stands there afterwards.
FILL = """config => {
    const root = document.querySelector('vit-shapes').shadowRoot;
    for (const [name, value] of Object.entries(config)) {
        const field = root.querySelector(`[name=${name}]`);
        if (field.type === 'checkbox') field.checked = value;
        else field.value = String(value);
    }
    root.querySelector('[name=img_size]').dispatchEvent(new InputEvent('input', { bubbles: true }));
}"""
READ = """() => {
    const root = document.querySelector('vit-shapes').shadowRoot, rows = {};
    for (const row of root.querySelectorAll('tr[data-part]'))
        rows[row.dataset.part] = Object.fromEntries([...row.querySelectorAll('td')].map(
            cell => [cell.dataset.what, cell.querySelector('span').textContent.replaceAll(
                ',', cell.dataset.what === 'shape' ? ',' : '')]));
    const text = selector => root.querySelector(selector).textContent;
    return { rows, problem: text('.problem'), said: text('.said'), verdict: text('.verdict'), line: text('.line'),
        faults: [...root.querySelectorAll('[aria-invalid]')].map(field => field.name),
        changed: [...root.querySelectorAll('.changed')].map(
            cell => `${cell.closest('tr').dataset.part} ${cell.dataset.what}`) };
}"""


@pytest.fixture(scope="module")
def shapes(browser, tmp_path_factory):
    """The page, with the calculator at ViT-B/16."""
    address = page(tmp_path_factory.mktemp("shapes"), "<vit-shapes><p>A figure</p></vit-shapes>")
    with explorer(browser, address, "vit-shapes") as tab:
        yield tab


def fill(tab, **config):
    tab.evaluate(FILL, {name: value for name, value in config.items() if name in FIELDS})
    return tab.evaluate(READ)


def start(tab, preset):
    tab.locator("select").first.select_option(preset)
    return tab.evaluate(READ)


def on_meta(cfg):
    with torch.device("meta"):
        return vl.VisionTransformer(cfg)


def block_modules(block):
    """The parts of a block that have rows of their own."""
    return {
        "norm1": block.norm1,
        "qkv": block.attn.qkv,
        "proj": block.attn.proj,
        "norm2": block.norm2,
        "fc1": block.mlp.fc1,
        "fc2": block.mlp.fc2,
    }


def compare(shown, cfg):
    """Totals, the parameters of each module and what FLOPs follow from its matrix, and the shapes."""
    model, rows = on_meta(cfg), shown["rows"]
    assert int(rows["total"]["parameters"]) == vl.count_parameters(model)
    assert int(rows["total"]["macs"]) == vl.count_macs(cfg)
    tokens = 1 + cfg.num_patches
    block = model.blocks[0]
    modules = {
        "patch_embed": model.patch_embed,
        "pos_embed": model.pos_embed,
        **block_modules(block),
        "block": block,
        "blocks": model.blocks,
        "norm": model.norm,
        "head": model.head,
    }
    counts = {part: vl.count_parameters(module) for part, module in modules.items()}
    counts["cls_token"] = model.cls_token.numel()
    assert {part: int(row["parameters"]) for part, row in rows.items() if part != "total"} == {
        "images": 0,
        "scores": 0,
        "average": 0,
        "pool": 0,
    } | counts
    for part in ("qkv", "proj", "fc1", "fc2"):
        assert int(rows[part]["macs"]) == tokens * modules[part].weight.numel(), part
    for part in ("scores", "average"):
        assert int(rows[part]["macs"]) == tokens**2 * cfg.embed_dim
    assert {part: row["shape"] for part, row in rows.items()} == {
        part: str(shape) for part, shape in shapes_of(cfg).items()
    }


def shapes_of(cfg):
    """What each part of the model puts out, by hooks. Of the blocks two are enough: PyTorch is slow on meta."""
    model = on_meta(replace(cfg, depth=min(cfg.depth, 2)))
    block = model.blocks[0]
    seen = {"images": (cfg.in_chans, *cfg.image_shape), "total": (cfg.num_classes or cfg.embed_dim,)}

    def keep(part, module, value=lambda _module, _args, out: out):
        def hook(*call):
            seen[part] = tuple(value(*call).shape[1:])

        module.register_forward_hook(hook)

    for part in ("patch_embed", "pos_embed", "norm", "head"):
        keep(part, getattr(model, part))
    for part, module in {
        **block_modules(block),
        "block": block,
        "blocks": model.blocks[-1],
    }.items():
        keep(part, module)
    keep("cls_token", model.pos_embed, lambda _module, args, _out: args[0])
    keep("pool", model.head, lambda _module, args, _out: args[0])
    keep("scores", block.attn, lambda module, args, _out: module.attention_weights(args[0]))
    keep("average", block.attn, lambda module, args, _out: module.project(args[0])[0])
    model(torch.empty(1, cfg.in_chans, *cfg.image_shape, device="meta"))
    return seen


@pytest.mark.parametrize("name", vl.PRESETS)
def test_the_papers_models(shapes, name):
    compare(start(shapes, name), vl.ViTConfig.preset(name))


@pytest.mark.parametrize("name", ["ViTConfig()", *BOOKS])
def test_the_books_models(shapes, name):
    cfg = vl.ViTConfig() if name == "ViTConfig()" else vl.ViTConfig(**vl.load_results(name)["config"])
    compare(start(shapes, name), cfg)


def test_random_configs(shapes):
    """Equal to the last digit; and the line below the table makes the same config in Python."""
    draw = random.Random(0)
    for _ in range(32):
        patch, heads = draw.randint(1, 9), draw.randint(1, 9)
        cfg = vl.ViTConfig(
            img_size=patch * draw.randint(1, 30),
            patch_size=patch,
            in_chans=draw.randint(1, 5),
            num_classes=draw.choice([0, 1, 10, 1000, draw.randint(2, 30000)]),
            embed_dim=heads * draw.randint(1, 300),
            depth=draw.randint(1, 12),
            num_heads=heads,
            mlp_ratio=draw.choice([4.0, 2, 1, 8 / 3, 0.7, round(draw.uniform(1, 6), 3)]),
            global_pool=draw.choice(["token", "avg"]),
            qkv_bias=draw.random() < 0.5,
        )
        shown = fill(shapes, **asdict(cfg))
        assert shown["problem"] == ""
        compare(shown, cfg)
        assert eval(shown["line"].removeprefix("cfg = "), {"vl": vl}) == cfg


def test_numbers_beyond_floats(shapes):
    """More multiplications than a float64 counts one by one."""
    cfg = vl.ViTConfig(img_size=1023, patch_size=1, embed_dim=8191, depth=77, num_heads=1, mlp_ratio=3.0)
    shown = fill(shapes, **asdict(cfg))["rows"]["total"]
    assert vl.count_macs(cfg) > 2**60
    assert int(shown["macs"]) == vl.count_macs(cfg)
    assert int(shown["parameters"]) == vl.count_parameters(on_meta(cfg))


REFUSED = [
    ({"img_size": 225}, ["img_size", "patch_size"]),
    ({"img_size": 9}, ["img_size", "patch_size"]),
    ({"patch_size": 15}, ["img_size", "patch_size"]),
    ({"embed_dim": 769}, ["embed_dim", "num_heads"]),
    ({"num_heads": 7}, ["embed_dim", "num_heads"]),
    ({"num_heads": 0}, ["num_heads"]),
    ({"depth": -1}, ["depth"]),
    ({"in_chans": 1.5}, ["in_chans"]),
    ({"img_size": 0}, ["img_size"]),
    ({"num_classes": -1}, ["num_classes"]),
    ({"mlp_ratio": 0.001}, ["mlp_ratio"]),
]


@pytest.mark.parametrize(("change", "faults"), REFUSED, ids=str)
def test_refused_in_vitlibs_words(shapes, change, faults):
    before = start(shapes, "vit-b/16")["rows"]
    shown = fill(shapes, **change)
    with pytest.raises(ValueError) as error:
        replace(vl.ViTConfig.preset("vit-b/16"), **change)
    assert shown["problem"].startswith(f"{error.value}. ")
    assert shown["faults"] == faults
    assert shown["rows"] == before, "the table keeps the last good one"
    assert (
        fill(shapes, **{name: getattr(vl.ViTConfig.preset("vit-b/16"), name) for name in change})["problem"]
        == ""
    )


@pytest.mark.parametrize("change", [{"depth": ""}, {"embed_dim": 10**9}], ids=str)
def test_refused_beyond_vitlib(shapes, change):
    start(shapes, "vit-b/16")
    shown = fill(shapes, **change)
    assert shown["problem"] and shown["faults"] == list(change)


def test_what_changed_is_marked_and_said(shapes):
    """By the keyboard: of all parameters only the positions know the size of the image."""
    start(shapes, "vit-b/16")
    shapes.locator("[name=img_size]").focus()
    shapes.keyboard.press("Control+A")
    shapes.keyboard.type("384")  # 3 and 38 are refused on the way
    shown = shapes.evaluate(READ)
    small, large = (vl.ViTConfig.preset("vit-b/16", img_size=side) for side in (224, 384))
    compare(shown, large)
    marked = {one for one in shown["changed"] if one.endswith("parameters")}
    assert marked == {"pos_embed parameters", "total parameters"}
    times = vl.count_macs(large) / vl.count_macs(small)
    assert shown["said"].startswith("img_size 224 → 384: parameters ×")
    assert f", in positions; MACs × {times:.4g}." in shown["said"]
    spoken = shapes.get_by_role("status").filter(has_text=shown["said"])
    spoken.filter(has_text=shown["verdict"]).wait_for(state="attached")
    start(shapes, "vit-b/16")
    shapes.locator("[name=global_pool]").select_option("avg")
    shown = shapes.evaluate(READ)
    assert shown["changed"] == []
    assert "not one parameter changes; not one multiplication changes" in shown["said"]


@pytest.mark.parametrize("width", [360, 760])
def test_nothing_sticks_out(shapes, width):
    start(shapes, "vit-l/16")
    start(shapes, "vit-h/14")  # long numbers, all of them marked
    shapes.set_viewport_size({"width": width, "height": 900})
    assert shapes.evaluate("document.documentElement.scrollWidth") <= width
    assert shapes.evaluate(
        """() => { const view = document.querySelector('vit-shapes').shadowRoot.querySelector('.view'),
            right = view.getBoundingClientRect().right;
            return [...view.querySelectorAll('td span, th, input')].every(
                one => one.getBoundingClientRect().right <= right); }"""
    )
