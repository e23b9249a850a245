"""What the agents will be asked, for plans: prompts and answers as long as those of the documents.

Stand-ins are rendered for the first documents of the source: their own sentences, conditions as
long, rewrites as long as their sentences. How often something has to be asked again was measured
with rules that answered through a model's protocol; models err less, or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from retgen.agents.agent import Agent
from retgen.generators.agents import call_size, estimate_calls
from retgen.generators.family import CallEstimate
from retgen.generators.multiconir.agents import (
    CALIBRATE,
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskVerdicts,
    Extracted,
    Found,
    Judged,
    Rewrite,
    Rewrites,
    Verdicts,
)
from retgen.generators.multiconir.calibration import sheets
from retgen.generators.multiconir.checks import CONDITIONS, split, usable
from retgen.generators.multiconir.draft import Draft, LadderQuestions
from retgen.generators.multiconir.params import MultiConIRParams, documents_of, on_the_hub
from retgen.generators.multiconir.with_agents import SPARE
from retgen.generators.params import Job
from retgen.sources import SourceDocument

_SAMPLE = 20  # documents
_AGAIN = 0.12  # of ten rewrites that are asked for again together
_LONGER = {"modify": 1.0, "reassign": 1.8}  # a rewrite, by its sentence


def call_estimates(job: Job[MultiConIRParams], records: int) -> dict[str, CallEstimate]:
    """What a plan says of the calls for so many documents, by live agent."""
    if not job.live:
        return {}
    strategy = job.params.rewriting(REWRITE.name in job.live)
    # calls of a ladder, from few to many
    calls: dict[Agent[Any, Any], tuple[float, float]] = {
        EXTRACT: (1.0, 1.1),
        REWRITE: {"modify": (1.2, 1.7), "reassign": (3.2, 4.4)}[strategy],
        VERIFY: {"modify": (2.2, 2.9), "reassign": (5.2, 6.8)}[strategy],
        QUERY: (1.0, 1.05),
    }
    sizes = [_sizes(job, one) for one in islice(_documents(job.params), _SAMPLE)]
    estimates = {}
    for agent, between in calls.items():
        prompt, answer = (sum(part) / max(1, len(sizes)) for part in zip(
            *(one[agent.name] for one in sizes), strict=True
        ))  # fmt: skip
        if agent is REWRITE:
            again = sum(between) / 2 - 1
            answer *= (1 + _AGAIN * again) / (1 + again)
        estimates[agent.name] = CallEstimate(records, between, round(prompt), round(answer))
    every = [call_size(CALIBRATE, one.question, _verdicts(one.question)) for one in sheets()]
    estimates[CALIBRATE.name] = estimate_calls(len(every), (1.0, 1.0), every)
    return {name: one for name, one in estimates.items() if name in job.live}


def _documents(params: MultiConIRParams) -> Iterator[SourceDocument]:
    """Documents to go by; of a data set of the Hub nothing is known, so bundled ones stand in."""
    if on_the_hub(params):
        params = params.model_copy(update={"source": None, "domain": "people"})
    return (one for one in documents_of(params) if isinstance(one, SourceDocument))


def _sizes(job: Job[MultiConIRParams], document: SourceDocument) -> dict[str, tuple[float, float]]:
    """The sizes of each agent's first question on a document."""
    requests, draft = LadderQuestions(job), Draft(document, job.seed)
    texts = list(dict.fromkeys(one for one in split(document.text) if usable(one)))
    result = [Found(sentence=one, condition=one.rstrip(".")) for one in texts]
    count = min(CONDITIONS + SPARE, len(result))
    extract = requests.sentences(draft, count)
    draft.spare = result[:count]
    draft.fill()
    longer = _LONGER[requests.strategy]
    rewrites = [
        Rewrite(condition=c, rewrite=f"{one:{round(longer * len(one))}}")
        for c, one in enumerate(draft.sentences, 1)
    ]
    shown = next(draft.unjudged_texts())
    verify = requests.verdicts(draft, shown, range(CONDITIONS))
    queries = requests.queries(draft, range(1, CONDITIONS + 1))
    return {
        EXTRACT.name: call_size(EXTRACT, extract, Extracted(found=result[:count])),
        REWRITE.name: call_size(
            REWRITE, requests.rewrites(draft, range(CONDITIONS)), Rewrites(rewrites=rewrites)
        ),
        VERIFY.name: call_size(VERIFY, verify, _verdicts(verify)),
        QUERY.name: call_size(QUERY, queries, QUERY.offline(queries)),
    }


def _verdicts(question: AskVerdicts) -> Verdicts:
    """Verdicts that quote as much as a condition says."""
    return Verdicts(
        verdicts=[
            Judged(condition=n, text=n, verdict="satisfied", quote=question.conditions[n - 1])
            for n in question.asked
        ]
    )
