"""The file of a review: what is kept, by several at once, and what is said where it cannot be."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from retgen.errors import DatasetError, OutputError, RetgenError, RunDirectoryError
from retgen.review.records import Item, Settings, ShownPair, Verdict, item_id
from retgen.review.store import Store
from tests.conftest import Gen

SHOWN = ShownPair("Who likes Quokkas?", "", "Jon likes Quokkas.", {"row": 1}, {"column": 2})
ITEM = Item(item_id("q", "d"), "labels", "q", "d", 1.0, SHOWN)


def verdict(item: str, annotator: str = "a", relevance: int | None = 1) -> Verdict:
    return Verdict(0, item, annotator, relevance, SHOWN.digest(), 1.0)


def test_what_was_kept_is_read_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "verdicts.sqlite")
    assert store.settings() is None
    settings = Settings(("a", "b"), labels={"1": 1})
    other = replace(ITEM, item_id="other", part="missing", label=None)
    store.plan(settings, [ITEM, other])
    assert store.add([verdict(ITEM.item_id), verdict(ITEM.item_id, "b", None)]) == [1, 2]

    again = Store(tmp_path / "verdicts.sqlite")
    assert again.settings() == settings
    assert again.items() == [ITEM, other]
    first, second = again.verdicts()
    assert (first.number, first.annotator, first.relevance) == (1, "a", 1)
    assert (second.number, second.annotator, second.relevance) == (2, "b", None)
    assert first.at <= second.at
    assert first.at.endswith("+00:00")


def _judge(path: Path, annotator: str, number: int) -> None:
    store = Store(path)
    for i in range(number):
        store.add([verdict(f"item{i}", annotator)])


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    context = multiprocessing.get_context("fork")
    people = [context.Process(target=_judge, args=(path, name, 40)) for name in "ab"]
    for one in people:
        one.start()
    for one in people:
        one.join()
        assert one.exitcode == 0
    kept = Store(path).verdicts()
    assert len(kept) == 80
    for name in "ab":
        assert [v.item_id for v in kept if v.annotator == name] == [f"item{i}" for i in range(40)]


@pytest.mark.slow
def test_who_reads_while_others_judge_sees_verdicts_of_one_instant(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = Store(path)
    context = multiprocessing.get_context("spawn")
    judge = context.Process(target=_judge, args=(path, "a", 300))
    judge.start()
    seen = [0]
    while judge.is_alive():
        seen.append(len(store.verdicts()))
    judge.join()
    assert judge.exitcode == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 10  # it was read in between
    assert len(store.verdicts()) == 300


def test_what_was_confirmed_outlasts_twenty_kills(tmp_path: Path) -> None:
    path, confirmed = tmp_path / "verdicts.sqlite", tmp_path / "confirmed"
    confirmed.touch()
    for kill in range(20):
        before = confirmed.stat().st_size
        child = os.fork()
        if not child:
            store = Store(path)
            with open(confirmed, "ab", buffering=0) as file:
                for i in range(100_000):
                    store.add([verdict(f"item{i}")])
                    file.write(b".")
        while confirmed.stat().st_size < before + 2:
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        # each kill may leave one verdict that is on disk and was not confirmed
        count = confirmed.stat().st_size
        assert count <= len(Store(path).verdicts()) <= count + kill + 1


def test_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DatasetError, match="is no review that can be read: file is not a database"):
        Store(path)


def test_another_format(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    Store(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE settings SET value = '9' WHERE key = 'format'")
    connection.close()
    with pytest.raises(RunDirectoryError, match="is in format 9, this version of retgen reads"):
        Store(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: unable to open database file"):
        Store(tmp_path / "nowhere" / "verdicts.sqlite")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE settings SET value = 'x' WHERE key = 'review'", "Invalid JSON"),
        (
            "UPDATE settings SET value = '{\"annotators\": 5}' WHERE key = 'review'",
            "Input should be a valid array",
        ),
        ("UPDATE items SET item = '[1]'", "Input should be an object"),
        ("UPDATE items SET item = '{}'", "Field required"),
        ("UPDATE verdicts SET verdict = ''", "not those that were kept"),
    ],
)
def test_cells_that_are_none_of_ours(tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = Store(path)
    store.plan(Settings(), [ITEM])
    store.add([verdict(ITEM.item_id)])
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(DatasetError, match=f"is no review that can be read: .*({message})"):
        _ = store.settings(), store.items(), store.verdicts()


def test_a_review_that_somebody_else_began_is_not_planned_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "verdicts.sqlite")
    store.plan(Settings(), [ITEM])
    store.plan(Settings(size=1), [ITEM])
    store.add([verdict(ITEM.item_id)])
    with pytest.raises(RunDirectoryError, match="somebody else began this review in the meantime"):
        store.plan(Settings(size=2), [])
    assert store.settings() == Settings(size=1)
    assert store.items() == [ITEM]


# --- damage that SQLite does not notice by itself -----------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE verdicts SET verdict = replace(verdict, ':1,', ':0,') WHERE number = 2",
        "DELETE FROM verdicts WHERE number = 3",
        "DELETE FROM settings WHERE key = 'seal'",
    ],
)
def test_verdicts_that_are_not_those_that_were_kept(tmp_path: Path, change: str) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = Store(path)
    for number in range(3):
        store.add([verdict(f"item{number}")])
    assert len(Store(path).verdicts()) == 3
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(DatasetError, match="its verdicts are not those that were kept"):
        Store(path).verdicts()
    Store(path).add([verdict("item9")])  # which does not make the others right
    with pytest.raises(DatasetError, match="its verdicts are not those that were kept"):
        Store(path).verdicts()


def test_any_damage_to_the_file_gives_the_same_verdicts_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = Store(path)
    store.plan(Settings(), [ITEM])
    for number in range(40):
        store.add([verdict(f"item{number}")])
    right, kept = store.verdicts(), path.read_bytes()
    rng, messages = random.Random(9), []
    for number in range(150):
        data = bytearray(kept)
        if number % 5 == 4:
            del data[rng.randrange(1, len(data)) :]
        else:
            for _ in range(1 + 7 * (number % 2)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        copy = tmp_path / "copy.sqlite"
        for end in ("", "-wal", "-shm"):
            copy.with_name(copy.name + end).unlink(missing_ok=True)
        copy.write_bytes(data)
        try:
            assert Store(copy).verdicts() == right, number
        except RetgenError as error:
            messages.append(str(error))
    assert len(messages) > 60
    assert [one for one in messages if not one.startswith(f"{copy} ") or "\n" in one] == []


@pytest.mark.parametrize("lost", ["gone", "empty"])
def test_a_report_of_a_review_that_is_lost(gen: Gen, limit_run: Path, lost: str) -> None:
    there = limit_run.parent / f"review {lost}"
    there.mkdir()
    if lost == "empty":
        (there / "verdicts.sqlite").touch()
    done = gen("review", limit_run, "--out", there, "--report")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"gen: {there / 'verdicts.sqlite'} is not there, or empty, so there is nothing to report: "
        f"put it back, or begin a review with `gen review {limit_run}`\n",
    )


def test_an_empty_file_is_not_begun_anew(gen: Gen, limit_run: Path) -> None:
    file = limit_run.parent / "an empty review" / "verdicts.sqlite"
    file.parent.mkdir()
    file.touch()
    done = gen("review", limit_run, "--out", file.parent, "--export", "csv", "--to", "x.csv")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"gen: {file} is empty: put a copy in its place, or delete it to begin anew\n",
    )
    assert file.stat().st_size == 0
