"""Data sets of worlds in memory, and what their proof says of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retgen.data import open_dataset
from retgen.facts.compose import Composer
from retgen.facts.domain import Domain, load_domain
from retgen.facts.facts import World
from retgen.generators.tables import Ids
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import job_queries, world_of
from retgen.on_disk import pack, unpacked_on_disk
from retgen.validation.scan import load_judgements
from retgen.validators.facts import WorldProof, WorldSpec, proof_rules
from retgen.validators.rule import Batch, Finding

DOMAINS = ("people", "films", "books", "medical", "legal")
Row = dict[str, Any]


@dataclass
class Set:
    """The rows of a data set, to be altered. `domain`: what the writer knows."""

    domain: Domain
    corpus: list[Row]
    queries: list[Row]
    qrels: list[Row]
    grades: list[Row]

    def copy(self) -> Set:
        rows = (self.corpus, self.queries, self.qrels, self.grades)
        return Set(self.domain, *(copy.deepcopy(one) for one in rows))

    def findings(self, folder: Path, parts: int = 1, documents: int | None = None) -> list[Finding]:
        """What the proof finds, reading the corpus in so many parts."""
        dataset = folder / "dataset"
        for name in ("corpus", "queries", "qrels", "grades"):
            path = dataset / f"{'qrels_graded' if name == 'grades' else name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in getattr(self, name))
            path.write_text("".join(lines), "utf-8")
        opened = open_dataset(dataset)
        spec = WorldSpec(self.domain.path, documents)
        (rule,) = proof_rules(spec, load_judgements(opened, None, None))
        assert isinstance(rule, WorldProof)
        size = max(1, -(-len(self.corpus) // parts))
        states = []
        for first in range(0, len(self.corpus), size):
            rule.start()
            rule.scan(batch_of(self.corpus[first : first + size], first))
            states.append(unpacked_on_disk(pack(rule.state)))  # as from a process
        rule.state, *later = states
        for number, state in enumerate(later, start=1):
            rule.state.merge(state, number * size)
        rule.about(opened)
        return list(rule.findings())


def batch_of(rows: Sequence[Row], first: int = 0) -> Batch:
    batch = Batch(first)
    for row in rows:
        batch.ids.append(row["_id"])
        batch.titles.append(row["title"])
        batch.texts.append(row["text"])
        batch.metadata.append(row["metadata"])
    return batch


def documents(domain: str, count: int, seed: int = 1) -> list[Row]:
    """The documents of a world, numbered."""
    written = Composer(World(load_domain(domain), seed, count)).documents(0, count)
    return [
        {"_id": f"d{i}", "title": one.name, "text": one.text, "metadata": {"facts": one.facts}}
        for i, one in enumerate(written)
    ]


def made(domain: str, count: int = 600, sizes: Sequence[int] = (1, 10), each: int = 1) -> Set:
    """A data set with each operator, number of answers and wording."""
    params = WorldParams(
        domain=domain, documents=count, answer_sizes=tuple(sizes), queries_per_cell=each
    )
    asked = job_queries(params, 1)
    composer = Composer(world_of(params, 1))
    ids = Ids(1, "world/ids", "d", count).texts(np.arange(count))
    corpus = [
        {"_id": name, "title": one.name, "text": one.text, "metadata": {"facts": one.facts}}
        for name, one in zip(ids, composer.documents(0, count), strict=True)
    ]
    return Set(
        load_domain(domain),
        corpus,
        [dict(asked.query(i)) for i in range(len(asked.queries))],
        [dict(row) for row in asked.labels("relevant", 0, asked.qrels)],
        [dict(row) for row in asked.labels("met", 0, asked.qrels)],
    )
