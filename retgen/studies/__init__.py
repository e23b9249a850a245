"""Studies: data sets made from recipes, models and dimensions, in one file for `gen eval`.

A study with `train` fine-tunes one model once for each data set that it is trained `on` and each
dimension, and scores it on the data set `test` (LIMIT, arXiv 2508.21038, section 5, Table 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retgen.errors import RecipeError
from retgen.generators.family import Plan
from retgen.messages import SourceMap, did_you_mean, validation_messages
from retgen.plan import plan
from retgen.recipe import load_recipe
from retgen.recipe_file import read_mapping

_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=100)]
_DatasetName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
_Dimensions = list[Annotated[int, Field(ge=1)]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyDataset(_Strict):
    """A data set: a recipe and what is changed of it, as `gen run --set` changes it; or `path`, one
    that is there (mteb:NAME, or a folder, relative to the study).
    """

    recipe: str = ""
    path: str = ""
    set: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_source(self) -> StudyDataset:
        if bool(self.recipe) == bool(self.path):
            raise ValueError("a data set has either a recipe or a path")
        if self.path and self.set:
            raise ValueError("set changes a recipe, and a data set with a path has none")
        return self

    @property
    def own_name(self) -> str:
        """What a data set that is there is called in results."""
        return Path(self.path.removeprefix("mteb:")).name


class StudyTraining(_Strict):
    """A model, the data sets that it is trained `on`, and the one that it is scored on.

    `data`: files of training pairs, each trained on apart ("kw", "kw+sm"); none: what `gen train`
    takes. `outside`: further data sets that it is scored on. `dims`: of a projection; none: the
    model as it is.
    """

    model: str
    on: list[str] = Field(min_length=1)
    data: list[str] = Field(default_factory=list)
    test: str
    outside: list[str] = Field(default_factory=list)
    dims: _Dimensions = Field(default_factory=list)
    preset: str | None = None
    set: dict[str, Any] = Field(default_factory=dict)

    @property
    def sources(self) -> dict[str, tuple[str, list[str]]]:
        """What it is trained on, by the name in tables: a data set, and the pairs taken of it."""
        return {
            f"{on}: {data}" if data else on: (on, data.split("+") if data else [])
            for on in self.on
            for data in self.data or [""]
        }


class Study(_Strict):
    """A study; `datasets` by the name that they have in its tables and pictures."""

    study: _Name
    datasets: dict[_DatasetName, StudyDataset] = Field(min_length=1)
    models: list[str] = Field(default_factory=list)
    dims: _Dimensions = Field(default_factory=list)
    metrics: list[str] = Field(default_factory=list)
    train: StudyTraining | None = None

    @model_validator(mode="after")
    def _names(self) -> Study:
        if self.train is None and not self.models:
            raise ValueError("a study names models, or has train")
        for name, of in self.datasets.items():
            if of.path and name != of.own_name:
                raise ValueError(f"datasets, {name}: {of.path} keeps its name, {of.own_name}")
        train = self.train
        for name in [*train.on, train.test, *train.outside] if train else []:
            if name not in self.datasets:
                hint = did_you_mean(name, self.datasets)
                raise ValueError(
                    f"train names {name}, which is none of the datasets{hint or '.'} "
                    f"Datasets: {', '.join(self.datasets)}"
                )
        return self


def load_study(path: Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read and check a study and its recipes. Raises `RecipeError` with a line for every error.

    `overrides`: what is changed of all its recipes, as `gen run --set` changes one.
    """
    tree, plain = read_mapping(path)
    origin = SourceMap(path, tree, ())
    try:
        study = Study.model_validate_json(orjson.dumps(plain), strict=True)
    except ValidationError as error:
        lines = validation_messages(error, Study.model_json_schema(), plain, origin, ())
        raise RecipeError("\n".join(lines)) from error
    if overrides:
        changed = {
            name: of.model_copy(update={"set": {**of.set, **overrides}}) if of.recipe else of
            for name, of in study.datasets.items()
        }
        study = study.model_copy(update={"datasets": changed})
    problems = []
    for name, source in study.datasets.items():
        try:
            if source.recipe:
                load_recipe(source.recipe, source.set)
            elif not source.path.startswith("mteb:") and not (path.parent / source.path).exists():
                raise RecipeError(f"{path.parent / source.path}: there is no such data set")
        except RecipeError as error:
            problems.append(f"{origin.where(['datasets', name])}: {error}")
    if problems:
        raise RecipeError("\n".join(problems))
    return study


def plan_study(study: Study) -> dict[str, Plan]:
    """What each data set that a study makes will be."""
    return {name: plan(of.recipe, of.set) for name, of in study.datasets.items() if of.recipe}
