"""`gen capacity` without a data set: what is measured and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import retgen
from retgen.errors import UsageError
from retgen.evaluation.capacity import construct
from retgen.evaluation.capacity.all_pairs import text as text_of
from retgen.evaluation.capacity.paper import TABLE_6

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.slow
def test_both_protocols_and_the_closed_form(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = retgen.capacity(
        protocols=["paper", "best"], closed_form=True, dims=[4], seeds=1, minutes=0.5, out=out
    )
    paper, best = result.critical["paper"][4], result.critical["best"][4]
    assert (paper.documents, paper.by_seed, paper.complete) == (7, (7,), True)
    assert best.documents > 2 * paper.documents
    assert {one.precision: one.documents for one in result.carried} == {
        "float64": 256,
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


def test_no_time_is_said(tmp_path: Path) -> None:
    result = retgen.capacity(protocols=["paper"], dims=[4], seeds=2, minutes=1e-6, out=tmp_path)
    title, heads, row = text_of(result).splitlines()[:3]
    assert title == "Critical n"
    assert heads == "d  Table 6  paper's protocol  by seed  seconds"
    assert row.startswith("4       10               ≥ 2      2 2 ")
    assert result.fit("paper") is None


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
