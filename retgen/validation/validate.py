"""`gen validate`: all rules over a run directory or over any data set, and what comes with them.

The corpus is read once, in parts, by several processes where it is large; every rule scans every
document; query-blind baselines, densities and the certificate are computed from the files as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from retgen.data import open_dataset
from retgen.errors import RecipeError
from retgen.manifest import PROOF
from retgen.progress import Progress, no_progress, usable_cores
from retgen.qrels import QrelMatrix, certificate
from retgen.recipe import Recipe, load_recipe
from retgen.validation.findings import kept_findings, rows_at_fault, rules_off
from retgen.validation.finished import DAMAGED, UNFIT, check_files, check_finished
from retgen.validation.reviewed import combine, tables_before
from retgen.validation.scan import Scanner, scan
from retgen.validators.baselines import TermRule, query_blind_baselines
from retgen.validators.chance import count_spread
from retgen.validators.rule import Finding, Judgements, Rule
from retgen.validators.rules import query_rules
from retgen.validators.rules.near import overlap
from retgen.validators.rules.origin import Origin
from retgen.validators.validation import Samples, Validation
from retgen.work import Engine, engine_named
from retgen.work.local import return_freed_memory
from retgen.write import scratch_folder

_SCRATCH = ".scratch-"  # prefix of the folder that a validation keeps its terms in


def validate(
    path: Path | str,
    *,
    workers: int | None = None,
    engine: str = "local",
    progress: Progress = no_progress,
    split: str | None = None,
    off: Mapping[str, str] | None = None,
    against: Sequence[Path | str] = (),
) -> Validation:
    """Check a run directory, or any data set in MTEB, BEIR or Hub layout.

    `workers`: processes, default all cores; `engine`: as `gen run --engine`. `split`: which qrels,
    default test, else the first. `off`: rules to switch off beside those of a run's recipe,
    each with the reason. `against`: other data sets, whose documents and queries this one should
    not hold.

    Of a finished run, the hashes and figures of its manifest are checked as well, and that the
    recipe makes the same tables again. Raises `DatasetError` where there is no data set
    to check, `UsageError` for rules that are unknown or cannot be switched off.
    """
    dataset = open_dataset(path, checked=False)
    benchmarks = {str(other): open_dataset(other) for other in against}
    work = engine_named(engine, workers or usable_cores())
    run = dataset.run
    recipe = load_recipe(run / "recipe.yaml", finished=True).at(run) if run else None
    switched_off = rules_off(recipe, off or {})
    # beside a large data set there is room; the system's folder for such files may be in memory
    beside = run if run and os.access(run, os.W_OK) else None
    with scratch_folder(_SCRATCH if beside else f"retgen{_SCRATCH}", beside) as scratch:
        manifest, changed = check_files(run, recipe) if run and recipe else (None, [])
        proven = None if any(one.rule != "manifest" for one in changed) else recipe
        scanner = Scanner(dataset, split, proven, str(scratch))
        try:
            result = _with_people(scanner, work, progress)
        except (RecipeError, *DAMAGED) as error:
            if proven is None:
                raise
            rule = "review" if proven.file.review and isinstance(error, RecipeError) else "sources"
            changed.append(Finding(rule, "error", [], f"{UNFIT}: {type(error).__name__}: {error}"))
            result = _validate(replace(scanner, recipe=None), work, progress)
        if run and recipe and manifest:  # as it was written, whatever this call asks beside that
            changed += check_finished(
                run, recipe, manifest, changed, result, work, scratch, progress
            )
        result.findings += changed
        for name, other in benchmarks.items():
            result.findings += overlap(dataset, other, name, str(scratch))
        result.findings = kept_findings(result.findings, switched_off)
        if not result.ok:  # something is wrong, so nothing is called proven
            result.proven = result.judged = result.human = 0
        result.switched_off = switched_off
        return result


def prove(run: Path, recipe: Recipe, engine: Engine, progress: Progress) -> Validation:
    """Check the tables of a run that is being made. `recipe`: the run's, `at` its directory."""
    with scratch_folder(PROOF, run) as scratch:
        scanner = Scanner(open_dataset(run, checked=False), None, recipe, str(scratch))
        return _with_people(scanner, engine, progress)


def _with_people(scanner: Scanner, engine: Engine, progress: Progress) -> Validation:
    """Check tables; after a review, prove what the recipe makes without it, and combine both."""
    recipe, run = scanner.recipe, scanner.dataset.run
    if recipe is None or not recipe.file.review or run is None:
        return _validate(scanner, engine, progress)
    made = recipe.reviewed_records()
    folder = Path(str(scanner.scratch), "before")
    first = recipe.before_review().at(folder)
    earlier = tables_before(run, first, folder, progress)
    # the family's rules read what stands beside the tables as it was before the review
    result = _validate(replace(scanner, recipe=recipe.at(folder)), engine, progress)
    before = _validate(replace(scanner, dataset=earlier, recipe=first), engine, progress)
    combine(result, before, recipe, made, earlier)
    return result


def _validate(scanner: Scanner, engine: Engine, progress: Progress) -> Validation:
    """Scan the corpus, have each rule word its findings, and compute baselines and certificate."""
    dataset, recipe = scanner.dataset, scanner.recipe
    settings, judgements, rules = scanner.settings, scanner.judgements, scanner.rules
    split, root = judgements.split, dataset.root
    findings = [
        *rows_at_fault(root, dataset.queries, judgements.query_problems, len(judgements.queries))
    ]
    for name, bad in {split: judgements.qrel_problems, **judgements.other_problems}.items():
        findings += rows_at_fault(root, dataset.qrels[name], bad)
    documents, problems = scan(scanner, engine, progress)
    findings += rows_at_fault(root, dataset.corpus, problems, documents)
    everything: list[Rule] = [*query_rules(judgements, scanner.covered), *rules]
    for one in everything:
        one.read_qrels(dataset, split)
    for one in everything:
        findings += one.findings()
        return_freed_memory()
    terms = next(rule for rule in rules if isinstance(rule, TermRule))
    matrix = _matrix(judgements)
    cutoffs = (matrix.documents,) if matrix.documents <= 2000 else ()
    own = next((result for rule in rules if (result := rule.baselines()) is not None), None)
    baselines = own or {}
    if matrix.nnz and not own:
        asked_for = terms.query_terms()
        baselines = query_blind_baselines(terms.state, asked_for, judgements, cutoffs, engine)
    return_freed_memory()
    # a rule names the documents that the corpus lacks; the qrels ask for them all the same
    total = max(documents, len(np.unique(matrix.indices)))
    # of candidate sets the rest of the corpus is not judged, so no query asks for a set of it
    asked = bool(matrix.nnz) and own is None
    stated = certificate(matrix, documents_total=total).to_json() if asked else {}
    findings = kept_findings(findings, settings.off)
    ok = not any(finding.severity == "error" for finding in findings)
    statistics = _statistics(judgements, documents, terms, matrix)
    for rule in rules:
        statistics |= rule.statistics()
    labels = statistics["qrels"] if recipe and ok else 0
    evidence = recipe.family.evidence(recipe.job) if recipe else "structural"
    return Validation(
        findings,
        statistics,
        baselines,
        stated,
        next(rule for rule in rules if isinstance(rule, Origin)).measured,
        samples=next(rule for rule in rules if isinstance(rule, Samples)).content(),
        proven=labels if evidence == "structural" else 0,
        proof=recipe.family.proof if recipe else "",
        judged=labels if evidence == "judged" else 0,
        human=labels if evidence == "human" else 0,
        judges=dict(recipe.family.judges(recipe.job)) if recipe else {},
        switched_off=dict(settings.off),
        splits=[split, *(name for name in dataset.qrels if name != split)],
    )


# --- what the files say beside the rules --------------------------------------------------------


def _matrix(judgements: Judgements) -> QrelMatrix:
    """The qrel matrix of the positives: (queries with any, documents relevant to any)."""
    columns = {doc_id: j for j, doc_id in enumerate(sorted(judgements.relevant_documents))}
    # qrels that stand twice are a finding of a rule
    rows = [sorted({columns[one] for one in docs}) for docs in judgements.positives.values()]
    return QrelMatrix.from_rows(rows, len(columns))


def _statistics(
    judgements: Judgements, documents: int, terms: TermRule, matrix: QrelMatrix
) -> dict[str, Any]:
    words = terms.state.words
    total = words.total()
    return {
        "documents": documents,
        "queries": len(judgements.queries),
        "qrels": len(judgements.qrels),
        "positives": matrix.nnz,
        "relevant_documents": matrix.documents,
        "words_per_document": {
            "min": min(words, default=0),
            "mean": round(sum(n * count for n, count in words.items()) / max(total, 1), 2),
            "max": max(words, default=0),
            "histogram": {str(n): words[n] for n in sorted(words)[:2000]},
        },
        "relevant_per_query": count_spread(matrix.row_sums),
        "queries_per_relevant_document": count_spread(matrix.column_sums),
    }
