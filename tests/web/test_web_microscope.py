"""A reader's own ViT in the page: every name and number as Python's, what is no such file refused, nothing sent."""

import json
import struct

import numpy as np
import pytest
import torch
from browsing import needs_browser
from PIL import Image
from safetensors.torch import save, save_file
from web_pages import explorer, page, run

import vitlib as vl
from tests.weights.test_weights import MAKERS, PARTS, lively

pytestmark = needs_browser
FLAT = {name: made for name, made in MAKERS.items() if "train" not in name and name != "Lightning"}
HEADS = '{"hidden_size": 24, "num_attention_heads": 3}'
HOSTILE = "<img src=x onerror=alert(1)>"
PLACES = """(async () => {
    const {n} = e.way, some = [0, n, n * n - 1];
    const keys = a[0].flatMap(name => /pool|head/.test(name) ? [[name, 0]] : some.map(t => [name, t]));
    return (await e.way.given.ask("rows", {keys})).map((row, i) => [...keys[i], [...row]]);
})()"""


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    models = [vl.load_pretrained("cifar10-photo")]
    body = '<vit-microscope model="cifar10-photo"></vit-microscope>'
    with explorer(browser, page(tmp_path_factory.mktemp("page"), body, models), "vit-microscope") as tab:
        yield tab


def give(tab, *paths) -> str:
    """What the microscope says of these files, when it has done with them."""
    run(tab, "(e.tell(''), 1)")
    tab.locator("vit-microscope input[multiple]").set_input_files([str(path) for path in paths])
    tab.wait_for_function(
        """() => { const e = document.querySelector('vit-microscope'), says = e.said.textContent;
            return says && (e.said.classList.contains('wrong') || says === e.about); }"""
    )
    return run(tab, "e.said.textContent")


def check_numbers(tab, model) -> None:
    """Rows of every tensor are those of `vl.trace` of the pixels that the page made, to 1e-4 of the largest."""
    config, pixels = run(tab, "e.model.config"), torch.tensor(run(tab, "[...e.way.wanted.pixels]"))
    side = config["img_size"]
    traced = vl.trace(model, pixels.view(1, 3, side, side))
    for name, t, row in run(tab, PLACES, list(traced)):
        wanted = traced[name][0] if traced[name].ndim < 3 else traced[name][0, ..., t, :]
        found = torch.tensor(row).view_as(wanted)
        assert (found - wanted).abs().max() <= 1e-4 * traced[name].abs().max(), (name, t)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", FLAT)
def test_thirty_files_load_as_in_python_or_are_refused(tab, tmp_path, kind, dtype):
    library, make = FLAT[kind]
    theirs, path = lively().to(dtype).float(), tmp_path / "model.safetensors"
    state = {name: torch.as_tensor(value) for name, value in make(theirs).items()}
    save_file({name: value.to(dtype).contiguous() for name, value in state.items()}, path)
    (tmp_path / "config.json").write_text(HEADS)
    says = give(tab, path, tmp_path / "config.json")
    if library == "Google":
        assert "its names are those of Flax" in says
        return
    assert f"model.safetensors: {library}'s names, " in says and "3 heads, 5 classes, 16 pixels" in says
    vl.load_weights(theirs, state, norm_eps=1e-12 if library == "transformers" else None)
    check_numbers(tab, theirs)


@pytest.mark.parametrize(("size", "preset"), [("tiny", "vit-ti/16"), ("small", "vit-s/16")])
def test_timms_models_at_224_pixels(tab, tmp_path, timm, size, preset):
    """Every block; its own photograph as timm prepares it; logits are timm's own."""
    torch.manual_seed(0)
    theirs = timm.create_model(f"vit_{size}_patch16_224").eval()
    for weight in theirs.parameters():
        weight.data += 0.02 * torch.randn_like(weight)
    save_file(theirs.state_dict(), tmp_path / "timm.safetensors")
    assert "12 blocks" in give(tab, tmp_path / "timm.safetensors")
    ours = vl.VisionTransformer(vl.ViTConfig.preset(preset, num_classes=1000)).eval()
    vl.load_weights(ours, theirs.state_dict())
    pixels = torch.tensor(run(tab, "[...e.way.wanted.pixels]")).view(1, 3, 224, 224)
    with torch.no_grad():
        torch.testing.assert_close(
            torch.tensor(run(tab, "[...e.way.result.tensors.head]")), theirs(pixels)[0], rtol=1e-4, atol=1e-4
        )
    assert run(tab, "e.model.classes[282]") == "tiger cat"
    check_numbers(tab, ours)


RECIPES = {"timm: ViT (AugReg)": (248, 3), "transformers: ViT": (None, 2), "torchvision: ViT": (256, 2)}


@pytest.mark.parametrize("name", RECIPES)
def test_pictures_are_prepared_as_pillow_does(tab, name):
    (short, resample), draw = RECIPES[name], np.random.default_rng(0)
    for w, h in ((301, 227), (90, 400), (224, 224)):
        rgb = draw.integers(0, 256, (h, w, 3), dtype=np.uint8)
        scale = short and short / min(w, h)
        W, H = (int(w * scale + 1e-9), int(h * scale + 1e-9)) if short else (224, 224)
        top, left = round((H - 224) / 2), round((W - 224) / 2)
        rows = Image.fromarray(rgb).resize((W, h), resample)
        wanted = np.asarray(rows.resize((W, H), resample))[top : top + 224, left : left + 224]
        rgba = np.dstack([rgb, np.full((h, w), 255, np.uint8)])
        got = run(
            tab,
            "vitRecipes.fitted(vitRecipes.RECIPES[a[0]])(Uint8Array.from(a[1]), a[2], a[3], 224)",
            *(name, rgba.ravel().tolist(), w, h),
        )
        assert np.array_equal(np.array(got).reshape(3, 224, 224), wanted.transpose(2, 0, 1))


def written(header: dict | bytes, rest: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + rest


def odd_files() -> dict[str, tuple[bytes, str]]:
    whole, state = save(lively().state_dict()), lively().state_dict()
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    parts = {
        name: torch.zeros(4)
        for name in (PARTS[part].split()[0] for part in ("registers", "a distillation token"))
    }
    huge = {**one, "shape": [2**40], "data_offsets": [0, 2**42]}
    return {
        "empty": (b"", "it is empty"),
        "text": (b"weights" * 9, "it is no .safetensors file"),
        "pickle": (b"PK\x03\x04" + bytes(60), "a PyTorch checkpoint, which can hold code"),
        "page": (b"<!DOCTYPE html>" + bytes(60), "it is a web page"),
        "cut": (whole[:-9], "is damaged: head.weight lies outside the file|its tensors end|lies outside"),
        "long header": (written(b"{}", length=2**50), "its header says"),
        "no JSON": (written(b'{"a": '), "its header is no JSON"),
        "4 GB": (written({"x": huge}, bytes(8)), "lies outside the file"),
        "overlap": (written({"a": one, "b": one}, bytes(8)), "its tensors overlap"),
        "sizes": (written({"a": {**one, "shape": [3]}}, bytes(8)), "has not the bytes of its shape"),
        "NaN": (save(state | {"norm.bias": torch.full((24,), torch.nan)}), "norm.bias holds NaN"),
        "registers": (save(state | {"reg_token": parts["reg_token"]}), "a model with registers"),
        "distilled": (save(state | {"dist_token": parts["dist_token"]}), "a model with a distillation token"),
        "LayerScale": (save(state | {"blocks.0.ls1.gamma": torch.ones(24)}), "LayerScale"),
        "other": (
            save({HOSTILE: torch.ones(2), "__proto__": torch.ones(2)}),
            "the weights of one ViT under the names of",
        ),
        "missing": (save({k: v for k, v in state.items() if k != "norm.bias"}), "missing: norm.bias"),
    }


def test_odd_files_are_refused_in_a_sentence_and_the_page_goes_on(tab, tmp_path):
    """Names are text, whatever they say; what was there before stays."""
    shown = run(tab, "[...e.way.result.probs]")
    for name, (content, says) in odd_files().items():
        (tmp_path / f"{name}.safetensors").write_bytes(content)
        told = give(tab, tmp_path / f"{name}.safetensors")
        assert any(part in told for part in says.split("|")) and told.count("\n") == 0 and len(told) < 400, (
            told
        )
        assert run(tab, "[...e.way.result.probs]") == shown
    (tmp_path / "config.json").write_text(
        json.dumps({"num_attention_heads": 3, "id2label": dict.fromkeys(range(5), HOSTILE)})
    )
    save_file(lively().state_dict(), tmp_path / "good.safetensors")
    give(tab, tmp_path / "good.safetensors", tmp_path / "config.json")
    run(tab, "e.way.step(e.way.stages.length - 1)")
    assert tab.get_by_text(HOSTILE).count() >= 5 and tab.locator("vit-microscope img").count() == 0


def test_a_pass_can_be_stopped_and_what_is_erased_spreads(tab, tmp_path):
    save_file(lively().state_dict(), tmp_path / "model.safetensors")
    give(tab, tmp_path / "model.safetensors")
    run(tab, "(e.way.set({ painted: [5] }), e.stop(), 1)")
    tab.get_by_text("Stopped.").wait_for()
    run(tab, "e.way.set({ painted: [5], removed: [2] })")
    first, later = (run(tab, f"e.way.changes(e.way.stages[{k}])") for k in (2, 4))
    assert [t for t, far in enumerate(first) if far] == [6] and sum(map(bool, later)) > 10
