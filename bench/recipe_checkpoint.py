"""Makes a checkpoint of what `bench.train_recipes` trained, and measures it as its task does.

    python -m bench.recipe_checkpoint OUT/taylor DATA checkpoints/taylor --command "python -m bench.train_recipes ..."

The card says how it was trained: from `measured.json`, and by the command given.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from bench.taylor_pairs import CHUNK
from bench.train_recipes import RECIPES, Recipe
from viz_transformer.checkpoint import load, save_checkpoint
from viz_transformer.measuring.evaluation import evaluate_checkpoint
from viz_transformer.model.causality import is_causal
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import Transformer
from viz_transformer.train.checkpoint_callback import Row, history_csv

NO_RATE = (
    "The learning rate rose over the first {warmup} of the time and fell along half a cosine, to 0 at its end. It"
    " goes by the clock and was not recorded, nor was the gradient's norm. The training loss was recorded for single"
    " batches only, so the history has the validation loss alone."
)


def trained_lengths(config: ModelConfig, weights: Mapping[str, Tensor], seed: int) -> dict[str, int]:
    """How many positions of each side were ever trained: apart from weight decay the others are as they began."""
    torch.manual_seed(seed)
    first = Transformer(config).state_dict()
    found = {}
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        name = f"{stack}.embedding.position.table"
        began, now = first[name], weights[name].float()
        along = (began * now).sum(1, keepdim=True) / (began * began).sum(1, keepdim=True)
        moved = (now - along * began).norm(dim=1) > 0.01 * now.norm(dim=1)  # float16 rounds by 0.0005
        found[side] = int(moved.nonzero().max()) + 1
    return found


def kept_history(path: Path) -> list[Row]:
    """The rows of a recipe's history with what a checkpoint's has of them."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: float(row[name]) for name in ("step", "validation_loss", "seconds")} for row in csv.DictReader(file)
        ]


def notes(recipe: Recipe, measured: Mapping[str, Any]) -> list[str]:
    """How it was trained, for the card."""
    best = measured["best"]
    more = len(measured["taken_in"]) * CHUNK
    said = [
        f"Trained by bench/train_recipes.py on one {measured['device']} (torch {measured['torch']}):"
        f" {best['step']:,} steps of at most {measured['batch_tokens']:,} tokens in {best['seconds']:.0f} seconds,"
        f" measurements included, at a peak rate of {measured['peak_rate']}, in bfloat16 beside weights in float32."
        f" {best['pairs']:,} pairs were read, {best['tokens']:,} tokens.",
        f"Kept is the average of the weights (decay {measured['averaging']}) with the most validation pairs exactly"
        f" right: {best['right']:,} of {best['of']:,}, counted every {measured['measured_each']:.0f} seconds.",
        NO_RATE.format(warmup=f"{100 * measured['warmup']:g} %"),
    ]
    return [*said, *([f"{more:,} more training pairs came in meanwhile. {recipe.said_of_more}"] if more else [])]


def export(trained: Path, data: Path, out: Path, command: str) -> None:
    """Write the checkpoint folder, measure the weights as loaded again, and write it with the metrics."""
    measured = json.loads((trained / "measured.json").read_text(encoding="utf-8"))
    recipe = RECIPES[measured["recipe"]]
    task = recipe.task
    material = task.prepare(data)
    if material.model.to_dict() != measured["model"]:
        raise ValueError(f"{trained} has another model than the task {task.name}")
    weights, rows = load_file(trained / "weights.safetensors"), kept_history(trained / "history.csv")
    card = task.card() | {
        "notes": [*task.notes, *notes(recipe, measured)],
        "seed": task.plan.seed,
        "date": datetime.date.today().isoformat(),
        "training_command": command,
        "exported_step": measured["best"]["step"],
        "chosen_by": {
            "validation_pairs": measured["best"]["of"],
            "of": [{"step": each["step"], "right": each["right"]} for each in (measured["best"],)],
        },
        "steps": measured["last"]["step"],
        "data_sizes": material.counts | {"more for training": len(measured["taken_in"]) * CHUNK},
        "losses_on": {"validation": f"all {measured['best']['of']:,} pairs"},
        "overlap": material.overlap,
        "training_lengths": trained_lengths(material.model, weights, task.plan.seed),
        "metrics": [],
    }

    def write() -> None:
        source, target = material.codecs
        save_checkpoint(
            out,
            state_dict=weights,
            config=material.model,
            source_codec=source,
            target_codec=target,
            card=card,
            history_csv=history_csv(rows),
            examples=material.examples,
        )

    write()
    stored = load(out)
    card["causal"] = is_causal(stored.model)
    for measure in task.measures:
        found = evaluate_checkpoint(stored, **measure.options(), data_folder=data, progress=_report)
        card["metrics"].append({"split": measure.split, "command": measure.command(task.name), **found})
        write()


def _report(done: int, total: int) -> None:
    print(f"\revaluated {done} of {total} pairs", end="\n" if done == total else "", file=sys.stderr, flush=True)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("trained", type=Path, help="the recipe's folder, as OUT/taylor")
    reader.add_argument("data", type=Path, help="the folder of the data sets")
    reader.add_argument("out", type=Path, help="the checkpoint folder")
    reader.add_argument("--command", required=True, help="that trained it, for the card")
    given = reader.parse_args()
    export(given.trained, given.data, given.out, given.command)


if __name__ == "__main__":
    main()
