"""Training pairs are read back and graded: what is changed in them is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import run, validate
from retgen.data import open_dataset

pytestmark = pytest.mark.slow  # a run and its validation for each change
Row = dict[str, str]


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    over = {"params.captions": 200, "params.queries": 40, "params.training": 20}
    folder = tmp_path_factory.mktemp("album") / "run"
    return run("capretrieval_album", out=folder, overrides=over).path


def exchanged(rows: list[Row]) -> None:
    rows[0]["positive"], rows[0]["negative_1"] = rows[0]["negative_1"], rows[0]["positive"]


def relevant(rows: list[Row]) -> None:
    rows[0]["negative_1"] = rows[0]["positive"]


def unread(rows: list[Row]) -> None:
    rows[1]["anchor"] = "a dog, perhaps"


def captioned(rows: list[Row]) -> None:
    rows[3]["negative_1"] = ""


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (lambda rows: None, []),
        (exchanged, ["row 1: its positive has the grade 0"]),
        (relevant, ["row 1: its negative has what is asked for, or likely has it"]),
        (unread, ["row 2: its anchor cannot be read: no template holds it"]),
        (captioned, ["row 4: its negative_1 cannot be read: no template holds it"]),
        (list.clear, ["it holds no pairs"]),
    ],
)
def test_what_is_changed_is_found(
    album: Path, tmp_path: Path, change: Callable[[list[Row]], None], messages: list[str]
) -> None:
    assert found(album, tmp_path / "run", change) == messages


def test_a_pair_of_the_test_set_is_found(album: Path, tmp_path: Path) -> None:
    dataset = open_dataset(album)
    query = dataset.queries.read()[0][0]
    qrels = dataset.qrels["test"].read()[0]
    relevant = {one.doc_id for one in qrels if one.query_id == query.query_id}
    caption = next(one.text for one in dataset.documents() if one.doc_id in relevant)

    def tested(rows: list[Row]) -> None:
        rows[2]["anchor"] = query.text
        rows[4]["positive"] = caption

    assert found(album, tmp_path / "run", tested) == [
        "row 3: it asks what a query of the test set does",
        "row 5: its positive says what one of the corpus says",
    ]


def found(album: Path, copy: Path, change: Callable[[list[Row]], None]) -> list[str]:
    """What is said of a changed training table."""
    shutil.copytree(album, copy)
    file = copy / "training/kw.parquet"
    table = pq.read_table(file)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
    messages = [one.message for one in validate(copy).findings if one.rule.endswith("/training")]
    assert all(message.startswith("training/kw.parquet, ") for message in messages)
    return [message.removeprefix("training/kw.parquet, ") for message in messages]
