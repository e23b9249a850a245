"""A ladder that is being made: what stands so far, what was refused, and what is asked next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retgen.agents.agent import RepairsFailed, Turn
from retgen.generators.multiconir.agents import (
    REWRITE,
    AskConditions,
    AskLadderQueries,
    AskRewrites,
    AskVerdicts,
    Found,
    RefusedRewrite,
    RefusedSentence,
    SentenceToRewrite,
)
from retgen.generators.multiconir.checks import (
    CONDITIONS,
    check_condition,
    check_sentence,
    negates,
    word_count,
)
from retgen.generators.multiconir.ladders import (
    Evidence,
    Ladder,
    condition_order,
    halves,
    places,
)
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.params import Job
from retgen.sources import SourceDocument

TEN = range(CONDITIONS)


class DraftText(NamedTuple):
    """A text of a draft: the sentence of a condition (from 0), or its rewrite."""

    condition: int
    rewrite: bool


class ShownTexts(NamedTuple):
    """Ten texts that the judge sees together, in the document's order.

    `asked`: conditions on which a verdict is wanted.
    """

    texts: tuple[DraftText, ...]
    asked: tuple[int, ...]


@dataclass
class Draft:
    """`spare`: sentences for whoever falls out, the best first; `out`: those never to be taken."""

    document: SourceDocument
    seed: int
    spare: list[Found] = field(default_factory=list)
    refused: list[RefusedSentence] = field(default_factory=list)
    verdicts: dict[DraftText, Evidence] = field(default_factory=dict)
    out: set[str] = field(default_factory=set)
    history: list[Turn] = field(default_factory=list)
    replaced: int = 0

    def __post_init__(self) -> None:
        self.chosen: list[Found | None] = [None] * CONDITIONS
        self.rewrites: list[str | None] = [None] * CONDITIONS
        self.tried: list[list[RefusedRewrite]] = [[] for _ in TEN]
        self.order = places(self.seed, self.document.id)
        self._broken_first = halves(self.seed, self.document.id)

    # --- sentences and conditions ---------------------------------------------------------------

    @property
    def missing(self) -> int:
        """How many conditions have no sentence."""
        return self.chosen.count(None)

    @property
    def known_sentences(self) -> list[Found]:
        """Sentences in use, and spare ones."""
        return [*filter(None, self.chosen), *self.spare]

    @property
    def sentences(self) -> list[str]:
        """The ten sentences; there have to be ten."""
        return [one.sentence for one in self.chosen if one is not None]

    @property
    def conditions(self) -> list[str]:
        """The ten conditions; there have to be ten."""
        return [one.condition for one in self.chosen if one is not None]

    def fill(self) -> None:
        """Spare sentences take the places that are free.

        The seed orders the first ten; whoever falls out later gives its place to the next spare.
        """
        free = [c for c in TEN if self.chosen[c] is None]
        fresh, self.spare = self.spare[: len(free)], self.spare[len(free) :]
        if len(free) == CONDITIONS:
            fresh.sort(key=lambda one: self.document.text.find(one.sentence))
            fresh = [fresh[i] for i in condition_order(self.seed, self.document.id)]
        for c, one in zip(free, fresh, strict=True):
            self.chosen[c] = one

    def offer(self, one: Found) -> None:
        """A sentence that a model chose becomes a spare one, or is refused with what is wrong.

        Where only its condition is wrong, it may come again with another.
        """
        taken = self.known_sentences
        sentences = [other.sentence for other in taken]
        if one.sentence in self.out:
            fault: str | None = "it was refused before"
        elif fault := check_sentence(self.document.text, one.sentence, sentences):
            self.out.add(one.sentence)
        else:
            conditions = [other.condition for other in taken]
            fault = check_condition(one.sentence, one.condition, conditions)
        if fault is None:
            self.spare.append(one)
        else:
            self._refuse_sentence(one, fault)

    def _refuse_sentence(self, one: Found, reason: str) -> None:
        self.refused.append(
            RefusedSentence(sentence=one.sentence, condition=one.condition, reason=reason)
        )
        self.history.append(Turn(f"{one.sentence} | {one.condition}", reason))

    def sentence(self, c: int) -> str:
        """The sentence of a condition, "" where there is none."""
        one = self.chosen[c]
        return one.sentence if one else ""

    def drop(self, c: int, reason: str) -> None:
        """The sentence of a condition does not do: its place is free."""
        one = self.chosen[c]
        assert one is not None
        self._refuse_sentence(one, reason)
        self.out.add(one.sentence)
        self.chosen[c] = self.rewrites[c] = None
        self.tried[c] = []
        self.verdicts = {
            text: stated for text, stated in self.verdicts.items() if text.condition != c
        }
        self.replaced += 1

    def give_up(self, rule: str, reason: str) -> RepairsFailed:
        """The error of a document that gives no ladder, with all that was refused."""
        return RepairsFailed(rule, reason, self.history)

    # --- rewrites and verdicts ------------------------------------------------------------------

    def refuse(self, c: int, reason: str) -> None:
        """The rewrite of a condition is not taken."""
        rewrite = self.rewrites[c] or ""
        self.tried[c].append(RefusedRewrite(condition=c + 1, rewrite=rewrite, reason=reason))
        self.history.append(Turn(rewrite, reason))
        self.rewrites[c] = None
        self.verdicts.pop(DraftText(c, True), None)

    def text(self, which: DraftText) -> str:
        """A sentence or a rewrite."""
        c, rewrite = which
        return (self.rewrites[c] or "") if rewrite else self.sentence(c)

    def unjudged_texts(self) -> Iterator[ShownTexts]:
        """One or two documents with all texts that have no verdict, and ten texts in all.

        Half of the texts of the first are rewrites, and the second has the other of each, so no
        judge can pass by giving one verdict to all. Where only rewrites are new there is no second.
        """
        fresh = {DraftText(c, r) for c in TEN for r in (False, True)} - self.verdicts.keys()
        rewritten = {c for c in TEN if DraftText(c, True) in fresh}
        both = {c for c in TEN if DraftText(c, False) in fresh}
        first = {c for c in TEN if c in rewritten - both or c in self._broken_first}
        if rewritten:
            yield self._shown_texts(first, fresh)
        if both:
            yield self._shown_texts(set(TEN) - first, fresh)

    def _shown_texts(self, broken: set[int], fresh: set[DraftText]) -> ShownTexts:
        texts = tuple(DraftText(c, c in broken) for c in self.order)
        return ShownTexts(texts, tuple(sorted(text.condition for text in texts if text in fresh)))

    # --- the end --------------------------------------------------------------------------------

    def ladder(self, queries: Sequence[str]) -> Ladder:
        """What has come of it."""
        return Ladder(
            self.document.id, self.document.title, self.sentences, self.conditions, queries,
            [one for one in self.rewrites if one is not None],
            [self.verdicts[DraftText(c, r)]._asdict() for c in TEN for r in (False, True)],
            [one.model_dump() for one in self.refused],
        )  # fmt: skip


class LadderQuestions:
    """What a recipe asks for."""

    def __init__(self, job: Job[MultiConIRParams]) -> None:
        self.limits = job.params.negatives
        self.domain, self.strategy = (
            job.params.the_domain(),
            job.params.rewriting(REWRITE.name in job.live),
        )
        # how many rewrites of a ladder may merely negate
        self.negations = round(self.limits.negations * CONDITIONS)

    def sentences(self, draft: Draft, count: int) -> AskConditions:
        """So many sentences more, with their conditions."""
        domain = self.domain
        return AskConditions(
            noun=domain.noun, features=domain.features, examples=domain.examples.instruction,
            count=count, document=draft.document.text,
            taken=tuple(one.sentence for one in draft.known_sentences),
            refused=tuple(draft.refused),
        )  # fmt: skip

    def rewrites(self, draft: Draft, conditions: Sequence[int]) -> AskRewrites:
        """Rewrites of the sentences of some conditions (from 0)."""
        limits, reassign = self.limits, self.strategy == "reassign"
        more = limits.length + (limits.clause if reassign else 0)
        asked = []
        for c in conditions:
            words = word_count(draft.sentences[c])
            fewest = max(1, round(words * (1 - limits.length)))
            most = max(words + 2, round(words * (1 + more)))
            asked.append(
                SentenceToRewrite(
                    condition=c + 1, sentence=draft.sentences[c], fewest=fewest, most=most
                )
            )
        return AskRewrites(
            noun=self.domain.noun, strategy=self.strategy,
            examples=tuple(
                f"Condition: {one.condition} | Sentence: {one.sentence} | Rewrite: {one.rewrite}"
                for one in self.domain.rewrites
            ),
            conditions=tuple(draft.conditions), sentences=tuple(asked),
            kept=round(100 * limits.kept),
            key_terms=limits.key_terms * (1.0 if reassign else 0.5),
            negations=max(0, self.negations - len(negating_conditions(draft))),
            refused=tuple(past for c in conditions for past in draft.tried[c]),
        )  # fmt: skip

    def verdicts(
        self, draft: Draft, shown: ShownTexts, asked: Sequence[int], refused: Sequence[str] = ()
    ) -> AskVerdicts:
        """The judge's verdicts on some conditions (from 0)."""
        return AskVerdicts(
            texts=tuple(draft.text(one) for one in shown.texts),
            conditions=tuple(draft.conditions),
            asked=tuple(c + 1 for c in asked),
            refused=tuple(refused),
        )

    def queries(
        self, draft: Draft, counts: Sequence[int], faults: Mapping[int, str] | None = None
    ) -> AskLadderQueries:
        """Queries for the first n conditions, for each n of `counts`."""
        domain, faults = self.domain, faults or {}
        return AskLadderQueries(
            noun=domain.noun, examples=domain.examples.descriptive,
            conditions=tuple(draft.conditions), counts=tuple(counts),
            refused=tuple(f"query {n}: {faults[n]}" for n in counts if n in faults),
            opening=domain.descriptive, where=domain.where,
        )  # fmt: skip


def negating_conditions(draft: Draft) -> list[int]:
    """The conditions whose rewrites merely negate."""
    return [
        c
        for c, rewrite in enumerate(draft.rewrites)
        if rewrite and negates(draft.sentences[c], rewrite)
    ]
