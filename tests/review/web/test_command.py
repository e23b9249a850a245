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
    """The words of a command on a review of three positives and no others."""
    goal = "--goal", "wrong <= 2% at 95%"
    folder = dataset(CORPUS, QUERIES, QRELS)
    return "review", folder, "--out", "out", "--annotators", "anna,ben", "--plants", "0", *goal


def test_a_review_to_take_away(asked: tuple[str | Path, ...], gen: Gen, tmp_path: Path) -> None:
    done = gen(*asked, "--static", "away", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    names = ["review_anna.html", "review_anna.csv", "review_ben.html", "review_ben.csv"]
    assert json.loads(done.stdout) == {"written": [f"away/{name}" for name in names]}
    table = tmp_path / "away" / "review_anna.csv"
    assert table.read_text("utf-8-sig").count("anna") == 3
    filled = table.read_bytes()
    # what came back empty
    done = gen(*asked, "--import", table)
    assert (done.returncode, done.stdout) == (
        0,
        f"{table}: no verdict in it that is not kept already\n",
    )
    # nobody has looked
    done = gen(*asked, "--report")
    begin = f"begin: no verdicts yet; gen review {asked[1]} opens the page"
    assert f"Next:\n- {begin}\n" in done.stdout
    again = gen(*asked, "--static", "away")
    assert again.returncode == 2
    assert "review_anna.csv is there already, and may be filled in: import it" in again.stderr
    assert table.read_bytes() == filled


def test_a_folder_holds_no_verdicts(asked: tuple[str | Path, ...], gen: Gen) -> None:
    assert gen(*asked, "--export", "label-studio", "--to", "sent").returncode == 0
    done = gen(*asked, "--import", "sent")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: sent is a folder; name the file that came back: Label Studio's JSON export, or a "
        "table\n",
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
            assert "3 looks each, about 60 s" in process.stdout.readline()
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
