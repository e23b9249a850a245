"""Documents of one's own: which give a ladder, and what is said of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import plan, run
from retgen.errors import DatasetError, SourceRefused
from tests.agents.server import Server
from tests.conftest import read_jsonl
from tests.generators.multiconir.ships import recipe
from tests.generators.multiconir.stories import stories


def test_a_column_that_is_not_there(tmp_path: Path, model: Server) -> None:
    (tmp_path / "ships.jsonl").write_text('{"nr": "1", "tale": "x"}\n')
    with pytest.raises(DatasetError, match=r"has no column 'story' \(source.columns.text\)"):
        run(recipe(tmp_path, "ships.jsonl"), out=tmp_path / "out")


@pytest.mark.slow
def test_no_document_that_can_be_used(tmp_path: Path, model: Server) -> None:
    source = tmp_path / "ships.jsonl"
    source.write_text('{"nr": "1", "story": "Too short."}\n{"nr": "2", "sto\n{"nr": 3\n')
    own, out = recipe(tmp_path, source.name), tmp_path / "out"
    holds = (
        f"params.source: {source} holds no document that can be used. Refused are 2 by "
        "source/json, the first at ships.jsonl:2: the line is not JSON; 1 by source/sentences, the "
        "first at 1: it has 0 usable sentences; 10 are needed."
    )
    with pytest.raises(SourceRefused) as error:
        plan(own)
    assert str(error.value) == holds
    assert not out.exists()
    for _ in range(2):  # a repeated call says the same
        with pytest.raises(SourceRefused) as error:
            run(own, out=out)
        assert str(error.value) == f"{holds} All are listed in {out / 'rejected.jsonl'}."
    rejected = read_jsonl(out / "rejected.jsonl")
    assert [(r["rule"], r["reason"], r["record"]["record"]["where"]) for r in rejected] == [
        ("source/sentences", "1: it has 0 usable sentences; 10 are needed", "1"),
        ("source/json", "ships.jsonl:2: the line is not JSON", "ships.jsonl:2"),
        ("source/json", "ships.jsonl:3: the line is not JSON", "ships.jsonl:3"),
    ]
    # the source is mended: the same command makes the data set
    lines = [json.dumps({"nr": d["_id"], "story": d["text"]}) for d in stories(3)]
    good = tmp_path / "good.jsonl"
    good.write_text("\n".join(lines))
    made = run(recipe(tmp_path, "good.jsonl"), out=out)
    assert made.manifest["counts"]["documents"] > 0


def test_another_run_keeps_its_rejections(tmp_path: Path, model: Server) -> None:
    out = run("multiconir_books", out=tmp_path / "out", limit=2).path
    before = (out / "rejected.jsonl").read_bytes()
    (tmp_path / "ships.jsonl").write_text("broken\n")
    with pytest.raises(SourceRefused) as error:
        run(recipe(tmp_path, "ships.jsonl"), out=out)
    assert str(error.value).endswith("the first at ships.jsonl:1: the line is not JSON.")
    assert (out / "rejected.jsonl").read_bytes() == before


@pytest.mark.slow
def test_no_two_ladders_ask_the_same(tmp_path: Path, model: Server) -> None:
    """Documents that share their sentences: of those whose queries begin alike the first is taken."""
    story = stories(1)[0]["text"]
    endings = [f"The file was closed in {year}." for year in range(1971, 1985)]
    lines = [f'{number},"{story} {ending}"\n' for number, ending in enumerate(endings)]
    (tmp_path / "ships.csv").write_text("".join(["nr,story\n", *lines]))
    result = run(recipe(tmp_path, "ships.csv"), out=tmp_path / "out")
    ladders = read_jsonl(result.path / "sources" / "ladders.jsonl")
    first = [ladder["conditions"][0] for ladder in ladders]
    assert len(set(first)) == len(first) < 14
    rejected = read_jsonl(result.path / "rejected.jsonl")
    assert len(ladders) + len(rejected) == 14
    assert {row["rule"] for row in rejected} == {"ladders/admitted"}
    assert rejected[0]["reason"] == (
        "another ladder has the same first condition, or the same query"
    )
