"""A ladder that models write of a document (paper, §3.2), or rules in their place.

The document's best sentences are chosen with the conditions that they state, falsified, judged, and
asked for in queries. What is refused is asked for again with the reason; a sentence that does not
do gives its place to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from retgen.agents.agent import RepairsFailed, Turn
from retgen.generators.multiconir.agents import (
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskConditions,
    AskLadderQueries,
    AskRewrites,
    AskVerdicts,
    Found,
    RefusedRewrite,
    RefusedSentence,
    SentenceToRewrite,
    read_verdicts,
    rewrite_fault,
)
from retgen.generators.multiconir.checks import (
    CONDITIONS,
    check_condition,
    check_query,
    check_sentence,
    negates,
    split,
    usable,
    word_count,
)
from retgen.generators.multiconir.figures import WITH_A_MODEL
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

if TYPE_CHECKING:
    from retgen.agents.context import Context

TEN = range(CONDITIONS)
# what a rewritten sentence has to keep (paper, Appendix G.1: no rewriting into generic text)
_LENGTH = 0.35  # how far its number of words may be from the original's, as a share
_CLAUSE = 1.5  # as much longer a reassigned sentence may be, to which a clause is added
_KEPT = 0.6  # of the original's words, in their order
_KEY_TERMS = {"reassign": 0.8, "modify": 0.4}  # of the condition's content words
_NEGATIONS = 2  # rewrites of a ladder that may only negate
_ATTEMPTS = 2  # rewrites of one sentence
_REPLACEMENTS = 6  # sentences of a document that may be replaced by others
SPARE = 4  # sentences that are asked for beyond those that are needed
_TRIES = 3  # times that a model is asked for the same part of an answer
_IS = {"satisfied": "satisfies", "violated": "contradicts", "cannot_tell": "leaves open"}
_EXPECTED = {False: "satisfied", True: "violated"}  # of a rewrite


@dataclass
class _Slot:
    """A condition and what came of its sentence. `verdicts`: by whether they are of the rewrite."""

    found: Found
    rewrite: str | None = None
    tried: list[RefusedRewrite] = field(default_factory=list)
    verdicts: dict[bool, Evidence] = field(default_factory=dict)

    def text(self, rewrite: bool) -> str:
        return (self.rewrite or "") if rewrite else self.found.sentence


class _Shown(NamedTuple):
    """Ten (condition, rewrite) that the judge sees together, in the document's order.

    `asked`: conditions on which a verdict is wanted.
    """

    texts: tuple[tuple[int, bool], ...]
    asked: tuple[int, ...]


class Draft:
    """A ladder that is being made: what stands so far, what was refused, what is asked next.

    Conditions count from 0. `spare`: sentences for whoever falls out, the best first.
    """

    def __init__(self, job: Job[MultiConIRParams], document: SourceDocument) -> None:
        self.document, self.seed = document, job.seed
        self.domain = job.params.the_domain()
        self.strategy = job.params.rewriting(REWRITE.name in job.live)
        self.spare: list[Found] = []
        self._slots: list[_Slot | None] = [None] * CONDITIONS
        self._refused: list[RefusedSentence] = []
        self._out: set[str] = set()  # sentences never to be taken
        self._history: list[Turn] = []
        self._replaced = 0
        self._order = places(job.seed, document.id)
        self._broken_first = halves(job.seed, document.id)

    async def write(self, context: Context) -> Ladder:
        """The ladder. Raises `RepairsFailed` with the rule that the document fails."""
        await self._choose(context)
        while True:
            await self._falsify(context)
            if await self._judge(context) and (queries := await self._word(context)):
                return Ladder(
                    self.document.id,
                    self.document.title,
                    self.sentences,
                    self.conditions,
                    queries,
                    [one.text(True) for one in self._filled],
                    [one.verdicts[r]._asdict() for one in self._filled for r in (False, True)],
                    [one.model_dump() for one in self._refused],
                )

    @property
    def _filled(self) -> list[_Slot]:
        return [one for one in self._slots if one is not None]

    @property
    def sentences(self) -> list[str]:
        """The sentences that are in use."""
        return [one.found.sentence for one in self._filled]

    @property
    def conditions(self) -> list[str]:
        """The conditions that these state."""
        return [one.found.condition for one in self._filled]

    def _give_up(self, rule: str, reason: str) -> RepairsFailed:
        return RepairsFailed(rule, reason, self._history)

    # --- sentences ------------------------------------------------------------------------------

    async def _choose(self, context: Context) -> None:
        """Fill the free places. Raises `RepairsFailed` where no sentence is left for them."""
        missing = self._slots.count(None)
        for _ in range(_TRIES):
            if (wanted := missing - len(self.spare)) <= 0:
                break
            known = {*self.sentences, *(one.sentence for one in self.spare), *self._out}
            left = len({one for one in split(self.document.text) if usable(one)} - known)
            if left < wanted:
                break
            question = self.ask_sentences(min(wanted + SPARE, left))
            result = (await context.answer(EXTRACT, question)).found
            for one in result[: 2 * question.count]:
                self._offer(one)
            if not result:
                break
        if missing > len(self.spare):
            have = CONDITIONS - missing + len(self.spare)
            message = (
                f"it has {have} sentences of {CONDITIONS} that can be asked for and falsified; "
            )
            if self._refused:
                last = self._refused[-1]
                message += f"{len(self._refused)} were refused, the last: {last.sentence!r}: "
                message += last.reason
            if context.offline(EXTRACT):
                message = f"{message.rstrip('; ')}; {WITH_A_MODEL}"
            elif not self._refused:
                message += "in the others no fact was found that can be changed for sure"
            raise self._give_up("extract_conditions/sentences", message)
        self.fill()

    def fill(self) -> None:
        """Spare sentences take the places that are free.

        The seed orders the first ten; whoever falls out later gives its place to the next spare.
        """
        free = [c for c in TEN if self._slots[c] is None]
        fresh, self.spare = self.spare[: len(free)], self.spare[len(free) :]
        if len(free) == CONDITIONS:
            fresh.sort(key=lambda one: self.document.text.find(one.sentence))
            fresh = [fresh[i] for i in condition_order(self.seed, self.document.id)]
        for c, one in zip(free, fresh, strict=True):
            self._slots[c] = _Slot(one)

    def _offer(self, one: Found) -> None:
        """A sentence that a model chose becomes a spare one, or is refused with what is wrong.

        Where only its condition is wrong, it may come again with another.
        """
        taken = [*(place.found for place in self._filled), *self.spare]
        sentences = [other.sentence for other in taken]
        if one.sentence in self._out:
            fault: str | None = "it was refused before"
        elif fault := check_sentence(self.document.text, one.sentence, sentences):
            self._out.add(one.sentence)
        else:
            conditions = [other.condition for other in taken]
            fault = check_condition(one.sentence, one.condition, conditions)
        if fault is None:
            self.spare.append(one)
        else:
            self._refuse_sentence(one, fault)

    def _refuse_sentence(self, one: Found, reason: str) -> None:
        self._refused.append(RefusedSentence(**one.model_dump(), reason=reason))
        self._history.append(Turn(f"{one.sentence} | {one.condition}", reason))

    async def _replace(self, context: Context, faults: Mapping[int, tuple[str, str]]) -> None:
        """Others take the places of sentences that do not do; condition -> (rule, reason)."""
        for c, (rule, reason) in sorted(faults.items()):
            found = self._at(c).found
            if self._replaced >= _REPLACEMENTS:
                message = f"more than {_REPLACEMENTS} sentences were refused; the last: "
                raise self._give_up(rule, f"{message}{found.sentence!r}: {reason}")
            self._refuse_sentence(found, reason)
            self._out.add(found.sentence)
            self._slots[c] = None
            self._replaced += 1
        await self._choose(context)

    def _at(self, c: int) -> _Slot:
        result = self._slots[c]
        assert result is not None
        return result

    def ask_sentences(self, count: int) -> AskConditions:
        """So many sentences more, with their conditions."""
        domain = self.domain
        return AskConditions(
            noun=domain.noun,
            features=domain.features,
            examples=domain.examples.instruction,
            count=count,
            document=self.document.text,
            taken=(*self.sentences, *(one.sentence for one in self.spare)),
            refused=tuple(self._refused),
        )

    # --- rewrites -------------------------------------------------------------------------------

    async def _falsify(self, context: Context) -> None:
        """A rewrite of every sentence that passes the checks."""
        while wanted := [c for c in TEN if self._at(c).rewrite is None]:
            question = self.ask_rewrites(wanted)
            given = (await context.answer(REWRITE, question)).rewrites
            texts = {one.condition - 1: one.rewrite for one in reversed(given)}
            unfit: dict[int, tuple[str, str]] = {}
            for c, one in zip(wanted, question.sentences, strict=True):
                self._at(c).rewrite = texts.get(c, "")
                if c not in texts:
                    self._refuse(c, "there was none")
                elif not texts[c].strip():
                    unfit[c] = "write_hard_negatives/none", "there is no rewrite of it"
                elif fault := self._rewrite_fault(question, one):
                    self._refuse(c, fault)
            await self._replace(context, unfit | self._hopeless("write_hard_negatives/check"))

    def _rewrite_fault(self, question: AskRewrites, one: SentenceToRewrite) -> str | None:
        """What is wrong with a rewrite by itself, or beside the others."""
        c = one.condition - 1
        rewrite = self._at(c).text(True)
        if fault := rewrite_fault(question, one, rewrite):
            return fault
        others = {place.rewrite for i, place in enumerate(self._filled) if i != c}
        if rewrite in {*self.sentences, *others}:
            return "it stands in the document already, for another condition"
        if len(bare := self._negating()) > _NEGATIONS and c in bare:
            return "it merely negates the sentence, as too many others do"
        return None

    def _refuse(self, c: int, reason: str) -> None:
        """The rewrite of a condition is not taken."""
        place = self._at(c)
        rewrite = place.text(True)
        place.tried.append(RefusedRewrite(condition=c + 1, rewrite=rewrite, reason=reason))
        self._history.append(Turn(rewrite, reason))
        place.rewrite = None
        place.verdicts.pop(True, None)

    def _hopeless(self, rule: str) -> dict[int, tuple[str, str]]:
        """The conditions whose rewrites were refused so often that another sentence is taken."""
        return {
            c: (
                rule,
                f"its rewrite {one.tried[-1].rewrite!r} was not taken: {one.tried[-1].reason}",
            )
            for c, one in enumerate(self._filled)
            if one.rewrite is None and len(one.tried) >= _ATTEMPTS
        }

    def _negating(self) -> list[int]:
        """The conditions whose rewrites merely negate."""
        pairs = [(one.found.sentence, one.rewrite) for one in self._filled]
        return [c for c, (old, new) in enumerate(pairs) if new and negates(old, new)]

    def ask_rewrites(self, conditions: Iterable[int]) -> AskRewrites:
        """Rewrites of the sentences of some conditions."""
        more = _LENGTH + (_CLAUSE if self.strategy == "reassign" else 0)
        asked, refused = list[SentenceToRewrite](), list[RefusedRewrite]()
        for c in conditions:
            place = self._at(c)
            words = word_count(place.found.sentence)
            fewest = max(1, round(words * (1 - _LENGTH)))
            most = max(words + 2, round(words * (1 + more)))
            asked.append(
                SentenceToRewrite(
                    condition=c + 1, sentence=place.found.sentence, fewest=fewest, most=most
                )
            )
            refused += place.tried
        return AskRewrites(
            noun=self.domain.noun,
            strategy=self.strategy,
            examples=tuple(
                f"Condition: {one.condition} | Sentence: {one.sentence} | Rewrite: {one.rewrite}"
                for one in self.domain.rewrites
            ),
            conditions=tuple(self.conditions),
            sentences=tuple(asked),
            kept=round(100 * _KEPT),
            key_terms=_KEY_TERMS[self.strategy],
            negations=max(0, _NEGATIONS - len(self._negating())),
            refused=tuple(refused),
        )

    # --- verdicts -------------------------------------------------------------------------------

    async def _judge(self, context: Context) -> bool:
        """Whether the judge finds every condition met by its sentence and broken by its rewrite.

        Where not, what it finds wanting is gone.
        """
        results = await asyncio.gather(
            *(self._verdicts(context, one) for one in list(self.unjudged())), return_exceptions=True
        )
        failed = [one for one in results if isinstance(one, BaseException)]
        if failed:  # all have ended; what stops the run counts more than a document that fails
            raise min(failed, key=lambda one: isinstance(one, RepairsFailed))
        faults: dict[tuple[int, bool], str] = {}
        for result in results:
            assert not isinstance(result, BaseException)
            faults = result | faults
        for c, rewrite in faults:
            self._at(c).verdicts.pop(rewrite, None)
        unfit = {
            c: ("verify_conditions/sentence", fault)
            for (c, rewrite), fault in faults.items()
            if not rewrite
        }
        for (c, rewrite), fault in sorted(faults.items()):
            if rewrite and c not in unfit:
                self._refuse(c, fault)
        await self._replace(context, unfit | self._hopeless("write_hard_negatives/judged"))
        return not faults

    def unjudged(self) -> Iterator[_Shown]:
        """One or two documents with all texts that have no verdict, and ten texts in all.

        Half of the texts of the first are rewrites, and the second has the other of each, so no
        judge can pass by giving one verdict to all. Where only rewrites are new there is no second.
        """
        fresh = {(c, r) for c in TEN for r in (False, True) if r not in self._at(c).verdicts}
        rewritten, both = ({c for c, r in fresh if r is wanted} for wanted in (True, False))
        first = (rewritten - both) | self._broken_first
        for broken in ([first] if rewritten else []) + ([{*TEN} - first] if both else []):
            texts = tuple((c, c in broken) for c in self._order)
            yield _Shown(texts, tuple(sorted(c for c, r in texts if (c, r) in fresh)))

    async def _verdicts(self, context: Context, shown: _Shown) -> dict[tuple[int, bool], str]:
        """What is wrong with the texts of a document; what is right is kept."""
        asked = shown.asked
        complaints: dict[int, str] = {}
        faults: dict[tuple[int, bool], str] = {}
        for _ in range(_TRIES):
            question = self.ask_verdicts(shown, asked, tuple(complaints.values()))
            result, complaints = read_verdicts(question, await context.answer(VERIFY, question))
            for one in result:
                text = shown.texts[one.text - 1]
                if one.condition - 1 != text[0]:
                    other = self.conditions[one.condition - 1]
                    faults.setdefault(text, f"it {_IS[one.verdict]} the condition {other!r}")
            for c in asked:
                at = next(i for i, text in enumerate(shown.texts, 1) if text[0] == c)
                rewrite = shown.texts[at - 1][1]
                stated = [one for one in result if (one.condition - 1, one.text) == (c, at)]
                verdict = stated[0].verdict if stated else "cannot_tell"
                if c + 1 in complaints:
                    continue
                if verdict == _EXPECTED[rewrite]:
                    of = "rewrite" if rewrite else "sentence"
                    evidence = Evidence(c + 1, of, verdict, stated[0].quote)
                    self._at(c).verdicts[rewrite] = evidence
                else:
                    faults[c, rewrite] = f"the judge finds that it {_IS[verdict]} the condition"
            asked = tuple(c for c in asked if c + 1 in complaints)
            if not asked:
                break
        for text in shown.texts:
            if text[0] in asked:
                faults[text] = f"the judge gave no verdict on it: {complaints[text[0] + 1]}"
        return faults

    def ask_verdicts(
        self, shown: _Shown, asked: Iterable[int], refused: Sequence[str] = ()
    ) -> AskVerdicts:
        """The judge's verdicts on some conditions."""
        return AskVerdicts(
            texts=tuple(self._at(c).text(rewrite) for c, rewrite in shown.texts),
            conditions=tuple(self.conditions),
            asked=tuple(c + 1 for c in asked),
            refused=tuple(refused),
        )

    # --- queries --------------------------------------------------------------------------------

    async def _word(self, context: Context) -> list[str] | None:
        """A query for each number of conditions; None where one of these has been replaced."""
        conditions = self.conditions
        queries: dict[int, str] = {}
        faults: dict[int, tuple[str, int | None]] = {}
        for _ in range(_TRIES):
            counts = [n for n in range(1, CONDITIONS + 1) if n not in queries]
            question = self.ask_queries(counts, {n: reason for n, (reason, _) in faults.items()})
            answer = await context.answer(QUERY, question)
            given = {one.number: one.text for one in reversed(answer.queries)}
            known = {_plain(text) for text in queries.values()}
            for n in counts:
                text = given.get(n, "")
                wrong = check_query(conditions, n, text) if n in given else ("there was none", None)
                if wrong is None and _plain(text) in known:
                    wrong = "it is the same as another", None
                if wrong is None:
                    queries[n] = text
                    known.add(_plain(text))
                else:
                    faults[n] = wrong
            if len(queries) == CONDITIONS:
                return [queries[n] for n in range(1, CONDITIONS + 1)]
        number = min(n for n in range(1, CONDITIONS + 1) if n not in queries)
        reason, blamed = faults[number]
        fault = f"query {number}: {reason}"
        if blamed is None:
            raise self._give_up("write_query/check", fault)
        await self._replace(context, {blamed: ("write_query/check", fault)})
        return None

    def ask_queries(
        self, counts: Sequence[int], faults: Mapping[int, str] | None = None
    ) -> AskLadderQueries:
        """Queries for the first n conditions, for each n of `counts`."""
        domain, faults = self.domain, faults or {}
        return AskLadderQueries(
            noun=domain.noun,
            examples=domain.examples.descriptive,
            conditions=tuple(self.conditions),
            counts=tuple(counts),
            refused=tuple(f"query {n}: {faults[n]}" for n in counts if n in faults),
            opening=domain.descriptive,
            where=domain.where,
        )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
