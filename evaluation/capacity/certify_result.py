"""What is proven and found of the dimension that the qrels of a data set need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.evaluation.collection import Collection
from retgen.qrels.certificate import DimensionCertificate, brackets
from retgen.qrels.margins import MarginCaps

if TYPE_CHECKING:  # they import torch
    from retgen.evaluation.capacity.embedding import Embedding


class Margin(NamedTuple):
    """The widest margin `found` at a dimension (None: no embedding was found), and its cap."""

    dimension: int
    found: float | None
    cap: float


@dataclass(frozen=True)
class Certified:
    """The bracket with what searches added, the witness, and margins.

    `wanted`: the margin asked for; `reached`: the fewest dimensions found to reach it.
    """

    folder: Path
    collection: Collection
    certificate: DimensionCertificate
    witness: Embedding | None
    caps: MarginCaps | None
    margins: list[Margin]
    wanted: float | None
    reached: int | None
    notes: list[str]
    command: str

    def lowest(self) -> int | None:
        """No fewer dimensions reach the margin asked for; None where no number does."""
        assert self.caps is not None
        assert self.wanted is not None
        packed = self.caps.lowest(self.wanted)
        return None if packed is None else max(packed, self.certificate.lower)

    def to_json(self) -> dict[str, Any]:
        """What `gen capacity PATH --json` prints."""
        shown = self.certificate.to_json()
        shown["brackets"] = [bracket._asdict() for bracket in brackets(self.certificate)]
        result: dict[str, Any] = {
            "dataset": str(self.collection.path),
            "split": self.collection.split,
            "certificate": shown,
            "margins": [margin._asdict() for margin in self.margins],
            "notes": self.notes,
        }
        if self.wanted is not None:
            result["margin"] = {
                "wanted": self.wanted,
                "lowest_possible": self.lowest() if self.caps else None,
                "reachable": self.caps is None or self.caps.lowest(self.wanted) is not None,
                "lowest_found": self.reached,
            }
        if self.witness is not None:
            result["embedding"] = {
                "file": str(self.folder / "embedding.npz"),
                "dimension": self.witness.dimension,
                "smallest_gap": self.witness.gap,
            }
        return result
