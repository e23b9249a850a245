"""Training data, the paper's flat tables and verdicts: texts are cut back, labels worked out anew.

Texts are cut into the sentences of their ladder, as documents are. That a file holds the rows that
the recipe makes, and no others, is the rule `regenerated`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from retgen.validators.multiconir.ladders import TEN, LadderRow
from retgen.validators.multiconir.proof import STYLES, LadderProof
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
_QUERY = re.compile(r"Query(\d+)")
_VERDICTS = {"sentence": "satisfied", "rewrite": "violated"}


class ExportedLabels(TablesProof):
    """What `training/` and `tables/` say of texts of a ladder follows from the texts."""

    name = "ladder-proof/exported"

    def __init__(self, proof: LadderProof) -> None:
        self.proof = proof
        self._judged: set[tuple[int, int, str]] = set()
        super().__init__()

    def tables(self) -> dict[str, Callable[[Row], None]]:
        singles = {"training/singles.parquet": self._triplet} if self.proof.spec.singles else {}
        padded = {f"tables/task4_{n}.jsonl": partial(self._flat, words=n) for n in (512, 1024)}
        return {
            "training/triplets.parquet": self._triplet,
            **singles,
            "training/ladders.parquet": self._list,
            "training/pairs.parquet": self._pair,
            "tables/task1.jsonl": self._flat,
            "tables/task2_3.jsonl": self._flat,
            **padded,
            "tables/verdicts.jsonl": self._verdict,
        }

    def check_table(self, name: str, rows: Iterator[Any], faults: RowFaults) -> str:
        super().check_table(name, rows, faults)
        left = 2 * TEN * len(self.proof.ladders) - len(self._judged)
        if name != "tables/verdicts.jsonl" or not left:
            return ""
        return f"{left:,} verdicts are missing: no label is without its evidence"

    # --- texts ------------------------------------------------------------------------------

    def _query(self, query_id: Any, text: Any) -> tuple[LadderRow, int, int]:
        """(ladder, style, conditions) of a query that has to have this text."""
        which = self.proof.asked.which(query_id)
        if which is None:
            raise RowFault("query", f"there is no query {query_id}", [str(query_id)])
        number, style, n = which
        ladder = self.proof.ladders.numbered(number)
        if text != self._text(ladder, style, n):
            raise RowFault("query", f"its query is not that of {query_id}", [query_id])
        return ladder, style, n

    def _text(self, ladder: LadderRow, style: int, n: int) -> str:
        return ladder.queries[n - 1] if style else self._instruction(ladder.conditions[:n])

    def _instruction(self, conditions: list[str]) -> str:
        listed = [f"{n}. {text}" for n, text in enumerate(conditions, 1)]
        return "\n".join([self.proof.spec.opening, *listed])

    def _ladder(self, name: Any) -> LadderRow:
        ladder = self.proof.ladders.get(name)
        if ladder is None:
            raise RowFault("ladder", f"there is no ladder {name}")
        return ladder

    def _broken(self, ladder: LadderRow, text: Any, what: str) -> int:
        """The conditions that a text breaks, as bits."""
        cut = self.proof.cut(ladder, text) if isinstance(text, str) else "it is no text"
        if isinstance(cut, str):
            raise RowFault(what, f"{what} is no document of ladder {ladder.id}", [ladder.id])
        return cut[0]

    # --- rows -------------------------------------------------------------------------------

    def _triplet(self, row: Row) -> None:
        ladder, _, n = self._query(row["query-id"], row["anchor"])
        asked, ids = (1 << n) - 1, [row["query-id"]]
        if self._broken(ladder, row["positive"], "positive") & asked:
            raise RowFault("positive", "positive breaks a condition of its query", ids)
        if not self._broken(ladder, row["negative"], "negative") & asked:
            raise RowFault("negative", "negative meets all conditions of its query", ids)

    def _list(self, row: Row) -> None:
        ladder, _, n = self._query(row["query-id"], row["query"])
        broken = [self._broken(ladder, text, "docs") & (1 << n) - 1 for text in row["docs"]]
        right = [n - one.bit_count() for one in broken]
        if row["labels"] != right:
            message = f"labels is {row['labels']}, the words say {right}"
            raise RowFault("labels", message, [row["query-id"]])

    def _pair(self, row: Row) -> None:
        ladder, _, n = self._query(row["query-id"], row["query"])
        better, worse = (
            (self._broken(ladder, row[key], key) & (1 << n) - 1).bit_count()
            for key in ("better", "worse")
        )
        if better >= worse:
            message = f"better breaks {better} conditions of its query, worse {worse}"
            raise RowFault("better", message, [row["query-id"]])

    def _flat(self, row: Row, words: int = 0) -> None:
        ladder, style = self._ladder(row["id"]), STYLES.index(row["style"])
        for key, value in row.items():
            if found := _QUERY.fullmatch(key):
                self._same(key, value, self._text(ladder, style, int(found[1])), ladder)
        self._rungs(row, ladder, words)

    def _rungs(self, row: Row, ladder: LadderRow, words: int = 0) -> None:
        """The positive breaks nothing, HNi the first i conditions. `words`: how long texts are."""
        for rung in range(TEN + 1):
            key = f"HN{rung}" if rung else "Positive"
            if key not in row:
                continue
            plain = _PADDING.sub("", row[key]) if words else row[key]
            if self._broken(ladder, plain, key) != (1 << rung) - 1:
                message = f"{key} does not break the first {rung} conditions"
                raise RowFault(key, message, [ladder.id])
            size, short = len(row[key].split()), len(plain.split())
            # a text that is as long already stays as it is
            right = short if short >= words or words - short in _IMPOSSIBLE else words
            if words and size != right:
                raise RowFault(key, f"{key} has {size} words, must have {right}", [ladder.id])

    def _same(self, key: str, stated: Any, right: str, ladder: LadderRow) -> None:
        if stated != right:
            raise RowFault(key, f"{key} is not that of ladder {ladder.id}", [ladder.id])

    def _verdict(self, row: Row) -> None:
        """A row "satisfied" for the sentence of a condition, one "violated" for its rewrite.

        With the texts of the data set, a quote that stands in the text, the documents that hold it,
        and the queries that ask for the condition.
        """
        ladder, c, of = self._ladder(row["ladder"]), row["condition"], row["of"]
        key = ladder.number, c, of
        where = f"ladder {ladder.id}, condition {c}, {of}"
        if of not in _VERDICTS or c not in range(1, TEN + 1) or key in self._judged:
            raise RowFault("verdict", f"{where}: it stands twice, or is none of them", [ladder.id])
        self._judged.add(key)
        text = (ladder.sentences if of == "sentence" else ladder.rewrites)[c - 1]
        documents, queries = self.proof.documents_of(ladder.number), row["query-ids"]
        held = {
            name for name, bits in documents.items() if (bits >> c - 1 & 1) == (of == "rewrite")
        }
        asking = [(ladder.number, style, n) for style in range(2) for n in range(c, TEN + 1)]
        quote = _plain(row["quote"])
        wrong = ""
        if (row["text"], row["asked"]) != (text, ladder.conditions[c - 1]):
            wrong = "the text or the condition that was judged is not that of the data set"
        elif row["verdict"] != _VERDICTS[of]:
            wrong = f"the verdict is {row['verdict']!r}, the labels need {_VERDICTS[of]!r}"
        elif not quote or quote not in _plain(text):
            wrong = f"the quote {row['quote'][:80]!r} is not a part of the text"
        elif held != set(row["corpus-ids"]):
            wrong = "the documents of its verdict are not those that hold the text"
        elif [self.proof.asked.which(one) for one in queries] != asking:
            wrong = "its queries are not those that ask for the condition"
        if wrong:
            raise RowFault("verdict", f"{where}: {wrong}", [ladder.id])


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”").casefold()
