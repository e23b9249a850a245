"""`gen audit PATH --real OTHER`: does a synthetic set order systems as a real one does?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions
from retgen.audits.compare_page import write_page
from retgen.audits.order import (
    SystemScores,
    agreement,
    writer_bias,
)
from retgen.audits.result import OrderComparison, OverlapGap
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.result import DatasetScores
from retgen.evaluation.scoring.scores import at_largest
from retgen.progress import Progress, no_progress
from retgen.search.collection import manifest_of
from retgen.search.mteb_tasks import dataset_folder
from retgen.write import dump_json, write_file

MEASURE = "nDCG@10"


def audit_against(
    path: str | Path,
    real: str | Path,
    *,
    models: Sequence[str],
    metric: str = MEASURE,
    split: str | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    model_options: ModelOptions = DEFAULT_OPTIONS,
    cache: bool = True,
    command: str | None = None,
    progress: Progress = no_progress,
) -> OrderComparison:
    """Score `models` on a synthetic set and on a real one, and compare the orders.

    Both are run directories or data sets of any layout. `out` defaults to outputs/audit_NAME, where
    the scores stand in scores/. `cache`: embeddings are kept, so a call that was stopped repeats
    little. Raises `UsageError` for fewer than two systems or one set twice, `DatasetError` for what
    is no data set. A system that fails lands in `failures` if two others are left.
    """
    models = list(dict.fromkeys(models))
    if len(models) < 2:
        raise UsageError(
            f"--real: an order takes at least two systems, and {models[0] if models else 'none'} "
            "is named. Add --model, for example --model bm25 --model minilm"
        )
    paths = [dataset_folder(one) for one in (path, real)]
    if paths[0].resolve() == paths[1].resolve():
        raise UsageError(f"--real {real}: is the audited set itself; name one of people's queries")
    folder = Path(out) if out is not None else Path("outputs") / f"audit_{paths[0].resolve().name}"
    given = command or shlex.join(["gen", "audit", str(path), "--real", str(real)])
    scored = evaluate(
        paths,
        models=models,
        metrics=[metric],
        split=split,
        out=folder / "scores",
        options=options,
        model_options=model_options,
        cache=cache,
        command=given,
        title="Scores of both sets",
        progress=progress,
    )
    sets = scored.datasets
    labels = [[score.label for score in at_largest(one.scores)] for one in sets]
    systems = [name for name in labels[1] if name in labels[0]]
    if len(systems) < 2:
        reasons = "\n".join(scored.failures.values())
        raise UsageError(
            f"--real: an order takes two systems that are scored on both sets, and there "
            f"{'is one' if systems else 'is none'}.\n{reasons}".rstrip()
        )
    synthetic, on_real = (SystemScores.of(one, systems, one.measures.names[0]) for one in sets)
    result = OrderComparison(
        metric,
        synthetic,
        on_real,
        agreement(synthetic, on_real),
        writer_bias(_writers(sets[0]), synthetic, on_real),
        OverlapGap(*sets),
        folder,
        given,
        [f"{one.name}: {note}" for one in sets for note in (*one.all_notes, *_aside(one))],
        scored.failures,
        scored.exit_code,
    )
    write_file(folder / "audit.json", dump_json(result.to_json()))
    write_page(result)
    return result


def _writers(scored: DatasetScores) -> list[str]:
    """The models that wrote a set, as its manifest names them."""
    models = manifest_of(scored.collection.dataset).get("models") or {}
    named = [str(one.get("model", "")) for one in models.values() if isinstance(one, dict)]
    return list(dict.fromkeys(named))


def _aside(scored: DatasetScores) -> list[str]:
    reasons = [scored.units.note] if scored.units.note else []
    return [*reasons, scored.aside] if scored.aside else reasons
