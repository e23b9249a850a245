"""What writing queries, and judging given ones, will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from retgen.errors import RecipeError, SourceRefused
from retgen.generators.capretrieval.agents import (
    ADJUDICATE,
    ANNOTATE,
    CALIBRATE,
    CHARACTERS,
    PAGE,
    WRITE_QUERIES,
)
from retgen.generators.capretrieval.judging import given_queries
from retgen.generators.capretrieval.language import has_baseline, language_name, language_of
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.two_documents import (
    CALIBRATE_TWO_DOCUMENTS,
    JUDGE_TWO_DOCUMENTS,
    WRITE_TWO_DOCUMENTS,
    calibration_sheets,
)
from retgen.generators.capretrieval.with_agents import agents_of
from retgen.generators.family import CallEstimate, Plan
from retgen.generators.params import Job
from retgen.sources import refusals

JUDGES = (ANNOTATE, ADJUDICATE, CALIBRATE)
_OF_A_MODEL = 12  # queries of a passage: not all that are asked for pass
# of rules: share of those asked for, most of a passage; and what `quality` leaves of them
_BY_RULES = 0.78, 8
_GOOD = 0.08


_WRITING, _QUERY = 1800, 30  # bytes of a prompt besides the passage; tokens of a query


_PROMPT, _PAIR, _ROW = 1_600, 12, 80  # bytes of a prompt, tokens of a grade, bytes of a qrel


_CONFLICTS = (0.01, 0.1)  # shares of pairs on which two passes differ, as they go
_SETTLED = 80  # tokens of an adjudication


def call_estimates(
    job: Job[CapRetrievalParams], passages: int, size: int
) -> dict[str, CallEstimate]:
    """Calls of each live agent. `size`: bytes of all passages."""
    counts = job.params.queries
    length = size // max(1, passages)
    result = {}
    if WRITE_QUERIES.name in job.live:
        wanted = _QUERY * (counts.keywords + counts.summaries)
        result[WRITE_QUERIES.name] = CallEstimate(passages, (1.0, 1.2), _WRITING + length, wanted)
    if counts.two_documents:
        asked = min(counts.two_documents, passages)
        both = _WRITING + 2 * length
        result |= {
            WRITE_TWO_DOCUMENTS.name: CallEstimate(asked, (1.0, 3.0), both, 120),
            JUDGE_TWO_DOCUMENTS.name: CallEstimate(asked, (3.0, 6.0), both, 40),
            CALIBRATE_TWO_DOCUMENTS.name: CallEstimate(
                len(calibration_sheets()), (1.0, 1.2), _WRITING, 40
            ),
        }
    return result


def estimated_queries(job: Job[CapRetrievalParams], passages: int) -> int:
    """About how many queries will pass at most."""
    counts = job.params.queries
    asked = counts.keywords + counts.summaries
    if WRITE_QUERIES.name in job.live:
        return passages * min(_OF_A_MODEL, asked) + min(counts.two_documents, passages)
    share, most = _BY_RULES
    out = job.params.splits.test + job.params.splits.dev
    good = out * (_GOOD if counts.quality else 1) + 1 - out
    return round(passages * min(share * asked, most) * good)


LOOKED_AT = 500  # documents, for their languages


def plan_notes(job: Job[CapRetrievalParams], texts: Sequence[str]) -> list[str]:
    """What the plan says: languages without a baseline, and what only a model writes. `texts`: of
    the first documents.
    """
    if agents_of(job.params) <= job.live:
        return []
    notes = ["hypernyms and questions are a model's work (--model); rules write the other queries"]
    languages = Counter(language_of(texts, job.params.language))
    for code in sorted(code for code in languages if not has_baseline(code)):
        notes.append(
            f"{language_name(code)} has no rules: without a model its documents get no "
            "query but their titles"
        )
    return notes


def plan_judged(job: Job[CapRetrievalParams], lengths: Sequence[int]) -> Plan:
    """The plan of a recipe with `judge`. `lengths`: bytes of the passages.

    Raises `RecipeError` where nobody can judge.
    """
    judge = job.params.judge
    assert judge is not None
    check_judge(job, "judge", bundled=judge.queries is None)
    queries, refused = given_queries(job.params)
    if not queries:
        rows = [one._asdict() for one in refused]
        message = f"params.judge.queries: there is no query that can be used. {refusals(refused)}"
        raise SourceRefused(message.rstrip(), rows)
    each = len(lengths) if judge.depth == "all" else judge.depth * len(judge.by)
    if judge.queries is None:
        each = min(each, len(lengths) // 2)  # captions of the query's language
    pairs = min(judge.pairs, len(queries) * min(each, len(lengths)))
    size = sum(lengths) // max(1, len(lengths))
    # a page is of one query, and of no more characters than bytes
    page = max(1, min(PAGE, CHARACTERS // max(1, size)))
    asked = min(len(queries), pairs)
    share, more = divmod(pairs, asked)
    pages = more * -(-(share + 1) // page) + (asked - more) * -(-share // page)
    calls = {
        ANNOTATE.name: CallEstimate(2 * pages, (1.0, 1.2), _PROMPT + page * size, page * _PAIR),
        ADJUDICATE.name: CallEstimate(pairs, _CONFLICTS, _PROMPT + size, _SETTLED),
        CALIBRATE.name: CallEstimate(24, (1.0, 1.2), _PROMPT + PAGE * 150, PAGE * _PAIR),
    }
    return Plan(
        documents=len(lengths),
        queries=len(queries),
        qrels=pairs,
        bytes=sum(lengths) + _ROW * (len(lengths) + len(queries) + pairs),
        call_estimates={name: one for name, one in calls.items() if name in job.live},
        about=True,
    )


def check_two_documents(job: Job[CapRetrievalParams]) -> None:
    """Raise `RecipeError` where questions over two documents are wanted and no model is named."""
    if missing := sorted({WRITE_TWO_DOCUMENTS.name, JUDGE_TWO_DOCUMENTS.name} - job.live):
        raise RecipeError(
            f"params.queries.two_documents: {' and '.join(missing)} are a model's work, which no "
            "rule can do: name one, as in --model openai:gpt-5-mini, or leave two_documents out"
        )


def check_judge(job: Job[CapRetrievalParams], key: str, *, bundled: bool = False) -> None:
    """Raise `RecipeError` where grades are wanted and no model is named."""
    if ANNOTATE.name not in job.live and not bundled:
        raise RecipeError(
            f"params.{key}: grading passages is a model's work, no rule can do it: name one, as "
            f"in --model openai:gpt-5-mini, or leave {key} out"
        )
