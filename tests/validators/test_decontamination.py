"""What a test set holds too is dropped, with the pair named; nothing else is."""

from __future__ import annotations

import json
import random

import pytest

from retgen.data import open_dataset
from retgen.errors import DatasetError
from retgen.tokenizer import sequence
from retgen.validators.decontamination import (
    Drop,
    HeldOut,
    contained,
    decontaminated,
    read_test_set,
)
from tests.conftest import Write

EIGHT = "the cat sat on the old red mat"
HAN = "图片显示一只小猫坐在红色的旧垫子"  # 16 characters


def by_hand(texts: list[str], others: list[str]) -> list[tuple[int, int]]:
    """Every pair, compared as text with a sign around every token."""
    own, theirs = (
        [" " + " ".join(sequence(text)) + " " for text in some] for some in (texts, others)
    )

    def enough(text: str) -> bool:
        return sum(0.5 if "一" <= token <= "鿿" else 1.0 for token in text.split()) >= 8

    pairs = []
    for i, text in enumerate(own):
        for j, other in enumerate(theirs):
            shorter, longer = sorted((text, other), key=len)
            if text.split() and (text == other or (shorter in longer and enough(shorter))):
                pairs.append((i, j))
                break
    return pairs


@pytest.mark.parametrize(
    ("text", "other", "held"),
    [
        (EIGHT, f"Look: {EIGHT.upper()}!", True),
        (f"Look: {EIGHT}, again", EIGHT, True),
        (EIGHT.removeprefix("the "), f"{EIGHT} again", False),  # seven words
        (EIGHT, "the cat sat on the old, very red mat", False),
        (EIGHT, f"{EIGHT}ch", False),  # whole words
        ("mat", "a mat", False),
        ("Mat!", "mat", True),
        ("猫", "猫。", True),
        (HAN, f"在家里，{HAN}上睡觉", True),
        (HAN[1:], f"在家里，{HAN}上睡觉", False),  # 15 characters
        (f"在家里，{HAN}上睡觉", HAN, True),
        ("", "", False),
        ("…", "!", False),
        ("", EIGHT, False),
    ],
)
def test_contained(text: str, other: str, held: bool) -> None:
    assert contained([text], [other]) == ([(0, 0)] if held else [])
    assert by_hand([text], [other]) == ([(0, 0)] if held else [])


@pytest.mark.parametrize("words", [["a", "b"], [f"w{i}" for i in range(40)], list("猫狗树车a")])
def test_contained_against_a_look_at_every_pair(words: list[str]) -> None:
    draw = random.Random(1)
    texts = [" ".join(draw.choices(words, k=draw.randrange(30))) for _ in range(150)]
    others = []
    for text in texts[:100]:
        tokens = text.split()
        cut = draw.randrange(len(tokens) // 2 + 1)
        before, after = ([draw.choice(words)] * draw.randrange(2) for _ in range(2))
        part = tokens[cut:] if draw.random() < 0.5 else tokens
        others.append(" ".join([*before, *part, *after]))
    expected = by_hand(texts, others)
    assert contained(texts, others) == expected
    assert 20 < len(expected) < 150


def test_a_thousand_copies_name_the_first() -> None:
    copies, around = [EIGHT] * 1000, ["something else", *[f"x {EIGHT} y"] * 1000]
    assert contained(copies, around) == [(place, 1) for place in range(1000)]
    assert contained(around, copies) == [(place, 0) for place in range(1, 1001)]


def test_drops_name_kind_test_set_and_pair() -> None:
    passages = {
        "p1": "A photo of two dogs running on a wet beach at dawn",
        "p2": "Receipt of a book shop",
        "p3": f"Yesterday evening, when we came home from work, {EIGHT} and would not move at all",
        "p4": "",
    }
    queries = {"p1": "book shop", "q2": "Two DOGS", "q3": "dogs", "q4": "wet beach at dawn"}
    first = HeldOut("first", {"d1": "two dogs running on a wet beach at night"}, {"k": "two dogs!"})
    second = HeldOut("second", {"d1": passages["p1"], "d2": ""}, {"k1": EIGHT, "k2": "no"})
    result = decontaminated(passages, queries, [first, second])
    assert result.drops == [
        Drop("passage", "p1", "first", "passage", "d1", pytest.approx(16 / 21)),
        Drop("passage", "p3", "second", "query", "k1", None),
        Drop("query", "q2", "first", "query", "k", 1.0),
        Drop("query", "q3", "first", "query", "k", pytest.approx(2 / 3)),
    ]
    assert result.passages == {"p2": passages["p2"], "p4": ""}
    assert result.queries == {"p1": "book shop", "q4": "wet beach at dawn"}
    assert [drop.reason for drop in result.drops] == [
        "ROUGE-L F1 0.76 with passage d1 of first",
        "contained in query k1 of second, or contains it",
        "ROUGE-L F1 1.00 with query k of first",
        "ROUGE-L F1 0.67 with query k of first",
    ]
    assert [drop.to_json() for drop in result.drops[1:4:2]] == [
        {
            "kind": "passage", "id": "p3", "test_set": "second", "test_kind": "query",
            "test_id": "k1", "f1": None, "rule": "contained",
        },
        {
            "kind": "query", "id": "q3", "test_set": "first", "test_kind": "query",
            "test_id": "k", "f1": 0.6667, "rule": "rouge-l",
        },
    ]  # fmt: skip
    assert [drop.id for drop in decontaminated(passages, queries, [first], 0.7).drops] == [
        "p1",
        "q2",
    ]
    assert decontaminated(passages, queries, []).drops == []


@pytest.mark.parametrize(
    ("passages", "queries", "counts"),
    [
        ({}, {}, "passages: 0, queries: 0"),
        ({"d1": "", "d2": " … "}, {"q1": ""}, "passages: 2, queries: 1"),
    ],
)
def test_a_test_set_without_text(
    passages: dict[str, str], queries: dict[str, str], counts: str
) -> None:
    with pytest.raises(DatasetError) as caught:
        decontaminated({"p": "a"}, {}, [HeldOut("mteb:Nothing", passages, queries)])
    assert str(caught.value) == (
        f"mteb:Nothing: the test set has no text ({counts}, none with a word), so nothing can be "
        "compared with it. Give a data set whose rows have texts, not ids alone."
    )


def test_a_test_set_is_read_with_its_titles(dataset: Write) -> None:
    folder = dataset({"d1": "On mats.", "d2": "Dogs."}, {"q1": "mats"}, [("q1", "d1", 1)])
    corpus = folder / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('"title": ""', '"title": "Cats"', 1))
    assert read_test_set("own", open_dataset(folder)) == HeldOut(
        "own", {"d1": "Cats\nOn mats.", "d2": "Dogs."}, {"q1": "mats"}
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("corpus", "corpus.jsonl, line 2: has no text"),
        ("queries", "queries.jsonl, line 1: has no text"),
    ],
)
def test_a_test_set_of_ids_alone(dataset: Write, table: str, message: str) -> None:
    folder = dataset({"d1": "On mats.", "d2": "Dogs."}, {"q1": "mats"}, [("q1", "d1", 1)])
    file = folder / f"{table}.jsonl"
    *lines, last = file.read_text().splitlines()
    row = json.loads(last)
    file.write_text("\n".join([*lines, json.dumps({"_id": row["_id"]})]) + "\n")
    with pytest.raises(DatasetError) as caught:
        read_test_set(str(folder), open_dataset(folder))
    assert str(caught.value) == (f"{folder}/{message}; `gen validate {folder}` lists all such rows")
