"""FlagEmbedding: its JSON Lines for fine-tuning, and the folder its evaluation reads.

    {"query": "...", "pos": ["..."], "neg": ["...", "..."]}

`pos_scores` and `neg_scores` stand with them where documents have grades: what a model is distilled
from.
"""

from __future__ import annotations

from typing import Any

from retgen.errors import DatasetError
from retgen.export.files import (
    file_with_times,
    split_by_negatives,
    training_origin,
    training_splits,
    write_apart,
    write_jsonl,
)
from retgen.export.judged import TrainingExample
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line


class FlagEmbedding(Layout):
    about = (
        "train/SPLIT.jsonl (query, pos, neg; of graded sets also pos_scores, neg_scores); "
        "evaluation/ with corpus.jsonl, SPLIT_queries.jsonl, SPLIT_qrels.jsonl"
    )
    readers = "FlagEmbedding (finetune, evaluation)"

    def write(self, job: ExportJob) -> LayoutCard:
        job.judged.check_whole("FlagEmbedding's qrels")
        graded = job.judged.most() > 1
        for split in training_splits(job):
            for path, examples in split_by_negatives(job, split):
                scores = split in job.dataset.graded or graded
                scores = scores and not (split == "train" and job.tables)
                write_jsonl(job.folder / path, (_row(one, scores) for one in examples))
        folder = job.folder / "evaluation"
        write_jsonl(
            folder / "corpus.jsonl",
            ({"id": one.doc_id, "title": one.title, "text": one.text} for one in job.documents()),
        )
        for split in job.splits:
            write_jsonl(
                folder / f"{split}_queries.jsonl",
                ({"id": one.query_id, "text": one.text} for one in job.judged.queries_of(split)),
            )
            write_jsonl(
                folder / f"{split}_qrels.jsonl",
                (
                    {"qid": q.query_id, "docid": q.doc_id, "relevance": int(q.relevance)}
                    for q in job.judged.qrels(split)
                ),
            )
        write_apart(job, lambda one: {"id": one.query_id, "text": one.text})
        if (guessed := file_with_times(job.folder)) is not None:
            raise DatasetError(
                f"{job.path}: a column of {guessed.relative_to(job.folder)} would hold nothing but "
                "dates, which FlagEmbedding reads as times: give other ids or texts, or export "
                "--to parquet"
            )
        split = "train" if "train" in training_splits(job) else job.splits[0]
        return LayoutCard(
            [
                "In FlagEmbedding's layout:",
                "",
                "```",
                "torchrun -m FlagEmbedding.finetune.embedder.encoder_only.base \\",
                f"  --train_data FOLDER/train/{one_line(split)}.jsonl ...",
                f"python -m FlagEmbedding.evaluation.custom --dataset_dir FOLDER/evaluation "
                f"--splits {one_line(job.splits[0])} ...",
                "```",
                "",
                "Rows without negatives stand in train/SPLIT.without_negatives.jsonl and train "
                "with `--train_group_size 1`.",
                *training_origin(job),
            ]
        )


def _row(example: TrainingExample, scores: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "query": example.query,
        "pos": [one.full_text for one in example.positives],
        "neg": [one.full_text for one in example.negatives],
    }
    if scores:
        row["pos_scores"] = [float(one.score or 0) for one in example.positives]
        row["neg_scores"] = [float(one.score or 0) for one in example.negatives]
    return row
