"""`gen audit PATH`: structure, depth of judging, and missing and wrong labels of a benchmark."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.audits.benchmark_page import write_page
from retgen.audits.pool import DEPTH, POSITIVE, LabelErrors, Pool
from retgen.audits.result import NEXT, POOL, Audit
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.result import DatasetScores
from retgen.evaluation.scoring.scores import at_largest
from retgen.progress import Progress, no_progress
from retgen.search.base import slug
from retgen.search.collection import Collection
from retgen.search.mteb_tasks import dataset_folder
from retgen.search.rankings import read_run
from retgen.statistics.clustered import Floats
from retgen.validation.validate import validate
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.audits.judge import JudgeReport

SYSTEMS = ("bm25", "minilm")  # where no run is given
_LABELS = {"0": 0.0, "1": 1.0}
_UNCLEAR = "?"
_LONGEST = 1500  # characters of a document that whoever judges it is shown
JUDGE_PAIRS = 2000


def audit(
    path: str | Path,
    *,
    runs: Sequence[str | Path] = (),
    models: Sequence[str] = (),
    labels: str | Path | None = None,
    patch: str | Path | None = None,
    judge: str | None = None,
    judge_pairs: int = JUDGE_PAIRS,
    seed: int = 0,
    split: str | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    cache: bool = True,
    command: str | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Check a data set's structure, how deep runs are judged, and its labels.

    `runs`: TREC files; `models`: systems; without either bm25 and minilm. `labels`: to_judge.tsv as
    people filled it; `patch`: where to write the changed qrels. `judge`: a chat model
    (PROVIDER:NAME) that labels the first `judge_pairs` pairs of the pool, or those that people
    labelled if these are more. `out` defaults to outputs/audit_NAME. Raises `UsageError` for labels
    of another pool, `DatasetError` for what is no data set or no run of it, `ChecksFailed` for a
    judge that is no better than chance.
    """
    place = dataset_folder(path)
    folder = Path(out) if out is not None else Path("outputs") / f"audit_{place.resolve().name}"
    given = command or shlex.join(["gen", "audit", str(path)])
    if patch is not None and labels is None:
        raise UsageError("--patch: takes what people labelled; name the file with --labels")
    systems = models or ([] if runs else SYSTEMS)
    settings, report = None, None
    if judge is not None:
        # slow to import, and most audits have none
        from retgen.audits.judge import JudgeReport
        from retgen.evaluation.search.judge import judge_model, judged_labels

        settings = judge_model("--judge", judge, model_options)
    checked = validate(place, workers=1, split=split, progress=progress)
    metrics = [f"nDCG@{DEPTH}", f"P@{DEPTH}", f"recall@{DEPTH}", f"recall@{POOL}"]
    scored = evaluate(
        place,
        models=systems,
        runs=runs,
        metrics=metrics,
        split=split,
        out=folder / "scores",
        options=options,
        model_options=model_options,
        cache=cache,
        command=given,
        progress=progress,
    )
    one = scored.datasets[0]
    pool = _pool(one, folder / "scores", seed)
    digest = xxhash.xxh3_64_hexdigest(pool.order.tobytes() + pool.documents.tobytes())
    notes, given_labels = list(one.all_notes), list[str]()
    if labels is not None:
        given_labels = _read_labels(Path(labels), one.collection, pool, digest)
    read, told = _values(given_labels)
    items = pool.order[: len(read)]
    seen = np.where(np.isnan(read), pool.strata[items] == POSITIVE, read)
    notes += told
    if settings is not None:
        asked = pool.order[: max(judge_pairs, len(read))]
        report = JudgeReport(settings, np.full(len(pool), np.nan), len(asked))
        report.labels = judged_labels(
            settings,
            _pairs(one.collection, pool, asked),
            len(pool),
            folder / "scores",
            model_options,
            report.calls,
            progress,
        )
        _write_judged(folder / "judged.tsv", one.collection, pool, report)
        if failed := len(report.calls.rejected):
            notes.append(
                f"the judge gave no label that can be taken of {failed:,} pairs, which "
                "stand in rejected.jsonl"
            )
    fit = pool.corrected(seen, *((report.labels, report.asked) if report is not None else ()))
    if report is not None:
        report.compare(items, read, fit.sample.chances[items])
    errors = LabelErrors.of(pool, fit) if len(seen) or report else None
    result = Audit(
        one,
        checked,
        pool,
        errors,
        len(seen),
        folder,
        given,
        notes,
        scored.failures,
        scored.exit_code,
        report,
    )
    _write_questions(result.questions, one.collection, pool, digest, given_labels)
    if patch is not None:
        write_file(Path(patch), _patch(one.collection, pool, seen))
    write_file(folder / "audit.json", dump_json(result.to_json()))
    write_page(result)
    return result


def _pool(scored: DatasetScores, folder: Path, seed: int) -> Pool:
    """Of the first documents of all runs, as `evaluate` left them."""
    collection, rankings = scored.collection, []
    for score in at_largest(scored.scores):
        file = folder / "runs" / f"{slug(score.model, score.dim)}.trec"
        given = Path(str(score.details.get("run", file)))
        rankings.append(read_run(given, collection, POOL)[0].documents)
    judged = [collection.qrels[query.query_id] for query in collection.queries]
    place = collection.places(doc for docs in judged for doc in docs)
    all_, positive = (
        [{place[d] for d, r in docs.items() if d in place and r > least} for docs in judged]
        for least in (-np.inf, 0)
    )
    return Pool.of(rankings, positive, None if collection.complete else all_, seed)


def _names(collection: Collection, pool: Pool, item: int) -> tuple[str, str]:
    document = collection.doc_ids[pool.documents[item]].decode()
    return collection.queries[pool.rows[item]].query_id, document


def _cells(names: tuple[str, str]) -> list[str]:
    """Ids as TSV holds them: tabs and ends of lines are percent-encoded."""
    return [re.sub(r"[\t\r\n]", lambda one: quote(one[0]), name) for name in names]


def _pairs(
    collection: Collection, pool: Pool, items: NDArray[np.int64]
) -> dict[int, tuple[str, str]]:
    """The query and the document of some pairs, as whoever judges them is shown them."""
    texts, queries = collection.texts(pool.documents[items]), collection.queries
    return {
        item: (queries[pool.rows[item]].text, texts[int(pool.documents[item])][:_LONGEST])
        for item in items.tolist()
    }


def _write_questions(
    path: Path, collection: Collection, pool: Pool, digest: str, labels: Sequence[str]
) -> None:
    """What was labelled, and the next pairs, for a spreadsheet."""
    lines = [f"# pool {digest}: label 1 relevant, 0 not, {_UNCLEAR} cannot tell; from the top\n"]
    lines.append("label\tquery-id\tcorpus-id\tquery\tdocument\n")
    pairs = _pairs(collection, pool, pool.order[: len(labels) + NEXT])
    for at, (item, pair) in enumerate(pairs.items()):
        label = labels[at] if at < len(labels) else ""
        shown = (" ".join(cell.split()) for cell in pair)
        lines.append("\t".join([label, *_cells(_names(collection, pool, item)), *shown]) + "\n")
    write_file(path, "".join(lines))


def _write_judged(path: Path, collection: Collection, pool: Pool, report: JudgeReport) -> None:
    """The judge's labels: TSV of query-id, corpus-id, label."""
    lines = ["query-id\tcorpus-id\tlabel\n"]
    for item in pool.order[: report.asked].tolist():
        if not np.isnan(label := report.labels[item]):
            lines.append(
                "\t".join([*_cells(_names(collection, pool, item)), f"{label:.0f}"]) + "\n"
            )
    write_file(path, "".join(lines))


def _read_labels(path: Path, collection: Collection, pool: Pool, digest: str) -> list[str]:
    """The labels of the first pairs, "" where there is none. Raises `UsageError` with the line."""
    try:
        lines = path.read_text("utf-8-sig").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--labels {path}: cannot be read as a text file: {error}") from error
    if not lines[0].strip('"').startswith(f"# pool {digest}"):
        raise UsageError(
            f"--labels {path}: its first line does not name this pool ({digest}), so it is of "
            "other runs, another data set or another --seed, and its chances are not known. Give "
            "the same runs as in the call that wrote it"
        )
    result = []
    for at, line in enumerate(lines[2:]):
        label, *cells = line.split("\t")
        if at >= len(pool) or cells[:2] != _cells(_names(collection, pool, int(pool.order[at]))):
            raise UsageError(f"--labels {path}, line {at + 3}: is another pair; keep the order")
        if label.strip() not in ("", _UNCLEAR, *_LABELS):
            raise UsageError(
                f"--labels {path}, line {at + 3}: {label!r} is no label; write 1, 0 or {_UNCLEAR}"
            )
        result.append(label.strip())
    while result and not result[-1]:
        result.pop()
    return result


def _values(labels: Sequence[str]) -> tuple[Floats, list[str]]:
    """Of the pairs before the first one without a label; NaN where nobody can tell."""
    end = labels.index("") if "" in labels else len(labels)
    values = [_LABELS.get(label, np.nan) for label in labels[:end]]
    notes = []
    if unclear := labels[:end].count(_UNCLEAR):
        notes.append(f"{unclear:,} pairs that nobody could tell keep their label")
    if late := len(labels[end:]) - labels[end:].count(""):
        notes.append(f"{late:,} labels stand below a pair without one, and are not used yet")
    return np.array(values, np.float64), notes


def _patch(collection: Collection, pool: Pool, seen: Floats) -> str:
    """The pairs whose label is another one: TSV of query-id, corpus-id, score, before."""
    lines = ["query-id\tcorpus-id\tscore\tbefore\n"]
    for item, label in zip(pool.order.tolist(), seen.tolist(), strict=False):
        positive = pool.strata[item] == POSITIVE
        if positive != bool(label):
            query, document = _names(collection, pool, item)
            before = str(collection.qrels[query].get(document, ""))
            lines.append("\t".join([*_cells((query, document)), f"{label:.0f}", before]) + "\n")
    return "".join(lines)
