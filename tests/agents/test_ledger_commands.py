"""What `gen ledger` and its commands print, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from tests.agents.ledgers import fill, gen, reserve, send


@pytest.mark.slow
def test_the_commands(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, 2)
    ledger.record_refusal(send(ledger, 2), b"{}", "invalid_prompt", "400: no", 0, 0, 0)
    reserve(ledger, 0, run="b")
    ledger.close()
    at = ("--ledger", ledger.path)
    for args, code, output in (
        (("forget",), 2,
         "gen: say what to forget: at least one of --run, --agent, --model, --state\n"),
        (("forget", "--state", "failed"), 2,
         "gen: --state failed: choose from refused, answered, open\n"),
        (("forget", "--run", "c"), 2, f"gen: {ledger.path} has no run 'c'. It has: a, b\n"),
        (("forget", "--agent", "judge"), 2,
         "gen: there is no agent 'judge' here; it has: write\n"),
        (("forget", "--model", "openai:large"), 2,
         "gen: there is no model 'large' here; it has: small\n"),
        (("forget", "--model", "openai:small"), 0,
         "a, write, small: 1 refused, $0.0000 (400: no)\n"
         "would forget 1 request that had cost $0.0000, to be paid for again when needed: add "
         "--yes\n"),
        (("forget", "--run", "b"), 0, "nothing here is refused\n"),
        (("forget", "--run", "a", "--state", "refused", "--state", "answered"), 0,
         "a, write, small: 2 answered, $0.0000; other runs have used 1 of them\n"
         "a, write, small: 1 refused, $0.0000 (400: no)\n"
         "would forget 3 requests that had cost $0.0000, to be paid for again when needed: add "
         "--yes\n"),
        (("forget", "--agent", "write", "--yes"), 0,
         "a, write, small: 1 refused, $0.0000 (400: no)\n"
         "forgot 1 request; the $0.0000 of cost stay charged\n"
         "A run that has finished asks again only with gen run ... --fresh; a replay of it is no "
         "longer complete\n"),
        (("prune", "--run", "c"), 2, f"gen: {ledger.path} has no run 'c'. It has: a, b\n"),
        (("copy", tmp_path / "ledger.sqlite"), 2,
         f"gen: {tmp_path / 'ledger.sqlite'} is there already: name a new file\n"),
    ):  # fmt: skip
        done = gen(*args, *at)
        assert (done.returncode, done.stderr + done.stdout) == (code, output)
    shown = json.loads(gen("prune", "--run", "a", "--json", *at).stdout)
    assert (shown["pruned"], shown["emptied"], shown["removed"]) == (False, 0, 2)
    assert gen("prune", "--run", "a", "--yes", *at).stdout.startswith(
        "dropped the texts of 0 requests and 2 requests of runs: "
    )
    assert gen("check", *at).returncode == 0
    listed = json.loads(gen("--json", *at).stdout)["runs"]
    assert listed == [
        {"run": "a", "calls": 3, "cache_hits": 0, "tokens_in": 2, "tokens_out": 2, "usd": 2e-8},
        {"run": "b", "calls": 0, "cache_hits": 1, "tokens_in": 0, "tokens_out": 0, "usd": 0.0},
    ]


def test_what_was_sent_and_never_answered_is_open(ledger: Ledger) -> None:
    send(ledger, 0)
    ledger.close()
    done = gen("check", "--ledger", ledger.path)
    assert ", 1 open\n" in done.stdout
    assert "note: 1 request is open, charged $0.0000; " in done.stdout


@pytest.mark.parametrize("command", ["", "check", "check --accept", "forget --run a", "prune",
                                     "copy c", "export e"])  # fmt: skip
def test_a_ledger_that_is_not_there_makes_no_folder(tmp_path: Path, command: str) -> None:
    path = tmp_path / "nope" / "ledger.sqlite"
    done = gen(*command.split(), "--ledger", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gen: there is no ledger at ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_export_that_cannot_be_made(ledger: Ledger, tmp_path: Path) -> None:
    ledger.record_failure(send(ledger, 0), "429")
    ledger.close()
    gone = tmp_path / "gone"
    for command in ("export", "copy"):
        for file, message in (
            (".", "'.' is a folder: name a file to write"),
            ("/", "'/' is a folder: name a file to write"),
            (gone / "file", f"there is no folder {gone}: create it, or name another file"),
        ):
            done = gen(command, file, "--ledger", ledger.path)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gen: {message}\n")
        empty = gen(command, "", "--ledger", ledger.path)
        assert (empty.returncode, empty.stdout) == (2, "")
        assert "it is empty: give a path" in empty.stderr
    for run in ((), ("--run", "a")):
        done = gen("export", tmp_path / "answers", "--ledger", ledger.path, *run)
        whose = " of run 'a'" if run else ""
        assert (done.returncode, done.stdout, done.stderr) == (
            2, "", f"gen: there is no answer{whose} to export\n",
        )  # fmt: skip
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "ledger.sqlite",
        "ledger.sqlite.state",
    ]
