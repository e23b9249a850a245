"""Rules over any retrieval data set, found by file: a module here is one, or a close family.

A module defines subclasses of `CorpusRule`, which see the documents, `TextRule`, which see the
documents and, as if they were some, the queries, or `QueryRule`, which see queries and qrels. A
third party adds one by an entry point in the group `retgen.rules`. What rules share lies beside
this folder.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from retgen.plugins import classes
from retgen.validators.rule import (
    CorpusRule,
    Judgements,
    QueryRule,
    QueryTexts,
    Rule,
    RuleListing,
    TextRule,
)

GROUP = "retgen.rules"


@cache
def types() -> tuple[type[Rule], ...]:
    """All rules, bundled and installed, in the order of their findings."""
    result: tuple[type[Rule], ...] = classes(__name__, __path__, Rule, GROUP)
    return tuple(sorted(result, key=lambda one: (one.order, one.name)))


def corpus_rules(judgements: Judgements, covered: Container[str] = ()) -> list[CorpusRule]:
    """Rules over documents, but those that the family's proof covers."""
    return [
        one(judgements)
        for one in types()
        if issubclass(one, CorpusRule) and one.name not in covered
    ]


def query_rules(judgements: Judgements, covered: Container[str] = ()) -> list[QueryRule]:
    """Rules over queries and qrels, but those that the family's proof covers."""
    result: list[QueryRule] = []
    for one in types():
        if issubclass(one, TextRule) and (one.query_name or one.name) not in covered:
            result.append(QueryTexts(one(judgements), judgements))
        elif issubclass(one, QueryRule) and one.name not in covered:
            result.append(one(judgements))
    return result


def listed() -> tuple[RuleListing, ...]:
    """A row for every name that findings have, in their order."""
    rows: dict[str, RuleListing] = {}
    for row in (row for one in types() for row in one.table()):
        known = rows.get(row.name)  # two rules may look for the same thing in different places
        finds = f"{known.finds}; {row.finds}" if known else row.finds
        rows[row.name] = row._replace(finds=finds)
    return tuple(rows.values())
