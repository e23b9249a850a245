"""Whatever is damaged in the sources of a run is an error that names the file, in every family."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from retgen import validate
from retgen.generators import families, family
from tests.agents.ladder_mind import ladder_mind
from tests.agents.minds import mind as attributes_mind
from tests.agents.server import serving
from tests.command import in_process
from tests.generators.capretrieval.mind import mind as queries_mind
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.generators.multiconir.stories import stories
from tests.generators.world import test_with_agents as world
from tests.generators.world.mind import mind as facts_mind
from tests.shared import once
from tests.validation.changes import forged
from tests.with_agents.conftest import environment, recipe_of

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))  # every damage, not one of some
Say = Callable[[dict[str, Any]], str] | None
ASKED = ("windmill copper", "tram birds", "spaceship", "chess honey")
SHIPS = "name: ships\nfamily: multiconir\nparams: {domain: legal, source: {path: ships.jsonl}}\n"
HAYSTACKS = "name: n\nfamily: niah\nparams: {lengths: [128], places: 2, orders: [default]}\n"
# run -> who answers; None: nobody is asked
MINDS: dict[str, Say] = {
    "limit": attributes_mind,
    "niah": None,
    "multiconir": ladder_mind,
    "world": facts_mind,
    "capretrieval": queries_mind,
    "capretrieval_asked": None,
    "capretrieval_offline": None,
}


def made(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "ships.jsonl").write_text("".join(json.dumps(one) + "\n" for one in stories(2)))
    rows = ({"_id": f"q{n}", "text": text} for n, text in enumerate(ASKED))
    (folder / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    documents, of = write_rows(folder / "kb.jsonl", TEXTS), name.partition("_")[0]
    recipes = {"limit": recipe_of(12, 50), "niah": HAYSTACKS, "world": world.RECIPE}
    if of == "capretrieval":
        asked = "  asked: {queries: {path: asked.jsonl}}\n"
        write_recipe(folder / "made.yaml", documents, asked if name.endswith("asked") else "")
    else:
        (folder / "made.yaml").write_text(recipes.get(of, SHIPS))
    call = ["run", "made.yaml", "--out", "run"]
    with serving(MINDS[name] or (lambda body: "")) as server:
        if MINDS[name] is not None:
            call += ["--model", "openai:gpt-5-mini", "--max-usd", "5"]
        done = in_process(*call, cwd=folder, env=environment(server))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    def of(name: str) -> Path:
        path = once(tmp_path_factory, f"damaged/{name}", lambda folder: made(folder, name))
        return path / "run"

    return of


# --- damage -------------------------------------------------------------------------------------

OTHER: dict[type, Any] = {str: 7, int: "x", float: "x", list: "x", dict: [], bool: "x"}


def damages(path: Path) -> Iterator[tuple[str, bytes | None]]:
    """Everything that may happen to a file: what it is called, and the bytes afterwards."""
    data = path.read_bytes()
    if not data:
        yield "missing", None
        return
    yield "braces", b"{}\n"
    yield "empty", b""
    yield "missing", None
    yield "torn", data[:-3]
    yield "no last line break", data[:-1]
    yield "no UTF-8", data[: len(data) // 2] + b"\xff\xfe" + data[len(data) // 2 :]
    if path.suffix == ".txt":
        yield "an extra row", data + b"More things\n"
        return
    rows = [orjson.loads(one) for one in ([data] if path.suffix == ".json" else data.splitlines())]
    *first, last = rows
    for key in last:
        yield f"no {key}", _lines([*first, {k: v for k, v in last.items() if k != key}])
        other = OTHER.get(type(last[key]), {})
        yield f"another type of {key}", _lines([*first, {**last, key: other}])
    yield "a key too many", _lines([*first, {**last, "zz": 1}])
    if path.suffix == ".jsonl":
        yield "an extra row", _lines([*rows, last])
        yield "an empty row", _lines([*rows, {}])
        yield "a blank row", data + b"\n"


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def spoil(path: Path, data: bytes | None) -> None:
    path.unlink() if data is None else path.write_bytes(data)


def test_every_family_with_agents_is_damaged_here() -> None:
    asking = {name for name in families() if family(name).agents}
    assert asking <= {name.partition("_")[0] for name in MINDS}, "add a run of it to MINDS"


@pytest.mark.slow
@pytest.mark.parametrize("name", MINDS)
def test_a_damaged_source_of_a_run_is_an_error(
    finished: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    run = finished(name)
    assert validate(run).errors == 0
    number = 0
    for path in sorted((run / "sources").iterdir()):
        for how, data in damages(path):
            number += 1
            if number % 9 and not LONG:
                continue
            copy = Path(shutil.copytree(run, tmp_path / str(number)))
            spoil(copy / "sources" / path.name, data)
            result = validate(copy)
            assert (result.proven, result.judged) == (0, 0)
            found = {one.rule: one.message for one in result.findings if one.severity == "error"}
            assert found["sources"].startswith(f"sources/{path.name} is "), how
            # under a hash that is made to fit it may do no harm, but it breaks nothing
            copy = forged(copy, tmp_path / f"forged {number}", lambda folder: None)
            done = in_process("validate", copy, cwd=tmp_path)
            assert done.returncode in (0, 1), (path.name, how)
            assert done.stderr == "", (path.name, how)
            shutil.rmtree(tmp_path / str(number))


# --- every other file of a run ------------------------------------------------------------------

# they say how the run went, and promise nothing of the data
UNPROMISED = {"run.log", ".lock", "report.json", "report.html"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limit", "capretrieval_offline", "multiconir", "niah"])
def test_damage_to_any_other_file_is_an_error(
    finished: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    run = finished(name)
    paths = [one for one in sorted(run.rglob("*")) if one.is_file() and "sources" not in one.parts]
    for number, path in enumerate(paths):
        data, file = path.read_bytes(), path.relative_to(run)
        middle = len(data) // 2
        changes: list[bytes | None] = [None]
        if data:
            flipped = bytes([data[middle] ^ 1])
            changes += [b"", data[:middle], data[:middle] + flipped + data[middle + 1 :]]
        for change in changes if LONG else changes[number % 4 : number % 4 + 1]:
            copy = tmp_path / "copy"
            shutil.copytree(run, copy)
            spoil(copy / file, change)
            done = in_process("validate", copy, cwd=tmp_path)
            if file.name in UNPROMISED:
                assert done.returncode == 0
            else:
                assert done.returncode in (1, 2), (file, change and len(change))
                assert "Traceback" not in done.stderr, file
                assert done.stderr.count("\n") <= (done.returncode == 2), (file, done.stderr)
            shutil.rmtree(copy)


@pytest.mark.slow
def test_a_run_without_its_recipe_is_told_so(
    finished: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(finished("capretrieval_offline"), tmp_path / "run")
    (tmp_path / "run" / "recipe.yaml").unlink()
    done = in_process("validate", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "gen: run holds no corpus table. Its recipe.yaml is missing: put it back, or give "
        "run/dataset. A data set is "
    )
