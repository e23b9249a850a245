"""A review from its beginning to its end: what is drawn, asked, kept, and refused."""

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
from retgen.review import Review, assign, items, open_review
from retgen.review.records import Item, item_id

FRUIT = ["apple", "pear", "plum", "fig", "grape", "lemon", "melon", "peach", "quince", "cherry"]
COLOURS = ["red", "green", "blue"]


@pytest.fixture
def foreign(dataset: Callable[..., Path]) -> Path:
    """30 documents, 10 queries that three documents share a word with; 8 judged, 2 not."""
    corpus = {f"d{i}{j}": f"{c} {f}" for i, f in enumerate(FRUIT) for j, c in enumerate(COLOURS)}
    queries = {f"q{i}": f for i, f in enumerate(FRUIT)}
    qrels = [(f"q{i}", f"d{i}0", 1) for i in range(8)] + [(f"q{i}", f"d{i}1", 0) for i in range(4)]
    return dataset(corpus, queries, qrels)


def begin(path: Path, **options: object) -> Review:
    given = {"plants": 0.05, **options}
    return open_review(path, out=path.parent / "review", **given)  # type: ignore[arg-type]


def judge(review: Review, annotator: str, number: int, decision: str = "1") -> list[Item]:
    seen = []
    for _ in range(number):
        look = review.next_item(annotator)
        assert look is not None
        review.record(annotator, look.item.item_id, look.part, decision, shown=look.item.shown)
        seen.append(look.item)
    return seen


def test_populations_of_a_foreign_set(foreign: Path) -> None:
    review = begin(foreign)
    positives, others = review.store.pairs("positives"), review.store.pairs("others")
    assert sorted(p.query_id for p in positives) == [f"q{i}" for i in range(8)]
    assert all(p.label == 1 and p.strata == {} for p in positives if p.query_id not in ("q8", "q9"))
    # of each query the pool holds three documents; of two queries nobody judged any
    assert Counter(p.label for p in others) == {0.0: 4, None: 18}
    assert {p.doc_id for p in others if p.query_id == "q9"} == {"d90", "d91", "d92"}
    assert [p.place for p in others] == list(range(22))
    # what is unjudged is drawn rather than what was judged and ranks the same
    mean = {
        label: sum(w) / len(w)
        for label in (0.0, None)
        for w in [[p.weight for p in others if p.label == label]]
    }
    assert mean[None] > 1.1 * mean[0.0]
    assert review.settings.grades == 2
    assert review.settings.goals == ("wrong <= 2% at 95%", "missed <= 10% at 95%")
    # a random document stands for what is not relevant; nothing is known to be relevant
    planted = [one for one in review.items if one.planted is not None]
    assert planted == []  # 5% of eight positives
    planted = [i for i in begin(foreign, plants=0.5).items if i.planted is not None]
    assert [(one.planted, one.label, one.place) for one in planted] == [(0, 1.0, -1)] * 4
    judged = {(p.query_id, p.doc_id) for p in [*positives, *others]}
    assert not judged & {(one.query_id, one.doc_id) for one in planted}


def test_a_structural_run_plants_what_it_knows(limit_run: Path, tmp_path: Path) -> None:
    review = open_review(limit_run, plants=0.1, out=tmp_path / "out")
    count = Counter((one.population, one.planted) for one in review.items)
    assert count == {
        ("positives", None): 180,
        ("positives", 0): 20,
        ("others", None): 780,
        ("others", 1): 20,
    }
    taken = {one.item_id for one in review.items if one.planted == 1}
    assert not taken & {item_id(p.query_id, p.doc_id) for p in review.store.pairs("positives")}
    assert review.settings.family == "limit"
    assert all(pair.label == 0 for pair in review.store.pairs("others"))


def test_the_same_seed_draws_the_same(foreign: Path, tmp_path: Path) -> None:
    first = open_review(foreign, out=tmp_path / "1", plants=0.5)
    again = open_review(foreign, out=tmp_path / "2", plants=0.5)
    other = open_review(foreign, out=tmp_path / "3", plants=0.5, seed=1)
    assert first.items == again.items
    assert first.store.pairs("others") == again.store.pairs("others")
    assert first.store.pairs("others") != other.store.pairs("others")


def test_items_are_dealt_out_but_for_the_overlap(limit_run: Path, tmp_path: Path) -> None:
    review = open_review(
        limit_run,
        annotators=["a", "b"],
        overlap=0.2,
        second=0.1,
        plants=0.05,
        out=tmp_path / "out",
    )
    a, b = review.queue("a"), review.queue("b")
    first = [{look.item.item_id for look in looks if look.part == "first"} for looks in (a, b)]
    plain = {one.item_id for one in review.items if one.planted is None}
    assert plain <= first[0] | first[1]
    assert 0.15 < len(first[0] & first[1] & plain) / len(plain) < 0.25
    # populations in turn, and one in twenty is planted
    opening = [look.item for look in a[:200] if look.part == "first"]
    assert 7 <= sum(one.planted is not None for one in opening) <= 11
    assert 80 <= sum(one.population == "positives" for one in opening) <= 110
    # a second look comes after other items, and only at what one judged first
    place = {(look.item.item_id, look.part): number for number, look in enumerate(a)}
    again = [look for look in a if look.part == "second"]
    assert 30 < len(again) < 80
    apart = [
        place[look.item.item_id, "second"] - place[look.item.item_id, "first"] for look in again
    ]
    assert min(apart[:-4]) >= assign.LATER


def test_who_joins_is_not_asked_for_what_was_dealt_out(limit_run: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"overlap": 0.0, "plants": 0.0, "out": tmp_path / "out"}
    review = open_review(limit_run, annotators=["a", "b"], **options)
    mine = judge(review, "a", 10)
    review = open_review(limit_run, annotators=["a", "b", "c"], **options)
    by = review.by_item()
    assert {review.consensus(item, by[item.item_id]).state for item in mine} == {"settled"}
    seen = [item.item_id for name in "abc" for item in judge(review, name, 5)]
    assert not {item.item_id for item in mine} & set(seen)
    assert len(set(seen)) == 15


def test_verdicts_are_kept_and_taken_back(foreign: Path) -> None:
    review = begin(foreign, annotators=["anna", "ben"])
    assert review.progress("anna") == (0, 30)
    one, two = judge(review, "anna", 2)
    assert one != two
    assert review.progress("anna") == (2, 30)
    assert review.progress("ben") == (0, 30)
    taken = review.undo("anna")
    assert taken is not None
    assert taken.item_id == two.item_id
    assert review.progress("anna") == (1, 30)
    look = review.next_item("anna")
    assert look is not None
    assert look.item == two
    assert [v.decision for v in review.store.verdicts()] == ["1", "1", "undo"]
    assert review.undo("ben") is None
    # all of it is there when the review is opened again, without a word of how it was set up
    again = begin(foreign)
    assert again.settings == review.settings
    assert again.next_item("anna") == look
    judge(again, "anna", 29)
    assert again.next_item("anna") is None


def test_an_annotator_is_asked_for_so_many_looks(foreign: Path) -> None:
    review = begin(foreign, looks=5)
    assert review.progress("me") == (0, 5)
    assert len(review.ahead("me", 100)) == 5
    judge(review, "me", 5)
    assert review.next_item("me") is None
    assert review.progress("me") == (5, 5)
    # more may be asked for at any time, 0: everything
    assert begin(foreign, looks=7).progress("me") == (5, 7)
    assert begin(foreign, looks=0).progress("me") == (5, 30)


def test_who_disagree_are_settled(foreign: Path) -> None:
    review = begin(foreign, annotators=["anna", "ben"])
    mine = judge(review, "anna", 4)
    judge(review, "ben", 3, "1")
    assert review.open_items() == []
    item = mine[3]
    review.record("ben", item.item_id, "first", "0", shown=item.shown)
    assert review.open_items() == [item]
    review.record("ben", item.item_id, "adjudication", "unsure", shown=item.shown)
    assert review.open_items() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotator": "ana"}, "'ana' is no annotator of this review; did you mean anna?"),
        ({"item_id": "none"}, "there is no item 'none' in this review"),
        ({"part": "third"}, "'third' is no part of a review"),
        ({"decision": "2"}, "'2' is no decision of this review. In mode grade: 0, 1, fix, unsure"),
        ({"decision": "accept"}, "'accept' is no decision of this review"),
        ({"decision": "fix"}, "a fix is empty: give the right grade, or change a text"),
        ({"decision": "fix", "relevance": 2}, "a fix with grade 2: grades are 0 to 1 here"),
        ({"decision": "fix", "edits": {"txt": ""}}, "a fix of 'txt': there is no such text; did"),
        ({"decision": "fix", "edits": {"query": " \n"}}, "a fix leaves no query"),
        ({"relevance": 1}, "only a fix has new texts or a grade beside it, not '1'"),
        ({"shown": "other"}, "the verdict is on another text than the one that is kept"),
    ],
)
def test_what_is_no_verdict(foreign: Path, change: dict[str, object], message: str) -> None:
    review = begin(foreign, annotators=["anna"])
    item = review.items[0]
    given: dict[str, object] = {
        "annotator": "anna",
        "item_id": item.item_id,
        "part": "first",
        "decision": "1",
        "shown": item.shown,
    }
    with pytest.raises(UsageError) as error:
        review.record(**(given | change))  # type: ignore[arg-type]
    assert message in str(error.value)
    assert review.store.verdicts() == []


def test_accept_and_reject(foreign: Path) -> None:
    review = begin(foreign, mode="check")
    of = {one.label: one for one in review.items}

    def said(label: float | None, decision: str, **more: object) -> int | None:
        one = of[label]
        verdict = review.record("me", one.item_id, "first", decision, shown=one.shown, **more)  # type: ignore[arg-type]
        return verdict.relevance

    assert [said(1.0, d) for d in ("accept", "reject", "unsure")] == [1, 0, None]
    assert [said(0.0, d) for d in ("accept", "reject")] == [0, 1]
    assert [said(None, d) for d in ("accept", "reject")] == [0, 1]
    assert said(1.0, "fix", relevance=0) == 0
    assert said(1.0, "fix", edits={"query": "ripe fruit"}) is None
    text = review.shown_pair(of[1.0]).text
    with pytest.raises(UsageError, match="a fix is empty"):
        said(1.0, "fix", edits={"text": text})
    assert review.store.verdicts()[-1].edits == {"query": "ripe fruit"}


def test_settings_that_stand(foreign: Path) -> None:
    begin(foreign, annotators=["a", "b"])
    review = begin(foreign, depth=2, plants=0.2)  # nobody has judged yet
    assert begin(foreign, split="test").settings.depth == 2
    assert len(review.store.pairs("others")) == 20  # of equal scores the ids that are last
    assert review.settings.annotators == ("a", "b")
    judge(review, "a", 1)
    with pytest.raises(UsageError) as error:
        begin(foreign, depth=10, seed=4)
    assert "holds 1 verdicts and was begun with depth 2, seed 0: leave --depth, --seed" in str(
        error.value
    )
    with pytest.raises(UsageError, match="--annotators leaves out a, whose verdicts stand"):
        begin(foreign, annotators=["b", "c"])
    assert begin(foreign, annotators=["a", "c"]).settings.annotators == ("a", "c")
    assert begin(foreign, goals=["wrong <= 5%"]).settings.goals == ("wrong <= 5%",)
    assert begin(foreign).settings.goals == ("wrong <= 5%",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "grad"}, "--mode grad: there is no such mode; did you mean grade?"),
        ({"overlap": 1.5}, "--overlap 1.5: is a share from 0 to 1"),
        ({"plants": 0.9}, "--plants 0.9: is a share from 0 to 0.5"),
        ({"annotators": []}, "--annotators: name who judges"),
        ({"annotators": ["a", "a"]}, "--annotators a,a: a name stands twice"),
        ({"annotators": ["a\nb"]}, "a name is one line of up to 60 characters"),
        ({"annotators": ["a/b"]}, "'a/b': a name holds no slash, and more than dots"),
        ({"annotators": [".."]}, "'..': a name holds no slash, and more than dots"),
        ({"pool": ["bm26"]}, "--pool bm26: there is no such model; did you mean bm25?"),
        ({"pool": ["bm25-paper"]}, "--pool bm25-paper: orders candidate sets, and ranks no"),
        ({"pool": []}, "--pool is empty"),
        ({"depth": 0}, "--depth 0: look at one document a query at least"),
        ({"goals": ["wrong"]}, "--goal 'wrong' cannot be read"),
    ],
)
def test_settings_that_mean_nothing(
    foreign: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        begin(foreign, **options)
    assert message in str(error.value)
    assert not (foreign.parent / "review").exists()


def test_texts_are_read_as_people_come_to_them(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "PLANNED", 3)
    review = begin(foreign)
    assert [one.place for one in review.items] == [0, 1, 2] * 2
    seen = judge(review, "me", 30)
    assert len({one.item_id for one in seen}) == 30
    assert review.next_item("me") is None
    assert len(review.items) == 30


def test_a_set_without_positives(dataset: Callable[..., Path]) -> None:
    path = dataset({"d1": "fig", "d2": "plum"}, {"q1": "fig", "q2": "plum"}, [("q1", "d1", 0)])
    review = begin(path)
    assert review.settings.goals == ("missed <= 10% at 95%",)
    pairs = {(p.query_id, p.doc_id, p.label) for p in review.store.pairs("others")}
    assert pairs == {("q1", "d1", 0.0), ("q2", "d2", None)}
    with pytest.raises(UsageError, match="has a positive label in split test, so none can be"):
        begin(path, goals=["wrong <= 2%"])


def test_a_set_without_others(dataset: Callable[..., Path]) -> None:
    review = begin(dataset({"d1": "fig", "d2": "plum"}, {"q1": "fig"}, [("q1", "d1", 1)]))
    assert review.settings.goals == ("wrong <= 2% at 95%",)
    assert len(review.items) == 1
    with pytest.raises(UsageError, match="so the pool holds nothing that could be missed"):
        begin(review.path, goals=["missed <= 2%"])


def test_a_set_without_qrels_is_judged_from_its_pool(dataset: Callable[..., Path]) -> None:
    path = dataset({"d1": "fig", "d2": "plum"}, {"q1": "fig", "q2": "kiwi"}, [])
    (path / "qrels.jsonl").unlink()
    review = begin(path)
    assert [(p.query_id, p.doc_id, p.label) for p in review.store.pairs("others")] == [
        ("q1", "d1", None)
    ]


def test_graded_labels_and_splits(dataset: Callable[..., Path]) -> None:
    path = dataset(
        {f"d{i}": f"fig {i}" for i in range(4)},
        {"q1": "fig", "q2": "fig two"},
        [("q1", "d1", 2), ("q1", "d2", 1), ("q1", "d3", 0), ("q1", "gone", 1)],
    )
    row = {"query-id": "q2", "corpus-id": "d2", "score": 1}
    (path / "qrels.dev.jsonl").write_text(json.dumps(row) + "\n")
    review = begin(path, mode="check")
    assert review.settings.grades == 3
    assert review.store.note("left_out") == 1
    assert {(p.query_id, p.strata["label"]) for p in review.store.pairs("positives")} == {
        ("q1", "1"),
        ("q1", "2"),
    }
    assert {p.query_id for p in review.store.pairs("others")} == {"q1"}  # q2 is of dev
    two = next(one for one in review.items if one.label == 2)
    verdict = review.record("me", two.item_id, "first", "accept", shown=two.shown)
    assert verdict.relevance == 2
    dev = open_review(path, split="dev", out=path.parent / "dev")
    assert [p.query_id for p in dev.store.pairs("positives")] == ["q2"]
    with pytest.raises(DatasetError, match=r"has no qrels of split 'deb'; did you mean dev\?"):
        open_review(path, split="deb", out=path.parent / "deb")


def test_a_set_that_changes_under_the_review(foreign: Path) -> None:
    review = begin(foreign)
    seen = judge(review, "me", 30)
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
    name = {item.item_id: item.doc_id for item in seen}
    assert {(name[s.verdict.item_id], s.reason) for s in review.stale()} == {
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


def test_the_file_of_another_set(foreign: Path, dataset: Callable[..., Path]) -> None:
    begin(foreign)
    other = dataset({"e1": "kiwi"}, {"p1": "kiwi"}, [("p1", "e1", 1)], "other")
    with pytest.raises(DatasetError, match="is the review of another data set: none of its 30"):
        begin(other)


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


def test_a_planted_item_is_not_told_by_its_label(dataset: Callable[..., Path]) -> None:
    corpus = {f"d{i}{j}": f"{c} {f}" for i, f in enumerate(FRUIT) for j, c in enumerate(COLOURS)}
    qrels = [(f"q{i}", f"d{i}0", 2) for i in range(10)]
    path = dataset(corpus, {f"q{i}": f for i, f in enumerate(FRUIT)}, qrels)
    review = begin(path, plants=0.5, mode="check")
    labels = Counter((one.planted, one.label) for one in review.items)
    assert labels[0, 2.0] == 5
    assert {label for planted, label in labels if planted == 0} == {2.0}
