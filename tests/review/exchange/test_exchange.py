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
    open_review(data, annotators=["ann", "bob"], plants=0.2, out=folder / "review")
    return folder


@pytest.fixture
def place(begun: Path, tmp_path: Path) -> Path:
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def review(place: Path) -> Review:
    return open_review(place / "buses", out=place / "review")


def other_review(place: Path, name: str = "again") -> Review:
    """The same data reviewed anew, with nothing said yet."""
    return open_review(place / "buses", annotators=["ann", "bob"], plants=0.2, out=place / name)


def judge(review: Review) -> None:
    """Verdicts of all kinds, with texts that files like to break."""
    for number, item in enumerate(review.items):
        decision = ("1", "0", "unsure", "fix")[number % 4]
        more: dict[str, Any] = {}
        if decision == "fix":
            more = {"relevance": 1, "edits": {"text": '=1+1, "new"\nline'}}
        elif decision == "0":
            more = {"reason": "off topic", "comment": "'=not; really\nno"}
        review.record("ann", item.item_id, "first", decision, shown=item.shown, **more)
        if number % 2:
            review.record("bob", item.item_id, "first", "1", shown=item.shown)


def said(review: Review) -> set[tuple[Any, ...]]:
    return {
        (
            v.item_id,
            v.annotator,
            v.part,
            v.decision,
            v.relevance,
            v.reason,
            v.comment,
            tuple(sorted(v.edits.items())),
        )
        for given in review.by_item().values()
        for v in given
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
    fresh = other_review(place)
    result = import_(fresh, file)
    count = len(said(review))
    assert result == (count, [], 0)
    assert said(fresh) == said(review)
    assert import_(fresh, file) == (0, [], count)
    assert import_(review, file) == (0, [], count)
    assert len(fresh.store.verdicts()) == count


def windows(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode("utf-8-sig")


def rows_to_fill(review: Review) -> list[list[str]]:
    return [[one.item_id, one.shown] for one in review.items if one.planted is None]


COLUMNS = "item_id;shown;query;title;text;verdict;reason;comment;new_query;new_text\n"


def test_a_table_as_spreadsheets_leave_it(review: Review, place: Path) -> None:
    items = rows_to_fill(review)
    lines = [
        f"{items[0][0]};{items[0][1]};q;t;x;1,0;;;;".replace("1,0", "1.0"),
        f'{items[1][0]};{items[1][1]};q;t;x;Can’t tell;;"\'=2+2\nyes";;',
        f"{items[2][0]};{items[2][1]};q;t;x;;;;;A new text",
        f"1.23E+15;{items[3][1]};q;t;x;0;;;;",
        f"{items[0][0]};{items[0][1]};q;t;x;;;;;",
        ";;;;;;;;;",
    ]
    path = place / "review_bob.csv"
    path.write_bytes(windows(COLUMNS + "\n".join(lines) + "\n"))
    result = import_(review, path)
    assert result == (4, [], 0)
    by = {v.item_id: v for v in review.store.verdicts()}
    assert {v.annotator for v in by.values()} == {"bob"}
    assert (by[items[0][0]].decision, by[items[0][0]].relevance) == ("1", 1)
    assert (by[items[1][0]].decision, by[items[1][0]].comment) == ("unsure", "=2+2\nyes")
    assert by[items[2][0]].edits == {"text": "A new text"}
    assert by[items[3][0]].decision == "0"
    assert by[items[0][0]].source.startswith("review_bob.csv ")
    path.write_bytes(("sep=;\n" + COLUMNS + lines[3] + "\n").encode("utf-16"))
    assert import_(review, path).already == 1
    path.write_bytes((COLUMNS + lines[0].replace(";1.0;;", ";0;;caf\xe9 ") + "\n").encode("cp1252"))
    assert import_(review, path).kept == 1


def test_bad_rows_are_named_and_good_ones_kept(review: Review, place: Path) -> None:
    items = rows_to_fill(review)
    head = "item_id,shown,annotator,verdict,comment\n"
    strange = ["9" * 400, "fix inf", "fix nan"]
    lines = [
        f"{items[0][0]},{items[0][1]},ann,1,",
        f"{items[1][0]},{items[1][1]},anne,1,",
        "ffff,ffff,ann,1,",
        f"{items[2][0]},ffff,ann,1,",
        f"{items[2][0]},{items[2][1]},ann,7,",
        f"{items[2][0]},{items[2][1]},ann,maybe,",
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
    assert [row for row, _ in result.refused] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert reasons[3].startswith("'anne' is no annotator of this review; did you mean ann?")
    assert reasons[4] == "there is no item 'ffff' in this review"
    assert reasons[5] == "it is on another text than this review shows of the item"
    assert reasons[6] == "the grade '7' is not on this review's scale: 0, 1"
    assert reasons[7].startswith("'maybe' is no decision of this review")
    assert reasons[8].startswith("whose verdict it is does not stand in the file")
    assert reasons[9].startswith("has 6 cells, the head 5")
    assert reasons[10] == f"ann judges item {items[3][0]} in more than one way in this file"
    assert [reasons[row] for row in (12, 13, 14)] == [
        f"the grade '{word}' is not on this review's scale: 0, 1"
        for word in (strange[0], "inf", "nan")
    ]
    assert len(review.store.verdicts()) == 1


def test_an_old_file_does_not_bring_back_what_was_changed_since(review: Review) -> None:
    one, two = review.items[:2]
    for item in (one, two):
        review.record("ann", item.item_id, "first", "1", shown=item.shown)
    path = export(review, "csv")
    review.record("ann", one.item_id, "first", "0", shown=one.shown)
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
        ('[{"data": {"item_id": "a"}, "annotations": 5}, 1]', "holds no task of this review"),
        ("a,b\n1,2\n", "has no column item_id, shown, verdict"),
        ("item_id,shown,annotator,verdict\nff,ff,ann,1\n", "is of another review: none of its 1"),
        ("[1, 2", "is no JSON that can be read"),
        ('[{"id": 1}]', r"holds no task of this review: is no task.*no data\.item_id"),
        ('[{"data": {"item_id": "a", "review": "other"}}]', "is of a review of other data"),
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


def test_nothing_that_goes_out_tells_planted_items_or_labels(review: Review) -> None:
    planted = [item for item in review.items if item.planted is not None]
    assert planted
    for format in ("csv", "label-studio"):
        path = export(review, format)
        text = "".join(p.read_text("utf-8") for p in ([path] if path.is_file() else path.iterdir()))
        assert "planted" not in text
        assert planted[0].item_id in text
        assert "not relevant" not in text


def test_the_labelling_configuration_is_that_of_the_review(place: Path) -> None:
    review = open_review(place / "buses", annotators=["ann"], mode="check", out=place / "check")
    folder = export(review, "label-studio")
    tree = ElementTree.parse(folder / "config.xml")
    assert [one.get("value") for one in tree.iter("Choice")] == [
        "accept",
        "reject",
        "unsure",
        "fix",
        "fix 0",
        "fix 1",
    ]
    tasks = json.loads((folder / "tasks.json").read_text())
    labels = {task["data"]["label"] for task in tasks}
    assert labels == {"relevant", "not relevant"}
    tasks[0]["annotations"] = [
        {
            "completed_by": 7,
            "was_cancelled": False,
            "result": [
                {
                    "from_name": "verdict",
                    "to_name": "text",
                    "type": "choices",
                    "value": {"choices": ["reject"]},
                }
            ],
        },
        {"completed_by": 7, "was_cancelled": True, "result": []},
    ]
    path = place / "back.json"
    path.write_text(json.dumps(tasks))
    assert import_(review, path) == (1, [], 0)
    assert review.store.verdicts()[0].decision == "reject"


def test_a_patch_of_qrels(review: Review, place: Path) -> None:
    for who in ("ann", "bob"):
        for item in review.items:
            if item.planted is not None:
                continue
            relevance = int(item.label or 0)
            if (item.query_id, item.doc_id) == ("q1", "d1"):
                relevance = 0
            if (item.query_id, item.doc_id) == ("q1", "d3"):
                relevance = 1
            review.record(who, item.item_id, "first", str(relevance), shown=item.shown)
    folder = export(review, "qrels", place / "patch")
    lines = (folder / "patch.tsv").read_text().splitlines()
    assert lines[:3] == [
        "action\tquery-id\tcorpus-id\tscore\tbefore\tby",
        "change\tq1\td1\t0\t1\tann, bob",
        "change\tq1\td3\t1\t0\tann, bob",
    ]
    assert all(line.startswith("add\t") and "\t0\t\t" in line for line in lines[3:])
    beir = (folder / "qrels.test.tsv").read_text().splitlines()
    assert beir[:2] == ["query-id\tcorpus-id\tscore", "q1\td1\t0"]
    assert "q2 0 d2 1" in (folder / "qrels.test.txt").read_text().splitlines()
    readme = (folder / "README.md").read_text()
    assert "2 to change, 0 to take out, by ann, bob" in readme
    assert "| positives that are none | 3 | 3 | 33.33% |" in " ".join(readme.split())
    assert (place / "buses" / "qrels" / "test.tsv").read_text().count("\n") == 5
    with pytest.raises(OutputError, match="is not empty"):
        export(review, "qrels", place / "patch")


def test_a_patch_of_ids_with_white_space(dataset: Write, tmp_path: Path) -> None:
    """TREC's table is left out; tabs and ends of lines have no place in any."""
    for name, doc in (("spaced", "d\xa01"), ("broken", "d\t1")):
        path = dataset(
            {doc: "red bus", "e": ""}, {"q1": "red"}, [("q1", doc, 1), ("q1", "e", 0)], name
        )
        review = open_review(path, annotators=["ann"], pool=("none",), out=tmp_path / f"{name}_r")
        for item in review.items:
            review.record("ann", item.item_id, "first", "0", shown=item.shown)
        if name == "broken":
            with pytest.raises(DatasetError, match=r"the id 'd\\t1' cannot stand in a patch"):
                export(review, "qrels", tmp_path / "no")
        else:
            folder = export(review, "qrels", tmp_path / "patch")
            written = sorted(one.name for one in folder.iterdir())
            assert written == ["README.md", "patch.tsv", "qrels.test.tsv"]


def test_a_patch_needs_something_settled_and_a_known_format(review: Review) -> None:
    with pytest.raises(UsageError, match="nothing is settled yet"):
        export(review, "qrels")
    with pytest.raises(UsageError, match=r"no such format.*did you mean qrels"):
        export(review, "qrel")
    assert FORMATS == ("csv", "label-studio", "qrels")
