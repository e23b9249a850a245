"""Layouts by name, found by file: a module here that exports one subclass of `Layout`.

`sentence_transformers.py` is `--to sentence-transformers`. A third party adds one by an entry
point in the group `retgen.layouts`. Here is what a layout is, and what it is given to write.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from retgen.data import Dataset, Document
from retgen.errors import UsageError
from retgen.export.facts import DatasetFacts
from retgen.export.judged import JudgedRecords
from retgen.messages import did_you_mean
from retgen.plugins import load_all


@dataclass(frozen=True)
class ExportJob:
    """One export. `folder`: where to write, empty; `path`: what the user gave, for messages.

    `splits`: those with qrels to write, in order; `without`: those in which no query has a
    positive. `tables`: the run's own training tables.
    `notes`: what a reader has to know of what was left out, which layouts add to.
    """

    dataset: Dataset
    path: Path
    folder: Path
    facts: DatasetFacts
    judged: JudgedRecords
    splits: tuple[str, ...]
    without: tuple[str, ...] = ()
    tables: tuple[Path, ...] = ()
    notes: list[str] = field(default_factory=list)

    def documents(self) -> Iterator[Document]:
        """Every document, in order. Raises `DatasetError` for a row that is none."""
        return self.dataset.documents(self.path)


@dataclass(frozen=True)
class LayoutCard:
    """What a layout says in its README.md.

    `usage`: Markdown, how it is loaded. `configs`: files below the folder by configuration, then
    by split, for `load_dataset`. `columns`: of a configuration, where it does not show all.
    """

    usage: Sequence[str]
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tags: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)


def one_line(name: str) -> str:
    """A name of a split or file on one line, for a block of code in a card."""
    return " ".join(name.split())


class Layout(ABC):
    """A layout, in a module of its own under `retgen.export.layouts`, which names it.

    `about`: what it holds, `readers`: who reads it, for the docs.
    """

    about: ClassVar[str] = ""
    readers: ClassVar[str] = ""

    @abstractmethod
    def write(self, job: ExportJob) -> LayoutCard:
        """Write the files of the layout into the job's folder.

        Raises `DatasetError` for what the layout cannot hold.
        """


def card_yaml_header(job: ExportJob, page: LayoutCard, state: str) -> dict[str, Any]:
    """The YAML header of a layout's card."""
    facts = job.facts
    result: dict[str, Any] = {"pretty_name": facts.name}
    if facts.hub_languages:
        result["language"] = list(facts.hub_languages)
    result["license"] = facts.hub_licence
    result["task_categories"] = ["text-retrieval"]
    result["tags"] = [*(["retgen"] if facts.ours else []), *page.tags]
    if page.configs:
        result["configs"] = [
            {
                "config_name": name,
                "data_files": [{"split": s, "path": path} for s, path in files.items()],
                **({"columns": list(page.columns[name])} if name in page.columns else {}),
            }
            for name, files in page.configs.items()
        ]
        result["dataset_info"] = [{"config_name": n, "description": state} for n in page.configs]
    return result


def layouts() -> dict[str, Layout]:
    """All layouts, by the names that `--to` takes."""
    found: dict[str, type[Layout]] = load_all(__name__, __path__, Layout, "retgen.layouts")
    return {name.replace("_", "-"): one() for name, one in found.items()}


def layout(name: str) -> Layout:
    """The layout of a name. Raises `UsageError` for one that is not there."""
    known = layouts()
    if name not in known:
        raise UsageError(
            f"--to {name}: there is no such layout{did_you_mean(name, known) or '.'} "
            f"Possible: {', '.join(known)}"
        )
    return known[name]
