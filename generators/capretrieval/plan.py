"""What writing queries, or taking given ones, will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from retgen.errors import RecipeError
from retgen.generators.capretrieval.agents import WRITE_QUERIES
from retgen.generators.capretrieval.asked import foreign_scripts, given_queries, known_answers
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

_OF_A_MODEL = 12  # queries of a passage: not all that are asked for pass
# of rules: share of those asked for, most of a passage; and what `quality` leaves of them
_BY_RULES = 0.78, 8
_GOOD = 0.08


_WRITING, _QUERY = 1800, 30  # bytes of a prompt besides the passage; tokens of a query

_ROW = 80  # bytes of a qrel


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


def plan_asked(
    job: Job[CapRetrievalParams], lengths: Sequence[int], ids: Sequence[str], texts: Sequence[str]
) -> Plan:
    """The plan of a recipe with `asked`. `lengths`: bytes of the passages; `ids`: of the documents;
    `texts`: of the first of them.
    """
    assert job.params.asked is not None
    queries, refused = given_queries(job.params.asked)
    labels = len(known_answers(queries, ids))
    notes = []
    if job.params.asked.queries is None:
        labels = len(queries) * len(lengths) // 2  # captions of the query's language
    else:
        notes = ["people judge which documents answer: `gen review` after the run"]
        notes += [foreign_scripts(queries, texts)]
        notes += [f"questions left out: {refusals(refused)}"] if refused else []
    size = sum(lengths) + _ROW * (len(lengths) + len(queries) + labels)
    return Plan(len(lengths), len(queries), labels, size, notes=(*filter(None, notes),))


def check_two_documents(job: Job[CapRetrievalParams]) -> None:
    """Raise `RecipeError` where questions over two documents are wanted and no model is named."""
    if missing := sorted({WRITE_TWO_DOCUMENTS.name, JUDGE_TWO_DOCUMENTS.name} - job.live):
        raise RecipeError(
            f"params.queries.two_documents: {' and '.join(missing)} are a model's work, which no "
            "rule can do: name one, as in --model openai:gpt-5-mini, or leave two_documents out"
        )
