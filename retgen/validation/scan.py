"""The corpus read once, in parts, by several processes where it is large, past all rules."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from retgen.data import CHUNK_BYTES, Chunk, Dataset, Document, Qrel, TableFiles, document_of
from retgen.on_disk import pack, unpacked_on_disk
from retgen.progress import Progress
from retgen.recipe import Recipe
from retgen.recipe_file import RuleSettings
from retgen.rows import Problem
from retgen.search.collection import which_split
from retgen.validators.baselines import WordTerms
from retgen.validators.notes import extra, texts_by_column
from retgen.validators.rule import (
    Batch,
    CorpusRule,
    Judgements,
    LeakRule,
    RuleState,
)
from retgen.validators.rules import corpus_rules
from retgen.validators.validation import Samples
from retgen.work import Engine
from retgen.work.local import keep_freed_memory

_BATCH = 4096  # documents
_AT_MOST = 2000  # queries that rules see where one of them reads all itself
_EACH = 100  # qrels of each, at most
# bytes of corpus that a process scans at a time: a sixteenth
LEAST, MOST = 1 << 20, 64 << 20


def load_judgements(dataset: Dataset, split: str | None, recipe: Recipe | None) -> Judgements:
    """Read queries and qrels; only the first queries if the family's proof reads all itself."""
    split = which_split(dataset, dataset.root, split)
    at_most = _AT_MOST if recipe is not None and recipe.family.candidate_sets else None
    qrels: Sequence[Qrel]
    queries, query_problems = dataset.queries.read(at_most, stored=True)
    if at_most is None:
        qrels, qrel_problems = dataset.qrels[split].read(stored=True)
    else:
        asked = {query.query_id for query in queries}
        some, qrel_problems = dataset.qrels[split].read(at_most * _EACH)
        qrels = [qrel for qrel in some if qrel.query_id in asked]
    others = {
        name: dataset.qrels[name].read(stored=True) for name in dataset.qrels if name != split
    }
    result = Judgements(
        queries,
        qrels,
        query_problems,
        qrel_problems,
        split,
        recipe is None,
        {name: some for name, (some, _) in others.items()},
        {name: problems for name, (_, problems) in others.items()},
    )
    tables = {table.files for table in dataset.qrels.values()}
    result.by_people = bool(recipe and recipe.family.evidence(recipe.job) == "human")
    result.partial = at_most is not None
    result.notes = texts_by_column(dataset.queries, result.positives, tables)
    return result


@dataclass
class Scanner:
    """A data set and the rules over it, which each process that scans parts makes once.

    `recipe`: None where there is none, or its proof cannot be repeated. `scratch`: folder for what
    is too large for memory; of this process alone.
    """

    dataset: Dataset
    split: str | None
    recipe: Recipe | None
    scratch: str | None

    @property
    def settings(self) -> RuleSettings:
        """Thresholds of the rules, and which are switched off."""
        return self.recipe.file.rules if self.recipe else RuleSettings()

    @cached_property
    def judgements(self) -> Judgements:
        """What the rules are made from."""
        return load_judgements(self.dataset, self.split, self.recipe)

    @property
    def covered(self) -> frozenset[str]:
        """Rules that the proof of the run's family replaces."""
        return self.recipe.family.covers if self.recipe else frozenset()

    @cached_property
    def rules(self) -> list[CorpusRule]:
        """Rules over documents, less those that the family's own proof covers, then the proof."""
        recipe = self.recipe
        rules = corpus_rules(self.judgements, self.covered)
        for rule in rules:
            # what retgen wrote itself has no excuse for an order
            if recipe and isinstance(rule, LeakRule):
                from_user = recipe.family.from_user(recipe.job) == "queries"
                rule.severity = "warning" if from_user else "error"
        # no rules: what else is learned from the documents while they are read
        if WordTerms.name not in self.covered:
            rules.append(WordTerms(self.judgements))
        rules.append(Samples(self.judgements))
        if recipe is not None:
            rules += recipe.family.checks(recipe.job, self.judgements)
        for rule in rules:
            rule.scratch = self.scratch
            if isinstance(rule, LeakRule):
                rule.p = self.settings.order_leak_p
        return rules

    def __reduce__(self) -> tuple[Any, ...]:
        return Scanner, (self.dataset, self.split, self.recipe, None)


def scan(scanner: Scanner, engine: Engine, progress: Progress) -> tuple[int, list[Problem]]:
    """Show every document to every rule, on this machine. Returns (documents, invalid rows)."""
    corpus, rules = scanner.dataset.corpus, scanner.rules
    for rule in rules:
        rule.about(scanner.dataset)
    parts = _parts(corpus)
    tasks = {str(number): part for number, part in enumerate(parts)}
    states: list[RuleState] = []
    problems: list[Problem] = []
    documents = lines = done = 0
    with contextlib.closing(engine.local.map(_scan_part, scanner, tasks.items())) as scanned:
        for name, packed in scanned:
            # states grow with the corpus, so their arrays lie in files
            of_part, documents_there, lines_there, bad = unpacked_on_disk(packed, scanner.scratch)
            for state, later in zip(states, of_part, strict=False):
                state.merge(later, documents)
            states = states or of_part
            problems += [Problem(lines + line, reason) for line, reason in bad]
            documents += documents_there
            lines += lines_there
            done += len(tasks[name])
            progress("proof", done, sum(map(len, parts)))
    for rule, state in zip(rules, states, strict=True):
        rule.state = state
    if again := [rule for rule in rules if rule.suspicious()]:
        position = 0
        for chunk in chain.from_iterable(parts):
            for batch in _batches(corpus.rows(chunk), position, []):
                for rule in again:
                    rule.confirm(batch)
                position += len(batch)
    return documents, problems


def _parts(corpus: TableFiles) -> list[list[Chunk]]:
    """Cut the corpus into parts, independently of the number of processes; at least one."""
    parts: list[list[Chunk]] = [[]]
    filled, most = 0, min(max(LEAST, corpus.size() // 16), MOST)
    for chunk in corpus.chunks(min(most, CHUNK_BYTES)):
        if filled >= most:
            parts.append([])
            filled = 0
        parts[-1].append(chunk)
        filled += most if corpus.format == "parquet" else chunk.stop - chunk.start
    return parts


def _scan_part(scanner: Scanner, chunks: Sequence[Chunk]) -> bytes:
    return pack(_scan_chunks(scanner, chunks))


def _scan_chunks(
    scanner: Scanner, chunks: Sequence[Chunk]
) -> tuple[list[RuleState], int, int, list[Problem]]:
    """(the states of all rules, documents, rows, invalid rows) of consecutive chunks."""
    keep_freed_memory()
    for rule in scanner.rules:
        rule.start()
    documents, lines = 0, 0
    problems: list[Problem] = []
    for chunk in chunks:
        result: list[Problem] = []
        # rows hold no cycles; the collector would walk over all of them again and again
        collecting = gc.isenabled()
        gc.disable()
        try:
            rows = scanner.dataset.corpus.rows(chunk)
            for batch in _batches(rows, documents, result):
                for rule in scanner.rules:
                    rule.scan(batch)
                documents += len(batch)
        finally:
            if collecting:
                gc.enable()
        problems += [Problem(lines + line, reason) for line, reason in result]
        lines += len(rows)
    return [rule.state for rule in scanner.rules], documents, lines, problems


def _batches(rows: Sequence[Any], position: int, problems: list[Problem]) -> Iterator[Batch]:
    """Group the documents of some rows into batches; invalid rows go to `problems`."""
    for first in range(0, len(rows), _BATCH):
        some = rows[first : first + _BATCH]
        batch = _columns(some, position)
        if batch is None:
            batch = Batch(position)
            for number, row in enumerate(some, start=first + 1):
                document = document_of(row)
                if isinstance(document, Document):
                    batch.append(document, extra(row))
                else:
                    problems.append(Problem(number, document))
        position += len(batch)
        if len(batch):
            yield batch


def _columns(rows: Sequence[Any], position: int) -> Batch | None:
    """Make a batch column by column, which is fast; None if a row is not a plain document."""
    try:
        ids = [row["_id"] for row in rows]
        titles = [row["title"] for row in rows]
        texts = [row["text"] for row in rows]
        metadata = [row.get("metadata") for row in rows]
    except (KeyError, TypeError):
        return None
    if any(set(map(type, column)) != {str} for column in (ids, titles, texts)):
        return None
    # a row of four with metadata holds nothing beside these
    plain = set(map(len, rows)) <= {4} and None not in metadata
    others = [None if plain else extra(row) for row in rows]
    return Batch(position, ids, titles, texts, metadata, others)
