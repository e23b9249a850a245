"""Which means without a key bring words that are not in the text? Static embeddings, four corpora.

Every row trains static:minilm from idf, 100 steps of 128 pairs, learning rate 0.008, and is scored
on people's queries over other documents: nDCG@10, the difference to the run's own pairs with its
95% interval over queries, the share of what people's pairs add to idf. Corpora are those of
`worth_corpora.py`, with the run in made/ that `worth.py` leaves there.

    .venv/bin/python benchmarks/words_not_in_text.py FOLDER [--corpus debian]

soft labels    cross-entropy with half the pair's own document, half a teacher's distribution over
               the batch and 4 documents a query from among its best 30. The teacher is BM25 and
               minilm, each scaled to 0..1 for the query, one half each; temperature 0.1
+ asked        beside each batch as many unlabelled queries, the teacher's labels alone. One half of
               the test queries is asked and the other scored, and the other way round
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from retgen.data import open_dataset
from retgen.evaluation.embedders.loading import load_model
from retgen.evaluation.search.lexical import BM25Index
from retgen.evaluation.training import Pairs, TrainConfig, read_pairs
from retgen.evaluation.training.batches import BagMeans, KnownTexts, prepare, schedule
from retgen.evaluation.training.idf import weight_by_idf

STEPS, RATE, TEMPERATURE = 100, 0.008, 0.05
SOFT, CANDIDATES, DEPTH = 0.1, 4, 30  # of the teacher
Array = NDArray[np.float32]
Draw = np.random.Generator
Part = tuple[list[str], list[str], Tensor]  # queries, documents, target (queries, documents)


class Static:
    """static:minilm from idf of some pairs: its loss, its steps, its scores."""

    def __init__(self, pairs: Pairs) -> None:
        model = load_model("static:minilm", "cpu")
        weight_by_idf(model, pairs)
        self.weight = model[0].embedding.weight
        self.texts = KnownTexts(model[0])
        self.adam = torch.optim.SparseAdam([self.weight], lr=RATE)
        rise, fall = (lambda i: 10 * i / STEPS), (lambda i: (STEPS - i) / (0.9 * STEPS))
        self.rate = LambdaLR(self.adam, lambda step: min(rise(step), fall(step)))

    def vectors(self, texts: list[str]) -> Tensor:
        tokens = self.texts(texts)
        means = BagMeans.apply(self.weight, tokens["input_ids"], tokens["offsets"])
        return torch.nn.functional.normalize(means)

    def step(self, parts: list[Part]) -> None:
        self.adam.zero_grad()
        losses = []
        for queries, documents, target in parts:
            cosines = self.vectors(queries) @ self.vectors(documents).T
            losses.append(-(target * (cosines / TEMPERATURE).log_softmax(1)).sum(1).mean())
        torch.stack(losses).sum().backward()
        self.weight.grad = self.weight.grad.coalesce()
        values = self.weight.grad.values()
        values.mul_(torch.clamp(1 / (torch.linalg.vector_norm(values) + 1e-6), max=1.0))
        self.adam.step()
        self.rate.step()


class Corpus:
    """A run, people's pairs, the test set, and the teacher's scores over the source's passages."""

    def __init__(self, folder: Path) -> None:
        self.pairs = read_pairs(folder / "made")
        self.people = read_pairs(folder / "human")
        made, test = open_dataset(folder / "made"), open_dataset(folder / "test")
        source = {d.doc_id: f"{d.title} {d.text}".strip() for d in made.documents()}
        given = {d.doc_id: f"{d.title} {d.text}".strip() for d in test.documents()}
        self.passages, self.documents = list(source.values()), list(given.values())
        self.place, at = ({name: i for i, name in enumerate(one)} for one in (source, given))
        queries, qrels = test.queries_and_qrels(folder / "test", "test")
        relevant: dict[str, set[int]] = {}
        for one in qrels:
            if one.relevance > 0:
                relevant.setdefault(one.query_id, set()).add(at[one.doc_id])
        self.queries = [one.text for one in queries if one.query_id in relevant]
        self.relevant = [relevant[one.query_id] for one in queries if one.query_id in relevant]
        self._bm25 = BM25Index([self.passages])
        self._minilm = load_model("minilm", "cpu")
        self._vectors = self._encoded(self.passages)
        every = list(dict.fromkeys([*self.pairs.anchors, *self.queries]))
        self._asked = dict(zip(every, self._encoded(every), strict=True))

    def _encoded(self, texts: list[str]) -> Array:
        return np.asarray(self._minilm.encode(texts, normalize_embeddings=True), np.float32)

    def teacher(self, queries: list[str]) -> Array:
        """Scores of the passages, (queries, passages), 0 to 1."""
        words = np.zeros((len(queries), len(self.passages)), np.float32)
        for row, terms in zip(words, self._bm25.terms(queries), strict=True):
            row[:] = self._bm25.scores(terms) if len(terms) else 0
        cosines = np.stack([self._asked[one] for one in queries]) @ self._vectors.T
        cosines -= cosines.min(1, keepdims=True)
        scaled = (one / np.maximum(one.max(1, keepdims=True), 1e-9) for one in (words, cosines))
        return np.mean(list(scaled), 0).astype(np.float32)

    def part(self, queries: list[str], rows: list[int], own: float, draw: Draw) -> Part:
        """Soft labels; `rows`: of pairs, whose document has `own` of the target beside them."""
        scores = self.teacher(queries)
        best = np.argsort(-scores, 1, kind="stable")[:, :DEPTH]
        more = np.unique([draw.choice(row, CANDIDATES, False) for row in best])
        first = np.array([self.place[self.pairs.positive_ids[i]] for i in rows], np.int64)
        more = np.setdiff1d(more, first)
        target = torch.from_numpy(scores[:, [*first, *more]] / SOFT).softmax(1)
        if own:
            target = (1 - own) * target + own * torch.eye(*target.shape)
        texts = [self.pairs.positives[i] for i in rows] + [self.passages[i] for i in more]
        return queries, texts, target

    def ndcg(self, model: Static) -> Array:
        """Of each query at 10."""
        with torch.no_grad():
            scores = (model.vectors(self.queries) @ model.vectors(self.documents).T).numpy()
        gains = 1 / np.log2(np.arange(10) + 2)
        top = np.argsort(-scores, 1, kind="stable")[:, :10]
        found = [np.isin(row, list(of)) @ gains / gains[: len(of)].sum()
                 for row, of in zip(top, self.relevant, strict=True)]  # fmt: skip
        return np.array(found, np.float32)


def trained(pairs: Pairs, parts: Callable[[list[int]], list[Part]], seed: int) -> Static:
    """A model after all steps; `parts` makes the losses of a batch of pairs."""
    config = TrainConfig(batch_size=128, max_steps=STEPS, hard_negatives=0, seed=seed)
    model = Static(pairs)
    for batch in schedule(prepare(pairs, config).train, config)[0]:
        model.step(parts(batch))
    return model


def hard(pairs: Pairs, batch: list[int]) -> list[Part]:
    queries, documents = ([texts[i] for i in batch] for texts in (pairs.anchors, pairs.positives))
    return [(queries, documents, torch.eye(len(batch)))]


def soft(corpus: Corpus, asked: list[str], draw: Draw, batch: list[int]) -> list[Part]:
    result = [corpus.part([corpus.pairs.anchors[i] for i in batch], batch, 0.5, draw)]
    if asked:
        some = draw.choice(asked, min(len(batch), len(asked)), False).tolist()
        result.append(corpus.part(some, [], 0, draw))
    return result


def study(folder: Path, seeds: int) -> None:
    corpus = Corpus(folder)
    half = np.random.default_rng(7).permutation(len(corpus.queries)) < len(corpus.queries) // 2

    def softly(asked: list[str], seed: int) -> Static:
        parts = partial(soft, corpus, asked, np.random.default_rng(seed))
        return trained(corpus.pairs, parts, seed)

    def crossed(seed: int) -> Array:
        result = np.zeros(len(half), np.float32)
        for asked in (half, ~half):
            model = softly([corpus.queries[i] for i in np.flatnonzero(asked)], seed)
            result[~asked] = corpus.ndcg(model)[~asked]
        return result

    rows: dict[str, Callable[[int], Static]] = {
        "own pairs": lambda seed: trained(corpus.pairs, partial(hard, corpus.pairs), seed),
        "idf alone": lambda _: Static(corpus.pairs),
        "people's pairs": lambda seed: trained(corpus.people, partial(hard, corpus.people), seed),
        "soft labels": lambda seed: softly([], seed),
    }
    every = range(42, 42 + seeds)
    values = {name: np.mean([corpus.ndcg(row(s)) for s in every], 0) for name, row in rows.items()}
    values["soft labels + asked"] = np.mean([crossed(s) for s in every], 0)
    own, start, people = (values[name] for name in ("own pairs", "idf alone", "people's pairs"))
    draws = np.random.default_rng(0).integers(0, len(own), (4000, len(own)))
    for name, of in values.items():
        low, high = 100 * np.percentile((of - own)[draws].mean(1), [2.5, 97.5])
        share = (of.mean() - start.mean()) / (people.mean() - start.mean())
        print(f"| {folder.name} | {name} | {of.mean():.3f} | {100 * (of - own).mean():+.1f} "
              f"[{low:+.1f}, {high:+.1f}] | {share:.0%} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", action="append", help="default: every folder of FOLDER")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    names = args.corpus or sorted(one.parent.name for one in args.folder.glob("*/made"))
    print("| corpus | trained on | nDCG@10 | to own pairs | share |\n|---|---|---:|---:|---:|")
    for one in names:
        study(args.folder / one, args.seeds)
