"""How fast a ViT is in the reader's browser: a forward pass, an action in the lab until it is seen, a page.

`python -m tools.measure.bench web` calls it; needs the built book and Chrome or Chromium.
"""

from __future__ import annotations

import argparse
import statistics
import timeit
from collections.abc import Callable
from functools import partial

import torch
from tqdm.auto import tqdm

from page.browser import HTML, chromium, launched, served
from vitlib import viz
from vitlib.explain.erasing import intervene
from vitlib.weights.pretrained import load_pretrained

# milliseconds that the book allows itself
LIMITS = {
    "forward": 40,
    "action": 100,
    "page": 1500,
}
FORWARD = """async ([name, times]) => {
    const {run} = await window.vit.load(name), pixels = Float32Array.from({length: 3072}, () => Math.random() - 0.5);
    for (let i = 0; i < 9; i++) run(pixels); // the browser's compiler has done its work
    return Array.from({length: times}, () => {
        const began = performance.now();
        run(pixels);
        return performance.now() - began;
    });
}"""
ACTION = """async times => { // from a press to the frame that shows what follows
    const cells = document.querySelector('vit-lab').grid.cells, found = [];
    const frame = () => new Promise(requestAnimationFrame), task = () => new Promise(done => setTimeout(done));
    for (let i = 0; i < 5 + times; i++) {
        await frame().then(task);
        const began = performance.now();
        cells[(i * 37) % cells.length].click();
        await frame().then(task); // the frame is drawn
        found.push(performance.now() - began);
    }
    return found.slice(5);
}"""
PAGES = ("intro", "lab", "02-patch-embedding", "05-attention", "09-training")


def measure(
    args: argparse.Namespace, device: torch.device, clock: Callable[[], float]
) -> tuple[str, dict]:
    """Milliseconds of each part; ValueError if the book is not built or there is no browser."""
    if chromium() is None or not (HTML / "book" / "lab.html").exists():
        raise ValueError(
            "expected Chrome or Chromium and the built book; install one and run make book"
        )
    found: dict[str, list[float]] = {}
    with served() as address, launched() as browser:
        tab = browser.new_page()
        for page in tqdm(PAGES, desc="pages"):
            times = found[f"page {page}"] = []
            for _ in range(args.rounds):
                tab.goto(f"{address}/book/{page}.html", wait_until="load")
                entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
                tab.wait_for_function(f"{entry} > 0")
                times.append(tab.evaluate(entry))
        tab.goto(f"{address}/book/lab.html")
        tab.wait_for_function(
            "document.querySelector('vit-lab').dataset.ready === 'yes'"
        )
        found["action in the lab"] = tab.evaluate(ACTION, 5 * args.rounds)
        images, times = torch.randn(1, 3, 32, 32), 10 * args.rounds
        for name in tqdm(tab.evaluate("window.vit.models()"), desc="models"):
            found[f"forward {name}"] = tab.evaluate(FORWARD, [name, times])
            ours = partial(intervene, load_pretrained(name)[0], images)
            seconds = timeit.repeat(ours, timer=clock, number=1, repeat=9 + times)[9:]
            found[f"forward {name}, PyTorch"] = [1000 * each for each in seconds]
    return "fp32", {"milliseconds": found}


def table(result: dict) -> str:
    """Median and ninth decile of each, and what the book allows."""
    rows = []
    for name, times in result["milliseconds"].items():
        found = (statistics.median(times), statistics.quantiles(times, n=10)[-1])
        limit = "" if "PyTorch" in name else f"{LIMITS[name.split()[0]]} ms"
        rows.append([name, *(f"{each:.1f} ms" for each in found), limit])
    return viz.table(["", "median", "of ten, 9", "allowed"], rows)
