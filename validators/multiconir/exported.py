"""Training data, the paper's flat tables and verdicts: what each row has to be, from the ladders.

That a file holds the rows that the recipe makes, and no others, is the rule `regenerated`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from retgen.validators.multiconir.ladders import RUNGS, STYLES, TEN
from retgen.validators.multiconir.proof import LadderProof
from retgen.validators.rows import RowFault, RowFaults, TablesProof

Row = Mapping[str, Any]

# as Appendix F.2 of the paper quotes it; three and four words add up to all numbers but three
_FILLER = (
    "The grass is green.",
    "The sky is blue.",
    "The sun is yellow.",
    "Here we go.",
    "There and back again.",
)
_PADDING = re.compile(rf"(?:{'|'.join(map(re.escape, _FILLER))}) ")
_IMPOSSIBLE = (1, 2, 5)
_VERDICTS = {"sentence": "satisfied", "rewrite": "violated"}
_PADDED = (512, 1024)  # words


class ExportedLabels(TablesProof):
    """What `training/` and `tables/` say of texts of a ladder follows from the texts."""

    name = "ladder-proof/exported"

    def __init__(self, proof: LadderProof) -> None:
        self.proof = proof
        self._judged: set[tuple[int, int, str]] = set()
        super().__init__()

    def tables(self) -> dict[str, Callable[[Row], None]]:
        judged = {} if self.proof.spec.world else {"tables/verdicts.jsonl": self._verdict}
        return {
            "training/triplets.parquet": partial(self._triplet, lambda n: 1),
            "training/singles.parquet": partial(self._triplet, lambda n: 1 << n - 1),
            "training/ladders.parquet": self._list,
            "training/pairs.parquet": self._pair,
            "tables/task1.jsonl": partial(self._flat, 1, 0),
            "tables/task2_3.jsonl": partial(self._flat, TEN, 0),
            **{f"tables/task4_{n}.jsonl": partial(self._flat, TEN, n) for n in _PADDED},
            **judged,
        }

    def check_table(self, name: str, rows: Iterator[Any], faults: RowFaults) -> str:
        super().check_table(name, rows, faults)
        left = 2 * TEN * len(self.proof.ladders) - len(self._judged)
        if name != "tables/verdicts.jsonl" or not left:
            return ""
        return f"{left:,} verdicts are missing: no label is without its evidence"

    # --- rows -------------------------------------------------------------------------------

    def _triplet(self, broken: Callable[[int], int], row: Row) -> None:
        """`broken`: what the negative of a query with n conditions breaks, as bits."""
        ladder, n, query = self._asked(row)
        positive, negative = self._document(ladder, 0), self._document(ladder, broken(n))
        self._same(row, ladder, anchor=query, positive=positive, negative=negative)

    def _list(self, row: Row) -> None:
        ladder, _, query = self._asked(row)
        documents, labels = self._rungs(ladder), [*range(TEN, -1, -1)]
        self._same(row, ladder, query=query, docs=documents, labels=labels)

    def _pair(self, row: Row) -> None:
        ladder, _, query = self._asked(row)
        documents = self._rungs(ladder)
        worse = documents[documents.index(row["better"]) + 1]
        self._same(row, ladder, query=query, worse=worse)

    def _flat(self, last: int, words: int, row: Row) -> None:
        """Ten queries, the positive and hard negatives up to the last, as long as `words` says."""
        ladder, style = self._ladder(row["id"]), STYLES.index(row["style"])
        queries = {f"Query{n}": self.proof.text(ladder, style, n) for n in range(1, TEN + 1)}
        self._same(row, ladder, **queries)
        for rung, right in enumerate(self._rungs(ladder)[: last + 1]):
            key = f"HN{rung}" if rung else "Positive"
            plain = _PADDING.sub("", row[key]) if words else row[key]
            self._same({key: plain}, ladder, **{key: right})
            size, short = len(row[key].split()), len(right.split())
            # a text that is as long already stays as it is
            wanted = short if short >= words or words - short in _IMPOSSIBLE else words
            if size != wanted:
                raise RowFault(key, f"{key} has {size} words, must have {wanted}")

    def _verdict(self, row: Row) -> None:
        """A row "satisfied" for the sentence of a condition, one "violated" for its rewrite.

        With the texts of the data set, and a quote that stands in the text.
        """
        number, c, of = self._ladder(row["ladder"]), row["condition"], row["of"]
        ladder, key = self.proof.ladders.at(number), (number, c, of)
        where = f"ladder {ladder.id}, condition {c}, {of}"
        if not 1 <= c <= TEN or of not in _VERDICTS or key in self._judged:
            message = f"{where}: it stands twice, or is none of them"
            raise RowFault("verdict", message, [ladder.id])
        self._judged.add(key)
        text = (ladder.sentences if of == "sentence" else ladder.rewrites)[c - 1]
        quote, wrong = _plain(row["quote"]), ""
        if (row["text"], row["asked"]) != (text, ladder.conditions[c - 1]):
            wrong = "the text or the condition that was judged is not that of the data set"
        elif row["verdict"] != _VERDICTS[of]:
            wrong = f"the verdict is {row['verdict']!r}, the labels need {_VERDICTS[of]!r}"
        elif not quote or quote not in _plain(text):
            wrong = f"the quote {row['quote'][:80]!r} is not a part of the text"
        if wrong:
            raise RowFault("verdict", f"{where}: {wrong}", [ladder.id])

    # --- what they have to be ---------------------------------------------------------------

    def _asked(self, row: Row) -> tuple[int, int, str]:
        """(ladder, conditions, text) of the query that a row names."""
        query_id = row["query-id"]
        if query_id not in self.proof.asked:
            raise RowFault("query", f"there is no query {query_id}", [str(query_id)])
        ladder, style, n = self.proof.asked[query_id]
        return ladder, n, self.proof.text(ladder, style, n)

    def _ladder(self, name: Any) -> int:
        number = self.proof.ladders.number(name)
        if number is None:
            raise RowFault("ladder", f"there is no ladder {name}")
        return number

    def _document(self, ladder: int, broken: int) -> str:
        return " ".join(self.proof.pieces(ladder, broken))

    def _rungs(self, ladder: int) -> list[str]:
        return [self._document(ladder, broken) for broken in RUNGS]

    def _same(self, row: Row, ladder: int, **right: Any) -> None:
        for key, value in right.items():
            if row[key] != value:
                name = self.proof.ladders.at(ladder).id
                message = f"{key} is not what ladder {name} makes it"
                raise RowFault(key, message, [row.get("query-id", name)])


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”").casefold()
