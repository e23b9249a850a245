"""The labels of cut documents follow from the spans of the queries: counted again by brute force."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen import run
from retgen.generators.capretrieval.language import words_of
from retgen.generators.capretrieval.passages import CAPTIONS, Passage, PassageLabels
from tests.conftest import read_jsonl

pytestmark = pytest.mark.filterwarnings("ignore")  # inside jieba, while the run is made
RECIPE = """name: album
family: capretrieval
seed: 3
params:
  source: {path: album, licence: CC0-1.0}
  passages: {tokens: 64, overlap: 16}
  queries: {keywords: 5, summaries: 3, quality: 0}
  mine: {negatives: 1}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over pages of five captions each, two of which have one title."""
    folder = tmp_path_factory.mktemp("album")
    (folder / "album").mkdir()
    rows = []
    for path, pages in zip(CAPTIONS, (24, 8), strict=True):
        texts = [row["text"] for row in read_jsonl(path)]
        gap = " " if "_en" in path.name else ""
        for page in range(pages):
            title = f"Page {page % 23}" if gap else f"第{page}页相册"
            text = gap.join(texts[5 * page : 5 * page + 5])
            rows.append({"_id": f"{path.stem}-{page}", "title": title, "text": text})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "album" / "pages.jsonl").write_text(lines)
    (folder / "album.yaml").write_text(RECIPE)
    return run(folder / "album.yaml", out=folder / "run").path


def qrels(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """(query, document) by split, in their order."""
    return {
        path.name.removeprefix("qrels").removesuffix(".jsonl").lstrip(".") or "test": [
            (row["query-id"], row["corpus-id"]) for row in read_jsonl(path)
        ]
        for path in folder.glob("qrels*.jsonl")
    }


def brute_force(made: Path, corpus: list[dict[str, Any]]) -> Iterator[tuple[str, str, set[str]]]:
    """(query, its split, the relevant passages), character by character, word by word."""
    stored = {
        (one["text"], one["split"]): one for one in read_jsonl(made / "sources/queries.jsonl")
    }
    characters = [set(range(*one["metadata"]["span"])) for one in corpus]
    padded = [" ".join(["", *words_of(f"{one['title']} {one['text']}"), ""]) for one in corpus]
    passages_of: dict[str, list[int]] = {}
    for i, one in enumerate(corpus):
        passages_of.setdefault(one["metadata"]["source"], []).append(i)
    for query in read_jsonl(made / "dataset" / "queries.jsonl"):
        about = query["metadata"]
        result = set()
        spans = stored[query["text"], about["split"]]["rests_on"]
        assert spans[0] == [about["source"], *about["span"]]
        for source, start, stop in spans:
            own = passages_of[source]
            held = set(range(start, stop))
            shared = {i: len(held & characters[i]) for i in own}
            most = max(shared.values())
            result |= (
                {i for i in own if held <= characters[i]}
                or {i for i in own if shared[i] > len(characters[i]) / 2}
                or {min(i for i in own if shared[i] == most)}
            )
        if about["kind"] in ("keyword", "phrase"):
            words = f" {' '.join(words_of(query['text']))} "
            result |= {i for i, text in enumerate(padded) if words in text}
        split = about["split"]
        yield (
            query["_id"],
            split,
            {corpus[i]["_id"] for i in result if corpus[i]["metadata"]["split"] == split},
        )


def test_labels_are_those_of_a_brute_force(made: Path) -> None:
    corpus = read_jsonl(made / "dataset" / "corpus.jsonl")
    assert len(corpus) == 119
    matched: dict[tuple[str, str], set[str]] = {}
    for split, pairs in qrels(made / "dataset").items():
        assert len(set(pairs)) == len(pairs)
        for query, document in pairs:
            matched.setdefault((query, split), set()).add(document)
    right = {(query, split): relevant for query, split, relevant in brute_force(made, corpus)}
    assert matched == right
    assert all(right.values())


def labels(*places: tuple[int, int]) -> PassageLabels:
    passages = [
        Passage(f"d#{n}", "d", start, stop, "", "x" * (stop - start), "en")
        for n, (start, stop) in enumerate(places, 1)
    ]
    return PassageLabels([Passage("c", "c", 0, 300, "", "other", "en"), *passages], [], [])


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (10, 20, [1]),  # one holds it
        (85, 95, [1, 2]),  # two that overlap hold it
        (90, 170, [2]),  # longer than what either neighbour has of it
        (80, 180, [2]),  # a passage, exactly
        (0, 260, [1, 2, 3]),  # all lie in it
        (50, 200, [2]),  # of the first lies half in it, which is not more
        (49, 200, [1, 2]),  # 51 of 100
        (0, 120, [1]),
        (240, 260, [3]),
    ],
)
def test_what_a_span_makes_relevant(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 100), (80, 180), (160, 260)).holding(("d", start, stop)) == relevant


@pytest.mark.parametrize(
    ("start", "stop", "relevant"),
    [
        (60, 145, [2]),  # across a cut: 39 and 45 characters
        (59, 140, [1]),  # 40 and 40: the first
        (99, 100, [2]),  # the white space between them
    ],
)
def test_a_span_that_none_holds(start: int, stop: int, relevant: list[int]) -> None:
    assert labels((0, 99), (100, 200)).holding(("d", start, stop)) == relevant
