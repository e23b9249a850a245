"""Retrievers by name, found by file: a module here that exports subclasses of `RetrieverType`.

A third party adds one by an entry point in the group `retgen.retrievers`. Names are checked, and
listed, before anything heavy is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from retgen.agents.models import ModelSettings
from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.plugins import classes, require_modules
from retgen.search.base import Retriever as Retriever
from retgen.search.base import RetrieverType, System
from retgen.search.embedders.options import Options as Options


@cache
def types() -> tuple[RetrieverType, ...]:
    """All that `--model` may name, bundled and installed, by file name."""
    found = classes(__name__, __path__, RetrieverType, "retgen.retrievers")
    return tuple(one() for one in found)


def type_of(name: str) -> RetrieverType | None:
    """The type of a name. An exact name or prefix wins over free forms (a folder, a Hub id)."""
    mine = [one for one in types() if one.accepts(name)]
    exact = [one for one in mine if name in one.names or one.prefixes()]
    return next(iter(exact or mine), None)


def names() -> list[str]:
    """The names that are complete as they stand."""
    return [name for one in types() for name in one.names]


def forms(*, ranks: bool) -> list[str]:
    """Names, then patterns of names: of what ranks a corpus, or orders candidate sets alone."""
    mine = [one for one in types() if one.ranks is ranks]
    fixed = [name for one in mine for name in one.names]
    described = [one.form for one in mine if one.form and not one.prefixes()]
    return fixed + described + [one.form for one in mine if one.prefixes()]


def known() -> str:
    """All that may be named, in a sentence."""
    return f"{', '.join(forms(ranks=True))}; for candidate sets {', '.join(forms(ranks=False))}"


def table() -> Iterator[tuple[str, str]]:
    """Names and forms with what they are, for the docs."""
    for one in types():
        yield from one.names.items()
        if one.form:
            yield one.form, one.about


def check_name(name: str) -> None:
    """Raise `UsageError` for a name that can mean nothing, with the nearest one that does.

    `ModuleNotFoundError` for one that needs a package which is not installed.
    """
    if not name.strip():
        raise UsageError(f"--model: names nothing. Known: {known()}")
    result = type_of(name)
    if result is None:
        prefix, colon, _ = name.partition(":")
        prefixes = [one for kind in types() for one in kind.prefixes()]
        whole = colon and did_you_mean(name, names())  # "static" is a kind of one name alone
        hint = did_you_mean(prefix, prefixes if colon else names()) or whole
        what = f"kind of model {prefix}:" if colon else "such model"
        raise UsageError(f"--model {name}: there is no {what}{hint or '.'} Known: {known()}")
    result.check(name)
    require_modules(*(package.replace("-", "_") for package in result.needs))


def ranks_a_corpus(name: str) -> bool:
    """False for a name that means something for candidate sets alone."""
    result = type_of(name)
    return result is None or result.ranks


def runs_a_model(name: str) -> bool:
    """False for what only counts words, or asks a chat model: options of embedders say nothing."""
    result = type_of(name)
    return result is None or result.runs_a_model(name)


def asked_models(name: str) -> list[ModelSettings]:
    """The models behind an API that a name holds: they cost money."""
    kind, (_, _, rest) = type_of(name), name.partition(":")
    if kind is None or not rest:
        return []
    own = kind.asked(name)
    return own or [one for part in rest.split("+") for one in asked_models(part)]


def retriever(name: str, options: Options) -> Retriever:
    """The retriever of a name. Raises `UsageError` for what cannot be loaded, with the reason."""
    check_name(name)
    if not ranks_a_corpus(name):
        raise UsageError(f"--model {name}: orders candidate sets, and ranks no corpus")
    loaded: Retriever = _known(name).load(name, options)
    return loaded


def systems(name: str, options: Options, loaded: Retriever | None = None) -> list[System]:
    """The scorers of candidate sets of a name; none where it has no score of a pair.

    `loaded`: its retriever, where there is one already.
    """
    result: list[System] = getattr(loaded or _known(name).load(name, options), "systems", list)()
    return result


def _known(name: str) -> RetrieverType:
    result = type_of(name)
    assert result is not None  # it was checked
    return result
