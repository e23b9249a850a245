"""The bundled sheet: what it holds, and how agreement with its labels is counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from retgen.data import open_dataset
from retgen.errors import UsageError
from retgen.review import open_review
from retgen.review.report import report
from retgen.review.report_page import report_text
from retgen.review.sheet import SETTINGS, sheet_folder
from tests.command import in_process

FAMILIES = ("album", "capretrieval", "limit", "multiconir", "niah", "world", "world_twins")


def test_300_pairs_of_seven_families_half_of_them_relevant() -> None:
    dataset = open_dataset(sheet_folder("trust"))
    family = {one.query_id: one.facts["family"] for one in dataset.queries.read()[0]}
    qrels = dataset.qrels["test"].read()[0]
    assert Counter(family.values()) == dict.fromkeys(FAMILIES, 43) | {"world_twins": 42}
    assert sorted(one.query_id for one in qrels) == sorted(family)
    relevant = Counter(family[one.query_id] for one in qrels if one.relevance > 0)
    assert relevant == dict.fromkeys(FAMILIES, 22) | {"world_twins": 21}


@pytest.mark.slow
def test_agreement_is_counted_by_family(tmp_path: Path) -> None:
    """Someone misses two needles, accepts one wrong film, and cannot tell one caption."""
    review = open_review(sheet_folder("trust"), out=tmp_path, **SETTINGS)  # type: ignore[arg-type]
    left = {"niah": ("0", 1, 2), "world": ("1", 0, 1), "album": ("unsure", 1, 1)}
    while (look := review.next_item("me")) is not None:
        item = look.item
        label = int(item.label or 0)
        decision, of, count = left.get(item.strata["query family"], ("", -1, 0))
        if count and label == of:
            left[item.strata["query family"]] = (decision, of, count - 1)
        else:
            decision = str(label)
        review.record("me", item.item_id, look.part, decision, shown=item.shown)
    result = report(review)
    told = {one["family"]: one for one in result["families"]}
    assert sum(one["judged"] for one in told.values()) == 300
    assert {
        name: (one["agree"], one["unsure"], one["missed"], one["false"])
        for name, one in told.items()
    } == {
        "album": (42, 1, 0, 0),
        "capretrieval": (43, 0, 0, 0),
        "limit": (43, 0, 0, 0),
        "multiconir": (43, 0, 0, 0),
        "niah": (41, 0, 2, 0),
        "world": (42, 0, 0, 1),
        "world_twins": (42, 0, 0, 0),
    }
    text = report_text(result, tmp_path / "review.html")
    (line,) = (one for one in text.splitlines() if one.startswith("niah "))
    assert line.split() == ["niah", "43", "43", "0", "95.3%", "[84.2%,", "99.4%]", "2", "0"]


def test_a_sheet_that_is_not_there_and_none_at_all() -> None:
    with pytest.raises(UsageError) as caught:
        sheet_folder("trusty")
    assert str(caught.value) == (
        "--sheet trusty: there is no such sheet; did you mean trust? Sheets: trust"
    )
    said = in_process("review")
    assert said.returncode == 2
    assert said.stderr == "gen: give a data set, as gen review outputs/kb, or --sheet trust\n"
