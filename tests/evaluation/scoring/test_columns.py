"""The columns of queries: metadata, cells of the rows, the types beside CapRetrieval's queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retgen.data import open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.by_column import values_of


def column(path: Path, name: str) -> dict[str, str]:
    return values_of(open_dataset(path), name, path)


@pytest.fixture
def made(with_columns) -> Path:  # type: ignore[no-untyped-def]
    path: Path = with_columns(
        {"a": "ash"},
        {
            "q1": {"text": "x", "metadata": {"type": "event", "hops": 2}, "language": "en"},
            "q2": {"text": "y", "metadata": {"type": " two\nlines ", "span": [0, 3]}},
            "q3": {"text": "z", "language": "", "asked": True},
        },
        [("q1", "a", 1)],
    )
    return path


def test_metadata_and_cells_of_the_row(made: Path) -> None:
    assert column(made, "type") == {"q1": "event", "q2": "two lines", "q3": "(none)"}
    assert column(made, "hops") == {"q1": "2", "q2": "(none)", "q3": "(none)"}
    assert column(made, "language") == {"q1": "en", "q2": "(none)", "q3": "(none)"}
    assert column(made, "asked")["q3"] == "true"


def test_columns_that_are_not_there_or_are_lists(made: Path, gen: Any) -> None:
    with pytest.raises(UsageError) as error:
        column(made, "langauge")
    assert str(error.value) == (
        f"--by langauge: no query of {made} has such a column; did you mean language? "
        "Columns: asked, hops, language, span, type"
    )
    with pytest.raises(UsageError) as error:
        column(made, "span")
    assert str(error.value) == (
        f"--by span: query q2 of {made} has a list there; a breakdown is by texts or numbers"
    )
    done = gen("eval", made, "--by", "text")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--by text: no query of" in done.stderr
    assert not (made / "eval").exists()


def test_types_beside_the_queries_of_capretrieval(tmp_path: Path) -> None:
    folder = tmp_path / "cap"
    folder.mkdir()
    (folder / "candidates.jsonl").write_text('{"id": "c1", "text": "a gym"}\n')
    texts = ["gym", "beer  snacks", "nobody knows"]
    rows = [
        {"id": f"q{i}", "query": text, "positives": [{"id": "c1", "score": 2}]}
        for i, text in enumerate(texts)
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=r"has such a column\. They have none at all\.$"):
        column(folder, "type")
    types = folder / "types.json"
    types.write_text('{"place": ["gym", "lake"], "conjunction": ["beer+snacks"]}')
    assert column(folder, "type") == {"q0": "place", "q1": "conjunction", "q2": "(none)"}
    types.write_text('{"place": "gym"}')
    with pytest.raises(DatasetError) as error:
        column(folder, "type")
    assert str(error.value) == f"{types}: is not of the form {{type: [texts of queries]}}"
