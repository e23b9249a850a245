"""`gen eval STUDY`: data sets made, models scored or trained on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.errors import OutputError, RunDirectoryError
from retgen.evaluation.retrievers import check_name
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.plugins import require_modules
from retgen.progress import Progress, no_progress
from retgen.run import run
from retgen.search.base import slug
from retgen.search.mteb_tasks import dataset_folder
from retgen.studies import load_study
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.evaluation.retrievers import Options
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.studies.page import Trainings


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
    overrides: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    cache: bool = True,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    command: str = "gen eval STUDY",
    progress: Progress = no_progress,
) -> Evaluation | Trainings:
    """Make the data sets of a study and measure. What is given replaces what the study says;
    `overrides` change all its recipes.

    `out` defaults to outputs/NAME. A repeated call goes on where it stopped.
    """
    from retgen.evaluation.retrievers import runs_a_model

    study, about = load_study(path, overrides), _about(path)
    folder = Path(out) if out is not None else Path("outputs") / study.study
    models, metrics = models or study.models, metrics or study.metrics
    # before data sets are made
    for name in models:
        check_name(name)
    if study.train is not None:
        require_modules("torch", "sentence_transformers")
    paths = {}
    for name, of in study.datasets.items():
        if of.path:
            fetched = of.path.startswith("mteb:")
            paths[name] = dataset_folder(of.path if fetched else path.parent / of.path)
            continue
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
            list(paths.values()),
            models=models,
            dims=cut,
            metrics=metrics,
            out=folder,
            options=options,
            cache=cache,
            command=command,
            title=study.study,
            about=about,
            model_options=model_options,
            progress=progress,
        )
    spec = study.train
    beside = None
    if models:
        beside = evaluate(
            paths[spec.test],
            models=models,
            metrics=metrics,
            out=folder / "eval",
            options=options,
            cache=cache,
            model_options=model_options,
            progress=progress,
        )
    from retgen.evaluation.training.train import train
    from retgen.studies.page import Trainings, page_of

    trained = {}
    each: list[int | None] = [*sorted(set(dims or spec.dims))] or [None]
    steps = [(name, dim) for name in spec.sources for dim in each]
    for done, (name, dim) in enumerate(steps):
        progress("trainings", done, len(steps))
        on, data = spec.sources[name]
        trained[name, dim] = train(
            paths[on],
            spec.model,
            test=paths[spec.test],
            data=data,
            outside=[paths[one] for one in spec.outside],
            preset=spec.preset,
            settings={**spec.set, **({"dimension": dim} if dim else {})},
            metrics=metrics,
            out=folder / "training" / _folder_name(name, dim),
            device=options.device if options else None,
            progress=progress,
        )
    result = Trainings(
        study, folder, trained, beside, about, command, dict(beside.failures) if beside else {}
    )
    write_file(folder / "study.json", dump_json(result.to_json()))
    page_of(result).write(folder, "study")
    return result


def _folder_name(name: str, dim: int | None) -> str:
    """Where a training stands."""
    return slug(name.replace(": ", "-").replace("+", "-")) + (f"-{dim}" if dim else "")
