"""Layouts by name, found by file: a module here that exports one subclass of `Layout`.

`sentence_transformers.py` is `--to sentence-transformers`. A third party adds one by an entry
point in the group `retgen.layouts`. A layout is data: its files, what stands in each, and the text
of its card. `Layout.write` turns them into a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from retgen.errors import DatasetError, UsageError
from retgen.export.files import Row, file_with_times, write_table
from retgen.export.records import ExportJob, UnfitId
from retgen.messages import did_you_mean
from retgen.plugins import load_all

TRAINING, QRELS_APART = "training", "qrels apart"


class Table(NamedTuple):
    """A file of a layout, or one a split where `{split}` or `{dot}` stands in its path.

    `{dot}` is nothing for the split test and `.NAME` for others. `rows`: of an `ExportJob`, and of
    a split where there is one; a dict for JSON Lines or Parquet, or a line. `config`: under which
    `load_dataset` finds it, and `split` the name there, the split's own by default. `of`: one of
    the constants above, where splits are others than usual. `head`: a line before the rows. A file
    without rows is not written.
    """

    path: str
    rows: Callable[..., Iterable[Row]]
    config: str = ""
    split: str = ""
    of: str = ""
    head: str = ""


@dataclass(frozen=True)
class LayoutCard:
    """What a layout says in its README.md.

    `usage`: Markdown, how it is loaded. `configs`: files below the folder by configuration, then
    by split, for `load_dataset`. `columns`: of a configuration, where it does not show all.
    """

    usage: str
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tags: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Layout:
    """A layout, in a module of its own under `retgen.export.layouts`, which names it.

    `about`: what it holds, `readers`: who reads it, for the docs. `whole`: what of it holds whole
    numbers only, "" where fractions fit. `usage`: the card's text, with `{split}` and `{train}`
    for the first split to score and to train on. `apart`: where queries without positives are.
    `guesses`: who reads its JSON Lines as `load_dataset` does, which may take dates for times: one
    is refused; "" for nobody.
    """

    about: ClassVar[str] = ""
    readers: ClassVar[str] = ""
    whole: ClassVar[str] = ""
    usage: ClassVar[str] = ""
    apart: ClassVar[str] = "they are left out, so that no score counts them; --to parquet has them"
    guesses: ClassVar[str] = ""
    tags: ClassVar[Sequence[str]] = ()
    tables: ClassVar[Sequence[Table]] = ()

    def write(self, job: ExportJob) -> LayoutCard:
        """Write the files into the job's folder, and say what its card says.

        Raises `DatasetError` for what the layout cannot hold.
        """
        if self.whole:
            job.check_whole(self.whole)
        configs: dict[str, dict[str, str]] = {}
        for table in self.tables:
            per_split = "{split}" in table.path or "{dot}" in table.path
            for split in _splits(job, table) if per_split else [""]:
                dot = "" if split == "test" else f".{split}"
                path = table.path.replace("{split}", split).replace("{dot}", dot)
                given = (job, split) if per_split else (job,)
                rows = lambda table=table, given=given: table.rows(*given)  # noqa: E731
                try:
                    count = write_table(job.folder / path, rows, table.head)
                except UnfitId as error:
                    raise DatasetError(f"{job.path}: {error}") from None
                if count and table.config:
                    configs.setdefault(table.config, {})[table.split or split] = path
        if apart := sum(1 for _ in job.queries(apart=True)):
            job.note(f"{apart:,} queries have no positive: {self.apart}")
        guessed = file_with_times(job.folder) if self.guesses else None
        if guessed is not None:
            raise DatasetError(
                f"{job.path}: {guessed.relative_to(job.folder)} would hold dates, which "
                f"{self.guesses} reads as times: give other ids or texts, or export --to parquet"
            )
        names = {"{split}": job.splits[0], "{train}": job.training_splits()[0]}
        usage = self.usage
        for mark, name in names.items():
            usage = usage.replace(mark, " ".join(name.split()))
        # the first configuration is the one that is loaded by default
        ordered = dict(sorted(configs.items(), key=lambda item: item[0] != "default"))
        return LayoutCard(usage + job.training_origin() * self._trains(), ordered, self.tags)

    def _trains(self) -> bool:
        return any(table.of == TRAINING for table in self.tables)


def _splits(job: ExportJob, table: Table) -> Iterable[str]:
    if table.of == TRAINING:
        return job.training_splits()
    return (*job.splits, *job.without) if table.of == QRELS_APART else job.splits


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
