"""Given queries, judged: which passages are relevant to what people ask, graded 0, 1 or 2.

Nothing is written and nothing is split. The judge reads every pair of a query and a candidate
twice, conflicts are settled (paper, Appendix B.3, with a model for its annotators), and the judge
is calibrated. Leaves in the run's sources/ `documents.jsonl` and `passages.jsonl` as `with_agents`
does, an empty
`queries.jsonl` (none is written), `given.jsonl` (the queries of which a pair was judged),
`judgements.jsonl` (a pair a row, with every grade that it got; one that differs and was not settled
has no relevance) and `judged.json` (agreement, calibration).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retgen.agents.agent import RepairsFailed
from retgen.agents.judge import CalibrationCase, CalibrationSheet, calibrate
from retgen.agents.report import Rejection
from retgen.errors import ChecksFailed, SourceRefused
from retgen.generators.capretrieval.agents import (
    ADJUDICATE,
    ANNOTATE,
    CALIBRATE,
    AskConflict,
    AskRelevance,
    Grades,
    split_pages,
)
from retgen.generators.capretrieval.asked import (
    GivenQuery,
    given_queries,
    known_answers,
    known_rows,
)
from retgen.generators.capretrieval.language import language_of
from retgen.generators.capretrieval.params import CapRetrievalParams, Judge
from retgen.generators.capretrieval.passages import (
    Passage,
    bundled_labels,
    bundled_queries,
    cut_passages,
)
from retgen.generators.capretrieval.reading import (
    PASSAGES,
    QUERIES,
    passage_row,
    read_documents,
    reject_rows,
    text_of,
    wholes_of,
)
from retgen.generators.params import Job
from retgen.on_disk import MappedList
from retgen.sources import refusals
from retgen.statistics.agreement import UndefinedAgreement, ac1, positive
from retgen.streams import Stream
from retgen.work import Engine
from retgen.write import dump_json, write_file, write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context
    from retgen.agents.report import Stage


GIVEN, JUDGEMENTS, JUDGED = "given.jsonl", "judgements.jsonl", "judged.json"
PEOPLE = "people"  # in place of a model that judges


_CALIBRATED, _SHOWN = 24, 10  # bundled queries, and captions shown with each


_PATTERNS = np.array([[2.0, 0], [1, 1], [0, 2]])  # verdicts (not relevant, relevant) on a pair
_RELEVANT = np.array([False, True])


# --- queries and candidates -----------------------------------------------------------------------


class JudgePage(NamedTuple):
    """What is judged in one call. `query` and `passages` are numbers; `turn`: the pass, from 1."""

    query: int
    turn: int
    passages: tuple[int, ...]


def candidates(
    queries: Sequence[GivenQuery],
    passages: Sequence[Passage],
    judge: Judge,
    seed: int,
    engine: Engine | None = None,
) -> list[list[int]]:
    """Numbers of the passages that are judged for each query, those ranked high first.

    The rankings of `judge.by` take turns. Where every passage is a candidate, those that no ranking
    has come behind, in drawn order. Of more than `judge.pairs` pairs the lowest-ranked are left
    out, so that every query has as many as any other, as far as there are so many.
    """
    from retgen.search.mining import mine

    texts = [f"{one.title} {one.text}".strip() for one in passages]
    depth = len(passages) if judge.depth == "all" else min(judge.depth, len(passages))
    asked = [one.text for one in queries]
    rankings = [
        mine(
            texts,
            asked,
            [()] * len(asked),
            by=by,
            count=depth,
            depth=depth,
            margin=None,
            engine=engine,
        )
        for by in judge.by
    ]
    result = []
    for query, ranked in enumerate(zip(*rankings, strict=True)):
        taken = chain.from_iterable(zip_longest(*ranked))
        pool = [i for i in dict.fromkeys(taken) if i is not None]
        if judge.depth == "all":
            drawn = Stream(seed, f"capretrieval/candidates/{query}").permutation(len(passages))
            pool = list(dict.fromkeys([*pool, *drawn.tolist()]))
        if language := queries[query].language:  # bundled labels are known within one
            pool = [i for i in pool if passages[i].language == language]
        result.append(pool)
    return trim_pools(result, judge.pairs)


def trim_pools(pools: list[list[int]], most: int) -> list[list[int]]:
    """The pools without their ends, so that there are `most` pairs in all."""
    level, left = 0, most
    longer = len(pools)
    for size in sorted({len(pool) for pool in pools}):  # all that are longer grow to this
        step = min(size - level, left // longer)
        level, left = level + step, left - step * longer
        if level < size:
            break
        longer -= sum(len(pool) == size for pool in pools)
    result = []
    for pool in pools:
        more = len(pool) > level and left > 0
        left -= more
        result.append(pool[: level + more])
    return result


def judge_pages(
    queries: Sequence[GivenQuery],
    passages: Sequence[Passage],
    pools: Sequence[Sequence[int]],
    turns: int,
    seed: int,
) -> list[JudgePage]:
    """What is asked: the passages of a query by tens, in the second pass in another order."""
    result = []
    for query, pool in enumerate(pools):
        for turn in range(1, turns + 1):
            order = list(pool)
            if turn > 1:
                drawn = Stream(seed, f"capretrieval/second/{query}").permutation(len(order))
                order = [pool[i] for i in drawn.tolist()]
            result += [
                JudgePage(query, turn, part)
                for part in split_pages(order, lambda i: passages[i].text)
            ]
    return result


def passage_text(passage: Passage) -> str:
    """A passage as the judge sees it."""
    return f"{passage.title}\n{passage.text}".strip()


# --- judging --------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    query: int
    passage: int


class _Readings(NamedTuple):
    """Rows of sources/judgements.jsonl, and how many candidates each query had, by its id."""

    rows: Sequence[dict[str, Any]] = ()
    candidates: Mapping[str, int] = {}


def judged_by_people(job: Job[CapRetrievalParams]) -> bool:
    """Whether no model judges the user's queries: people do, in `gen review`."""
    judge = job.params.judge
    return judge is not None and judge.queries is not None and ANNOTATE.name not in job.live


async def judge_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read, cut, have pairs judged by a model or leave them to people; see the module."""
    params = job.params
    assert params.judge is not None
    documents, refused, _ = read_documents(
        job, context.folder, (), context.engine, context.progress
    )
    languages = language_of(MappedList(text_of, documents), params.language)
    passages = list(cut_passages(wholes_of(documents, languages), params.passages))
    queries, none = given_queries(params.judge)
    if not queries or not passages:
        what = "judge.queries" if passages else "source"
        row = "query" if passages else "document"
        message = f"params.{what}: there is no {row} that can be used. {refusals(none or refused)}"
        raise SourceRefused(message.rstrip(), [one._asdict() for one in none or refused])
    named = known_answers(queries, [one.source for one in passages])
    reject_rows([*refused, *none], context)
    by_people = judged_by_people(job)
    readings = _Readings() if by_people else await _read_pairs(job, queries, passages, context)
    rows = known_rows(named, queries, passages)
    known = {(row["query"], row["passage"]) for row in rows}
    rows += [row for row in readings.rows if (row["query"], row["passage"]) not in known]
    judged = [row for row in rows if row["relevance"] is not None]
    if context.pilot is None and not by_people and not any(row["relevance"] for row in judged):
        raise ChecksFailed(
            f"of {len(judged):,} judged pairs none is relevant, so nothing could be scored; are "
            "the queries (params.judge.queries) about these documents?"
        )
    write_rows(context.folder / PASSAGES, (passage_row(one, "test") for one in passages))
    write_rows(context.folder / QUERIES, ())
    looked_at = {one.id for one in queries if by_people} | {row["query"] for row in judged}
    if context.pilot is None:
        context.report.rejected.extend(
            _unjudged(one, readings.candidates[one.id])
            for one in queries
            if one.id not in looked_at
        )
    asked = [one.text for one in queries]
    write_rows(
        context.folder / GIVEN,
        (
            one.row(language)
            for one, language in zip(queries, language_of(asked, params.language), strict=True)
            if one.id in looked_at
        ),
    )
    write_rows(context.folder / JUDGEMENTS, rows)
    calibration = None
    if not by_people and not context.offline(ANNOTATE):
        calibration = await calibrate(context, CALIBRATE, calibration_sheets(languages))
    twice = [(row["first"], row["second"]) for row in rows if row["second"] is not None]
    result = {
        "model": PEOPLE if by_people else context.model(ANNOTATE),
        "candidates": sum(readings.candidates.values()),
        "judged": len(judged),
        "relevant": sum(row["relevance"] > 0 for row in judged),
        "conflicts": sum(row["adjudicated"] is not None for row in rows),
        "complete": len(judged) == len(queries) * len(passages),
        "agreement": None if by_people or context.offline(ANNOTATE) else pass_agreement(twice),
        "calibration": calibration and calibration._asdict(),
    }
    write_file(context.folder / JUDGED, dump_json(result))


async def _read_pairs(
    job: Job[CapRetrievalParams],
    queries: Sequence[GivenQuery],
    passages: Sequence[Passage],
    context: Context,
) -> _Readings:
    """Pool, ask twice, settle."""
    assert job.params.judge is not None
    pools = candidates(queries, passages, job.params.judge, job.seed, context.engine)
    turns = 1 if context.offline(ANNOTATE) else 2  # the bundled labels say the same twice
    pages = judge_pages(queries, passages, pools, turns, job.seed)
    stage = context.stage("pages", len(pages), ANNOTATE, candidates=len(pages))
    graded = await _graded(pages, queries, passages, stage, context)
    settled = await _settled(graded, queries, passages, context)
    rows: list[dict[str, Any]] = []
    for query, pool in enumerate(pools):
        for number in sorted(pool):
            pair = _Pair(query, number)
            readings = graded.get(pair, [])
            if len(readings) < turns:
                continue  # not judged, and neither is a conflict that nobody settled
            rows.append(
                {
                    "query": queries[query].id,
                    "passage": passages[number].id,
                    "first": readings[0],
                    "second": readings[1] if turns > 1 else None,
                    "adjudicated": settled.get(pair),
                    "relevance": settled.get(pair, readings[0]),
                }
            )
    counts = {one.id: len(pool) for one, pool in zip(queries, pools, strict=True)}
    return _Readings(rows, counts)


def _unjudged(query: GivenQuery, candidates: int) -> Rejection:
    """Of a query without a judged pair nothing is known, not that it finds nothing."""
    why = (
        f"none of its {candidates:,} candidates got a grade that could be used"
        if candidates
        else "it has no candidate (params.judge: another ranking in by, or more pairs)"
    )
    return Rejection("judge/unjudged", f"{query.id}: {why}", {"id": query.id, "text": query.text})


async def _graded(
    pages: Sequence[JudgePage],
    queries: Sequence[GivenQuery],
    passages: Sequence[Passage],
    stage: Stage,
    context: Context,
) -> dict[_Pair, list[int]]:
    """The grades of each pair, in the order of the passes; of a page that failed there are none."""

    async def work(page: JudgePage) -> tuple[JudgePage, list[int]]:
        texts = tuple(passage_text(passages[i]) for i in page.passages)
        asked = AskRelevance(query=queries[page.query].text, passages=texts, turn=page.turn)
        return page, (await context.answer(ANNOTATE, asked)).in_order()

    def record(page: JudgePage) -> dict[str, Any]:
        ids = [passages[i].id for i in page.passages]
        return {"id": queries[page.query].id, "turn": page.turn, "passages": ids}

    result: dict[_Pair, list[int]] = {}
    async for page, grades in context.accepted_records(stage, pages, work, record, exact=False):
        for number, grade in zip(page.passages, grades, strict=True):
            result.setdefault(_Pair(page.query, number), []).append(grade)
    return result


async def _settled(
    graded: dict[_Pair, list[int]],
    queries: Sequence[GivenQuery],
    passages: Sequence[Passage],
    context: Context,
) -> dict[_Pair, int | None]:
    """The final grade of every pair that got two; None where there is none."""
    conflicts = sorted(pair for pair, readings in graded.items() if len(set(readings)) > 1)
    if not conflicts:
        return {}
    stage = context.stage("conflicts", len(conflicts), ADJUDICATE, candidates=len(conflicts))

    async def work(pair: _Pair) -> int | None:
        first, second = graded[pair]
        passage = passages[pair.passage]
        asked = AskConflict(
            query=queries[pair.query].text, passage=passage_text(passage), readings=(first, second)
        )
        try:
            grade = (await context.answer(ADJUDICATE, asked)).relevance
        except RepairsFailed as error:
            context.reject(stage, error, {"id": queries[pair.query].id, "passage": passage.id})
            return None
        stage.done += 1
        return grade

    asked = conflicts[: context.pilot_size(len(conflicts))]
    grades = await context.gather(stage, map(work, asked))
    context.show(stage)
    return {**dict.fromkeys(conflicts), **dict(zip(asked, grades, strict=True))}


# --- how good the judge is ------------------------------------------------------------------------


def calibration_sheets(languages: Sequence[str]) -> list[CalibrationSheet[AskRelevance, Grades]]:
    """Bundled queries with captions whose grades are known, in the language of most documents.

    The judge reads them once, as in the first pass.
    """
    language = "zh" if languages.count("zh") * 2 > len(languages) else "en"
    types = {row["text"]: row["type"] for row in bundled_queries() if row["language"] == language}
    labels = {query: known for query, known in bundled_labels().items() if query in types}
    sheets = list[CalibrationSheet[AskRelevance, Grades]]()
    for query in list(labels)[:: max(1, len(labels) // _CALIBRATED)][:_CALIBRATED]:
        stream = Stream(0, f"capretrieval/calibration/{query}")  # not the recipe's seed
        texts = list(labels[query])
        texts = [texts[i] for i in stream.permutation(len(texts)).tolist()]
        # half of what is shown is relevant, where so much is: a hundred zeros measure nothing
        relevant = [text for text in texts if labels[query][text]][: _SHOWN // 2]
        others = [text for text in texts if not labels[query][text]]
        page = sorted([*relevant, *others[: _SHOWN - len(relevant)]], key=texts.index)
        question = AskRelevance(query=query, passages=tuple(page), turn=1)
        cases = [CalibrationCase(str(labels[query][text]), types[query]) for text in page]
        sheets.append(CalibrationSheet(question, cases, _verdicts))
    return sheets


def _verdicts(answer: Grades) -> list[str]:
    return [str(grade) for grade in answer.in_order()]


def pass_agreement(pairs: Iterable[tuple[int, int]], grades: int = 3) -> dict[str, Any]:
    """How far two passes agree: raw, positive agreement, Gwet's AC1; shares are None of nothing.

    Of pairs of grades 0..grades-1; what is above 0 is relevant. Hardly any pair is (0.4% in the
    paper's data). Two judges who call nothing relevant agree on all but those, so raw agreement
    says little, and so does Cohen's kappa.

    "counts": rows are the first's grades, columns the second's. "raw": share of equal grades.
    "positive": 2 a / (2 a + b + c), a pairs relevant to both, b and c to one. "ac1": of relevant
    or not.
    """
    counts = [[0] * grades for _ in range(grades)]
    for first, second in pairs:
        counts[first][second] += 1
    total = sum(map(sum, counts))
    neither = counts[0][0]
    only_second = sum(counts[0]) - neither
    only_first = sum(row[0] for row in counts) - neither
    both = total - neither - only_first - only_second
    equal = sum(counts[i][i] for i in range(grades))
    times = np.array([neither, only_first + only_second, both], float)
    return {
        "pairs": total,
        "counts": counts,
        "raw": round(equal / total, 4) if total else None,
        "positive": _measure(lambda: positive(_PATTERNS, _RELEVANT, times)),
        "ac1": _measure(lambda: ac1(_PATTERNS, times)),
    }


def _measure(measure: Callable[[], float]) -> float | None:
    try:
        return round(measure(), 4)
    except UndefinedAgreement:
        return None


def agreement_text(result: dict[str, Any]) -> str:
    """The measurement in a few words."""
    if not result["pairs"]:
        return "no pair was judged twice"
    positive = (
        "undefined, as no pair is relevant"
        if result["positive"] is None
        else (f"{result['positive']:.3f}")
    )
    return (
        f"two passes gave {result['raw']:.1%} of {result['pairs']:,} pairs the same grade "
        f"(positive agreement {positive}, AC1 {result['ac1']:.3f})"
    )
