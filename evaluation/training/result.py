"""What `gen train` did and found: of idf, of BM25, and of what a data set cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.evaluation.scoring.significance import change_text
from retgen.evaluation.training.config import TrainConfig, TrainingRun
from retgen.evaluation.training.pairs import Pairs
from retgen.evaluation.training.scored_set import AFTER, BEFORE, BM25, IDF, ScoredSet, fused


@dataclass(frozen=True)
class Training:
    """What `train` did and found.

    `data`: see `data_facts`. `short`: trained with the preset cpu, which nobody asked for.
    `shared`: how many of the pairs are pairs of the test set too.
    """

    folder: Path
    model: str
    pairs: Pairs
    config: TrainConfig
    trained: TrainingRun
    scored_sets: list[ScoredSet]
    command: str
    data: dict[str, Any] = field(default_factory=dict)
    short: bool = False
    shared: int = 0

    def findings(self) -> list[str]:
        """What training adds over idf and to BM25, and what a data set cannot show."""
        return [text for scored in self.scored_sets for text in findings(scored)]

    def warnings(self) -> list[str]:
        """How a training failed that came to its end."""
        return [self.trained.collapse] if self.trained.collapse else []

    def notes(self) -> list[str]:
        """What a reader of the scores must know."""
        name, notes = self.scored_sets[0].collection.name, []
        held = " (held-out ones among them)" if self.trained.held_out_pairs else ""
        if self.shared:
            notes.append(
                f"{self.shared:,} of the {len(self.pairs):,} training pairs{held} are pairs of "
                f"the test set {name}: its scores measure memory, not retrieval"
            )
        else:
            notes.append(f"no training pair is a pair of the test set {name}")
        if self.short:
            notes.append(
                f"a short training, as this is a CPU (preset cpu: {self.config.max_steps} steps of "
                f"{self.config.batch_size} pairs); --set epochs=1 takes all pairs, in hours"
            )
        if len(self.scored_sets) == 1:
            notes.append("outside: not measured (--outside PATH or mteb:NAME measures it)")
        notes += [f"{scored.label}: {scored.note}" for scored in self.scored_sets if scored.note]
        notes += [
            f"{scored.collection.name}: {scored.seen[0]:,} of its {scored.collection.documents:,} "
            f"documents and {scored.seen[1]:,} of its {len(scored.collection.queries):,} queries "
            "stand in the training pairs"
            for scored in self.scored_sets
            if scored.role == "outside" and any(scored.seen)
        ]
        for scored in self.scored_sets:
            notes += [f"{scored.collection.name}: {note}" for note in scored.collection.notes]
        return notes

    def to_json(self) -> dict[str, Any]:
        """What `gen train --json` prints."""
        run = self.trained
        shown: dict[str, Any] = {
            "base": self.model,
            "model": str(run.path),
            "data": self.data,
            "origin": self.pairs.origin,
            "pairs": run.pairs,
            "pairs_seen": run.seen,
            "hard_negatives": run.hard_negatives,
            "prompts": run.prompts,
            "held_out_pairs": run.held_out_pairs,
            "pairs_of_the_test_view": self.shared,
            "start": run.start or None,
            "max_length": run.max_length,
            "steps": run.steps,
            "best_step": run.best_step,
            "seconds": run.seconds,
            "device": run.device,
            "dtype": self.config.dtype,
            "weights_dtype": run.weights_dtype,
            "config": self.config.model_dump(mode="json"),
            "findings": self.findings(),
            "test": None,
            "outside": {},
            "losses": run.losses,
            "held_out_losses": run.held_out,
            "warnings": self.warnings(),
            "notes": self.notes(),
        }
        for scored in self.scored_sets:
            scores = {
                "dataset": str(scored.collection.path),
                "split": scored.collection.split,
                "documents_trained_on": scored.seen[0],
                "queries_trained_on": scored.seen[1],
                "before": scored.scores(run, BEFORE),
                "idf": scored.scores(run, IDF) or None,
                "after": scored.scores(run, AFTER),
                "beside": scored.beside,
                "against": [one._asdict() for one in scored.against],
                "ceiling": scored.ceiling,
                "floors": scored.baselines,
                "intervals": scored.intervals,
                "comparisons": [one._asdict() for one in scored.comparisons],
            }
            if scored.role == "test":
                shown["test"] = scores
            else:
                shown["outside"][scored.collection.name] = scores
        return shown


CEILING = 0.9  # of the best reachable: BM25 leaves too little room above it


def findings(scored: ScoredSet) -> Iterator[str]:
    """What training adds over idf, what is deployed, and whether shared words decide."""
    yield from _gain(scored)
    yield from _fusion(scored)
    if caution := scored.collection.caution:
        yield f"{scored.where[0].upper()}{_where(scored)[1:]}, {caution}."
    yield from _ceiling(scored)


def _gain(scored: ScoredSet) -> Iterator[str]:
    """What training adds, over idf alone where there is that, with its interval."""
    untrained = scored.difference(IDF, BEFORE, scored.primary)
    over = scored.difference(AFTER, IDF if untrained else BEFORE, scored.primary)
    if over is None:
        return
    if over[1] > 0:
        verdict = "Training adds"
    elif over[2] < 0:
        verdict = "Training loses"
    else:
        verdict = "Training adds nothing sure:"
    start, rest = "the untrained model", ""
    if untrained:
        start = "idf alone"
        rest = (
            f"; idf alone, without training, has {change_text(untrained)} over the untrained model"
        )
    yield f"{verdict} {change_text(over)} {scored.primary} over {start} {_where(scored)}{rest}."


def _fusion(scored: ScoredSet) -> Iterator[str]:
    """What is deployed: BM25 and the model, before and after."""
    names = [name for name in (BEFORE, IDF, AFTER) if fused(name) in scored.beside]
    over = scored.difference(fused(AFTER), BM25, scored.primary)
    changed = scored.difference(fused(AFTER), fused(BEFORE), scored.primary)
    if len(names) < 2 or over is None or changed is None:
        return
    yield (
        f"Fused with BM25 (min-max, one half each) {scored.where} it has "
        f"{scored.beside[fused(AFTER)][scored.primary]:.4f}, {change_text(over)} over BM25 alone "
        f"and {change_text(changed)} over the fusion with the untrained model."
    )


def _ceiling(scored: ScoredSet) -> Iterator[str]:
    """Whether BM25 leaves no room: it has `CEILING` of what can be reached, or is above all."""
    if BM25 not in scored.beside:
        return
    measure = scored.primary
    value, best = scored.beside[BM25][measure], scored.ceiling.get(measure)
    rules = []
    if best and value >= CEILING * best:
        rules.append(f"at least {CEILING:g} of the best that can be reached ({best:.4f})")
    changes = [scored.difference(BM25, name, measure) for name in (AFTER, IDF, BEFORE)]
    compared = [change for change in changes if change is not None]
    if compared and all(change[1] > 0 for change in compared):
        rules.append("above the model, trained and untrained, by 95% intervals")
    if rules:
        yield (
            f"BM25 has {value:.4f} {_where(scored)}, {' and '.join(rules)}: its queries share "
            "words with their documents. This set cannot show what a model finds beyond shared "
            "words, nor which of two good models is better: score queries that people wrote."
        )


def _where(scored: ScoredSet) -> str:
    """The place of a data set before a comma or a full stop."""
    return scored.where.removesuffix(",")
