"""`gen review` from the command line: the server's start and end, and a review to take away."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Gen
from tests.review.web.conftest import CORPUS, QRELS, QUERIES


@pytest.fixture
def asked(dataset: Callable[..., Path]) -> tuple[str | Path, ...]:
    """The words of a command on a review of five labels."""
    folder = dataset(CORPUS, QUERIES, QRELS)
    return "review", folder, "--out", "out", "--annotators", "anna,ben", "--pool", "none"


def test_a_table_to_take_away(asked: tuple[str | Path, ...], gen: Gen, tmp_path: Path) -> None:
    done = gen(*asked, "--export", "csv", "--to", "judge.csv", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"written": "judge.csv"}
    table = tmp_path / "judge.csv"
    filled = table.read_text("utf-8-sig")
    assert filled.count(",anna,") == filled.count(",ben,") == 5
    # what came back empty
    done = gen(*asked, "--import", table)
    assert (done.returncode, done.stdout) == (
        0,
        f"{table}: no verdict in it that is not kept already\n",
    )
    # nobody has judged
    done = gen(*asked, "--report")
    begin = f"items left to judge: anna 5, ben 5 (gen review {asked[1]} opens the page)"
    assert f"Next:\n- {begin}\n" in done.stdout
    again = gen(*asked, "--export", "csv", "--to", "judge.csv")
    assert again.returncode == 2
    assert "judge.csv is there already; choose another place with --to" in again.stderr


def test_a_folder_holds_no_verdicts(asked: tuple[str | Path, ...], gen: Gen) -> None:
    assert gen(*asked, "--export", "label-studio", "--to", "sent").returncode == 0
    done = gen(*asked, "--import", "sent")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: sent is a folder; name the file that came back: Label Studio's JSON export, or a "
        "table\n",
    )


def test_qrels_name_nobody_and_the_command_says_whose_they_are(
    asked: tuple[str | Path, ...], gen: Gen, tmp_path: Path
) -> None:
    given = tmp_path / "ben.txt"
    given.write_text("q1 0 d1 1\n")
    done = gen(*asked, "--import", given)
    assert (done.returncode, done.stdout) == (
        0,
        f"kept 1 verdicts, refused 0\n{given} names nobody who judged: its verdicts count as ben's\n",
    )


@pytest.mark.parametrize("action", [("--export", "csv"), ("--import", "ben.txt")])
def test_a_set_that_changed_is_warned_of(
    asked: tuple[str | Path, ...], gen: Gen, tmp_path: Path, action: tuple[str, str]
) -> None:
    (tmp_path / "ben.txt").write_text("q1 0 d1 1\n")
    assert gen(*asked, "--export", "csv").returncode == 0
    (tmp_path / "out" / "exports" / "review.csv").unlink()
    with open(Path(asked[1]) / "corpus.jsonl", "a") as file:
        file.write('{"_id": "new", "title": "", "text": "one more"}\n')
    done = gen(*asked, *action)
    assert done.returncode == 0
    assert done.stderr.startswith(f"warning: {asked[1]} was changed since this review began: its ")


def test_options_of_a_model_are_refused_without_one(
    asked: tuple[str | Path, ...], gen: Gen
) -> None:
    done = gen(*asked, "--retry-refused", "--export", "csv")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: --retry-refused: about a model that judges: name one, as --model openai:gpt-5-mini\n",
    )


@pytest.mark.slow  # processes
def test_the_server_begins_and_ends(
    asked: tuple[str | Path, ...], gen_process: Gen, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "retgen.cli", *map(str, asked), "--port", "0", "--no-open"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert process.stdout.readline() == "anna: 5 labels, about 2 min.\n"
            assert process.stdout.readline() == "ben: 5 labels, about 2 min.\n"
            assert process.stdout.readline() == (
                "These are all labels of split test: the error rate is exact.\n"
            )
            line = process.stdout.readline()
            found = re.fullmatch(r"review: (http://127\.0\.0\.1:[1-9]\d*/)\n", line)
            assert found, line
            with urllib.request.urlopen(f"{found[1]}judge/ben") as page:
                assert page.status == 200
                assert "<title>Is the document relevant to the query?" in page.read().decode()
            second = gen_process(*asked, "--port", "0", "--no-open")
            assert second.returncode == 2
            assert "out is being reviewed by another server: open its page" in second.stderr
            assert f" It is process {process.pid} on " in second.stderr
            assert second.stderr.endswith(f": {found[1]}\n")
        finally:
            process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        assert rest == (
            "Ctrl-C ends it; nothing is lost.\n"
            "Stopped. Every verdict that was confirmed is in out/verdicts.sqlite.\n"
        )
        assert (process.wait(), process.stderr.read()) == (0, "")
