"""What people said of a run in a review, as others may read it: without the people's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retgen.review import open_review
from retgen.review.report import report
from retgen.review.review_files import FILE

_KEPT = ("split", "mode", "pool", "populations", "left_out", "changed", "agreement")


def reviewed(run: Path) -> dict[str, Any] | None:
    """The review's report of a run: populations, agreement, certificates; None without verdicts.

    Annotators are counted and numbered: whoever judged did not ask to be named to the world.
    """
    if not (run / FILE).is_file():
        return None
    review = open_review(run)
    said = report(review)
    if not any(one["looked_at"] for one in said["populations"].values()):
        return None
    names = {name: f"annotator {i}" for i, name in enumerate(review.settings.annotators, 1)}
    certificates = [
        {**one, "by": {names.get(name, name): count for name, count in one["by"].items()}}
        for one in said["certificates"]
    ]
    return {
        **{key: said[key] for key in _KEPT},
        "annotators": len(names), "certificates": certificates,
    }  # fmt: skip
