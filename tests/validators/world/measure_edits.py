"""How the proof takes sentences by people who have seen neither phrases nor wordings.

    python tests/validators/world/measure_edits.py FILE [--all]

Rows of FILE: domain, entity, fact ("slot=value"), sentence, kind: "changes" where the sentence says
something else than the fact of the entity, "keeps" where it says the same in other words. A changed
sentence is found where it is refused or read as something else; one that keeps is accepted where
exactly the fact is read, misread where another is. Listed are those passed and misread, with
`--all` those refused, too, each with the reason.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import retgen.world
from retgen.validators.world.queries import domain_readers


class EditVerdict(NamedTuple):
    """What the reader makes of a row. `outcome`: found, passed, accepted, refused or misread."""

    row: dict[str, Any]
    outcome: str
    reason: str


def judge_edits(rows: Iterable[dict[str, Any]]) -> list[EditVerdict]:
    """Read each row's sentence as the text of a document that the entity names."""
    folder = Path(retgen.world.__file__).parent / "domains"
    verdicts = []
    for row in rows:
        reader = domain_readers(folder / f"{row['domain']}.yaml").documents
        facts, problems = reader.document(row["entity"], row["sentence"])
        problems = [one for one in problems if not one.startswith("its text does not name")]
        same = not problems and [str(fact) for fact in facts] == [row["fact"]]
        if row["kind"] == "changes":
            outcome = "passed" if same else "found"
        else:
            outcome = "accepted" if same else "refused" if problems else "misread"
        reason = "; ".join(problems) or f"reads as {', '.join(map(str, facts)) or 'nothing'}"
        verdicts.append(EditVerdict(row, outcome, reason))
    return verdicts


def main(path: str, *, everything: bool) -> None:
    rows = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    verdicts = judge_edits(rows)
    for domain in (*dict.fromkeys(row["domain"] for row in rows), "all"):
        own = [one for one in verdicts if domain in (one.row["domain"], "all")]
        count = Counter(one.outcome for one in own)
        changes, keeps = count["found"] + count["passed"], len(own)
        keeps -= changes
        print(
            f"{domain:8} changes: {count['found']} of {changes} found; keeps: {count['accepted']} of "
            f"{keeps} accepted, {count['refused']} refused, {count['misread']} misread"
        )
    shown = ("passed", "misread", *(("refused",) if everything else ()))
    for one in verdicts:
        if one.outcome in shown:
            print(f"{one.outcome}: {one.row['fact']}: {one.row['sentence']}\n    {one.reason}")


if __name__ == "__main__":
    main(sys.argv[1], everything="--all" in sys.argv[2:])
