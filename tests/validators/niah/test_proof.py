"""The proof of haystacks: a sound set passes, and each thing that is broken in it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgen.validators.rule import Finding
from tests.validators.niah.sets import GROUPS, NEUTRAL, WORDS, Row, Set

EVERYTHING: Row = {
    "controls": ["nothing", "neutral"],
    "needles": ["one_hop", "literal"],
    "distractors": [0, 2],
    "fillers": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["words", "minilm"])
@pytest.mark.parametrize(("settings", "size"), [({}, 36), (EVERYTHING, 336)])
@pytest.mark.parametrize("parts", [1, 5])
def test_a_sound_set(tmp_path: Path, tokenizer: str, settings: Row, size: int, parts: int) -> None:
    one = Set(tokenizer=tokenizer, **settings)
    assert len(one.corpus) == size
    assert one.findings(tmp_path, parts, beside=True) == []


def test_a_set_of_no_documents_lacks_everything(tmp_path: Path) -> None:
    one = Set()
    one.corpus.clear()
    found = one.messages(tmp_path)
    assert found[0] == (
        "landmark-1: lacks the one-hop needle default at place 0 (80 tokens, shuffled filler 0)"
    )
    assert sum(": lacks the " in message for message in found) == len(found) == 36


# --- one thing broken ---------------------------------------------------------------------------

HELD = {"needle": "one_hop", "order": "default", "group": "diet-1", "length": 80, "place": 1}
NONE = {"needle": "none", "group": "diet-1", "length": 80}


def put(row: Row, new: str, old: str = "") -> None:
    """Replace a word beside the needle, whose span moves along; default: the first of the filler."""
    old = old or next(word for word in row["text"].split() if word in WORDS)
    place = row["text"].index(f"{old} ")
    row["text"] = row["text"][:place] + new + row["text"][place + len(old) :]
    if place < row["metadata"]["span"][0]:
        row["metadata"]["span"] = [at + len(new) - len(old) for at in row["metadata"]["span"]]


def broken(tmp_path: Path, change: Callable[[Row], Any], **wanted: Any) -> list[str]:
    """What is said of a set with one row changed, its id taken out."""
    settings = wanted.pop("settings", {})
    one = Set(**settings)
    row = one.one(**wanted)
    change(row)
    return [message.replace(row["_id"], "ID") for message in one.messages(tmp_path)]


@pytest.mark.parametrize("tokenizer", ["words", "minilm"])
def test_a_token_more(tmp_path: Path, tokenizer: str) -> None:
    one = Set(tokenizer=tokenizer)
    row = one.one(**NONE)
    row["text"] += " and"
    wrong, words = one.findings(tmp_path)
    assert wrong == Finding(
        "haystacks", "error", [row["_id"]], f"{row['_id']}: it has 81 tokens, not 80"
    )
    assert words.severity == "warning"
    assert words.message == (
        "8 of 32 haystacks have not the number of words of their controls, 8 have fewer: words alone "
        "tell them apart. Use more books, with sentences of many lengths"
    )


def test_a_needle_that_is_not_where_its_span_is(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        row["metadata"]["span"] = [at + 1 for at in row["metadata"]["span"]]

    (message,) = [one for one in broken(tmp_path, change, **HELD) if "span" in one]
    needle = GROUPS[1]["one_hop"].replace("{name}", "Wouter")
    assert message.startswith(f"ID: its span holds '{needle[1:]}")
    assert message.endswith(f"not '{needle}'")


def test_a_word_of_the_needle_that_differs(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        row["text"] = row["text"].replace("all molluscs.", "all mollusks.")

    needle = GROUPS[1]["one_hop"].replace("{name}", "Wouter")
    held = needle.replace("molluscs", "mollusks")
    assert broken(tmp_path, change, **HELD)[:1] == [f"ID: its span holds {held!r}, not {needle!r}"]


def test_a_needle_at_another_place(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        start, stop = row["metadata"]["span"]
        needle, text = row["text"][start:stop], row["text"]
        row["text"] = f"{(text[:start] + text[stop:].lstrip()).strip()} {needle}"
        row["metadata"]["span"] = [len(row["text"]) - len(needle), len(row["text"])]

    found = broken(tmp_path, change, **HELD)
    assert found == [
        "ID: its needle stands at depth 1.0000, not 0.2794",
        "d0000029: its needle has place 2 and 32 tokens before it, that of ID place 1 and 68",
    ]


def test_a_needle_within_a_sentence(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        start = row["metadata"]["span"][0]
        row["text"] = f"{row['text'][: start - 2]}, {row['text'][start:]}"

    (message,) = broken(tmp_path, change, **HELD)[:1]
    assert message.startswith("ID: its needle does not follow the end of a sentence, but '")


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("oysters", "one_hop"),
        ("Oyster", "one_hop"),
        ("eats", "none"),
        ("ate", "one_hop"),
        ("eaten", "none"),
        ("characterless", "one_hop"),
        ("oyster_bed", "none"),
        ("oy\u00adsters", "one_hop"),
        ("Öyster", "one_hop"),
    ],
)
def test_a_word_of_the_question_in_the_filler(tmp_path: Path, word: str, kind: str) -> None:
    wanted = HELD if kind == "one_hop" else NONE

    def change(row: Row) -> None:
        put(row, word)

    found = [one for one in broken(tmp_path, change, **wanted) if "question" in one]
    plain = {"Oyster": "oyster", "oyster_bed": "oyster", "oy\u00adsters": "oysters"}
    plain["Öyster"] = "oyster"
    assert found == [
        f"ID: {plain.get(word, word)!r} stands in it, and is a word of its question or related to "
        "one"
    ]


def test_words_of_the_question_may_stand_in_unfiltered_filler(tmp_path: Path) -> None:
    one = Set(filtered=[False])
    for row in one.corpus:
        put(row, "oysters")
    assert one.messages(tmp_path) == []


def test_words_of_another_question_are_no_fault(tmp_path: Path) -> None:
    one = Set()
    for row in one.corpus:
        if row["metadata"]["group"] == "diet-1":
            put(row, "Norway")
    assert one.messages(tmp_path) == []


def test_a_name_twice(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        put(row, "wouter")

    found = broken(tmp_path, change, **HELD)
    assert "ID: it names 'Wouter' 2 times, not 1" in found


def test_a_control_that_names_the_character(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        put(row, "Wouter's")

    assert "ID: it names 'Wouter' 1 times, not 0" in broken(tmp_path, change, **NONE)


def test_a_control_with_the_needle(tmp_path: Path) -> None:
    one = Set()
    control, held = one.one(**NONE), one.one(**HELD)
    control["text"] = held["text"]
    needle = GROUPS[1]["one_hop"].replace("{name}", "Wouter")
    found = [message.replace(control["_id"], "ID") for message in one.messages(tmp_path)]
    assert found[:2] == [
        "ID: it names 'Wouter' 1 times, not 0",
        f"ID: it holds {needle!r} beside its needle",
    ]


def test_the_needle_of_another_group(tmp_path: Path) -> None:
    other = GROUPS[0]["one_hop_inverted"].replace("{name}", "Kofi")

    def change(row: Row) -> None:
        row["text"] += f" {other}"

    assert f"ID: it holds {other!r} beside its needle" in broken(tmp_path, change, **HELD)


def test_a_near_answer_where_none_is_asked_for(tmp_path: Path) -> None:
    near = GROUPS[1]["near"][0].replace("{name}", "Kofi")

    def change(row: Row) -> None:
        row["text"] += f" {near}"

    found = broken(tmp_path, change, **HELD)
    assert "ID: it holds 1 near-answer of its group, not 0" in found


def test_a_near_answer_too_few(tmp_path: Path) -> None:
    def change(row: Row) -> None:
        put(row, "in each", "at every")

    wanted = HELD | {"settings": {"distractors": [2]}}
    found = broken(tmp_path, change, **wanted)
    assert "ID: it holds 1 near-answer of its group, not 2" in found


def test_a_needle_in_a_neutral_sentence(tmp_path: Path) -> None:
    one = Set(controls=["nothing", "neutral"])
    row = one.one(needle="neutral", place=1, group="landmark-1")
    needle = GROUPS[0]["one_hop"].replace("{name}", "Imani")
    said = NEUTRAL.replace("{name}", "Imani")
    row["text"] = row["text"].replace(said, needle)
    start = row["metadata"]["span"][0]
    row["metadata"]["span"] = [start, start + len(needle)]
    found = [message.replace(row["_id"], "ID") for message in one.messages(tmp_path)]
    assert f"ID: its neutral sentence is {needle!r}" in found


def test_places_in_another_order(tmp_path: Path) -> None:
    one = Set()
    first, second = one.one(**HELD), one.one(**HELD | {"place": 2})
    first["metadata"]["place"], second["metadata"]["place"] = 2, 1
    assert one.messages(tmp_path) == [
        f"{first['_id']}: its needle has place 2 and 19 tokens before it, that of "
        f"{second['_id']} place 1 and 32"
    ]


@pytest.mark.parametrize("wanted", [HELD, NONE])
def test_another_filler(tmp_path: Path, wanted: Row) -> None:
    one = Set()
    row = one.one(**wanted | {"length": 160})
    other = one.one(**wanted | {"length": 160, "group": "landmark-1"})
    (start, stop), (first, last) = row["metadata"]["span"], other["metadata"]["span"]
    needle = row["text"][start:stop]
    row["text"] = other["text"][:first] + needle + other["text"][last:]
    row["metadata"]["span"] = [first, first + len(needle)] if needle else [0, 0]
    found = one.messages(tmp_path)
    assert any("its filler is not that of" in message for message in found)


def test_a_word_of_the_filler_that_differs(tmp_path: Path) -> None:
    one = Set()
    row, same = one.one(**HELD | {"place": 0}), one.one(**HELD)
    row["text"] = f"{row['text'].rpartition(' ')[0]} lamp."
    assert one.messages(tmp_path) == [
        f"{row['_id']}: its filler is not to the word that of {same['_id']}, whose needle is the "
        "same"
    ]


def test_two_fillers_that_are_one(tmp_path: Path) -> None:
    one = Set(fillers=2, controls=["nothing"])
    for row in one.corpus:
        if row["metadata"]["number"] == 1:
            kept = row["metadata"] | {"number": 0}
            same = one.one(
                **{k: kept[k] for k in ("group", "length", "needle", "order", "place")}, number=0
            )
            row["text"] = same["text"]
            row["metadata"] |= {
                "span": same["metadata"]["span"],
                "depth": same["metadata"]["depth"],
            }
    found = one.messages(tmp_path)
    assert len(found) == 4
    assert all(message.endswith(": have one filler, not two") for message in found)


def test_a_row_that_is_missing(tmp_path: Path) -> None:
    one = Set()
    row = one.one(**HELD)
    one.corpus.remove(row)
    assert one.messages(tmp_path) == [
        "diet-1: lacks the one-hop needle default at place 1 (80 tokens, shuffled filler 0)"
    ]


def test_a_row_twice_and_one_that_nobody_asked_for(tmp_path: Path) -> None:
    one = Set()
    row = one.one(**NONE)
    one.corpus.append(row | {"_id": "d8"})
    odd = one.one(**NONE | {"length": 160})
    odd["metadata"] = odd["metadata"] | {"number": 7}
    found = one.messages(tmp_path)
    assert found[:3] == [
        f"{row['_id']} and d8: are both the control with no needle (80 tokens, shuffled filler 0)",
        "diet-1: lacks the control with no needle (160 tokens, shuffled filler 0)",
        f"{odd['_id']}: the settings ask for no such: the control with no needle (160 tokens, "
        "shuffled filler 7)",
    ]


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ({"group": "x"}, "its group is 'x', which the run has not"),
        ({"category": "x"}, "its category is 'x', that of its group 'diet'"),
        ({"name": "Kofi"}, "its character is 'Kofi', that of its group 'Wouter'"),
        ({"span": [5, 5]}, "its span 5 to 5 is none of its {} characters"),
        ({"needle": "two_hop"}, "its metadata is no haystack's"),
        ({"order": ""}, "its metadata is no haystack's"),
        ({"depth": "0"}, "its metadata is no haystack's"),
        ({"span": [1]}, "its metadata is no haystack's"),
        ({"depth": 0.5}, "its needle stands at depth 0.2794, not 0.5000"),
    ],
)
def test_metadata_that_is_wrong(tmp_path: Path, note: Row, message: str) -> None:
    one = Set()
    row = one.one(**HELD)
    row["metadata"] |= note
    wanted = f"{row['_id']}: {message.format(len(row['text']))}"
    assert one.messages(tmp_path)[0] == wanted


# --- the table, queries and qrels ---------------------------------------------------------------


def test_a_needle_that_shares_a_word_with_its_question(tmp_path: Path) -> None:
    groups = [GROUPS[0], GROUPS[1] | {"one_hop": "Among oystermen {name} once felt at home."}]
    message = "'Among oystermen Wouter once felt at home.' shares 'oystermen' with its question"
    assert Set(groups).messages(tmp_path)[0] == f"diet-1: {message}"


def test_a_literal_needle_that_is_none(tmp_path: Path) -> None:
    groups = [GROUPS[0] | {"literal": "Once {name} sang below a rock."}, GROUPS[1]]
    assert Set(groups).messages(tmp_path) == [
        "landmark-1: 'Once Imani sang below a rock.' has no word of its question"
    ]


def test_one_name_for_two(tmp_path: Path) -> None:
    groups = [GROUPS[0], GROUPS[1] | {"name": "imani"}]
    assert Set(groups).messages(tmp_path) == ["landmark-1 and diet-1: have one character's name"]


def test_queries_that_are_wrong(tmp_path: Path) -> None:
    one = Set()
    one.queries[0]["text"] = "Who has been to Norway?"
    one.queries[1]["metadata"]["needle"] = "What?"
    one.queries.append({"_id": "q2", "text": "Who?", "metadata": {}})
    needle = GROUPS[1]["one_hop"].replace("{name}", "Wouter")
    assert one.messages(tmp_path) == [
        "q0: is not the question of its group 'landmark-1'",
        f"q1: its needle is 'What?', not {needle!r}",
        "q2: its metadata names no group of the run",
    ]


def test_a_query_that_is_missing(tmp_path: Path) -> None:
    one = Set()
    one.queries.pop()
    assert one.messages(tmp_path)[0] == "diet-1: has no query"


def test_a_qrel_that_is_missing(tmp_path: Path) -> None:
    one = Set()
    (gone,) = [q for q in one.qrels["test_80"] if q["corpus-id"] == one.one(**HELD)["_id"]]
    one.qrels["test_80"].remove(gone)
    assert one.messages(tmp_path) == [
        f"q1: 1 of its 8 haystacks are no qrels of split test_80, {gone['corpus-id']} among them"
    ]


def test_qrels_that_are_wrong(tmp_path: Path) -> None:
    one = Set()
    control, longer = one.one(**NONE)["_id"], one.one(**HELD | {"length": 160})["_id"]
    other = one.one(**HELD | {"group": "landmark-1"})["_id"]
    one.qrels["test_80"] += [
        {"query-id": "q1", "corpus-id": doc_id, "score": 1} for doc_id in (control, longer, other)
    ]
    assert one.messages(tmp_path) == [
        f"q1: {control} is a qrel of split test_80, and is a control",
        f"q1: {longer} is a qrel of split test_80, and has 160 tokens",
        f"q1: {other} is a qrel of split test_80, and is of group 'landmark-1'",
    ]


def test_a_split_that_is_missing(tmp_path: Path) -> None:
    one = Set()
    del one.qrels["test_160"]
    assert one.messages(tmp_path) == ["there are no qrels of split test_160"]


# --- the tokenizer ------------------------------------------------------------------------------


def test_a_tokenizer_that_is_not_there(tmp_path: Path) -> None:
    one = Set()
    one.tokenizer = str(tmp_path / "gone.json")
    assert one.findings(tmp_path) == [
        Finding(
            "haystacks",
            "warning",
            [],
            f"the lengths are not proven: no tokenizer {one.tokenizer!r} to count with "
            f"({one.tokenizer} is not there)",
        )
    ]


def test_a_tokenizer_that_is_none(tmp_path: Path) -> None:
    one = Set()
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    one.tokenizer = str(tmp_path)
    (finding,) = one.findings(tmp_path)
    assert finding.severity == "warning"
    assert f"({file} cannot be read: " in finding.message


# --- the tables beside dataset/ -----------------------------------------------------------------


def beside(tmp_path: Path, table: str, column: str, value: Any) -> list[str]:
    """What is said of a set with one value of a table's first row changed, its id taken out."""
    one = Set()
    row = getattr(one, table)[0]
    row[column] = value
    doc_id = row.get("haystack", row.get("positive-id"))
    return [message.replace(doc_id, "ID") for message in one.messages(tmp_path, beside=True)]


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("pairs", "control", "d1", "tables/pairs.jsonl, row 1: d1 is no control of ID"),
        ("pairs", "control", "d0000001", "tables/pairs.jsonl, row 1: d0000001 is no control of ID"),
        ("pairs", "needle", "It.", "tables/pairs.jsonl, row 1: 'It.' is not the needle of ID"),
        ("pairs", "place", 9, "tables/pairs.jsonl, row 1: 9 is not the place of ID"),
        (
            "pairs",
            "question",
            "Who?",
            "tables/pairs.jsonl, row 1: 'Who?' is not the question of ID",
        ),
        ("chat", "expected", "Kofi", "tables/chat.jsonl, row 1: 'Kofi' is not the answer of ID"),
        (
            "chat",
            "messages",
            [],
            "tables/chat.jsonl, row 1: the prompt does not ask the question of ID",
        ),
        (
            "triplets",
            "anchor",
            "Who?",
            "training/needles.parquet, row 1: the anchor is not the question of ID",
        ),
        (
            "triplets",
            "positive",
            "It.",
            "training/needles.parquet, row 1: the positive is not the text of ID",
        ),
        (
            "triplets",
            "query-id",
            "q9",
            "training/needles.parquet, row 1: q9 is not the query of ID",
        ),
        (
            "triplets",
            "negative_1",
            "It.",
            "training/needles.parquet, row 1: it holds 0 near-answers of its group, not 1, in the first negative of ID",
        ),
        (
            "triplets",
            "negative_1",
            "It was Imani.",
            "training/needles.parquet, row 1: it names 'Imani' 1 times, not 0, in the first negative of ID",
        ),
        (
            "triplets",
            "negative_2",
            "It.",
            "training/needles.parquet, row 1: the second negative is no control of ID",
        ),
    ],
)
def test_a_table_that_is_wrong(
    tmp_path: Path, table: str, column: str, value: Any, message: str
) -> None:
    assert beside(tmp_path, table, column, value) == [message]


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_table_that_is_none(tmp_path: Path, content: str | None) -> None:
    one = Set()
    one.triplets.clear()
    path = tmp_path / "training/needles.parquet"
    path.parent.mkdir()
    if content is not None:
        path.write_text(content)
    (message,) = one.messages(tmp_path, beside=True)
    assert message.startswith("training/needles.parquet, it cannot be read: ")
