"""The bundled attributes: enough, plain, and no two share a content word."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.generators.limit.words import (
    attribute_stems,
    bundled_attributes,
    bundled_files,
    half_of,
    load_names,
)
from retgen.tokenizer import content_stems, stems
from retgen.validators.limit import read_attributes, split_half

EVERYTHING = bundled_attributes()


def test_how_many() -> None:
    assert len(EVERYTHING) >= 2400
    categories = Counter(a.category for a in EVERYTHING)
    assert len(categories) >= 60
    assert min(categories.values()) >= 10
    assert [a.id for a in EVERYTHING] == list(range(len(EVERYTHING)))


def test_form() -> None:
    form = re.compile(r"(?!.*\b(?:and|or|And|Or)\b)[A-Z][A-Za-z]*(?:[ -][A-Za-z]+)*")
    assert [a.text for a in EVERYTHING if not form.fullmatch(a.text)] == []
    assert [a.text for a in EVERYTHING if len(a.text.split()) > 4] == []


def test_no_word_of_the_templates() -> None:
    words = {word for a in EVERYTHING for word in content_stems(a.text)}
    assert words.isdisjoint(stems(["who", "likes", "like"]))


def test_halves() -> None:
    halves = [{a.text for a in half_of(EVERYTHING, 42, split)} for split in ("test", "train")]
    everything = {a.text for a in EVERYTHING}
    assert halves[0] | halves[1] == everything
    assert halves[0].isdisjoint(halves[1])
    assert abs(len(halves[0]) - len(halves[1])) <= 1
    other = {a.text for a in half_of(EVERYTHING, 43, "test")}
    assert halves[0] != other
    # the proof, which shares no code, finds the same halves
    listed = read_attributes(bundled_files())
    assert [a.text for a in EVERYTHING] == listed
    assert [split_half(listed, 42, s) for s in ("test", "train")] == halves


def test_names() -> None:
    forbidden = attribute_stems(EVERYTHING)
    names = load_names(forbidden, 42, "test", 10_000_000)
    first, last = names.parts(np.arange(200_000))
    assert len(set(zip(first.tolist(), last.tolist(), strict=True))) == 200_000
    parts = [word.casefold() for word in (*names.first, *names.last)]
    assert not forbidden.intersection(stems(parts))
    train = load_names(forbidden, 42, "train", 10_000_000)
    assert set(train.last).isdisjoint(names.last)
    most = len(names.first) * len(names.last)
    with pytest.raises(RecipeError) as error:
        load_names(forbidden, 42, "test", most + 1)
    assert str(error.value) == (
        f"params.docs: {len(names.first):,} first names and {len(names.last):,} surnames make "
        f"{most:,} names, docs is {most + 1:,}"
    )
