"""The questions that are put to the agents for a ladder that is being made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retgen.generators.multiconir.agents import REWRITE
from retgen.generators.multiconir.checks import negates
from retgen.generators.multiconir.draft import Draft, Shown
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.questions import Extract, Falsify, Negatives, Queries, Verify
from retgen.generators.multiconir.sentences import CONDITIONS, word_count
from retgen.generators.params import Job


class Requests:
    """What a recipe asks for."""

    def __init__(self, job: Job[MultiConIRParams]) -> None:
        self.limits = job.params.negatives
        self.domain, self.strategy = (
            job.params.the_domain(),
            job.params.rewriting(REWRITE.name in job.live),
        )
        # how many rewrites of a ladder may merely negate
        self.negations = round(self.limits.negations * CONDITIONS)

    def sentences(self, draft: Draft, count: int) -> Extract:
        """So many sentences more, with their conditions."""
        domain = self.domain
        return Extract(
            noun=domain.noun, features=domain.features, examples=domain.examples.instruction,
            count=count, document=draft.document.text,
            taken=tuple(one.sentence for one in draft.taken), refused=tuple(draft.refused),
        )  # fmt: skip

    def rewrites(self, draft: Draft, conditions: Sequence[int]) -> Negatives:
        """Rewrites of the sentences of some conditions (from 0)."""
        limits, reassign = self.limits, self.strategy == "reassign"
        more = limits.length + (limits.clause if reassign else 0)
        asked = []
        for c in conditions:
            words = word_count(draft.sentences[c])
            fewest = max(1, round(words * (1 - limits.length)))
            most = max(words + 2, round(words * (1 + more)))
            asked.append(
                Falsify(condition=c + 1, sentence=draft.sentences[c], fewest=fewest, most=most)
            )
        return Negatives(
            noun=self.domain.noun, strategy=self.strategy,
            examples=tuple(
                f"Condition: {one.condition} | Sentence: {one.sentence} | Rewrite: {one.rewrite}"
                for one in self.domain.rewrites
            ),
            conditions=tuple(draft.conditions), sentences=tuple(asked),
            kept=round(100 * limits.kept),
            key_terms=limits.key_terms * (1.0 if reassign else 0.5),
            negations=max(0, self.negations - len(negating(draft))),
            refused=tuple(past for c in conditions for past in draft.tried[c]),
        )  # fmt: skip

    def verdicts(
        self, draft: Draft, shown: Shown, asked: Sequence[int], refused: Sequence[str] = ()
    ) -> Verify:
        """The judge's verdicts on some conditions (from 0)."""
        return Verify(
            texts=tuple(draft.text(one) for one in shown.texts),
            conditions=tuple(draft.conditions),
            asked=tuple(c + 1 for c in asked),
            refused=tuple(refused),
        )

    def queries(
        self, draft: Draft, counts: Sequence[int], faults: Mapping[int, str] | None = None
    ) -> Queries:
        """Queries for the first n conditions, for each n of `counts`."""
        domain, faults = self.domain, faults or {}
        return Queries(
            noun=domain.noun, examples=domain.examples.descriptive,
            conditions=tuple(draft.conditions), counts=tuple(counts),
            refused=tuple(f"query {n}: {faults[n]}" for n in counts if n in faults),
            opening=domain.descriptive, where=domain.where,
        )  # fmt: skip


def negating(draft: Draft) -> list[int]:
    """The conditions whose rewrites merely negate."""
    return [
        c
        for c, rewrite in enumerate(draft.rewrites)
        if rewrite and negates(draft.sentences[c], rewrite)
    ]
