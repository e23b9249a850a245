"""A review from its beginning to its end: what is chosen, asked, kept, and refused."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgen.errors import DatasetError, RunDirectoryError, UsageError
from retgen.review import Review, open_review
from retgen.review.records import Consensus, Item, Verdict, by_item, consensus, standing

FRUIT = ["apple", "pear", "plum", "fig", "grape", "lemon", "melon", "peach", "quince", "cherry"]
COLOURS = ["red", "green", "blue"]


@pytest.fixture
def foreign(dataset: Callable[..., Path]) -> Path:
    """30 documents, 10 queries that three documents share a word with; 8 judged, 2 not."""
    corpus = {f"d{i}{j}": f"{c} {f}" for i, f in enumerate(FRUIT) for j, c in enumerate(COLOURS)}
    queries = {f"q{i}": f for i, f in enumerate(FRUIT)}
    qrels = [(f"q{i}", f"d{i}0", 1) for i in range(8)] + [(f"q{i}", f"d{i}1", 0) for i in range(4)]
    return dataset(corpus, queries, qrels)


def begin(path: Path, **options: Any) -> Review:
    return open_review(path, out=path.parent / "review", **options)


def judge(review: Review, annotator: str, number: int, relevance: int = 1) -> list[Item]:
    seen = review.left(annotator)[:number]
    for item in seen:
        review.record(annotator, item.item_id, relevance, shown=item.shown)
    return seen


def labels(review: Review, part: str) -> Counter[float | None]:
    return Counter(item.label for item in review.items if item.part == part)


# --- what is chosen -------------------------------------------------------------------------------


def test_all_labels_then_pairs_that_look_like_missing_ones(foreign: Path) -> None:
    review = begin(foreign)
    assert labels(review, "labels") == {1.0: 8, 0.0: 4}
    assert [item.part for item in review.items] == ["labels"] * 12 + ["missing"] * 18
    # of each query the pool holds three documents; of two queries nobody judged any
    assert labels(review, "missing") == {None: 18}
    settings = review.settings
    assert (settings.labels, settings.candidates, settings.grades) == ({"1": 8, "0": 4}, 18, 2)


@pytest.mark.parametrize(
    ("size", "positives", "zeros", "missing"), [(4, 2, 2, 2), (11, 7, 4, 5), (3, 2, 1, 1)]
)
def test_a_sample_holds_positives_for_half_of_it(
    foreign: Path, size: int, positives: int, zeros: int, missing: int
) -> None:
    review = begin(foreign, size=size)
    assert labels(review, "labels") == {1.0: positives, 0.0: zeros}
    suspects = [item for item in review.items if item.part == "missing"]
    assert len(suspects) == missing
    # nobody judged them, and BM25 ranks them first; of equal scores it does the last id
    assert {(item.label, item.doc_id[2]) for item in suspects} == {(None, "2")}
    assert begin(foreign, size=size).items == review.items
    sampled = {item.item_id for item in review.items}
    assert len(sampled) == len(review.items)


def test_a_proven_set_and_no_pool(limit_run: Path, tmp_path: Path) -> None:
    review = open_review(limit_run, out=tmp_path / "out")
    assert labels(review, "labels") == {1.0: 200}
    assert labels(review, "missing") == {None: 100}
    assert review.settings.family == "limit"
    review = open_review(limit_run, pool=["none"], out=tmp_path / "none")
    assert len(review.items) == 200


def test_graded_labels_and_splits(dataset: Callable[..., Path]) -> None:
    path = dataset(
        {f"d{i}": f"fig {i}" for i in range(4)},
        {"q1": "fig", "q2": "fig two"},
        [("q1", "d1", 2), ("q1", "d2", 1), ("q1", "d3", 0), ("q1", "gone", 1)],
    )
    row = {"query-id": "q2", "corpus-id": "d2", "score": 1}
    (path / "qrels.dev.jsonl").write_text(json.dumps(row) + "\n")
    review = begin(path)
    assert (review.settings.grades, review.settings.left_out) == (3, 1)
    assert review.settings.labels == {"2": 1, "1": 1, "0": 1}
    assert {item.query_id for item in review.items} == {"q1"}  # q2 is of dev
    dev = open_review(path, split="dev", out=path.parent / "dev")
    assert [item.query_id for item in dev.items if item.part == "labels"] == ["q2"]
    with pytest.raises(DatasetError, match=r"has no qrels of split 'deb'; did you mean dev\?"):
        open_review(path, split="deb", out=path.parent / "deb")


def test_a_set_without_qrels_is_judged_from_its_pool(dataset: Callable[..., Path]) -> None:
    path = dataset({"d1": "fig", "d2": "plum"}, {"q1": "fig", "q2": "kiwi"}, [])
    (path / "qrels.jsonl").unlink()
    assert [(i.part, i.query_id, i.doc_id) for i in begin(path).items] == [("missing", "q1", "d1")]
    fruit = dataset(
        {f"d{i}": "fig" for i in range(9)}, {"q2": "fig", "q1": "fig"}, [], "unlabelled"
    )
    (fruit / "qrels.jsonl").unlink()
    review = open_review(fruit, size=12, out=path.parent / "unlabelled_review")
    assert [item.query_id for item in review.items] == ["q1"] * 6 + ["q2"] * 6
    with pytest.raises(UsageError, match="there is nothing to judge in split test: no pair has"):
        open_review(path, pool=["none"], out=path.parent / "none")


# --- verdicts -------------------------------------------------------------------------------------


def test_verdicts_are_kept_and_taken_back(foreign: Path) -> None:
    review = begin(foreign, annotators=["anna", "ben"])
    assert review.progress("anna") == [(1, 0, 12), (2, 0, 18)]
    one, two = judge(review, "anna", 2)
    assert review.progress("anna") == [(1, 2, 12), (2, 0, 18)]
    assert review.progress("ben") == [(1, 0, 12), (2, 0, 18)]
    taken = review.undo("anna")
    assert taken is not None
    assert taken.item_id == two.item_id
    assert review.left("anna")[0] == two
    assert [v.withdrawn for v in review.store.verdicts()] == [False, False, True]
    assert review.undo("ben") is None
    # what one key gave to all that was left of a query goes back at once
    before = review.progress("ben")
    review.none_of_the_rest("ben", one.query_id)
    assert review.progress("ben") != before
    review.undo("ben")
    assert review.progress("ben") == before
    # all of it is there when the review is opened again, without a word of how it was set up
    again = begin(foreign)
    assert again.settings == review.settings
    assert again.left("anna") == review.left("anna")
    judge(again, "anna", 29)
    assert again.left("anna") == []
    assert one.item_id == again.items[0].item_id


def test_who_disagree_are_settled(foreign: Path) -> None:
    review = begin(foreign, annotators=["anna", "ben", "cleo"])
    mine = judge(review, "anna", 4)
    judge(review, "ben", 3, 1)
    assert review.open_items() == []
    item = mine[3]
    review.record("ben", item.item_id, 0, shown=item.shown)
    assert review.open_items() == [item]
    assert review.open_items("cleo") == []  # blind until the item is judged
    review.record("ben", item.item_id, None, shown=item.shown, settles=True)
    assert review.open_items() == []


def verdict(number: int, annotator: str, relevance: int | None, **more: bool) -> Verdict:
    return Verdict(number, "i", annotator, relevance, "digest", 1.0, **more)


def test_what_several_verdicts_amount_to() -> None:
    given = [
        verdict(1, "a", 0),
        verdict(2, "a", 1),
        verdict(3, "b", 1),
        verdict(4, "b", 1, withdrawn=True),
    ]
    assert [*standing(given).values()] == [given[1]]
    assert by_item(given) == {"i": [given[1]]}
    a, b, unsure = verdict(1, "a", 1), verdict(2, "b", 1), verdict(2, "b", None)
    assert consensus([], ["a"]) == Consensus("new")
    assert consensus([a], ["a", "b"]) == Consensus("waiting", 1, (a,))
    assert consensus([b, a], ["a", "b"]) == Consensus("settled", 1, (a, b))
    assert consensus([a, unsure], ["a", "b"]) == Consensus("open", None, (a, unsure))
    assert consensus([unsure], ["b"]) == Consensus("settled", None, (unsure,))
    # verdicts of somebody who left count as well
    assert consensus([a, b._replace(relevance=0)], ["a"]).state == "open"
    final = verdict(3, "a", 0, settles=True)
    assert consensus([a, unsure, final], ["a", "b"]) == Consensus("settled", 0, (final,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotator": "ana"}, "'ana' is no annotator of this review; did you mean anna?"),
        ({"item_id": "none"}, "there is no item 'none' in this review"),
        ({"relevance": 2}, "the grade 2 is not on this review's scale: 0, 1"),
        ({"shown": "other"}, "the verdict is on another text than the one that is kept"),
    ],
)
def test_what_is_no_verdict(foreign: Path, change: dict[str, Any], message: str) -> None:
    review = begin(foreign, annotators=["anna"])
    item = review.items[0]
    given = {"annotator": "anna", "item_id": item.item_id, "relevance": 1, "shown": item.shown}
    with pytest.raises(UsageError) as error:
        review.record(**(given | change))
    assert message in str(error.value)
    assert review.store.verdicts() == []


# --- settings -------------------------------------------------------------------------------------


def test_settings_that_stand(foreign: Path) -> None:
    begin(foreign, annotators=["a", "b"])
    review = begin(foreign, size=4)  # nobody has judged yet
    assert begin(foreign, split="test").settings.size == 4
    assert review.settings.annotators == ("a", "b")
    judge(review, "a", 1)
    with pytest.raises(UsageError) as error:
        begin(foreign, size=10, pool=["none"])
    assert "holds 1 verdicts and was begun with size 4, pool bm25: leave --size, --pool" in str(
        error.value
    )
    # annotators come and go; the verdicts of one who left stay
    review = begin(foreign, annotators=["b", "c"])
    assert review.settings.annotators == ("b", "c")
    assert [v.annotator for v in review.standing()] == ["a"]
    assert begin(foreign).settings.annotators == ("b", "c")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "--size 0: judge one label at least"),
        ({"annotators": []}, "--annotators: name who judges"),
        ({"annotators": ["a", "a"]}, "--annotators a,a: a name stands twice"),
        ({"annotators": ["a\nb"]}, "a name is one line of up to 60 characters"),
        ({"annotators": ["a/b"]}, "'a/b': a name holds no slash, and more than dots"),
        ({"annotators": [".."]}, "'..': a name holds no slash, and more than dots"),
        ({"pool": ["bm26"]}, "--pool bm26: there is no such model; did you mean bm25?"),
        ({"pool": ["bm25-paper"]}, "--pool bm25-paper: orders candidate sets, and ranks no"),
        ({"pool": []}, "--pool is empty"),
    ],
)
def test_settings_that_mean_nothing(foreign: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        begin(foreign, **options)
    assert message in str(error.value)
    assert not (foreign.parent / "review").exists()


# --- the data set under review --------------------------------------------------------------------


def test_a_set_that_changes_under_the_review(foreign: Path) -> None:
    review = begin(foreign)
    judge(review, "me", 30)
    assert review.change_message() is None
    corpus, qrels = foreign / "corpus.jsonl", foreign / "qrels.jsonl"
    text, rows = corpus.read_text(), qrels.read_text()
    corpus.write_text(text)  # another time, and the same contents
    assert review.change_message() is None
    assert review.stale() == []
    corpus.write_text(text.replace("red apple", "dead apple").replace("d10", "x10"))
    qrels.write_text(
        rows.replace('"q2", "corpus-id": "d20", "score": 1', '"q2", "corpus-id": "d20", "score": 0')
    )
    changed = review.change_message()
    assert changed is not None
    assert changed.startswith(f"{foreign} was changed since this review began")
    assert {(review.item(v.item_id).doc_id, reason) for v, reason in review.stale()} == {
        ("d00", "the text was changed"),
        ("d10", "the document is gone"),
        ("d20", "the label was changed"),
    }
    corpus.write_text(text)
    qrels.write_text(rows)
    assert review.change_message() is None
    time = corpus.stat()
    corpus.write_text(text.replace("red apple", "dad apple"))  # as long, and of the same time
    os.utime(corpus, ns=(time.st_atime_ns, time.st_mtime_ns))
    assert review.change_message() is not None
    qrels.unlink()
    assert f"{foreign}: {qrels} is gone since this review began" == review.change_message()


def test_one_server_at_a_time(foreign: Path) -> None:
    review, other = begin(foreign), begin(foreign)
    with review.serving() as told:
        told("http://127.0.0.1:8765/")
        with pytest.raises(RunDirectoryError) as error, other.serving():
            pass
        assert str(error.value) == (
            f"{review.folder} is being reviewed by another server: open its page, which any number "
            f"of annotators may use at once, or end it. It is process {os.getpid()} on "
            f"{platform.node()}: http://127.0.0.1:8765/"
        )
    with other.serving():
        pass


def test_where_files_lie(
    foreign: Path, limit_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(foreign.iterdir())
    assert open_review(foreign).folder == Path("outputs/review_made")
    assert sorted(foreign.iterdir()) == before
    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    assert open_review(run).folder == run
    assert (run / "verdicts.sqlite").is_file()
