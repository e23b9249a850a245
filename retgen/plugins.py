"""Parts of a kind, found where they lie: modules of a folder, entry points of what is installed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any


def names(path: Iterable[str], group: str, *, packages: bool = False) -> tuple[str, ...]:
    """Names of the modules of a package's `path` and of the entry points of `group`, sorted.

    `packages`: only of its packages.
    """
    found = pkgutil.iter_modules(path)
    bundled = {module.name for module in found if module.ispkg or not packages}
    return tuple(sorted(bundled | {entry.name for entry in entry_points(group=group)}))


def load(package: str, path: Iterable[str], base: type[Any], group: str, name: str) -> Any:
    """The subclass of `base` that a module of the package, or an entry point, exports.

    Raises KeyError for a name that is not among `names`, TypeError for none or several classes.
    """
    if any(module.name == name for module in pkgutil.iter_modules(path)):
        return _only(importlib.import_module(f"{package}.{name}"), base)
    for entry in entry_points(group=group, name=name):
        loaded = entry.load()
        return loaded if isinstance(loaded, type) else _only(loaded, base)
    raise KeyError(name)


def exported(
    package: str, path: Iterable[str], base: type[Any], group: str, *, packages: bool = False
) -> dict[str, Any]:
    """All of them, by name."""
    path = list(path)
    listed = names(path, group, packages=packages)
    return {name: load(package, path, base, group, name) for name in listed}


def _only(module: Any, base: type[Any]) -> Any:
    classes = {
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and not getattr(value, "__abstractmethods__", None)
    }
    if len(classes) != 1:
        raise TypeError(
            f"{module.__name__} must export one {base.__name__}, it exports {len(classes)}"
        )
    return classes.pop()
