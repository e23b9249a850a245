"""A small writer of ladder data sets: made-up records of ten sentences, one value each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SUBJECTS = ("roof", "door", "well", "mill", "bridge", "garden", "tower", "stable", "cellar", "wall")
VALUES = (
    "red",
    "very old",
    "broken",
    "tall",
    "narrow and low",
    "empty",
    "painted",
    "sold twice",
    "burnt",
    "new",
    "dry",
)
FILLER = "The grass is green. The sky is blue. "
COUNT = len(SUBJECTS)


def condition(ladder: int, c: int) -> str:
    """Condition c, from 1."""
    return f"the {SUBJECTS[c - 1]} of house {ladder} was {VALUES[(3 * ladder + c) % len(VALUES)]}"


def document(ladder: int, broken: Sequence[int] = ()) -> str:
    """The ten sentences, those of some conditions rewritten."""
    sentences = []
    for c in range(1, COUNT + 1):
        value = VALUES[(3 * ladder + c + (5 + ladder % 3 if c in broken else 0)) % len(VALUES)]
        sentences.append(f"The {SUBJECTS[c - 1]} of house {ladder} was {value} that year.")
    return " ".join(sentences)


def query(ladder: int, n: int, style: str) -> str:
    """What asks for conditions 1..n."""
    return _asked([condition(ladder, c) for c in range(1, n + 1)], style)


def _asked(conditions: Sequence[str], style: str = "instruction") -> str:
    if style == "instruction":
        listed = "\n".join(f"{i}. {one}" for i, one in enumerate(conditions, start=1))
        return f"Find a record that meets the following conditions:\n{listed}"
    return "A record in which " + ", and ".join(conditions)


def write_ladders(
    folder: Path,
    ladders: int = 4,
    *,
    domain: str = "houses",
    tables: bool = True,
    first: int = 0,
) -> Path:
    """Write a data set. `first`: its first ladder."""
    corpus, queries, qrels, grades = [], [], [], []
    padded = []
    for number in range(first, first + ladders):
        name = f"{domain}-{number:02}"
        documents = []
        for level in range(COUNT + 1):
            conditions = list(range(1, level + 1))
            metadata = {"ladder": name, "broken": conditions, "orders": [1]}
            documents.append((f"{name}-d{level}", conditions))
            corpus.append(
                _row(f"{name}-d{level}", document(number, conditions), metadata, title="")
            )
        for style in ("instruction", "descriptive"):
            for n in range(1, COUNT + 1):
                metadata = {"ladder": name, "domain": domain, "style": style, "conditions": n}
                query_id = f"{name}-{style[0]}{n}"
                queries.append(_row(query_id, query(number, n, style), metadata))
                for doc, bad in documents:
                    met = n - sum(c <= n for c in bad)
                    pair = {"query-id": query_id, "corpus-id": doc}
                    qrels.append(pair | {"score": int(met == n)})
                    grades.append(pair | {"score": met})
            padded.append(
                {"id": name, "style": style}
                | {f"Query{n}": query(number, n, style) for n in range(1, COUNT + 1)}
                | {"Positive": FILLER + document(number)}
                | {
                    f"HN{i}": FILLER + document(number, range(1, i + 1))
                    for i in range(1, COUNT + 1)
                }
            )
    _write(folder / "corpus.jsonl", corpus)
    _write(folder / "queries.jsonl", queries)
    _write(folder / "qrels.jsonl", qrels)
    _write(folder / "qrels_graded.jsonl", grades)
    if tables:
        _write(folder / "tables" / "task4_512.jsonl", padded)
    return folder


def _row(name: str, text: str, metadata: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"_id": name, **more, "text": text, "metadata": metadata}


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
