"""Tevatron: its JSON Lines for training, and corpus and queries to encode and search.

    {"query_id": "q1", "query": "...", "positive_passages": [{"docid": "d1", "title": "",
     "text": "..."}], "negative_passages": [...]}

The form with passages is the one that all its versions read; newer ones also know one with ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.export.layouts import TRAINING, Layout, Table
from retgen.export.records import ExportJob, JudgedText, TrainingExample, trec_line

Rows = Iterator[Mapping[str, Any]]


def passages(texts: Iterable[JudgedText]) -> list[dict[str, str]]:
    return [{"docid": one.doc_id, "title": one.title, "text": one.text} for one in texts]


def examples(given: Iterable[TrainingExample]) -> Rows:
    for one in given:
        yield {
            "query_id": one.query_id,
            "query": one.query,
            "positive_passages": passages(one.positives),
            "negative_passages": passages(one.negatives),
        }


def with_negatives(job: ExportJob, split: str) -> Rows:
    return examples(one for one in job.examples(split) if one.negatives)


def documents(job: ExportJob) -> Rows:
    return ({"docid": d.doc_id, "title": d.title, "text": d.text} for d in job.documents())


def queries(job: ExportJob, split: str) -> Rows:
    return ({"query_id": one.query_id, "query": one.text} for one in job.queries(split))


class Tevatron(Layout):
    about = (
        "train/SPLIT.jsonl (query_id, query, positive_passages, negative_passages), corpus.jsonl, "
        "queries/SPLIT.jsonl, qrels/SPLIT.txt"
    )
    readers = "Tevatron (train, encode, search), trec_eval"
    whole = "TREC's qrels"
    guesses = "Tevatron"
    tables = (
        Table("train/{split}.jsonl", with_negatives, "default", of=TRAINING),
        Table(
            "train/{split}.without_negatives.jsonl",
            lambda job, split: examples(job.without_negatives(split)),
            "without_negatives",
            of=TRAINING,
        ),
        Table("corpus.jsonl", documents, "corpus", "corpus"),
        Table("queries/{split}.jsonl", queries, "queries"),
        Table("qrels/{split}.txt", lambda job, split: map(trec_line, job.qrels(split))),
    )
    usage = """In Tevatron's layout:

```
python -m tevatron.retriever.driver.train --dataset_name json \\
  --dataset_path FOLDER/train/{train}.jsonl ...
python -m tevatron.retriever.driver.encode --dataset_name json \\
  --dataset_path FOLDER/corpus.jsonl ...
```

Rows without negatives stand in train/SPLIT.without_negatives.jsonl and train with \
`--train_group_size 1`."""
