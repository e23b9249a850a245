"""Families of data sets, found by folder: a package here that exports one subclass of `Family`.

A third party adds one by an entry point in the group `retgen.families`.
"""

from __future__ import annotations

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
    # a family is a package; the modules beside them are what families share
    return plugins.plugin_names(__path__, _GROUP, packages=True)


@cache
def family(name: str) -> Family[Any]:
    """The family of that name. Raises KeyError for a name that is not in `families()`."""
    if name not in families():
        raise KeyError(name)
    result: Family[Any] = plugins.load_plugin(__name__, __path__, Family, _GROUP, name)()
    return result
