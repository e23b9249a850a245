"""What an engine is: pure work done task by task, and done again where a worker dies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar

Context = TypeVar("Context")
Task = TypeVar("Task")

Work = Callable[[Context, Task], bytes]
Result = bytes | memoryview

START = 3.0  # seconds of work worth a process, which imports this package and prepares first
RETRIES = 3  # of a task whose process or machine is lost


class Tasks(Mapping[str, Task]):
    """Tasks that are made of their names when they begin: many would take much memory."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Task]) -> None:
        self._names, self._make = dict.fromkeys(names), make

    def __getitem__(self, name: str) -> Task:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Engine(ABC):
    """Does the same work on many tasks. The result of a task depends on nothing but the task.

    `workers`: how many tasks are worked on at a time.
    """

    workers: int

    @abstractmethod
    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        """(name, `work(context, task)`) for each task, as they end, in any order.

        `work` is a function of a module, and pure: a task whose worker dies is done again, and one
        may be done twice. `context` goes to each worker once, so it may keep there what is costly
        to make. At most `ahead` tasks are begun before the first one that has not ended: what waits
        for it stays small. Errors of `work` are raised here as they are. Raises `WorkerLost` where
        workers die again and again.
        """

    def __str__(self) -> str:
        return f"{self.workers} workers"

    @property
    def ahead(self) -> int:
        """Tasks begun at most, from the first on that has not ended."""
        return 2 * self.workers + 2

    def pays(self, seconds: float) -> bool:
        """Whether work that takes one process so long is worth starting workers for."""
        return self.workers > 1 and seconds > START

    def map_in_order(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        """The same, in the order of the tasks."""
        ended: dict[str, Result] = {}
        left = deque(tasks)
        for name, result in self.map(work, context, tasks):
            ended[name] = result
            while left and left[0] in ended:
                first = left.popleft()
                yield first, ended.pop(first)


class Window:
    """Which tasks may begin: `ahead` of them, counted from the first that has not ended."""

    def __init__(self, names: Mapping[str, Any], ahead: int) -> None:
        self._names = list(names)
        self._ahead = ahead
        self._ended: set[str] = set()
        self._first = self._begun = 0

    def begin(self) -> list[str]:
        """The names of those that may begin now."""
        stop = min(self._first + self._ahead, len(self._names))
        result = self._names[self._begun : stop]
        self._begun = max(self._begun, stop)
        return result

    def end(self, name: str) -> None:
        """Note that a task has ended."""
        self._ended.add(name)
        while self._first < len(self._names) and self._names[self._first] in self._ended:
            self._ended.remove(self._names[self._first])
            self._first += 1
