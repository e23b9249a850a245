"""What came of calling models: stages of work, rejected records, calls, tokens and dollars.

What the answers were worth is counted by agent, as the manifest has it:

    {"write_queries": {"taken": 2, "repaired": 1, "failed": 6, "not JSON": 15, "failed checks": 4}}

Of answers: those `taken`, and the others by their fault. Of questions: those that were `repaired`
(taken after a fault) and those that `failed` (no answer was taken).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.on_disk import DiskList
from retgen.write import FileInfo, json_line, write_lines

TAKEN, REPAIRED, FAILED = "taken", "repaired", "failed"


class Rejection(NamedTuple):
    """A record that was not accepted: the rule that refused it, why, and the record itself."""

    rule: str
    reason: str
    record: Any


class Rejections(DiskList[Rejection]):
    """Records that were not accepted, in order, in a temporary file: there may be many.

    What changes in a record afterwards is not kept.
    """

    def __init__(self, rejected: Iterable[Rejection] = ()) -> None:
        super().__init__(
            rejected, dump=rejection_line, load=lambda line: Rejection(**orjson.loads(line))
        )


def write_rejections(path: Path, rejected: Iterable[Rejection]) -> FileInfo:
    """Write every record that was not accepted, with its reason."""
    return write_lines(path, map(rejection_line, rejected))[0]


def write_rejected(path: Path, rejected: Collection[Rejection]) -> None:
    """Write what failed; no file where nothing did, not even that of an earlier call."""
    if rejected:
        write_rejections(path, rejected)
    else:
        path.unlink(missing_ok=True)


def rejection_line(one: Rejection) -> bytes:
    """A line of rejected.jsonl."""
    return json_line(one._asdict())


class Sums(NamedTuple):
    """Calls of a run to one model for one agent, or to all for all ("").

    `cache_hits`: answers of other runs that it used. `open`: without an answer, charged at most.
    """

    run: str
    agent: str = ""
    model: str = ""
    calls: int = 0
    cache_hits: int = 0
    failed: int = 0
    open: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    nano_usd: int = 0
    priced: bool = True


@dataclass
class Stage:
    """A part of the work: `done` of `total` records accepted. `agents`: whose work it is.

    `candidates`: how many can be tried at most; None where nobody knows.
    """

    name: str
    total: int
    agents: tuple[str, ...] = ()
    done: int = 0
    rejected: int = 0
    candidates: int | None = None
    examples: list[Any] = field(default_factory=list, compare=False)


@dataclass
class CallReport:
    """What came of calling models since the process began; counters are by agent.

    `rejected_file`: where the caller writes what was rejected.
    """

    stages: list[Stage] = field(default_factory=list)
    rejected: Rejections = field(default_factory=Rejections)
    calls: Counter[str] = field(default_factory=Counter)
    cached: Counter[str] = field(default_factory=Counter)
    # of all answers, those from the ledger too
    tokens_in: Counter[str] = field(default_factory=Counter)
    tokens_out: Counter[str] = field(default_factory=Counter)
    milliseconds: Counter[str] = field(default_factory=Counter)  # that calls took, summed
    unstated: int = 0  # calls whose answers did not say, or not credibly, what they took
    # what answers were worth, those from the ledger too
    answers: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    in_flight: int = 0
    spent: Sums | None = None  # by this run, in all attempts; None: no model was asked
    rejected_file: str = "rejected.jsonl"

    def count(self, agent: str, tokens_in: int | None, tokens_out: int | None) -> None:
        """Count the tokens of an answer."""
        self.tokens_in[agent] += tokens_in or 0
        self.tokens_out[agent] += tokens_out or 0

    def usd(self) -> float | None:
        """Dollars that the run was charged, in all attempts; None if a price is not known."""
        spent = self.spent or Sums("")
        return round(spent.nano_usd / 1e9, 9) if spent.priced else None

    def costs(self) -> dict[str, Any]:
        """As the manifest has them; tokens and dollars are of all attempts at this run."""
        spent = self.spent or Sums("")
        costs = {
            "calls": spent.calls,
            "cache_hits": sum(self.cached.values()),
            "unanswered": spent.open,
            "tokens": {"in": spent.tokens_in, "out": spent.tokens_out},
            "usd": self.usd(),
        }
        if self.spent is not None:
            costs["answers"] = {
                agent: dict(sorted((+counts).items()))
                for agent, counts in sorted(self.answers.items())
            }
        return costs

    def remaining(self) -> str:
        """How far the work came, and what it cost."""
        stages = ", ".join(f"{one.name}: {one.done:,} of {one.total:,}" for one in self.stages)
        usd = self.usd()
        charged = "not known" if usd is None else f"${usd:.4f}"
        return f"Done so far: {stages}. Charged so far: {charged}."
