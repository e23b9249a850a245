"""A recipe: read, and everything that follows from it worked out once, in one value.

Plan, generate, validate, report and the processes that work for them all receive that value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retgen.agents.models import FLOW, ModelSettings, settings_of
from retgen.generators import Family, family
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.messages import differences
from retgen.recipe_file import RecipeFile, read_recipe, seed_number
from retgen.reviewed.apply import ReviewedRecords, apply_decisions
from retgen.reviewed.decisions import read_decisions

SOURCES = "sources"  # in a run directory: the answers of agents


@dataclass(frozen=True)
class Recipe:
    """A recipe and what follows from it.

    `job`: the recipe as its family sees it. `agents`: names of the agents that the job requires.
    `models`: the model of each agent of the family; agents without a model work offline.
    """

    file: RecipeFile
    family: Family[Any]
    job: Job[Any]
    agents: frozenset[str]
    models: Mapping[str, ModelSettings]

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self.file.name

    @property
    def needs_sources(self) -> bool:
        """Whether agents or documents are asked or read before the tables are made."""
        return self.family.prepares(self.job)

    @property
    def reads_files(self) -> bool:
        """Whether its tables are made from files: answers of agents, documents, reviews, inputs."""
        return self.needs_sources or bool(written_out(self)[1])

    @property
    def live(self) -> dict[str, ModelSettings]:
        """The models of the required agents, by agent, without those that work offline."""
        return {name: one for name, one in self.models.items() if name in self.agents}

    def at(self, run: Path) -> Recipe:
        """The same recipe with its sources in a run directory."""
        return replace(self, job=self.job._replace(sources=run / SOURCES))

    def records(self) -> Records:
        """Make the family's records, with the decisions of reviews applied."""
        return self.reviewed_records().records

    def reviewed_records(self) -> ReviewedRecords:
        """Make the same records, with the origin of each label."""
        reviews = [(str(path), read_decisions(path)) for path in self.file.review]
        records = self.family.generate(self.job)
        if not reviews:
            return ReviewedRecords(records)
        return apply_decisions(records, reviews, self.family.candidate_sets)

    def before_review(self) -> Recipe:
        """The same recipe without reviews: the family proves what it makes."""
        return replace(self, file=self.file.model_copy(update={"review": ()}))


def load_recipe(
    source: str | Path, overrides: Mapping[str, Any] | None = None, *, finished: bool = False
) -> Recipe:
    """Read a recipe and work out what follows from it: see `read_recipe`."""
    return resolve(read_recipe(source, overrides, finished=finished))


def resolve(file: RecipeFile) -> Recipe:
    """Work out what follows from a recipe file."""
    owner = family(file.family)
    models = {}
    for agent in owner.agents:
        named = file.models.get(agent.name, file.models.get(agent.role, file.model))
        if (settings := settings_of(named)) is not None:
            models[agent.name] = settings
    job = Job(file.name, seed_number(file.seed), file.params, file.limit, frozenset(models))
    return Recipe(file, owner, job, owner.required_agents(job), models)


def written_out(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Path]]:
    """(the recipe with every default written out, the files to copy beside it by relative path)."""
    copies: dict[str, Path] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            name = f"inputs/{value.name}"
            while copies.get(name, value) != value:  # another file of that name
                name = f"inputs/also-{name.removeprefix('inputs/')}"
            copies[name] = value
            return name
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return value

    tree = recipe.file.model_dump(by_alias=True)
    tree["params"] = recipe.file.params.model_dump(by_alias=True)
    if not recipe.file.models:
        del tree["models"]
    if not recipe.file.review:
        del tree["review"]
    return plain(tree), copies


def compare(old: Any, new: Any) -> list[str]:
    """The dotted keys in which two resolved recipes differ, but for how fast models are asked."""
    return [
        key
        for key, _ in differences(old, new)
        if not (key.partition(".")[0] in ("model", "models") and key.rpartition(".")[2] in FLOW)
    ]
