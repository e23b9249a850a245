"""Review: people judge pairs of a query and a document, and what they say is kept and counted.

A *verdict* is a fact about what was shown, to whom and when; it is never written over data. Of the
labels two questions are asked, because a data set without any label would pass the first:

- *wrong*: how many of the positives are none (population `positives`);
- *missed*: how many relevant pairs have no positive label (population `others`: pairs among the
  candidates of several retrievers that the data set does not call relevant).

| module | idea |
|---|---|
| `records` | items, verdicts, settings: what all of it is about |
| `store` | the SQLite file that keeps them |
| `consensus` | what a decision says; of several verdicts on one item, what holds |
| `goals` | what a review is to show |
| `candidates` `items` | pairs to look at: populations, control items, order |
| `assign` | who looks at what, in which order |
| `review` `begin` | a review, of a data set that may change |
| `certificates` `report` `report_page` | what the verdicts show: rates, certificates |
| `web/` | the page; the page to take away |
| `exchange/` | what other tools take and give back |
| `apply` | what is settled, made a new version of the run |
"""

from __future__ import annotations

from retgen.review.begin import open_review
from retgen.review.review import Review

__all__ = ["Review", "open_review"]
