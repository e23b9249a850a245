from __future__ import annotations

import numpy as np
import pytest

from retgen.streams import Permutation, Stream


def test_first_words_are_pinned() -> None:
    # a change here changes every data set ever made with a seed
    assert Stream(42, "a").integers(10**6, 4).tolist() == [671947, 608322, 305462, 607169]
    assert Permutation(42, "a", 10**7)(np.arange(4)).tolist() == [
        8338866,
        9972726,
        6928547,
        5075034,
    ]


def test_purposes_and_seeds_are_independent() -> None:
    first = Stream(42, "a").words(0, 8).tolist()
    assert first != Stream(42, "b").words(0, 8).tolist()
    assert first != Stream(43, "a").words(0, 8).tolist()


def test_record_i_is_the_same_in_any_block() -> None:
    bounds = np.array([7, 200, 3, 2**32 - 1, 45] * 5, np.uint64)
    whole = Stream(1, "x").draws(0, 100, bounds)
    assert (Stream(1, "x").draws(37, 61, bounds) == whole[37:61]).all()
    assert whole.shape == (100, 25)
    assert (whole < bounds.astype(np.int64)).all()
    assert (whole >= 0).all()


def test_integers_are_uniform_and_continue() -> None:
    stream = Stream(5, "y")
    values = np.concatenate([stream.integers(7, 3), stream.integers(7, 69_997)])
    counts = np.bincount(values, minlength=7)
    assert counts.sum() == 70_000
    assert abs(counts - 10_000).max() < 500  # five standard deviations


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1])
def test_impossible_bound(bound: int) -> None:
    with pytest.raises(ValueError, match=r"bound must be in 1\.\.2\*\*63"):
        Stream(1, "x").integers(bound, 1)


def test_one_integer_and_an_order_go_on_with_the_stream() -> None:
    one, other = Stream(1, "a"), Stream(1, "a")
    assert [one.below(6) for _ in range(3)] == [int(other.integers(6, 1)[0]) for _ in range(3)]
    assert one.shuffled("abcdef") == ["abcdef"[i] for i in other.permutation(6)]


def test_permutation_of_a_stream() -> None:
    assert sorted(Stream(1, "x").permutation(1000).tolist()) == list(range(1000))
    assert Stream(1, "x").permutation(0).tolist() == []


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 46, 1000, 99_999])
def test_permutation_is_a_bijection(size: int) -> None:
    images = Permutation(42, "names", size)(np.arange(size))
    assert sorted(images.tolist()) == list(range(size))


def test_permutation_looks_random() -> None:
    images = Permutation(42, "names", 50_000)(np.arange(50_000)).astype(float)
    assert abs(np.corrcoef(images, np.arange(50_000))[0, 1]) < 0.02
    assert abs(np.corrcoef(images[1:], images[:-1])[0, 1]) < 0.02


def test_permutation_reaches_far_without_a_table() -> None:
    permutation = Permutation(42, "names", 2**60)
    images = permutation(np.array([0, 2**60 - 1]))
    assert ((images >= 0) & (images < 2**60)).all()
    with pytest.raises(ValueError, match=r"size must be in 1\.\."):
        Permutation(42, "names", 0)
