"""The ViT that learns in the page: its gradients and first steps are PyTorch's, its tasks what they say."""

import re

import pytest
import torch
import torch.nn.functional as F
from browsing import needs_browser, opened
from web_pages import explorer, page, run

import vitlib as vl
from tools.measure.learns import BEGIN, ENGINE, OFF, in_page

pytestmark = [*needs_browser, pytest.mark.sampled(3, "learn in a page")]
CELLS = vl.load_results("learns")["cells"]
CASES = {
    "mean": {},
    "CLS": {"pool": "token"},
    "small patches": {"patch": 8, "depth": 1, "heads": 4},
    "no positions": {"positions": False},
}


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    address = page(tmp_path_factory.mktemp("learn"), "<p></p>")
    with opened(browser, address, 760) as (tab, wrong):
        for script in ENGINE:
            tab.add_script_tag(url=address.replace("page.html", script))
        yield tab
        assert wrong == []


def in_torch(told: dict, options: dict) -> vl.VisionTransformer:
    """The learner's model in vitlib, from what `weights()` says."""
    positions = {} if options.get("positions", True) else {"pos_embed": "none"}
    model = vl.VisionTransformer(vl.ViTConfig(**told["config"], **positions))
    state = {
        name: torch.tensor(w["values"]).reshape(w["shape"])
        for name, w in told["weights"].items()
        if name in model.state_dict()
    }
    model.load_state_dict(state)
    return model


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_gradients_and_first_steps_are_pytorchs(tab, options):
    """Every parameter's gradient to a relative 1e-4, and the losses of twenty steps with AdamW."""
    told, batches, losses, grads = tab.evaluate(
        """options => {
            const learner = new vitLearner({ task: "same", seed: 3, scatter: 0.5, ...options });
            const told = learner.weights(), stream = vitRandom(5), losses = [], grads = {};
            const batches = [...Array(20)].map(() => vitTasks.draw("same", 64, stream));
            for (const { pixels, labels } of batches) {
                learner.forward(pixels);
                losses.push(learner.backward(labels));
                if (losses.length === 1)
                    for (const [name, { grad }] of Object.entries(learner.parameters)) grads[name] = [...grad];
                learner.update();
            }
            return [told, batches.map(({ pixels, labels }) => [[...pixels], labels]), losses, grads];
        }""",
        options,
    )
    model = in_torch(told, options)
    optimizer = vl.build_optimizer(model, vl.Recipe(lr=3e-3, weight_decay=0.01))
    for step, (pixels, labels) in enumerate(batches):
        images = torch.tensor(pixels).reshape(64, 1, 16, 16)
        loss = F.cross_entropy(model.train()(images), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            for name, p in model.named_parameters():
                want = torch.zeros_like(p) if p.grad is None else p.grad
                got = torch.tensor(
                    grads[name.replace("pos_embed.weight", "pos_embed")]
                ).view_as(want)
                far = (got - want).abs().max() / want.abs().max().clamp(min=1e-4)
                assert far < 1e-4, name
        assert losses[step] == pytest.approx(loss.item(), rel=1e-4), step
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50)
        optimizer.step()


def test_the_kernels_compute_what_javascript_does(tab):
    """On shapes that nothing divides, too; small products stay in JavaScript."""
    far = tab.evaluate("""() => {
        const { linear, plain, products } = vitMath, { normal } = vitRandom(1);
        const list = n => Float32Array.from({ length: n }, normal), most = x => Math.max(...x.map(Math.abs));
        const far = (a, b) => most(a.map((x, i) => x - b[i])) / most(b) + (a.length !== b.length);
        const shapes = [[300, 16, 48], [48, 1088, 16], [1, 999, 9], [33, 17, 31], [4, 5, 6], [200, 100, 300]];
        const found = shapes.flatMap(([T, I, O]) => {
            const given = [list(T * I), T, list(O * I), list(O), I, O], right = plain.linear(...given);
            return [linear, products.linear, products.linear].map(one => far(one(...given), right)); // and packed
        });
        for (const [T, D, h] of [[65, 96, 3], [26, 21, 3], [7, 8, 1]]) {
            const qkv = list(T * 3 * D), [a, b] = [0, 0].map(() => new Float32Array(h * T * T));
            [[products, a], [plain, b]].forEach(([by, out]) => by.scores(qkv, T, D, h, out));
            found.push(far(a, b), far(products.mix(a, qkv, T, D, h), plain.mix(a, qkv, T, D, h)));
        }
        return [...found, linear === plain.linear, products.linear === plain.linear];
    }""")
    assert max(far) < 1e-5


def scores(task: str, part: str) -> list[float]:
    return [run["accuracy"] for engine in CELLS[task][part].values() for run in engine]


def test_what_the_page_promises_showed_on_every_seed_in_both_engines():
    """Which part a task needs, and that each is learned with everything on."""
    chance = {
        "where": 0.25,
        "same": 0.5,
        "line": 0.5,
        "odd one": 0.25,
        "shade": 0.25,
        "count": 0.25,
    }
    needs = {
        "no positions": ("where", "line", "odd one"),
        "no attention": ("same", "line", "odd one"),
    }
    needs["CLS, no attention"] = tuple(chance)
    for task in chance:
        assert min(scores(task, "everything on")) > 0.9, task
        for part in (
            "no positions",
            "no attention",
        ):  # without, `shade` is learned, but more slowly
            assert task in needs[part] or min(scores(task, part)) > 0.7, (task, part)
    for part, tasks in needs.items():
        for task in tasks:
            assert max(scores(task, part)) < chance[task] + 0.15, (task, part)


@pytest.mark.sampled(7)
def test_a_run_ends_with_a_sentence_and_is_kept_in_a_link(browser, tmp_path):
    """Started and ended by keys alone."""
    address = page(
        tmp_path,
        '<vit-learn task="count" without="attention"><p>The figure</p></vit-learn>',
    )
    with explorer(browser, address, "vit-learn") as tab:
        run(tab, "e.set({ steps: 300, width: 8 })")
        assert run(tab, "e.said.textContent").startswith(
            "Chance is 25\u00a0%. Press Start"
        )
        tab.get_by_role("button", name="One step").click()
        tab.wait_for_function(
            "document.querySelector('vit-learn').runs.every(({ now }) => now?.steps === 1)"
        )
        said = r"Of the first 64 pictures: with everything .+ \(after 1 step\), without .+; chance 25\u00a0%."
        assert re.fullmatch(said, run(tab, "e.said.textContent"))
        tab.get_by_role("button", name="Start", exact=True).press("Enter")
        shown = tab.get_by_role("button", name="picture 3, ")
        right = run(tab, "vitTasks.classes.count[e.pictures.labels[2]]")
        assert shown.locator("b").inner_text() == right, "beside a cross, too"
        shown.click(delay=300)  # while it runs
        tab.locator("vit-learn .grid > button >> nth=5").click(delay=300)
        assert run(tab, "e.watch") == {"picture": 2, "patch": 5}
        tab.get_by_role("button", name="Done").wait_for(timeout=600_000)
        said = run(tab, "e.said.textContent")
        assert (
            said.startswith("Of the last 640 pictures: with everything ")
            and "after 300 steps" in said
        )
        assert min(run(tab, "e.runs.map(({ now }) => now.accuracy)")) > 0.8
        tab.get_by_role("button", name="Link to this").click()
        state, link = run(tab, "e.state"), tab.evaluate("location.href")
    with explorer(browser, link, "vit-learn") as tab:
        assert run(tab, "e.state") == state and state["steps"] == 300


@pytest.mark.sampled(7)
def test_a_phone_trains_one_after_the_other(browser, tmp_path):
    """And positions start where the task learns from: for places, from small ones."""
    address = page(
        tmp_path,
        '<vit-learn task="count" without="attention"><p>The figure</p></vit-learn>',
    )
    with explorer(
        browser, address, "vit-learn", 375, has_touch=True, is_mobile=True
    ) as tab:
        run(tab, "e.set({ steps: 300, width: 8 })")
        seen = tab.evaluate("""() => new Promise((done) => {
            const e = document.querySelector("vit-learn"), seen = [], report = e.report.bind(e);
            e.report = (i, data) => {
                report(i, data);
                seen.push([i, data.steps]);
                if (e.start.textContent === "Done") done(seen);
            };
            e.go(true);
        })""")
        assert max(steps for i, steps in seen if i == 1) == 300
        assert all(steps == 0 for i, steps in seen[: seen.index([0, 300])] if i == 1)
        # as a link has it
        assert run(tab, "e.fresh({ task: 'where' }).scatter") == 0.02
        tab.get_by_label("Task", exact=True).select_option("where")
        assert run(tab, "e.state.scatter") == 0.02


@pytest.mark.weekly
@pytest.mark.parametrize("task", CELLS)
@pytest.mark.parametrize(
    "part", ["everything on", "no positions", "no attention", "CLS, no attention"]
)
def test_a_cell_of_the_table_comes_out_again(tab, task, part):
    """Of the first seed, to five points; rounding makes runs differ between machines."""
    scatter = 0.02 if task == "where" else 1
    tab.evaluate(BEGIN, {"task": task, "seed": 0, "scatter": scatter, **OFF[part]})
    assert in_page(tab)[0] == pytest.approx(
        CELLS[task][part]["page"][0]["accuracy"], abs=0.05
    )
