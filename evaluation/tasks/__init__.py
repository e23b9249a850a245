"""Evaluation tasks, found by folder: a package here that exports one subclass of `Task`.

A third party adds one by an entry point in the group `retgen.tasks`.
"""

from __future__ import annotations

from functools import cache

from retgen.data import Dataset
from retgen.evaluation.tasks.task import Task
from retgen.plugins import load_all

__all__ = ["paper_prompt", "task_of", "tasks"]


@cache
def tasks() -> tuple[Task, ...]:
    """All evaluation tasks, bundled and installed, by their names."""
    result: dict[str, type[Task]] = load_all(
        __name__, __path__, Task, "retgen.tasks", packages=True
    )
    return tuple(result[name]() for name in sorted(result))


def paper_prompt() -> str:
    """What --paper-prompt puts before every query: the first task's that has an instruction."""
    return next((task.instruction for task in tasks() if task.instruction), "")


def task_of(dataset: Dataset) -> Task | None:
    """The task whose candidate sets a data set holds; None: only rankings of its corpus count."""
    return next((task for task in tasks() if task.holds(dataset)), None)
