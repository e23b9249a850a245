"""What models do: the judge is calibrated, then documents become ladders one by one.

A document becomes ten sentences with conditions, then rewrites, verdicts and queries. Five calls
make a ladder where nothing has to be done again. What is wrong with one sentence, rewrite or query
concerns that one: it is asked for again, and a sentence for which nothing will do gives its place
to a spare one. A document is lost only where no ten of its sentences do. Whatever is asked of a
document follows from the document and earlier answers about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import xxhash

from retgen.agents.agent import RepairsFailed
from retgen.generators.multiconir.agents import (
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskRewrites,
    SentenceToRewrite,
    read_verdicts,
    rewrite_fault,
)
from retgen.generators.multiconir.calibration import calibrate
from retgen.generators.multiconir.checks import CONDITIONS, check_query, split, usable
from retgen.generators.multiconir.draft import (
    Draft,
    DraftText,
    LadderQuestions,
    ShownTexts,
    negating_conditions,
)
from retgen.generators.multiconir.facts import LadderSampler, is_drawn
from retgen.generators.multiconir.figures import WITH_A_MODEL
from retgen.generators.multiconir.ladders import DOCUMENTS, LADDERS, Evidence, Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams, documents_of
from retgen.generators.params import Job
from retgen.generators.tables import json_line
from retgen.sources import RefusedRow, SourceDocument
from retgen.write import AtomicFile

if TYPE_CHECKING:
    from retgen.agents.context import Context


SPARE = 4  # sentences that are asked for beyond those that are needed
TRIES = 3  # times that a model is asked for the same part of an answer
_IS = {"satisfied": "satisfies", "violated": "contradicts", "cannot_tell": "leaves open"}
_EXPECTED = {False: "satisfied", True: "violated"}  # of a rewrite


async def generate_ladders(job: Job[MultiConIRParams], context: Context) -> None:
    """Draw ladders; or calibrate the judge, then make them of the source's documents.

    Leaves `documents.jsonl` (the documents, as they were read or drawn), `ladders.jsonl` and, where
    a model judges, `calibration.json`.
    """
    if is_drawn(job):
        _draw(job, context)
        return
    if not context.offline(VERIFY):
        await calibrate(context)
    refused, read = _read(job.params, context.folder)
    most = min(filter(None, (read, job.params.ladders, job.limit)), default=0)
    wanted = job.params.ladders if job.limit is None else None
    agents = (EXTRACT, REWRITE, VERIFY, QUERY)
    stage = context.stage("ladders", wanted or most, *agents, candidates=read)
    for one in refused:
        where = {"where": one.where} | ({"id": one.id} if one.id else {})
        context.reject(stage, RepairsFailed(one.rule, f"{one.where}: {one.reason}", ()), where)
    work, asked = LadderWriting(job, context), set[int]()

    def admit(made: Ladder) -> str | None:
        """Queries that begin alike would be one query, with documents of two ladders."""
        both = (made.conditions[0], *made.queries)
        texts = {xxhash.xxh3_64_intdigest(one.encode()) for one in both}
        if texts & asked:
            return "another ladder has the same first condition, or the same query"
        asked.update(texts)
        return None

    with AtomicFile(context.folder / LADDERS) as file:
        async for ladder in context.accepted_records(
            stage, _documents(context.folder), work.ladder, lambda one: one.row(),
            admit, exact=wanted is not None,
        ):  # fmt: skip
            file.write(ladder.line())


def _draw(job: Job[MultiConIRParams], context: Context) -> None:
    """Write drawn ladders, and the positive of each as its document."""
    drawing = LadderSampler(job.params, job.seed)
    wanted = context.pilot_size(min(drawing.wanted, job.limit or drawing.wanted))
    stage = context.stage("ladders", wanted)
    with (
        AtomicFile(context.folder / LADDERS) as file,
        AtomicFile(context.folder / DOCUMENTS) as documents,
    ):
        for ladder in islice(drawing.ladders(), wanted):
            file.write(ladder.line())
            text = ladder.text(places(job.seed, ladder.id))
            row = {"id": ladder.id, "text": text, "title": ladder.title}
            documents.write(json_line(row))
            stage.done += 1
            context.show(stage)


def _read(params: MultiConIRParams, folder: Path) -> tuple[list[RefusedRow], int]:
    """Copy the source's documents into the run; (what is refused, how many there are)."""
    refused, count = [], 0
    with AtomicFile(folder / DOCUMENTS) as file:
        for one in documents_of(params):
            if isinstance(one, RefusedRow):
                refused.append(one)
            else:
                file.write(json_line(one.row()))
                count += 1
    return refused, count


def _documents(folder: Path) -> Iterator[SourceDocument]:
    with open(folder / DOCUMENTS, "rb") as file:
        for line in file:
            yield SourceDocument(**orjson.loads(line))


class LadderWriting:
    """The work on one document after another."""

    def __init__(self, job: Job[MultiConIRParams], context: Context) -> None:
        self.seed, self.params = job.seed, job.params
        self.requests, self.context = LadderQuestions(job), context

    async def ladder(self, document: SourceDocument) -> Ladder:
        """The ladder of a document. Raises `RepairsFailed` with the rule that it fails."""
        draft = Draft(document, self.seed)
        await self.choose(draft)
        while True:
            await self.falsify(draft)
            if await self.judge(draft) and (queries := await self.word(draft)):
                return draft.ladder(queries)

    # --- sentences ------------------------------------------------------------------------------

    async def choose(self, draft: Draft) -> None:
        """Fill the free places. Raises `RepairsFailed` where no sentence is left for them."""
        document = draft.document.text
        for _ in range(TRIES):
            if (wanted := draft.missing - len(draft.spare)) <= 0:
                break
            known = {one.sentence for one in draft.known_sentences} | draft.out
            left = len({one for one in split(document) if usable(one)} - known)
            if left < wanted:
                break
            question = self.requests.sentences(draft, min(wanted + SPARE, left))
            result = (await self.context.answer(EXTRACT, question)).found
            for one in result[: 2 * question.count]:
                draft.offer(one)
            if not result:
                break
        if draft.missing > len(draft.spare):
            have = len(draft.known_sentences)
            message = (
                f"it has {have} sentences of {CONDITIONS} that can be asked for and falsified; "
            )
            if draft.refused:
                last = draft.refused[-1]
                message += f"{len(draft.refused)} were refused, the last: {last.sentence!r}: "
                message += last.reason
            if self.context.offline(EXTRACT):
                message = f"{message.rstrip('; ')}; {WITH_A_MODEL}"
            elif not draft.refused:
                message += "in the others no fact was found that can be changed for sure"
            raise draft.give_up("extract_conditions/sentences", message)
        draft.fill()

    async def replace(self, draft: Draft, faults: dict[int, tuple[str, str]]) -> None:
        """Others take the places of sentences that do not do; condition -> (rule, reason)."""
        for c, (rule, reason) in sorted(faults.items()):
            if draft.replaced >= self.params.replacements:
                message = f"more than {self.params.replacements} sentences were refused; the last: "
                raise draft.give_up(rule, f"{message}{draft.sentence(c)!r}: {reason}")
            draft.drop(c, reason)
        await self.choose(draft)

    # --- rewrites -------------------------------------------------------------------------------

    async def falsify(self, draft: Draft) -> None:
        """A rewrite of every sentence that passes the checks."""
        while open_ := [c for c, text in enumerate(draft.rewrites) if text is None]:
            question = self.requests.rewrites(draft, open_)
            given = (await self.context.answer(REWRITE, question)).rewrites
            texts = {one.condition - 1: one.rewrite for one in reversed(given)}
            unfit: dict[int, tuple[str, str]] = {}
            for c, one in zip(open_, question.sentences, strict=True):
                draft.rewrites[c] = texts.get(c, "")
                if c not in texts:
                    draft.refuse(c, "there was none")
                elif not texts[c].strip():
                    unfit[c] = "write_hard_negatives/none", "there is no rewrite of it"
                elif fault := self.rewrite_fault(draft, question, one):
                    draft.refuse(c, fault)
            unfit |= self.hopeless(draft, "write_hard_negatives/check")
            await self.replace(draft, unfit)

    def rewrite_fault(
        self, draft: Draft, question: AskRewrites, one: SentenceToRewrite
    ) -> str | None:
        """What is wrong with a rewrite by itself, or beside the others."""
        c = one.condition - 1
        rewrite = draft.rewrites[c] or ""
        if fault := rewrite_fault(question, one, rewrite):
            return fault
        if rewrite in {*draft.sentences, *draft.rewrites[:c], *draft.rewrites[c + 1 :]}:
            return "it stands in the document already, for another condition"
        if len(bare := negating_conditions(draft)) > self.requests.negations and c in bare:
            return "it merely negates the sentence, as too many others do"
        return None

    def hopeless(self, draft: Draft, rule: str) -> dict[int, tuple[str, str]]:
        """The conditions whose rewrites were refused so often that another sentence is taken."""
        return {
            c: (rule, f"its rewrite {tried[-1].rewrite!r} was not taken: {tried[-1].reason}")
            for c, tried in enumerate(draft.tried)
            if draft.rewrites[c] is None and len(tried) >= self.params.negatives.attempts
        }

    # --- verdicts -------------------------------------------------------------------------------

    async def judge(self, draft: Draft) -> bool:
        """Whether the judge finds every condition met by its sentence and broken by its rewrite.

        Where not, what it finds wanting is gone from the draft.
        """
        faults: dict[DraftText, str] = {}
        shown = list(draft.unjudged_texts())
        results = await asyncio.gather(
            *(self.verdicts(draft, one) for one in shown), return_exceptions=True
        )
        failed = [one for one in results if isinstance(one, BaseException)]
        if failed:  # all have ended; what stops the run counts more than a document that fails
            raise min(failed, key=lambda one: isinstance(one, RepairsFailed))
        for result in results:
            assert not isinstance(result, BaseException)
            for text, fault in result.items():
                faults.setdefault(text, fault)
        for text in faults:
            draft.verdicts.pop(text, None)
        unfit = {
            text.condition: ("verify_conditions/sentence", fault)
            for text, fault in faults.items()
            if not text.rewrite
        }
        for text, fault in sorted(faults.items()):
            if text.rewrite and text.condition not in unfit:
                draft.refuse(text.condition, fault)
        unfit |= self.hopeless(draft, "write_hard_negatives/judged")
        await self.replace(draft, unfit)
        return not faults

    async def verdicts(self, draft: Draft, shown: ShownTexts) -> dict[DraftText, str]:
        """What is wrong with the texts of a document; what is right is kept in the draft."""
        asked = shown.asked
        complaints: dict[int, str] = {}
        faults: dict[DraftText, str] = {}
        for _ in range(TRIES):
            question = self.requests.verdicts(draft, shown, asked, tuple(complaints.values()))
            result, complaints = read_verdicts(
                question, await self.context.answer(VERIFY, question)
            )
            for one in result:
                text = shown.texts[one.text - 1]
                if one.condition - 1 != text.condition:
                    other = draft.conditions[one.condition - 1]
                    faults.setdefault(text, f"it {_IS[one.verdict]} the condition {other!r}")
            for c in asked:
                place = next(i for i, text in enumerate(shown.texts, 1) if text.condition == c)
                text = shown.texts[place - 1]
                stated = [one for one in result if (one.condition - 1, one.text) == (c, place)]
                verdict = stated[0].verdict if stated else "cannot_tell"
                if c + 1 in complaints:
                    continue
                if verdict == _EXPECTED[text.rewrite]:
                    of = "rewrite" if text.rewrite else "sentence"
                    draft.verdicts[text] = Evidence(c + 1, of, verdict, stated[0].quote)
                else:
                    faults[text] = f"the judge finds that it {_IS[verdict]} the condition"
            asked = tuple(c for c in asked if c + 1 in complaints)
            if not asked:
                break
        for c in asked:
            text = next(one for one in shown.texts if one.condition == c)
            faults[text] = f"the judge gave no verdict on it: {complaints[c + 1]}"
        return faults

    # --- queries --------------------------------------------------------------------------------

    async def word(self, draft: Draft) -> list[str] | None:
        """A query for each number of conditions; None where one of these has been replaced."""
        conditions = draft.conditions
        queries: dict[int, str] = {}
        faults: dict[int, tuple[str, int | None]] = {}
        for _ in range(TRIES):
            counts = [n for n in range(1, CONDITIONS + 1) if n not in queries]
            message = {n: reason for n, (reason, _) in faults.items()}
            question = self.requests.queries(draft, counts, message)
            answer = await self.context.answer(QUERY, question)
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
            raise draft.give_up("write_query/check", fault)
        await self.replace(draft, {blamed: ("write_query/check", fault)})
        return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
