"""Systems measured on the candidate sets of data sets: who is measured on what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.retrievers import Options, Retriever, systems, type_of
from retgen.evaluation.retrievers.llm import Chat
from retgen.evaluation.tasks.task import SystemResult, Task, TaskData
from retgen.progress import Progress
from retgen.search.base import CandidateSet, Scorer, System, slug
from retgen.search.collection import Collection
from retgen.search.embedders.options import ModelCalls
from retgen.write import make_folder, write_rows


class TaskResults:
    """What systems reached on the candidate sets of one data set."""

    def __init__(
        self,
        task: Task,
        collection: Collection,
        calls: ModelCalls | None = None,
        limit: int | None = None,
    ) -> None:
        self.task, self.data = task, task.read(collection)
        self.notes = list(self.data.notes)
        self.results: list[SystemResult] = []
        self._calls = calls
        self._limit = limit if task.limits_all else None

    def measure(
        self,
        name: str,
        retriever: Retriever | None,
        options: Options,
        folder: Path,
        progress: Progress,
    ) -> None:
        """Measure a system by its name; `retriever` is that of the name, where it has one.

        `folder`: where per_ITEM/NAME.jsonl goes, and the lists on which a chat model failed.
        """
        kind = type_of(name)
        assert kind is not None  # it was checked
        if not kind.ranks:
            self._note(f"{name}: orders candidate sets, so it is not among the rankings of all")
        if isinstance(kind, Chat):
            assert self._calls is not None
            scorer = kind.scorer(name, self._calls, folder)
            data = self.data.first(self._calls.limit, paid=True)
            self._add(name, System(None, scorer, scorer.details), data, folder, progress)
            self._note(f"{name}: {scorer.summary('which tie', f' of {data.described}')}")
            return
        result = systems(name, options, retriever)
        if not result:
            self._note(
                f"{name}: gives no score to a single pair of query and document, so it is not "
                f"measured on the {self.task.item}s"
            )
            return
        data = self.data
        if self._limit is not None:
            data = data.first(self._limit)
            self._note(f"--limit: measured on {data.described}")
        for system in result:
            self._add(name, system, data, folder, progress)

    def _add(
        self, name: str, system: System, data: TaskData, folder: Path, progress: Progress
    ) -> None:
        scores = _scored(data.sets, system.scorer, progress)
        domains, rows = data.measure(scores, system)
        place = folder / f"per_{self.task.item}"
        make_folder(place)
        write_rows(place / f"{slug(name, system.dim)}.jsonl", rows)
        result = SystemResult(name, system.dim, domains, system.details())
        self.results.append(result)
        if note := _truncated(result, self.task.item):
            self._note(note)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _scored(
    sets: Sequence[CandidateSet], scorer: Scorer, progress: Progress
) -> list[NDArray[np.float64]]:
    """The scores of all sets, one corpus after the other."""
    result: list[NDArray[np.float64]] = [np.empty(0)] * len(sets)
    for corpus in dict.fromkeys(one.corpus for one in sets):
        rows = [i for i, one in enumerate(sets) if one.corpus == corpus]
        scores = scorer.score([sets[i] for i in rows], progress)
        for i, values in zip(rows, scores, strict=True):
            result[i] = values
    return result


def _truncated(result: SystemResult, item: str) -> str:
    """How many documents a model has not read to their end."""
    cut, encoded = result.details.get("truncated"), result.details.get("encoded")
    if not cut or not encoded or not cut["documents"]:
        return ""
    return (
        f"{result.model}: reads {result.details['max_length']} tokens, so of "
        f"{encoded['documents']:,} documents that it was given for the {item}s "
        f"{cut['documents']:,} are cut"
        + (f", and of the queries {cut['queries']:,}" if cut["queries"] else "")
    )


def together(sets: Sequence[tuple[str, TaskResults]]) -> list[SystemResult]:
    """The systems over several data sets of one task, domain by domain. `sets`: (name, results).

    A domain goes by its name, and where data sets share one by theirs.
    """
    if len(sets) == 1:
        return sets[0][1].results
    names = [domain for _, one in sets for domain in one.data.domains]
    results: dict[str, SystemResult] = {}
    for name, one in sets:
        for result in one.results:
            of = results.setdefault(
                result.label, SystemResult(result.model, result.dim, {}, result.details)
            )
            for domain, measures in result.domains.items():
                of.domains[domain if names.count(domain) == 1 else f"{name}: {domain}"] = measures
    return list(results.values())
