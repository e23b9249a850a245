"""`gen eval --seeds`: one recipe under several seeds, all of the data sets scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retgen.evaluation.retrievers import check_name
from retgen.evaluation.scoring.evaluate import evaluate, output_folder
from retgen.evaluation.scoring.result import Evaluation
from retgen.progress import Progress, silent
from retgen.recipe import load_recipe
from retgen.run import run


def evaluate_seeds(
    path: str | Path,
    seeds: int,
    *,
    out: str | Path | None = None,
    progress: Progress = silent,
    **given: Any,
) -> Evaluation:
    """Make a run or recipe anew under `seeds` consecutive seeds (`out`/seeds), and score them all.

    Runs that are there are not made again. `given`: as `evaluate` takes it.
    """
    for name in given.get("models", ()):
        check_name(name)  # before anything is made
    folder = Path(out) if out is not None else output_folder([Path(path)])
    recipe = load_recipe(path)
    paths = [
        run(
            path, out=folder / "seeds" / f"seed-{seed}", overrides={"seed": seed}, progress=progress
        ).path
        for seed in range(recipe.seed, recipe.seed + seeds)
    ]
    return evaluate(paths, out=folder, over_seeds=True, progress=progress, **given)
