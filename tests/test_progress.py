"""Progress where nobody looks at a terminal: plain lines, twice a minute at most."""

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


def test_where_the_work_is(hasty: None, capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressLines()
    progress("corpus", 10, 3000)
    assert lines(capsys) == []
    for done, left in ((1000, ", about N s left"), (3000, "")):
        time.sleep(0.25)
        progress("corpus", done, 3000)
        assert lines(capsys) == [f"corpus: {done:,} of 3,000, N s so far{left}"]


@pytest.mark.parametrize(("notes", "expected"), [(True, ["calls: 2 of 2, 7 calls"]), (False, [])])
def test_what_was_paid_is_said_at_the_end_of_a_stage(
    capsys: pytest.CaptureFixture[str], notes: bool, expected: list[str]
) -> None:
    progress = ProgressLines(notes)
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
    assert all(re.match(r"corpus: |proof: ", line) for line in done.stderr.splitlines())
