"""Choices: the right document is relevant by the qrels, the wrong ones are not; controls differ in
one thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from rapidfuzz.distance import OSA

from retgen.diagnosis.abilities import (
    ABILITIES,
    CONTROL,
    NOISES,
    Ability,
    Choice,
    endings,
    typos,
)
from retgen.search.collection import Collection

Collections = Callable[[Ability], list[Collection]]
BY_NAME = {one.name: one for one in ABILITIES}


def read(name: str, collections_of: Collections) -> list[Choice]:
    return list(BY_NAME[name].read(*collections_of(BY_NAME[name])))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"noise"}))
def test_right_and_wrong_as_the_qrels_say(name: str, collections_of: Collections) -> None:
    collections = collections_of(BY_NAME[name])
    relevant: set[tuple[str, str]] = set()
    texts: set[str] = set()
    for collection in collections:
        ids = [one.decode() for one in collection.doc_ids.tolist()]
        text = dict(
            zip(ids, (t for _, block in collection.blocks(999) for t in block), strict=True)
        )
        texts.update(text.values())
        for query in collection.queries:
            relevant |= {
                (query.text, text[doc])
                for doc, grade in collection.qrels[query.query_id].items()
                if grade > 0
            }
    choices = read(name, collections_of)
    assert choices
    for one in choices:
        assert (one.query, one.right) in relevant
        assert one.wrong
        assert all(wrong in texts and (one.query, wrong) not in relevant for wrong in one.wrong)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_control_beside_each_test(name: str, collections_of: Collections) -> None:
    """Of every unit, but where documents themselves are what is tested."""
    choices = read(name, collections_of)
    tested = {one.unit for one in choices if one.level != CONTROL}
    control = {one.unit for one in choices if one.level == CONTROL}
    assert tested
    assert control
    if name != "combinations":
        assert tested == control


def test_the_same_two_documents(collections_of: Collections) -> None:
    """Of all abilities that ask another query about them."""
    same = "exclusions", "ranges", "superlatives", "words", "step", "conditions", "styles", "noise"
    for name in same:
        documents: dict[str, set[frozenset[str]]] = {}
        for one in read(name, collections_of):
            documents.setdefault(one.unit, set()).add(frozenset((one.right, *one.wrong)))
        assert {len(of) for of in documents.values()} == {1}, name


def test_counts(collections_of: Collections) -> None:
    """Fourteen triples of seven types of facts, 24 of numbers; three ladders."""
    counts = {
        name: dict(Counter(one.level for one in read(name, collections_of)))
        for name in (
            "exclusions",
            "names",
            "numbers",
            "words",
            "step",
            "conditions",
            "styles",
            "noise",
        )
    }
    assert counts == {
        "exclusions": {"but not": 14, CONTROL: 14},
        "names": {"one fact": 8, CONTROL: 8},
        "numbers": {"one fact": 24, CONTROL: 24},
        "words": {"other words": 14, CONTROL: 14},
        "step": {"one step up": 10, CONTROL: 10},
        "conditions": {"10 conditions": 3, CONTROL: 3},
        "styles": {"instruction": 9, CONTROL: 9},
        "noise": {**dict.fromkeys(NOISES, 8), CONTROL: 8},
    }
    pairs = read("combinations", collections_of)
    assert Counter(one.level for one in pairs) == {"all pairs": 80, CONTROL: 20}
    assert {len(one.wrong) for one in pairs if one.level == "all pairs"} == {8}
    assert {len(one.wrong) for one in pairs if one.level == CONTROL} == {18}


def test_where_the_answer_stands(collections_of: Collections) -> None:
    """Long texts by quarter; places are the first and the last third."""
    lengths = read("length", collections_of)
    assert {one.level for one in lengths} == {"1,024 tokens", CONTROL}
    assert {one.group for one in lengths} == {
        f"{start} to {start + 25}% into the text" for start in (0, 25, 50, 75)
    }
    ends = Counter(one.level for one in read("place", collections_of))
    assert ends == {"at the end": 22, CONTROL: 22}


QUERY = "Find every film that is set in Leipzig and whose plot turns on a missing necklace."


def test_typos_are_two_swaps_of_neighbours() -> None:
    assert typos(QUERY) == typos(QUERY) != QUERY
    assert OSA.distance(QUERY, typos(QUERY)) == 2
    assert len(typos(QUERY)) == len(QUERY)
    first = [word[0] for word in QUERY.split()]
    assert [word[0] for word in typos(QUERY).split()] == first
    assert typos("a film of 1987") == "a film of 1987"  # no word is long enough


def test_endings() -> None:
    assert endings("films turning on a missing necklace in Leipzig, class dresses") == (
        "film turning on a missing necklaces in Leipzig, class dresse"
    )
