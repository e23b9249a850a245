"""Which queries by rules are scored: those that say what their document is about."""

from __future__ import annotations

from collections import Counter

import pytest

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.drafts import DraftSettings, DraftTask, draft
from retgen.generators.capretrieval.passages import Passage
from retgen.sources import SourceDocument

COMMON = ("contains", "package", "the", "this", "for")
COUNTS = CorpusCounts(
    1000, Counter(dict.fromkeys(COMMON, 500)), Counter(dict.fromkeys(COMMON, 600))
)
LEAD = "Zorbix reads infrared signals of remote controls."
OWN = "This package contains sample recordings for broken keyboards."


def scored(text: str, *places: int) -> set[str]:
    """The queries that are scored, of a document that is cut at some places."""
    ends = [*places, len(text)]
    passages = tuple(
        Passage(f"d#{start}", "d", start, stop, "", text[start:stop], "en")
        for start, stop in zip([0, *ends], ends, strict=False)
    )
    task = DraftTask(SourceDocument("d", "", text), passages, (), scored=True)
    [drafts] = draft(DraftSettings(COUNTS, 6, 3), [task])
    return {one.text for _, one in drafts.rules if one.score >= 0.5}


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        # the first sentence, and names in it; neither phrases nor what comes later
        (
            f"{LEAD} The windmill grinds rye of nearby farms.",
            {"Zorbix", "Zorbix reads infrared signals of remote controls"},
        ),
        # before what a document says of itself stands what it belongs to
        (f"{LEAD} {OWN}", {"sample recordings for broken keyboards"}),
        (f"{OWN} {LEAD}", {"sample recordings for broken keyboards"}),
    ],
)
def test_a_query_that_is_scored_says_what_its_document_is_about(
    text: str, queries: set[str]
) -> None:
    assert scored(text) == queries


def test_in_a_part_of_a_document_this_may_be_its_section() -> None:
    text = f"{LEAD} {OWN}"
    assert scored(text, len(LEAD)) == {"Zorbix reads infrared signals of remote controls"}
