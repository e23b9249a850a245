"""sentence-transformers: pairs, triplets and graded pairs as Parquet, ready for its trainer.

    pairs     {"anchor": "Who likes Quokkas?", "positive": "Jon likes Quokkas and Apples."}
    triplets  {"anchor": "...", "positive": "...", "negative": "..."}
    graded    {"sentence1": "...", "sentence2": "...", "score": 0.5}

The order of the columns is what its losses read; no column is anything but a text or the score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retgen.export.files import (
    Rows,
    note_without,
    remove_file,
    training_examples,
    training_origin,
    training_splits,
    write_parquet,
)
from retgen.export.judged import TrainingExample
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line

_LOSSES = {
    "pairs": "MultipleNegativesRankingLoss",
    "triplets": "MultipleNegativesRankingLoss",
    "graded": "CoSENTLoss",
}


class SentenceTransformers(Layout):
    about = (
        "pairs/, triplets/ and graded/SPLIT.parquet: anchor, positive, negative; sentence1, "
        "sentence2, score"
    )
    readers = "SentenceTransformerTrainer, load_dataset"

    def write(self, job: ExportJob) -> LayoutCard:
        configs: dict[str, dict[str, str]] = {}
        for split in training_splits(job):
            for name in ("pairs", "triplets"):
                if self._texts(job, name, split):
                    configs.setdefault(name, {})[split] = f"{name}/{split}.parquet"
            if split in job.splits and self._graded(job, split):
                configs.setdefault("graded", {})[split] = f"graded/{split}.parquet"
        if "triplets" not in configs:
            job.notes.append(
                "no document was judged or mined as a negative, so there are no "
                "triplets, and none were made up"
            )
        if "graded" not in configs:
            job.notes.append("all qrels have one score, so there are no graded pairs")
        count = sum(1 for _ in job.judged.queries(positive=False))
        note_without(job, count, "they are in no file of this layout, for there is no pair of them")
        first = "triplets" if "triplets" in configs else "pairs"
        split = next(iter(configs[first]))
        return LayoutCard(
            [
                "For sentence-transformers: each configuration is a data set for its trainer.",
                "",
                *(
                    f"- {name}: {', '.join(_columns(name))}, as {_LOSSES[name]} reads them"
                    for name in configs
                ),
                "",
                "Triplets hold every positive and every negative of a query at least once; the "
                "scores of graded pairs are 1 for what is relevant in full, 0 for what is not.",
                "",
                "```python",
                "from datasets import load_dataset",
                "",
                f'train = load_dataset("FOLDER", "{first}", split="{one_line(split)}")',
                "```",
                *training_origin(job),
            ],
            configs,
            ("sentence-transformers",),
        )

    def _texts(self, job: ExportJob, name: str, split: str) -> bool:
        rows = (
            dict(zip(_columns(name), texts, strict=True))
            for example in training_examples(job, split)
            for texts in _rows(example, name == "triplets")
        )
        return bool(write_parquet(job.folder / name / f"{split}.parquet", _schema(name), rows))

    def _graded(self, job: ExportJob, split: str) -> bool:
        """Whether there is anything to tell apart: scores that are all 1 teach nothing."""
        path = job.folder / "graded" / f"{split}.parquet"
        most, levels = job.judged.most(), set()

        def rows() -> Rows:
            for one in job.judged.examples(split):
                documents = [*one.positives, *one.negatives]
                # beside binary qrels, the highest grade of a query is one that is right in full
                full = (
                    max(float(d.score or 0) for d in documents)
                    if (split in job.dataset.graded)
                    else most
                )
                for document in documents:
                    score = max(0.0, float(document.score or 0)) / full
                    levels.add(score)
                    yield {
                        "sentence1": one.query,
                        "sentence2": document.full_text,
                        "score": score,
                    }

        write_parquet(path, _schema("graded"), rows())
        if len(levels) < 2:
            remove_file(path)
            return False
        return True


def _rows(example: TrainingExample, triplets: bool) -> Iterator[tuple[str, ...]]:
    positives, negatives = example.positives, example.negatives
    if not triplets:
        for one in positives:
            yield example.query, one.full_text
    elif negatives:
        # not every positive with every negative: densely judged sets have thousands of both
        for i in range(max(len(positives), len(negatives))):
            yield (
                example.query,
                positives[i % len(positives)].full_text,
                negatives[i % len(negatives)].full_text,
            )


def _columns(name: str) -> tuple[str, ...]:
    if name == "graded":
        return "sentence1", "sentence2", "score"
    return ("anchor", "positive", "negative")[: 3 if name == "triplets" else 2]


def _schema(name: str) -> Any:
    import pyarrow as pa

    return pa.schema(
        [(column, pa.float32() if column == "score" else pa.string()) for column in _columns(name)]
    )
