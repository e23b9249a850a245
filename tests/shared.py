"""What tests share: things dear to make, made once, whichever process needs them first; samples;
runs that are altered.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen.write import dump_json, file_info
from tests.conftest import read_jsonl


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` (PARENT/NAME) of these tests, filled by `make` the first time."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the processes have folders of their own in one
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    folder.parent.mkdir(exist_ok=True)
    with filelock.FileLock(base / f"{name}.lock"):
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def sample(cases: list[Any]) -> list[Any]:
    """Every third case by default, since each is a run copied and checked; all of them if slow."""
    return [
        pytest.param(*case, marks=[pytest.mark.slow] if number % 3 else [])
        for number, case in enumerate(cases)
    ]


def altered(
    run: Path, folder: Path, name: str, change: Callable[[list[dict[str, Any]]], Any]
) -> Path:
    """A copy of the run with the rows of one table changed, and a manifest that agrees with it."""
    copy = folder / "altered"
    shutil.copytree(run, copy)
    file = copy / name
    if file.suffix == ".parquet":
        table = pq.read_table(file)
        rows = table.to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
    else:
        rows = read_jsonl(file)
        change(rows)
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][name] = file_info(file)._asdict()
    (copy / "manifest.json").write_text(dump_json(manifest))
    return copy
