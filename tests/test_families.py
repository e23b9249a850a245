"""What every family must be, and a toy family that shows that a new one touches no existing file."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from pydantic import TypeAdapter

from retgen.agents.models import ModelOptions
from retgen.agents.report import write_rejections
from retgen.evaluation.scoring.measures import mteb_score
from retgen.generate import generate_with_agents
from retgen.generators import Family, families, family
from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.recipe import load_recipe
from retgen.recipes import bundled
from retgen.scaffold import new_recipe
from retgen.validators.rule import Judgements
from retgen.work import Local
from tests.shared import once


@pytest.fixture(params=families(), scope="module")
def every(request: pytest.FixtureRequest) -> Family[object]:
    return family(request.param)


@pytest.fixture(scope="module")
def smallest(every: Family[object], tmp_path_factory: pytest.TempPathFactory) -> Job[object]:
    """The family's scaffold as a job whose agents have been asked, all of them offline."""

    def make(folder: Path) -> None:
        folder.mkdir()
        recipe = load_recipe(new_recipe(every.name, folder / f"my_{every.name}.yaml"))
        generate_with_agents(recipe, folder, ModelOptions(), engine=Local(1))

    folder = once(tmp_path_factory, f"families/{every.name}", make)
    return load_recipe(folder / f"my_{every.name}.yaml").at(folder).job


def test_name_is_the_folder(every: Family[object]) -> None:
    assert type(every).__module__ == f"retgen.generators.{every.name}"
    assert every.summary
    assert every.paper


def test_the_rules_of_the_proof_can_be_named(every: Family[object], smallest: Job[object]) -> None:
    assert smallest.sources is not None
    write_rejections(smallest.sources.parent / "rejected.jsonl", [])
    generic = {"order-leak", "terms"}  # which a family may bring in its own form
    names = {rule.name.partition("/")[0] for rule in every.checks(smallest, Judgements([], []))}
    assert names - generic == every.proofs


def test_params_forbid_unknown_keys(every: Family[object]) -> None:
    schema = TypeAdapter(every.params).json_schema()
    models = [m for m in schema.get("$defs", {}).values() if m.get("type") == "object"]
    assert all(m.get("additionalProperties") is False for m in models or [schema])


def test_plan_agrees_with_records(every: Family[object], smallest: Job[object]) -> None:
    planned, records = every.plan(smallest), every.generate(smallest)
    made = (
        records.corpus.count,
        records.queries.count,
        sum(rows.count for rows in records.qrels.values()),
    )
    expected = (planned.documents, planned.queries, planned.qrels)
    if planned.about:  # how many queries pass is known when they are written
        assert all(0.8 * n < m < 1.25 * n for n, m in zip(expected, made, strict=True))
    else:
        assert expected == made
    dataset = [records.corpus, records.queries, *records.qrels.values(), *records.graded.values()]
    size = sum(len(table.jsonl(0, table.count)) for table in dataset)
    assert 0.8 * size < planned.bytes < 1.3 * size


@pytest.mark.slow
def test_grades_are_of_the_pairs_that_are_judged(
    every: Family[object], smallest: Job[object]
) -> None:
    records = every.generate(smallest)
    assert set(records.graded) <= set(records.qrels)
    for split, grades in records.graded.items():
        tables = (records.qrels[split], grades)
        rows, graded = ([*map(orjson.loads, t.jsonl(0, t.count).splitlines())] for t in tables)
        pairs = [(row["query-id"], row["corpus-id"]) for row in rows]
        assert pairs == [(row["query-id"], row["corpus-id"]) for row in graded]
        assert {0, 1} <= {row["score"] for row in rows} <= {0, 1, 2}
        assert all(g["score"] > 0 for row, g in zip(rows, graded, strict=True) if row["score"])


def tables(records: Records) -> list[object]:
    return [
        records.corpus,
        records.queries,
        *records.qrels.values(),
        *records.graded.values(),
        *records.training.values(),
        *records.tables.values(),
    ]


def test_rows_do_not_depend_on_the_block(every: Family[object], smallest: Job[object]) -> None:
    records, again = every.generate(smallest), every.generate(smallest)
    for table, other in zip(tables(records), tables(again), strict=True):
        whole = table.jsonl(0, table.count)
        assert whole == b"".join(other.jsonl(i, i + 1) for i in range(min(50, other.count))) + (
            other.jsonl(50, other.count) if other.count > 50 else b""
        )
        for line in whole.splitlines()[:100]:
            assert isinstance(orjson.loads(line), dict)


def test_every_family_has_a_recipe(every: Family[object]) -> None:
    assert any(load_recipe(name).family.name == every.name for name in bundled())


@pytest.mark.parametrize("name", bundled())
def test_the_main_measure_is_that_of_the_paper(name: str) -> None:
    recipe = load_recipe(name)
    k = {"limit_k3": 3, "limit_5m": 2, "limit_small": 2, "limit_train": 2}.get(name)
    measure = recipe.family.measure(recipe.job)
    assert mteb_score(measure) is not None
    if recipe.family.name != "limit":
        assert measure == "nDCG@10"
    elif k:
        assert measure == f"recall@{k}"
