"""The corpus read once, in parts, by several processes where it is large, past all rules."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from retgen.data import Chunk, Dataset, Document, Problem, document_of, open_dataset
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.recipe import Recipe, RuleSettings, load_recipe
from retgen.validators.corpus import DanglingDocuments, EmptyText, Encoding, duplicate_rules
from retgen.validators.floors import Terms, WordTerms
from retgen.validators.judgements import RULES as JUDGEMENT_RULES
from retgen.validators.lexical import LexicalAmbiguity
from retgen.validators.order import OrderLeak
from retgen.validators.rule import Batch, CorpusRule, Judgements, Severity
from retgen.validators.samples import Samples
from retgen.workers import process_pool

__all__ = ["build_rules", "load_judgements", "rule_names", "scan", "which_split"]

_BATCH = 4096  # documents
_FEW, _EACH = 2000, 100  # queries that rules see where one reads all itself; qrels of each, at most
_PARALLEL_FROM = 100 << 20  # bytes of corpus; below, a second process costs more than it saves
_PART = 64 << 20  # bytes of corpus that a process scans at a time


def which_split(dataset: Dataset, split: str | None) -> str:
    """The split whose qrels are checked: test, else the first. Raises `DatasetError`."""
    if not dataset.qrels:
        raise DatasetError(
            f"{dataset.root} holds no qrels. Looked for qrels.jsonl, qrels.tsv, qrels/*.tsv, "
            "and Parquet or JSON Lines under qrels/ or data/."
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
    few = _FEW if recipe is not None and recipe.the_family().tests else None
    queries, query_problems = dataset.read_queries(few)
    if few is None:
        qrels, qrel_problems = dataset.read_qrels(split)
    else:
        asked = {query.query_id for query in queries}
        some, qrel_problems = dataset.read_qrels(split, few * _EACH)
        qrels = [qrel for qrel in some if qrel.query_id in asked]
    return Judgements(queries, qrels, query_problems, qrel_problems)


def build_rules(
    recipe: Recipe | None,
    judgements: Judgements,
    settings: RuleSettings,
    scratch: str,
    run: Path | None = None,
) -> list[CorpusRule]:
    """The generic rules, less those that the family's own proof covers, then the proof."""
    # what retgen wrote itself has no excuse for an order
    severity: Severity = "error" if recipe else "warning"
    rules = _generic_rules(judgements, settings, severity)
    if recipe is not None:
        family = recipe.the_family()
        rules = [rule for rule in rules if rule.name not in family.covers]
        rules += family.checks(recipe.job(run), judgements)
    for rule in rules:
        if isinstance(rule, Terms):
            rule.scratch = scratch
    return rules


def _generic_rules(
    judgements: Judgements, settings: RuleSettings, severity: Severity
) -> list[CorpusRule]:
    return [
        *duplicate_rules(),
        EmptyText(),
        Encoding(),
        DanglingDocuments(judgements),
        OrderLeak(judgements, severity, settings.order_leak_p),
        LexicalAmbiguity(judgements),
        WordTerms(judgements),
        Samples(judgements),
    ]


# beside the rules of the family's proof: what a run's labels and files rest on
_VOUCH = frozenset({"manifest", "word-lists", "sources"})


def rule_names(recipe: Recipe | None) -> tuple[frozenset[str], frozenset[str]]:
    """(all rules by name, those of them that vouch for a run)."""
    nothing = Judgements([], [])
    settings = recipe.rules if recipe else RuleSettings()
    generic = {rule.name for rule in _generic_rules(nothing, settings, "error")}
    generic |= {"schema", "byte-order-mark", *JUDGEMENT_RULES}
    generic -= {"terms", "samples"}
    if recipe is None:
        return frozenset(generic), frozenset()
    vouch = _VOUCH | recipe.the_family().proofs
    return frozenset(generic | vouch), vouch


def scan(
    dataset: Dataset,
    rules: Sequence[CorpusRule],
    workers: int,
    split: str | None,
    progress: Progress,
    scratch: str,
    proof: bool = True,
) -> tuple[int, list[Problem]]:
    """Show every document to every rule. Returns (documents, rows that are none)."""
    chunks = dataset.corpus.chunks()
    size = dataset.corpus.size()
    if workers > 1 and size >= _PARALLEL_FROM and len(chunks) > 1:
        count, problems = _scan_parallel(
            dataset, rules, chunks, workers, split, progress, scratch, proof
        )
    else:
        part = _Part(dataset, rules)
        for number, chunk in enumerate(chunks, start=1):
            part.scan(chunk)
            progress("proof", number, len(chunks))
        count, problems = part.documents, part.problems
    again = [rule for rule in rules if rule.suspicious()]
    if again:
        position = 0
        for chunk in chunks:
            for batch in _batches(dataset.corpus.rows(chunk), position, []):
                for rule in again:
                    rule.confirm(batch)
                position += len(batch)
    return count, problems


class _Part:
    """A scan of consecutive chunks."""

    def __init__(self, dataset: Dataset, rules: Sequence[CorpusRule]) -> None:
        self.dataset = dataset
        self.rules = rules
        self.documents = 0
        self.lines = 0
        self.problems: list[Problem] = []

    def scan(self, chunk: Chunk) -> None:
        found: list[Problem] = []
        # rows hold no cycles; the collector would walk over all of them again and again
        collecting = gc.isenabled()
        gc.disable()
        try:
            rows = self.dataset.corpus.rows(chunk)
            for batch in _batches(rows, self.documents, found):
                for rule in self.rules:
                    rule.scan(batch)
                self.documents += len(batch)
        finally:
            if collecting:
                gc.enable()
        self.problems += [Problem(self.lines + line, reason) for line, reason in found]
        self.lines += len(rows)


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
                    batch.append(document)
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
    return Batch(position, ids, titles, texts, metadata)


def _scan_parallel(
    dataset: Dataset,
    rules: Sequence[CorpusRule],
    chunks: Sequence[Chunk],
    workers: int,
    split: str | None,
    progress: Progress,
    scratch: str,
    proof: bool,
) -> tuple[int, list[Problem]]:
    """The same in processes, which rebuild the rules from the files; states merge in order."""
    parts: list[list[Chunk]] = [[]]
    filled = 0
    for chunk in chunks:
        if filled >= _PART:
            parts.append([])
            filled = 0
        parts[-1].append(chunk)
        filled += max(chunk.stop - chunk.start, 1 if dataset.corpus.format != "parquet" else _PART)
    path = dataset.run or dataset.root
    documents, lines = 0, 0
    problems: list[Problem] = []
    with process_pool(workers, _start_worker, (path, split, scratch, proof)) as pool:
        for number, result in enumerate(pool.map(_scan_part, parts), start=1):
            states, part_documents, part_lines, found = result
            for rule, state in zip(rules, states, strict=True):
                rule.state.merge(state, documents)
            problems += [Problem(lines + line, reason) for line, reason in found]
            documents += part_documents
            lines += part_lines
            progress("proof", number, len(parts))
    return documents, problems


_worker: dict[str, Any] = {}


def _start_worker(path: Path, split: str | None, scratch: str, proof: bool) -> None:
    dataset = open_dataset(path)
    recipe = load_recipe(dataset.run / "recipe.yaml") if dataset.run else None
    settings = recipe.rules if recipe else RuleSettings()
    _worker["dataset"] = dataset
    recipe = recipe if proof else None
    judgements = load_judgements(dataset, split, recipe)
    _worker["rules"] = build_rules(recipe, judgements, settings, scratch, dataset.run)


def _scan_part(chunks: Sequence[Chunk]) -> Any:
    rules = _worker["rules"]
    for rule in rules:
        rule.start()
    part = _Part(_worker["dataset"], rules)
    for chunk in chunks:
        part.scan(chunk)
    return [rule.state for rule in rules], part.documents, part.lines, part.problems
