"""Layouts by name, found by file: a module here that exports one subclass of `Layout`.

`sentence_transformers.py` is `--to sentence-transformers`. A third party adds one by an entry
point in the group `retgen.layouts`. A layout is data: its files, what stands in each, and the text
of its card. `Layout.write` turns them into a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from retgen.errors import DatasetError, UsageError
from retgen.export.files import Row, file_with_times, write_table
from retgen.export.records import TRAIN, ExportJob
from retgen.markdown import escape_markdown
from retgen.messages import did_you_mean
from retgen.plugins import load_all

TRAINING, JUDGED = "training", "judged"


class UnfitId(ValueError):
    """An id that a layout cannot hold; the message does not say of which data set."""


class Table(NamedTuple):
    """A file of a layout, or one a split where `{split}` stands in its path.

    `records`: of an `ExportJob`, and of a split where there is one, such as `ExportJob.qrels`.
    `row`: what stands in the file of a record: {column: attribute}, or a function that gives a
    dict (JSON Lines, Parquet) or a line; None where the records are rows already. `config`: under
    which `load_dataset` finds it, and `split` the name there, the split's own by default. `of`: one
    of the constants above, where splits are others than usual. `head`: a line before the rows.
    `absent`: the note where no file of it has a row, for such a file is not written.
    """

    path: str
    records: Callable[..., Iterable[Any]]
    row: Mapping[str, str] | Callable[[Any], Row] | None = None
    config: str = ""
    split: str = ""
    of: str = ""
    head: str = ""
    absent: str = ""

    def rows(self, *given: Any) -> Iterator[Row]:
        """The rows of the file. `given`: the job, and the split where there is one."""
        for record in self.records(*given):
            if self.row is None:
                yield record
            elif callable(self.row):
                yield self.row(record)
            else:
                yield {name: getattr(record, value) for name, value in self.row.items()}


class Layout:
    """A layout, in a module of its own under `retgen.export.layouts`, which names it.

    `about`: what it holds, `readers`: who reads it, for the docs. `whole`: what of it holds whole
    numbers only, "" where fractions fit. `usage`: Markdown, how it is loaded, with `{split}` and
    `{train}` for the first split to score and to train on. `apart`: where queries without positives
    are. `guesses`: who reads its JSON Lines as `load_dataset` does, which may take dates for times:
    one is refused; "" for nobody. `tags`: of its card.
    """

    about: ClassVar[str] = ""
    readers: ClassVar[str] = ""
    whole: ClassVar[str] = ""
    usage: ClassVar[str] = ""
    apart: ClassVar[str] = "they are left out, so that no score counts them; --to parquet has them"
    guesses: ClassVar[str] = ""
    tags: ClassVar[Sequence[str]] = ()
    tables: ClassVar[Sequence[Table]] = ()

    def write(self, job: ExportJob) -> list[dict[str, Any]]:
        """Write the files into the job's folder; `configs` of its card, the default one first.

        Raises `DatasetError` for what the layout cannot hold.
        """
        if self.whole:
            job.check_whole(self.whole)
        configs: dict[str, list[dict[str, str]]] = {}
        for table in self.tables:
            splits = {TRAINING: job.training_splits, JUDGED: job.judged_splits}
            per_split = splits.get(table.of, job.splits) if "{split}" in table.path else ("",)
            written = 0
            for split in per_split:
                path = table.path.replace("{split}", split)
                given = (job, split) if split else (job,)
                rows = lambda table=table, given=given: table.rows(*given)  # noqa: E731
                try:
                    count = write_table(job.folder / path, rows, table.head)
                except UnfitId as error:
                    raise DatasetError(f"{job.path}: {error}") from None
                written += count
                if count and table.config:
                    entry = {"split": table.split or split, "path": path}
                    configs.setdefault(table.config, []).append(entry)
            if table.absent and not written:
                job.note(table.absent)
        if apart := sum(1 for _ in job.unanswered_queries()):
            job.note(f"{apart:,} queries have no positive: {self.apart}")
        guessed = file_with_times(job.folder) if self.guesses else None
        if guessed is not None:
            raise DatasetError(
                f"{job.path}: {guessed.relative_to(job.folder)} would hold dates, which "
                f"{self.guesses} reads as times: give other ids or texts, or export --to parquet"
            )
        return [
            {"config_name": name, "data_files": configs[name]}
            for name in sorted(configs, key=lambda name: name != "default")
        ]

    def usage_text(self, job: ExportJob) -> str:
        """The first paragraphs of the card: how it is loaded, where split train comes from."""
        names = {"{split}": job.splits[0], "{train}": job.training_splits[0]}
        usage = self.usage
        for mark, name in names.items():
            usage = usage.replace(mark, " ".join(name.split()))
        if job.tables and any(table.of == TRAINING for table in self.tables):
            tables = escape_markdown(", ".join(path.stem for path in job.tables))
            usage += (
                f"\n\nSplit {TRAIN} holds the training tables of the data set ({tables}), not its "
                "qrels."
            )
        return usage


def layouts() -> dict[str, Layout]:
    """All layouts, by the names that `--to` takes."""
    found: dict[str, type[Layout]] = load_all(__name__, __path__, Layout, "retgen.layouts")
    return {name.replace("_", "-"): one() for name, one in found.items()}


def layout(name: str) -> Layout:
    """The layout of a name. Raises `UsageError` for one that is not there."""
    known = layouts()
    if name not in known:
        raise UsageError(
            f"--to {name}: there is no such layout{did_you_mean(name, known) or '.'} "
            f"Possible: {', '.join(known)}"
        )
    return known[name]
