"""Bundled sheets: pairs of all families with proven labels, for people who know none of them.

A sheet is a data set in the layout of BEIR, a query a pair; `family` in a query's metadata says
which family it is of. Who judges sees texts alone. What they say against the proven labels, family
by family, is what outsiders think of the proofs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.results.tables import TableView
from retgen.review.consensus import Consensus
from retgen.review.records import Item
from retgen.statistics.plans import clopper_pearson

SHEETS = Path(__file__).parent / "sheets"
FAMILY = "query family"  # the stratum
SETTINGS = {"pool": ["none"], "plants": 0.0, "looks": 0}  # all labelled pairs, and no others


def sheet_folder(name: str) -> Path:
    """The data set of a sheet. Raises `UsageError`."""
    known = sorted(path.name for path in SHEETS.iterdir() if path.is_dir())
    if name not in known:
        raise UsageError(
            f"--sheet {name}: there is no such sheet{did_you_mean(name, known) or '.'} "
            f"Sheets: {', '.join(known)}"
        )
    return SHEETS / name


def agreement_by_family(
    items: Sequence[Item], settled: Mapping[str, Consensus], level: float
) -> list[dict[str, Any]]:
    """For each family how many settled items have the proven label, with an exact interval.

    `settled`: by item. Items that nobody can tell are counted apart.
    """
    rows = []
    for family in sorted({item.strata[FAMILY] for item in items if FAMILY in item.strata}):
        of = [item for item in items if item.strata.get(FAMILY) == family]
        said = [(item, settled[item.item_id].relevance) for item in of if item.item_id in settled]
        told = [(item, relevance) for item, relevance in said if relevance is not None]
        agree = sum(bool(relevance) == bool(item.label) for item, relevance in told)
        low, high = clopper_pearson(agree, len(told), level) if told else (None, None)
        rows.append(
            {
                "family": family,
                "pairs": len(of),
                "judged": len(said),
                "unsure": len(said) - len(told),
                "agree": agree,
                "missed": sum(not relevance and bool(item.label) for item, relevance in told),
                "false": sum(bool(relevance) and not item.label for item, relevance in told),
                "share": agree / len(told) if told else None,
                "low": low,
                "high": high,
            }
        )
    return rows


def agreement_table(rows: Sequence[Mapping[str, Any]]) -> TableView:
    """The rows of `agreement_by_family` as a table."""
    head = [
        "family",
        "pairs",
        "judged",
        "can't tell",
        "agree with the proven label",
        "95% interval",
        "proven relevant, judged not",
        "the reverse",
    ]
    return TableView(
        head,
        [
            [
                one["family"],
                *(f"{one[key]:,}" for key in ("pairs", "judged", "unsure")),
                "" if one["share"] is None else f"{one['share']:.1%}",
                "" if one["low"] is None else f"[{one['low']:.1%}, {one['high']:.1%}]",
                f"{one['missed']:,}",
                f"{one['false']:,}",
            ]
            for one in rows
        ],
    )
