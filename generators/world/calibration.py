"""How often the reader of facts errs: it reads bundled prose whose facts are known.

    {"title": "...", "text": "...", "facts": ["setting=Leipzig", ...], "kind": "denied"}

Eight documents for each bundled domain, among them statements that nearly are a fact: of somebody
else, denied, planned, changed since. What is asked is the same in every run, so it is paid once for
each model and prompt: the ledger has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.agent import RepairsFailed
from retgen.generators.world.agents import CALIBRATE, AskFacts
from retgen.generators.world.agreement import asked_of, differences, read_values
from retgen.world.domain import load_domain
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context

CALIBRATION = "calibration.json"
MEASURED = {
    "model": str, "wrong": list[dict[str, str]],
    **dict.fromkeys(("documents", "agreed", "facts", "missed", "not_stated"), int),
}  # fmt: skip


class Case(NamedTuple):
    """A document. `facts`: what it states, slot -> value; `kind`: what makes it hard."""

    domain: str
    title: str
    text: str
    facts: Mapping[str, str]
    kind: str

    @property
    def question(self) -> AskFacts:
        """What the reader is asked."""
        return asked_of(load_domain(self.domain), self.title, self.text)


@cache
def cases() -> tuple[Case, ...]:
    """All documents, domain by domain."""
    result = []
    for path in sorted((Path(__file__).parent / "calibration_set").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            row = orjson.loads(line)
            facts = dict(one.split("=", 1) for one in row["facts"])
            result.append(Case(path.stem, row["title"], row["text"], facts, row["kind"]))
    return tuple(result)


async def calibrate(context: Context) -> None:
    """Have the reader read all documents; leaves how often it was right."""
    every = cases()
    asked = every[: context.pilot_size(len(every))]
    stage = context.stage("calibration", len(every), CALIBRATE, candidates=len(every))

    async def read(case: Case) -> Mapping[str, list[str]] | None:
        try:
            answer = await context.answer(CALIBRATE, case.question)
        except RepairsFailed:
            return None
        return read_values(load_domain(case.domain), answer)

    results = await context.gather(stage, map(read, asked))
    stage.done = len(asked)
    context.show(stage, now=True)
    result = measured(zip(asked, results, strict=True))
    write_file(
        context.folder / CALIBRATION, dump_json({"model": context.model(CALIBRATE), **result})
    )


def measured(readings: Iterable[tuple[Case, Mapping[str, list[str]] | None]]) -> dict[str, Any]:
    """Documents read in full, and facts stated, missed, and read without being stated.

    None for a document of which the reader gave nothing that could be taken: all of it is missed.
    """
    documents = agreed = stated = missed = made_up = 0
    wrong: list[dict[str, str]] = []
    for case, reading in readings:
        read = reading or {}
        found = sum(
            any(not differences({slot: value}, {slot: [one]}) for one in read.get(slot, ()))
            for slot, value in case.facts.items()
        )
        documents += 1
        stated += len(case.facts)
        missed += len(case.facts) - found
        made_up += sum(map(len, read.values())) - found
        faults = differences(case.facts, read)
        agreed += not faults
        if faults:
            wrong.append({"title": case.title, "kind": case.kind, "read": "; ".join(faults)})
    return {
        "documents": documents, "agreed": agreed, "facts": stated, "missed": missed,
        "not_stated": made_up, "wrong": wrong,
    }  # fmt: skip


def in_words(result: Mapping[str, Any]) -> str:
    """The measurement in a few words."""
    return (
        f"reads {result['agreed']} of {result['documents']} calibration documents without a "
        f"fault; of {result['facts']} facts it missed {result['missed']}, and it read "
        f"{result['not_stated']} that are not stated"
    )
