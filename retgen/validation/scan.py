"""The corpus read once, in parts, by several processes where it is large, past all rules."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import (
    CHUNK_BYTES,
    Chunk,
    Dataset,
    Document,
    TableFiles,
    document_of,
    open_dataset,
)
from retgen.dataset_files import missing_table_hint
from retgen.errors import DatasetError
from retgen.processes import keep_freed_memory, process_pool
from retgen.progress import Progress
from retgen.recipe import Recipe
from retgen.recipe_file import RuleSettings
from retgen.rows import Problem
from retgen.validation.states import States
from retgen.validators.baselines import WordTerms
from retgen.validators.notes import extra, texts_by_column
from retgen.validators.rule import Batch, CorpusRule, Judgements, RuleContext, RuleState
from retgen.validators.rules import corpus_rules
from retgen.validators.validation import Samples

_BATCH = 4096  # documents
_AT_MOST = 2000  # queries that rules see where one of them reads all itself
_EACH = 100  # qrels of each, at most
PARALLEL_FROM = 100 << 20  # bytes of corpus; below, a second process costs more than it saves
PART = (
    64 << 20
)  # bytes of corpus that a process scans at a time, and a killed run keeps the proof of


def which_split(dataset: Dataset, split: str | None) -> str:
    """The split whose qrels are checked: test, else the first. Raises `DatasetError`."""
    if not dataset.qrels:
        raise DatasetError(
            f"{dataset.root} holds no qrels. Looked for qrels.jsonl, qrels.tsv, qrels/*.tsv, "
            "and Parquet or JSON Lines under qrels/ or data/."
            f"{missing_table_hint(dataset.root, 'qrels')}"
        )
    if split is None:
        split = "test" if "test" in dataset.qrels else next(iter(dataset.qrels))
    if split not in dataset.qrels:
        raise DatasetError(
            f"{dataset.root} has no split {split!r}; it has {', '.join(dataset.qrels)}"
        )
    return split


def load_judgements(dataset: Dataset, split: str | None, recipe: Recipe | None) -> Judgements:
    """Queries and qrels; where the family's proof reads them itself, the first queries only."""
    split = which_split(dataset, split)
    at_most = _AT_MOST if recipe is not None and recipe.family.candidate_sets else None
    queries, query_problems = dataset.read_queries(at_most)
    if at_most is None:
        qrels, qrel_problems = dataset.read_qrels(split)
    else:
        asked = {query.query_id for query in queries}
        some, qrel_problems = dataset.read_qrels(split, at_most * _EACH)
        qrels = [qrel for qrel in some if qrel.query_id in asked]
    others = {name: dataset.read_qrels(name) for name in dataset.qrels if name != split}
    return Judgements(
        queries,
        qrels,
        query_problems,
        qrel_problems,
        split,
        recipe is None,
        {name: result for name, (result, _) in others.items()},
        {name: problems for name, (_, problems) in others.items()},
        texts_by_column(dataset.queries, tables={table.files for table in dataset.qrels.values()}),
    )


def context_of(
    recipe: Recipe | None,
    judgements: Judgements,
    settings: RuleSettings,
    scratch: str | None = None,
) -> RuleContext:
    """What the rules over this data set are made from."""
    return RuleContext(
        judgements,
        # what retgen wrote itself has no excuse for an order
        "error" if recipe and recipe.family.from_user(recipe.job) != "queries" else "warning",
        settings.order_leak_p,
        recipe.family.covers if recipe else frozenset(),
        scratch,
    )


def build_rules(
    recipe: Recipe | None,
    judgements: Judgements,
    settings: RuleSettings,
    scratch: str,
) -> list[CorpusRule]:
    """Rules over documents, less those that the family's own proof covers, then the proof."""
    context = context_of(recipe, judgements, settings, scratch)
    rules = corpus_rules(context)
    # no rules: what else is learned from the documents while they are read
    if WordTerms.name not in context.covered:
        rules.append(WordTerms(judgements))
    rules.append(Samples(judgements))
    if recipe is not None:
        rules += recipe.family.checks(recipe.job, judgements)
    for rule in rules:
        rule.scratch = scratch
    return rules


def scan(
    dataset: Dataset,
    rules: Sequence[CorpusRule],
    workers: int,
    split: str | None,
    progress: Progress,
    scratch: str,
    recipe: Recipe | None,
    settings: RuleSettings,
    states: States | None = None,
) -> tuple[int, list[Problem]]:
    """Show every document to every rule. Returns (documents, rows that are none).

    `recipe`, `settings`: what other processes build the same rules from. `states`: where the
    results of parts are kept, and taken from.
    """
    for rule in rules:
        rule.about(dataset)
    parts = _parts(dataset.corpus)
    if len(parts) == 1:
        states = None  # nothing is finished before everything is
    kept = states.begin(parts, split, recipe is not None) if states is not None else {}
    waiting = {number: _Result(*result) for number, result in kept.items()}
    missing = [number for number in range(len(parts)) if number not in waiting]
    done, total = sum(len(parts[number]) for number in waiting), sum(map(len, parts))
    if workers > 1 and dataset.corpus.size() >= PARALLEL_FROM and len(missing) > 1:
        asked = dataset.run or dataset.root, split, scratch, recipe, settings
        scanned = _in_processes(parts, missing, workers, asked)
    else:
        scanned = _one_by_one(
            dataset, rules, parts, missing, lambda more: progress("proof", done + more, total)
        )
    whole = _Whole()
    with contextlib.closing(scanned):
        for number, result in scanned:
            if states is not None:
                files = [file for state in result.states for file in state.files()]
                states.keep(number, tuple(result), files)
            waiting[number] = result
            done += len(parts[number])
            progress("proof", done, total)
            whole.take(waiting)
    whole.take(waiting)
    for rule, state in zip(rules, whole.states, strict=True):
        rule.state = state
    again = [rule for rule in rules if rule.suspicious()]
    if again:
        position = 0
        for part in parts:
            for chunk in part:
                for batch in _batches(dataset.corpus.rows(chunk), position, []):
                    for rule in again:
                        rule.confirm(batch)
                    position += len(batch)
    return whole.documents, whole.problems


def _parts(corpus: TableFiles) -> list[list[Chunk]]:
    """The corpus cut into parts, whatever the number of processes; one part at least."""
    parts: list[list[Chunk]] = [[]]
    filled = 0
    for chunk in corpus.chunks(min(PART, CHUNK_BYTES)):
        if filled >= PART:
            parts.append([])
            filled = 0
        parts[-1].append(chunk)
        filled += PART if corpus.format == "parquet" else chunk.stop - chunk.start
    return parts


class _Result(NamedTuple):
    """What a part was found to be: the states of all rules, and the rows that are no documents."""

    states: list[RuleState]
    documents: int
    lines: int
    problems: list[Problem]


class _Whole:
    """The parts so far as one."""

    def __init__(self) -> None:
        self.states: list[RuleState] = []
        self.problems: list[Problem] = []
        self.documents = self._lines = self._parts = 0

    def take(self, waiting: dict[int, _Result]) -> None:
        """Add the parts that follow, and take them away from those that wait."""
        while (part := waiting.pop(self._parts, None)) is not None:
            if not self.states:
                self.states = part.states
            else:
                for state, later in zip(self.states, part.states, strict=True):
                    state.merge(later, self.documents)
            self.problems += [Problem(self._lines + line, why) for line, why in part.problems]
            self.documents += part.documents
            self._lines += part.lines
            self._parts += 1


def _one_by_one(
    dataset: Dataset,
    rules: Sequence[CorpusRule],
    parts: Sequence[Sequence[Chunk]],
    missing: Sequence[int],
    shown: Callable[[int], None],
) -> Generator[tuple[int, _Result], None, None]:
    """Part after part in this process; `shown`: how many chunks of one are done."""
    for number in missing:
        yield number, _scan_part(dataset, rules, parts[number], shown)


def _scan_part(
    dataset: Dataset,
    rules: Sequence[CorpusRule],
    chunks: Sequence[Chunk],
    shown: Callable[[int], None] = lambda done: None,
) -> _Result:
    """A scan of consecutive chunks."""
    keep_freed_memory()
    for rule in rules:
        rule.start()
    documents, lines = 0, 0
    problems: list[Problem] = []
    for number, chunk in enumerate(chunks, start=1):
        result: list[Problem] = []
        # rows hold no cycles; the collector would walk over all of them again and again
        collecting = gc.isenabled()
        gc.disable()
        try:
            rows = dataset.corpus.rows(chunk)
            for batch in _batches(rows, documents, result):
                for rule in rules:
                    rule.scan(batch)
                documents += len(batch)
        finally:
            if collecting:
                gc.enable()
        problems += [Problem(lines + line, reason) for line, reason in result]
        lines += len(rows)
        if number < len(chunks):
            shown(number)  # of the last one it is said when all is kept
    return _Result([rule.state for rule in rules], documents, lines, problems)


def _batches(rows: Sequence[Any], position: int, problems: list[Problem]) -> Iterator[Batch]:
    """The documents of some rows in batches; rows that are none go to `problems`."""
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
    """A batch without looking at row after row; None if any of them is not a plain document."""
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


def _in_processes(
    parts: Sequence[Sequence[Chunk]],
    missing: Sequence[int],
    workers: int,
    given: tuple[Path, str | None, str, Recipe | None, RuleSettings],
) -> Generator[tuple[int, _Result], None, None]:
    """The same in processes, which build the rules from the files; parts come as they end."""
    with process_pool(min(workers, len(missing)), _start_worker, given) as pool:
        futures = {pool.submit(_scan_apart, parts[number]): number for number in missing}
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()


_worker: dict[str, Any] = {}


def _start_worker(
    path: Path, split: str | None, scratch: str, recipe: Recipe | None, settings: RuleSettings
) -> None:
    dataset = open_dataset(path)
    _worker["dataset"] = dataset
    judgements = load_judgements(dataset, split, recipe)
    _worker["rules"] = build_rules(recipe, judgements, settings, scratch)


def _scan_apart(chunks: Sequence[Chunk]) -> _Result:
    return _scan_part(_worker["dataset"], _worker["rules"], chunks)
