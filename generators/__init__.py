"""Families of data sets, found by folder: a package here that exports one subclass of `Family`.

A third party adds one by an entry point in the group `retgen.families`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from retgen.generators.family import Family

__all__ = ["Family", "families", "family"]


@cache
def families() -> tuple[str, ...]:
    """Names of all families, bundled and installed, sorted."""
    bundled = {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}
    return tuple(sorted(bundled | {entry.name for entry in entry_points(group="retgen.families")}))


@cache
def family(name: str) -> Family[Any]:
    """The family of that name. Raises KeyError for a name that is not in `families()`."""
    if any(module.name == name and module.ispkg for module in pkgutil.iter_modules(__path__)):
        found = _exported(importlib.import_module(f"{__name__}.{name}"))
    else:
        found = None
        for entry in entry_points(group="retgen.families", name=name):
            loaded = entry.load()
            found = loaded if isinstance(loaded, type) else _exported(loaded)
    if found is None:
        raise KeyError(name)
    return found()


def _exported(module: Any) -> type[Family[Any]]:
    """The one concrete subclass of `Family` that a module exports."""
    classes = {
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Family)
        and not getattr(value, "__abstractmethods__", None)
    }
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} must export one Family, it exports {len(classes)}")
    return classes.pop()
