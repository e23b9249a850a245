"""Training pairs: read back and graded, and none of them in the test set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import orjson

from retgen.data import Dataset
from retgen.validators.album.grading import Captions
from retgen.validators.album.proof import AlbumProof
from retgen.validators.album.reader import Unreadable, read_caption, read_query
from retgen.validators.rows import RowFaults, read_rows
from retgen.validators.rule import Batch, CorpusRule, Finding, Named

FILES = ("training/kw.parquet", "training/sm.parquet")
_T = TypeVar("_T")


class AlbumTrainingPairs(CorpusRule):
    """The positive of a pair has what its query asks for, the negative has not.

    No query of the test set is among them, and no caption that says what one of the corpus says.
    """

    name = "album-proof/training"
    severity = "error"

    def __init__(self, proof: AlbumProof) -> None:
        self._proof = proof
        self._findings: list[Finding] = []
        self.start()

    def start(self) -> None:
        self.state: Named = Named()

    def scan(self, batch: Batch) -> None:
        """The proof reads the corpus."""

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        if dataset.run is None or not self._proof.spec.training:
            return
        for name in FILES:
            self._findings += self._file(dataset.run, name)

    def findings(self) -> Iterator[Finding]:
        yield from self._findings

    def _file(self, run: Path, name: str) -> Iterator[Finding]:
        faults = RowFaults(self.name, name)
        try:
            rows = list(read_rows(run / name))
        except (OSError, ValueError) as error:
            yield faults.of_file(f"it cannot be read: {error}")
            return
        if not rows:
            yield faults.of_file("it holds no pairs")
        self._grade(rows, faults)
        yield from faults.findings()

    def _grade(self, rows: Sequence[Mapping[str, Any]], faults: RowFaults) -> None:
        asked = [_read(read_query, row, "anchor", i, faults) for i, row in enumerate(rows)]
        texts = ("positive", "negative_1")
        facts = [
            _read(read_caption, row, key, i, faults) for i, row in enumerate(rows) for key in texts
        ]
        captions = Captions([one or [] for one in facts])
        tested = set(_keys(query.text for query in self._proof.judgements.queries))
        corpus = {tuple(one) for one in self._proof.state.facts}
        for i, wanted in enumerate(asked):
            both = facts[2 * i : 2 * i + 2]
            if wanted is None or None in both:
                continue
            positive, negative = captions.grades(wanted)[2 * i : 2 * i + 2]
            if not positive:
                faults.add("positive", i + 1, "its positive has the grade 0")
            if negative:
                faults.add("negative", i + 1, f"its negative has the grade {negative}")
            if orjson.dumps(wanted) in tested:
                faults.add("query", i + 1, "it asks what a query of the test set does")
            for key, one in zip(texts, both, strict=True):
                if tuple(one or ()) in corpus:
                    faults.add("caption", i + 1, f"its {key} says what one of the corpus says")


def _keys(queries: Iterable[str]) -> Iterator[bytes]:
    """What is asked for, of queries that can be read; the proof names the others."""
    for text in queries:
        with suppress(Unreadable):
            yield orjson.dumps(read_query(text))


def _read(
    reader: Callable[[str], _T], row: Mapping[str, Any], key: str, i: int, faults: RowFaults
) -> _T | None:
    text = row.get(key)
    try:
        return reader(text if isinstance(text, str) else "")
    except Unreadable as reason:
        faults.add(key, i + 1, f"its {key} cannot be read: {reason}")
        return None
