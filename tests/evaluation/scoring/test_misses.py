"""What is missed in the first ten, and what stands there wrongly, by shared words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retgen.evaluation.scoring.analyses import Analyses
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from tests.conftest import read_jsonl

CORPUS = {
    "whole": "The purple flowers grow",
    "part": "a purple car",
    "none": "a field of lavender",
    "car": "cars and bikes",
    "zh1": "一辆白色轿车停在路边",
    "zh2": "红色的花",
    **{f"other{i:02}": "nothing of it" for i in range(12)},
}
QUERIES = {"q1": "a purple flower", "q2": "白色轿车", "q3": "the who"}
QRELS = [
    ("q1", "whole", 2),
    ("q1", "part", 1),
    ("q1", "none", 2),
    ("q1", "lost", 2),
    ("q2", "zh1", 1),
    ("q2", "zh2", 0),
    ("q3", "other00", 1),
]
TENTH = " ".join(f"other{i:02}" for i in range(1, 11))
RANKED = {"q1": f"none car {TENTH} whole", "q2": "zh2 car", "q3": "other00"}


def missed(path: Path, run: Path, tmp_path: Path, *, complete: bool) -> Any:
    analyses = Analyses(misses=True, complete=complete)
    return evaluate(path, runs=[run], analyses=analyses, metrics=["recall@1"], out=tmp_path / "out")


def test_errors_by_words_shared(dataset, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    result = missed(path, trec("mine", RANKED), tmp_path, complete=True)
    # of q1 `whole` stands on rank 13 and `part` nowhere; "flowers" and "flower" have one stem
    assert result.to_json()["misses"] == {
        "depth": 10,
        "positives": 5,
        "beyond_depth": 0,
        "results": [
            {
                "model": "mine",
                "dim": None,
                "missed": {"pairs": 3, "all": 2, "some": 1, "none": 0},
                "not_relevant": {"pairs": 11, "all": 0, "some": 1, "none": 10},
            },
        ],
    }
    rows = read_jsonl(tmp_path / "out" / "misses" / "mine.jsonl")
    assert rows[:4] == [
        {"query-id": "q1", "corpus-id": "whole", "error": "missed", "words": "all"},
        {"query-id": "q1", "corpus-id": "part", "error": "missed", "words": "some"},
        {"query-id": "q2", "corpus-id": "zh1", "error": "missed", "words": "all"},
        {"query-id": "q1", "corpus-id": "car", "error": "not relevant", "words": "none"},
    ]
    assert rows[-2] == {
        "query-id": "q2",
        "corpus-id": "zh2",
        "error": "not relevant",
        "words": "some",
    }
    assert len(rows) == 14
    lines = text_of(result).splitlines()
    begin = lines.index("What is missed, and what stands in its place") + 1
    table = [line.split() for line in (lines[begin + 1], lines[begin + 4])]
    assert table == [["mine", "3", "2", "1", "0"], ["mine", "11", "1", "10"]]
    assert (
        "note: whether a document that is not relevant is too general for its query takes a "
        "reader: misses/ lists the pairs"
    ) in lines


def test_without_complete_labels_nothing_is_wrong(dataset, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    result = missed(path, trec("mine", RANKED), tmp_path, complete=False)
    (row,) = result.to_json()["misses"]["results"]
    assert row == {
        "model": "mine",
        "dim": None,
        "missed": {"pairs": 3, "all": 2, "some": 1, "none": 0},
    }
    assert len(read_jsonl(tmp_path / "out" / "misses" / "mine.jsonl")) == 3
    assert (
        "note: labels are incomplete, so nothing is known to be not relevant; if all pairs were "
        "judged, say --complete\n"
    ) in text_of(result)


def test_what_ten_documents_have_no_room_for(dataset, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    qrels = [("q1", f"other{i:02}", 1) for i in range(12)]
    # "it" is a function word, and all that q2 has
    path = dataset(CORPUS, {"q1": "nothing here", "q2": "it"}, [*qrels, ("q2", "other00", 1)])
    run = trec("mine", {"q1": " ".join(f"other{i:02}" for i in range(12)), "q2": "car"})
    result = missed(path, run, tmp_path, complete=True)
    matched = result.to_json()["misses"]
    assert (matched["positives"], matched["beyond_depth"]) == (13, 2)
    assert matched["results"][0]["missed"] == {"pairs": 3, "all": 3, "some": 0, "none": 0}
    assert (
        "note: 13 documents are to be found; 2 of them are missed by any ranking, for their "
        "queries have more than 10\n"
    ) in text_of(result)
