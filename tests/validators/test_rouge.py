"""ROUGE-L against rouge-score itself, and all pairs above a threshold against a look at every one."""

from __future__ import annotations

import inspect
import json
import random
import string
from collections.abc import Callable

import pytest
from rouge_score.rouge_scorer import RougeScorer

from retgen.tokenizer import sequence
from retgen.validators import decontamination
from retgen.validators.decontamination import Pair, overlapping, rouge_l

WORDS = "a the of red blue cat dog tree car on in under two 3 old street lamp river stone".split()
HAN = "图片显示了一个红色蓝色的猫狗树车在河边老街灯"


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
    pieces = ["".join(draw.choices(HAN, k=draw.randrange(1, 8))) for _ in range(draw.randrange(6))]
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


def best(texts: list[str], others: list[str], scorer: RougeScorer, least: float) -> list[Pair]:
    """By rouge-score, every pair looked at."""
    pairs = []
    for i, text in enumerate(texts):
        scores = [f1(text, other, scorer) for other in others]
        highest = max(scores)
        if highest > least:
            pairs.append(Pair(i, scores.index(highest), highest))
    return pairs


def test_f1_is_that_of_rouge_score_to_the_last_bit() -> None:
    draw = random.Random(1)
    pairs = [(english(draw), english(draw)) for _ in range(2000)]
    printable = string.printable
    pairs += [
        ("".join(draw.choices(printable, k=60)), "".join(draw.choices(printable, k=90)))
        for _ in range(500)
    ]
    assert sum(rouge_l(sequence(a), sequence(b)) != f1(a, b) for a, b in pairs) == 0
    assert sum(f1(a, b) > 0 for a, b in pairs) > 1500


@pytest.mark.slow
def test_f1_of_real_english_is_that_of_rouge_score() -> None:
    """What the standard library says of itself: first paragraphs of docstrings."""
    texts = [
        inspect.getdoc(one) or ""
        for module in (json, random, string, inspect)
        for one in vars(module).values()
        if inspect.isroutine(one) or inspect.isclass(one)
    ]
    texts = [text for text in dict.fromkeys(texts) if text and text.isascii()]
    assert len(texts) > 80
    assert [sequence(text) for text in texts] == [REFERENCE._tokenizer.tokenize(t) for t in texts]
    pairs = list(zip(texts, texts[1:] + texts[:1], strict=True))
    assert sum(rouge_l(sequence(a), sequence(b)) != f1(a, b) for a, b in pairs) == 0
    assert overlapping(texts, texts[::2], 0.5) == best(texts, texts[::2], REFERENCE, 0.5)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man's snake_case, 2nd DRAFT", ["a", "man", "s", "snake", "case", "2nd", "draft"]),
        ("一只cat在跑", ["一", "只", "cat", "在", "跑"]),
        ("Café Ⅳ＿ＡＢ", ["café", "iv", "ab"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("שלום 👍", ["שלום"]),
        ("!? …", []),
    ],
)
def test_tokens_of_every_script(text: str, tokens: list[str]) -> None:
    assert sequence(text) == tokens


def test_an_empty_text_is_like_nothing() -> None:
    assert rouge_l([], []) == rouge_l(["a"], []) == rouge_l([], ["a"]) == 0.0
    assert overlapping(["", "!?", "a b"], ["", "…", "b a c d"]) == []
    assert overlapping([], ["a"]) == overlapping(["a"], []) == overlapping([], []) == []


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.95])
@pytest.mark.parametrize(
    ("make", "scorer"), [(english, REFERENCE), (mixed, ANY_SCRIPT)], ids=["english", "chinese"]
)
def test_the_pairs_are_those_of_all_pairs(
    make: Callable[[random.Random], str], scorer: RougeScorer, threshold: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    texts, others = near(random.Random(2), make, 120), near(random.Random(2), make, 60)[::-1]
    expected = best(texts, others, scorer, threshold)
    assert overlapping(texts, others, threshold) == expected
    assert 40 < len(expected) < 120
    monkeypatch.setattr(decontamination, "_ROWS", 7)
    monkeypatch.setattr(decontamination, "_COLUMNS", 5)  # many steps
    assert overlapping(texts, others, threshold) == expected


@pytest.mark.parametrize("bits", [1, 8, 64])
def test_long_texts_and_any_number_of_parities(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    monkeypatch.setattr(decontamination, "_BITS_A_TOKEN", bits)
    vocabulary = [f"w{i}" for i in range(2000)]
    texts, others = [], []
    for _ in range(40):
        words = draw.choices(vocabulary, k=draw.choice([3, 30, 300, 1500]))
        others.append(" ".join(words))
        kept = [word for word in words if draw.random() < 0.6]
        texts.append(" ".join(kept + draw.choices(vocabulary, k=len(words) // 5)))
    expected = [
        Pair(i, *max(((j, rouge_l(sequence(a), sequence(b))) for j, b in enumerate(others)), key=lambda p: p[1]))
        for i, a in enumerate(texts)
    ]  # fmt: skip
    assert overlapping(texts, others) == [pair for pair in expected if pair.f1 > 0.6]
    assert 10 < sum(pair.f1 > 0.6 for pair in expected) < 40


def test_more_distinct_tokens_than_code_points(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, others = near(random.Random(4), english, 80), near(random.Random(4), english, 80)[::-1]
    expected = overlapping(texts, others)
    assert len(expected) > 40
    monkeypatch.setattr(decontamination, "_CODE_POINTS", 5)
    assert overlapping(texts, others) == expected
    monkeypatch.undo()
    # 60,000 tokens: among the code points are halves of surrogate pairs
    many = " ".join(f"w{i}" for i in range(60_000))
    assert overlapping([many], ["w1", many]) == [Pair(0, 1, 1.0)]


def test_of_equally_similar_others_the_first_is_named() -> None:
    assert overlapping(["a b c d"], ["x", "a b c e", "d a b c", "e a b c"]) == [Pair(0, 1, 0.75)]
    copies = ["one and the same text"] * 700
    assert overlapping(copies, copies) == [Pair(i, 0, 1.0) for i in range(700)]


def test_the_threshold_itself_is_decided_as_rouge_score_decides_it() -> None:
    """3 of 5 tokens are 0.6, and not above it; of 14 and 16 with 9 in common rounding says more."""
    for a, b, dropped in ((5, 5, []), (14, 16, [Pair(0, 0, 0.6000000000000001)])):
        shared = 3 * (a + b) // 10
        text = " ".join(f"s{i}" for i in range(shared))
        one = text + "".join(f" x{i}" for i in range(a - shared))
        other = text + "".join(f" y{i}" for i in range(b - shared))
        assert overlapping([one], [other]) == dropped
        assert (f1(one, other) > 0.6) == bool(dropped)


@pytest.mark.parametrize("threshold", [0, 1, 1.5, -0.1, float("nan")])
def test_a_threshold_that_is_none(threshold: float) -> None:
    with pytest.raises(ValueError, match=r"^threshold .*: give a number above 0 and below 1$"):
        overlapping(["a"], ["a"], threshold)
