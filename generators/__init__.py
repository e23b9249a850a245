"""Families of data sets, found by folder: a package here that exports one subclass of `Family`.

A third party adds one by an entry point in the group `retgen.families`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from retgen import plugins
from retgen.agents.report import Rejection
from retgen.generators.family import CallEstimate, Family, Plan
from retgen.generators.params import InputFile, Job, Params
from retgen.generators.records import Example, Records, Rows, rows_of

# what the author of a family needs
__all__ = [
    "CallEstimate",
    "Example",
    "Family",
    "InputFile",
    "Job",
    "Params",
    "Plan",
    "Records",
    "Rejection",
    "Rows",
    "families",
    "family",
    "rows_of",
]

_GROUP = "retgen.families"


@cache
def families() -> tuple[str, ...]:
    """Names of all families, bundled and installed, sorted."""
    return tuple(_loaders())


@cache
def family(name: str) -> Family[Any]:
    """The family of that name. Raises KeyError for a name that is not in `families()`."""
    result: Family[Any] = plugins.load(_loaders()[name], Family)()
    return result


def _loaders() -> dict[str, Callable[[], Any]]:
    # a family is a package; the modules beside them are what families share
    return plugins.loaders(__name__, __path__, _GROUP, packages=True)
