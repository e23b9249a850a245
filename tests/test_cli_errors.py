"""Errors of the command line: messages, exit codes, and never a traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import retgen
from retgen.cli.base import report_errors
from retgen.errors import DatasetError, OutputError
from tests.conftest import Gen


def test_a_recipe_where_a_data_set_is_wanted(gen: Gen) -> None:
    missing = "does not exist. Give the folder of a run or of a data set."
    result = gen("eval", "limit_small")
    assert (result.returncode, result.stderr) == (
        2,
        f"gen: limit_small {missing} limit_small is a recipe: `gen run limit_small` makes "
        "outputs/limit_small.\n",
    )
    assert gen("capacity", "outputs/limit_smal").stderr == (
        f"gen: outputs/limit_smal {missing} `gen recipes` lists what `gen run` makes; did you mean "
        "limit_small?\n"
    )
    assert gen("train", "elsewhere").stderr == f"gen: elsewhere {missing}\n"


def test_errors_have_no_traceback_unless_asked(gen: Gen) -> None:
    result = gen("run", "nothing.yaml")
    assert result.returncode == 2
    assert result.stderr == (
        "gen: nothing.yaml: there is no such file, and no bundled recipe of that name. "
        "`gen recipes` lists them.\n"
    )
    assert "Traceback" in gen("run", "nothing.yaml", "-v").stderr


STOPPED = """
import sys
from retgen.cli import main

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "retgen.cli.base":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
main()
"""


def test_an_interruption_while_modules_are_imported() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "gen: interrupted before anything was done\n"


def test_a_file_that_may_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    def read() -> None:
        raise PermissionError(13, "Permission denied", "corpus.jsonl")

    with pytest.raises(typer.Exit) as ended:
        report_errors(read)()
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == (
        "gen: corpus.jsonl: may not be read or written by this user\n"
    )


def test_usage_errors(gen: Gen) -> None:
    assert gen("run").returncode == 2
    assert gen("nothing").returncode == 2
    assert gen("run", "limit_dense", "--workers", "0").returncode == 2


def test_a_signal_while_an_error_is_told_is_an_interruption() -> None:
    """As of a terminal that goes away: a write to it fails, and then its signal comes."""

    class Gone(OSError):
        @property
        def errno(self) -> int:  # type: ignore[override]
            raise KeyboardInterrupt

    @report_errors
    def command() -> None:
        raise Gone

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130


@pytest.mark.slow
def test_output_into_a_closed_pipe(small: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m retgen.cli schema | head -c 10"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout == '{\n  "$sche'
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ("run", ""),
            "the name of the recipe is empty: give a recipe file or the name of a bundled recipe. "
            "`gen recipes` lists them.",
        ),
        (
            ("plan", " "),
            "the name of the recipe is empty: give a recipe file or the name of a bundled recipe. "
            "`gen recipes` lists them.",
        ),
        (
            ("plan", "limit_dense", "--set", "params.docs=10"),
            "params.docs: 10 documents of 45 attributes have 450 places; 1,000 queries with 2 relevant "
            "documents each need 2,000. Ask for at least 46 documents, or for fewer queries",
        ),
        (
            ("run", "limit_dense", "--model", "gpt5"),
            "--model: 'gpt5' is neither 'offline' nor 'provider:name', as in openai:gpt-5-mini",
        ),
        (("report", "nothere"), "nothere does not exist. Give the folder of a run."),
        (
            ("report", "limit_dense"),
            "limit_dense does not exist. Give the folder of a run. limit_dense is a recipe: "
            "`gen run limit_dense` makes outputs/limit_dense.",
        ),
    ],
)
def test_messages(gen: Gen, tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    result = gen(*command)
    assert (result.returncode, result.stderr) == (2, f"gen: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("validate", ""),
        ("validate", "x", "--against", ""),
        ("eval", ""),
        ("eval", "x", "--out", " "),
        ("eval", "x", "--run", ""),
        ("train", "x", "--out", ""),
        ("capacity", ""),
        ("report", ""),
        ("export", "", "--to", "beir"),
        ("publish", "", "file:x"),
        ("run", "limit_small", "--out", ""),
    ],
)
def test_an_empty_path_is_not_this_folder(
    gen: Gen, tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = gen(*command)
    assert result.returncode == 2
    assert "it is empty: give a path" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("torch", "pip install 'retgen[eval]'"),
        ("sentence_transformers.util", "pip install 'retgen[eval]'"),
        ("sklearn", "pip install --upgrade retgen"),
        ("lxml.html", "pip install 'retgen[documents]'"),
        ("botocore", "pip install 'retgen[publish]'"),
        ("starlette", "pip install 'retgen[review]'"),
        ("dotenv", "pip install --upgrade retgen"),
        ("ruamel.yaml", "pip install --upgrade retgen"),
    ],
)
def test_a_missing_package_is_of_the_core_or_of_an_extra(
    module: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @report_errors
    def needs() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    with pytest.raises(typer.Exit):
        needs()
    assert capsys.readouterr().err == f"gen: this needs the package {module}: {command}\n"


def test_an_empty_path_in_a_notebook() -> None:
    for function in (retgen.validate, retgen.report):
        with pytest.raises(DatasetError, match="the path is empty: give the folder of a run"):
            function("")


def test_a_file_where_a_folder_belongs(gen: Gen, tmp_path: Path, small: Path) -> None:
    run = tmp_path / "x"
    (run / "dataset").mkdir(parents=True)
    for name in ("recipe.yaml", "manifest.json", "dataset/corpus.jsonl"):
        (run / name).touch()
    assert gen("report", "x/manifest.json").stderr == (
        "gen: x/manifest.json is a file. Give the folder of a run: x.\n"
    )
    assert gen("validate", "x/dataset/corpus.jsonl").stderr == (
        "gen: x/dataset/corpus.jsonl is a file. Give the folder of a run or of a data set: "
        "x/dataset.\n"
    )
    assert gen("export", str(small), "--to", "beir").stderr == (
        f"gen: {small} is a file. Give the folder of a run or of a data set.\n"
    )


def test_a_folder_that_cannot_be_made(gen: Gen, tmp_path: Path, small: Path) -> None:
    (tmp_path / "file").touch()
    for out, why in (("file", "File exists"), ("file/a/b", "Not a directory")):
        result = gen("run", str(small), "--out", out)
        assert (result.returncode, result.stderr) == (
            2,
            f"gen: cannot write {out}: {why}. What was finished before is "
            "kept: choose another folder with --out and run the same command again.\n",
        )


def test_a_file_system_without_locks(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    # reason: a test cannot mount a file system that has no locks
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OutputError) as error:
        retgen.run(small, out=tmp_path / "out")
    assert str(error.value) == (
        f"cannot write {tmp_path}/out/.lock: No locks available. What was finished before is kept: "
        "choose another folder with --out and run the same command again."
    )
