"""Tevatron: its JSON Lines for training, and corpus and queries to encode and search.

    {"query_id": "q1", "query": "...", "positive_passages": [{"docid": "d1", "title": "",
     "text": "..."}], "negative_passages": [...]}

The form with passages is the one that all its versions read; newer ones also know one with ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retgen.export.files import (
    split_by_negatives,
    training_origin,
    training_splits,
    trec_line,
    write_apart,
    write_jsonl,
    write_lines,
)
from retgen.export.judged import JudgedText, TrainingExample
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line


class Tevatron(Layout):
    about = (
        "train/SPLIT.jsonl (query_id, query, positive_passages, negative_passages), corpus.jsonl, "
        "queries/SPLIT.jsonl, qrels/SPLIT.txt"
    )
    readers = "Tevatron (train, encode, search), trec_eval"

    def write(self, job: ExportJob) -> LayoutCard:
        job.judged.check_whole("TREC's qrels")
        configs: dict[str, dict[str, str]] = {}
        for split in training_splits(job):
            for path, examples in split_by_negatives(job, split):
                if write_jsonl(job.folder / path, map(_row, examples)):
                    name = "without_negatives" if "without" in path else "default"
                    configs.setdefault(name, {})[split] = path
        write_jsonl(
            job.folder / "corpus.jsonl",
            (
                {"docid": one.doc_id, "title": one.title, "text": one.text}
                for one in job.documents()
            ),
        )
        configs |= {"corpus": {"corpus": "corpus.jsonl"}, "queries": {}}
        for split in job.splits:
            configs["queries"][split] = path = f"queries/{split}.jsonl"
            write_jsonl(
                job.folder / path,
                (
                    {"query_id": one.query_id, "query": one.text}
                    for one in job.judged.queries_of(split)
                ),
            )
            qrels = job.judged.qrels(split)
            write_lines(job.folder / f"qrels/{split}.txt", (trec_line(qrel, job) for qrel in qrels))
        write_apart(job, lambda one: {"query_id": one.query_id, "query": one.text})
        first = next(iter(next(iter(configs.values())).values()))
        return LayoutCard(
            [
                "In Tevatron's layout:",
                "",
                "```",
                "python -m tevatron.retriever.driver.train --dataset_name json \\",
                f"  --dataset_path FOLDER/{one_line(first)} ...",
                "python -m tevatron.retriever.driver.encode --dataset_name json \\",
                "  --dataset_path FOLDER/corpus.jsonl ...",
                "```",
                "",
                "Rows without negatives stand in train/SPLIT.without_negatives.jsonl and train "
                "with `--train_group_size 1`.",
                *training_origin(job),
            ],
            configs,
        )


def _row(example: TrainingExample) -> dict[str, Any]:
    return {
        "query_id": example.query_id,
        "query": example.query,
        "positive_passages": list(_passages(example.positives)),
        "negative_passages": list(_passages(example.negatives)),
    }


def _passages(passages: list[JudgedText]) -> Iterator[dict[str, str]]:
    for one in passages:
        yield {"docid": one.doc_id, "title": one.title, "text": one.text}
