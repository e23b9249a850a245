"""`gen audit PATH --real OTHER`: does a synthetic set order systems as a real one does?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.audits.order import (
    Agreement,
    SystemScores,
    WriterBias,
    agreement,
    difference,
    is_certain,
    writer_bias,
)
from retgen.audits.overlap import mean_overlap, word_overlap
from retgen.errors import UsageError
from retgen.evaluation.collection import manifest_of
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.mteb_files import dataset_folder
from retgen.evaluation.scoring.result import Scored
from retgen.evaluation.scoring.scores import at_largest
from retgen.progress import Progress, no_progress
from retgen.statistics.clustered import Estimate
from retgen.version import __version__
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.calls import ModelOptions

MEASURE = "nDCG@10"


class OverlapGap:
    """The share of a query's content words in its relevant documents, on both sets."""

    def __init__(self, synthetic: Scored, real: Scored) -> None:
        values = [word_overlap(one.collection) for one in (synthetic, real)]
        units = [one.units for one in (synthetic, real)]
        self.synthetic, self.real = (
            mean_overlap(one, of) for one, of in zip(values, units, strict=True)
        )
        self.gap: Estimate | None = None
        if self.synthetic is not None and self.real is not None:
            rows = [np.flatnonzero(~np.isnan(one)) for one in values]
            of = [one.within(at) for one, at in zip(units, rows, strict=True)]
            mine, theirs = (one[at][:, None] for one, at in zip(values, rows, strict=True))
            self.gap = difference(mine, of[0], theirs, of[1])

    def to_json(self) -> dict[str, Any]:
        """Estimates, None where no query has content words."""
        named = {"synthetic": self.synthetic, "real": self.real, "gap": self.gap}
        return {name: one and one._asdict() for name, one in named.items()}


@dataclass
class Comparison:
    """What `audit_against` found. `bias`: None where no writer is known; `failures`: by system."""

    measure: str
    synthetic: SystemScores
    real: SystemScores
    agreement: Agreement
    bias: WriterBias | None
    overlap: OverlapGap
    folder: Path
    command: str
    notes: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints and audit.json holds."""
        tau, chance = self.agreement.tau, self.agreement.chance
        return {
            "synthetic": self.synthetic.name, "real": self.real.name, "measure": self.measure,
            "version": __version__,
            "tau": tau and {**tau._asdict(), "share_of_random_orders": chance},
            "systems": [
                {"system": name, "synthetic": mine, "real": theirs}
                for name, mine, theirs in zip(
                    self.real.systems, self.synthetic.means.tolist(), self.real.means.tolist(),
                    strict=True,
                )
            ],
            "pairs": [
                {"first": one.first, "second": one.second, "certain_on_real": one.certain,
                 "same_on_synthetic": one.same, "certain_on_synthetic": is_certain(one.synthetic),
                 "real": one.real._asdict(), "synthetic": one.synthetic._asdict()}
                for one in self.agreement.pairs
            ],
            "writer_bias": self.bias and {
                "writer": self.bias.writer, "maker": self.bias.maker, "systems": self.bias.own,
                **self.bias.bias._asdict(),
            },
            "word_overlap": self.overlap.to_json(), "notes": self.notes,
            "failures": self.failures,
        }  # fmt: skip


def audit_against(
    path: str | Path,
    real: str | Path,
    *,
    models: Sequence[str],
    metric: str = MEASURE,
    split: str | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    model_options: ModelOptions | None = None,
    cache: bool = True,
    command: str | None = None,
    progress: Progress = no_progress,
) -> Comparison:
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
        paths, models=models, metrics=[metric], split=split, out=folder / "scores",
        options=options, model_options=model_options, cache=cache, command=given,
        title="Scores of both sets", progress=progress,
    )  # fmt: skip
    sets = scored.datasets
    labels = [[score.label for score in at_largest(one.scores)] for one in sets]
    systems = [name for name in labels[1] if name in labels[0]]
    if len(systems) < 2:
        reasons = "\n".join(scored.failures.values())
        raise UsageError(
            f"--real: an order takes two systems that are scored on both sets, and there "
            f"{'is one' if systems else 'is none'}.\n{reasons}".rstrip()
        )
    synthetic, on_real = (_scores(one, systems) for one in sets)
    result = Comparison(
        metric, synthetic, on_real, agreement(synthetic, on_real),
        writer_bias(_writers(sets[0]), synthetic, on_real), OverlapGap(*sets), folder, given,
        [f"{one.name}: {note}" for one in sets for note in (*one.all_notes, *_aside(one))],
        scored.failures, scored.exit_code,
    )  # fmt: skip
    write_file(folder / "audit.json", dump_json(result.to_json()))
    from retgen.audits.compare_page import write_page

    write_page(result)
    return result


def _scores(scored: Scored, systems: Sequence[str]) -> SystemScores:
    """Of some systems, by label; the measure is the only one."""
    columns = {score.label: score.values[:, 0] for score in at_largest(scored.scores)}
    values = np.stack([columns[name] for name in systems], axis=1)
    return SystemScores(scored.name, systems, values, scored.units)


def _writers(scored: Scored) -> list[str]:
    """The models that wrote a set, as its manifest names them."""
    models = manifest_of(scored.collection.dataset).get("models") or {}
    named = [str(one.get("model", "")) for one in models.values() if isinstance(one, dict)]
    return list(dict.fromkeys(named))


def _aside(scored: Scored) -> list[str]:
    reasons = [scored.units.note] if scored.units.note else []
    return [*reasons, scored.aside] if scored.aside else reasons
