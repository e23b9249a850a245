"""A file of decisions: what people settled in one review, frozen for a new version of its data.

JSON Lines. The first row names the review, each further one is a pair with the verdicts that its
decision rests on; these agree.

    {"retgen_review": 2, "parent": {"name": "kb", ...}, "grades": 2, "left": {"open": 3, ...}}
    {"split": "test", "query_id": "q1", "doc_id": "d7", "label": 1.0, "shown": "9f2c...",
     "texts": {"query": "a red bus", "title": "", "text": "A blue bus."},
     "verdicts": [{"annotator": "a", "relevance": 0, "settles": false, ...}]}

`shown` is the digest of the texts that were judged. `texts` are these texts in full, where the
decision turns the label round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import RecipeError
from retgen.write import json_line

FORMAT = 2


def digest(query: str, title: str, text: str) -> str:
    """SHA-256 of the texts that a reviewer saw."""
    return hashlib.sha256("\x00".join((query, title, text)).encode()).hexdigest()


@dataclass(frozen=True)
class PairDecision:
    """What was decided of a pair. `label`: the data set's, None where it did not judge the pair."""

    split: str
    query_id: str
    doc_id: str
    label: float | None
    shown: str
    relevance: int
    texts: Mapping[str, str] | None
    verdicts: tuple[Mapping[str, Any], ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.query_id, self.doc_id

    @property
    def by(self) -> list[str]:
        """Names of the people whose verdicts it rests on."""
        return sorted({str(one["annotator"]) for one in self.verdicts})

    @property
    def by_model(self) -> bool:
        """Whether models judged it, and no person."""
        return all(one.get("source") == "model" for one in self.verdicts)


@dataclass(frozen=True)
class Decisions:
    """A file of decisions. `head`: its first row; `sha256`: of the file."""

    head: Mapping[str, Any]
    rows: tuple[PairDecision, ...]
    sha256: str

    @property
    def graded(self) -> bool:
        """Whether people gave grades, not just yes or no."""
        return int(self.head.get("grades", 2)) > 2


def decisions_bytes(head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The bytes of a file of decisions."""
    return b"".join(map(json_line, [{"retgen_review": FORMAT, **head}, *rows]))


def read_decisions(path: Path) -> Decisions:
    """Read a file of decisions. Raises `RecipeError`, naming the line, for anything else."""
    try:
        data = path.read_bytes()
        lines = [orjson.loads(line) for line in data.splitlines()]
        head = lines[0]
        stated = head["retgen_review"]
    except (OSError, ValueError, IndexError, KeyError, TypeError) as error:
        raise RecipeError(
            f"{path}: is no file of decisions ({error}); `gen run RECIPE --apply-review` writes one"
        ) from error
    if stated != FORMAT:
        raise RecipeError(
            f"{path}: is in format {stated}, this version of retgen reads format {FORMAT}: apply "
            "the review with the version that wrote it"
        )
    rows: dict[tuple[str, str], PairDecision] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            row = _decision(line)
            if row.pair in rows:
                raise ValueError("the pair is decided twice")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecipeError(
                f"{path}, line {number}: is no decision ({error}). Put the file as it was written "
                "in its place"
            ) from error
        rows[row.pair] = row
    return Decisions(head, tuple(rows.values()), hashlib.sha256(data).hexdigest())


def _decision(line: Mapping[str, Any]) -> PairDecision:
    verdicts = tuple(line["verdicts"])
    given = {verdict["relevance"] for verdict in verdicts}
    if len(given) != 1:
        raise ValueError("its verdicts do not agree")
    relevance = given.pop()
    if type(relevance) is not int or relevance < 0:
        raise ValueError(f"its relevance is {relevance!r}")
    texts = line.get("texts")
    if texts is not None and digest(**texts) != line["shown"]:
        raise ValueError("its texts are not those that were judged")
    split, query_id, doc_id, shown = (line[n] for n in ("split", "query_id", "doc_id", "shown"))
    if not all(type(name) is str for name in (split, query_id, doc_id, shown)):
        raise ValueError(f"its ids are {split!r}, {query_id!r}, {doc_id!r}")
    label = None if line["label"] is None else float(line["label"])
    return PairDecision(split, query_id, doc_id, label, shown, relevance, texts, verdicts)
