"""How a ladder comes about: document -> ten sentences -> conditions -> queries -> ten rewrites.

Every sentence and every rewrite is judged once against its own condition, and the judge looks once
over all sentences, and once over all rewrites, for one that says something about another condition:
about 30 calls a ladder where judging each of its eleven documents would take 110. Only a rewrite
that is found wanting is written again. Whatever is asked of a document follows from the document
and earlier answers about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import orjson
import xxhash

from retgen.agents.agent import GivenUp, Turn
from retgen.generators.family import Asks, Job
from retgen.generators.multiconir.agents import (
    EXTRACT,
    QUERY,
    REWRITE,
    SURVEY,
    VERIFY,
    Extract,
    Pair,
    Queries,
    Survey,
    Tried,
    Write,
)
from retgen.generators.multiconir.checks import negates
from retgen.generators.multiconir.ladders import (
    DOCUMENTS,
    LADDERS,
    Ladder,
    condition_order,
    places,
)
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.planted import ask_planted, planted
from retgen.generators.multiconir.sentences import CONDITIONS, split, usable, word_count
from retgen.sources import Columns, Refused, SourceDocument, read_sources
from retgen.write import AtomicFile

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["ask_ladders", "asks", "source_of"]

T = TypeVar("T")


class _Source(NamedTuple):
    path: Path | str
    columns: Columns
    split: str
    limit: int | None
    licence: str


def source_of(params: MultiConIRParams) -> _Source:
    """Where a recipe's documents come from: its own source, or the bundled ones."""
    named = params.source
    if named is None:
        path = Path(__file__).parent / "documents" / f"{params.domain}.jsonl"
        return _Source(path, Columns(), "train", None, "CC0-1.0")
    columns = Columns(**named.columns.model_dump())
    return _Source(named.path, columns, named.split, named.limit, named.licence)


def asks(job: Job[MultiConIRParams], records: int) -> dict[str, Asks]:
    """What a plan says of the calls for so many documents."""
    n = CONDITIONS
    cases = len(planted())
    each = {
        EXTRACT.name: Asks(records, (1.0, 1.5), 3000, 350),
        QUERY.name: Asks(records, (2.0, 3.0), 3200, 600),
        REWRITE.name: Asks(records, (n, 1.6 * n), 2800, 45),
        VERIFY.name: Asks(records, (2 * n + cases / records, 2.7 * n + cases / records), 1600, 60),
        SURVEY.name: Asks(records, (2.0, 3.5), 3800, 250),
    }
    return {name: one for name, one in each.items() if name in job.live}


async def ask_ladders(job: Job[MultiConIRParams], context: Context) -> None:
    """Try the judge on planted cases, then make ladders of the source's documents.

    Leaves `documents.jsonl` (the documents, as they were read), `planted.json` and `ladders.jsonl`.
    """
    await ask_planted(context)
    refused, read = _read(job.params, context.folder)
    most = min(filter(None, (read, job.params.ladders, job.limit)), default=0)
    wanted = job.params.ladders if job.limit is None else None
    stage = context.stage("ladders", wanted or most, *(EXTRACT, QUERY, REWRITE, VERIFY, SURVEY))
    for one in refused:
        where = {"where": one.where} | ({"id": one.id} if one.id else {})
        context.reject(stage, GivenUp(one.rule, f"{one.where}: {one.reason}", ()), where)
    work, asked = _Work(job, context), set[int]()

    def admit(made: Ladder) -> str | None:
        """Queries that begin alike would be one query, with documents of two ladders."""
        both = (made.conditions[0], *made.queries)
        texts = {xxhash.xxh3_64_intdigest(one.encode()) for one in both}
        if texts & asked:
            return "another ladder has the same first condition, or the same query"
        asked.update(texts)
        return None

    with AtomicFile(context.folder / LADDERS) as file:
        async for ladder in context.accepted(
            stage, _documents(context.folder), work.ladder, lambda one: one._asdict(),
            admit, exact=wanted is not None,
        ):  # fmt: skip
            file.write(ladder.line())


def _read(params: MultiConIRParams, folder: Path) -> tuple[list[Refused], int]:
    """Copy the source's documents into the run; (what is refused, how many there are)."""
    source = source_of(params)
    refused, count = [], 0
    with AtomicFile(folder / DOCUMENTS) as file:
        for one in read_sources(
            source.path, source.columns, split=source.split, limit=source.limit
        ):
            if isinstance(one, SourceDocument):
                there = sum(map(usable, split(one.text)))
                if there < CONDITIONS:
                    told = f"it has {there} usable sentences; {CONDITIONS} are needed"
                    refused.append(Refused(one.id, "source/sentences", told, one.id))
                    continue
            if isinstance(one, Refused):
                refused.append(one)
            else:
                file.write(orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE))
                count += 1
    return refused, count


def _documents(folder: Path) -> Iterator[SourceDocument]:
    with open(folder / DOCUMENTS, "rb") as file:
        for line in file:
            yield SourceDocument(**orjson.loads(line))


class _Unfit(Exception):
    """A sentence does not do; `why`: what its document is rejected with if no other does."""

    def __init__(self, sentence: str, why: GivenUp) -> None:
        super().__init__(why.reason)
        self.sentence, self.why = sentence, why


class _Draft:
    """What stands so far of a ladder: sentences by condition, and what was written for each."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.conditions: dict[str, str] = {}
        self.rewrites: dict[str, str] = {}
        self.tried: dict[str, list[Tried]] = {}


class _Work:
    """The work on one document after another."""

    def __init__(self, job: Job[MultiConIRParams], context: Context) -> None:
        self.seed, self.params = job.seed, job.params
        self.domain, self.strategy = job.params.the_domain(), job.params.strategy()
        self.context = context
        self.examples = tuple(
            f"Condition: {one.condition} | Sentence: {one.sentence} | Rewrite: {one.rewrite}"
            for one in self.domain.rewrites
        )

    async def ladder(self, document: SourceDocument) -> Ladder:
        """The ladder of a document. Raises `GivenUp` with the rule that it fails."""
        sentences = [one for one in split(document.text) if usable(one)]
        draft, unfit = _Draft(), list[str]()
        while True:
            try:
                return await self.attempt(document, draft, unfit)
            except _Unfit as error:
                unfit.append(error.sentence)
                spare = len(sentences) - len(unfit)
                if len(unfit) > self.params.replacements or spare < CONDITIONS:
                    raise error.why from None

    async def attempt(
        self, document: SourceDocument, draft: _Draft, unfit: Sequence[str]
    ) -> Ladder:
        """One try with sentences that have not been found unfit. Raises `_Unfit`, `GivenUp`."""
        order = places(self.seed, document.id)
        await self.choose(document, draft, unfit)
        sentences = draft.sentences
        await self.word(draft)
        conditions = [draft.conditions[one] for one in sentences]
        apart = await self.survey(sentences, conditions, order)
        for (condition, sentence), verdict in apart.items():
            if condition != sentence or verdict == "violated":
                told = (
                    f"the sentence {sentences[sentence]!r} is {_SAID[verdict]} the condition "
                    f"{conditions[condition]!r}"
                )
                raise _Unfit(sentences[sentence], GivenUp("verify_document/sentences", told, ()))
        await self.falsify(draft, conditions, order)
        style = self.queries("descriptive", conditions)
        queries = (await self.context.answer(QUERY, style)).texts
        rewrites = [draft.rewrites[one] for one in sentences]
        return Ladder(document.id, document.title, sentences, conditions, queries, rewrites)

    async def choose(self, document: SourceDocument, draft: _Draft, unfit: Sequence[str]) -> None:
        """Ten sentences in the order of the conditions; one that is unfit gives its place away."""
        question = Extract(
            noun=self.domain.noun, features=self.domain.features, count=CONDITIONS,
            document=document.text, without=tuple(unfit),
        )  # fmt: skip
        listed = list((await self.context.answer(EXTRACT, question)).sentences)
        listed.sort(key=document.text.find)
        if not draft.sentences:
            draft.sentences = [listed[i] for i in condition_order(self.seed, document.id)]
            return
        kept = [one for one in draft.sentences if one not in unfit]
        fresh = iter([one for one in listed if one not in kept])
        draft.sentences = [one if one in kept else next(fresh) for one in draft.sentences]

    def queries(self, style: str, texts: Sequence[str], faults: Sequence[str] = ()) -> Queries:
        domain = self.domain
        return Queries(
            noun=domain.noun, style=style, sentences=tuple(texts), faults=tuple(faults),
            examples=getattr(domain.examples, style),
            opening=domain.descriptive, who=domain.who, where=domain.where,
            subject=domain.subject,
        )  # fmt: skip

    async def word(self, draft: _Draft) -> None:
        """A condition for each sentence that the judge finds satisfied by it.

        Those that are not are written a second time. Raises `_Unfit`.
        """
        open_ = [one for one in draft.sentences if one not in draft.conditions]
        faults: list[str] = []
        for again in (True, False):
            if not open_:
                return
            question = self.queries("instruction", open_, faults)
            texts = (await self.context.answer(QUERY, question)).texts
            verdicts = await self.verdicts(list(zip(open_, texts, strict=True)))
            made = list(zip(open_, texts, verdicts, strict=True))
            draft.conditions |= {one: text for one, text, said in made if said == "satisfied"}
            missed = [entry for entry in made if entry[2] != "satisfied"]
            faults = [f"{text!r}: {one!r} {_IS[said]} it" for one, text, said in missed]
            open_ = [one for one, *_ in missed]
            if open_ and not again:
                told = f"the judge does not find a condition met by its sentence: {faults[0]}"
                raise _Unfit(open_[0], GivenUp("verify_condition/sentence", told, ()))

    async def falsify(self, draft: _Draft, conditions: Sequence[str], order: Sequence[int]) -> None:
        """Rewrites that violate their own condition and touch no other. Raises `_Unfit`."""
        sentences, rewrites = draft.sentences, draft.rewrites
        open_ = [i for i, one in enumerate(sentences) if one not in rewrites]
        known = {i: rewrites[sentences[i]] for i in range(CONDITIONS) if i not in open_}
        while True:
            questions = [
                self.question(sentences[i], conditions[i], draft.tried.setdefault(sentences[i], []))
                for i in open_
            ]
            made = await _all(self.rewrite(question) for question in questions)
            known |= dict(zip(open_, made, strict=True))
            found = [known[i] for i in range(CONDITIONS)]
            faults = await self.faults(sentences, conditions, found, open_, order)
            rewrites |= {sentences[i]: found[i] for i in known if i not in faults}
            for i, fault in faults.items():
                tried = draft.tried.setdefault(sentences[i], [])
                tried.append(Tried(rewrite=found[i], fault=fault))
                rewrites.pop(sentences[i], None)
                if len(tried) >= self.params.negatives.attempts:
                    told = f"{sentences[i]!r}: {found[i]!r} was not taken: {fault}"
                    history = [Turn(one.rewrite, one.fault) for one in tried]
                    why = GivenUp("write_hard_negative/judged", told, history)
                    raise _Unfit(sentences[i], why)
            if not faults:
                return
            open_ = sorted(faults)

    async def rewrite(self, question: Write) -> str:
        """A rewrite. Raises `_Unfit` where none passes the checks."""
        try:
            return (await self.context.answer(REWRITE, question)).rewrite
        except GivenUp as error:
            raise _Unfit(question.sentence, error) from None

    async def faults(
        self, sentences: Sequence[str], conditions: Sequence[str], rewrites: Sequence[str],
        fresh: Sequence[int], order: Sequence[int],
    ) -> dict[int, str]:  # fmt: skip
        """What is wrong with which rewrites; of the `fresh` ones nothing is known yet."""
        verdicts = await self.verdicts([(rewrites[i], conditions[i]) for i in fresh])
        found = {
            i: f"the judge finds that it {_IS[said]} the condition"
            for i, said in zip(fresh, verdicts, strict=True)
            if said != "violated"
        }
        allowed = round(self.params.negatives.negations * CONDITIONS)
        bare = [i for i in range(CONDITIONS) if negates(sentences[i], rewrites[i])]
        for i in bare[allowed:]:
            found.setdefault(i, "it merely negates the sentence, as too many others do")
        for i in fresh:
            others = {*sentences, *(rewrites[j] for j in range(CONDITIONS) if j != i)}
            if rewrites[i] in others:
                found.setdefault(i, "it stands in the document already, for another condition")
        if found:
            return found
        for (condition, rewrite), verdict in (
            await self.survey(rewrites, conditions, order)
        ).items():
            if condition != rewrite or verdict == "satisfied":
                told = f"it {_IS[verdict]} the condition {conditions[condition]!r}"
                found.setdefault(rewrite, told)
        return found

    def question(self, sentence: str, condition: str, tried: Sequence[Tried]) -> Write:
        negatives, words = self.params.negatives, word_count(sentence)
        more = negatives.length + (negatives.clause if self.strategy == "reassign" else 0)
        share = negatives.key_terms * (1.0 if self.strategy == "reassign" else 0.5)
        return Write(
            noun=self.domain.noun, strategy=self.strategy, examples=self.examples,
            condition=condition, sentence=sentence, avoid=tuple(tried),
            fewest=max(1, round(words * (1 - negatives.length))),
            most=max(words + 2, round(words * (1 + more))),
            kept=round(100 * negatives.kept), key_terms=share,
        )  # fmt: skip

    async def verdicts(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """The judge's word on each (text, condition)."""
        asked = (self.context.answer(VERIFY, Pair(text=t, condition=c)) for t, c in pairs)
        return [one.verdict for one in await _all(asked)]

    async def survey(
        self, texts: Sequence[str], conditions: Sequence[str], order: Sequence[int]
    ) -> dict[tuple[int, int], str]:
        """(condition, whose sentence) -> verdict, of sentences in the document's order."""
        question = Survey(sentences=tuple(texts[i] for i in order), conditions=tuple(conditions))
        found = (await self.context.answer(SURVEY, question)).found
        return {(one.condition - 1, order[one.sentence - 1]): one.verdict for one in found}


_SAID = {"satisfied": "found to satisfy", "violated": "found to contradict"}
_IS = {"satisfied": "satisfies", "violated": "contradicts", "cannot_tell": "leaves open"}


async def _all(asked: Iterable[Awaitable[T]]) -> list[T]:
    """All answers; what fails is raised when all have ended, an answer that was given up last."""
    results = await asyncio.gather(*asked, return_exceptions=True)
    failed = [one for one in results if isinstance(one, BaseException)]
    if failed:
        raise min(failed, key=lambda one: isinstance(one, GivenUp | _Unfit))
    return [one for one in results if not isinstance(one, BaseException)]
