"""A file of decisions: what people settled in one review, frozen for a new version of its data.

JSON Lines. The first row says whose review it was, each further one is a pair with the verdicts
that its decision rests on; these agree, so the decision is theirs.

    {"retgen_review": 1, "parent": {"name": "kb", ...}, "grades": 2, "left": {"open": 3, ...}}
    {"split": "test", "query_id": "q1", "doc_id": "d7", "label": 1.0, "shown": "9f2c...",
     "texts": {"query": "a red bus", "title": "", "text": "A blue bus."},
     "verdicts": [{"annotator": "a", "decision": "0", "relevance": 0, "edits": {}, ...}]}

`shown` is the digest of the texts that were looked at. Where the decision changes anything, `texts`
has them in full.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import RecipeError
from retgen.write import json_line

FORMAT = 1
FIELDS = ("query", "title", "text")


def digest(query: str, title: str, text: str) -> str:
    """SHA-256 of what a reviewer saw of a pair."""
    return hashlib.sha256("\x00".join((query, title, text)).encode()).hexdigest()


@dataclass(frozen=True)
class PairDecision:
    """What was decided of a pair. `relevance` None: nothing of its label, only `edits` of texts.

    `label`: what the data set said, None where it did not judge the pair. `kept`: they accepted
    the label as it is. `disputed`: fields of which they gave different new texts, so none holds.
    """

    split: str
    query_id: str
    doc_id: str
    label: float | None
    shown: str
    relevance: int | None
    kept: bool
    edits: Mapping[str, str]
    disputed: tuple[str, ...]
    texts: Mapping[str, str] | None
    verdicts: tuple[Mapping[str, Any], ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.query_id, self.doc_id

    @property
    def by(self) -> list[str]:
        """Names of those whose verdicts it rests on."""
        return sorted({str(one["annotator"]) for one in self.verdicts})


@dataclass(frozen=True)
class Decisions:
    """A file of decisions. `head`: its first row; `sha256`: of the file."""

    head: Mapping[str, Any]
    rows: tuple[PairDecision, ...]
    sha256: str = ""
    annotators: tuple[str, ...] = field(default=())

    @property
    def graded(self) -> bool:
        """Whether people gave grades, not just yes or no."""
        return int(self.head.get("grades", 2)) > 2


def decisions_bytes(head: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The bytes of a file of decisions."""
    return b"".join(map(json_line, [{"retgen_review": FORMAT, **head}, *rows]))


def read_decisions(path: Path) -> Decisions:
    """Read a file of decisions. Raises `RecipeError`, naming the line, for what is none."""
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
    rows, seen = [], set()
    for number, line in enumerate(lines[1:], start=2):
        try:
            row = _decision(line)
            if row.pair in seen:
                raise ValueError("the pair is decided twice")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecipeError(
                f"{path}, line {number}: is no decision ({error}). Put the file as it was written "
                "in its place"
            ) from error
        seen.add(row.pair)
        rows.append(row)
    names = sorted({name for row in rows for name in row.by})
    return Decisions(head, tuple(rows), hashlib.sha256(data).hexdigest(), tuple(names))


def _decision(line: Mapping[str, Any]) -> PairDecision:
    verdicts = tuple(line["verdicts"])
    said = {verdict["relevance"] for verdict in verdicts}
    if len(said) != 1:
        raise ValueError("its verdicts do not agree")
    relevance = said.pop()
    if relevance is not None and (type(relevance) is not int or relevance < 0):
        raise ValueError(f"its relevance is {relevance!r}")
    texts = line.get("texts")
    if texts is not None and digest(*(texts[name] for name in FIELDS)) != line["shown"]:
        raise ValueError("its texts are not those that were looked at")
    given: dict[str, set[str]] = {}
    for verdict in verdicts:
        for name, text in verdict["edits"].items():
            if name not in FIELDS or type(text) is not str:
                raise ValueError(f"there is no text {name!r} to edit")
            if texts is None or text != texts[name]:
                given.setdefault(name, set()).add(text)
    if given and texts is None:
        raise ValueError("it edits texts that it does not state")
    label = line["label"]
    for name in ("split", "query_id", "doc_id", "shown"):
        if type(line[name]) is not str:
            raise ValueError(f"{name} is {line[name]!r}")
    return PairDecision(
        line["split"],
        line["query_id"],
        line["doc_id"],
        None if label is None else float(label),
        line["shown"],
        relevance,
        all(verdict["decision"] == "accept" for verdict in verdicts),
        {name: next(iter(one)) for name, one in sorted(given.items()) if len(one) == 1},
        tuple(sorted(name for name, one in given.items() if len(one) > 1)),
        texts,
        verdicts,
    )
