"""The proof of twins: what is wrong with a triple is found and named."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generators.world_twins.made import twins

from .mutations import change_documents
from .sets import Row, Set


@pytest.fixture(scope="module")
def films() -> Set:
    return twins()


def own(tables: Set, role: str, place: int = 0) -> Row:
    """The document of a role in a triple."""
    triple = sorted({row["metadata"]["triple"] for row in tables.corpus})[place]
    return next(
        row
        for row in tables.corpus
        if (row["metadata"]["triple"], row["metadata"]["role"]) == (triple, role)
    )


def test_nothing_is_wrong(films: Set, tmp_path: Path) -> None:
    assert films.findings(tmp_path) == films.findings(tmp_path, parts=3) == []


@pytest.mark.slow
def test_contrasts_are_proven(tmp_path: Path) -> None:
    """As they are; with the labels of an exclusion on its twin, nothing is right."""
    tables = twins(contrasts=("include", "exclude", "compare", "superlative"))
    assert tables.findings(tmp_path) == []
    query = next(q for q in tables.queries if q["metadata"]["contrast"] == "include")
    query["metadata"]["contrast"] = "exclude"
    messages = [one.message for one in tables.findings(tmp_path)]
    triple = query["metadata"]["triple"]
    roles = {
        d["metadata"]["role"]: d["_id"] for d in tables.corpus if d["metadata"]["triple"] == triple
    }
    assert sorted(messages) == sorted(
        f"query {query['_id']}: the {role} {roles[role]} of its triple has {score} in the qrels"
        for role, score in (("base", 0), ("twin", 1), ("control", 0))
    )


def twin_is_its_base(tables: Set) -> str:
    base, twin = own(tables, "base"), own(tables, "twin")
    twin["text"], twin["metadata"]["facts"] = base["text"], base["metadata"]["facts"]
    slot = base["metadata"]["changed"]
    return f"document {twin['_id']}, the twin: must differ from its base in {slot} alone; it differs in none"


def control_in_the_words_of_its_base(tables: Set) -> str:
    base, control = own(tables, "base"), own(tables, "control")
    control["text"], control["metadata"]["facts"] = base["text"], base["metadata"]["facts"]
    return f"document {control['_id']}, the control: states its facts in the order of its base"


def twin_in_the_words_of_its_control(tables: Set) -> str:
    twin, control = own(tables, "twin"), own(tables, "control")
    twin["text"], twin["metadata"]["facts"] = control["text"], control["metadata"]["facts"]
    return f"document {twin['_id']}, the twin: is worded otherwise than its base, beyond the value that is changed"


def roles_exchanged(tables: Set) -> str:
    twin, control = own(tables, "twin"), own(tables, "control")
    twin["metadata"]["role"], control["metadata"]["role"] = "control", "twin"
    apart = ", ".join(sorted(set(twin["metadata"]["facts"]) ^ set(control["metadata"]["facts"])))
    return f"document {twin['_id']}, the control: does not state the facts of its base: {apart}"


def two_bases(tables: Set) -> str:
    control = own(tables, "control")
    control["metadata"]["role"] = "base"
    triple = control["metadata"]["triple"]
    return f"triple {triple} has the documents base, twin, not a base, a twin and a control"


def of_another_triple(tables: Set) -> str:
    one, other = own(tables, "control"), own(tables, "control", 1)
    one["metadata"]["triple"], other["metadata"]["triple"] = (
        other["metadata"]["triple"],
        one["metadata"]["triple"],
    )
    return f"document {one['_id']}, the control: has another title or changed slot than its base"


def another_changed_slot(tables: Set) -> str:
    slot = own(tables, "base")["metadata"]["changed"]
    twin = own(tables, "twin")
    for role in ("base", "twin", "control"):
        own(tables, role)["metadata"]["changed"] = "score"
    base = own(tables, "base")
    pair = next(
        both
        for both in zip(base["metadata"]["facts"], twin["metadata"]["facts"], strict=True)
        if both[0] != both[1]
    )
    assert slot != "score"
    return (
        f"document {twin['_id']}, the twin: must differ from its base in score alone; it differs in "
        f"{pair[0]} and {pair[1]}"
    )


def no_such_triple(tables: Set) -> str:
    query = tables.queries[0]
    query["metadata"]["triple"] = "t0"
    return f"query {query['_id']}: is about triple t0, of which there is none"


def another_length(tables: Set) -> str:
    query = tables.queries[0]
    length = query["metadata"]["length"]
    query["metadata"]["length"] = 5
    return f"query {query['_id']}: its length is {length}, its metadata says 5"


def twin_without_a_row(tables: Set) -> str:
    query = tables.queries[0]
    triple = query["metadata"]["triple"]
    twin = next(
        row["_id"]
        for row in tables.corpus
        if (row["metadata"]["triple"], row["metadata"]["role"]) == (triple, "twin")
    )
    for rows in (tables.qrels, tables.grades):
        rows[:] = [x for x in rows if (x["query-id"], x["corpus-id"]) != (query["_id"], twin)]
    return f"query {query['_id']}: the twin {twin} of its triple has no row in the qrels"


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        twin_is_its_base,
        control_in_the_words_of_its_base,
        twin_in_the_words_of_its_control,
        roles_exchanged,
        two_bases,
        of_another_triple,
        another_changed_slot,
        no_such_triple,
        another_length,
        twin_without_a_row,
    ],
    ids=lambda change: change.__name__,
)
def test_what_is_wrong_with_a_triple(
    films: Set, tmp_path: Path, change: Callable[[Set], str]
) -> None:
    tables = films.copy()
    message = change(tables)
    found = tables.findings(tmp_path)
    assert message in [finding.message for finding in found], [f.message for f in found]
    assert {finding.severity for finding in found} == {"error"}


@pytest.mark.parametrize("seed", [1, 2])
def test_random_changes_of_documents_are_caught(films: Set, tmp_path: Path, seed: int) -> None:
    """Twelve kinds; of names and facts, of sentences and their order."""
    tables = films.copy()
    done = change_documents(films.domain, tables.corpus, seed)
    changed = {i for ids in done.values() for i in ids}
    named = {one for finding in tables.findings(tmp_path) for one in finding.ids}
    assert len(changed) > 50
    assert changed - named == set()


@pytest.mark.parametrize("role", ["base", "twin", "control"])
def test_facts_changed_in_text_and_metadata_alike_are_caught(
    films: Set, tmp_path: Path, role: str
) -> None:
    """A document of each triple that agrees with itself, and no longer with its triple."""
    domain, chance = films.domain, random.Random(5)
    tables = Set(films.family, films.job, copy.deepcopy(films.corpus), [], [], [])
    changed = set()
    for row in tables.corpus:
        note = row["metadata"]
        listed = [
            (place, name, value)
            for place, fact in enumerate(note["facts"])
            for name, _, value in [fact.partition("=")]
            # a third value of the changed slot in the twin makes a twin as well
            if domain.slots[name].is_listed and (role, name) != ("twin", note["changed"])
        ]
        if note["role"] != role or not listed:
            continue
        place, name, value = chance.choice(listed)
        new = chance.choice([v.name for v in domain.slots[name].values if v.name != value])
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", new, row["text"], flags=re.I)
        row["text"] = ". ".join(one[:1].upper() + one[1:] for one in text.split(". "))
        note["facts"][place] = f"{name}={new}"
        changed.add(note["triple"])
    of = {row["_id"]: row["metadata"]["triple"] for row in tables.corpus}
    named = {of[one] for finding in tables.findings(tmp_path) for one in finding.ids}
    assert len(changed) >= 25
    assert changed == named
