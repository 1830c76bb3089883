"""The shape calculator in a page: every number equal to what vitlib counts, every refusal in vitlib's words."""

import random
from dataclasses import asdict, replace

import pytest
import torch
from browsing import needs_browser
from web_pages import opened_once, run

import vitlib as vl
from vitlib.config import fields_now

pytestmark = [*needs_browser, pytest.mark.sampled(3, "shapes in a page")]

FIELDS = "img_size patch_size in_chans num_classes embed_dim depth num_heads mlp_ratio global_pool qkv_bias".split()
MODULES = {
    part: part for part in ("patch_embed", "pos_embed", "blocks", "norm", "head")
} | {
    "block": "blocks.0",
    **{part: f"blocks.0.{part}" for part in ("norm1", "norm2")},
    **{part: f"blocks.0.attn.{part}" for part in ("qkv", "proj")},
    **{part: f"blocks.0.mlp.{part}" for part in ("fc1", "fc2")},
}
BOOKS = tuple(f"cifar10-{name}" for name in ("plain", "photo", "modern")) + (
    "drawn10-token",
    "drawn10-small",
)
# Fills the form as a reader does, and tells what stands there afterwards.
FILL = """(() => {
    for (const [name, value] of Object.entries(a[0]))
        e.inputs[name][name === 'qkv_bias' ? 'checked' : 'value'] = value;
    e.inputs.img_size.dispatchEvent(new InputEvent('input', { bubbles: true }));
})()"""
READ = """(() => {
    const root = e.shadowRoot, rows = {}, text = selector => root.querySelector(selector).textContent;
    for (const row of root.querySelectorAll('tr[data-part]'))
        rows[row.dataset.part] = Object.fromEntries([...row.querySelectorAll('td')].map(cell => {
            const value = cell.querySelector('span').textContent;
            return [cell.dataset.what, cell.dataset.what === 'shape' ? value : value.replaceAll(',', '')];
        }));
    return { rows, problem: text('.problem'), said: text('.said'), verdict: text('.verdict'), line: text('.line'),
        faults: [...root.querySelectorAll('[aria-invalid][aria-describedby=problem]')].map(field => field.name),
        changed: [...root.querySelectorAll('.changed')].map(
            cell => `${cell.closest('tr').dataset.part} ${cell.dataset.what}`) };
})()"""


shapes = opened_once("<vit-shapes><p>A figure</p></vit-shapes>")  # at ViT-B/16


def fill(tab, **config):
    run(tab, FILL, {name: value for name, value in config.items() if name in FIELDS})
    return run(tab, READ)


def start(tab, preset):
    tab.locator("select").first.select_option(preset)
    return run(tab, READ)


def on_meta(cfg):
    with torch.device("meta"):
        return vl.VisionTransformer(cfg)


def compare(shown, cfg):
    """Totals, the parameters of each module and what FLOPs follow from its matrix, and the shapes."""
    model, rows, tokens = on_meta(cfg), shown["rows"], 1 + cfg.num_patches
    modules = {part: model.get_submodule(path) for part, path in MODULES.items()}
    counts = dict.fromkeys(("images", "scores", "average", "pool"), 0)
    counts |= {
        part: vl.count_parameters(module)
        for part, module in {**modules, "total": model}.items()
    }
    counts["cls_token"] = model.cls_token.numel()
    assert {part: int(row["parameters"]) for part, row in rows.items()} == counts
    macs = {
        part: tokens * modules[part].weight.numel()
        for part in ("qkv", "proj", "fc1", "fc2")
    }
    macs |= {part: tokens**2 * cfg.embed_dim for part in ("scores", "average")} | {
        "total": vl.count_macs(cfg)
    }
    assert {part: int(rows[part]["macs"]) for part in macs} == macs
    assert {part: row["shape"] for part, row in rows.items()} == {
        part: str(shape) for part, shape in shapes_of(cfg).items()
    }


def shapes_of(cfg):
    """What each part of the model puts out, by hooks. Of the blocks two are enough: PyTorch is slow on meta."""
    model = on_meta(replace(cfg, depth=min(cfg.depth, 2)))
    seen = {
        "images": (cfg.in_chans, *cfg.image_shape),
        "total": (cfg.num_classes or cfg.embed_dim,),
    }

    def keep(part, module, value=lambda _module, _args, out: out):
        def hook(*call):
            seen[part] = tuple(value(*call).shape[1:])

        module.register_forward_hook(hook)

    for part, path in MODULES.items():
        keep(part, model.blocks[-1] if part == "blocks" else model.get_submodule(path))
    attention = model.blocks[0].attn
    keep("cls_token", model.pos_embed, lambda _module, args, _out: args[0])
    keep("pool", model.head, lambda _module, args, _out: args[0])
    keep(
        "scores",
        attention,
        lambda module, args, _out: module.attention_weights(args[0]),
    )
    keep("average", attention, lambda module, args, _out: module.project(args[0])[0])
    model(torch.empty(1, cfg.in_chans, *cfg.image_shape, device="meta"))
    return seen


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["ViTConfig()", *vl.PRESETS, *BOOKS])
def test_presets(shapes, name):
    if name in vl.PRESETS:
        cfg = vl.ViTConfig.preset(name)
    else:
        kept = (
            {}
            if name == "ViTConfig()"
            else vl.load_results(name)["config"] | {"patch_drop_rate": 0.0}
        )
        cfg = vl.ViTConfig(**fields_now("ViTConfig", kept))
    compare(start(shapes, name), cfg)


@pytest.mark.sampled(4)
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
            mlp_ratio=draw.choice(
                [4.0, 2, 1, 8 / 3, 0.7, round(draw.uniform(1, 6), 3)]
            ),
            global_pool=draw.choice(["token", "avg"]),
            qkv_bias=draw.random() < 0.5,
        )
        shown = fill(shapes, **asdict(cfg))
        assert shown["problem"] == ""
        compare(shown, cfg)
        assert eval(shown["line"].removeprefix("cfg = "), {"vl": vl}) == cfg


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"img_size": 225}, ["img_size", "patch_size"]),
        ({"embed_dim": 769}, ["embed_dim", "num_heads"]),
        ({"depth": -1}, ["depth"]),
        ({"num_classes": -1}, ["num_classes"]),
    ],
    ids=str,
)
def test_refused_in_vitlibs_words(shapes, change, faults):
    good = vl.ViTConfig.preset("vit-b/16")
    before = start(shapes, "vit-b/16")["rows"]
    shown = fill(shapes, **change)
    with pytest.raises(ValueError) as error:
        replace(good, **change)
    assert shown["problem"].startswith(f"{error.value}. ")
    assert shown["faults"] == faults
    assert shown["rows"] == before, "the table keeps the last good one"
    assert (
        fill(shapes, **{name: getattr(good, name) for name in change})["problem"] == ""
    )


def test_what_changed_is_marked_and_said(shapes):
    """By the keyboard: of all parameters only the positions know the size of the image."""
    start(shapes, "vit-b/16")
    shapes.locator("[name=img_size]").focus()
    shapes.keyboard.press("Control+A")
    shapes.keyboard.type("384")  # 3 and 38 are refused on the way
    shown = run(shapes, READ)
    small, large = (
        vl.ViTConfig.preset("vit-b/16", img_size=side) for side in (224, 384)
    )
    compare(shown, large)
    marked = {one for one in shown["changed"] if one.endswith("parameters")}
    assert marked == {"pos_embed parameters", "total parameters"}
    times = vl.count_macs(large) / vl.count_macs(small)
    assert shown["said"].startswith("img_size 224 → 384: parameters ×")
    assert f", MACs × {times:.4g}." in shown["said"]
    spoken = shapes.get_by_role("status").filter(has_text=shown["said"])
    spoken.filter(has_text=shown["verdict"]).wait_for(state="attached")
    start(shapes, "vit-b/16")
    shapes.locator("[name=global_pool]").select_option("avg")
    shown = run(shapes, READ)
    assert shown["changed"] == []
    assert "parameters × 1, MACs × 1." in shown["said"]
