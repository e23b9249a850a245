"""A proof that is killed goes on where it stopped, and trusts nothing that it cannot vouch for."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen import run, validate
from retgen.data import Chunk, open_dataset
from retgen.engines import Local
from retgen.engines.packing import pack_data, unpack_data
from retgen.errors import ChecksFailed
from retgen.generators.limit.tables import DocumentTable
from retgen.progress import no_progress
from retgen.recipe import load_recipe
from retgen.recipe_file import RuleSettings
from retgen.rows import Problem
from retgen.validation.scan import build_rules, load_judgements, scan
from retgen.validation.states import PROOF, PartFiles, States
from retgen.validators.rule import DocumentNotes
from retgen.write import FileInfo
from tests.test_run import digests

# a run whose corpus has 9 parts (a MB is one part otherwise), which SIGKILL ends once that many
# states of them are on disk
KILLED = """
import os, signal, sys
import retgen.cli, retgen.validation.scan, retgen.validation.states
scan = sys.modules["retgen.validation.scan"]
scan.MOST, scan.BRIEF = 20_000, -1.0
sys.modules["retgen.engines.engine"].START = 0.0
keep, before = retgen.validation.states.States.keep, int(sys.argv.pop(1))
def killing(self, *args):
    global before
    result = keep(self, *args)
    before -= 1
    if before == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
retgen.validation.states.States.keep = killing
sys.exit(retgen.cli.main())
"""
PARTS = 9


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = sys.modules["retgen.validation.scan"]
    monkeypatch.setattr(module, "MOST", 20_000)
    monkeypatch.setattr(module, "BRIEF", -1.0)


class Stop(Exception):
    pass


def stop_after(parts: int) -> Callable[..., None]:
    """A progress that stops the run when so many parts are proven."""

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        if stage == "proof" and done == parts:
            assert total == PARTS
            raise Stop

    return progress


def taken_up(folder: Path) -> list[int]:
    """The numbers of parts that runs found proven, run by run."""
    log = (folder / "run.log").read_text()
    return [int(n) for n in re.findall(r" kept the proof of (\d+) parts of an earlier run\n", log)]


def proof_in(folder: Path) -> dict[str, Any]:
    report = json.loads((folder / "report.json").read_text())
    return {k: report[k] for k in ("findings", "statistics", "floors", "certificate", "samples")}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_while_it_is_proven(small: Path, tmp_path: Path, workers: int) -> None:
    """Killed after 2, 3 and 1 further parts: the rerun proves the other three, with the same end."""
    args = ["run", str(small), "--out", "out", "--workers", str(workers), "-q"]
    for parts in (2, 3, 1):
        command = [sys.executable, "-c", KILLED, str(parts), *args]
        assert subprocess.run(command, cwd=tmp_path).returncode == -signal.SIGKILL
        assert not (tmp_path / "out" / "manifest.json").exists()
    assert len(list((tmp_path / "out" / PROOF).glob("part-*"))) == 6
    command = [sys.executable, "-c", KILLED, "0", *args]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    assert taken_up(tmp_path / "out") == [6]
    run(small, out=tmp_path / "whole")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")
    assert proof_in(tmp_path / "out") == proof_in(tmp_path / "whole")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {path.name for path in (tmp_path / "whole").iterdir()}


def _cut(folder: Path) -> None:
    path = folder / "part-000002"
    path.write_bytes(path.read_bytes()[:-7])


def _flip(folder: Path) -> None:
    path = folder / "part-000002"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def _exchange(folder: Path) -> None:
    (folder / "part-000002").write_bytes((folder / "part-000001").read_bytes())


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("damage", [_cut, _flip, _exchange])
def test_a_damaged_state_is_proven_again(
    small: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    run(small, out=tmp_path / "whole")
    with pytest.raises(Stop):
        run(small, out=tmp_path / "out", progress=stop_after(5))
    damage(tmp_path / "out" / PROOF)
    run(small, out=tmp_path / "out")
    assert taken_up(tmp_path / "out") == [4]
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")
    assert proof_in(tmp_path / "out") == proof_in(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_a_changed_corpus_is_proven_from_the_start(small: Path, tmp_path: Path) -> None:
    """The changed file is written again, and what was known of it is thrown away."""
    with pytest.raises(Stop):
        run(small, out=tmp_path / "out", progress=stop_after(5))
    corpus = tmp_path / "out" / "dataset" / "corpus.jsonl"
    corpus.write_bytes(corpus.read_bytes().replace(b" likes ", b" hates ", 1))
    run(small, out=tmp_path / "out")
    run(small, out=tmp_path / "whole")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


@pytest.mark.usefixtures("small_parts")
def test_gen_validate_reads_no_state(small: Path, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(small, out=tmp_path / "out", progress=stop_after(5))
    before = {path: path.read_bytes() for path in (tmp_path / "out" / PROOF).iterdir()}
    validation = validate(tmp_path / "out")
    assert [finding.rule for finding in validation.findings] == ["manifest"]  # the run did not end
    assert validation.taken_up == 0
    assert {path: path.read_bytes() for path in (tmp_path / "out" / PROOF).iterdir()} == before


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_a_failed_proof_leaves_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found before the interruption is an error at the end; the states are gone."""
    right = DocumentTable.matrix_columns

    def wrong(self: DocumentTable, start: int, stop: int) -> Any:
        columns = right(self, start, stop)
        columns[np.flatnonzero(columns == b"-1")[:1]] = b"7"  # the first distractor
        return columns

    monkeypatch.setattr(DocumentTable, "matrix_columns", wrong)
    messages = []
    for name, stops in (("out", 1), ("whole", 0)):
        if stops:
            with pytest.raises(Stop):
                run(small, out=tmp_path / name, progress=stop_after(5))
        with pytest.raises(ChecksFailed) as error:
            run(small, out=tmp_path / name)
        messages.append(str(error.value).replace(str(tmp_path / name), "RUN"))
        assert not (tmp_path / name / PROOF).exists()
    assert messages[0] == messages[1]
    assert "(1 errors)" in messages[0]
    assert "its metadata gives matrix column 7" in messages[0]
    assert taken_up(tmp_path / "out") == [5]
    assert proof_in(tmp_path / "out") == proof_in(tmp_path / "whole")


def begun(
    tmp_path: Path, written: str = "a", parts: int = 2, asked: str = "test", recipe: str = "x"
) -> tuple[States, dict[int, Any]]:
    (tmp_path / "recipe.yaml").write_text(recipe)
    states = States(tmp_path, {"dataset/corpus.jsonl": FileInfo(written, 9)})
    cuts = [[Chunk(Path("corpus.jsonl"), n, n + 1)] for n in range(parts)]
    return states, states.begin(cuts, asked)


def test_what_a_state_depends_on(tmp_path: Path) -> None:
    states, kept = begun(tmp_path)
    assert kept == {}
    states.keep(1, pack_data(DocumentNotes([("d1", "why")])))
    assert begun(tmp_path)[1] == {1: DocumentNotes([("d1", "why")])}
    assert sorted(path.name for path in states.folder.iterdir()) == ["part-000001"]
    (states.folder / "part-of-a-killed-run").write_text("half")
    assert begun(tmp_path)[0].loaded == 1
    assert sorted(path.name for path in states.folder.iterdir()) == ["part-000001"]
    others: list[dict[str, Any]] = [
        {"written": "b"}, {"parts": 3}, {"asked": "dev"}, {"recipe": "y"},
    ]  # fmt: skip
    for other in others:
        states.keep(1, pack_data(DocumentNotes()))
        assert begun(tmp_path, **other)[1] == {}
        assert list(states.folder.iterdir()) == []
        begun(tmp_path)
    states.keep(1, pack_data(DocumentNotes()))
    tmp_path.rename(moved := tmp_path.with_name(f"{tmp_path.name}-moved"))
    assert begun(moved)[1] == {
        1: DocumentNotes()
    }  # a folder may stand elsewhere on another machine


@pytest.mark.parametrize("what", ["rules_hash", "installed_versions"])
def test_other_rules_trust_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    begun(tmp_path)[0].keep(0, pack_data(DocumentNotes()))
    assert begun(tmp_path)[1] == {0: DocumentNotes()}
    monkeypatch.setattr(f"retgen.validation.states.{what}", lambda: "another")
    assert begun(tmp_path)[1] == {}


def packed(pickled: bytes) -> bytes:
    """The same as `pack_data` leaves it, of a pickle that it would not make."""
    head = np.array([1, len(pickled)], np.int64).tobytes()
    return head + bytes(48) + pickled + bytes(-len(pickled) % 64)


def test_a_state_runs_nothing(tmp_path: Path) -> None:
    """A run directory may come from anywhere."""

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("touch harmed",)

    named = b"cretgen.validators.rule\nDocumentNotes.merge\n."  # a function, by a name with a dot
    evil = packed(pickle.dumps(Evil()))
    for raw in (evil, packed(pickle.dumps(run)), packed(pickle.dumps(validate)), packed(named)):
        with pytest.raises(pickle.UnpicklingError, match="has no place here"):
            unpack_data(raw)
    states, _ = begun(tmp_path)
    with pytest.raises(pickle.UnpicklingError):
        states.keep(0, evil)
    assert begun(tmp_path)[1] == {}
    assert not Path("harmed").exists()
    plain = [{1: {"a"}}, Counter("ab"), defaultdict(list, a=[1]), Problem(1, "b"), 1.5, None]
    assert unpack_data(pack_data(plain)) == plain
    assert (unpack_data(pack_data(np.arange(3)[::2])) == [0, 2]).all()


def plainly(value: Any) -> Any:
    """States, and states in states, as dictionaries, whose arrays can be compared."""
    if is_dataclass(value):
        return {name: plainly(one) for name, one in vars(value).items()}
    return value


def test_states_of_all_rules_are_data(limit_run: Path, tmp_path: Path) -> None:
    """Of the generic rules and of a proof; a state that cannot be read back costs its part."""
    dataset = open_dataset(limit_run)
    recipe = load_recipe(limit_run).at(limit_run)
    for proof in (recipe, None):
        judgements = load_judgements(dataset, None, proof)
        rules = build_rules(proof, judgements, RuleSettings())
        count, _ = scan(
            dataset, rules, Local(1), None, no_progress, proof, RuleSettings(), PartFiles(tmp_path)
        )
        assert count == 15
        for rule in rules:
            again = unpack_data(pack_data(rule.state))
            assert type(again) is type(rule.state)
            np.testing.assert_equal(plainly(again), plainly(rule.state))
