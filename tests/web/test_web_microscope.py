"""A reader's own ViT in the page: every name and number as Python's, what is no such file refused, nothing sent."""

import json
import re
import struct

import numpy as np
import pytest
import torch
from browsing import needs_browser
from PIL import Image
from safetensors.torch import save, save_file
from web_pages import explorer, page, run

import vitlib as vl
from tests.weights.test_families import OF_TIMM, SMALL, noisy
from tests.weights.test_weights import FOREIGN, MAKERS, lively, replace
from vitlib.weights import names as known

pytestmark = [*needs_browser, pytest.mark.sampled(3, "microscope")]
FLAT = {
    name: made
    for name, made in MAKERS.items()
    if "train" not in name and name != "Lightning"
}
GAMMAS = {
    f"blocks.{l}.ls{k}.gamma": torch.arange(1, 25) / 16 for l in (0, 1) for k in (1, 2)
}
FLAT["LayerScale"] = ("timm", lambda model: model.state_dict() | GAMMAS)
RARE = """layers.0._orig_mod.norm.weight embeddings.mask_token blocks.3.3.norm1.weight pooler.dense.bias
blocks.0.attn.rel_pos freqs_cos blocks.0.attn.q_norm.weight patch_embed.norm.bias
patch_embed.backbone.0.bias MAPHead_0.probe pooler.layernorm.bias qkv.lora_A layers.0.blocks.0.norm1.bias
storage_tokens embeddings.distillation_token embeddings.position_embedding.weight
embeddings.patch_embedding.weight transformer.resblocks.0.ln_1.bias head.probe head.attention.in_proj_bias
head.attention.out_proj.bias head.layernorm.bias head.mlp.fc1.bias blocks.0.attn.in_proj_bias
blocks.0.self_attn.q_proj.bias blocks.0.attn.q_bias blocks.0.self_attn.out_proj.bias
blocks.0.mlp.c_fc.bias blocks.0.mlp.w3.bias blocks.0.mlp.w1.bias blocks.0.mlp.up_proj.bias blocks.0.attns.1.qkv.bias
blocks.0.mlp.fc1.SCB blocks.0.mlp.fc1.weight_orig blocks.0.attn.lambda_q1 blocks.0.attn.gating_param
embeds.proj.bias text_embeddings.word_embeddings.weight embeddings.detection_tokens blocks.0.message_fc.bias
blocks.0.gamma_1 ln_pre.bias ln_post.bias cls_classifier.bias distillation_classifier.bias
blocks.0.self_attn.qkv.bias blocks.0.self_attn.projection.bias patch_embedding.position_embeddings
blocks.0.adaLN_modulation.1.bias to_patch_embedding.1.bias exp_avg""".split()
HOSTILE = "<img src=x onerror=alert(1)>"
ROWS = """(async () => {
    const {n} = e.way, some = [0, n, n * n - 1];
    const keys = a[0].flatMap(name => /pool|head/.test(name) ? [[name, 0]] : some.map(t => [name, t]));
    return (await e.way.given.ask("rows", {keys})).map((row, i) => [...keys[i], [...row]]);
})()"""
OPENED = """(async () => {
    const {D, L, T, heads} = e.way, some = n => Math.floor(Math.random() * n);
    const found = [], own = ["attn.qkv", "attn.turned", "attn.scores", "attn.weights", "attn.mixed", "mid", "mlp.act",
        "mlp.fc2"];
    for (const name of ["embed", "placed", "norm", "pool", "head", ...own.map(one => `blocks.${some(L)}.${one}`)]) {
        const wide = /scores|weights/.test(name) ? T : name === "head" ? e.model.classes.length : D;
        const isMap = /scores|weights/.test(name);
        const at = [name, /pool|head/.test(name) ? 0 : some(T), some(wide), isMap ? some(heads) : 0];
        try {
            const {value, terms, plus} = await e.way.given.ask("opened", {at, options: {}});
            const total = terms.reduce((sum, {a, b}) => sum + a * b, 0) + plus.reduce((sum, one) => sum + one.value, 0);
            if (Number.isFinite(value)) found.push([value, total]);
        } catch (error) {
            if (!/turned|placed/.test(name)) throw error;
        }
    }
    return found;
})()"""
DONE = """() => { const e = document.querySelector('vit-microscope'), says = e.said.textContent;
    return says && (e.said.classList.contains('wrong') || says === e.about); }"""


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    body = '<vit-microscope model="cifar10-photo"></vit-microscope>'
    address = page(
        tmp_path_factory.mktemp("page"), body, [vl.load_pretrained("cifar10-photo")]
    )
    with explorer(
        browser, address, "vit-microscope"
    ) as tab:  # which forbids every request
        yield tab


def give(tab, *paths) -> str:
    """What the microscope says of these files, when it has done with them."""
    run(tab, "(e.tell(''), 1)")
    tab.locator("vit-microscope input[multiple]").set_input_files(
        [str(path) for path in paths]
    )
    tab.wait_for_function(DONE)
    return run(tab, "e.said.textContent")


def check_numbers(tab, model) -> None:
    """Rows of every tensor are those of `vl.trace` of the pixels that the page made, to 1e-4 of the largest."""
    side, pixels = (
        run(tab, "e.model.config.img_size"),
        torch.tensor(run(tab, "[...e.way.wanted.pixels]")),
    )
    traced = vl.trace(model, pixels.view(1, 3, side, side))
    for name, t, row in run(tab, ROWS, list(traced)):
        wanted = (
            traced[name][0] if traced[name].ndim < 3 else traced[name][0, ..., t, :]
        )
        off = (torch.tensor(row).view_as(wanted) - wanted).abs().max()
        assert off <= 1e-4 * traced[name].abs().max(), (name, t)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", FLAT)
def test_thirty_files_load_as_in_python_or_are_refused(tab, tmp_path, kind, dtype):
    (library, make), theirs, path = (
        FLAT[kind],
        lively().to(dtype).float(),
        tmp_path / "model.safetensors",
    )
    state = {name: torch.as_tensor(value) for name, value in make(theirs).items()}
    save_file(
        {name: value.to(dtype).contiguous() for name, value in state.items()}, path
    )
    (tmp_path / "config.json").write_text(
        '{"hidden_size": 24, "num_attention_heads": 3}'
    )
    says = give(tab, path, tmp_path / "config.json")
    if library == "Google":
        assert "its names are those of Flax" in says
        return
    assert (
        f"model.safetensors: {library}'s names, " in says
        and "3 heads, 5 classes, 16 pixels" in says
    )
    eps = run(tab, "e.model.config.norm_eps")
    assert eps == (1e-12 if library == "transformers" else 1e-6)
    ours = vl.VisionTransformer(replace(FOREIGN, norm_eps=eps)).eval()
    vl.load_weights(ours, state)
    check_numbers(tab, ours)


def test_the_exported_names_are_pythons(tab):
    """Each row of the tables changes or finds names in the page as in Python, and each is tried."""
    names = [
        name.replace("/", ".") for _, make in FLAT.values() for name in make(lively())
    ] + RARE
    used = set()

    def of(name):
        found = [
            part for pattern, part in known.ABSENT.items() if re.search(pattern, name)
        ]
        for pattern, new in known.NAMES.items():
            used.update([pattern] if re.search(pattern, name) else [], found)
            name = re.sub(pattern, new, name)
        return [name, found]

    code = """a[0].map(name => [vitDialect.names.reduce((one, [mark, to]) => one.replace(RegExp(mark, "g"), to), name),
        vitDialect.absent.filter(([mark]) => RegExp(mark).test(name)).map(([, part]) => part)])"""
    assert run(tab, code, names) == [of(name) for name in names]
    assert used == {*known.NAMES, *known.ABSENT.values()}
    ours = {name for name in lively().state_dict() if not name.startswith("head.")}
    assert ours <= {of(name)[0] for name in FLAT["torchvision"][1](lively())}


RECIPES = {
    "timm: ViT (AugReg)": (248, 3),
    "transformers: ViT": (None, 2),
    "torchvision: ViT": (256, 2),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(("w", "h"), [(301, 227), (90, 400), (224, 224)])
def test_pictures_are_prepared_as_pillow_does(tab, name, w, h):
    (short, resample), rgb = (
        RECIPES[name],
        np.random.default_rng(0).integers(0, 256, (h, w, 3), dtype=np.uint8),
    )
    W, H = (short * w // min(w, h), short * h // min(w, h)) if short else (224, 224)
    rows = Image.fromarray(rgb).resize((W, h), resample)
    top, left = round((H - 224) / 2), round((W - 224) / 2)
    wanted = np.asarray(rows.resize((W, H), resample))[
        top : top + 224, left : left + 224
    ]
    rgba = np.dstack([rgb, np.full((h, w), 255, np.uint8)]).ravel().tolist()
    code = "vitRecipes.fitted(vitRecipes.RECIPES[a[0]])(Uint8Array.from(a[1]), a[2], a[3], 224)"
    assert np.array_equal(
        np.array(run(tab, code, name, rgba, w, h)).reshape(3, 224, 224),
        wanted.transpose(2, 0, 1),
    )


def odd_files() -> dict[str, tuple[bytes, str]]:
    def made(*tensors, data=bytes(8)):
        text = json.dumps({str(i): tensor for i, tensor in enumerate(tensors)}).encode()
        return struct.pack("<Q", len(text)) + text + data

    def other(**changes):
        return save(
            {
                name: value
                for name, value in (lively().state_dict() | changes).items()
                if value is not None
            }
        )

    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    return {
        "empty": (b"", "it is empty"),
        "pickle": (
            b"PK\x03\x04" + b"archive/data.pkl" + bytes(60),
            "a PyTorch checkpoint, which can hold code",
        ),
        "cut": (other()[:-9], "lies outside the file"),
        "long header": (struct.pack("<Q", 2**50) + b"{}", "its header says"),
        "4 GB": (
            made({**one, "shape": [2**40], "data_offsets": [0, 2**42]}),
            "lies outside the file",
        ),
        "NaN": (
            other(**{"norm.bias": torch.full((24,), torch.nan)}),
            "norm.bias holds NaN",
        ),
        "LayerScale": (
            other(**{"blocks.0.ls1.gamma": torch.ones(24)}),
            "missing: blocks.0.ls2.gamma",
        ),
        "hostile": (
            save({HOSTILE: torch.ones(2), "__proto__": torch.ones(2)}),
            f"got {HOSTILE}",
        ),
        "heads.json": (
            b'{"num_heads": 1.5}',
            "a whole number from 1, got 1.5 as its num_heads",
        ),
    }


def test_odd_files_are_refused_in_a_sentence_and_the_page_goes_on(tab, tmp_path):
    """Names are text, whatever they say; what was there before stays."""
    shown = run(tab, "[...e.way.result.probs]")
    for name, (content, says) in odd_files().items():
        path = tmp_path / (name if name.endswith(".json") else f"{name}.safetensors")
        path.write_bytes(content)
        told = give(tab, path)
        assert says in told and told.startswith((f"{name}.safe", f"{name}: ")), told
        assert "\n" not in told and len(told) < 400
        assert run(tab, "[...e.way.result.probs]") == shown
    names = json.dumps(
        {"num_attention_heads": 3, "id2label": dict.fromkeys(range(5), HOSTILE)}
    )
    (tmp_path / "config.json").write_text(names)
    save_file(lively().state_dict(), tmp_path / "good.safetensors")
    give(tab, tmp_path / "good.safetensors", tmp_path / "config.json")
    run(tab, "e.way.step(e.way.stages.length - 1)")
    assert (
        tab.get_by_text(HOSTILE).count() >= 5
        and tab.locator("vit-microscope img").count() == 0
    )


def test_a_pass_can_be_stopped_and_trust_is_measured(tab, tmp_path):
    """The areas are those of `vl.deletion_curve`."""
    model = lively(replace(FOREIGN, num_heads=1, depth=12))  # deep enough to be stopped
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    give(tab, tmp_path / "model.safetensors")
    run(tab, "(e.way.set({ painted: [5] }), e.stop(), 1)")
    tab.get_by_text("Stopped.").wait_for()
    run(tab, "e.way.set({ painted: [] })")
    tab.get_by_role("button", name="Measure").click()
    tab.get_by_text("The three random orders differ by").wait_for()
    x = torch.tensor(run(tab, "[...e.way.wanted.pixels]")).view(1, 3, 16, 16)
    rows = run(
        tab,
        "[...e.trust.querySelectorAll('tbody tr')].map(tr => [...tr.cells].map(c => c.innerText))",
    )
    found = {name: float(area) for name, area, _ in rows}
    for name, scores in {
        "last block": "attention",
        "rollout": "rollout",
        "centre": "centre",
    }.items():
        curve = vl.deletion_curve(model, x, vl.patch_scores(scores, model, x), steps=8)
        assert found[name] == pytest.approx(vl.curve_area(curve).item(), abs=2e-3), name
    # a picture that comes meanwhile, and one that is not through yet, change nothing of what is measured
    run(tab, "(e.way.take(e.way.bytes, 'rocket'), 1)")
    tab.get_by_role("button", name="Measure").click()
    run(tab, "(e.way.take(e.way.bytes, 'astronaut'), 1)")
    tab.get_by_text("model.safetensors, rocket. Its answer: ").wait_for()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("family", OF_TIMM)
def test_the_families_of_today_answer_as_in_python(tab, tmp_path, timm, family):
    """Their last tokens and their answer; numbers of every part are the sums that they open into."""
    name, made, said = OF_TIMM[family]
    theirs = noisy(timm.create_model(name, **SMALL, **made))
    file = tmp_path / "x.safetensors"
    save_file({k: v.contiguous() for k, v in theirs.state_dict().items()}, file)
    (tmp_path / "config.json").write_text(json.dumps({"_": 0} | said))
    says = give(tab, file, tmp_path / "config.json")
    ours, card = vl.load_pretrained(file, mean_std="half", **said)
    cfg = ours.cfg
    assert f"{cfg.num_heads} heads" in says.partition("Assumed")[2]
    assert ("CLS is read" in says) == (card["assumed"].get("global_pool") == "token")
    x = torch.tensor(run(tab, "[...e.way.wanted.pixels]"))
    x = x.view(1, 3, *cfg.image_shape)
    with torch.no_grad():
        tokens, answer = ours.forward_features(x)[0], ours(x)[0]
    found = run(tab, "e.way.result.tensors.head")
    torch.testing.assert_close(torch.tensor(found), answer, rtol=1e-4, atol=1e-4)
    if cfg.global_pool != "map":  # whose last block is the question's
        last = torch.tensor(run(tab, "[...e.way.result.tensors.norm]"))
        last = last.view(-1, cfg.embed_dim)[1 - cfg.class_token :]
        torch.testing.assert_close(last, tokens, rtol=1e-4, atol=1e-4)
    for value, total in run(tab, OPENED):
        assert total == pytest.approx(value, abs=2e-4), (family, value)


def test_all_heads_are_shown_of_any_token_that_asks(tab, tmp_path):
    """The rows of `attention_maps`."""
    model = lively(replace(FOREIGN, num_heads=1))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    give(tab, tmp_path / "model.safetensors")
    x = torch.tensor(run(tab, "[...e.way.wanted.pixels]")).view(1, 3, 16, 16)
    for who, token in (("the followed token", 11), ("CLS", 0)):
        run(tab, "(e.read.old = 1)")
        tab.get_by_label("Who asks").select_option(who)
        tab.wait_for_function("!document.querySelector('vit-microscope').read.old")
        maps = torch.tensor(run(tab, "[...e.read.maps]")).view(2, 17)
        wanted = model.attention_maps(x)[:, 0, 0, token]
        torch.testing.assert_close(maps, wanted, rtol=1e-4, atol=1e-5)
