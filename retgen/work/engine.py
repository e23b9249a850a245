"""What an engine is: pure work done task by task, and done again where a worker dies.

A result comes back as bytes, and the caller writes it. A worker may run on another machine, which
sees neither the run directory nor the user's files: work that reads these is for `local`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Context = TypeVar("Context")
Task = TypeVar("Task")

Work = Callable[[Context, Task], bytes]

RETRIES = 3  # of a task whose process or machine is lost


class Engine(ABC):
    """Does the same work on many tasks. The result of a task depends on nothing but the task.

    `workers`: how many tasks are worked on at a time.
    """

    workers: int

    @abstractmethod
    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        """(name, `work(context, task)`) for each (name, task), in the order of the tasks.

        `work` is a function of a module, and pure: a task whose worker dies is done again, and one
        may be done twice. `context` goes to each worker once, so it may keep there what is costly
        to make. A task is taken from `tasks` when it is about to begin, and at most `ahead` are
        begun from the first on that has not ended: tasks and results that wait stay few. Errors of
        `work` are raised here as they are. Raises `WorkerLost` where workers die again and again.
        """

    @property
    def local(self) -> Engine:
        """Processes of this machine, for work that reads files."""
        return self

    def __str__(self) -> str:
        return f"{self.workers} workers"

    @property
    def ahead(self) -> int:
        """Tasks begun at most, from the first on that has not ended."""
        return 2 * self.workers + 2
