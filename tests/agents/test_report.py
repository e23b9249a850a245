"""Rejections on disk: order, what is appended while others read, and the written lines."""

from __future__ import annotations

from pathlib import Path

from retgen.agents.report import (
    Rejection,
    Rejections,
    rejection_line,
    write_rejected,
)

MANY = 2_500


def rejection(number: int) -> Rejection:
    # together they take more than what is kept in memory
    return Rejection("a/rule", f"no. {number}\n", {"text": "é" * 300, "number": number})


def test_they_come_back_in_order() -> None:
    kept = Rejections(map(rejection, range(MANY)))
    kept.append(rejection(MANY))
    kept.append(rejection(MANY + 1))
    assert len(kept) == MANY + 2
    assert list(kept) == [rejection(number) for number in range(MANY + 2)]
    assert rejection(7) in kept
    assert rejection(MANY + 2) not in kept
    assert list(Rejections()) == []


def test_who_reads_gets_what_was_there_and_what_is_appended_meanwhile_is_kept() -> None:
    kept = Rejections(map(rejection, range(MANY)))
    seen = []
    for one in kept:
        seen.append(one)
        if len(seen) % 1000 == 1:
            kept.append(one)
    assert len(seen) == MANY
    assert list(kept)[MANY:] == [rejection(0), rejection(1000), rejection(2000)]
    other = Rejections([rejection(9)])
    other.extend(kept)
    assert list(other)[:2] == [rejection(9), rejection(0)]
    assert len(other) == MANY + 4


def test_a_record_is_kept_as_it_was() -> None:
    record = {"text": "a"}
    kept = Rejections([Rejection("a/rule", "why", record)])
    record["text"] = "b"
    assert list(kept) == [Rejection("a/rule", "why", {"text": "a"})]


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    some = [rejection(0), Rejection("a/rule", "why", None)]
    write_rejected(path, Rejections(some))
    assert path.read_bytes() == b"".join(map(rejection_line, some))
    assert path.read_text("utf-8").splitlines()[1] == (
        '{"rule":"a/rule","reason":"why","record":null}'
    )
    write_rejected(path, Rejections())
    assert not path.exists()
