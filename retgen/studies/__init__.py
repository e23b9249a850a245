"""Studies: data sets made from recipes, models and dimensions, in one file for `gen eval`.

A study with `train` fine-tunes one model once for each data set that it is trained `on` and each
dimension, and scores it on the data set `test` (LIMIT, arXiv 2508.21038, section 5, Table 3).
"""

from __future__ import annotations

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
_Dimensions = list[Annotated[int, Field(ge=1)]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyDataset(_Strict):
    """A data set: a recipe and what is changed of it, as `gen run --set` changes it."""

    recipe: str
    set: dict[str, Any] = Field(default_factory=dict)


class StudyTraining(_Strict):
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
    datasets: dict[_Name, StudyDataset] = Field(min_length=1)
    models: list[str] = Field(default_factory=list)
    dims: _Dimensions = Field(default_factory=list)
    metrics: list[str] = Field(default_factory=list)
    train: StudyTraining | None = None

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
    tree, plain = read_mapping(path)
    origin = SourceMap(path, tree, ())
    try:
        study = Study.model_validate_json(orjson.dumps(plain), strict=True)
    except ValidationError as error:
        lines = validation_messages(error, Study.model_json_schema(), plain, origin, ())
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


def plan_study(study: Study) -> dict[str, Plan]:
    """What each data set of a study will be."""
    return {name: plan(of.recipe, of.set) for name, of in study.datasets.items()}
