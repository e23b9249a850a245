"""`gen report`: report.json, and the page that shows it.

What the page says is decided in view.py; `results` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from retgen.data import Dataset, open_dataset
from retgen.dataset_files import enclosing_dataset_hint
from retgen.errors import DatasetError, DatasetMissing
from retgen.recipe import Recipe, written_out
from retgen.reporting.evidence import solved_blindly
from retgen.reporting.view import run_page
from retgen.validators.validation import Validation
from retgen.write import dump_json, write_file

_PICTURE = 128  # cells along each side of a picture of the qrel matrix
_PICTURE_QRELS = 200_000  # positives; more would take longer to order than the picture is worth


def collect_report(
    folder: Path, recipe: Recipe, manifest: Mapping[str, Any], result: Validation
) -> dict[str, Any]:
    """All that the page shows, as report.json keeps it."""
    return {
        **statements(recipe, manifest, result),
        "folder": folder.resolve().name,
        "samples": result.samples,
        "picture": _picture(open_dataset(folder), int(result.statistics.get("positives", 0))),
    }


def statements(recipe: Recipe, manifest: Mapping[str, Any], result: Validation) -> dict[str, Any]:
    """What is known of a run without its files: for its page and its card."""
    family = recipe.family
    return {
        "name": recipe.name,
        "family": recipe.family.name,
        "summary": family.about(recipe.job),
        "paper": family.paper,
        "own": family.from_user(recipe.job),
        "recipe": written_out(recipe)[0],
        "manifest": {
            key: manifest[key]
            for key in (
                "created",
                "versions",
                "counts",
                "complete",
                "evidence",
                "timings",
                "licences",
                "word_lists",
                "files",
                *(k for k in _OF_MODELS if k in manifest),
            )
        },
        "card": list(manifest.get("card", ())),
        "solved_blindly": None if recipe.family.traces_labels else solved_blindly(result.baselines),
        **result.to_json(),
    }


_OF_MODELS = (
    "source_documents",
    "candidate_sets",
    "tests",
    "facts",
    "notes",
    "example",
    "judged",
    "lineage",
    "structure",
    "proof",
    "models",
    "judges",
    "calls",
    "answers",
    "cache_hits",
    "tokens",
    "usd",
)


def write_report(folder: Path, content: Mapping[str, Any]) -> None:
    """Write report.json and report.html of a run."""
    write_file(folder / "report.json", dump_json(content))
    write_file(folder / "report.html", report_page(content))


def report_page(content: Mapping[str, Any]) -> str:
    """The page of a report.json."""
    return run_page(content).html()


def report(path: str | Path) -> Path:
    """Make the page of a run again, from its report.json. Returns the page's path."""
    if not str(path).strip():
        raise DatasetError("the path is empty: give the folder of a run")
    folder = Path(path)
    if not folder.exists():
        raise DatasetMissing(f"{folder} does not exist. Give the folder of a run.", str(folder))
    if folder.is_file():
        raise DatasetError(
            f"{folder} is a file. Give the folder of a run{enclosing_dataset_hint(folder)}."
        )
    try:
        content = orjson.loads((folder / "report.json").read_bytes())
        if not isinstance(content, dict):
            raise ValueError("report.json is not an object")
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{folder} holds no readable report.json; `gen validate {folder}` checks it anew"
        ) from error
    write_report(folder, content)
    return folder / "report.html"


# --- a picture of the qrel matrix, for report.json ----------------------------------------------


def _picture(dataset: Dataset, positives: int) -> dict[str, Any] | None:
    """The qrel matrix at most 128 x 128 cells large, None where it is empty or too large to help.

    {"queries", "documents", "matrix", "shared"}: `matrix` has a string a row of cells (queries), a
    digit a cell (relevant documents), `shared` the same for the queries that two documents share.
    Digits count up to the largest count of any cell if that is at most 9, else they are ninths of
    it. Rows and columns are ordered so that what is related stands together.
    """
    if not 0 < positives <= _PICTURE_QRELS or not dataset.qrels:
        return None
    split = "test" if "test" in dataset.qrels else next(iter(dataset.qrels))
    rows: dict[str, set[str]] = {}
    for query_id, doc_id, relevance in dataset.qrels[split].read()[0]:
        if relevance > 0:
            rows.setdefault(query_id, set()).add(doc_id)
    place = _cuthill_mckee_columns(list(rows.values()))
    ordered = sorted(sorted(place[doc_id] for doc_id in docs) for docs in rows.values())
    query_step, document_step = -(-len(ordered) // _PICTURE), -(-len(place) // _PICTURE)
    width = -(-len(place) // document_step)
    row = np.repeat(np.arange(len(ordered)), [len(docs) for docs in ordered])
    column = np.array([c for docs in ordered for c in docs]) // document_step
    height = -(-len(ordered) // query_step)
    counts = np.bincount(row // query_step * width + column, minlength=height * width)
    shared = np.zeros((width, width))
    for first in range(0, len(ordered), 8192):  # 8192 x 128 counts at a time
        here = slice(*np.searchsorted(row, [first, first + 8192]))
        high = min(8192, len(ordered) - first)
        part = np.bincount((row[here] - first) * width + column[here], minlength=high * width)
        wide = part.reshape(high, width).astype(float)
        shared += wide.T @ wide
    shared -= np.diag(np.bincount(column, minlength=width))  # a document with itself
    return {
        "queries": len(ordered),
        "documents": len(place),
        "matrix": _digits(counts.reshape(height, width)),
        "shared": _digits(shared) if shared.any() else [],
    }


def _cuthill_mckee_columns(rows: Sequence[set[str]]) -> dict[str, int]:
    """Document to column, by Cuthill and McKee: breadth first, small degrees first.

    A cycle becomes a band and disjoint queries become blocks, in whatever order the files are.
    """
    queries: dict[str, list[int]] = {}
    for i, docs in enumerate(rows):
        for doc_id in docs:
            queries.setdefault(doc_id, []).append(i)
    by_degree = sorted(queries, key=lambda doc_id: (len(queries[doc_id]), doc_id))
    rank = {doc_id: i for i, doc_id in enumerate(by_degree)}
    place: dict[str, int] = {}
    visited = [False] * len(rows)
    for start in by_degree:
        if start in place:
            continue
        place[start] = len(place)
        queue = [start]
        for doc_id in queue:
            for i in queries[doc_id]:
                if not visited[i]:
                    visited[i] = True
                    result = [other for other in rows[i] if other not in place]
                    for other in sorted(result, key=rank.__getitem__):
                        place[other] = len(place)
                        queue.append(other)
    return place


def _digits(counts: Any) -> list[str]:
    """A digit a cell: the count, or ninths of the largest count where that is above 9."""
    top = max(int(counts.max()), 1)
    levels = counts if top <= 9 else np.ceil(counts * 9 / top)
    return ["".join(map(str, row)) for row in levels.astype(int).tolist()]
