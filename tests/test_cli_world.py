"""`gen world`: a domain of one's own, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Gen

BOATS = Path(__file__).parent / "facts" / "boats.yaml"


def test_a_domain_is_checked_and_shown(gen: Gen) -> None:
    result = gen("world", "check", BOATS, "--documents", "1")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"{BOATS} is sound: domain boats",
        "  slots   7; 5 that every boat has; 5 that can be asked one step up",
        "  names   240,000",
    ]
    assert [line.split(":")[0] for line in lines if ": " in line][1:] == [
        "eq, literal",
        "and, paraphrase",
        "or, entailed",
        "and-not, literal",
        "k-of-n, paraphrase",
        "range, entailed",
        "superlative, literal",
        "two-hop, paraphrase",
    ]
    assert lines[-2:] == [
        "Among 10,000 boats, 72 of 72 combinations of operator, number of answers and wording can "
        "be asked.",
        "The proof reads 200 of 200 documents and 72 of 72 queries.",
    ]
    shown = json.loads(gen("world", "check", BOATS, "--json").stdout)
    assert shown["slots"]["model"] == "relation"
    assert (len(shown["documents"]), len(shown["queries"]), shown["cannot_be_asked"]) == (2, 8, [])
    assert shown["proof"] == {"documents": [200, 200], "queries": [72, 72], "problems": []}


@pytest.mark.slow
def test_a_domain_with_too_few_values_says_what_cannot_be_asked(gen: Gen, tmp_path: Path) -> None:
    text = BOATS.read_text("utf-8").replace("range: [5, 90]", "range: [5, 6]")
    text = text.replace("range: [1950-01-01, 1999-12-31]", "range: [1999-12-01, 1999-12-03]")
    path = tmp_path / "few.yaml"
    path.write_text(text.replace("domain: boats", "domain: few"))
    result = gen("world", "check", path)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{path} is sound: domain few"
    assert "  not: eq, 1 answers, entailed" in lines


def test_a_wording_that_holds_a_value(gen: Gen, tmp_path: Path) -> None:
    """The proof could not tell the value from the words around it."""
    path = tmp_path / "few.yaml"
    said = BOATS.read_text("utf-8").replace("{S} is moored in", "{S} of steel is moored in")
    path.write_text(said.replace("domain: boats", "domain: few"))
    result = gen("world", "check", path)
    assert (result.returncode, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{path} is not all read: domain few"
    assert lines[-1].startswith(f"  {path}, line ")
    assert "holds 'steel', a value of hull, which the proof would read as that" in lines[-1]


def test_a_domain_file_that_is_none(gen: Gen, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(BOATS.read_text("utf-8").replace("type: place", "type: plaice"))
    result = gen("world", "check", path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"gen: {path}, line ")
    assert "slots.home.type" in result.stderr
    assert gen("world", "check", "filmz").stderr == (
        "gen: there is no domain 'filmz'; did you mean films? Bundled: books, films, legal, "
        "medical, people. One of your own is named by its .yaml file\n"
    )
