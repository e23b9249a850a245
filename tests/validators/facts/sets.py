"""Data sets of facts in memory, and what their proof says of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.data import open_dataset
from retgen.facts.compose import Composer
from retgen.facts.domain import Domain, load_domain
from retgen.facts.facts import World as Entities
from retgen.generators.family import Family
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.generators.world import World
from retgen.generators.world.params import WorldParams
from retgen.on_disk import pack, unpacked_on_disk
from retgen.validation.scan import load_judgements
from retgen.validators.facts.proof import FactsProof
from retgen.validators.rule import Batch, Finding

DOMAINS = ("people", "films", "books", "medical", "legal")
Row = dict[str, Any]


@dataclass
class Set:
    """The rows of a data set, to be altered; what made it."""

    family: Family[Any]
    job: Job[Any]
    corpus: list[Row]
    queries: list[Row]
    qrels: list[Row]
    grades: list[Row]

    @classmethod
    def of(cls, family: Family[Any], job: Job[Any]) -> Set:
        """The data set of a job."""
        return cls(family, job, *rows_of(family.generate(job)))

    @property
    def domain(self) -> Domain:
        """What the writer knows."""
        return load_domain(self.job.params.domain)

    @property
    def tables(self) -> dict[str, list[Row]]:
        """The rows by the name of their file."""
        tables = (self.corpus, self.queries, self.qrels, self.grades)
        return dict(zip(("corpus", "queries", "qrels", "qrels_graded"), tables, strict=True))

    def copy(self) -> Set:
        rows = (self.corpus, self.queries, self.qrels, self.grades)
        return Set(self.family, self.job, *copy.deepcopy(rows))

    def findings(self, folder: Path, parts: int = 1) -> list[Finding]:
        """What the proof finds, reading the corpus in so many parts."""
        opened = open_dataset(write(folder / "dataset", self.tables))
        (rule,) = self.family.checks(self.job, load_judgements(opened, None, None))
        assert isinstance(rule, FactsProof)
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


def write(folder: Path, tables: dict[str, list[Row]]) -> Path:
    """Write tables as files of JSON Lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    return folder


def rows_of(records: Records) -> list[list[Row]]:
    """Documents, queries, qrels and grades."""
    tables = (records.corpus, records.queries, records.qrels["test"], records.graded["test"])
    return [
        [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]
        for table in tables
    ]


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
    written = Composer(Entities(load_domain(domain), seed, count)).documents(0, count)
    return [
        {"_id": f"d{i}", "title": one.name, "text": one.text, "metadata": {"facts": one.facts}}
        for i, one in enumerate(written)
    ]


def world_job(domain: str, documents: int = 600, **params: Any) -> Job[WorldParams]:
    """A job of a world, with one query of each operator, number of answers and wording."""
    given = {"answer_sizes": (1, 10), "queries_per_cell": 1, **params}
    return Job("world", 1, WorldParams(domain=domain, documents=documents, **given))


def made(domain: str) -> Set:
    """A data set with each operator, number of answers and wording."""
    return Set.of(World(), world_job(domain))
