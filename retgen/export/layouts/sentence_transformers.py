"""sentence-transformers: pairs, triplets and graded pairs as Parquet, ready for its trainer.

    pairs     {"anchor": "Who likes Quokkas?", "positive": "Jon likes Quokkas and Apples."}
    triplets  {"anchor": "...", "positive": "...", "negative": "..."}
    graded    {"sentence1": "...", "sentence2": "...", "score": 0.5}

The order of the columns is what its losses read; no column is anything but a text or the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from retgen.export.layouts import TRAINING, Layout, LayoutCard, Table
from retgen.export.records import ExportJob

Rows = Iterator[Mapping[str, Any]]
# what the losses read of each configuration
_READ = {
    "pairs": "anchor, positive, as MultipleNegativesRankingLoss reads them",
    "triplets": "anchor, positive, negative, as MultipleNegativesRankingLoss reads them",
    "graded": "sentence1, sentence2, score, as CoSENTLoss reads them",
}


def pairs(job: ExportJob, split: str) -> Rows:
    for one in job.examples(split):
        for positive in one.positives:
            yield {"anchor": one.query, "positive": positive.full_text}


def triplets(job: ExportJob, split: str) -> Rows:
    """Every positive and every negative of a query at least once, not each with each: densely
    judged sets have thousands of both.
    """
    for one in job.examples(split):
        positives, negatives = one.positives, one.negatives
        for i in range(max(len(positives), len(negatives)) if negatives else 0):
            yield {
                "anchor": one.query,
                "positive": positives[i % len(positives)].full_text,
                "negative": negatives[i % len(negatives)].full_text,
            }


def graded(job: ExportJob, split: str) -> Rows:
    """Nothing where all scores are alike, which teaches nothing."""
    if split not in job.splits or len({row["score"] for row in _graded(job, split)}) < 2:
        return iter(())
    return _graded(job, split)


def _graded(job: ExportJob, split: str) -> Rows:
    most = max(one.relevance for name in job.splits for one in job.qrels(name))
    for one in job.judged(split):
        documents = [*one.positives, *one.negatives]
        # beside binary qrels, the highest grade of a query is one that is right in full
        full = max(d.score for d in documents) if split in job.dataset.graded else most
        for document in documents:
            yield {
                "sentence1": one.query,
                "sentence2": document.full_text,
                "score": max(0.0, document.score / full),
            }


class SentenceTransformers(Layout):
    about = (
        "pairs/, triplets/ and graded/SPLIT.parquet: anchor, positive, negative; sentence1, "
        "sentence2, score"
    )
    readers = "SentenceTransformerTrainer, load_dataset"
    tags = ("sentence-transformers",)
    tables = (
        Table("pairs/{split}.parquet", pairs, "pairs", of=TRAINING),
        Table("triplets/{split}.parquet", triplets, "triplets", of=TRAINING),
        Table("graded/{split}.parquet", graded, "graded", of=TRAINING),
    )

    def write(self, job: ExportJob) -> LayoutCard:
        card = super().write(job)
        if "triplets" not in card.configs:
            job.note(
                "no document was judged or mined as a negative, so there are no triplets, and none "
                "were made up"
            )
        if "graded" not in card.configs:
            job.note("all qrels have one score, so there are no graded pairs")
        first = "triplets" if "triplets" in card.configs else "pairs"
        split = " ".join(next(iter(card.configs[first])).split())
        listed = "\n".join(f"- {name}: {_READ[name]}" for name in card.configs)
        usage = f"""For sentence-transformers: each configuration is a data set for its trainer.

{listed}

Triplets hold every positive and every negative of a query at least once; the scores of graded \
pairs are 1 for what is relevant in full, 0 for what is not.

```python
from datasets import load_dataset

train = load_dataset("FOLDER", "{first}", split="{split}")
```"""
        return replace(card, usage=usage + card.usage)
