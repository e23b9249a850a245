"""Work shared by rank: each of n processes does its tasks, results are files, the last call merges.

No process needs another one to be there: a rank that comes again goes on, and tasks done twice give
the same file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.engines.engine import Context, Engine, Result, Task, Tasks, Work
from retgen.engines.files import ResultFiles
from retgen.errors import RanksMissing, RunDirectoryError, UsageError
from retgen.progress import Progress, no_progress
from retgen.write import write_file

_COMMON = "ranks.json"  # how many ranks there are, and what all of them have alike


class Rank(NamedTuple):
    """One of `of` processes, counted from 0."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Rank:
        """Of "3/64". Raises `UsageError`."""
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if match is None:
            raise UsageError(f"--rank {text}: must be I/N, e.g. 3/64, the fourth of 64")
        rank = cls(int(match[1]), int(match[2]))
        if rank.number >= rank.of:
            which = f", so of {rank.of} they are 0/{rank.of} to {rank.of - 1}/{rank.of}"
            why = which if rank.of else "; there must be one at least"
            raise UsageError(f"--rank {text}: ranks count from 0{why}")
        return rank

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Ranks(NamedTuple):
    """The ranks that share a folder of results: what all have alike, and who has finished.

    `name`: of what they share, in messages; `again` says how to begin anew, `alone` how to do
    without what is missing. `difference` says what another rank has otherwise, if anything.
    """

    files: ResultFiles
    name: str
    again: str
    alone: str
    difference: Callable[[dict[str, Any], dict[str, Any]], str | None]

    @staticmethod
    def common(folder: Path) -> dict[str, Any] | None:
        """What ranks have stated in a folder; None where there were none."""
        try:
            stated: dict[str, Any] = orjson.loads((folder / _COMMON).read_bytes())
        except FileNotFoundError:
            return None
        return stated

    def join(self, rank: Rank, stated: Mapping[str, Any]) -> None:
        """Be one of them. Raises `RunDirectoryError` where others do something else."""
        own = {"of": rank.of, **stated}
        there = self.common(self.files.folder)
        if there is None:
            write_file(self.files.folder / _COMMON, orjson.dumps(own))
            return
        if there["of"] != rank.of:
            raise RunDirectoryError(
                f"{self.name} is shared by {there['of']} ranks, and this is rank {rank}: give the "
                f"same number, {self.again}"
            )
        self.check_alike(there, own)

    def check_alike(self, there: dict[str, Any], own: dict[str, Any]) -> None:
        """Raise `RunDirectoryError` where others, of which `there` is stated, do something else."""
        if why := self.difference(there, own):
            raise RunDirectoryError(f"{self.name}: {why}")

    def finish(self, rank: Rank) -> None:
        """Note that a rank has done its share."""
        self.files.keep(_finished(rank), b"")

    def check_finished(self, of: int) -> None:
        """Raise `RanksMissing`, naming the ranks that have not finished."""
        every = (Rank(number, of) for number in range(of))
        if missing := [one.number for one in every if self.files.read(_finished(one)) is None]:
            raise self.missing(missing, of, "not finished by")

    def missing(self, numbers: Sequence[int], of: int, what: str) -> RanksMissing:
        """The error that names ranks, behind `what` is wrong."""
        return RanksMissing(
            f"{self.name} is shared by {of} ranks, and {what} {_in_words(numbers, of)}: start what "
            f"is missing with --rank, or {self.alone}"
        )


class MergeEngine(Engine):
    """What ranks have done; what is missing or damaged is done by `inner`, and kept as well."""

    def __init__(self, files: ResultFiles, inner: Engine) -> None:
        self._files, self._inner = files, inner
        self.workers = inner.workers

    def __str__(self) -> str:
        return f"{self._inner}, after ranks"

    @property
    def own(self) -> Engine:
        return self._inner

    def pays(self, seconds: float) -> bool:
        return True

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        left = []
        for name in tasks:
            kept = self._files.read(_of(work, name))
            if kept is None:
                left.append(name)
            else:
                yield name, kept
        for name, result in self._inner.map(work, context, Tasks(left, tasks.__getitem__)):
            yield name, self._files.keep(_of(work, name), result)


class Share(MergeEngine):
    """The share of one rank. `map` waits for what other ranks do, at most `patience` seconds."""

    def __init__(
        self,
        rank: Rank,
        files: ResultFiles,
        inner: Engine,
        patience: float,
        progress: Progress = no_progress,
    ) -> None:
        super().__init__(files, inner)
        self.rank, self._patience, self._progress = rank, patience, progress

    def __str__(self) -> str:
        return f"rank {self.rank}, {self._inner}"

    def do(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        """The tasks of this rank, those that are done already as well."""
        own = list(tasks)[self.rank.number :: self.rank.of]
        return super().map(work, context, Tasks(own, tasks.__getitem__))

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        done = dict(self.do(work, context, tasks))
        until = time.monotonic() + self._patience
        for number, name in enumerate(tasks):
            result = done.pop(name, None)
            while result is None and (result := self._files.read(_of(work, name))) is None:
                if time.monotonic() > until:
                    others = {
                        i % self.rank.of
                        for i, one in enumerate(tasks)
                        if i >= number and self._files.read(_of(work, one)) is None
                    }
                    raise RanksMissing(
                        f"rank {self.rank} has done its share, and waited for that of "
                        f"{_in_words(sorted(others), self.rank.of)}. Start these, and this rank "
                        "again: what is done is kept"
                    )
                self._progress("other ranks", number, len(tasks), "waiting for their share")
                time.sleep(self._files.look)
            yield name, result


def _in_words(numbers: Sequence[int], of: int) -> str:
    some = ", ".join(f"{number}/{of}" for number in numbers[:5])
    return f"{some} and {len(numbers) - 5} more" if len(numbers) > 5 else some


def _finished(rank: Rank) -> str:
    return f"rank {rank.number} of {rank.of}"


def _of(work: Work[Context, Task], name: str) -> str:
    return f"{work.__name__.strip('_')} {name}"
