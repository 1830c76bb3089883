"""Makes one model of a run in stages: the last one's weights and test accuracy, with a card that tells every stage.

    python -m tools.measure.join_stages cifar10-photo stages/photo-1 stages/photo-2 stages/photo-3

Stages are chosen on held-out images (`train --validate`); the test set is read here, once, with the weights on disk.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vitlib.data.dataset import load_dataset
from vitlib.evidence import RESULTS, load_results
from vitlib.weights.pretrained import load_pretrained, save_pretrained
from vitworkshop.cli.train import read_test

# of each earlier stage
TOLD = "name command hardware precision seed seconds final epochs".split()


def main() -> None:
    """Reads the cards, saves the weights under the new name, reads the test set."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure.join_stages", description=__doc__.split("\n")[0]
    )
    parser.add_argument("name", help="of the model in vitlib/results")
    parser.add_argument("stages", nargs="+", help="stages/photo-1, in their order")
    args = parser.parse_args()
    if (RESULTS / f"{args.name}.json").is_file():
        parser.error(
            f"there is a {args.name} already, and its test set is read once; remove it to join other stages"
        )
    *earlier, last = map(Path, args.stages)
    model, card = load_pretrained(str(last))
    told = [
        {key: load_results(path.name, path.parent)[key] for key in TOLD}
        for path in earlier
    ]
    card |= {"name": args.name, "stages": told, "final": {}}
    weights = save_pretrained(model, card, RESULTS)
    test = load_dataset(card["recipe"]["data"], "test")
    card["final"] = read_test(weights, test, "cpu")
    print(
        f"wrote {save_pretrained(model, card, RESULTS)}, test accuracy {card['final']['test_accuracy']:.2%}"
    )


if __name__ == "__main__":
    main()
