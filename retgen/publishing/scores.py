"""What `gen eval` measured on a run and left beside it, as a card shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

SCORES = "scores.md"


def scores(run: Path, manifest: Mapping[str, Any]) -> str | None:
    """The page of scores in RUN/eval, headings one deeper; None where there is none of this data.

    An evaluation of other data (older than the run, or over other counts) is not of it. A model
    that was a folder of this machine is called by the folder's own name.
    """
    page, stated = run / "eval" / "eval.md", run / "eval" / "eval.json"
    try:
        measured, text = orjson.loads(stated.read_bytes()), page.read_text("utf-8")
        counts = [measured["documents"], measured["queries"]]
        models = [str(one["model"]) for one in measured["results"]]
        made = datetime.fromisoformat(str(manifest["created"])).timestamp()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    known = manifest.get("counts") or {}
    if counts[0] != known.get("documents") or counts[1] > known.get("queries", 0):
        return None
    if stated.stat().st_mtime < made:
        return None
    for model in sorted(set(models), key=len, reverse=True):
        if "/" in model and Path(model).expanduser().exists():
            text = text.replace(model, Path(model).name)
    text = re.sub(r"\A# .*\n+", "", text)  # the name of the data set
    return re.sub(r"(?m)^(#+ )", r"#\1", text)


def shown(text: str) -> list[str]:
    """The summary and the first table, for a card that links the rest."""
    summary, _, sections = text.partition("### ")
    lines = ["## Scores", "", summary.strip(), ""]
    if table := re.search(r"(?m)^\|.*(?:\n\|.*)*", sections):
        lines += [table[0], ""]
    return [*lines, f"Of `gen eval`; [{SCORES}]({SCORES}) has all of them.", ""]
