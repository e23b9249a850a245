"""`gen capacity` without a data set: what is measured, kept, resumed and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import retgen
from retgen.errors import OutputError, UsageError
from retgen.evaluation.capacity import construct
from retgen.evaluation.capacity.all_pairs import text as text_of
from retgen.evaluation.capacity.paper import TABLE_6

pytestmark = pytest.mark.usefixtures("one_torch_thread")

FLOAT64 = {
    "dimension": 4,
    "precision": "float64",
    "documents": 256,
    "limit": 256,
    "margin": 3.1e-8,
}


def row(dimension: int, documents: int, **other: object) -> dict[str, object]:
    return {
        "dimension": dimension,
        "documents": documents,
        "by_seed": [documents],
        "complete": True,
        "seconds": 1.0,
        "margin": 0.1,
        **other,
    }


def write(folder: Path, rows: list[dict[str, object]], formats: object = ()) -> Path:
    """What an earlier call kept."""
    folder.mkdir(exist_ok=True)
    path = folder / "capacity.json"
    path.write_text(json.dumps({"protocols": {"paper": rows}, "construct": formats}))
    return path


@pytest.mark.slow
def test_both_protocols_and_the_closed_form(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, [], [FLOAT64])
    result = retgen.capacity(
        protocols=["paper", "best"], closed_form=True, dims=[4], seeds=1, minutes=0.5, out=out
    )
    paper, best = result.critical["paper"][4], result.critical["best"][4]
    assert (paper.documents, paper.by_seed, paper.complete) == (7, (7,), True)
    assert best.documents > 2 * paper.documents
    assert {one.precision: one.documents for one in result.carried} == {
        "float64": 256,  # taken from the file, not measured again
        "float32": 164,
        "bf16": 13,
        "int8": 14,
    }
    shown = json.loads((out / "capacity.json").read_text())
    assert shown == json.loads(json.dumps(result.to_json()))
    assert shown["table_6"]["4"] == TABLE_6[4] == 10
    assert [one["precision"] for one in shown["construct"]] == list(construct.PRECISIONS)
    assert list(shown["cubic_fit"]) == ["table_6"]  # one point has no cubic
    text = text_of(result)
    assert "cubic through Table 6: -10.5322 +4.0309 d +0.0520 d² +0.0037 d³, r² 0.9986" in text
    page = (out / "capacity.html").read_text()
    assert page.count("<svg") == 1
    assert "≥ 256" in page
    assert (out / "figures" / "critical_n.svg").read_text().count("<path") > 10
    table = (out / "capacity.md").read_text()
    assert table.startswith("# All pairs\n\nDocuments that fit in d dimensions")
    assert "\n| " in table


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    # numbers that no measurement gives
    write(out, [row(4, 77), row(5, 99)])
    result = retgen.capacity(protocols=["paper"], dims=[4, 5], seeds=1, out=out)
    assert {d: one.documents for d, one in result.critical["paper"].items()} == {4: 77, 5: 99}


def test_no_time_is_said_and_takes_nothing_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, [row(4, 9), row(5, 14), row(12, 40, complete=False)])
    result = retgen.capacity(protocols=["paper"], dims=[4, 5, 12], seeds=2, minutes=1e-6, out=out)
    assert result.critical["paper"][5].complete
    assert result.critical["paper"][12].documents == 40
    assert "≥ 40" in text_of(result)
    assert result.fit("paper") is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"protocols": {"paper": [{"dimension": 4}]}, "construct": []}',
        json.dumps({"protocols": {"paper": [{**row(4, 9), "by_seed": 9}]}, "construct": []}),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, text: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "capacity.json").write_text(text)
    with pytest.raises(OutputError) as error:
        retgen.capacity(protocols=["paper"], dims=[4], out=out)
    assert str(error.value) == (
        f"{out / 'capacity.json'}: not written by gen capacity. Give another --out, or move the file "
        "away."
    )
    assert (out / "capacity.json").read_text() == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocols": ["worst"]}, "--protocol worst: is none of paper, best"),
        ({"minutes": float("nan")}, "--minutes: give a positive number"),
        ({"seeds": 0}, "--seeds: at least 1"),
        ({"dims": [0, 4]}, "the dimension must be at least 1, not 0"),
        (
            {"protocols": [], "closed_form": True, "dims": [5]},
            "the closed form is for even dimensions from 4 on, not 5 (an odd one can leave its last "
            "component zero)",
        ),
    ],
)
def test_bad_arguments(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        retgen.capacity(out=tmp_path / "out", **options)  # type: ignore[arg-type]
    assert str(error.value) == message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            [],
            "gen: give a data set, or --protocol paper, --protocol best or --construct for all "
            "pairs of n documents (gen capacity --help)\n",
        ),
        (["--split", "dev"], "gen: --split: about a data set: give its PATH\n"),
        (["x", "--dims", "4"], "gen: --dims: about all pairs: leave PATH out\n"),
        (
            ["--construct", "--dims", "4-x"],
            "gen: --dims 4-x: write numbers, for example 32,64,128\n",
        ),
        (["--construct", "--dims", "5000"], "gen: --dims: at most 4,096 dimensions\n"),
        (["nowhere"], "gen: nowhere does not exist. Give the folder of a run or of a data set.\n"),
    ],
)
def test_the_command_says_what_is_wrong(gen, args: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    result = gen("capacity", *args)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == message


def test_the_command_prints_the_table(gen, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path / "out", [row(4, 9), row(5, 14)])
    result = gen("capacity", "--protocol", "paper", "--dims", "4-5", "--seeds", "1", "--out", "out")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "Critical n",
        "d  Table 6  paper's protocol  by seed  seconds",
        "4       10                 9        9      1.0",
        "5       14                14       14      1.0",
        "note: cubic through Table 6: -10.5322 +4.0309 d +0.0520 d² +0.0037 d³, r² 0.9986",
        "page: out/capacity.html",
    ]
