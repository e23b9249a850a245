"""Engines: every task once, errors as they are, and again where a worker dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.models import ModelOptions
from retgen.errors import DatasetError, UsageError, WorkerLost
from retgen.generate import generate_with_agents, write_dataset
from retgen.manifest import open_or_resume
from retgen.progress import no_progress
from retgen.recipe import load_recipe
from retgen.validation.validate import prove
from retgen.work import Local, engine_named
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.work import work
from tests.work.work import Eager, Elsewhere

TASKS = {f"t{i}": i for i in range(12)}


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_once(workers: int) -> None:
    right = {f"t{i}": f"7 {2 * i}".encode() for i in range(12)}
    assert list(Eager(workers).map(work.double, 7, TASKS.items())) == list(right.items())
    assert list(Eager(workers).map(work.double, 7, [])) == []


def test_large_results_are_handed_over_as_files() -> None:
    made = dict(Eager(2).map(work.large, 3 << 20, [("a", 1), ("b", 2), ("c", 3)]))
    assert {name: bytes(result) for name, result in made.items()} == {
        "a": b"\1" * (3 << 20),
        "b": b"\2" * (3 << 20),
        "c": b"\3" * (3 << 20),
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_as_it_is(workers: int) -> None:
    with pytest.raises(DatasetError, match=r"^row 3 is no document$"):
        list(Eager(workers).map(work.fail, None, TASKS.items()))


def test_a_task_is_done_again_where_its_worker_dies(tmp_path: Path) -> None:
    made = dict(Eager(2).map(work.die_once, tmp_path, TASKS.items()))
    assert made == {name: str(task).encode() for name, task in TASKS.items()}
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_workers_killed_at_any_moment_of_handing_over(tmp_path: Path) -> None:
    """A result that is larger than a pipe holds: half of one there would stop all others."""
    tasks = {f"t{i}": i for i in range(60)}
    for moment in range(8):
        (folder := tmp_path / str(moment)).mkdir()
        made = dict(Eager(2).map(work.killed_soon, (folder, moment), tasks.items()))
        assert {len(result) for result in made.values()} == {300_000}
        assert len(made) == 60


@pytest.mark.slow  # five pools
def test_a_task_that_always_kills_its_worker(tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match=r"^a worker process was killed, most likely because"):
        list(Eager(2).map(work.die, None, TASKS.items()))


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_are_made_when_they_begin(workers: int) -> None:
    """At most `ahead` of them are begun from the first on whose result is not taken."""
    made: list[str] = []

    def tasks() -> Iterator[tuple[str, int]]:
        for name, task in TASKS.items():
            made.append(name)
            yield name, task

    engine = Eager(workers)
    results = engine.map(work.double, 7, tasks())
    assert next(results) == ("t0", b"7 0")
    assert made == list(TASKS)[: 1 if workers == 1 else engine.ahead]
    assert len(list(results)) == 11


LIMIT = "name: small\nfamily: limit\nparams: {pattern: dense, docs: 5000, queries: 100, k: 2}\n"


@pytest.mark.parametrize("family", ["limit", "capretrieval"])
def test_workers_of_another_machine_need_no_file_of_a_run(tmp_path: Path, family: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    if family == "limit":
        (source / "recipe.yaml").write_text(LIMIT)
    else:
        write_recipe(source / "recipe.yaml", write_rows(source / "kb.jsonl", TEXTS))
    made = []
    for engine in (Local(1), Elsewhere(tmp_path)):
        run = tmp_path / type(engine).__name__
        run.mkdir()
        recipe = load_recipe(source / "recipe.yaml").at(run)
        open_or_resume(run, recipe)
        generate_with_agents(recipe, run, ModelOptions(), engine=engine)
        files, _ = write_dataset(recipe, recipe.records(), run, engine)
        result = prove(run, recipe, engine, no_progress)
        made.append((files, result.ok, result.statistics, result.baselines))
    assert made[0] == made[1]


def test_names() -> None:
    assert engine_named("local", 3).workers == 3
    with pytest.raises(UsageError) as error:
        engine_named("dask", 2)
    assert str(error.value) == (
        "--engine dask: there is none of this name; use local, ray, auto, ray://HOST:PORT, HOST:PORT"
    )
