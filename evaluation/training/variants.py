"""The variants of `gen train --compare`: the same steps, batch and seeds on something else.

The same pairs with other negatives:

own       the hard negatives that the pairs bring
mined     as many of the corpus, found for the query as most people find theirs
in-batch  none; the documents of the other pairs of a batch, which the other variants have too

Or other pairs: those of training files, as kw, sm or kw+sm.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from retgen.data import open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.training.config import TrainConfig, without_hard_negatives
from retgen.evaluation.training.pairs import Pairs, read_pairs, training_files
from retgen.evaluation.training.teachers import Teacher, taught
from retgen.messages import did_you_mean
from retgen.progress import Progress, usable_cores
from retgen.search.embedders.options import Options
from retgen.search.mining import mine
from retgen.streams import Stream
from retgen.tokenizer import tokens
from retgen.validators.similar import THRESHOLD
from retgen.work import Local

NEGATIVES = {
    "own": "the pairs' own negatives",
    "mined": "mined negatives",
    "in-batch": "in-batch negatives only",
}
BEFORE = "before"
AFTER = "after"  # the only variant, where nothing is compared
IDF = "idf"  # of static embeddings: token vectors weighted, nothing trained
BM25 = "bm25"  # the reference beside them
_LABELS = {BEFORE: "untrained", IDF: "idf alone", AFTER: "trained", BM25: "BM25"}
_COUNT = 4  # mined negatives a pair, where there are none of its own to count
_DEPTH = 50
_SPARE = 2  # times as many are mined as are wanted where a teacher leaves some out


class VariantPlan(NamedTuple):
    """What a variant trains on, how, and in words: "trained with" them."""

    pairs: Pairs
    config: TrainConfig
    words: str


class PairSource(NamedTuple):
    """Where pairs are read: see `read_pairs`."""

    path: Path
    split: str | None = None
    limit: int | None = None
    data: Sequence[str] = ()


def fused(name: str) -> str:
    """A model fused with BM25, as `gen eval` names it."""
    return f"minmax:{BM25}+{name}"


def label(name: str) -> str:
    """What a system is called in tables."""
    part = name.removeprefix(fused(""))
    return _LABELS.get(name, name) if part == name else f"BM25 + {label(part)}"


def noun(name: str) -> str:
    """What a variant and those beside it differ in."""
    return "negatives" if name in NEGATIVES else "pairs"


def check_variants(names: Sequence[str], source: PairSource) -> None:
    """Raise `UsageError` for an unknown variant, one named twice, variants of both kinds."""
    kinds = {noun(name) for name in names}
    if kinds <= {"negatives"}:
        parts: list[list[str]] = [[name] for name in names]
    else:
        files = [file.stem for file in training_files(open_dataset(source.path))]
        known = [*NEGATIVES, *files]
        parts = [[part.strip() for part in name.split("+")] for name in names]
        for name in (part for of in parts for part in of):
            if name not in known:
                raise UsageError(
                    f"--compare: there is no {name!r}{did_you_mean(name, known) or '.'} Possible: "
                    f"{', '.join(NEGATIVES)}; or training files, joined by + where a variant takes "
                    f"several: {', '.join(files) or f'{source.path} has none'}"
                )
        if taken := {BEFORE, IDF, AFTER, BM25} & set(names):
            raise UsageError(
                f"--compare {min(taken)}: scores go by the names of the variants, and this one "
                "stands for another model there. Rename the training file"
            )
        if any(part in NEGATIVES for of in parts for part in of):
            raise UsageError(
                f"--compare {','.join(names)}: kinds of negatives ({', '.join(NEGATIVES)}) and "
                "training files are compared one at a time, so that variants differ in one thing"
            )
        if source.split is not None or source.data:
            option = "--data" if source.data else "--split"
            raise UsageError(
                f"--compare {','.join(names)}: names the training files of each variant, so "
                f"{option} has no place beside it"
            )
    for place, of in enumerate(parts):
        if any(set(of) == set(other) for other in parts[:place]) or len(set(of)) < len(of):
            raise UsageError(f"--compare: {names[place]} is named twice")


def plans(
    names: Sequence[str],
    source: PairSource,
    config: TrainConfig,
    by: str,
    options: Options,
    progress: Progress,
    teacher: Teacher | None = None,
) -> dict[str, VariantPlan]:
    """What each variant trains on, of none "after". Raises `UsageError` where that is nothing."""
    if any(noun(name) == "pairs" for name in names):
        of_pairs = _of_pairs(names, source, config)
        return {name: _taught(plan, teacher) for name, plan in of_pairs.items()}
    pairs = read_pairs(*source)
    if not names:
        return {AFTER: _taught(VariantPlan(pairs, config, "training pairs"), teacher)}
    own = pairs.negatives_used(config.hard_negatives)
    if "own" in names and not own:
        message = pairs.negatives_in_words(config.hard_negatives)
        raise UsageError(f"--compare own: there is nothing to compare with: {message}")
    result = {}
    for name in names:
        words = NEGATIVES[name]
        if name == "own":
            result[name] = _taught(VariantPlan(pairs, config, words), teacher)
        elif name == "in-batch":
            result[name] = VariantPlan(pairs, without_hard_negatives(config), words)
        else:
            count = own or _COUNT
            changed = config.model_copy(update={"hard_negatives": count})
            mined = count * (1 if config.false_negatives == "keep" else _SPARE)
            of = with_mined_negatives(pairs, source.path, mined, by, options, progress)
            result[name] = _taught(VariantPlan(of, changed, words), teacher)
    return result


def _taught(plan: VariantPlan, teacher: Teacher | None) -> VariantPlan:
    """As many negatives a pair as without a teacher."""
    if teacher is None:
        return plan
    count = plan.pairs.negatives_used(plan.config.hard_negatives)
    pairs = taught(plan.pairs, plan.config, teacher, count)
    return plan._replace(
        pairs=pairs, config=plan.config.model_copy(update={"hard_negatives": count})
    )


def _of_pairs(
    names: Sequence[str], source: PairSource, config: TrainConfig
) -> dict[str, VariantPlan]:
    """As many negatives a pair in every variant as the variant has that has the fewest."""
    pairs = {name: read_pairs(*source._replace(data=name.split("+"))) for name in names}
    counts = {of.negatives_used(config.hard_negatives) for of in pairs.values()}
    if len(counts) > 1:
        config = config.model_copy(update={"hard_negatives": min(counts)})
    return {name: VariantPlan(of, config, f"{name} pairs") for name, of in pairs.items()}


def with_mined_negatives(
    pairs: Pairs, path: Path, count: int, by: str, options: Options, progress: Progress
) -> Pairs:
    """The pairs with `count` negatives each, mined from the corpus of `path` for their queries.

    What is known to be relevant to a query is left out, and its near-duplicates (Jaccard similarity
    of the words at least 0.8): by the qrels of all splits, by the document of the pair, by its
    text. There is no other guard, as where people mine without judging. Where too few documents are
    ranked, others of the corpus fill up. Raises `DatasetError` where there are none.
    """
    dataset = open_dataset(path)
    ids, texts = [], []
    for document in dataset.documents(strict=path):
        ids.append(document.doc_id)
        texts.append(f"{document.title} {document.text}".strip())
    by_id = {doc_id: i for i, doc_id in enumerate(ids)}
    by_text: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        by_text.setdefault(text, []).append(i)
    judged: dict[str, set[str]] = {}
    for split in dataset.qrels:
        for qrel in dataset.qrels[split].read()[0]:
            if qrel.relevance > 0:
                judged.setdefault(qrel.query_id, set()).add(qrel.doc_id)
    queries = {anchor: i for i, anchor in enumerate(dict.fromkeys(pairs.anchors))}
    relevant: list[set[int]] = [set() for _ in queries]
    wordings: list[set[str]] = [set() for _ in queries]  # of the positives in the pairs
    named = pairs.positive_ids or [""] * len(pairs)
    for anchor, positive, query_id, doc_id in zip(
        pairs.anchors, pairs.positives, pairs.query_ids, named, strict=True
    ):
        known = {doc_id, *judged.get(query_id, ())}
        row = relevant[queries[anchor]]
        row.update(by_id[one] for one in known if one in by_id)
        row.update(by_text.get(positive, ()))
        wordings[queries[anchor]].add(positive)
    near = _Near(texts, relevant, wordings)
    result = mine(
        texts,
        list(queries),
        relevant,
        by=by,
        count=count,
        depth=max(_DEPTH, 10 * count),
        margin=None,
        excluded=near,
        options=options,
        engine=Local(usable_cores()),
        progress=progress,
    )
    filled = sum(
        _fill(row, i, len(texts), relevant[i], near, count) for i, row in enumerate(result)
    )
    if lacking := [q for q, row in zip(queries, result, strict=True) if not row]:
        raise DatasetError(
            f"{path}: all documents of the corpus are relevant to {len(lacking):,} of the queries, "
            f"such as {lacking[0]!r}, so no negative can be mined for them"
        )
    noun = "negative" if count == 1 else "negatives"
    origin = f"{pairs.origin}, with {count:,} {noun} a query mined by {by}"
    if filled:
        total = count * len(queries)
        origin += f" ({filled:,} of {total:,} taken at random, where {by} ranks too few)"
    negatives = [[texts[i] for i in result[queries[anchor]]] for anchor in pairs.anchors]
    return replace(pairs, negatives=negatives, origin=origin)


class _Near:
    """Whether a document is a near-duplicate of what is relevant to a query."""

    def __init__(
        self, texts: list[str], relevant: Sequence[Collection[int]], wordings: list[set[str]]
    ) -> None:
        self._texts, self._relevant, self._wordings = texts, relevant, wordings
        self._words: dict[str, frozenset[str]] = {}

    def __call__(self, query: int, document: int) -> bool:
        words = self._of(self._texts[document])
        known = {self._texts[i] for i in self._relevant[query]} | self._wordings[query]
        return any(_similar(words, self._of(text)) for text in known)

    def _of(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(tokens(text))
        return self._words[text]


def _similar(a: frozenset[str], b: frozenset[str]) -> bool:
    shared = len(a & b)
    return shared > 0 and shared >= THRESHOLD * (len(a) + len(b) - shared)


def _fill(
    row: list[int], query: int, documents: int, relevant: Collection[int], near: _Near, count: int
) -> int:
    """Add documents from a random place of the corpus on, until there are `count`; how many."""
    if (missing := count - len(row)) <= 0:
        return 0
    start = int(Stream(query, "training/mined").integers(documents, 1)[0])
    for step in range(documents):
        i = (start + step) % documents
        if i not in relevant and i not in row and not near(query, i):
            row.append(i)
        if len(row) == count:
            break
    return missing - (count - len(row))
