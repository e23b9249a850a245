"""Parts of a kind, found where they lie: modules of a folder, entry points of what is installed."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any


def require_modules(*modules: str) -> None:
    """Raise `ModuleNotFoundError` for the first that is not installed; none is imported."""
    for module in modules:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def installed_plugins(group: str) -> list[EntryPoint]:
    """Entry points of a group, by name."""
    return sorted(_all(tuple(sys.path)).select(group=group))


@cache
def _all(path: tuple[str, ...]) -> Any:
    """Those of all groups: every package there is has to be asked, whatever the group."""
    return entry_points()


def loaders(
    package: str, path: Iterable[str], group: str, *, packages: bool = False
) -> dict[str, Callable[[], Any]]:
    """How each part is loaded, by name: a module of the package's `path`, or an entry point.

    `packages`: of the package only its packages.
    """
    result: dict[str, Callable[[], Any]] = {one.name: one.load for one in installed_plugins(group)}
    for module in pkgutil.iter_modules(path):
        if module.ispkg or not packages:
            result[module.name] = partial(importlib.import_module, f"{package}.{module.name}")
    return dict(sorted(result.items()))


def load(loader: Callable[[], Any], base: type[Any]) -> Any:
    """The subclass of `base` that a part exports. Raises TypeError for none or several."""
    loaded = loader()
    result = _classes(loaded, base)
    if len(result) != 1:
        raise TypeError(
            f"{loaded.__name__} must export one {base.__name__}, it exports {len(result)}"
        )
    return result[0]


def load_all(
    package: str, path: Iterable[str], base: type[Any], group: str, *, packages: bool = False
) -> dict[str, Any]:
    """All of them, by name."""
    found = loaders(package, path, group, packages=packages)
    return {name: load(one, base) for name, one in found.items()}


def classes(
    package: str, path: Iterable[str], base: type[Any], group: str
) -> tuple[type[Any], ...]:
    """The subclasses of `base` that the modules of a package, and entry points, define.

    By the name of the module, and within one as they stand there. Raises TypeError for a module
    that defines none.
    """
    result: dict[type[Any], None] = {}
    for loader in loaders(package, path, group).values():
        loaded = loader()
        if not (own := _classes(loaded, base)):
            raise TypeError(f"{loaded.__name__} must define a {base.__name__}")
        result.update(dict.fromkeys(own))
    return tuple(result)


def _classes(loaded: Any, base: type[Any]) -> list[type[Any]]:
    """The class that was loaded, or those of its kind that a module, or one below it, defines."""
    if isinstance(loaded, type):
        return [loaded]
    return [
        one
        for one in dict.fromkeys(one for one in vars(loaded).values() if isinstance(one, type))
        if issubclass(one, base)
        and one is not base
        and not getattr(one, "__abstractmethods__", None)
        and f"{one.__module__}.".startswith(f"{loaded.__name__}.")
    ]
