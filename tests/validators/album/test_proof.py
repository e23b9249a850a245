"""The proof of the album finds whatever is changed in captions, queries and qrels."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from retgen.data import Qrel, Query, open_dataset
from retgen.facts.captions import CAPTIONS_FILE
from retgen.generators import family
from retgen.generators.album import AlbumParams
from retgen.generators.params import Job
from retgen.validators.album import AlbumSpec, proof_rules
from retgen.validators.album.reader import LANGUAGES, caption_reader
from retgen.validators.rule import Batch, Finding, Judgements

Row = dict[str, Any]
CAPTIONS, QUERIES = 300, 120
LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))


class Tables(NamedTuple):
    language: str
    corpus: list[Row]
    queries: list[Row]
    qrels: list[tuple[str, str, int]]


@cache
def tables(language: str) -> Tables:
    params = AlbumParams.model_validate(
        {"language": language, "captions": CAPTIONS, "queries": QUERIES}
    )
    records = family("album").generate(Job("album", 3, params))
    corpus, queries, qrels = (
        [orjson.loads(line) for line in table.jsonl(0, table.count).splitlines()]
        for table in (records.corpus, records.queries, records.qrels["test"])
    )
    return Tables(
        language,
        corpus,
        queries,
        [(row["query-id"], row["corpus-id"], row["score"]) for row in qrels],
    )


def batch(rows: list[Row]) -> Batch:
    return Batch(
        0,
        [row["_id"] for row in rows],
        [row["title"] for row in rows],
        [row["text"] for row in rows],
        [row["metadata"] for row in rows],
    )


def found(made: Tables, changed: Tables) -> list[Finding]:
    """What the proof finds."""
    judgements = Judgements(
        [Query(row["_id"], row["text"], row["metadata"]) for row in changed.queries],
        [Qrel(*row) for row in changed.qrels],
    )
    spec = AlbumSpec(CAPTIONS_FILE, made.language, CAPTIONS, QUERIES, 6)
    rule, _training = proof_rules(spec, judgements)
    rule.scan(batch(changed.corpus))
    return list(rule.findings())


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_generated_is_proven(language: str) -> None:
    made = tables(language)
    assert found(made, made) == []


# --- changes ----------------------------------------------------------------------------------


class Word(NamedTuple):
    """What a word of a text stands for."""

    role: str
    meaning: str


@cache
def _words(language: str) -> dict[str, Word]:
    known = caption_reader(CAPTIONS_FILE, language).definition
    result = {
        name[0].lower(): Word(one.part, meaning)
        for meaning, one in known.meanings.items()
        if one.part != "landmarks"
        for name in one.names[language]
        if name[0] != "May"
    }
    which = LANGUAGES.index(language)
    return result | {one[which]: Word("colour", name) for name, one in known.colours.items()}


@cache
def _pattern(language: str) -> re.Pattern[str]:
    longest = sorted(_words(language), key=len, reverse=True)
    edge = r"\b" if language == "en" else ""
    return re.compile(f"{edge}(?:{'|'.join(map(re.escape, longest))}){edge}", re.IGNORECASE)


def _another_word(text: str, language: str, draw: random.Random) -> str | None:
    """The text with one word exchanged for one that means something else, of the same role."""
    places = list(_pattern(language).finditer(text))
    if not places:
        return None
    place = draw.choice(places)
    words = _words(language)
    old = words[place[0].lower()]
    others = sorted(t for t, w in words.items() if w.role == old.role and w.meaning != old.meaning)
    return text[: place.start()] + draw.choice(others) + text[place.end() :]


def _with(rows: list[Row], i: int, **values: Any) -> list[Row]:
    return [row | values if j == i else row for j, row in enumerate(rows)]


def caption_value(made: Tables, draw: random.Random) -> Tables | None:
    i = draw.randrange(CAPTIONS)
    text = _another_word(made.corpus[i]["text"], made.language, draw)
    return made._replace(corpus=_with(made.corpus, i, text=text)) if text else None


def things_exchanged(made: Tables, draw: random.Random) -> Tables | None:
    """Salient and in passing change places, or who does it and to whom."""
    i = draw.randrange(CAPTIONS)
    text, words = made.corpus[i]["text"], _words(made.language)
    things = [
        m
        for m in _pattern(made.language).finditer(text)
        if words[m[0].lower()].role in ("things", "topics")
    ]
    if len(things) < 2:
        return None
    one, other = things[0], things[-1]
    if words[one[0].lower()].meaning == words[other[0].lower()].meaning:
        return None
    between = text[one.end() : other.start()]
    text = f"{text[: one.start()]}{other[0]}{between}{one[0]}{text[other.end() :]}"
    return made._replace(corpus=_with(made.corpus, i, text=text))


def _exchanged(rows: list[Row], key: str, draw: random.Random) -> tuple[list[Row], list[str]]:
    """Two rows with what they have under a key exchanged, and the ids of both."""
    i, j = draw.sample(range(len(rows)), 2)
    one, other = rows[i][key], rows[j][key]
    ids = [rows[i]["_id"], rows[j]["_id"]]
    return _with(_with(rows, i, **{key: other}), j, **{key: one}), ids


def captions_exchanged(made: Tables, draw: random.Random) -> Tables:
    """Two texts change places, their metadata stay."""
    return made._replace(corpus=_exchanged(made.corpus, "text", draw)[0])


def caption_moved(made: Tables, draw: random.Random) -> Tables | None:
    """Two captions change places with their facts: only grades can tell."""
    corpus, ids = _exchanged(made.corpus, "_id", draw)
    rows = [{(q, s) for q, d, s in made.qrels if d == one} for one in ids]
    return made._replace(corpus=corpus) if rows[0] != rows[1] else None


def caption_word_dropped(made: Tables, draw: random.Random) -> Tables:
    i = draw.randrange(CAPTIONS)
    text = made.corpus[i]["text"]
    place = draw.choice(list(_pattern(made.language).finditer(text)))
    return made._replace(
        corpus=_with(made.corpus, i, text=text[: place.start()] + text[place.end() :])
    )


def query_word(made: Tables, draw: random.Random) -> Tables | None:
    i = draw.randrange(QUERIES)
    text = _another_word(made.queries[i]["text"], made.language, draw)
    return made._replace(queries=_with(made.queries, i, text=text)) if text else None


def queries_moved(made: Tables, draw: random.Random) -> Tables | None:
    """Two queries change places with their metadata: only grades can tell."""
    queries, ids = _exchanged(made.queries, "_id", draw)
    rows = [{(d, s) for q, d, s in made.qrels if q == one} for one in ids]
    return made._replace(queries=queries) if rows[0] != rows[1] else None


def qrel_dropped(made: Tables, draw: random.Random) -> Tables:
    near = {query_id for query_id, _, score in made.qrels} - {q for q, _, s in made.qrels if s}
    i = draw.choice([i for i, row in enumerate(made.qrels) if row[0] not in near])
    return made._replace(qrels=made.qrels[:i] + made.qrels[i + 1 :])


def grade_changed(made: Tables, draw: random.Random) -> Tables:
    qrels = list(made.qrels)
    i = draw.randrange(len(qrels))
    query_id, doc_id, grade = qrels[i]
    qrels[i] = (query_id, doc_id, draw.choice([g for g in (0, 1, 2, 3) if g != grade]))
    return made._replace(qrels=qrels)


def qrel_added(made: Tables, draw: random.Random) -> Tables | None:
    """Of 0 too, where the query has an answer: else the caption may be one that nearly is."""
    query_id, doc_id = draw.choice(made.queries)["_id"], draw.choice(made.corpus)["_id"]
    own = {doc: score for query, doc, score in made.qrels if query == query_id}
    if doc_id in own:
        return None
    grade = draw.choice((0, 1, 2) if any(own.values()) else (1, 2))
    return made._replace(qrels=[*made.qrels, (query_id, doc_id, grade)])


CHANGES: list[Callable[[Tables, random.Random], Tables | None]] = [
    caption_value,
    things_exchanged,
    captions_exchanged,
    caption_moved,
    caption_word_dropped,
    query_word,
    queries_moved,
    qrel_dropped,
    grade_changed,
    qrel_added,
]


def mutations(change: Callable[..., Tables | None], language: str, count: int) -> Iterator[Tables]:
    draw = random.Random(f"{change.__name__}/{language}")
    made, left = tables(language), count
    while left:
        changed = change(made, draw)
        if changed is not None:
            left -= 1
            yield changed


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_is_found(change: Callable[..., Tables | None], language: str) -> None:
    """12 of each of the ten kinds; 500, 10,000 in all, in the long proofs."""
    for changed in mutations(change, language, 500 if LONG else 12):
        findings = found(tables(language), changed)
        assert findings, changed
        assert {finding.rule.split("/")[0] for finding in findings} == {"album-proof"}


def test_grades_beside_the_qrels_are_read(tmp_path: Path) -> None:
    made = tables("en")
    likely = next(row for row in made.qrels if not row[2])
    answered = {query_id for query_id, _, score in made.qrels if score}
    pairs = [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in made.qrels]
    grades = [
        row | {"score": 2 if both == likely or both[2] else int(both[0] in answered)}
        for row, both in zip(pairs, made.qrels, strict=True)
    ]
    files = {"corpus": made.corpus, "queries": made.queries, "qrels": pairs, "qrels_graded": grades}
    for name, rows in files.items():
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in rows))
    judgements = Judgements(
        [Query(row["_id"], row["text"], row["metadata"]) for row in made.queries],
        [Qrel(*row) for row in made.qrels],
    )
    rule, _training = proof_rules(AlbumSpec(CAPTIONS_FILE, "en", CAPTIONS, QUERIES, 6), judgements)
    rule.scan(batch(made.corpus))
    rule.about(open_dataset(tmp_path))
    (finding,) = rule.findings()
    assert finding.ids == list(likely[:2])
    assert finding.message == (
        f"query {likely[0]}: {likely[1]} has the grade 2 in qrels_graded, and by its words it is "
        f"{int(likely[0] in answered)}"
    )


def test_findings_name_the_records() -> None:
    made = tables("en")
    query_id, doc_id, grade = made.qrels[0]
    (finding,) = found(made, made._replace(qrels=made.qrels[1:]))
    assert finding.ids == [query_id, doc_id]
    message = f"query {query_id}: {doc_id} is graded 0, and by its words it is {grade}"
    assert finding.message == message
    blank = made._replace(
        queries=made.queries[1:],
        qrels=[row for row in made.qrels if row[0] != made.queries[0]["_id"]],
    )
    (finding,) = found(made, blank)
    assert finding.message == "119 queries, the recipe says 120"
