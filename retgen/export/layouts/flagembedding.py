"""FlagEmbedding: its JSON Lines for fine-tuning, and the folder its evaluation reads.

    {"query": "...", "pos": ["..."], "neg": ["...", "..."]}

`pos_scores` and `neg_scores` stand with them where documents have grades: what a model is distilled
from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.export.layouts import TRAINING, Layout, Table
from retgen.export.records import TRAIN, ExportJob, TrainingExample

Rows = Iterator[Mapping[str, Any]]


def examples(job: ExportJob, split: str, given: Iterable[TrainingExample]) -> Rows:
    graded = split in job.dataset.graded or any(
        one.relevance > 1 for name in job.splits for one in job.qrels(name)
    )
    for one in given:
        row: dict[str, Any] = {
            "query": one.query,
            "pos": [text.full_text for text in one.positives],
            "neg": [text.full_text for text in one.negatives],
        }
        if graded and not (split == TRAIN and job.tables):
            row["pos_scores"] = [float(text.score) for text in one.positives]
            row["neg_scores"] = [float(text.score) for text in one.negatives]
        yield row


def with_negatives(job: ExportJob, split: str) -> Rows:
    return examples(job, split, (one for one in job.examples(split) if one.negatives))


def without_negatives(job: ExportJob, split: str) -> Rows:
    return examples(job, split, job.without_negatives(split))


def documents(job: ExportJob) -> Rows:
    return ({"id": one.doc_id, "title": one.title, "text": one.text} for one in job.documents())


def queries(job: ExportJob, split: str) -> Rows:
    return ({"id": one.query_id, "text": one.text} for one in job.queries(split))


def qrels(job: ExportJob, split: str) -> Rows:
    for query_id, doc_id, relevance in job.qrels(split):
        yield {"qid": query_id, "docid": doc_id, "relevance": int(relevance)}


class FlagEmbedding(Layout):
    about = (
        "train/SPLIT.jsonl (query, pos, neg; of graded sets also pos_scores, neg_scores); "
        "evaluation/ with corpus.jsonl, SPLIT_queries.jsonl, SPLIT_qrels.jsonl"
    )
    readers = "FlagEmbedding (finetune, evaluation)"
    whole = "FlagEmbedding's qrels"
    guesses = "FlagEmbedding"
    tables = (
        Table("train/{split}.jsonl", with_negatives, of=TRAINING),
        Table("train/{split}.without_negatives.jsonl", without_negatives, of=TRAINING),
        Table("evaluation/corpus.jsonl", documents),
        Table("evaluation/{split}_queries.jsonl", queries),
        Table("evaluation/{split}_qrels.jsonl", qrels),
    )
    usage = """In FlagEmbedding's layout:

```
torchrun -m FlagEmbedding.finetune.embedder.encoder_only.base \\
  --train_data FOLDER/train/{train}.jsonl ...
python -m FlagEmbedding.evaluation.custom --dataset_dir FOLDER/evaluation --splits {split} ...
```

Rows without negatives stand in train/SPLIT.without_negatives.jsonl and train with \
`--train_group_size 1`."""
