"""Queries without a model: keyphrases and summaries in telegram style, by language."""

from __future__ import annotations

from collections import Counter

import pytest

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import has_baseline
from retgen.generators.capretrieval.offline import (
    in_few_words,
    rule_queries,
    sentences,
)
from retgen.generators.capretrieval.passages import PassageQuery
from tests.generators.capretrieval.texts import CHINESE, ENGLISH, FRENCH, GERMAN, HEBREW, JAPANESE

NO_COUNTS = CorpusCounts()


def keyphrases(text: str, language: str, count: int = 8) -> list[PassageQuery]:
    return rule_queries(text, language, (count, 0), NO_COUNTS, [(0, len(text))])


def summaries(text: str, language: str, count: int = 3) -> list[PassageQuery]:
    return rule_queries(text, language, (0, count), NO_COUNTS, [(0, len(text))])


@pytest.mark.parametrize(
    ("text", "language", "best", "held"),
    [
        (ENGLISH, "en", "windmill", {"river bank", "village", "Sunday morning", "fresh bread"}),
        (GERMAN, "de", "alte Brücke", {"Frühling", "Handwerkern", "Fluss"}),
        (FRENCH, "fr", "marché", {"village vend", "légumes frais", "fromage", "chèvre"}),
        (CHINESE, "zh", "店门口", {"三轮车", "西瓜", "石桥", "黑猫"}),
    ],
)
def test_keyphrases_stand_in_the_passage(
    text: str, language: str, best: str, held: set[str]
) -> None:
    result = keyphrases(text, language)
    assert result[0].text == best
    assert held <= {one.text for one in result}
    assert [text[slice(*one.span)] for one in result] == [one.text for one in result]
    assert [one.score for one in result] == sorted((one.score for one in result), reverse=True)
    assert len({one.text.casefold() for one in result}) == len(result)


@pytest.mark.parametrize(("text", "language"), [(HEBREW, "he"), (JAPANESE, "ja"), (ENGLISH, "xx")])
def test_languages_without_rules_get_nothing(text: str, language: str) -> None:
    assert not has_baseline(language)
    assert keyphrases(text, language) == []
    assert summaries(text, language) == []


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            ENGLISH,
            "en",
            [
                "windmill river bank restored volunteers village",
                "grinds wheat flour Sunday morning",
                "Visitors buy fresh bread bakery door",
            ],
        ),
        (
            GERMAN,
            "de",
            [
                "alte Brücke Fluss Frühling Handwerkern Dorf erneuert",
                "Abend feierten Einwohner Musik Tanz Marktplatz",
            ],
        ),
        (
            FRENCH,
            "fr",
            ["marché village vend légumes frais fromage chèvre", "enfants jouent fontaine pierre"],
        ),
        (CHINESE, "zh", ["店门口 停 装满 西瓜 三轮车 老板 客人", "石桥 有 黑猫"]),
    ],
)
def test_a_summary_is_the_content_words_of_a_sentence(
    text: str, language: str, expected: list[str]
) -> None:
    result = summaries(text, language)
    assert [one.text for one in result] == expected
    places = [one.span for one in result]
    assert places == [one for one in sentences(text) if one in places]
    assert summaries(text, language, 1) == result[:1]


def test_no_phrase_reaches_over_two_blocks_and_none_stands_outside_of_prose() -> None:
    text = "The shutdown logic\n\nSYNOPSIS\n\nThe kernel driver for the radio stops"
    first, last = (0, 18), (text.index("The kernel"), len(text))
    for prose, expected in (
        ([first], {"shutdown logic"}),
        ([first, last], {"shutdown logic", "kernel driver", "radio"}),
        ([], set[str]()),
    ):
        made = rule_queries(text, "en", (9, 0), NO_COUNTS, prose)
        assert {one.text for one in made} == expected


def test_what_half_of_the_documents_know_ranks_last() -> None:
    counts = CorpusCounts(100)
    counts.words.update({"package": 60, "library": 50, "windmill": 1, "kettle": 1})
    text = "The windmill kettle by the river is in this package library."
    result = rule_queries(text, "en", (9, 0), counts, [(0, len(text))])
    assert result[0].text == "windmill kettle"
    assert result[-1].score < result[0].score / 2


PRODUCT = "Silver teapots, copper kettles, Northwind espresso machine, porcelain cups, sugar tongs"


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("for (i = 0; i < n; i++) { a[i] += b[i] * c[i]; x.y = z->w[0]; }", set[str]()),
        (PRODUCT, {"copper kettles", "sugar tongs"}),  # without function words: a title
        (12 * f"{PRODUCT}; ", set[str]()),  # so long that it is a table
        (ENGLISH.replace("river bank", "river\n  bank"), {"river bank"}),
    ],
)
def test_prose_is_told_from_code_and_tables(text: str, phrases: set[str]) -> None:
    made = {one.text for one in keyphrases(text, "en", 9)}
    assert phrases <= made if phrases else not made
    assert bool(phrases) or summaries(text, "en") == []


def test_sentences_headings_and_items_have_places() -> None:
    text = "# Title\n\nFirst one. Second one!  Third:\n- an item\n2) another\n\n猫在。桥上"
    assert [text[start:stop] for start, stop in sentences(text)] == [
        "# Title",
        "First one.",
        "Second one!",
        "Third:",
        "- an item",
        "another",
        "猫在。",
        "桥上",
    ]
    assert sentences(" \n ") == []


def test_too_few_content_words_are_no_summary() -> None:
    assert in_few_words("The bread is here.", "en", NO_COUNTS) == ""
    assert in_few_words("Das Brot und Brot.", "de", NO_COUNTS) == ""
    assert in_few_words("Brot, Butter und Honig.", "de", NO_COUNTS) == "Brot Butter Honig"
    many = " ".join(f"pfanne{n}" for n in range(30))
    assert in_few_words(many, "de", NO_COUNTS).split() == [f"pfanne{n}" for n in range(7)]
    known = CorpusCounts(10, Counter({"honig": 9}))
    assert in_few_words("Brot, Butter und Honig.", "de", known) == ""


MARKED = """===========
Wind tables
===========

|Build Status| [![Coverage](https://img.example/c.svg)](https://ci.example/x) <img alt="Gitter Chat" src="g.png">
<!-- nobody reads this comment -->

.. image:: https://img.example/rose.png
   :alt: Compass rose

The [harbour office](https://harbour.example/office) prints wind tables for small boats every spring. See
https://docs.example/very-long-address or `the archive`_ for older wind tables.

```
pip install windtables
```

[docs]: https://docs.example
"""


def test_markup_gives_no_keyphrase() -> None:
    phrases = keyphrases(MARKED, "en")
    assert [one.text for one in phrases if MARKED[slice(*one.span)] != one.text] == []
    shown = " ".join(one.text for one in phrases)
    assert "harbour" in shown
    for hidden in ("Gitter", "Coverage", "Status", "comment", "install", "Compass", "example"):
        assert hidden not in shown
