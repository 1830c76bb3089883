"""The ViT that learns in the page: its gradients and first steps are PyTorch's, its tasks what they say."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from browsing import needs_browser, opened
from web_pages import page

import vitlib as vl

pytestmark = needs_browser
SCRIPTS = ("vit.js", "learn-tasks.js", "learn.js")
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
        for script in SCRIPTS:
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
                far = (torch.tensor(grads[{"pos_embed.weight": "pos_embed"}.get(name, name)]) - want.flatten()).abs().max() / want.abs().max().clamp(min=1e-4)
                assert far < 1e-4, name
        assert losses[step] == pytest.approx(loss.item(), rel=1e-4), step
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50)
        optimizer.step()
