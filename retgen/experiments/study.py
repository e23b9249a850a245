"""Studies: data sets made from recipes, models and dimensions, in one file for `gen eval`.

A study with `train` fine-tunes one model once for each data set that it is trained `on` and each
dimension, and scores it on the data set `test` (LIMIT, arXiv 2508.21038, section 5, Table 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retgen.errors import OutputError, RecipeError, RunDirectoryError
from retgen.generators.family import Plan
from retgen.messages import Origin, did_you_mean, explain
from retgen.plan import plan
from retgen.progress import Progress, silent
from retgen.recipe import load_recipe, read_yaml
from retgen.run import run
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.evaluation.retrievers import Options
    from retgen.experiments.evaluate import Evaluation
    from retgen.experiments.train import Training

__all__ = ["Splits", "Study", "load_study", "plan_study", "run_study"]

_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=100)]
_Dimensions = list[Annotated[int, Field(ge=1)]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Strict):
    """A data set: a recipe and what is changed of it, as `gen run --set` changes it."""

    recipe: str
    set: dict[str, Any] = Field(default_factory=dict)


class Splits(_Strict):
    """A model, the data sets that it is trained `on`, and the one that it is scored on."""

    model: str
    on: list[str] = Field(min_length=1)
    test: str
    dims: _Dimensions = Field(min_length=1)
    preset: str | None = None
    set: dict[str, Any] = Field(default_factory=dict)


class Study(_Strict):
    """A study; `datasets` by the name that they have in its tables and pictures."""

    study: _Name
    datasets: dict[_Name, Source] = Field(min_length=1)
    models: list[str] = Field(default_factory=list)
    dims: _Dimensions = Field(default_factory=list)
    metrics: list[str] = Field(default_factory=list)
    train: Splits | None = None

    @model_validator(mode="after")
    def _names(self) -> Study:
        if self.train is None and not self.models:
            raise ValueError("a study names models, or has train")
        for name in [*self.train.on, self.train.test] if self.train else []:
            if name not in self.datasets:
                hint = did_you_mean(name, self.datasets)
                raise ValueError(
                    f"train names {name}, which is none of the datasets{hint or '.'} "
                    f"Datasets: {', '.join(self.datasets)}"
                )
        return self


def load_study(path: Path) -> Study:
    """Read and check a study and its recipes. Raises `RecipeError` with a line for every error."""
    tree, plain = read_yaml(path)
    origin = Origin(path, tree, ())
    try:
        study = Study.model_validate_json(orjson.dumps(plain), strict=True)
    except ValidationError as error:
        lines = explain(error, Study.model_json_schema(), plain, origin, ())
        raise RecipeError("\n".join(lines)) from error
    problems = []
    for name, source in study.datasets.items():
        try:
            load_recipe(source.recipe, source.set)
        except RecipeError as error:
            problems.append(f"{origin.where(['datasets', name])}: {error}")
    if problems:
        raise RecipeError("\n".join(problems))
    return study


def _about(path: Path) -> str:
    """The comments on top of a study, but for the command."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(line for line in lines if not line.startswith("gen "))


def plan_study(study: Study) -> dict[str, Plan]:
    """What each data set of a study will be."""
    return {name: plan(of.recipe, of.set) for name, of in study.datasets.items()}


@dataclass(frozen=True)
class Trainings:
    """What a study with `train` found: `trained` by (trained on, dimension)."""

    study: Study
    folder: Path
    trained: dict[tuple[str, int], Training]
    beside: Evaluation | None
    about: str
    command: str
    failures: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """What `gen eval STUDY --json` prints."""
        return {
            "study": self.study.study,
            "trained": [
                {"on": on, "dim": dim, **one.to_json()} for (on, dim), one in self.trained.items()
            ],
            "beside": self.beside.to_json() if self.beside else None,
        }

    def to_text(self) -> str:
        """The table, for a terminal."""
        from retgen.experiments.study_page import text

        return text(self)


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
    progress: Progress = silent,
) -> Evaluation | Trainings:
    """Make the data sets of a study and measure. What is given replaces what the study says.

    `out` defaults to outputs/NAME. A repeated call goes on where it stopped.
    """
    from retgen.evaluation.ladders.scorers import no_embedder
    from retgen.experiments.evaluate import evaluate

    study, about = load_study(path), _about(path)
    folder = Path(out) if out is not None else Path("outputs") / study.study
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
    models, metrics = models or study.models, metrics or study.metrics
    if study.train is None:
        # the study's own dimensions are no request of whoever names other models
        cut = dims or ([] if all(map(no_embedder, models)) else study.dims)
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
    from retgen.experiments.train import train

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
    found = Trainings(
        study, folder, trained, beside, about, command, dict(beside.failures) if beside else {}
    )
    write_file(folder / "study.json", dump_json(found.to_json()))
    from retgen.experiments.study_page import write_page

    write_page(found)
    return found
