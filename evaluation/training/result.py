"""What `gen train` did and found: of idf, of BM25, and of what a data set cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.evaluation.scoring.significance import change_text, difference_between
from retgen.evaluation.training.config import TrainConfig, TrainingRun
from retgen.evaluation.training.pairs import Pairs
from retgen.evaluation.training.scored_set import ScoredSet
from retgen.evaluation.training.subgroups import NONLEXICAL, Subgroup
from retgen.evaluation.training.variants import AFTER, BEFORE, BM25, IDF, fused, label, noun


@dataclass(frozen=True)
class TrainingVariant:
    """The same model trained on something, once a seed. `name`, `words`: see `variants`.

    `shared`: how many of the pairs are pairs of the test set too.
    """

    name: str
    words: str
    pairs: Pairs
    config: TrainConfig
    runs: list[TrainingRun]
    shared: int = 0

    @property
    def label(self) -> str:
        """What it is in tables."""
        return label(AFTER) if self.name == AFTER else f"{label(AFTER)}, {self.words}"

    def scores(self, scored: ScoredSet) -> dict[str, float]:
        """Measure to score after training, the mean over the seeds."""
        rows = [scored.scores(run, "after") for run in self.runs]
        return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


@dataclass(frozen=True)
class Training:
    """What `train` did and found.

    `variants`: what was trained, the reference first. `data`: see `data_facts`. `short`: trained
    with the preset cpu, which nobody asked for.
    """

    folder: Path
    model: str
    variants: list[TrainingVariant]
    scored_sets: list[ScoredSet]
    command: str
    data: dict[str, Any] = field(default_factory=dict)
    short: bool = False

    @property
    def trained(self) -> TrainingRun:
        """The training of the reference, with its first seed."""
        return self.variants[0].runs[0]

    @property
    def pairs(self) -> Pairs:
        """Those of the reference."""
        return self.variants[0].pairs

    @property
    def config(self) -> TrainConfig:
        """That of the reference, with its first seed."""
        return self.variants[0].config

    @property
    def compared(self) -> bool:
        """Whether variants were named to be compared."""
        return self.variants[0].name != AFTER

    @property
    def shared(self) -> int:
        """How many training pairs of the reference are pairs of the test set too."""
        return self.variants[0].shared

    @property
    def noun(self) -> str:
        """What the variants differ in: negatives or pairs."""
        return noun(self.variants[0].name)

    def conclusion(self) -> str | None:
        """Which variant won on each data set: its intervals against all others are above 0."""
        if not self.compared:
            return None
        winners = [self._winner(scored) for scored in self.scored_sets]
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in winners)

    def _winner(self, scored: ScoredSet) -> str:
        measure, where = scored.primary, scored.where
        order = sorted(self.variants, key=lambda variant: -variant.scores(scored)[measure])
        best, others = order[0].name, [variant.name for variant in order[1:]]
        trained = "above" if scored.above(best, BEFORE) else "not surely above"
        trained = f"it is {trained} the untrained model"
        if not others:
            return f"{where} there is nothing beside {best}; {trained} by {measure}"
        level = next((other for other in others if not scored.above(best, other)), None)
        if level is not None:
            change = scored.difference(best, level, measure)
            if change is None or not any(change):
                why = scored.note or f"{best} and {level} rank alike"
                return f"{where} no {self.noun} win by {measure} ({why})"
            _, low, high = change
            return (
                f"{where} no {self.noun} win by {measure} (the 95% interval of {best} − {level}, "
                f"{low:+.3f} to {high:+.3f}, includes 0)"
            )
        parts = [f"{other} by {scored.change(best, other)}" for other in others]
        return f"{where} {best} wins by {measure}: over {' and '.join(parts)}; {trained}"

    def dilemma(self) -> str | None:
        """What training does to one subgroup of queries and another; None without subgroups."""
        found = [
            scored.subgroups.found(
                scored.where, {variant.name: variant.words for variant in self.variants}
            )
            for scored in self.scored_sets
            if scored.subgroups is not None and not scored.subgroups.nonlexical
        ]
        return " ".join(found) or None

    def findings(self) -> list[str]:
        """What training adds over idf and to BM25, and what a data set cannot show."""
        first = self.variants[0].name
        return [text for scored in self.scored_sets for text in findings(scored, first)]

    def warnings(self) -> list[str]:
        """How trainings failed that came to their end, and what they did not read."""
        runs = [(variant, run) for variant in self.variants for run in variant.runs if run.collapse]
        failed = [
            run.collapse if len(self.variants) == 1 else f"{variant.label}: {run.collapse}"
            for variant, run in runs
        ]
        return [*failed, *_unread(self.trained)]

    def notes(self) -> list[str]:
        """What a reader of the scores must know."""
        name, notes = self.scored_sets[0].collection.name, []
        held = " (held-out ones among them)" if self.trained.held_out_pairs else ""
        for variant in self.variants if self.noun == "pairs" else self.variants[:1]:
            if variant.shared:
                what = variant.words if self.noun == "pairs" else "training pairs"
                notes.append(
                    f"{variant.shared:,} of the {len(variant.pairs):,} {what}{held} are pairs of "
                    f"the test set {name}: its scores measure memory, not retrieval"
                )
        if not notes:
            notes.append(f"no training pair is a pair of the test set {name}")
        if self.short:
            notes.append(
                f"a short training, as this is a CPU (preset cpu: {self.config.max_steps} steps of "
                f"{self.config.batch_size} pairs); --set epochs=1 takes all pairs, in hours"
            )
        if len(self.scored_sets) == 1:
            notes.append("outside: not measured (--outside PATH or mteb:NAME measures it)")
        notes += [f"{scored.label}: {scored.note}" for scored in self.scored_sets if scored.note]
        seeds = len(self.variants[0].runs)
        if seeds > 1:
            first = self.config.seed
            notes.append(
                f"scores after training are means over {seeds} seeds ({first} to "
                f"{first + seeds - 1}); intervals are over queries"
            )
        for variant in self.variants:
            false = variant.pairs.false_negatives
            if variant.name == "mined":
                notes.append(f"mined: {variant.pairs.origin}")
            elif false is not None:
                name = f"{variant.name}: " if self.compared else ""
                notes.append(name + false.words())
        notes += [
            f"{scored.collection.name}: {scored.seen[0]:,} of its {scored.collection.documents:,} "
            f"documents and {scored.seen[1]:,} of its {len(scored.collection.queries):,} queries "
            "stand in the training pairs"
            for scored in self.scored_sets
            if scored.role == "outside" and any(scored.seen)
        ]
        split = self.scored_sets[0].subgroups
        for scored in self.scored_sets:
            if split is not None and not split.nonlexical and scored.subgroups is None:
                notes.append(
                    f"{scored.collection.name}: its queries have no column {split.column}, so it "
                    "is scored whole"
                )
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
            "teacher_temperature": run.teacher_temperature,
            "false_negatives": _counts(self.pairs),
            "max_length": run.max_length,
            "positives_cut": run.cut or None,
            "steps": run.steps,
            "best_step": run.best_step,
            "seconds": run.seconds,
            "device": run.device,
            "dtype": run.dtype,
            "weights_dtype": run.weights_dtype,
            "config": self.config.model_dump(mode="json"),
            "seeds": [self.config.seed + i for i in range(len(self.variants[0].runs))],
            "arms": None,
            "conclusion": self.conclusion(),
            "dilemma": self.dilemma(),
            "findings": self.findings(),
            "test": None,
            "outside": {},
            "history": run.history,
            "losses": run.losses,
            "warnings": self.warnings(),
            "notes": self.notes(),
        }
        if self.compared:
            shown["arms"] = {variant.name: _variant(variant) for variant in self.variants}
        for scored in self.scored_sets:
            scores = {
                "dataset": str(scored.collection.path),
                "split": scored.collection.split,
                "documents_trained_on": scored.seen[0],
                "queries_trained_on": scored.seen[1],
                "before": scored.scores(run, BEFORE),
                "idf": scored.scores(run, IDF) or None,
                "after": self.variants[0].scores(scored),
                "arms": (
                    {variant.name: variant.scores(scored) for variant in self.variants}
                    if self.compared
                    else None
                ),
                "beside": scored.beside,
                "against": [one._asdict() for one in scored.against],
                "ceiling": scored.ceiling,
                "floors": scored.baselines,
                "intervals": scored.intervals,
                "comparisons": [one._asdict() for one in scored.comparisons],
                "sides": None if scored.subgroups is None else scored.subgroups.to_json(),
            }
            if scored.role == "test":
                shown["test"] = scores
            else:
                shown["outside"][scored.collection.name] = scores
        return shown


_UNREAD = 0.1  # of the positives: from here on it is said


def _unread(run: TrainingRun) -> list[str]:
    """Whether much of the positives stands behind what training reads."""
    if run.cut.get("texts", 0.0) < _UNREAD:
        return []
    return [
        f"{run.cut['texts']:.0%} of the positives are longer than the "
        f"{run.max_length['training']:,} tokens that training reads, and {run.cut['tokens']:.0%} "
        "of their tokens stand behind them; cut documents into passages, raise max_length, or take "
        "a model that reads more"
    ]


def _counts(pairs: Pairs) -> dict[str, Any] | None:
    return None if pairs.false_negatives is None else pairs.false_negatives._asdict()


def _variant(variant: TrainingVariant) -> dict[str, Any]:
    return {
        "models": [str(run.path) for run in variant.runs],
        "origin": variant.pairs.origin,
        "pairs": variant.runs[0].pairs,
        "pairs_of_the_test_view": variant.shared,
        "hard_negatives": variant.runs[0].hard_negatives,
        "false_negatives": _counts(variant.pairs),
        "steps": [run.steps for run in variant.runs],
        "seconds": [run.seconds for run in variant.runs],
    }


CEILING = 0.9  # of the best reachable: BM25 leaves too little room above it


def findings(scored: ScoredSet, first: str) -> Iterator[str]:
    """What training adds over idf, what is deployed, and whether shared words decide.

    `first`: the name of the reference variant.
    """
    yield from _gain(scored, first)
    yield from _fusion(scored, first)
    if caution := scored.collection.caution:
        yield f"{scored.where[0].upper()}{_where(scored)[1:]}, {caution}."
    yield from _ceiling(scored, first)
    for subgroup in scored.subgroups.subgroups if scored.subgroups else ():
        if subgroup.value == NONLEXICAL:
            yield _nonlexical(subgroup, scored, first)


def _gain(scored: ScoredSet, first: str) -> Iterator[str]:
    """What training adds, over idf alone where there is that, with its interval."""
    untrained = scored.difference(IDF, BEFORE, scored.primary)
    over = scored.difference(first, IDF if untrained else BEFORE, scored.primary)
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


def _fusion(scored: ScoredSet, first: str) -> Iterator[str]:
    """What is deployed: BM25 and the model, before and after."""
    names = [name for name in (BEFORE, IDF, first) if fused(name) in scored.beside]
    over = scored.difference(fused(first), BM25, scored.primary)
    changed = scored.difference(fused(first), fused(BEFORE), scored.primary)
    if len(names) < 2 or over is None or changed is None:
        return
    yield (
        f"Fused with BM25 (min-max, one half each) {scored.where} it has "
        f"{scored.beside[fused(first)][scored.primary]:.4f}, {change_text(over)} over BM25 alone "
        f"and {change_text(changed)} over the fusion with the untrained model."
    )


def _ceiling(scored: ScoredSet, first: str) -> Iterator[str]:
    """Whether BM25 leaves no room: it has `CEILING` of what can be reached, or is above all."""
    if BM25 not in scored.beside:
        return
    measure = scored.primary
    value, best = scored.beside[BM25][measure], scored.ceiling.get(measure)
    rules = []
    if best and value >= CEILING * best:
        rules.append(f"at least {CEILING:g} of the best that can be reached ({best:.4f})")
    changes = [scored.difference(BM25, name, measure) for name in (first, IDF, BEFORE)]
    compared = [change for change in changes if change is not None]
    if compared and all(change[1] > 0 for change in compared):
        rules.append("above the model, trained and untrained, by 95% intervals")
    if rules:
        yield (
            f"BM25 has {value:.4f} {_where(scored)}, {' and '.join(rules)}: its queries share "
            "words with their documents. This set cannot show what a model finds beyond shared "
            "words, nor which of two good models is better: score queries that people wrote."
        )


def _nonlexical(subgroup: Subgroup, scored: ScoredSet, first: str) -> str:
    """The queries that share no content word with their document."""
    means, measure, where = subgroup.means, scored.primary, _where(scored)
    start = IDF if IDF in means else BEFORE
    shown = {BEFORE: "untrained", IDF: "idf alone", first: "trained", BM25: "BM25"}
    values = ", ".join(
        f"{words} {means[name][measure]:.4f}" for name, words in shown.items() if name in means
    )
    change = difference_between(subgroup.comparisons, first, start, measure)
    over = f"; training adds {change_text(change)} over {shown[start]}" if change else ""
    return (
        f"{where[0].upper()}{where[1:]}, {subgroup.queries:,} queries share no content word with "
        f"their document ({measure}): {values}{over}."
    )


def _where(scored: ScoredSet) -> str:
    """The place of a data set before a comma or a full stop."""
    return scored.where.removesuffix(",")
