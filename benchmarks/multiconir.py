"""Ladders a second: assembling, writing and proving them with all exported tables, at flat memory.

What models say is not made here: the ladders of the bundled documents stand again and again under
other ids. Each size is a process of its own, and goes through what `gen run` does once its agents
have answered: dataset/, the paper's flat tables, training/, then the proof from the written files.

    .venv/bin/python benchmarks/multiconir.py [--sizes 500 5000 50000] [--domains books]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

Row = dict[str, Any]

DOMAINS = ("people", "books", "movies", "medical", "legal")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 50_000])
    parser.add_argument("--domains", nargs="+", choices=DOMAINS, default=DOMAINS)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        ladders = bundled(Path(folder), given.domains)
        for size in given.sizes:
            run = Path(folder) / str(size)
            prepare(run, ladders, size)
            command = [sys.executable, __file__, "--one", str(run)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            result = json.loads(done.stdout)
            total = result["write"] + result["prove"]
            print(
                f"{size:>6,} ladders: written in {result['write']:.1f} s "
                f"({result['bytes'] / 1e6:,.0f} MB), proven in {result['prove']:.1f} s; "
                f"{size / total:,.0f} ladders/s, peak memory {result['peak']:,.0f} MB",
                flush=True,
            )
            shutil.rmtree(run)


def bundled(folder: Path, domains: Sequence[str]) -> list[tuple[Row, Row]]:
    """(document, ladder) of everything that the bundled recipes of these domains give."""
    from retgen import run

    result = []
    for domain in domains:
        path = run(f"multiconir_{domain}", out=folder / domain).path / "sources"
        documents = {row["id"]: row for row in _rows(path / "documents.jsonl")}
        result += [(documents[row["id"]], row) for row in _rows(path / "ladders.jsonl")]
    return result


def _rows(path: Path) -> list[Row]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def prepare(run: Path, ladders: list[tuple[Row, Row]], size: int) -> None:
    """A run directory whose agents have answered."""
    (run / "sources").mkdir(parents=True)
    (run / "recipe.yaml").write_text("name: many\nfamily: multiconir\nparams: {domain: movies}\n")
    with (
        open(run / "sources" / "documents.jsonl", "wb") as documents,
        open(run / "sources" / "ladders.jsonl", "wb") as file,
    ):
        for i in range(size):
            for table, row in zip(
                (documents, file), copied(*ladders[i % len(ladders)], i), strict=True
            ):
                table.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    nothing = {
        "model": "offline", "cases": 0, "accuracy": None,
        "violated": {"precision": None, "recall": None},
    }  # fmt: skip
    (run / "sources" / "calibration.json").write_text(json.dumps(nothing))


def copied(document: Row, ladder: Row, number: int) -> tuple[Row, Row]:
    """The two with an id, a first condition and a first sentence of their own."""
    sign = f"{number}. "
    name = {"id": f"{ladder['id']}-{number}"}
    fresh = {part: [f"{ladder[part][0][:-1]}, number {sign}".strip(), *ladder[part][1:]]
             for part in ("sentences", "rewrites")}  # fmt: skip
    text = document["text"].replace(ladder["sentences"][0], fresh["sentences"][0])
    return document | name | {"text": text}, ladder | name | fresh | {
        "conditions": [f"{ladder['conditions'][0]}, number {number}", *ladder["conditions"][1:]],
        "queries": [f"{query} ({number})" for query in ladder["queries"]],
        "verdicts": [one | {"quote": one["quote"].rstrip(".")} for one in ladder["verdicts"]],
    }


def measure(run: Path) -> dict[str, float]:
    """Seconds to write and to prove, bytes written, and the peak of memory in MB."""
    from retgen.generate import write_dataset
    from retgen.progress import silent
    from retgen.recipe import load_recipe
    from retgen.validation.validate import prove

    recipe = load_recipe(run).at(run)
    began = time.perf_counter()
    tables = write_dataset(recipe, recipe.family.generate(recipe.job), run)
    written = time.perf_counter()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = prove(run, recipe, tables.files, 1, silent)
    wrong = [one.message for one in result.findings if one.severity == "error"]
    assert not wrong, wrong[:3]
    return {
        "write": written - began,
        "prove": time.perf_counter() - written,
        "bytes": sum(one.bytes for one in tables.files.values()),
        "write_peak": after,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
