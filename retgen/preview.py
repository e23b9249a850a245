"""`gen preview`: a few records, made but not written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import UsageError
from retgen.generators.records import Records
from retgen.recipe import load_recipe


def preview(
    source: str | Path, n: int = 3, overrides: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The first `n` queries, their qrels, the documents these name, and the first `n` documents.

    "example": a record as the family lays it out, None where it does not.
    """
    recipe = load_recipe(source, overrides)
    if recipe.live:
        raise UsageError(
            "a preview asks no model; try the recipe with `gen run RECIPE --pilot 5`, or with "
            "--set model=offline"
        )
    with tempfile.TemporaryDirectory() as folder:
        if recipe.prepared:
            from retgen.agents.calls import ModelOptions
            from retgen.with_agents import generate_with_agents

            generate_with_agents(recipe, Path(folder), ModelOptions())
        return _records(recipe.at(Path(folder)).records(), n)


def _records(records: Records, n: int) -> dict[str, Any]:
    def rows(table: Any, stop: int) -> list[dict[str, Any]]:
        lines = table.jsonl(0, min(stop, table.count)).splitlines()
        return [orjson.loads(line) for line in lines]

    queries = rows(records.queries, n)
    wanted = {query["_id"] for query in queries}
    split = next(iter(records.qrels))
    qrels = [
        row for row in rows(records.qrels[split], min(records.qrels[split].count, 10_000))
        if row["query-id"] in wanted
    ]  # fmt: skip
    relevant = {row["corpus-id"] for row in qrels if row["score"] > 0}
    result: list[dict[str, Any]] = []
    for start in range(0, min(records.corpus.count, 1_000_000), 20_000):
        if len(result) == len(relevant):
            break
        stop = min(start + 20_000, records.corpus.count)
        for line in records.corpus.jsonl(start, stop).splitlines():
            # ids stand first in a line; only lines that matter are parsed
            if line[8 : line.index(b'"', 8)].decode() in relevant:
                result.append(orjson.loads(line))
    return {
        "example": records.example._asdict() if records.example else None,
        "queries": queries,
        "qrels": qrels,
        "relevant": result,
        "corpus": rows(records.corpus, n),
    }
