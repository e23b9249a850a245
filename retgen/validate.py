"""`gen validate`: all rules over a run directory or over any data set, and what comes with them.

The corpus is read once, in parts, by several processes where it is large; every rule scans every
document; floors, densities and the certificate are computed from the files as well.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from retgen.data import Dataset, Problem, open_dataset
from retgen.errors import RetgenError
from retgen.progress import Progress, silent, usable_cores
from retgen.qrels import QrelMatrix, certificate
from retgen.recipe import Recipe, RuleSettings, load_recipe
from retgen.scan import build_rules, load_judgements, scan, which_split
from retgen.validators.floors import Terms, query_blind_floors
from retgen.validators.judgements import check_judgements
from retgen.validators.origin import Origin
from retgen.validators.rule import Finding, Judgements
from retgen.validators.samples import Samples
from retgen.write import file_info

__all__ = ["SCRATCH", "Validation", "validate"]

SCRATCH = ".scratch-"  # prefix of the folder that a validation keeps its terms in


@dataclass
class Validation:
    """What `validate` found.

    `statistics`: counts and histograms. `samples`: see `Samples.shown`. `floors`: see
    `query_blind_floors`. `certificate`: of the qrel matrix, see `retgen.qrels`. `origin`: how well
    positives are told from hard negatives without the query, {} without any. `proven`: qrels
    whose labels were proven, 0 without a proof; `judged`: whose labels rest on a judge, all else
    being proven; `judges`: how good these were found to be. `seconds`: by stage.
    """

    findings: list[Finding]
    statistics: dict[str, Any]
    floors: dict[str, Any]
    certificate: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=dict)
    proven: int = 0
    judged: int = 0
    judges: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)
    switched_off: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """No error; warnings are allowed."""
        return self.errors == 0

    def to_json(self) -> dict[str, Any]:
        """The shape of `gen validate --json`."""
        return {
            "ok": self.ok,
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding._asdict() for finding in self.findings],
            "switched_off": self.switched_off,
            "proven_qrels": self.proven,
            "judged_qrels": self.judged,
            "statistics": self.statistics,
            "floors": self.floors,
            "certificate": self.certificate,
            "origin": self.origin or None,
        }


def validate(
    path: Path | str,
    *,
    workers: int | None = None,
    progress: Progress = silent,
    split: str | None = None,
) -> Validation:
    """Check a run directory, or any data set in MTEB, BEIR or Hub layout.

    `workers`: processes, default all cores. `split`: which qrels, default test, else the first.
    Raises `DatasetError` where there is no data set to check.
    """
    dataset = open_dataset(path)
    # beside a large data set there is room; the system's folder for such files may be in memory
    beside = dataset.run if dataset.run and os.access(dataset.run, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=beside) as scratch:
        return _validate(dataset, workers or usable_cores(), progress, split, scratch)


def _validate(
    dataset: Dataset, workers: int, progress: Progress, split: str | None, scratch: str
) -> Validation:
    began = time.perf_counter()
    recipe = load_recipe(dataset.run / "recipe.yaml") if dataset.run else None
    settings = recipe.rules if recipe else RuleSettings()
    findings = list(_manifest(dataset.run, recipe)) if dataset.run and recipe else []
    if any(finding.rule == "word-lists" for finding in findings):
        recipe = None  # the proof would compare with other words than the data set was made of
    judgements = load_judgements(dataset, split, recipe)
    findings += _problems("queries", judgements.query_problems)
    findings += _problems("qrels", judgements.qrel_problems)
    try:
        rules = build_rules(recipe, judgements, settings, scratch, dataset.run)
    except OSError as error:  # what agents have said, which only a proof reads
        findings.append(Finding("sources", "error", [str(error.filename)], _lost(error)))
        recipe = None
        judgements = load_judgements(dataset, split, None)
        rules = build_rules(None, judgements, settings, scratch)
    proof = recipe is not None
    documents, problems = scan(dataset, rules, workers, split, progress, scratch, proof)
    findings += _problems("corpus", problems)
    for rule in rules:
        rule.judge(dataset, which_split(dataset, split))
    findings += check_judgements(judgements)
    for rule in rules:
        findings += rule.findings()
    scanned = time.perf_counter()
    terms = next(rule for rule in rules if isinstance(rule, Terms))
    matrix, play = _matrix(judgements, documents)
    cutoffs = (play,) if play <= 2000 else ()
    own = next((found for rule in rules if (found := rule.floors()) is not None), None)
    floors = own or query_blind_floors(terms.state, terms.query_terms(), judgements, cutoffs)
    floored = time.perf_counter()
    # a rule names the documents that the corpus lacks; the qrels ask for them all the same
    total = max(documents, len(np.unique(matrix.indices)))
    # of candidate sets the rest of the corpus is not judged, so no query asks for a set of it
    asked = bool(matrix.nnz) and own is None
    stated = certificate(matrix, documents_total=total).to_json() if asked else {}
    ended = time.perf_counter()
    off = settings.off
    kept = [finding for finding in findings if finding.rule.partition("/")[0] not in off]
    order = {"error": 0, "warning": 1, "info": 2}
    kept.sort(key=lambda finding: order[finding.severity])
    judges: dict[str, Any] = {}
    if recipe is not None:
        try:
            judges = dict(recipe.the_family().judges(recipe.job(dataset.run)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            told = f"what is known of the judges cannot be read: {error}"
            kept.insert(0, Finding("sources", "error", [], told))
            findings.append(kept[0])
    ok = not any(finding.severity == "error" for finding in findings)
    statistics = _statistics(judgements, documents, terms, matrix)
    for rule in rules:
        statistics |= rule.statistics()
    labels = statistics["qrels"] if recipe and ok else 0
    family, job = (recipe.the_family(), recipe.job(dataset.run)) if recipe else (None, None)
    evidence = family.evidence(job) if family and job else "structural"
    return Validation(
        kept,
        statistics,
        floors,
        stated,
        next(rule for rule in rules if isinstance(rule, Origin)).found,
        samples=next(rule for rule in rules if isinstance(rule, Samples)).shown(),
        proven=labels if evidence == "structural" else 0,
        judged=labels if evidence == "judged" else 0,
        judges=judges,
        switched_off=dict(off),
        seconds={
            "scan": round(scanned - began, 3),
            "floors": round(floored - scanned, 3),
            "certificate": round(ended - floored, 3),
        },
    )


def _lost(error: OSError) -> str:
    return (
        f"{error.filename}: {error.strerror}. It holds what agents have said, without which the "
        "proof cannot be repeated"
    )


# --- what the files say beside the rules --------------------------------------------------------


def _problems(table: str, problems: Sequence[Problem]) -> Iterator[Finding]:
    for line, reason in problems:
        yield Finding("schema", "error", [f"{table}:{line}"], f"{table}, row {line}: {reason}")


def _manifest(run: Path, recipe: Recipe) -> Iterator[Finding]:
    """Files whose hash no longer fits the manifest, and word lists that have changed since."""
    path = run / "manifest.json"
    try:
        manifest = orjson.loads(path.read_bytes())
        stated = {name: info["sha256"] for name, info in manifest["files"].items()}
        made_with = dict(manifest.get("word_lists", {}))
    except FileNotFoundError:
        yield Finding(
            "manifest",
            "warning",
            [],
            f"{run} has no manifest.json: the run did not end, or did not pass its checks",
        )
        return
    except (ValueError, KeyError, TypeError, AttributeError):
        yield Finding("manifest", "error", ["manifest.json"], f"{path} is not a manifest")
        return
    for found in sorted((run / "dataset").rglob("*")):
        name = found.relative_to(run).as_posix()
        if found.is_file() and name not in stated:
            yield Finding("manifest", "error", [name], f"{name} is not in the manifest")
    for name, digest in stated.items():
        file = run / name
        if not file.is_file():
            yield Finding("manifest", "error", [name], f"{name} is in the manifest but not there")
        elif file_info(file).sha256 != digest:
            yield Finding(
                "manifest", "error", [name], f"{name} is not the file that the manifest describes"
            )
    try:
        lists = recipe.the_family().word_lists(recipe.job(run))
    except (OSError, RetgenError):  # its sources are gone or damaged, which is found above
        lists = {}
    for name, digest in lists.items():
        if made_with.get(name, digest) != digest:
            version = manifest.get("versions", {}).get("retgen", "unknown")
            yield Finding(
                "word-lists",
                "error",
                [],
                f"the list of {name} has changed since this data set was made (with retgen "
                f"{version}), so its proof cannot be repeated here: install that version",
            )


def _matrix(judgements: Judgements, documents: int) -> tuple[QrelMatrix, int]:
    """The qrel matrix of the positives, and the number of documents in play."""
    queries = {query_id: i for i, query_id in enumerate(judgements.positives)}
    columns = {doc_id: j for j, doc_id in enumerate(sorted(judgements.relevant_documents))}
    pairs = {
        (queries[query_id], columns[doc_id])
        for query_id, docs in judgements.positives.items()
        for doc_id in docs
    }
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    matrix = QrelMatrix.from_pairs(both[:, 0], both[:, 1], len(queries), len(columns))
    return matrix, len(columns)


def _statistics(
    judgements: Judgements, documents: int, terms: Terms, matrix: QrelMatrix
) -> dict[str, Any]:
    words = terms.state.words
    total = int(words.sum())
    seen = np.flatnonzero(words)
    return {
        "documents": documents,
        "queries": len(judgements.queries),
        "qrels": len(judgements.qrels),
        "positives": matrix.nnz,
        "relevant_documents": matrix.documents,
        "words_per_document": {
            "min": int(seen[0]) if total else 0,
            "mean": round(float(words @ np.arange(len(words))) / total, 2) if total else 0.0,
            "max": int(seen[-1]) if total else 0,
            "histogram": {str(n): int(words[n]) for n in seen[:2000].tolist()},
        },
        "relevant_per_query": _counts(matrix.row_sums),
        "queries_per_relevant_document": _counts(matrix.column_sums),
    }


def _counts(values: Any) -> dict[str, Any]:
    if not len(values):
        return {"min": 0, "mean": 0.0, "max": 0, "histogram": {}}
    distinct, number = np.unique(values, return_counts=True)
    return {
        "min": int(distinct[0]),
        "mean": round(float(np.mean(values)), 4),
        "max": int(distinct[-1]),
        "histogram": dict(zip(map(str, distinct.tolist()), number.tolist(), strict=True)),
    }
