"""The arms of `gen train --compare`: the same pairs, steps and seeds with other negatives.

own       the hard negatives that the pairs bring
mined     as many of the corpus, found for the query as most people find theirs
in-batch  none; the documents of the other pairs of a batch, which the other arms have too
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from retgen.data import open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.mining import mine
from retgen.evaluation.training.config import TrainConfig, without_hard_negatives
from retgen.evaluation.training.pairs import Pairs
from retgen.messages import did_you_mean
from retgen.progress import Progress
from retgen.streams import Stream
from retgen.tokenizer import tokens
from retgen.validators.similar import THRESHOLD

ARMS = {
    "own": "the pairs' own negatives",
    "mined": "mined negatives",
    "in-batch": "in-batch negatives only",
}
_COUNT = 4  # mined negatives a pair, where there are none of its own to count
_DEPTH = 50


class Plan(NamedTuple):
    """What an arm trains on, and how."""

    pairs: Pairs
    config: TrainConfig


def check_arms(names: Sequence[str]) -> None:
    """Raise `UsageError` for an arm that there is not, or one that is named twice."""
    for place, name in enumerate(names):
        if name not in ARMS:
            raise UsageError(
                f"--compare: there is no {name!r}{did_you_mean(name, ARMS) or '.'} "
                f"Possible: {', '.join(ARMS)}"
            )
        if name in names[:place]:
            raise UsageError(f"--compare: {name} is named twice")


def plans(
    names: Sequence[str],
    pairs: Pairs,
    config: TrainConfig,
    path: Path,
    by: str,
    options: Options,
    progress: Progress,
) -> dict[str, Plan]:
    """What each arm trains on. Raises `UsageError` where an arm has nothing to train with."""
    own = pairs.negatives_used(config.hard_negatives)
    if "own" in names and not own:
        message = pairs.negatives_in_words(config.hard_negatives)
        raise UsageError(f"--compare own: there is nothing to compare with: {message}")
    result = {}
    for name in names:
        if name == "own":
            result[name] = Plan(pairs, config)
        elif name == "in-batch":
            result[name] = Plan(pairs, without_hard_negatives(config))
        else:
            count = own or _COUNT
            changed = config.model_copy(update={"hard_negatives": count})
            result[name] = Plan(mined(pairs, path, count, by, options, progress), changed)
    return result


def mined(
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
        for qrel in dataset.read_qrels(split)[0]:
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
        texts, list(queries), relevant, by=by, count=count, depth=max(_DEPTH, 10 * count),
        margin=None, excluded=near, options=options, progress=progress,
    )  # fmt: skip
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
