"""What a test set holds too is dropped, with the pair named; ROUGE-L is rouge-score's own."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from rouge_score.rouge_scorer import RougeScorer

from retgen.errors import DatasetError
from retgen.tokenizer import sequence
from retgen.validators import decontamination
from retgen.validators.decontamination import (
    Drop,
    HeldOut,
    drop_overlapping,
    overlapping,
)
from tests.work.work import Eager

NEARLY = 0.9999  # equal texts are above it, and no others
EIGHT = "the cat sat on the old red mat"
HAN = "图片显示一只小猫坐在红色的旧垫子"  # 16 characters


def contained(texts: list[str], others: list[str]) -> list[tuple[int, int]]:
    return [(text, other) for text, (other, _) in overlapping(texts, others, NEARLY).items()]


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


def test_drops_name_the_test_set_and_its_text() -> None:
    texts = {
        "p1": "A photo of two dogs running on a wet beach at dawn",
        "p2": "Receipt of a book shop",
        "p3": f"Yesterday evening, when we came home from work, {EIGHT} and would not move at all",
        "p4": "",
        "q2": "Two DOGS",
        "q3": "dogs",
        "q4": "wet beach at dawn",
    }
    first = HeldOut("first", {"d1": "two dogs running on a wet beach at night"}, {"k": "two dogs!"})
    second = HeldOut("second", {"d1": texts["p1"], "d2": ""}, {"k1": EIGHT, "k2": "no"})
    drops = drop_overlapping(texts, [first, second])
    assert drops == {
        "p1": Drop("first", "passage", "d1", pytest.approx(16 / 21)),
        "p3": Drop("second", "query", "k1", None),
        "q2": Drop("first", "query", "k", 1.0),
        "q3": Drop("first", "query", "k", pytest.approx(2 / 3)),
    }
    assert [*drops] == ["p1", "p3", "q2", "q3"]
    assert [drop.reason for drop in drops.values()] == [
        "ROUGE-L F1 0.76 with passage d1 of first",
        "contained in query k1 of second, or contains it",
        "ROUGE-L F1 1.00 with query k of first",
        "ROUGE-L F1 0.67 with query k of first",
    ]
    assert [*drop_overlapping(texts, [first], 0.7)] == ["p1", "q2"]
    assert drop_overlapping(texts, []) == {}


def test_the_same_in_one_process_and_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(2)
    test = {str(i): english(draw) for i in range(40)}
    texts = {f"t{i}": test[str(i)] if i % 2 and i < 40 else english(draw) for i in range(90)}
    held = [HeldOut("first", test, {}), HeldOut("second", {"d": EIGHT}, {"q": "a b"})]
    alone = drop_overlapping(texts, held)
    assert len(alone) == 21
    assert [*alone] == [name for name in texts if name in alone]
    monkeypatch.setattr(decontamination, "PART", 13)
    for workers in (1, 2):
        made = drop_overlapping(texts, held, engine=Eager(workers))
        assert list(made.items()) == list(alone.items())


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
        drop_overlapping({"p": "a"}, [HeldOut("mteb:Nothing", passages, queries)])
    assert str(caught.value) == (
        f"mteb:Nothing: the test set has no text ({counts}, none with a word), so nothing can be "
        "compared with it. Give a data set whose rows have texts, not ids alone."
    )


# --- ROUGE-L, against rouge-score itself and against a look at every pair ---

WORDS = "a the of red blue cat dog tree car on in under two 3 old street lamp river stone".split()
CHINESE = "图片显示了一个红色蓝色的猫狗树车在河边老街灯"


class ByTheTokenizer:
    """rouge-score keeps [a-z0-9] only, so that for Chinese it needs a tokenizer."""

    def tokenize(self, text: str) -> list[str]:
        return sequence(text)


REFERENCE = RougeScorer(["rougeL"])
ANY_SCRIPT = RougeScorer(["rougeL"], tokenizer=ByTheTokenizer())


def f1(a: str, b: str, scorer: RougeScorer = REFERENCE) -> float:
    return float(scorer.score(a, b)["rougeL"].fmeasure)


def english(draw: random.Random) -> str:
    words = draw.choices(WORDS, k=draw.randrange(0, 24))
    marks = draw.choices([" ", ", ", " - ", "_", "'s ", "… ", " “", "🎂 ", "\n"], k=len(words))
    return "".join(w + m for w, m in zip(words, marks, strict=True)).title()


def mixed(draw: random.Random) -> str:
    """Chinese of up to 40 characters, some words and figures between them."""
    pieces = [
        "".join(draw.choices(CHINESE, k=draw.randrange(1, 8))) for _ in range(draw.randrange(6))
    ]
    return "，".join(p + draw.choice(["", " GPS", "12", "Ａｐｐ"]) for p in pieces)


def near(draw: random.Random, make: Callable[[random.Random], str], count: int) -> list[str]:
    """Texts, half of them an earlier one with a stretch of another one put in."""
    made: list[str] = []
    for _ in range(count):
        text = make(draw)
        if made and draw.random() < 0.5:
            other = draw.choice(made)
            cut = draw.randrange(len(other) + 1)
            text = other[:cut] + text[: draw.randrange(12)] + other[cut + draw.randrange(12) :]
        made.append(text)
    return made


Pairs = list[tuple[int, int, float]]


def alike(texts: list[str], others: list[str], threshold: float = 0.6) -> Pairs:
    """The pairs above the threshold, less what only stands whole in another."""
    pairs = overlapping(texts, others, threshold)
    return [(text, other, f1) for text, (other, f1) in pairs.items() if f1 is not None]


def best(texts: list[str], others: list[str], scorer: RougeScorer, least: float) -> Pairs:
    """By rouge-score, every pair looked at."""
    scores = [[f1(text, other, scorer) for other in others] for text in texts]
    return [(i, one.index(max(one)), max(one)) for i, one in enumerate(scores) if max(one) > least]


def test_an_empty_text_is_like_nothing() -> None:
    assert overlapping(["", "!?", "a b"], ["", "…", "b a c d"]) == {}
    assert overlapping([], ["a"]) == overlapping(["a"], []) == overlapping([], []) == {}


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.95])
@pytest.mark.parametrize(
    ("make", "scorer"), [(english, REFERENCE), (mixed, ANY_SCRIPT)], ids=["english", "chinese"]
)
def test_the_pairs_are_those_of_all_pairs(
    make: Callable[[random.Random], str],
    scorer: RougeScorer,
    threshold: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, others = near(random.Random(2), make, 120), near(random.Random(2), make, 60)[::-1]
    expected = best(texts, others, scorer, threshold)
    assert alike(texts, others, threshold) == expected
    assert 40 < len(expected) < 120
    monkeypatch.setattr(decontamination, "ROWS", 7)
    monkeypatch.setattr(decontamination, "COLUMNS", 5)  # many steps
    assert alike(texts, others, threshold) == expected


def test_the_threshold_itself_is_decided_as_rouge_score_decides_it() -> None:
    """3 of 5 tokens are 0.6, and not above it; of 14 and 16 with 9 in common rounding says more."""
    for a, b, dropped in ((5, 5, []), (14, 16, [(0, 0, 0.6000000000000001)])):
        shared = 3 * (a + b) // 10
        text = " ".join(f"s{i}" for i in range(shared))
        one = text + "".join(f" x{i}" for i in range(a - shared))
        other = text + "".join(f" y{i}" for i in range(b - shared))
        assert alike([one], [other]) == dropped
        assert (f1(one, other) > 0.6) == bool(dropped)
