"""The model in the page: the same numbers as PyTorch's, interventions included; own pictures; notebooks; links."""

import base64
import html
import io
import json
import re

import numpy as np
import pytest
import torch
from browsing import needs_browser, opened
from pages import CHAPTERS, source
from PIL import Image
from safetensors.torch import save_file
from web_pages import explorer, page, run, tiny_model

import vitlib as vl
from page import edition
from tools.plain import plain_notebook

pytestmark = needs_browser
CALLS = [  # by which the chapters' explorers are shown in notebooks
    source(cell)
    for path in CHAPTERS
    for cell in plain_notebook(edition.notebook(path, "en"), path.stem)["cells"]
    if source(cell).startswith("vl.explore(")
]


def random_intervention(draw: torch.Generator, cfg) -> dict:
    """A few of everything, as `vl.intervene` takes it."""
    N, L, h = cfg.num_patches, cfg.depth, cfg.num_heads
    order, places, gone = (torch.randperm(N, generator=draw).tolist() for _ in range(3))
    moved, placed, bare, less = (torch.rand(4, generator=draw) < 0.5).tolist()
    heads = [
        (l, k) for l, k in torch.rand(L, h, generator=draw).lt(0.2).nonzero().tolist()
    ]
    positions = ("none" if bare else places) if placed else None
    return dict(
        order=order if moved else None,
        positions=positions,
        heads=heads,
        remove=gone[: N // 3 * less],
    )


ONES = (
    "cifar10-photo",
    "cifar10-plain",
    "drawn10-token",
    "odd token",
    "odd avg",
    "long",
)


def web_model(name: str) -> tuple[vl.VisionTransformer, dict]:
    """One of the book's, or weights that do something: sizes that nothing divides, or 197 tokens and 12 blocks."""
    if "0" in name:
        return vl.load_pretrained(name)
    odd = dict(
        img_size=15,
        patch_size=3,
        embed_dim=21,
        depth=3,
        mlp_ratio=1.5,
        global_pool=name[4:],
    )
    long = dict(
        img_size=56, patch_size=4, embed_dim=16, depth=12, num_heads=2, qkv_bias=False
    )
    torch.manual_seed(0)
    model = vl.VisionTransformer(
        vl.ViTConfig(**(long if name == "long" else odd))
    ).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.15)
    # float16's smallest
    model.cls_token.data[0, 0, :3] = torch.tensor([1, -5, 1023]) * 2.0**-24
    return model.half().float(), {"name": name, "config": {"num_classes": 10}}


TRACE = """async ([name, pixels, what, picks]) => {
    const model = await vit.load(name), x = Float32Array.from(pixels), { img_size: H } = model.config;
    await vit.script("lens.js");
    const wanted = model.run(x, what), { tensors, ...found } = model.trace(x, what), coded = {};
    for (const key in wanted) if (!wanted[key].every((v, i) => Object.is(v, found[key][i]))) throw new Error(key);
    for (const [key, { buffer, byteOffset: at, byteLength }] of Object.entries(tensors))
        coded[key] = btoa(Array.from(new Uint8Array(buffer, at, byteLength), c => String.fromCharCode(c)).join(""));
    const open = at => vitLens.open(model, tensors, ...at, what);
    const before = { norm: o => a => a * o.deviation + o.mean, scores: o => a => a / o.scale,
        softmax: o => a => Math.log(a) + o.most }; // what a term's a was
    return [coded, [...model.weights.cls_token], picks.map(at => {
        const one = open(at), was = before[one.rule]?.(one) ?? (a => a), off = [0];
        for (const { a, b, from, fromB, at } of one.terms) {
            if (from) off.push(open(from).value - was(a));
            if (fromB) off.push(open(fromB).value - b);
            if (at) off.push(x[(at[0] * H + at[1]) * H + at[2]] - a);
        }
        for (const { value, from } of one.plus) if (from) off.push(open(from).value - value);
        const sum = one.terms.reduce((sum, { a, b }) => sum + a * b, 0) + one.plus.reduce((sum, p) => sum + p.value, 0);
        return [one.value, sum, Math.max(...off.map(Math.abs))];
    })];
}"""


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    tab = browser.new_page()
    tab.goto(page(folder := tmp_path_factory.mktemp("models"), "<p>nothing</p>"))
    for name in ONES:
        tab.add_script_tag(path=vl.export_web(*web_model(name), folder / "model.js"))
    yield tab
    tab.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ONES)
def test_every_tensor_is_pytorchs_and_every_number_opens(tab, name):
    """As made by `run`, whatever was done to the picture; random numbers are the sum of their terms, which open."""
    (model, _), draw = web_model(name), torch.Generator().manual_seed(1)
    for what in [
        {},
        *(
            random_intervention(draw, model.cfg)
            for _ in range(8 if "odd" in name else 1)
        ),
    ]:
        x = torch.randn(1, 3, *model.cfg.image_shape, generator=draw)
        wanted = {key: value[0] for key, value in vl.trace(model, x, **what).items()}
        picks = []  # [name, token, number, head], and the number
        for key, value in wanted.items():
            for place in torch.randint(
                value.numel(), (9 * (key != "patches"),), generator=draw
            ):
                head, t, i = (
                    0,
                    0,
                    *(int(n) for n in torch.unravel_index(place, value.shape)),
                )[-3:]
                picks.append(([key, t, i, head], value.flatten()[place].item()))
        coded, cls, opened = tab.evaluate(
            TRACE, [name, x.flatten().tolist(), what, [at for at, _ in picks]]
        )
        assert (
            coded.keys() == wanted.keys() and cls == model.cls_token.flatten().tolist()
        )
        near = {
            key: 1e-5 * value[value.isfinite()].abs().max().item()
            for key, value in wanted.items()
        }
        for key, right in wanted.items():
            found = torch.from_numpy(
                np.frombuffer(base64.b64decode(coded[key]), "<f4").copy()
            ).view_as(right)
            assert found.isfinite().equal(right.isfinite()), key
            assert (found - right)[right.isfinite()].abs().max() <= 10 * near[key], key
        for (at, right), (value, total, off) in zip(picks, opened, strict=True):
            assert value == pytest.approx(right, abs=10 * near[at[0]]), at
            assert total == pytest.approx(value, abs=near[at[0]]) and off < 1e-5, (
                at,
                value,
                total,
                off,
            )


REFUSED = {  # what it holds, and what is said of it; a phone's picture may bear any name
    "empty.png": (b"", "is empty"),
    "phone.jpg": (
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
        "is HEIC, which this browser cannot",
    ),
    "scan.tif": (
        b"II*\0\x08\0\0\0",
        "is TIFF, which this browser cannot read: save it as",
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """One picture in many forms, as readers have them."""
    folder = tmp_path_factory.mktemp("pictures")
    photo = Image.fromarray(vl.sample_image("astronaut").permute(1, 2, 0).numpy())
    wide = photo.crop((0, 40, 512, 400))
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera was held upright
    clear = photo.convert("RGBA")
    clear.putalpha(Image.linear_gradient("L").resize(photo.size))
    forms = {
        "photo.png": (photo, {}),
        "wide.jpg": (wide, {"quality": 90}),
        "photo.webp": (wide, {"quality": 80}),
        "turned.jpg": (wide, {"exif": turned}),
        "turned.webp": (wide, {"exif": turned, "lossless": True}),
        "clear.png": (clear, {}),
        "photo.avif": (photo, {"quality": 100, "subsampling": "4:4:4"}),
        "moving.gif": (
            photo,
            {"save_all": True, "append_images": [photo.rotate(90)], "duration": 60_000},
        ),
    }
    for name, (picture, options) in forms.items():
        picture.save(folder / name, **options)
    for name, (content, _) in REFUSED.items():
        (folder / name).write_bytes(content)
    return {path.name: str(path) for path in folder.iterdir()}


def readable(path: str, folder) -> str:
    """The picture, or its first frame as PNG where OpenCV may not know the form."""
    if not path.endswith((".avif", ".gif")):
        return path
    Image.open(path).convert("RGB").save(folder / "readable.png")
    return str(folder / "readable.png")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    body = '<vit-lab model="drawn10-token" picture="cat"></vit-lab>'
    return page(
        tmp_path_factory.mktemp("lab"), body, [vl.load_pretrained("drawn10-token")]
    )


@pytest.fixture
def lab(browser, address):
    with explorer(browser, address, "vit-lab") as tab:
        yield tab


def check_own_picture(tab, image: torch.Tensor) -> None:
    """The lab's own picture comes, and its answer is within 0.01 of `vl.predict`."""
    tab.wait_for_function(
        "document.querySelector('vit-lab').picture === 'your picture'"
    )
    wanted = vl.predict(vl.load_pretrained("drawn10-token")[0], image[None])[0]
    assert (torch.tensor(run(tab, "e.result.probs")) - wanted).abs().max() < 0.01


GIVE = """fetch(a[1]).then(answer => answer.blob()).then(blob => {
    const data = new DataTransfer(), options = {bubbles: true, cancelable: true};
    data.items.add(new File([blob], 'a.png', {type: 'image/png'}));
    if (a[0] === 'drop') e.view.dispatchEvent(new DragEvent('drop', {...options, dataTransfer: data}));
    else document.dispatchEvent(new ClipboardEvent('paste', {...options, clipboardData: data}));
})"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_a_picture_can_be_dropped_or_pasted(lab, kind):
    """A paste counts while the focus or the pointer is in the explorer."""
    data = io.BytesIO()
    Image.fromarray(vl.sample_image("coffee").permute(1, 2, 0).numpy()).save(
        data, "PNG"
    )
    url = "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()
    if kind == "paste":
        run(lab, GIVE, kind, url)
        lab.wait_for_timeout(200)
        assert run(lab, "e.picture") == "cat", "it was pasted elsewhere"
        lab.locator("vit-lab .grid > button").first.focus()
    run(lab, GIVE, kind, url)
    check_own_picture(lab, vl.sample_image("coffee", 32))


@pytest.mark.sampled(3)
def test_own_pictures_get_the_packages_answer(lab, tmp_path, files):
    """What is no picture is refused in a sentence, and the last one stays."""
    choose = lab.locator("vit-lab input[type=file]")
    for name in files.keys() - REFUSED.keys():
        run(lab, "e.picture = null")
        choose.set_input_files(files[name])
        check_own_picture(lab, vl.load_image(readable(files[name], tmp_path), 32))
    found = run(lab, "e.result.probs")
    for name, (_, says) in REFUSED.items():
        choose.set_input_files(files[name])
        lab.get_by_text(says).wait_for()
        assert run(lab, "e.result.probs") == found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["lab", "attention", "positions", "way", "microscope"])
def test_a_notebooks_frame_holds_all_it_needs(browser, tmp_path, kind):
    """`vl.explore` shows the reader's own model and pictures in a frame of its own, without a file or a request."""
    model, card = tiny_model("mine", global_pool="avg")
    # of which 24 are offered
    images = torch.stack(
        [vl.sample_image(name, 32) for name in ("coffee", *["cat"] * 25)]
    )
    source = tmp_path / "mine.safetensors" if kind == "microscope" else model
    save_file(model.state_dict(), tmp_path / "mine.safetensors")
    shown = vl.explore(
        source,
        images,
        [f"thing {i}" for i in range(10)],
        kind.replace("microscope", "way"),
    )
    (tmp_path / "notebook.html").write_text(
        f'<meta charset="utf-8">{shown._repr_html_()}', encoding="utf-8"
    )
    text = html.unescape(shown._repr_html_())
    assert 'pictures="picture 0,' in text and ',picture 23"' in text
    assert 'sandbox="allow-scripts allow-downloads"' in text, (
        "the frame must not reach the notebook"
    )
    asked = []
    tab = browser.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / "notebook.html").as_uri())
    frame = tab.frame_locator("iframe")
    frame.locator(f"vit-{kind}[data-ready=yes]").wait_for(timeout=600_000)
    if kind == "lab":
        assert (
            frame.get_by_text("thing").count() >= 5
            and not frame.get_by_text("its classes").count()
        )
        assert frame.get_by_label("Ranked by").locator("option:disabled").count() == 0
        found = frame.locator("vit-lab").evaluate("lab => [...lab.result.probs]")
        wanted = vl.predict(model.half().float(), images[:1])[0]
        assert (torch.tensor(found) - wanted).abs().max() < 1e-3
    assert [
        url for url in asked if not url.startswith(("data:", "about:", "blob:"))
    ] == [tab.url]
    tab.close()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.usefixtures("one_thread")
def test_every_explorer_of_a_chapter_is_alive_in_its_cell(call, browser, tmp_path):
    """As high as it is, and without a request."""
    shown = eval(call, {"vl": vl})._repr_html_()
    (tmp_path / "cell.html").write_text(f'<meta charset="utf-8">{shown}', "utf-8")
    with opened(browser, (tmp_path / "cell.html").as_uri(), 900) as (tab, wrong):
        kind = re.search(r'kind="(\w+)"', call)[1]
        one = tab.frame_locator("iframe").locator(f"vit-{kind}[data-ready=yes]")
        one.wait_for(timeout=60_000)
        height = one.bounding_box()["height"]
        tab.wait_for_function(
            "height => Math.abs(document.querySelector('iframe').offsetHeight - height) < 2",
            arg=height,
        )
        assert height > 300 and wrong == []
    tag = re.search(r"<vit-[^>]*>", html.unescape(shown))[0]
    for name, value in re.findall(r'(\w+)="?([^",)]+)', call.removeprefix("vl.")):
        assert name == "kind" or f'{name}="{value}"' in tag


def test_a_frame_speaks_the_language_of_the_notebook(browser, tmp_path):
    """Its buttons, its sentences with their numbers, and what its choices are called; their values stay English."""
    model, _ = tiny_model("mine", global_pool="avg")
    image = vl.sample_image("cat", 32)[None]
    english = vl.explore(model, image)._repr_html_()
    vl.language("zh")
    try:
        shown = vl.explore(model, image)._repr_html_()
    finally:
        vl.language("en")
    assert "bookWords = {" in html.unescape(shown) and "bookWords = {" not in english
    (tmp_path / "notebook.html").write_text(shown, encoding="utf-8")
    tab = browser.new_page()
    tab.goto((tmp_path / "notebook.html").as_uri())
    frame = tab.frame_locator("iframe")
    frame.locator("vit-lab[data-ready=yes]").wait_for(timeout=600_000)
    frame.get_by_role("button", name="第 1 行第 2 列").click()
    frame.get_by_text("64 个图块抹去了 1 个：").first.wait_for()
    ranking = frame.get_by_label("排名依据").locator("option").first
    assert ranking.evaluate("e => [e.value, e.text]") == ["attention", "注意力"]
    tab.close()


@pytest.mark.errors
def test_other_models_are_refused():
    """In a sentence, with what to do: kind, size, names, pictures."""
    images = torch.zeros(1, 3, 32, 32, dtype=torch.uint8)
    others = {
        "norm_order": "post",
        "attention": "axial",
        "head": "mlp",
        "act": "relu",
    }
    for changes, says in (
        *(
            ({key: other}, f"expected a model with {key}=")
            for key, other in others.items()
        ),
        ({"pos_embed": "relative"}, "expected a model with pos_embed='learned'"),
        ({"embed_dim": 192, "depth": 12}, "at most 1.6 MB"),
    ):
        model = vl.VisionTransformer(vl.ViTConfig(**changes))
        with pytest.raises(ValueError, match=says):
            vl.explore(model, images)
    model, _ = tiny_model("mine")
    with pytest.raises(ValueError, match="expected 10 names of classes, got 2"):
        vl.explore(model, images, ["cat", "dog"])
    with pytest.raises(ValueError, match="expected a VisionTransformer"):
        vl.explore(torch.nn.Linear(2, 2), images)
    with pytest.raises(ValueError, match="no model called 'cifar10-foto'"):
        vl.explore("cifar10-foto")
    for given in ({"model": model}, {"images": images}, {"classes": ["cat"]}):
        with pytest.raises(ValueError, match="expected no model.*; leave them out"):
            vl.explore(kind="triangle", **given)
    with pytest.raises(ValueError, match="settings none, got task; leave it out"):
        vl.explore(kind="lab", task="where")


def test_export_web_is_one_script(tmp_path):
    """float16 in base64, sizes in the order of the weights; written whole, and safe inside a page."""
    model, card = tiny_model("a</script>b")
    path = vl.export_web(model, card, tmp_path / "model.js")
    text = path.read_text(encoding="utf-8")
    assert "</script>" not in text and list(tmp_path.iterdir()) == [path]
    made = json.loads(
        text[text.index("] = ") + 4 : text.rindex(";")].replace("<\\/", "</")
    )
    weights = np.frombuffer(base64.b64decode(made["data"]), "<f2")
    assert (
        len(weights)
        == sum(np.prod(shape) for _, shape in made["shapes"])
        == vl.count_parameters(model)
    )
    assert (
        made["classes"] == list(vl.CIFAR10_CLASSES)
        and made["config"]["embed_dim"] == 12
    )
    assert torch.equal(
        torch.from_numpy(weights[:12].copy()), model.cls_token.detach().flatten().half()
    )
