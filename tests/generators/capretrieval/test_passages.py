"""Documents cut into passages: every place of a document stands in one, cuts fall well."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from retgen.generators.capretrieval.language import language_of
from retgen.generators.capretrieval.params import PassageSize, SplitShares
from retgen.generators.capretrieval.passages import (
    Passage,
    PassageLabels,
    cut_passages,
    document_splits,
    lasting_name,
    spans,
    word_begins,
)
from retgen.sources import Block, SourceDocument
from tests.generators.capretrieval.texts import (
    CHINESE,
    ENGLISH,
    FRENCH,
    GERMAN,
    HEBREW,
    JAPANESE,
    TEXTS,
)

SENTENCES = " ".join(f"Sentence number {n} ends here." for n in range(20))


def test_words_are_apart_by_white_space_and_single_in_scripts_without() -> None:
    assert word_begins(" one  two\n") == [1, 6]
    assert word_begins("ab 猫犬x y") == [0, 3, 4, 5, 7]
    assert word_begins("한국어 책 a😀b") == [0, 4, 6]
    assert word_begins(" \n\t ") == []


@pytest.mark.parametrize("count", [1, 15, 16])
def test_a_short_document_stays_whole(count: int) -> None:
    text = "  " + " ".join("word" for _ in range(count)) + "\n"
    assert spans(text, PassageSize(tokens=16, overlap=4)) == [(0, len(text))]
    assert spans(text, None) == [(0, len(text))]
    assert spans("", PassageSize()) == [(0, 0)]


def block(kind: str, text: str, words: str) -> Block:
    start = text.index(words)
    return Block(kind, start, start + len(words), 1)  # type: ignore[arg-type]


def test_cuts_fall_where_a_section_or_a_paragraph_begins() -> None:
    size = PassageSize(tokens=16, overlap=4)
    parts = ["Install", "one two three four five six. seven", "On Linux", SENTENCES[:200]]
    text = "\n\n".join(parts)
    kinds = ("heading", "paragraph", "heading", "paragraph")
    blocks = [block(kind, text, part) for kind, part in zip(kinds, parts, strict=True)]
    cut = [text[start:stop] for start, stop in spans(text, size, blocks)]
    assert cut[0] == "Install\n\none two three four five six. seven"
    assert cut[1].startswith("On Linux\n\nSentence number 0")
    assert len(cut) > 3
    # a paragraph begins the next passage where no heading is near
    parts = ["a b c d e f g h i j k l", "m n o p q r s t u v w"]
    text = "\n\n".join(parts)
    cut = [
        text[start:stop]
        for start, stop in spans(
            text,
            PassageSize(tokens=16, overlap=0),
            [block("paragraph", text, one) for one in parts],
        )
    ]
    assert cut == parts


def test_cuts_fall_at_the_end_of_sentences() -> None:
    places = spans(SENTENCES, PassageSize(tokens=20, overlap=5))
    parts = [SENTENCES[start:stop] for start, stop in places]
    assert len(parts) == 7
    assert [part.count("Sentence") for part in parts] == [4, 4, 4, 4, 4, 4, 2]
    assert all(part.startswith("Sentence") and part.endswith("here.") for part in parts)
    # one sentence of five words is shared by two passages
    shared = [SENTENCES[b:a] for (_, a), (b, _) in pairwise(places)]
    assert shared == [f"Sentence number {n} ends here." for n in (3, 6, 9, 12, 15, 18)]


@pytest.mark.parametrize(("tokens", "overlap"), [(16, 0), (16, 8), (17, 3), (40, 20), (256, 32)])
def test_passages_leave_out_nothing_but_white_space(tokens: int, overlap: int) -> None:
    text = f"\n\t {'  '.join(TEXTS)}\n\n{CHINESE * 5}😀 {SENTENCES}  "
    places = spans(text, PassageSize(tokens=tokens, overlap=overlap))
    assert (places[0][0], places[-1][1]) == (0, len(text))
    between = [text[a:b] for (_, a), (b, _) in pairwise(places) if a < b]
    assert "".join(between).strip() == ""
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(places))
    assert max(len(word_begins(text[a:b])) for a, b in places) <= tokens
    assert {0, *word_begins(text)}.issuperset(start for start, _ in places)


def test_a_document_that_is_one_passage_keeps_its_id() -> None:
    assert list(cut_passages([SourceDocument("d", "t", " a b ")], ["en"], None)) == [
        Passage("d", "d", 0, 5, "t", " a b ", "en")
    ]
    size = PassageSize(tokens=64, overlap=4)
    parts = list(cut_passages([SourceDocument("d", "t", SENTENCES)], ["en"], size))
    assert [(one.id, one.source, one.start, one.stop) for one in parts] == [
        ("d#1", "d", 0, 349),
        ("d#2", "d", 320, 589),
    ]
    assert all(one.text == SENTENCES[one.start : one.stop] for one in parts)


@pytest.mark.parametrize(
    ("documents", "passages"),
    [
        ("a#1 a+", "a#1 a##1 a##2"),
        ("b+ b#+", "b#1 b#2 b##1 b##2"),
        ("c#2 c##1 c+", "c#2 c##1 c###1 c###2"),
        ("b#+ b+ b#1", "b##1 b##2 b###1 b###2 b#1"),
    ],
)
def test_a_passage_is_called_as_nobody_else(documents: str, passages: str) -> None:
    """Those with a + are so long that they are cut."""
    every = [
        SourceDocument(one.rstrip("+"), "", SENTENCES if "+" in one else "short")
        for one in documents.split()
    ]
    cut = cut_passages(every, len(every) * ["en"], PassageSize(tokens=64, overlap=4))
    assert [one.id for one in cut] == passages.split()


@pytest.mark.parametrize(
    ("texts", "stated", "languages"),
    [
        ([ENGLISH, GERMAN, FRENCH, CHINESE, HEBREW, JAPANESE], None, "en de fr zh he ja"),
        ([ENGLISH, GERMAN], "pt", "pt pt"),
        # too short to tell: that of the others in its script
        ([GERMAN, "Rad", f"{GERMAN} Amen", CHINESE, "猫"], None, "de de de zh zh"),
        (["12.5 1000 99", GERMAN, "😀🎉", "№ 1", f"{GERMAN} Amen"], None, "de de de de de"),
        (["4711 " * 40, CHINESE], None, "zh zh"),
        (["4711", "😀🎉", "7 x 8"], None, "und und und"),
        (["猫", "石桥上"], None, "zh zh"),  # none is sure, all together are
        ([GERMAN, "猫狗在桥"], None, "de zh"),
    ],
)
def test_languages_are_told_for_each_text(
    texts: list[str], stated: str | None, languages: str
) -> None:
    assert language_of(texts, stated) == languages.split()


def splits_of(seed: int, repeats: NDArray[np.int64], shares: SplitShares) -> list[str]:
    return document_splits(seed, [f"d{n}" for n in range(len(repeats))], repeats, shares)


def test_a_few_documents_more_move_few_of_the_others() -> None:
    names = [f"page-{n}" for n in range(400)]
    before = dict(zip(names, document_splits(7, names, np.arange(400), SplitShares()), strict=True))
    left = [*names[3:], "new"]
    after = document_splits(7, left, np.arange(398), SplitShares())
    moved = [
        name for name, split in zip(left, after, strict=True) if before.get(name, split) != split
    ]
    assert len(moved) <= 4


def test_near_duplicates_are_on_one_side() -> None:
    repeats = np.repeat(np.arange(50), 4)
    result = splits_of(3, repeats, SplitShares())
    assert Counter(result) == {"train": 164, "test": 28, "dev": 8}
    assert all(len(set(result[i : i + 4])) == 1 for i in range(0, 200, 4))


def test_rows_are_held_out_by_their_texts_where_they_have_no_id() -> None:
    texts = [f"Text {number}." for number in range(200)]

    def held_out(rows: list[str]) -> dict[str, str]:
        documents = [SourceDocument(f"t/row-{n}", "", text) for n, text in enumerate(rows, 1)]
        names = [lasting_name(one) for one in documents]
        splits = document_splits(42, names, np.arange(len(rows)), SplitShares())
        return dict(zip(rows, splits, strict=True))

    before, after = held_out(texts), held_out(["Another one.", *texts])
    assert sum(before[text] != after[text] for text in texts) <= 2
    assert lasting_name(SourceDocument("t/row-x", "", "a")) == "t/row-x"


def test_a_thousand_copies_do_not_fill_the_held_out_splits() -> None:
    result = splits_of(3, np.array(1000 * [0] + list(range(1, 13))), SplitShares())
    assert set(result[:1000]) == {"train"}
    assert Counter(result[1000:]) == {"test": 12}


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ((6, 6), {"train": 6, "test": 6}),
        ((9, 3), {"train": 9, "test": 3}),
        ((4, 4, 4), {"train": 4, "test": 4, "dev": 4}),
        ((8, 3, 4), {"train": 8, "test": 3, "dev": 4}),
    ],
)
def test_where_no_group_fits_the_smallest_is_held_out(
    sizes: tuple[int, ...], counts: dict[str, int]
) -> None:
    repeats = np.repeat(np.arange(len(sizes)), sizes)
    assert Counter(splits_of(3, repeats, SplitShares())) == counts


# --- labels ---------------------------------------------------------------------------------------


def labels(*places: tuple[int, int]) -> PassageLabels:
    passages = [
        Passage(f"d#{n}", "d", start, stop, "", "x" * (stop - start), "en")
        for n, (start, stop) in enumerate(places, 1)
    ]
    return PassageLabels([Passage("c", "c", 0, 300, "", "other", "en"), *passages], [], [])


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (10, 20, [1]),  # one holds it
        (85, 95, [1, 2]),  # two that overlap hold it
        (90, 170, [2]),  # longer than what either neighbour has of it
        (80, 180, [2]),  # a passage, exactly
        (0, 260, [1, 2, 3]),  # all lie in it
        (50, 200, [2]),  # of the first lies half in it, which is not more
        (49, 200, [1, 2]),  # 51 of 100
        (0, 120, [1]),
        (240, 260, [3]),
    ],
)
def test_what_a_span_makes_relevant(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 100), (80, 180), (160, 260)).holding(("d", start, stop)) == relevant


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (60, 145, [2]),  # across a cut: 39 and 45 characters
        (59, 140, [1]),  # 40 and 40: the first
        (99, 100, [2]),  # the white space between them
    ],
)
def test_a_span_that_none_holds(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 99), (100, 200)).holding(("d", start, stop)) == relevant
