"""Tevatron: its JSON Lines for training, and corpus and queries to encode and search.

    {"query_id": "q1", "query": "...", "positive_passages": [{"docid": "d1", "title": "",
     "text": "..."}], "negative_passages": [...]}

The form with passages is the one that all its versions read; newer ones also know one with ids.
"""

from __future__ import annotations

from typing import Any

from retgen.export.layouts import TRAINING, Layout, Table
from retgen.export.layouts.trec import qrel_line
from retgen.export.records import ExportJob, TrainingExample


def example(one: TrainingExample) -> dict[str, Any]:
    """A query with its passages."""
    passages = {
        side: [{"docid": text.doc_id, "title": text.title, "text": text.text} for text in texts]
        for side, texts in (("positive", one.positives), ("negative", one.negatives))
    }
    return {
        "query_id": one.query_id,
        "query": one.query,
        "positive_passages": passages["positive"],
        "negative_passages": passages["negative"],
    }


class Tevatron(Layout):
    about = (
        "train/SPLIT.jsonl (query_id, query, positive_passages, negative_passages), corpus.jsonl, "
        "queries/SPLIT.jsonl, qrels/SPLIT.txt"
    )
    readers = "Tevatron (train, encode, search), trec_eval"
    whole = "TREC's qrels"
    guesses = "Tevatron"
    tables = (
        Table("train/{split}.jsonl", ExportJob.with_negatives, example, "default", of=TRAINING),
        Table(
            "train/{split}.without_negatives.jsonl",
            ExportJob.without_negatives,
            example,
            "without_negatives",
            of=TRAINING,
        ),
        Table(
            "corpus.jsonl",
            ExportJob.documents,
            {"docid": "doc_id", "title": "title", "text": "text"},
            "corpus",
            "corpus",
        ),
        Table(
            "queries/{split}.jsonl",
            ExportJob.queries,
            {"query_id": "query_id", "query": "text"},
            "queries",
        ),
        Table("qrels/{split}.txt", ExportJob.qrels, qrel_line),
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
