"""What a job will make, and what it will ask and cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import (
    Any,
    NamedTuple,
)


class CallEstimate(NamedTuple):
    """What a job will ask one agent: of so many records, each with so many calls.

    `calls`: the fewest and the most that are to be expected a record; `prompt`: bytes of a prompt;
    `answer`: tokens of an answer.
    """

    records: int
    calls: tuple[float, float]
    prompt: int
    answer: int


@dataclass(frozen=True)
class Plan:
    """What a job will make and cost. `bytes` is an estimate of dataset/ on disk (as JSON Lines).

    A family says what it will ask its live agents (`call_estimates`); the calls, the tokens (in and
    out), the dollars (None: a model has no known price) and the seconds follow from the recipe's
    models. `unknown`: how many records there will be is not known, and all counts are 0.
    `about`: queries and qrels are estimated, from what was seen of such documents.
    """

    documents: int
    queries: int
    qrels: int
    bytes: int
    call_estimates: dict[str, CallEstimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    calls: dict[str, int] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    usd: tuple[float, float] | None = (0.0, 0.0)
    seconds: tuple[float, float] = (0.0, 0.0)
    unknown: bool = False
    about: bool = False

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen plan --json` prints; null is what is not known."""
        if self.unknown:
            between = dict.fromkeys(("low", "high"))
            return {
                **dict.fromkeys(("documents", "queries", "qrels")),
                "calls": dict.fromkeys(self.calls),
                "models": self.models,
                "tokens": dict.fromkeys(self.tokens),
                "usd": between,
                "seconds": between,
                "bytes": None,
                "notes": list(self.notes),
            }
        low, high = self.usd or (None, None)
        return {
            "documents": self.documents,
            "queries": self.queries,
            "qrels": self.qrels,
            "calls": self.calls,
            "models": self.models,
            "tokens": self.tokens,
            "usd": {"low": low, "high": high},
            "seconds": {"low": self.seconds[0], "high": self.seconds[1]},
            "bytes": self.bytes,
            "notes": list(self.notes),
        }
