"""`gen eval` on ladders of hard negatives: who is measured on what, and how it comes together.

A data set may hold several domains, and a call several data sets; rates are taken in each domain
and averaged without weights (MultiConIR, Tables 2, 3 and 13).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.evaluation.candidates.scorers import Scorer, System, only_ranks_candidates, systems
from retgen.evaluation.collection import Collection
from retgen.evaluation.retrievers import Options, Retriever
from retgen.evaluation.scoring.scores import label, slug
from retgen.evaluation.tasks.multiconir.ladders import Ladder, load_ladders
from retgen.evaluation.tasks.multiconir.pairs import ALL, TASKS, Counts, Plan, make_plan
from retgen.evaluation.tasks.multiconir.rates import Rates, measured, over_domains
from retgen.evaluation.tasks.multiconir.summary import summary
from retgen.progress import Progress
from retgen.write import AtomicFile, make_folder

if TYPE_CHECKING:
    from retgen.evaluation.candidates.chat_ranker import Chats

__all__ = ["Ladders", "Measured", "together"]


@dataclass
class Measured:
    """One system: its rates in each domain."""

    model: str
    dim: int | None
    domains: dict[str, Rates]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The system's name in tables."""
        return label(self.model, self.dim, self.details)

    def rates(self) -> Rates:
        """The unweighted mean over the domains."""
        found = list(self.domains.values())
        return found[0] if len(found) == 1 else over_domains(found)

    def to_json(self) -> dict[str, Any]:
        """The keys of `retgen.evaluation.tasks.multiconir.summary`, and the same by domain."""
        each = {}
        if len(self.domains) > 1:
            each = {name: summary(rates) for name, rates in self.domains.items()}
        return summary(self.rates()) | {"domains": each or list(self.domains)}


class Ladders:
    """The ladders of one data set, and what systems did on them."""

    def __init__(self, collection: Collection, chats: Chats | None = None) -> None:
        self.name = collection.name
        self.ladders, self.notes = load_ladders(collection)
        self.results: list[Measured] = []
        self._chats = chats
        self._plan: Plan | None = None

    def measure(
        self,
        name: str,
        retriever: Retriever | None,
        options: Options,
        folder: Path,
        progress: Progress,
    ) -> None:
        """Measure a system by its name; `retriever` is that of the name, where it has one.

        `folder`: where per_ladder/NAME.jsonl goes, and what a chat model was given up on.
        """
        if only_ranks_candidates(name):
            self._note(f"{name}: orders candidate sets, so it is not among the rankings of all")
        if name.startswith("llm:"):
            self._ask(name, folder, progress)
            return
        found = systems(name, retriever, options)
        if not found:
            self._note(
                f"{name}: gives no score to a single pair of query and document, so it is not "
                "measured on the ladders"
            )
            return
        if self._plan is None:
            self._plan = make_plan(self.ladders, ALL)
            self._floor()
        for system in found:
            self._add(name, system, self.ladders, self._plan, folder, progress)

    def _floor(self) -> None:
        """Say where the length of the documents alone tells which is the better one."""
        plan = make_plan(self.ladders, TASKS)
        words = [np.array([-len(t.split()) for t in g.texts], float) for g in plan.groups]
        every = range(len(self.ladders))
        rates = measured(plan.counts(words, 0.0), every, f"{self.name}/floor", replicates=2)
        rungs = rates.mean(rates.where("rung"))
        if rungs is not None and rungs.value > 0.5:
            self._note(
                f"floor of {self.name}: of neighbours on the ladder the shorter document is the "
                f"better one in {rungs.value:.0%}, so read win rates against that, not against 50%"
            )

    def _ask(self, name: str, folder: Path, progress: Progress) -> None:
        """Have a chat model order the candidates of the Tasks, of the first ladders."""
        from retgen.agents.models import settings_of
        from retgen.evaluation.candidates.chat_ranker import ChatRanker

        settings = settings_of(name.removeprefix("llm:"))
        assert self._chats is not None
        assert settings is not None
        ranker = ChatRanker(name, settings, self._chats, folder)
        limit, seen = self._chats.limit, dict[str, int]()
        few = []
        for ladder in self.ladders:
            seen[ladder.domain] = seen.get(ladder.domain, 0) + 1
            if limit is None or seen[ladder.domain] <= limit:
                few.append(ladder)
        plan = make_plan(few, TASKS)
        self._add(name, System(None, ranker, ranker.details), few, plan, folder, progress)
        told = ranker.details()
        self._note(
            f"{name}: ordered {told['lists']:,} lists of {len(few):,} of {len(self.ladders):,} "
            "ladders" + (f", {told['given_up']:,} given up, which tie" if told["given_up"] else "")
        )

    def _add(
        self,
        name: str,
        system: System,
        ladders: Sequence[Ladder],
        plan: Plan,
        folder: Path,
        progress: Progress,
    ) -> None:
        counts = plan.counts(_scored(plan, system.scorer, progress), system.scorer.noise)
        _write(folder / "per_ladder" / f"{slug(name, system.dim)}.jsonl", ladders, counts)
        rows: dict[str, list[int]] = {}
        for number, ladder in enumerate(ladders):
            rows.setdefault(ladder.domain, []).append(number)
        rates = {
            domain: measured(counts, of, f"{self.name}/{domain}") for domain, of in rows.items()
        }
        result = Measured(name, system.dim, rates, system.details())
        self.results.append(result)
        if note := _cut(result):
            self._note(note)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _scored(plan: Plan, scorer: Scorer, progress: Progress) -> list[NDArray[np.float64]]:
    """The scores of all groups, one corpus after the other."""
    found: list[NDArray[np.float64]] = [np.empty(0)] * len(plan.groups)
    for corpus in dict.fromkeys(group.corpus for group in plan.groups):
        rows = [i for i, group in enumerate(plan.groups) if group.corpus == corpus]
        scores = scorer.score([plan.groups[i] for i in rows], progress)
        for i, values in zip(rows, scores, strict=True):
            found[i] = values
    return found


def _write(path: Path, ladders: Sequence[Ladder], counts: Counts) -> None:
    """Each ladder's share of won pairs in every cell that it has, for statistics of one's own."""
    make_folder(path.parent)
    names = ["/".join(map(str, cell)) for cell in counts.cells]
    with AtomicFile(path) as file:
        for ladder, won, pairs in zip(ladders, counts.won, counts.pairs, strict=True):
            cells = {names[i]: won[i] / pairs[i] for i in np.flatnonzero(pairs)}
            line = {"ladder": ladder.ladder_id, "domain": ladder.domain, "cells": cells}
            option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
            file.write(orjson.dumps(line, option=option))


def _cut(result: Measured) -> str:
    """What a model has not read, of padded documents mostly."""
    cut, encoded = result.details.get("truncated"), result.details.get("encoded")
    if not cut or not encoded or not cut["documents"]:
        return ""
    return (
        f"{result.model}: reads {result.details['max_length']} tokens, so of "
        f"{encoded['documents']:,} documents of the ladders, padded ones among them, "
        f"{cut['documents']:,} are cut"
    )


def together(sets: Iterable[tuple[str, Ladders]]) -> list[Measured]:
    """The systems over several data sets, domain by domain. `sets`: (name, ladders).

    A domain goes by its name, and where data sets share one by theirs.
    """
    listed = list(sets)
    if len(listed) == 1:
        return listed[0][1].results
    names = [domain for _, one in listed for domain in dict.fromkeys(x.domain for x in one.ladders)]
    found: dict[str, Measured] = {}
    for name, ladders in listed:
        for one in ladders.results:
            of = found.setdefault(one.label, Measured(one.model, one.dim, {}, one.details))
            for domain, rates in one.domains.items():
                of.domains[domain if names.count(domain) == 1 else f"{name}: {domain}"] = rates
    return list(found.values())
