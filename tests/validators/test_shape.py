"""Lengths far from the others', and lines that many texts share."""

from __future__ import annotations

from pathlib import Path

from tests.validators.sets import findings_in, plain

TEXTS = {f"d{i}": plain(i) for i in range(100)}
MEDIAN = 150


def test_lengths(tmp_path: Path) -> None:
    texts = {**TEXTS, "tiny": "No.", "small": "Nothing.", "huge": plain(1) * 40}
    assert findings_in(tmp_path, "length-outlier", texts) == [
        (
            ["huge"],
            f"document huge is far longer than the others: {len(texts['huge']):,} "
            f"characters, the median is {MEDIAN}",
        ),
        (
            ["tiny", "small"],
            "2 documents are far shorter than the others: 3 to 8 characters, the "
            f"median is {MEDIAN}",
        ),
    ]


def test_queries_have_a_median_of_their_own(tmp_path: Path) -> None:
    queries = {f"q{i}": f"who restored the mill of street {i}" for i in range(60)}
    queries["long"] = plain(3) * 2
    message = f"query long is far longer than the others: {len(plain(3)) * 2} characters, the median is 34"
    assert findings_in(tmp_path, "length-outlier", TEXTS, queries) == [(["long"], message)]


def test_boilerplate(tmp_path: Path) -> None:
    banner = "We use cookies to make this site better for you."
    licence = "All rights are reserved by the owners of this site."
    texts = {
        i: f"{text}\n{banner}" + (f" {licence}" if int(i[1:]) % 2 else "")
        for i, text in TEXTS.items()
    }
    ids = [*texts]
    [(findings, message)] = findings_in(tmp_path, "boilerplate", texts | {"other": plain(300)})
    assert findings == ids
    share = (100 * len(banner) + 50 * len(licence)) / (
        sum(map(len, texts.values())) + len(plain(300))
    )
    assert message == (
        "2 lines or sentences stand each in 5% or more of the 101 documents, and boilerplate is "
        f"{share:.0%} of all their text: {banner!r} in 100; {licence!r} in 50"
    )


def test_what_is_no_boilerplate(tmp_path: Path) -> None:
    texts = {i: f"Name\n{text}\nSee also" for i, text in TEXTS.items()}  # headings
    assert findings_in(tmp_path, "boilerplate", texts) == []
    texts = {
        i: text * 10 + (" The end of it is here." if i < "d2" else "") for i, text in TEXTS.items()
    }
    assert findings_in(tmp_path / "little", "boilerplate", texts) == []  # 1% of the text
