"""What pyproject.toml asks for, and which modules come with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project import ROOT

installed = cache(packages_distributions)


@cache
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def extras() -> dict[str, list[str]]:
    """What each extra asks for, but `all`, which is the sum of them, and `dev`."""
    given: dict[str, list[str]] = project()["optional-dependencies"]
    return {extra: asked for extra, asked in given.items() if extra not in ("all", "dev")}


def packages(asked: Iterable[str]) -> frozenset[str]:
    """The packages that requirements bring, with all that these need in turn."""
    known: dict[str, set[str]] = {}
    waiting = list(map(Requirement, asked))
    while waiting:
        one = waiting.pop()
        name, wanted = canonicalize_name(one.name), {"", *one.extras}
        if name in known and wanted <= known[name]:
            continue
        known.setdefault(name, set()).update(wanted)
        waiting += _needed(name, known[name])
    return frozenset(known)


def _needed(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    try:
        asked = requires(name) or []
    except PackageNotFoundError:  # of another system
        return
    for one in map(Requirement, asked):
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
            yield one


def modules(packages: frozenset[str]) -> frozenset[str]:
    """What can be imported where these packages are installed."""
    return frozenset(
        module
        for module, sources in installed().items()
        if not packages.isdisjoint(map(canonicalize_name, sources))
    )


@cache
def beyond_the_core() -> frozenset[str]:
    """What is installed here, and is not where the core alone is."""
    core = packages(project()["dependencies"]) | {"retgen"}
    return frozenset(installed()) - modules(core)


def comments() -> dict[str, str]:
    """What pyproject.toml says beside each requirement, "" for nothing."""
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    rows = (re.fullmatch(r'    "([\w.-]+)[^"]*",(?:  # (.+))?', line) for line in lines)
    return {canonicalize_name(row[1]): row[2] or "" for row in rows if row}
