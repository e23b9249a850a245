"""A run's documents cut in another way: the same queries, and labels that follow from their spans."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen import export, run, validate
from retgen.errors import DatasetError, UsageError
from retgen.generators import family
from retgen.generators.capretrieval.language import words_of
from retgen.generators.capretrieval.passages import CAPTIONS, Holders, Passage, PassageLabels
from tests.conftest import Gen, Write, read_jsonl

pytestmark = pytest.mark.filterwarnings("ignore")  # inside jieba, while the run is made
OWN = "tokens=64,overlap=16"
RECIPE = """name: album
family: capretrieval
seed: 3
params:
  source: {path: album, licence: CC0-1.0}
  passages: {tokens: 64, overlap: 16}
  queries: {keywords: 5, summaries: 3, common: 0.1, quality: 0}
  mine: {negatives: 1}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over pages of five captions each, two of which have one title; the source is gone."""
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
    result = run(folder / "album.yaml", out=folder / "run")
    shutil.rmtree(folder / "album")
    return result.path


def qrels(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """(query, document) by split, in their order, of a run or of an export for MTEB."""
    return {
        path.name.removeprefix("qrels").removesuffix(".jsonl").lstrip(".") or "test": [
            (row["query-id"], row["corpus-id"]) for row in read_jsonl(path)
        ]
        for path in folder.glob("qrels*.jsonl")
    }


def test_its_own_cutting_gives_its_own_files(made: Path, tmp_path: Path) -> None:
    folder = export(made, "mteb", tmp_path / "mteb", OWN)
    names = ["corpus", "queries", "qrels", "qrels.dev", "qrels.train"]
    of_mteb = ["descriptive_stats", "eval.yaml", "gates.json", "task.py"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["README.md", *of_mteb, *(f"{name}.jsonl" for name in names)]
    )
    for name in names:
        before = (made / "dataset" / f"{name}.jsonl").read_bytes()
        assert (folder / f"{name}.jsonl").read_bytes() == before
        assert before.count(b"\n") > 20


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


@pytest.mark.parametrize(
    ("passages", "documents"),
    [(OWN, 119), ("tokens=16,overlap=4", 435), ("tokens=100,overlap=0", 70), ("none", 32)],
)
def test_labels_are_those_of_a_brute_force(
    made: Path, tmp_path: Path, passages: str, documents: int
) -> None:
    folder = export(made, "mteb", tmp_path / "mteb", passages)
    corpus = read_jsonl(folder / "corpus.jsonl")
    assert len(corpus) == documents
    sources = {row["id"]: row for row in read_jsonl(made / "sources" / "documents.jsonl")}
    split_of = {
        row["source"]: row["split"] for row in read_jsonl(made / "sources" / "passages.jsonl")
    }
    for one in corpus:
        about = one["metadata"]
        source = sources[about["source"]]
        start, stop = about["span"]
        assert (one["text"], one["title"]) == (source["text"][start:stop], source["title"])
        assert one["_id"].rpartition("#")[0] == about["source"] or one["_id"] == about["source"]
        assert about["split"] == split_of[about["source"]]
    assert (folder / "queries.jsonl").read_bytes() == (
        made / "dataset" / "queries.jsonl"
    ).read_bytes()
    matched: dict[tuple[str, str], set[str]] = {}
    for split, pairs in qrels(folder).items():
        assert len(set(pairs)) == len(pairs)
        for query, document in pairs:
            matched.setdefault((query, split), set()).add(document)
    right = {(query, split): relevant for query, split, relevant in brute_force(made, corpus)}
    assert matched == right
    assert all(right.values())


def test_whole_documents_have_their_ids_and_texts(made: Path, tmp_path: Path) -> None:
    folder = export(made, "beir", tmp_path / "beir", "none")
    rows = [(row["_id"], row["title"], row["text"]) for row in read_jsonl(folder / "corpus.jsonl")]
    assert rows == [
        (row["id"], row["title"], row["text"])
        for row in read_jsonl(made / "sources" / "documents.jsonl")
    ]
    assert validate(folder).errors == 0


def test_a_title_finds_all_passages_of_its_documents(made: Path, tmp_path: Path) -> None:
    """Page 0 is the title of two documents of English captions."""
    queries = {row["text"]: row for row in read_jsonl(made / "dataset" / "queries.jsonl")}
    for passages in (OWN, "tokens=16,overlap=4", "none"):
        folder = export(made, "mteb", tmp_path / passages, passages)
        ids = [
            row["_id"] for row in read_jsonl(folder / "corpus.jsonl") if row["title"] == "Page 0"
        ]
        query = queries["Page 0"]
        pairs = qrels(folder)[query["metadata"]["split"]]
        assert [document for name, document in pairs if name == query["_id"]] == ids
        assert {name.partition("#")[0] for name in ids} == {"captions_en-0", "captions_en-23"}


def labels(*places: tuple[int, int]) -> PassageLabels:
    passages = [
        Passage(f"d#{n}", "d", start, stop, "", "x" * (stop - start), "en")
        for n, (start, stop) in enumerate(places, 1)
    ]
    return PassageLabels([Passage("c", "c", 0, 300, "", "other", "en"), *passages], Holders([], []))


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


# --- the command --------------------------------------------------------------------------------


def test_the_command(made: Path, gen: Gen) -> None:
    done = gen("export", made, "--to", "beir", "--passages", "tokens=32,overlap=8", "--json")
    assert done.returncode == 0, done.stderr
    folder = made / "exports" / "beir_passages_32_8"
    assert json.loads(done.stdout) == {
        "path": str(folder),
        "to": "beir",
        "notes": [],
        "files": [
            "README.md",
            "corpus.jsonl",
            "qrels/dev.tsv",
            "qrels/test.tsv",
            "qrels/train.tsv",
            "queries.jsonl",
        ],
    }
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "corpus.jsonl",
        "qrels",
        "queries.jsonl",
    ]
    card = (folder / "README.md").read_text().partition("\n---\n")[2].splitlines()
    assert card[1] == "# run"
    assert card[card.index("```", 6) + 2].startswith(
        "Its documents are cut into passages of 32 words, of which 8 stand in the passage before "
        "as well. The qrels were made again for this cutting, without any model."
    )


def test_the_card_says_it_after_the_header_of_the_layout(made: Path, tmp_path: Path) -> None:
    folder = export(made, "mteb", tmp_path / "mteb", "none")
    card = (folder / "README.md").read_text()
    assert card.startswith("---\npretty_name: run\nlanguage:\n")
    assert "\n\nIts documents are whole. The qrels were made again" in card
    assert card.index("is a ready task, ") < card.index("Its documents are whole.")
    assert "eng-Latn" in (folder / "task.py").read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tokens=4", "--passages, tokens: must be greater than or equal to 16, not '4'"),
        (
            "tokens=many",
            "--passages, tokens: must be a valid integer, unable to parse string as an integer, not 'many'",
        ),
        ("tokens=40,overlap=30", "--passages: overlap 30 is more than half of tokens 40"),
        (
            "words=40",
            "--passages, words: unknown key. Allowed: tokens, overlap",
        ),
        (
            "256",
            "--passages 256: must be tokens=256,overlap=32, or none for whole documents",
        ),
        (
            "tokens=64,tokens=32",
            "--passages tokens=64,tokens=32: must be tokens=256,overlap=32, or none for whole "
            "documents",
        ),
    ],
)
def test_sizes_that_are_none(made: Path, tmp_path: Path, given: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        export(made, "beir", tmp_path / "out", given)
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


def test_a_family_that_cuts_nothing(limit_run: Path, gen: Gen, tmp_path: Path) -> None:
    done = gen("export", limit_run, "--to", "beir", "--passages", "none", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gen: --passages: documents of the family limit are not cut, they are written as they are. "
        "Give a run of the family capretrieval\n"
    )
    assert not (tmp_path / "out").exists()
    assert family("multiconir").rechunk(limit_run, 1, None) is None


def test_a_data_set_that_is_no_run(dataset: Write, gen: Gen) -> None:
    path = dataset({"d": "text"}, {"q": "text"}, [("q", "d", 1)], "foreign")
    done = gen("export", path, "--to", "beir", "--passages", "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"gen: {path} is no run directory, so its source documents are not known: --passages cuts "
        "the documents of a run. Give a run of the family capretrieval\n"
    )


def test_a_run_without_what_it_rests_on(made: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(made, broken)
    lines = (broken / "sources" / "queries.jsonl").read_text().splitlines(keepends=True)
    (broken / "sources" / "queries.jsonl").write_text("".join(lines[:5]) + '{"text": "half\n')
    with pytest.raises(DatasetError, match=r"broken/sources cannot be read \(.*make the run again"):
        export(broken, "beir", tmp_path / "out", "none")
    (broken / "sources" / "queries.jsonl").unlink()
    with pytest.raises(DatasetError, match=r"No such file or directory.*queries\.jsonl"):
        export(broken, "beir", tmp_path / "out", "none")
    (broken / "manifest.json").unlink()
    with pytest.raises(DatasetError) as caught:
        export(broken, "beir", tmp_path / "out", "none")
    assert str(caught.value) == (
        f"{broken}: its manifest.json cannot be read, so the run is not finished or was changed: "
        "finish it with `gen run`, or make it again with --fresh"
    )
    assert not (tmp_path / "out").exists()
