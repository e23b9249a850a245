"""The names that retrievers are asked for by, checked before anything heavy is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.errors import UsageError
from retgen.messages import did_you_mean

LEXICAL = ("bm25", "rank-bm25", "bm25-capretrieval", "bm25-capretrieval-characters", "tfidf")
NAMES = (*LEXICAL, "minilm", "static:minilm")
PREFIXES = ("mteb", "late", "hybrid", "rerank")


def check_name(name: str) -> None:
    """Raise `UsageError` for a name that can mean nothing, with the nearest one that does."""
    kind, colon, rest = name.partition(":")
    if name in NAMES:
        return
    if colon and kind in PREFIXES:
        if not rest:
            raise UsageError(f"--model {name}: name a model after {kind}:")
        if kind in ("hybrid", "rerank"):
            _check_parts(name, kind, rest)
        elif kind == "late":
            check_name(rest)
        return
    if "/" in name or Path(name).exists():
        return
    hint = did_you_mean(name, NAMES)
    raise UsageError(
        f"--model {name}: there is no such model{hint or '.'} Known: {', '.join(NAMES)}, a "
        "folder or Hub id (owner/name) of a sentence-transformers model, mteb:NAME, "
        "late:MODEL, hybrid:A+B, rerank:FIRST+CROSSENCODER; for ladder sets bm25-paper, "
        "cross:CROSSENCODER, llm:PROVIDER:NAME"
    )


def _check_parts(name: str, kind: str, rest: str) -> None:
    parts = rest.split("+")
    if len(parts) < 2 or not all(parts) or (kind == "rerank" and len(parts) != 2):
        example = "hybrid:bm25+minilm" if kind == "hybrid" else "rerank:bm25+owner/cross-encoder"
        raise UsageError(f"--model {name}: write for example {example}")
    for part in parts if kind == "hybrid" else parts[:1]:
        check_name(part)


def label(model: str, dim: int | None, details: Mapping[str, Any]) -> str:
    """A system's name in tables: the dimension only where it was cut."""
    cut = dim is not None and not details.get("full_dimension", True)
    return f"{model}, first {dim}" if cut else model


def slug(model: str, dim: int | None = None) -> str:
    """A file name for a system."""
    name = re.sub(r"[^0-9A-Za-z._-]+", "--", model).strip("-.") or "model"
    return f"{name}-{dim}" if dim is not None else name
