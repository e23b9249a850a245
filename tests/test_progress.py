"""Progress where nobody looks at a terminal: plain lines, twice a minute."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retgen.progress import ProgressLines


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgressLines, "EVERY", 0.2)  # seconds
    monkeypatch.setattr(ProgressLines, "NOTES", 0.05)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was said, numbers of seconds as N."""
    return [re.sub(r"\d+ s\b", "N s", line) for line in capsys.readouterr().err.splitlines()]


def line_with(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Wait for the first line with these words, as long as it takes, and return it."""
    until, text = time.monotonic() + 120, ""
    while time.monotonic() < until:
        text += capsys.readouterr().err
        for line in text.splitlines():
            if words in line:
                return line
        time.sleep(0.01)
    raise AssertionError(text)


def test_work_that_reports_nothing_is_running(
    hasty: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressLines():
        assert re.fullmatch(r"gen: running, \d+ s so far", line_with("", capsys))


def test_where_the_work_is(hasty: None, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines() as progress:
        progress("corpus", 1000, 3000)
        line = line_with("1,000 of", capsys)
        assert re.fullmatch(r"corpus: 1,000 of 3,000, \d+ s so far, about \d+ s left", line)
        progress("corpus", 3000, 3000)
        line = line_with("3,000 of 3", capsys)
        assert re.fullmatch(r"corpus: 3,000 of 3,000, \d+ s so far", line)


@pytest.mark.slow
def test_a_stage_that_begins_again_has_a_clock_of_its_own(
    hasty: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressLines() as progress:
        progress("train", 60, 60)
        time.sleep(2)
        again = time.monotonic()
        progress("train", 1, 60)
        told = re.match(r"train: 1 of 60, (\d+) s so far", line_with("1 of 60", capsys))
        assert told is not None
        assert int(told[1]) <= time.monotonic() - again + 0.5  # it is rounded


def test_quick_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines() as progress:
        progress("corpus", 10, 10)
    assert lines(capsys) == []


@pytest.mark.parametrize(("notes", "expected"), [(True, ["calls: 2 of 2, 7 calls"]), (False, [])])
def test_what_was_paid_is_said_at_the_end_of_a_stage(
    capsys: pytest.CaptureFixture[str], notes: bool, expected: list[str]
) -> None:
    with ProgressLines(notes) as progress:
        progress("calls", 1, 2, "3 calls")
        progress("calls", 2, 2, "7 calls")
    assert lines(capsys) == expected


COMMAND = """
import time
from retgen.cli import main
from retgen.progress import ProgressLines

ProgressLines.EVERY = 0.01
if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "text"), [([], True), (["--json"], True), (["-q"], False)], ids=lambda x: str(x)
)
def test_a_command_without_a_terminal(
    small: Path, tmp_path: Path, options: list[str], text: bool
) -> None:
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    done = subprocess.run(
        [sys.executable, script, "run", small, "--out", "out", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
    )
    assert done.returncode == 0
    assert bool(done.stderr) == text
    assert all(
        re.match(r"gen run: running, |corpus: |proof: ", line) for line in done.stderr.splitlines()
    )
