"""Records whose rows were written already: counts, and first rows, are left."""

from __future__ import annotations

from retgen.generators.records import Records, Rows, rows_of


def test_counts_and_first_rows_are_left() -> None:
    made: list[int] = []

    def make(i: int) -> dict[str, int]:
        made.append(i)
        return {"number": i}

    def table(count: int) -> dict[str, Rows]:
        return {"test": rows_of(make, count)}

    records = Records(rows_of(make, 3), rows_of(make, 0), table(2), training=table(4))
    left = records.counted()
    assert made == [0, 0, 0]
    assert [left.corpus.count, left.queries.count] == [3, 0]
    assert [left.qrels["test"].count, left.training["test"].count] == [2, 4]
    assert [*left.graded, *left.tables] == []
    assert left.corpus.jsonl(0, 1) == records.corpus.jsonl(0, 1) == b'{"number":0}\n'
