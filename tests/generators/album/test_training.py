"""Training pairs of an album: what they ask, and that nothing of the test set is among them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from retgen.facts.captions import CAPTIONS_FILE
from retgen.generators.records import Records
from retgen.validators.album.reader import caption_reader
from tests.generators.album.test_album import made, rows


def pairs(records: Records, name: str) -> list[dict[str, str]]:
    table = records.training[name]
    return [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]


def asked(texts: list[str], language: str = "en") -> list[dict[str, Any]]:
    return list(map(caption_reader(CAPTIONS_FILE, language).query, texts))


@pytest.mark.slow
def test_keywords_and_summaries_of_captions_that_are_not_in_the_corpus() -> None:
    """Keywords name anything, summaries the whole scene; both languages train on the same."""
    english, chinese = (made(300, 60, training=100, language=one) for one in ("en", "zh"))
    tested = asked([row["text"] for row in rows(english, "queries")])
    for name, least in (("kw", 1), ("sm", 3)):
        several = asked([row["anchor"] for row in pairs(english, name)])
        assert min(map(len, several)) == least
        assert not [one for one in several if one in tested]
        assert several == asked([row["anchor"] for row in pairs(chinese, name)], "zh")
        trained = {row[key] for row in pairs(english, name) for key in ("positive", "negative_1")}
        assert trained.isdisjoint(row["text"] for row in rows(english, "corpus"))
    without = made(300, 60)
    assert without.training == {}
    assert rows(without, "corpus") == rows(english, "corpus")
