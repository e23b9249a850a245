"""What trainers are given: the run's own training tables, else the qrels of each split."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.export.judged import Example
from retgen.export.layout import Job
from retgen.markdown import escaped

TRAIN = "train"


def training_splits(job: Job) -> tuple[str, ...]:
    """The splits to train on or to hold out, train first."""
    own = (TRAIN,) if job.tables and TRAIN not in job.splits else ()
    return (*own, *sorted(job.splits, key=lambda split: split != TRAIN))


def origin(job: Job) -> list[str]:
    """Where split train comes from, as paragraphs of a card."""
    if not job.tables:
        return []
    names = ", ".join(path.stem for path in job.tables)
    return ["", f"Split {TRAIN} holds the training tables of the data set ({escaped(names)}), not "
                "its qrels."]  # fmt: skip


def examples(job: Job, split: str) -> Iterator[Example]:
    """Queries of a split with positives and negatives.

    Of split train those of the run's own training tables, where it has some: there a positive is
    shown without the sentence that its query was made from, and negatives were mined. Else qrels
    above 0 are the positives and qrels of 0 the negatives; no others are made up.
    """
    if split == TRAIN and job.tables:
        return job.judged.from_tables(job.tables)
    return job.judged.examples(split)


def by_negatives(job: Job, split: str) -> Iterator[tuple[str, Iterator[Example]]]:
    """(path, examples): those with negatives, and those without, which trainers cannot mix.

    They draw the negatives of a group from those of its query, and end with an error where there
    are none.
    """
    count = sum(1 for one in examples(job, split) if not one.negatives)
    yield f"train/{split}.jsonl", (one for one in examples(job, split) if one.negatives)
    if count:
        path = f"train/{split}.without_negatives.jsonl"
        yield path, (one for one in examples(job, split) if not one.negatives)
        job.notes.append(
            f"split {split}: {count:,} queries have no judged negative, and none were made up: "
            f"they are in {path}"
        )
