"""Runs in a bucket: the bytes of a run on a disk, whatever the network did.

A real S3 server on loopback, with faults in the way of single requests.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import orjson
import pytest

from retgen import run, validate
from retgen.engines.ranks import Rank
from retgen.errors import RanksMissing
from retgen.run import run_rank
from tests.agents.minds import mind
from tests.agents.server import serving as serving_model
from tests.bucket_run.bucket import HERE, TO, limit, stored, tables
from tests.conftest import Gen
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.publishing.s3_server import Fault, State, calm
from tests.with_agents.conftest import environment, recipe_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["limit", "own"])
def recipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "limit":
        return limit(folder)
    words = random.Random(0)
    texts = [" ".join([*words.sample(" ".join(TEXTS).split(), 60), "."]) for _ in range(120)]
    return write_recipe(folder / "recipe.yaml", write_rows(folder / "kb.jsonl", texts))


@pytest.fixture(scope="module")
def alone(recipe: Path) -> dict[str, bytes]:
    return tables(run(recipe, out=recipe.parent / "alone", workers=1).path)


def test_the_bytes_of_a_run_on_a_disk(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, gen: Gen
) -> None:
    done = gen("run", recipe, "--out", f"{TO}/", "--work", "work")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[-3:]
    assert lines[:2] == [f"  data        {TO}/dataset", f"  report      {TO}/report.html"]
    (made,) = (tmp_path / "work").glob("*/small")
    assert lines[2] == f"  made in     {made.relative_to(tmp_path)}, which may be removed"
    assert stored(s3) == alone
    assert s3.requests.index(f"PUT {HERE}manifest.json") > max(
        s3.requests.index(f"PUT {HERE}{name}") for name in alone
    )
    before, s3.requests[:] = s3.objects(), []
    done = gen("run", recipe, "--out", TO, "--work", "elsewhere", "--json")
    assert (done.returncode, json.loads(done.stdout)["repeated"]) == (0, True)
    assert {one for one in s3.writes() if not one.endswith(".lock")} == set()
    assert {k: v for k, v in s3.objects().items() if not k.endswith(".lock")} == {
        k: v for k, v in before.items() if not k.endswith(".lock")
    }
    done = gen("validate", TO)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(f"{TO}: ")
    done = gen("eval", TO, "--model", "bm25", "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs" / "eval_small" / "eval.json").is_file()


@pytest.mark.parametrize("seed", range(3))
def test_faults(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, seed: int
) -> None:
    """Every fifth answer fails somehow, and listings are empty."""
    chance = random.Random(seed)
    faults: list[Fault] = [500, 503, "drop", "drop after", "cut"]

    def fault(number: int, request: str) -> Fault | None:
        if request == "GET list":
            return "lag"
        return chance.choice(faults) if chance.random() < 0.2 else None

    s3.fault = fault
    os.environ["AWS_MAX_ATTEMPTS"] = "10"
    run(recipe, out=TO, work=tmp_path / "work")
    assert validate(TO).ok
    calm(s3)
    assert stored(s3) == alone


@pytest.mark.parametrize("faulty", [False, True])
def test_by_rank(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, faulty: bool
) -> None:
    """Each rank and the merge on a machine of their own; a listing that lags changes nothing."""
    if faulty:
        chance = random.Random(0)
        s3.fault = lambda number, request: (
            "lag" if request == "GET list" else 503 if chance.random() < 0.1 else None
        )
    left = [2, 0, 3, 1]
    for _ in range(4):
        for number in list(left):
            try:
                work = tmp_path / f"{number}-{len(left)}"  # one that comes again: elsewhere
                run_rank(recipe, Rank(number, 4), out=TO, work=work, workers=1, patience=0.0)
                left.remove(number)
            except RanksMissing:
                pass
        if left:  # those that are missing are named, and nothing is lost
            with pytest.raises(RanksMissing, match=f"not finished by {min(left)}/4"):
                run(recipe, out=TO, work=tmp_path / "merge")
    assert left == []
    merged = run(recipe, out=TO, work=tmp_path / "merge")
    assert "after ranks" in (merged.path / "run.log").read_text()
    assert validate(TO).ok
    calm(s3)
    found = stored(s3)
    parts = [name for name in found if name.startswith(".parts/")]
    assert bool(parts) == faulty  # what no listing names stays
    assert {name: data for name, data in found.items() if name not in parts} == alone
    again = run_rank(recipe, Rank(0, 4), out=TO, work=tmp_path / "late")
    assert again == (TO, Rank(0, 4), 0, True)


def test_what_models_answered_is_kept_beside_other_runs(
    s3: State, tmp_path: Path, gen: Gen
) -> None:
    """In outputs/ledger.sqlite: a working folder may be removed. Another machine asks again."""
    (tmp_path / "asked.yaml").write_text(recipe_of(20, 40))
    with serving_model(mind) as model:
        env = environment(model)
        done = gen("run", "asked.yaml", "--out", TO, "--work", "one", env=env)
        assert done.returncode == 0, done.stderr
        assert (
            f"gen: models' answers are kept on this machine, in {tmp_path}/outputs/ledger.sqlite: "
            "another one that goes on with this run asks again. --ledger postgresql://... is one "
            "ledger for all\n"
        ) in done.stderr
        asked, before = len(model.requests), stored(s3)
        assert asked > 0
        done = gen("run", "asked.yaml", "--out", TO, "--work", "two", "--fresh", env=env)
        assert (done.returncode, len(model.requests)) == (0, asked)
    assert stored(s3) == before
    manifest = orjson.loads(s3.objects(HERE + "manifest.json")[HERE + "manifest.json"])
    assert (manifest["calls"], manifest["cache_hits"] > 0) == (0, True)
