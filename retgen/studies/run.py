"""`gen eval STUDY` and `gen eval --seeds`: data sets made, models scored or trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retgen.errors import OutputError, RunDirectoryError
from retgen.plugins import require_modules
from retgen.progress import Progress, no_progress
from retgen.run import run
from retgen.studies import load_study
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.evaluation.retrievers import Options
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.studies.page import Trainings
from typing import Any

from retgen.evaluation.retrievers import check_name
from retgen.evaluation.scoring.evaluate import evaluate, output_folder
from retgen.evaluation.scoring.result import Evaluation
from retgen.recipe import load_recipe
from retgen.recipe_file import written_seed


def _about(path: Path) -> str:
    """The comments on top of a study, but for the command."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(line for line in lines if not line.startswith("gen "))


def run_study(
    path: Path,
    *,
    models: Sequence[str] = (),
    dims: Sequence[int] = (),
    metrics: Sequence[str] = (),
    out: str | Path | None = None,
    options: Options | None = None,
    cache: bool = True,
    command: str = "gen eval STUDY",
    progress: Progress = no_progress,
) -> Evaluation | Trainings:
    """Make the data sets of a study and measure. What is given replaces what the study says.

    `out` defaults to outputs/NAME. A repeated call goes on where it stopped.
    """
    from retgen.evaluation.retrievers import check_name, runs_a_model
    from retgen.evaluation.scoring.evaluate import evaluate

    study, about = load_study(path), _about(path)
    folder = Path(out) if out is not None else Path("outputs") / study.study
    models, metrics = models or study.models, metrics or study.metrics
    # before data sets are made
    for name in models:
        check_name(name)
    if study.train is not None:
        require_modules("torch", "sentence_transformers")
    paths = {}
    for name, of in study.datasets.items():
        place = folder / "datasets" / name
        try:
            paths[name] = run(of.recipe, out=place, overrides=of.set, progress=progress).path
        except RunDirectoryError as error:
            raise OutputError(
                f"{place}: the study has changed since it was made there, or something else "
                f"stands there. Give another --out, or remove {folder}. ({error})"
            ) from error
    if study.train is None:
        # the study's own dimensions are no request of whoever names other models
        cut = dims or (study.dims if any(map(runs_a_model, models)) else [])
        return evaluate(
            list(paths.values()), models=models, dims=cut, metrics=metrics,
            out=folder, options=options, cache=cache, command=command, title=study.study,
            about=about, progress=progress,
        )  # fmt: skip
    spec = study.train
    beside = None
    if models:
        beside = evaluate(
            paths[spec.test], models=models, metrics=metrics, out=folder / "eval",
            options=options, cache=cache, progress=progress,
        )  # fmt: skip
    from retgen.evaluation.training.train import train
    from retgen.studies.page import Trainings, write_page

    trained = {}
    steps = [(on, dim) for on in spec.on for dim in sorted(set(dims or spec.dims))]
    for done, (on, dim) in enumerate(steps):
        progress("trainings", done, len(steps))
        trained[on, dim] = train(
            paths[on], spec.model, test=paths[spec.test], preset=spec.preset,
            settings={**spec.set, "dimension": dim}, metrics=metrics,
            out=folder / "training" / f"{on}-{dim}", device=options.device if options else None,
            progress=progress,
        )  # fmt: skip
    result = Trainings(
        study, folder, trained, beside, about, command, dict(beside.failures) if beside else {}
    )
    write_file(folder / "study.json", dump_json(result.to_json()))
    write_page(result)
    return result


def evaluate_seeds(
    path: str | Path,
    seeds: int,
    *,
    out: str | Path | None = None,
    progress: Progress = no_progress,
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
            path,
            out=folder / "seeds" / f"seed-{seed}",
            overrides={"seed": written_seed(seed)},
            progress=progress,
        ).path
        for seed in range(recipe.seed, recipe.seed + seeds)
    ]
    return evaluate(paths, out=folder, over_seeds=True, progress=progress, **given)
