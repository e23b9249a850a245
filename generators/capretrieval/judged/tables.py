"""What judged pairs become: queries, and qrels of which a row is a judged pair, zeros included.

Queries without any relevant passage are in a split of their own (`NONE`): a ranking measure cannot
say anything of them (paper, Appendix B.2), a classifier can.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.generators.capretrieval.judged.agreement import in_words
from retgen.generators.capretrieval.judged.judging import GIVEN, JUDGED, JUDGEMENTS
from retgen.generators.records import Rows, rows_of
from retgen.streams import Stream

NONE = "no_positives"


class JudgedTables:
    """The queries and qrels of a run, from its sources/."""

    def __init__(self, folder: Path, seed: int) -> None:
        given = _lines(folder / GIVEN)
        # another order than the documents': a place in one tells nothing of the other
        self.given = [given[i] for i in Stream(seed, "capretrieval/given").permutation(len(given))]
        # a conflict that nobody settled has readings, and no grade
        self.judgements = [
            row for row in _lines(folder / JUDGEMENTS) if row["relevance"] is not None
        ]
        self.judged: dict[str, Any] = orjson.loads((folder / JUDGED).read_bytes())
        self.answered = {row["query"] for row in self.judgements if row["relevance"]}

    def queries(self) -> Rows:
        """The queries, as they were given."""

        def make(i: int) -> dict[str, Any]:
            one = self.given[i]
            kind = {"type": one["type"]} if one["type"] else {}
            split = "test" if one["id"] in self.answered else NONE
            note = {**kind, "language": one["language"], "split": split}
            return {"_id": one["id"], "text": one["text"], "metadata": note}

        return rows_of(make, len(self.given))

    def qrels(self) -> dict[str, Rows]:
        """The judged pairs: of queries that have a relevant passage, and of those that have not."""
        test = [row for row in self.judgements if row["query"] in self.answered]
        rest = [row for row in self.judgements if row["query"] not in self.answered]
        result = {"test": _qrels(test)}
        return {**result, NONE: _qrels(rest)} if rest else result

    def sentences(self) -> list[str]:
        """For the card: how the labels came about, and what is known of them."""
        found = self.judged
        unjudged = found["candidates"] - found["judged"]
        result = [
            "The queries were given, not written for these documents. "
            f"{found['judged']:,} pairs of a query and a passage were judged 0 (not relevant), 1 "
            f"(in part) or 2, of which {found['relevant']:,} are relevant; each has a row in the "
            "qrels. "
            + (
                "Every pair was judged."
                if found["complete"]
                else "A pair without a row was not judged, which does not mean that it is not "
                "relevant."
            )
        ]
        if len(self.answered) < len(self.given):
            result[0] += f" Queries without a relevant passage are in the configuration `{NONE}`."
        if unjudged:
            result[0] += f" {unjudged:,} candidates got no grade that could be used."
        if found["agreement"] is None:
            result.append("The labels came with the captions; a language model wrote both.")
        else:
            words = in_words(found["agreement"])
            result.append(
                f"{words[0].upper()}{words[1:]}; {found['conflicts']:,} conflicts "
                "were settled by a third look at the pair. Cohen's kappa is left out: where hardly "
                "any pair is relevant it is low for good judges as well."
            )
        return result

    def notes(self) -> Mapping[str, str]:
        """What `gen run` prints."""
        found = self.judged
        line = (
            f"{found['judged']:,} of {found['candidates']:,} pairs; {found['relevant']:,} are "
            f"relevant; {len(self.answered):,} of {len(self.given):,} queries have such a passage"
        )
        if found["agreement"] is None:
            return {"pairs": line}
        settled = f"{in_words(found['agreement'])}; {found['conflicts']:,} conflicts settled"
        return {"pairs": line, "agreement": settled}

    def judge(self) -> dict[str, Any]:
        """How good the judge was found to be; see `Family.judges`."""
        known = self.judged["calibration"]
        if known is None:
            by = "labels that came with the captions"
            return {"by": by, "measured": "written by a language model"}
        twice = self.judged["agreement"]
        if not known["pairs"]:
            return {**known, "measured": f"unmeasured, as no answer came; {in_words(twice)}"}
        precision, recall = (
            "undefined" if known[name] is None else f"{known[name]:.2f}"
            for name in ("precision", "recall")
        )
        return {
            **known,
            **{name: twice[name] for name in ("raw", "positive", "ac1")},
            "measured": (
                f"right about {known['exact']:.0%} of {known['pairs']} pairs of bundled captions "
                f"whose grades are known (relevant or not: precision {precision}, recall "
                f"{recall}); {in_words(twice)}"
            ),
        }


def _qrels(rows: list[dict[str, Any]]) -> Rows:
    def make(i: int) -> dict[str, Any]:
        row = rows[i]
        return {
            "query-id": row["query"], "corpus-id": row["passage"], "score": row["relevance"],
        }  # fmt: skip

    return rows_of(make, len(rows))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
