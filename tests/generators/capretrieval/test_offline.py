"""Queries without a model: keyphrases and summaries in telegram style, by language."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.language import has_baseline
from retgen.generators.capretrieval.offline import (
    abouts,
    in_few_words,
    keyphrases,
    sentences,
    topics,
    without_markup,
)
from tests.generators.capretrieval.texts import (
    CHINESE,
    ENGLISH,
    FRENCH,
    GERMAN,
    HEBREW,
    JAPANESE,
)


@pytest.mark.parametrize(
    ("text", "language", "best", "held"),
    [
        (ENGLISH, "en", "river bank", {"windmill", "village", "grinds wheat flour"}),
        (GERMAN, "de", "Frühling von Handwerkern", {"alte Brücke", "Musik und Tanz", "Fluss"}),
        (FRENCH, "fr", "fromage de chèvre", {"marché du village", "légumes frais"}),
        (CHINESE, "zh", "店门口", {"三轮车", "西瓜", "石桥", "黑猫"}),
    ],
)
def test_keyphrases_stand_in_the_passage(
    text: str, language: str, best: str, held: set[str]
) -> None:
    result = keyphrases(text, language, 8)
    assert result[0].text == best
    assert held <= {one.text for one in result}
    assert [text[one.start : one.stop] for one in result] == [one.text for one in result]
    assert len({one.text.casefold() for one in result}) == len(result)


def test_none_are_asked_for() -> None:
    assert keyphrases(ENGLISH, "en", 0) == []
    assert abouts(ENGLISH, "en", 0) == []
    assert topics(ENGLISH, "en", 0) == []


@pytest.mark.parametrize(("text", "language"), [(HEBREW, "he"), (JAPANESE, "ja"), (ENGLISH, "xx")])
def test_languages_without_rules_get_nothing(text: str, language: str) -> None:
    assert not has_baseline(language)
    assert keyphrases(text, language, 8) == []
    assert abouts(text, language, 8) == []
    assert topics(text, language, 8) == []


@pytest.mark.parametrize(
    ("text", "language", "summaries"),
    [
        (ENGLISH, "en", ["windmill river bank restored volunteers village",
                         "grinds wheat flour Sunday morning",
                         "Visitors buy fresh bread bakery door"]),
        (GERMAN, "de", ["alte Brücke Fluss Frühling Handwerkern Dorf erneuert",
                        "Abend feierten Einwohner Musik Tanz Marktplatz"]),
        (FRENCH, "fr", ["marché village vend légumes frais fromage chèvre",
                        "enfants jouent fontaine pierre"]),
        (CHINESE, "zh", ["店门口 停 装满 西瓜 三轮车 老板 客人 称重"]),
    ],
)  # fmt: skip
def test_a_summary_is_the_content_words_of_a_sentence(
    text: str, language: str, summaries: list[str]
) -> None:
    result = abouts(text, language, 7)
    assert [one.text for one in result] == summaries
    assert [(one.start, one.stop) for one in result] == sentences(text)[: len(result)]
    assert abouts(text, language, 1) == result[:1]


def test_topics_are_keyphrases_side_by_side() -> None:
    assert topics(ENGLISH, "en", 4) == [
        "river bank Sunday morning",
        "river bank Sunday morning grinds wheat flour",
        "Sunday morning grinds wheat flour village",
        "village windmill buy fresh bread",
    ]
    assert topics(ENGLISH, "en", 2) == topics(ENGLISH, "en", 4)[:2]
    assert topics("Bread", "en", 4) == []


def test_sentences_headings_and_items_have_places() -> None:
    text = "# Title\n\nFirst one. Second one!  Third:\n- an item\n2) another\n\n猫在。桥上"
    assert [text[start:stop] for start, stop in sentences(text)] == [
        "# Title", "First one.", "Second one!", "Third:", "- an item", "another", "猫在。", "桥上",
    ]  # fmt: skip
    assert sentences(" \n ") == []


def test_too_few_content_words_are_no_summary() -> None:
    assert in_few_words("The bread is here.", "en") == ""
    assert in_few_words("Bread, bread and bread.", "en") == ""
    assert in_few_words("Bread, butter and honey.", "en") == "Bread butter honey"
    assert in_few_words(" ".join(f"pan{n}" for n in range(30)), "en").split() == [
        f"pan{n}" for n in range(12)
    ]


@pytest.mark.parametrize("text", ["", " ", "😀🎉👩‍👩‍👧", "12 34", "a", "!!!"])
@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_texts_without_words(text: str, language: str) -> None:
    assert abouts(text, language, 7) == []
    assert topics(text, language, 7) == []
    assert all(one.text.strip() for one in keyphrases(text, language, 7))


def test_a_keyphrase_over_a_line_break_keeps_its_place() -> None:
    text = ENGLISH.replace("river bank", "river\n  bank")
    assert ("river\n  bank", 24, 36) in [tuple(one) for one in keyphrases(text, "en", 8)]


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
    blank = without_markup(MARKED)
    assert len(blank) == len(MARKED)
    assert [line.strip() for line in blank.splitlines() if line.strip()] == [
        "Wind tables",
        "[" + 38 * " " + "]",
        "The [harbour office]                                 prints wind tables for small boats every "
        "spring. See",
        "or `the archive`_ for older wind tables.",
    ]
    phrases = keyphrases(MARKED, "en", 12)
    assert [one.text for one in phrases if MARKED[one.start : one.stop] != one.text] == []
    shown = " ".join(one.text for one in phrases)
    assert "older wind tables" in shown
    for hidden in ("Gitter", "Coverage", "Status", "comment", "install", "Compass", "example"):
        assert hidden not in shown
    assert in_few_words("the archive_ of _ wind tables", "en") == "archive_ wind tables"
