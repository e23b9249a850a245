"""Rejections on disk: order, what is appended while others read, and the written lines."""

from __future__ import annotations

from pathlib import Path

from retgen.agents.report import Rejection, Rejections, rejection_line, write_rejected

MANY = 2_500


def rejection(number: int) -> Rejection:
    # together they take more than what is kept in memory
    return Rejection("a/rule", f"no. {number}\n", {"text": "é" * 300, "number": number})


def test_they_come_back_in_order_also_to_who_appends_meanwhile() -> None:
    kept = Rejections(map(rejection, range(MANY)))
    seen = []
    for one in kept:
        seen.append(one)
        if len(seen) % 1000 == 1:
            kept.append(one)
    assert seen == [rejection(number) for number in range(MANY)]
    assert list(kept)[MANY:] == [rejection(0), rejection(1000), rejection(2000)]
    other = Rejections([rejection(9)])
    other.extend(kept)
    assert list(other)[:2] == [rejection(9), rejection(0)]
    assert len(other) == MANY + 4


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
