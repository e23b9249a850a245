"""A chat model as a list-wise ranker: it is shown all candidates, and answers with an order.

The paper has GPT-4o rank so (section 4, "Zero-shot LLM for Ranking"); its prompt is not printed, so
this one is ours. In which order the candidates are shown is up to a hash of their texts, so it says
nothing about which is better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.agents.agent import Agent, AnswerSchema, Question
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.prompts import bundled


class Rank(Question):
    """A query, and the documents in the order in which they are shown, from 1."""

    query: str
    documents: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        shown = (f"[{number}] {text}" for number, text in enumerate(self.documents, start=1))
        return {
            "query": self.query,
            "count": str(len(self.documents)),
            "documents": "\n\n".join(shown),
        }


class Order(AnswerSchema):
    """The numbers of all documents, best first."""

    ranking: list[int]


def _checked(question: Rank, answer: Order) -> str | None:
    count = len(question.documents)
    if sorted(answer.ranking) != list(range(1, count + 1)):
        text = ", ".join(map(str, answer.ranking[: count + 5]))
        return f"ranking holds {text or 'nothing'}; it names each of 1 to {count} exactly once"
    return None


def _by_words(question: Rank) -> Order:
    """Documents by how many of the query's words they hold; of equal ones the first shown."""
    asked = set(question.query.lower().split())
    shared = [len(asked & set(text.lower().split())) for text in question.documents]
    return Order(ranking=sorted(range(1, len(shared) + 1), key=lambda n: -shared[n - 1]))


RANK = Agent(
    name="rank_documents",
    role="judge",
    prompt=bundled("evaluation/rank_documents"),
    question=Rank,
    answer=Order,
    offline=_by_words,
    check=_checked,
    max_tokens=4096,  # a model that thinks has to do so in these
)


def question_of(group: CandidateSet, seed: int = 0) -> Rank:
    """What a model is asked about a candidate set. `seed`: another one shows another order."""
    return Rank(query=group.query, documents=tuple(group.texts[i] for i in _shown(group, seed)))


def scores_of(group: CandidateSet, answer: Order | None, seed: int = 0) -> NDArray[np.float64]:
    """Scores (texts,) of an answer: minus the rank. All 0, so all tied, where there is none."""
    scores = np.zeros(len(group.texts))
    shown = _shown(group, seed)
    for rank, number in enumerate(answer.ranking if answer else (), start=1):
        scores[shown[number - 1]] = -rank
    return scores


def _shown(group: CandidateSet, seed: int) -> Sequence[int]:
    """Which candidate stands first, second, ..."""

    def place(i: int) -> int:
        return xxhash.xxh3_64_intdigest(f"{seed}\0{group.query}\0{group.texts[i]}".encode())

    return sorted(range(len(group.texts)), key=place)
