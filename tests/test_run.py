"""`gen run` as a user meets it: what it writes, resumes, refuses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen import run
from retgen.errors import (
    ChecksFailed,
    OutputError,
    RunDirectoryError,
    UsageError,
)
from retgen.generators.limit.tables import DocumentTable
from retgen.run import check_space
from tests.conftest import SMALL, read_jsonl

Gen = Callable[..., "subprocess.CompletedProcess[str]"]


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "dataset").iterdir())
    }


def test_what_a_run_directory_holds(small: Path, tmp_path: Path) -> None:
    result = run(small, out=tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        ".lock",
        "dataset",
        "manifest.json",
        "recipe.yaml",
        "rejected.jsonl",
        "report.html",
        "report.json",
        "run.log",
    ]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest == result.manifest
    assert manifest["counts"] == {"documents": 400, "queries": 100, "qrels": 200, "rejected": 0}
    assert manifest["evidence"] == {"structural": 200, "judged": 0, "human": 0}
    assert manifest["complete"] is True
    assert manifest["checks"] == {"errors": 0, "warnings": 0, "switched_off": {}}
    assert sorted(manifest["files"]) == [
        "dataset/README.md",
        "dataset/corpus.jsonl",
        "dataset/qrels.jsonl",
        "dataset/queries.jsonl",
        "recipe.yaml",
        "rejected.jsonl",
    ]
    for name, info in manifest["files"].items():
        data = (tmp_path / "out" / name).read_bytes()
        assert info == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    corpus = read_jsonl(tmp_path / "out" / "dataset" / "corpus.jsonl")
    assert len({d["_id"] for d in corpus}) == 400
    assert all(len(d["metadata"]["attributes"]) == 20 for d in corpus)
    assert sum(d["metadata"]["column"] >= 0 for d in corpus) == 15


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `small`; tests read it only."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.yaml").write_text(SMALL)
    return run(folder / "small.yaml", out=folder / "out").path


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """A finished run of `small`, of a test's own."""
    return Path(shutil.copytree(whole, tmp_path / "out"))


def test_a_second_call_does_nothing(small: Path, out: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.name != ".lock"}
    assert run(small, out=out).repeated
    assert before == {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.name != ".lock"}


def test_the_resolved_recipe_repeats_the_run(whole: Path, tmp_path: Path) -> None:
    run(whole / "recipe.yaml", out=tmp_path / "two")
    run(whole, out=tmp_path / "three")
    assert digests(whole) == digests(tmp_path / "two") == digests(tmp_path / "three")


def test_another_recipe_is_refused(small: Path, out: Path) -> None:
    with pytest.raises(RunDirectoryError) as error:
        run(small, out=out, overrides={"seed": 7, "params.docs": 300})
    assert str(error.value) == (
        f"{out} belongs to another recipe; it differs in seed, params.docs. Choose another "
        "--out, or throw away what is there with --fresh."
    )
    assert run(small, out=out, overrides={"seed": 7}, fresh=True).manifest["seed"] == 7


def test_a_folder_of_somebody_else_is_refused(small: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    (tmp_path / "out" / ".notes.partial").mkdir()
    for fresh in (False, True):
        with pytest.raises(RunDirectoryError) as error:
            run(small, out=tmp_path / "out", fresh=fresh)
        assert str(error.value) == (
            f"{tmp_path}/out is not a run directory: it holds .notes.partial, thesis.tex but no "
            "recipe.yaml. Choose another --out."
        )
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "out" / ".notes.partial").is_dir()


def test_a_finished_run_that_was_changed(small: Path, out: Path) -> None:
    (out / "dataset" / "queries.jsonl").unlink()
    with pytest.raises(RunDirectoryError) as error:
        run(small, out=out)
    assert str(error.value) == (
        f"{out} is a finished run, but dataset/queries.jsonl was changed or removed since; make it "
        "again with --fresh"
    )


def test_what_is_switched_off_takes_no_proof_away(small: Path, tmp_path: Path) -> None:
    level = {"validate.order_leak_p": 0.999999}
    with pytest.raises(ChecksFailed, match="order-leak"):
        run(small, out=tmp_path / "refused", overrides=level)
    off = {**level, "validate.off": {"order-leak": "trying something"}}
    manifest = run(small, out=tmp_path / "out", overrides=off).manifest
    assert manifest["evidence"]["structural"] == manifest["counts"]["qrels"] > 0


def test_tables_of_other_sources_do_not_stay(small: Path, whole: Path, out: Path) -> None:
    (out / "manifest.json").unlink()
    for name in ("dataset/corpus.parquet", "tables/old.jsonl"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("left")
    run(small, out=out)
    assert digests(out) == digests(whole)
    assert [*(out / "tables").iterdir()] == []


def test_an_altered_file_is_not_kept(small: Path, whole: Path, out: Path) -> None:
    """What a rerun finds is kept only if it is what was written."""
    (out / "manifest.json").unlink()
    corpus = out / "dataset" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('","title"', '", "title"'))
    run(small, out=out)
    assert digests(out) == digests(whole)


@pytest.mark.parametrize("left", [".recipe.yaml.7-0123abcd.partial", "inputs/mine.txt"])
def test_a_kill_before_the_recipe_stands(small: Path, tmp_path: Path, left: str) -> None:
    path = tmp_path / "out" / left
    path.parent.mkdir(parents=True)
    path.write_text("half")
    assert run(small, out=tmp_path / "out").manifest["counts"]["documents"] == 400


def test_a_link_at_a_temporary_name_is_not_followed(small: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (out / "manifest.json").unlink()
    (out / ".manifest.json.partial").symlink_to(tmp_path / "victim")
    run(small, out=out)
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (out / "manifest.json").is_symlink()


def test_a_failed_proof_is_no_finished_run(
    small: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names record and rule; no manifest is written, also where the run is repeated."""
    right = DocumentTable.matrix_columns

    def wrong(self: DocumentTable, start: int, stop: int) -> Any:
        columns = right(self, start, stop)
        columns[np.flatnonzero(columns == b"-1")[:1]] = b"7"  # the first distractor
        return columns

    monkeypatch.setattr(DocumentTable, "matrix_columns", wrong)
    (out / "manifest.json").unlink()
    for fresh in (True, False):
        with pytest.raises(ChecksFailed) as error:
            run(small, out=out, fresh=fresh)
        assert error.value.exit_code == 1
        assert "did not pass its checks (1 errors)" in str(error.value)
        message = r"limit-proof/document: document d\d+: .*its metadata gives matrix column 7"
        assert re.search(message, str(error.value))
        assert not (out / "manifest.json").exists()


def test_limit_is_refused(small: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        run(small, out=tmp_path / "out", limit=5)
    assert str(error.value) == (
        "--limit: the latent matrix of a limit recipe fixes its records; set its size instead, "
        "for example --set params.docs=1000 --set params.queries=50"
    )


def test_two_runs_into_one_directory(small: Path, tmp_path: Path, gen: Gen) -> None:
    import filelock

    (tmp_path / "out").mkdir()
    with filelock.FileLock(tmp_path / "out" / ".lock"):
        result = gen("run", small, "--out", "out")
    assert result.returncode == 2
    assert result.stderr == (
        "gen: out is in use by another gen run; wait for it, or choose another --out. It is "
        "another process\n"
    )
    assert gen("run", small, "--out", "out").returncode == 0


def test_too_little_room_is_seen_before(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as error:
        check_space(tmp_path, 10**18)
    assert re.fullmatch(
        rf"cannot write {tmp_path}: the data set needs about 1,000,000.0 TB, [0-9,.]+ [kMGT]?B are free. "
        r"Free some space, or choose another folder with --out\.",
        str(error.value),
    )


@pytest.mark.skipif(not os.path.ismount("/sys"), reason="needs a file system that refuses writes")
@pytest.mark.parametrize("out", ["/sys", "/sys/retgen"])
def test_a_read_only_directory(small: Path, gen: Gen, out: str) -> None:
    """sysfs refuses new files, to root as well."""
    result = gen("run", small, "--out", out)
    assert result.returncode == 2
    assert re.fullmatch(
        rf"gen: cannot write {out}(/\.lock)?: (Permission denied|Operation not permitted|Read-only file system)\. "
        r"What was finished before is kept: choose another folder with --out and run the same "
        r"command again\.\n",
        result.stderr,
    )


# sends itself a signal where the third shard would appear: before the end by construction
STOPPED = """
import os, signal, sys
from retgen.cli import main

def stop(event, args):
    if event == "os.rename" and str(args[1]).endswith("corpus-00003-of-00008.jsonl"):
        os.kill(os.getpid(), int(number))

number = sys.argv.pop(1)
# tests in the background of a shell ignore Ctrl-C, and so does what they start
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(stop)
main()
"""


@pytest.mark.slow  # processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    """Stopped when two shards stand; the rerun keeps what is finished, and ends the same."""
    words = (
        "run limit_dense --out out --workers 1 --set output.shards=8 --set params.docs=2000"
    ).split()
    stopped = [sys.executable, "-c", STOPPED, str(int(number)), *words]
    done = subprocess.run(stopped, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    kept = {p: p.stat().st_mtime_ns for p in (tmp_path / "out" / "dataset").glob("corpus-*")}
    assert len(kept) in (2, 3)  # a handler runs when the call that it interrupts has returned
    del kept[max(kept)]  # renamed, but perhaps not yet noted as finished
    assert not (tmp_path / "out" / "manifest.json").exists()
    if number == signal.SIGKILL:
        assert done.returncode == -signal.SIGKILL
    else:
        assert done.returncode == 130
        assert done.stderr == (
            "gen: interrupted; what is finished is kept. Resume with:\n  gen run limit_dense --out "
            "out --workers 1 --set output.shards=8 --set params.docs=2000\n"
        )
    args = [sys.executable, "-m", "retgen.cli", *words]
    subprocess.run(args, cwd=tmp_path, check=True, capture_output=True)
    assert kept == {p: p.stat().st_mtime_ns for p in kept}
    whole = [*args[:6], "whole", *args[7:]]
    subprocess.run(whole, cwd=tmp_path, check=True, capture_output=True)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


@pytest.mark.slow
def test_workers_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Path
) -> None:
    """Two processes from the first document on: the same bytes, the same findings."""
    import retgen.work.local

    run(small, out=tmp_path / "one", workers=1, overrides={"output.shards": 5})
    # reason: starting processes pays from seconds of work on; the threshold is no behaviour
    monkeypatch.setattr(retgen.work.local, "START", 0.0)
    run(small, out=tmp_path / "two", workers=2, overrides={"output.shards": 5})
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    one, two = (json.loads((tmp_path / n / "report.json").read_text()) for n in ("one", "two"))
    for key in ("findings", "statistics", "floors", "certificate", "samples"):
        assert one[key] == two[key]
