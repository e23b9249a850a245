"""Hard negatives of the training queries, from passages of the training documents.

Left out are near-duplicates of a positive and passages that hold all content words of the query;
with a judge also what it calls relevant. The figures say how many of the best-ranked these were:
negatives that a miner without looking would take; and how many of the rest lack one word only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from retgen.generators.capretrieval.agents import ANNOTATE, AskRelevance, split_pages
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Codes, Passage, shown_text
from retgen.generators.capretrieval.queries import PassageQuery, content_codes, missing_words
from retgen.generators.params import Job
from retgen.streams import Stream
from retgen.validators.capretrieval.wording import Wording

if TYPE_CHECKING:
    from retgen.agents.context import Context

_COUNTS = ("queries", "negatives", "drawn", "left_out", "doubtful")
_Page = tuple[int, tuple[int, ...]]  # a query, and documents
MINE = {
    "by": str, "alike": float, "judge?": str,
    **dict.fromkeys(_COUNTS, int),
    **dict.fromkeys(("judged?", "judged_relevant?"), int),
    "dropped?": dict[str, int], "refused?": str,
}  # fmt: skip
_TELLING = 3  # content words of a query of which one that is missing leaves a doubt
_SPARE = 2  # times as many are mined as are wanted where a judge leaves some out


async def mine_negatives(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    wording: Wording,
    splits: Sequence[str],
    stems: Sequence[Codes],
    job: Job[CapRetrievalParams],
    context: Context,
) -> dict[str, Any]:
    """Give the training queries their negatives, from passages of the training documents.

    `stems`: of each passage, and its words, sorted. Each query gets the same number, such that
    hardly one has fewer: these get none, and are not trained on. The figures are those of the
    queries that are trained on. Doubtful is one that lacks a single content word of three or more.
    """
    from retgen.evaluation.mining import mine

    settings = job.params.mine
    trained = [one for one in queries if one.split == "train"]
    if not settings.negatives or not trained:
        return {"by": settings.by, **dict.fromkeys(_COUNTS, 0)}
    own = [number for number, split in enumerate(splits) if split == "train"]
    place = {number: i for i, number in enumerate(own)}
    # of most queries one, for which a set is large
    positives = [tuple(place[j] for j in one.positives) for one in trained]
    asked = [content_codes(one.text, passages[one.passage].language) for one in trained]
    groups, left_out = wording.groups.tolist(), set[tuple[int, int]]()
    wanted = settings.negatives * (_SPARE if settings.judge else 1)

    def is_excluded(query: int, document: int) -> bool:
        number = document_of[own[document]]
        relevant = [document_of[j] for j in trained[query].positives]
        wrong = (
            any(groups[number] == groups[other] for other in relevant)
            or missing_words(asked[query], stems[own[document]]) == 0
            or wording.directly(number, relevant)
        )
        if wrong:
            left_out.add((query, document))
        return wrong

    texts = [shown_text(passages[j]) for j in own]
    result = mine(
        texts, [one.text for one in trained], positives, by=settings.by,
        count=wanted, depth=max(wanted, settings.depth), margin=settings.margin,
        excluded=is_excluded, engine=context.engine, progress=context.progress,
    )  # fmt: skip
    ranked = [set(negatives) for negatives in result]
    _draw(result, len(own), wanted, is_excluded, positives, job.seed)
    judged: dict[str, Any] = {}
    if settings.judge:
        judged = await _judged(result, trained, texts, settings.negatives, context)
    each = sorted(map(len, result))[len(result) // 10]
    doubtful = 0
    used = [i for i, negatives in enumerate(result) if len(negatives) >= each]
    for i in used:
        one, negatives = trained[i], result[i][:each]
        one.negatives = [own[j] for j in negatives]
        if asked[i].shape[1] >= _TELLING:
            doubtful += sum(missing_words(asked[i], stems[own[j]]) == 1 for j in negatives)
    return {
        "by": settings.by,
        "queries": len(used),
        "negatives": each * len(used),
        "drawn": sum(j not in ranked[i] for i in used for j in result[i][:each]),
        "left_out": sum(len(result[query]) >= each for query, _ in left_out),
        "doubtful": doubtful,
        **judged,
    }


async def _judged(
    mined: list[list[int]],
    queries: Sequence[PassageQuery],
    texts: Sequence[str],
    count: int,
    context: Context,
) -> dict[str, Any]:
    """Leave the first `count` that the judge grades 0; a query that it cannot grade keeps none."""
    asked = [
        (number, page)
        for number, found in enumerate(mined)
        for page in split_pages(found, texts.__getitem__)
    ]
    stage = context.stage("negatives", len(asked), ANNOTATE, candidates=len(asked))

    async def work(page: _Page) -> tuple[_Page, list[int]]:
        number, documents = page
        shown = tuple(texts[i] for i in documents)
        question = AskRelevance(query=queries[number].text, passages=shown, turn=1)
        return page, (await context.answer(ANNOTATE, question)).in_order()

    graded = dict[tuple[int, int], int]()
    async for (number, documents), grades in context.accepted_records(
        stage, asked, work, lambda page: {"query": queries[page[0]].text}, exact=False
    ):
        graded |= {(number, i): grade for i, grade in zip(documents, grades, strict=True)}
    for number, found in enumerate(mined):
        # of a page that failed, nobody knows whether its best are relevant
        known = found if all((number, i) in graded for i in found) else []
        mined[number] = [i for i in known if graded[number, i] == 0][:count]
    seen, relevant = len(graded), sum(grade > 0 for grade in graded.values())
    return {"judged": seen, "judged_relevant": relevant, "judge": context.model(ANNOTATE)}


def _draw(
    mined: list[list[int]],
    documents: int,
    count: int,
    excluded: Callable[[int, int], bool],
    positives: Sequence[Collection[int]],
    seed: int,
) -> None:
    """Fill up with documents drawn at random where mining gave too few."""
    stream = Stream(seed, "capretrieval/negatives")
    picks = stream.integers(documents, 4 * count * len(mined)).reshape(len(mined), -1)
    for query, (negatives, tried) in enumerate(zip(mined, picks, strict=True)):
        for document in tried.tolist():
            if len(negatives) == count:
                break
            taken = document in negatives or document in positives[query]
            if not taken and not excluded(query, document):
                negatives.append(document)
