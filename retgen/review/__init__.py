"""Review: people judge pairs of a query and a document, and their verdicts are kept and counted.

A review has a fixed size. Its first part holds the labels of a split: all of them, or a random
sample. Its second part holds pairs that look like missing labels, because retrievers rank them
high and no label calls them relevant. A *verdict* is a fact about a pair, the text that was shown,
the person and the time. Verdicts are never written over data.

| module | idea |
|---|---|
| `records` | items, verdicts, settings; the consensus of several verdicts |
| `store` | the SQLite file that keeps them |
| `sample` | the pairs of both parts, in the order in which they are judged |
| `review` `begin` | a review of a data set, and how it begins |
| `report` | error rates with bounds, agreement, next steps; a page and a text |
| `judge` | a model gives grades to the pairs |
| `web/` | the page on which people judge |
| `exchange/` | formats that other tools read and write |
| `apply` | a new version of the run, with the settled labels |
"""

from __future__ import annotations

from retgen.review.begin import open_review
from retgen.review.review import Review

__all__ = ["Review", "open_review"]
