"""Engines: every task once, errors as they are, and again where a worker dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.engines import Local, Tasks, engine_named
from retgen.engines.engine import Window
from retgen.engines.files import ResultFiles
from retgen.engines.ranks import MergeEngine, Rank, Share
from retgen.errors import DatasetError, RanksMissing, UsageError, WorkerLost
from tests.engines import work

TASKS = {f"t{i}": i for i in range(12)}


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_once(workers: int) -> None:
    right = {f"t{i}": f"7 {2 * i}".encode() for i in range(12)}
    assert dict(Local(workers).map(work.double, 7, TASKS)) == right
    assert list(Local(workers).map_in_order(work.double, 7, TASKS)) == list(right.items())
    assert list(Local(workers).map(work.double, 7, {})) == []


def test_large_results_are_handed_over_as_files() -> None:
    made = dict(Local(2).map(work.large, 3 << 20, {"a": 1, "b": 2, "c": 3}))
    assert {name: bytes(result) for name, result in made.items()} == {
        "a": b"\1" * (3 << 20), "b": b"\2" * (3 << 20), "c": b"\3" * (3 << 20),
    }  # fmt: skip


@pytest.mark.slow
def test_one_task_is_twenty_times_larger() -> None:
    made = [(name, len(result)) for name, result in Local(2).map(work.uneven, None, TASKS)]
    assert sorted(made) == sorted(
        (name, 2_000_000 if i == 0 else 100_000) for name, i in TASKS.items()
    )
    assert made[0][0] != "t0"  # others did not wait for it
    assert [name for name, _ in made].index("t0") <= Local(2).ahead - 1  # nor run far ahead of it
    assert [name for name, _ in Local(2).map_in_order(work.uneven, None, TASKS)] == list(TASKS)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_as_it_is(workers: int) -> None:
    with pytest.raises(DatasetError, match=r"^row 3 is no document$"):
        list(Local(workers).map(work.fail, None, TASKS))


def test_a_task_is_done_again_where_its_worker_dies(tmp_path: Path) -> None:
    made = dict(Local(2).map(work.die_once, tmp_path, TASKS))
    assert made == {name: str(task).encode() for name, task in TASKS.items()}
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_workers_killed_at_any_moment_of_handing_over(tmp_path: Path) -> None:
    """A result that is larger than a pipe holds: half of one there would stop all others."""
    tasks = {f"t{i}": i for i in range(60)}
    for moment in range(8):
        (folder := tmp_path / str(moment)).mkdir()
        made = dict(Local(2).map(work.killed_soon, (folder, moment), tasks))
        assert {len(result) for result in made.values()} == {300_000}
        assert len(made) == 60


@pytest.mark.slow  # five pools
def test_a_task_that_always_kills_its_worker(tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match=r"^a worker process was killed, most likely because"):
        list(Local(2).map(work.die, None, TASKS))


def test_tasks_are_made_when_they_begin(tmp_path: Path) -> None:
    made: list[str] = []

    def task(name: str) -> int:
        made.append(name)
        return TASKS[name]

    for engine in (Local(1), MergeEngine(ResultFiles(tmp_path / "results"), Local(1))):
        results = engine.map(work.double, 7, Tasks(TASKS, task))
        assert next(results) == ("t0", b"7 0")
        assert made == ["t0"]
        assert len(list(results)) == 11
        made.clear()
    kept = MergeEngine(ResultFiles(tmp_path / "results"), Local(1))
    assert len(list(kept.map(work.double, 7, Tasks(TASKS, task)))) == 12
    assert made == []
    with pytest.raises(KeyError):
        Tasks(TASKS, task)["another"]


def test_few_tasks_run_ahead_of_the_first_that_has_not_ended() -> None:
    window = Window(TASKS, 3)
    assert window.begin() == ["t0", "t1", "t2"]
    window.end("t1")
    assert window.begin() == []
    window.end("t0")
    assert window.begin() == ["t3", "t4"]
    for name in ("t4", "t3", "t2"):
        window.end(name)
    assert window.begin() == ["t5", "t6", "t7"]


def test_names() -> None:
    assert engine_named("local", 3).workers == 3
    with pytest.raises(UsageError) as error:
        engine_named("dask", 2)
    assert str(error.value) == (
        "--engine dask: there is none of this name; use local, ray, auto, ray://HOST:PORT, HOST:PORT"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", "--rank 3: must be I/N, e.g. 3/64, the fourth of 64"),
        ("-1/3", "--rank -1/3: must be I/N, e.g. 3/64, the fourth of 64"),
        ("3/3", "--rank 3/3: ranks count from 0, so of 3 they are 0/3 to 2/3"),
        ("0/0", "--rank 0/0: ranks count from 0; there must be one at least"),
    ],
)
def test_ranks_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        Rank.parse(text)
    assert str(error.value) == message


# --- by rank --------------------------------------------------------------------------------------


def share(folder: Path, number: int, of: int = 3, key: bytes = b"k") -> Share:
    return Share(Rank(number, of), ResultFiles(folder, key), Local(1), 0.0)


def test_a_rank_does_its_tasks_and_waits_for_those_of_others(tmp_path: Path) -> None:
    own = dict(share(tmp_path, 1).do(work.double, 7, TASKS))
    assert list(own) == ["t1", "t4", "t7", "t10"]
    with pytest.raises(RanksMissing) as error:
        list(share(tmp_path, 0).map(work.double, 7, TASKS))
    assert str(error.value) == (
        "rank 0/3 has done its share, and waited for that of 2/3. Start these, and this rank "
        "again: what is done is kept"
    )
    right = {f"t{i}": f"7 {2 * i}".encode() for i in range(12)}
    assert dict(share(tmp_path, 2).map(work.double, 7, TASKS)) == right
    assert dict(share(tmp_path, 0).map(work.fail, None, {})) == {}
    merged = MergeEngine(ResultFiles(tmp_path, b"k"), Local(1))
    assert dict(merged.map(work.double, 8, TASKS)) == right  # nothing is done again
    other = MergeEngine(ResultFiles(tmp_path, b"other"), Local(1))
    assert dict(other.map(work.double, 8, TASKS))["t1"] == b"8 2"


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path, b"k")
    assert files.read("a") is None
    assert bytes(files.keep("a", b"content")) == b"content"
    path = files.path("a")
    for damage in (path.read_bytes()[:-1], path.read_bytes() + b"x", b"", b"no result"):
        path.write_bytes(damage)
        assert files.read("a") is None
    files.keep("a", b"content")
    files.path("b").write_bytes(path.read_bytes())
    assert files.read("b") is None  # that of another task
    assert bytes(files.read("a") or b"") == b"content"
