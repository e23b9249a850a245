"""How often the judge errs: it is asked about bundled cases whose answers are known.

    {"text": "...", "condition": "...", "label": "violated", "kind": "antonym"}

48 cases for each of the paper's five domains, paraphrases and near misses among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.agent import GivenUp
from retgen.generators.multiconir.agents import VERIFY, Pair
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["PLANTED", "Case", "ask_planted", "planted", "told"]

PLANTED = "planted.json"
NONE = "none"  # in place of a verdict: the judge gave none that could be taken


class Case(NamedTuple):
    """A case. `label`: satisfied, violated or cannot_tell; `kind`: what makes it hard."""

    text: str
    condition: str
    label: str
    kind: str


@cache
def planted() -> tuple[Case, ...]:
    """All cases, domain by domain."""
    files = sorted((Path(__file__).parent / "planted").glob("*.jsonl"))
    lines = (line for file in files for line in file.read_bytes().splitlines())
    return tuple(Case(**orjson.loads(line)) for line in lines)


async def ask_planted(context: Context) -> None:
    """Ask the judge about every case; leaves what it said."""
    cases = planted()[: context.few(len(planted()))]
    stage = context.stage("planted cases", len(planted()), VERIFY)

    async def verdict(case: Case) -> str:
        try:
            pair = Pair(text=case.text, condition=case.condition)
            return (await context.answer(VERIFY, pair)).verdict
        except GivenUp:
            return NONE

    said = await context.together(stage, map(verdict, cases))
    stage.done = len(cases)
    context.show(stage, now=True)
    write_file(context.folder / PLANTED, dump_json(measured(zip(cases, said, strict=True))))


def measured(judged: Iterable[tuple[Case, str]]) -> dict[str, Any]:
    """Accuracy, precision and recall of each verdict, and accuracy by kind."""
    pairs = list(judged)
    right = sum(said == case.label for case, said in pairs)
    found: dict[str, Any] = {"cases": len(pairs), "accuracy": _share(right, len(pairs))}
    for label in ("satisfied", "violated", "cannot_tell"):
        hits = sum(said == label == case.label for case, said in pairs)
        found[label] = {
            "precision": _share(hits, sum(said == label for _, said in pairs)),
            "recall": _share(hits, sum(case.label == label for case, _ in pairs)),
        }
    kinds: dict[str, list[bool]] = {}
    for case, said in pairs:
        kinds.setdefault(f"{case.label}/{case.kind}", []).append(said == case.label)
    found["kinds"] = {kind: _share(sum(hits), len(hits)) for kind, hits in sorted(kinds.items())}
    return found


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def told(found: dict[str, Any]) -> str:
    """The measurement in a few words."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.0%}"

    wrong = round(found["cases"] * (1 - (found["accuracy"] or 0)))
    violated = found["violated"]
    return (
        f"wrong in {wrong} of {found['cases']} planted cases; of what it calls violated "
        f"{percent(violated['precision'])} is, and it finds {percent(violated['recall'])} of it"
    )
