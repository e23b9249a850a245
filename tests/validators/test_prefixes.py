"""The join by rarest words, against a comparison of all pairs of sets that are hard for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from retgen.validators import prefixes
from retgen.validators.prefixes import Prefixes
from retgen.validators.similar import groups, matches
from retgen.validators.wordsets import word_sets

Texts = list[list[str]]


def alike(a: list[str], b: list[str]) -> bool:
    return bool(a and b) and 5 * len({*a} & {*b}) >= 4 * len({*a} | {*b})


def even(draw: random.Random) -> list[str]:
    return [f"w{draw.randrange(15)}" for _ in range(draw.randrange(40))]


def zipf(draw: random.Random) -> list[str]:
    return [f"w{int(draw.paretovariate(0.7)) % 1000}" for _ in range(draw.randrange(60))]


def ties(draw: random.Random) -> list[str]:
    """Sets of 4, 5, 8, 9 and 10 of twelve words: many pairs share exactly four fifths."""
    return draw.sample([f"w{i}" for i in range(12)], draw.choice([4, 5, 8, 9, 10]))


def near(draw: random.Random) -> list[str]:
    """A template with a name, now and then with words of another one."""
    words = [f"likes{i}" for i in range(20)]
    return [f"name{draw.randrange(500)}", *draw.sample(words, draw.choice([20, 20, 19, 16]))]


@pytest.mark.parametrize("make", [even, zipf, ties, near])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_no_similar_pair_is_left_out(
    make: Callable[[random.Random], list[str]], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "_CHUNK", step)
    monkeypatch.setattr(prefixes, "_BLOCK", 32)
    monkeypatch.setattr(prefixes, "_PAIRS_A_WORD", 1 << 20)
    draw = random.Random(7)
    made: Texts = [make(draw) for _ in range(70)]
    made += [[*draw.choice(made)[:-1], "another"] for _ in range(20)]
    similar = {(i, j) for i, j in combinations(range(90), 2) if alike(made[i], made[j])}
    assert len(similar) > 10
    table = Prefixes(word_sets(made), 0.8)
    alone = np.arange(90)
    for labels in (alone, alone // 30, alone % 2, np.array([draw.randrange(90) for _ in alone])):
        wanted = {(i, j) for i, j in similar if labels[i] != labels[j]}
        chunks = table.pairs(labels)
        assert chunks is not None
        result = {
            (min(p), max(p)) for a, b in chunks for p in zip(a.tolist(), b.tolist(), strict=True)
        }
        assert wanted <= result


def test_words_of_one_bucket_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefixes, "_BUCKET_BITS", 2)
    monkeypatch.setattr(prefixes, "_BUCKETS", 3)
    monkeypatch.setattr(prefixes, "_PAIRS_A_WORD", 1 << 20)
    draw = random.Random(8)
    made = [ties(draw) for _ in range(40)] + [[f"u{i}-{j}" for j in range(9)] for i in range(40)]
    labels, exact = groups(word_sets(made))
    assert exact
    first = list(range(80))
    for i, j in combinations(range(80), 2):
        if alike(made[i], made[j]) and first[i] != first[j]:
            low, high = sorted((first[i], first[j]))
            first = [low if one == high else one for one in first]
    assert labels.tolist() == first
    assert len(set(first)) == 56


def test_many_equal_sets_end_exactly() -> None:
    """Each of 6,000 with each other is too much to look at: their groups are known before."""
    same = [f"w{i}" for i in range(10)]
    made = [same] * 6000 + [[]] * 3 + [["else", f"x{i}"] for i in range(5)]
    made += [[*same, "one"], [*same[:8], "two", "three"], [*same[:7], "far"]]
    labels, exact = groups(word_sets(made))
    # 10 of 11 and 8 of 12 words are shared with the many, 7 of 11
    apart = list(range(6000, 6008))
    assert labels.tolist() == [0] * 6000 + apart + [0, 6009, 6010]
    assert exact
    pairs, exact = matches(word_sets(made), 6000)
    assert pairs[:, 0].tolist() == list(range(6000))
    assert set(pairs[:, 1].tolist()) == {6008}
    assert exact


def test_nothing_to_compare() -> None:
    for made in ([], [[]], [[], []], [["one"]]):
        labels, exact = groups(word_sets(made))
        assert (labels.tolist(), exact) == (list(range(len(made))), True)
        assert matches(word_sets(made), 0)[0].shape == (0, 2)
