"""FlagEmbedding: its JSON Lines for fine-tuning, and the folder its evaluation reads.

    {"query": "...", "pos": ["..."], "neg": ["...", "..."]}

`pos_scores` and `neg_scores` stand with them where documents have grades: what a model is distilled
from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from retgen.data import Qrel
from retgen.export.layouts import TRAINING, Layout, Table
from retgen.export.records import TRAIN, ExportJob, TrainingExample


def rows(
    job: ExportJob, split: str, examples: Iterable[TrainingExample]
) -> Iterator[dict[str, Any]]:
    """Rows to train on, with the grades of what was judged."""
    graded = split in job.dataset.graded or any(
        one.relevance > 1 for name in job.splits for one in job.qrels(name)
    )
    for one in examples:
        row: dict[str, Any] = {"query": one.query}
        sides = {"pos": one.positives, "neg": one.negatives}
        row |= {side: [text.full_text for text in texts] for side, texts in sides.items()}
        if graded and not (split == TRAIN and job.tables):
            for side, texts in sides.items():
                row[f"{side}_scores"] = [float(text.score) for text in texts]
        yield row


def qrel_row(qrel: Qrel) -> dict[str, Any]:
    """A row of its qrels."""
    return {"qid": qrel.query_id, "docid": qrel.doc_id, "relevance": int(qrel.relevance)}


class FlagEmbedding(Layout):
    about = (
        "train/SPLIT.jsonl (query, pos, neg; of graded sets also pos_scores, neg_scores); "
        "evaluation/ with corpus.jsonl, SPLIT_queries.jsonl, SPLIT_qrels.jsonl"
    )
    readers = "FlagEmbedding (finetune, evaluation)"
    whole = "FlagEmbedding's qrels"
    guesses = "FlagEmbedding"
    tables = (
        Table(
            "train/{split}.jsonl",
            lambda job, split: rows(job, split, job.with_negatives(split)),
            of=TRAINING,
        ),
        Table(
            "train/{split}.without_negatives.jsonl",
            lambda job, split: rows(job, split, job.without_negatives(split)),
            of=TRAINING,
        ),
        Table(
            "evaluation/corpus.jsonl",
            ExportJob.documents,
            {"id": "doc_id", "title": "title", "text": "text"},
        ),
        Table(
            "evaluation/{split}_queries.jsonl",
            ExportJob.queries,
            {"id": "query_id", "text": "text"},
        ),
        Table("evaluation/{split}_qrels.jsonl", ExportJob.qrels, qrel_row),
    )
    usage = """In FlagEmbedding's layout:

```
torchrun -m FlagEmbedding.finetune.embedder.encoder_only.base \\
  --train_data FOLDER/train/{train}.jsonl ...
python -m FlagEmbedding.evaluation.custom --dataset_dir FOLDER/evaluation --splits {split} ...
```

Rows without negatives stand in train/SPLIT.without_negatives.jsonl and train with \
`--train_group_size 1`."""
