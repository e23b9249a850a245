"""Small sets of twins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson

from retgen.generators.params import Job
from retgen.generators.records import Records
from retgen.generators.world_twins import WorldTwins
from retgen.generators.world_twins.params import TwinsParams

Row = dict[str, Any]


def job(seed: int = 3, **params: Any) -> Job[TwinsParams]:
    given: dict[str, Any] = {"domain": "films", "lengths": (4, 8), "triples_per_cell": 2}
    return Job("twins", seed, TwinsParams.model_validate(given | params))


def rows_of(records: Records) -> dict[str, list[Row]]:
    tables = {
        "corpus": records.corpus,
        "queries": records.queries,
        "qrels": records.qrels["test"],
        "qrels_graded": records.graded["test"],
    }
    return {
        name: [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]
        for name, table in tables.items()
    }


def rows(seed: int = 3, **params: Any) -> dict[str, list[Row]]:
    return rows_of(WorldTwins().generate(job(seed, **params)))


def write(folder: Path, tables: dict[str, list[Row]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    return folder
