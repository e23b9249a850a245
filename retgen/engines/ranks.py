"""Work shared by rank: each of n processes does its tasks, results are files, the last call merges.

No process needs another one to be there: a rank that comes again goes on, and tasks done twice give
the same file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from retgen.engines.engine import Context, Engine, Result, Task, Work
from retgen.engines.files import ResultFiles
from retgen.errors import RanksMissing, UsageError


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


def name_ranks(numbers: Sequence[int], of: int) -> str:
    """Ranks for a message."""
    some = ", ".join(f"{number}/{of}" for number in numbers[:5])
    return f"{some} and {len(numbers) - 5} more" if len(numbers) > 5 else some


class Share(Engine):
    """The share of one rank. `map` waits for what other ranks do, at most `patience` seconds."""

    def __init__(self, rank: Rank, files: ResultFiles, inner: Engine, patience: float) -> None:
        self.rank, self._files, self._inner, self._patience = rank, files, inner, patience
        self.workers = inner.workers

    def __str__(self) -> str:
        return f"rank {self.rank}, {self._inner}"

    def pays(self, seconds: float) -> bool:
        return True

    def do(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        """The tasks of this rank, those that are done already as well."""
        own = {name: tasks[name] for name in list(tasks)[self.rank.number :: self.rank.of]}
        left = {}
        for name, task in own.items():
            kept = self._files.read(_of(work, name))
            if kept is None:
                left[name] = task
            else:
                yield name, kept
        for name, result in self._inner.map(work, context, left):
            yield name, self._files.keep(_of(work, name), result)

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
                        f"{name_ranks(sorted(others), self.rank.of)}. Start these, and this rank "
                        "again: what is done is kept"
                    )
                time.sleep(self._files.look)
            yield name, result


class Merged(Engine):
    """What ranks have done; what is missing or damaged is done by `inner`, and kept as well."""

    def __init__(self, files: ResultFiles, inner: Engine) -> None:
        self._files, self._inner = files, inner
        self.workers = inner.workers

    def __str__(self) -> str:
        return f"{self._inner}, after ranks"

    def pays(self, seconds: float) -> bool:
        return True

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        left = {}
        for name, task in tasks.items():
            kept = self._files.read(_of(work, name))
            if kept is None:
                left[name] = task
            else:
                yield name, kept
        for name, result in self._inner.map(work, context, left):
            yield name, self._files.keep(_of(work, name), result)


def _of(work: Work[Context, Task], name: str) -> str:
    return f"{work.__name__.strip('_')} {name}"
