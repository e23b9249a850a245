"""Parts of a kind, found where they lie: modules of a folder, entry points of what is installed."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
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


def plugin_names(path: Iterable[str], group: str, *, packages: bool = False) -> tuple[str, ...]:
    """Names of the modules of a package's `path` and of the entry points of `group`, sorted.

    `packages`: only of its packages.
    """
    result = pkgutil.iter_modules(path)
    bundled = {module.name for module in result if module.ispkg or not packages}
    return tuple(sorted(bundled | {entry.name for entry in installed_plugins(group)}))


def load_plugin(package: str, path: Iterable[str], base: type[Any], group: str, name: str) -> Any:
    """The subclass of `base` that a module of the package, or an entry point, exports.

    Raises KeyError for a name that is not among `names`, TypeError for none or several classes.
    """
    if any(module.name == name for module in pkgutil.iter_modules(path)):
        return _single_class(importlib.import_module(f"{package}.{name}"), base)
    for entry in installed_plugins(group):
        if entry.name == name:
            loaded = entry.load()
            return loaded if isinstance(loaded, type) else _single_class(loaded, base)
    raise KeyError(name)


def load_all(
    package: str, path: Iterable[str], base: type[Any], group: str, *, packages: bool = False
) -> dict[str, Any]:
    """All of them, by name."""
    path = list(path)
    listed = plugin_names(path, group, packages=packages)
    return {name: load_plugin(package, path, base, group, name) for name in listed}


def classes(
    package: str, path: Iterable[str], base: type[Any], group: str
) -> tuple[type[Any], ...]:
    """The subclasses of `base` that the modules of a package, and entry points, define.

    By the name of the module, and within one as they stand there. Raises TypeError for a module
    that defines none.
    """
    bundled = sorted(module.name for module in pkgutil.iter_modules(path))
    loaded = [importlib.import_module(f"{package}.{name}") for name in bundled]
    loaded += [entry.load() for entry in installed_plugins(group)]
    result: dict[type[Any], None] = {}
    for one in loaded:
        own = [one] if isinstance(one, type) else _own_classes(one, base)
        if not own:
            raise TypeError(f"{one.__name__} must define a {base.__name__}")
        result.update(dict.fromkeys(own))
    return tuple(result)


def _own_classes(module: Any, base: type[Any]) -> list[type[Any]]:
    """What a module, or one below it, defines; what it imports from elsewhere is not its own."""
    inside = f"{module.__name__}."
    return [one for one in _concrete(module, base) if f"{one.__module__}.".startswith(inside)]


def _concrete(module: Any, base: type[Any]) -> list[type[Any]]:
    """Classes of a kind that a module has names for, each once."""
    result = [one for one in vars(module).values() if isinstance(one, type)]
    return [
        one
        for one in dict.fromkeys(result)
        if issubclass(one, base)
        and one is not base
        and not getattr(one, "__abstractmethods__", None)
    ]


def _single_class(module: Any, base: type[Any]) -> Any:
    result = _concrete(module, base)
    if len(result) != 1:
        raise TypeError(
            f"{module.__name__} must export one {base.__name__}, it exports {len(result)}"
        )
    return result[0]
