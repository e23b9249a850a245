"""Verdicts in other tools' formats, there and back: what comes through, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from retgen.errors import DatasetError, OutputError, UsageError
from retgen.review import open_review
from retgen.review.exchange import FORMATS, export, import_
from retgen.review.exchange.table import escape_formula, unescape_formula
from retgen.review.review import Review
from tests.conftest import Write

CORPUS = [
    ("d1", "Buses", "A red bus."),
    ("d2", "", "=SUM(A1) is a formula"),
    ("d3", "", "Blue"),
    ("d4", "", 'A tram, green; "old"\nand long'),
    ("d5", "", "-2 degrees"),
]
QUERIES = [("q1", "red bus"), ("q2", "+formula"), ("q3", "tram")]
QRELS = [("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d4", 1), ("q1", "d3", 0)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BEIR data set, its review begun by two."""
    folder = tmp_path_factory.mktemp("beir")
    data = folder / "buses"
    (data / "qrels").mkdir(parents=True)
    rows = [{"_id": d, "title": t, "text": x} for d, t, x in CORPUS]
    (data / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": q, "text": x} for q, x in QUERIES]
    (data / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    lines = "".join(f"{q}\t{d}\t{s}\n" for q, d, s in QRELS)
    (data / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
    open_review(data, annotators=["ann", "bob"], out=folder / "review")
    return folder


@pytest.fixture
def place(begun: Path, tmp_path: Path) -> Path:
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def review(place: Path) -> Review:
    return open_review(place / "buses", out=place / "review")


def judge(review: Review) -> None:
    """Verdicts of all kinds, with texts that files like to break."""
    for number, item in enumerate(review.items):
        about = {"reason": "off topic", "comment": "'=not; really\nno"} if number == 1 else {}
        review.record("ann", item.item_id, (1, 0, None)[number % 3], shown=item.shown, **about)
        if number % 2:
            review.record("bob", item.item_id, 1, shown=item.shown)
    item = review.open_items()[0]
    review.record("bob", item.item_id, 0, shown=item.shown, settles=True)


def said(review: Review) -> set[tuple[Any, ...]]:
    return {
        (v.item_id, v.annotator, v.settles, v.relevance, v.reason, v.comment)
        for v in review.standing()
    }


FILES = {"csv": "", "label-studio": "tasks.json"}


@pytest.mark.parametrize("format", FILES)
def test_what_goes_out_comes_back_and_twice_adds_nothing(
    review: Review, place: Path, format: str
) -> None:
    judge(review)
    path = export(review, format)
    assert path.parent == review.folder / "exports"
    file = path / FILES[format] if FILES[format] else path
    fresh = open_review(place / "buses", annotators=["ann", "bob"], out=place / "again")
    result = import_(fresh, file)
    count = len(said(review))
    assert result == (count, [], 0, "")
    assert said(fresh) == said(review)
    assert import_(fresh, file)[:3] == (0, [], count)
    assert import_(review, file)[:3] == (0, [], count)
    assert len(fresh.store.verdicts()) == count
    with pytest.raises(OutputError, match="is there already; choose another place with --to"):
        export(review, format)


def windows(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode("utf-8-sig")


COLUMNS = "item_id;shown;query;title;text;verdict;reason;comment\n"


def test_a_table_as_spreadsheets_leave_it(review: Review, place: Path) -> None:
    items = [[one.item_id, one.shown] for one in review.items]
    lines = [
        f"{items[0][0]};{items[0][1]};q;t;x;1.0;;",
        f'{items[1][0]};{items[1][1]};q;t;x;Can’t tell;;"\'=2+2\nyes"',
        f"1.23E+15;{items[2][1]};q;t;x;0;;",
        f"{items[0][0]};{items[0][1]};q;t;x;;;",
        ";;;;;;;",
    ]
    path = place / "review_bob.csv"
    path.write_bytes(windows(COLUMNS + "\n".join(lines) + "\n"))
    assert import_(review, path)[:3] == (3, [], 0)
    by = {v.item_id: v for v in review.store.verdicts()}
    assert {v.annotator for v in by.values()} == {"bob"}
    assert by[items[0][0]].relevance == 1
    assert (by[items[1][0]].relevance, by[items[1][0]].comment) == (None, "=2+2\nyes")
    assert by[items[2][0]].relevance == 0
    assert by[items[0][0]].source.startswith("review_bob.csv ")
    path.write_bytes(("sep=;\n" + COLUMNS + lines[2] + "\n").encode("utf-16"))
    assert import_(review, path).already == 1
    path.write_bytes((COLUMNS + lines[0].replace(";1.0;;", ";0;;caf\xe9 ") + "\n").encode("cp1252"))
    assert import_(review, path).kept == 1
    assert review.store.verdicts()[-1].comment == "café"


def test_bad_rows_are_named_and_good_ones_kept(review: Review, place: Path) -> None:
    items = [[one.item_id, one.shown] for one in review.items]
    head = "item_id,shown,annotator,verdict,comment\n"
    strange = ["9" * 400, "inf", "nan", "7", "maybe"]
    lines = [
        f"{items[0][0]},{items[0][1]},ann,1,",
        f"{items[1][0]},{items[1][1]},anne,1,",
        "ffff,ffff,ann,1,",
        f"{items[2][0]},ffff,ann,1,",
        f"{items[2][0]},{items[2][1]},,1,",
        f"{items[2][0]},{items[2][1]},ann,1,one,two",
        f"{items[3][0]},{items[3][1]},ann,1,",
        f"{items[3][0]},{items[3][1]},ann,0,",
        *(f"{items[2][0]},{items[2][1]},ann,{word}," for word in strange),
    ]
    path = place / "verdicts.csv"
    path.write_text(head + "\n".join(lines))
    result = import_(review, path)
    assert result.kept == 1
    reasons = dict(result.refused)
    assert [*reasons] == list(range(3, 15))
    assert reasons[3].startswith("'anne' is no annotator of this review; did you mean ann?")
    assert reasons[4] == "there is no item 'ffff' in this review"
    assert reasons[5] == "it is on another text than this review shows of the item"
    assert reasons[6].startswith("the file does not say who judged: add a column annotator (one of")
    assert reasons[7].startswith("has 6 cells, the head 5")
    assert reasons[8] == f"ann judges item {items[3][0]} in more than one way in this file"
    assert [reasons[row] for row in range(10, 15)] == [
        f"the verdict '{word}' is not on this review's scale: 0, 1, unsure" for word in strange
    ]
    assert len(review.store.verdicts()) == 1


def test_an_old_file_does_not_bring_back_what_was_changed_since(review: Review) -> None:
    one, two = review.items[:2]
    for item in (one, two):
        review.record("ann", item.item_id, 1, shown=item.shown)
    path = export(review, "csv")
    review.record("ann", one.item_id, 0, shown=one.shown)
    stands = said(review)
    result = import_(review, path)
    assert (result.kept, result.already) == (0, 1)
    assert [why for _, why in result.refused] == [
        f"ann said this of item {one.item_id}, and took it back or changed it since; say it on the "
        "page if it is meant"
    ]
    assert said(review) == stands


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: it holds no verdicts"),
        ("sep=,", "has no column item_id, shown, verdict"),
        ("\0", "has no column item_id, shown, verdict"),
        (
            '[{"data": {"item_id": "a"}, "annotations": 5}, 1]',
            "another review: none of its 1 .*item_id",
        ),
        ("a,b\n1,2\n", "has no column item_id, shown, verdict"),
        ("item_id,shown,annotator,verdict\nff,ff,ann,1\n", "is of another review: none of its 1"),
        ("[1, 2", "is no JSON that can be read"),
        ('[{"id": 1}]', r"another review: none of its 1.*\(has no data\.item_id: "),
        ('[{"data": {"item_id": "a", "review": "other"}}]', "is of a review of other data"),
        ("q9 0 d9 1\n", "is of another review: none of its 1"),
    ],
)
def test_files_of_something_else_are_refused_whole(
    review: Review, place: Path, text: str, message: str
) -> None:
    path = place / "file"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        import_(review, path)
    assert review.store.verdicts() == []


def test_formulas_are_defused_and_given_back(review: Review) -> None:
    for text in ("=1", "+1", "-1", "@x", "\tx", "'=1", "''=1", "'quoted'", "plain", "", "\uff1d1"):
        cell = escape_formula(text)
        assert not cell or cell[0] not in "=+-@\t\r\uff1d"
        assert unescape_formula(cell) == text
    judge(review)
    data = export(review, "csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")):
        assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@", "\t")]


def test_a_table_to_fill_in_is_blind_and_has_a_row_for_everybody(review: Review) -> None:
    text = export(review, "csv").read_text("utf-8-sig")
    rows = [*csv.DictReader(io.StringIO(text, newline=""))]
    assert len(rows) == 2 * len(review.items)
    assert [row["annotator"] for row in rows[:2]] == ["ann", "bob"]
    assert {row["verdict"] for row in rows} == {""}
    folder = export(review, "label-studio")
    for path in folder.iterdir():
        text += path.read_text("utf-8")
    assert not {"label", "positive", "missing"} & {*text.replace('"', " ").split()}


def test_label_studio(place: Path) -> None:
    review = open_review(place / "buses", annotators=["ann"], out=place / "alone")
    folder = export(review, "label-studio")
    tree = ElementTree.parse(folder / "config.xml")
    assert [(one.get("value"), one.get("hotkey")) for one in tree.iter("Choice")] == [
        ("0", "0"),
        ("1", "1"),
        ("unsure", "x"),
    ]
    tasks = json.loads((folder / "tasks.json").read_text())
    choice = {"from_name": "verdict", "to_name": "text", "type": "choices"}
    tasks[0]["annotations"] = [
        {
            "completed_by": 7,
            "was_cancelled": False,
            "result": [{**choice, "value": {"choices": ["0"]}}],
        },
        {"completed_by": 7, "was_cancelled": True, "result": []},
    ]
    path = place / "back.json"
    path.write_text(json.dumps(tasks))
    assert import_(review, path)[:3] == (1, [], 0)
    assert review.store.verdicts()[0].relevance == 0


def test_qrels_with_what_was_settled(review: Review, place: Path) -> None:
    with pytest.raises(UsageError, match="nothing is settled yet"):
        export(review, "qrels")
    turned = {("q1", "d1"): 0, ("q1", "d3"): 1}
    lines = []
    for item in review.items:
        pair = item.query_id, item.doc_id
        relevance = turned.get(pair, int(item.label or 0))
        review.record("ann", item.item_id, relevance, shown=item.shown)
        lines.append(f"{item.query_id}\t0\t{item.doc_id}\t{relevance}")
    given = place / "bob.qrels"
    given.write_text("\n".join([*lines, "q1 0", "q9 0 d9 1", ""]))
    result = import_(review, given)
    assert (result.kept, result.assumed) == (len(review.items), "bob")
    assert [why for _, why in result.refused] == [
        "is no line of TREC qrels",
        "(q9, d9) is no pair of this review",
    ]
    path = export(review, "qrels", place / "new.txt")
    written = path.read_text().splitlines()
    assert {"q1 0 d1 0", "q1 0 d3 1", "q2 0 d2 1", "q3 0 d4 1"} <= {*written}
    assert len(written) == len(review.items)
    assert (place / "buses" / "qrels" / "test.tsv").read_text().count("\n") == 5


def test_ids_with_white_space_have_no_place_in_qrels(dataset: Write, tmp_path: Path) -> None:
    path = dataset({"d\xa01": "red bus", "e": ""}, {"q1": "red"}, [("q1", "d\xa01", 1)])
    review = open_review(path, annotators=["ann"], pool=("none",), out=tmp_path / "r")
    review.record("ann", review.items[0].item_id, 0, shown=review.items[0].shown)
    with pytest.raises(DatasetError, match=r"the id 'd\\xa01' cannot stand in TREC qrels"):
        export(review, "qrels")


def test_a_known_format(review: Review) -> None:
    with pytest.raises(UsageError, match=r"no such format.*did you mean qrels"):
        export(review, "qrel")
    assert FORMATS == ("csv", "label-studio", "qrels")
