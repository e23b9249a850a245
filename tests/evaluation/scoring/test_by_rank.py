"""`gen eval --rank`: shares of a corpus in any order, killed, missing, and of something else."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.data import open_dataset
from retgen.engines.ranks import Rank
from retgen.errors import RanksMissing, RunDirectoryError
from retgen.evaluation.collection import load, text_blocks
from retgen.evaluation.embedders.loading import load_model
from retgen.evaluation.embedders.shares import BLOCK
from retgen.evaluation.mining import mine
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.by_rank import encode_share
from retgen.evaluation.scoring.evaluate import evaluate, shared_folder
from retgen.evaluation.search.base import slug
from retgen.evaluation.training.pairs import read_pairs
from retgen.evaluation.training.variants import with_mined_negatives
from retgen.progress import no_progress
from tests.command import in_process
from tests.conftest import Gen, Write

pytestmark = pytest.mark.usefixtures("one_torch_thread")

DOCUMENTS = 2 * BLOCK + 800
MODEL = "static:minilm"
COLOURS = "red", "green", "blue", "black", "white", "brown", "grey"
THINGS = "kettle", "train", "apple", "river", "window"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blocks of documents, many of which read alike; 15 queries."""
    folder = tmp_path_factory.mktemp("by_rank") / "corpus"
    folder.mkdir()
    tables: dict[str, list[dict[str, object]]] = {
        "corpus": [
            {"_id": f"d{i}", "title": "", "text": f"{COLOURS[i % 7]} {THINGS[i % 5]} {i % 1000}"}
            for i in range(DOCUMENTS)
        ],
        "queries": [
            {"_id": f"q{i}", "text": f"the {COLOURS[i % 7]} {THINGS[i % 5]} number {i}"}
            for i in range(15)
        ],
        "qrels": [
            {"query-id": f"q{i}", "corpus-id": f"d{i + 1000 * (i % 8)}", "score": 1}
            for i in range(15)
        ],
    }
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def encoded(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What three ranks have left, the last one first."""
    folder = tmp_path_factory.mktemp("encoded")
    shares = [encode_share(corpus, [MODEL], Rank(i, 3), out=folder) for i in (2, 0, 1)]
    assert [(s.documents, s.kept) for s in shares] == [(800, 0), (BLOCK, 0), (BLOCK, 0)]
    return folder


@pytest.fixture
def out(encoded: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(encoded, tmp_path / "out"))


@pytest.fixture
def own(corpus: Path, tmp_path: Path) -> Path:
    """The corpus, to be changed."""
    return Path(shutil.copytree(corpus, tmp_path / "own"))


def results(folder: Path, path: Path, model: str = MODEL) -> tuple[object, str]:
    """Metrics, and the ranking as it was written."""
    scored = evaluate(path, models=[model], metrics=["nDCG@10", "recall@100"], out=folder)
    (run,) = (folder / "runs").glob("*.trec")
    return scored.to_json()["results"][0]["metrics"], run.read_text()


def blocks_of(folder: Path, model: str = "static--minilm") -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (folder / "embeddings" / model).glob("block@*")}


@pytest.mark.slow
def test_three_ranks_in_any_order_are_one_process(corpus: Path, out: Path, tmp_path: Path) -> None:
    one = tmp_path / "one"
    assert encode_share(corpus, [MODEL], Rank(0, 1), out=one).documents == DOCUMENTS
    assert blocks_of(out) == blocks_of(one)
    assert sorted(blocks_of(out)) == ["block@0", "block@1", "block@2"]
    assert results(out, corpus) == results(one, corpus)
    stated = json.loads((out / "eval.json").read_text())["results"][0]["details"]
    assert stated["notes"] == ["documents encoded by ranks, and kept as float16"]


@pytest.mark.slow
def test_scores_are_those_of_vectors_in_float16(corpus: Path, out: Path) -> None:
    """The search by hand: the model's own vectors, rounded, and all products at once."""
    _, run = results(out, corpus)
    collection, model = load(corpus), load_model(MODEL, "cpu")
    texts = [text for _, block in text_blocks(open_dataset(corpus), 1000) for text in block]

    def unit(rows: Any) -> Any:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    rounded = unit(model.encode(texts)).astype(np.float16).astype(np.float32)
    scores = unit(model.encode([q.text for q in collection.queries])) @ unit(rounded).T
    kept = [line.split() for line in run.splitlines()]
    for row, query in enumerate(collection.queries):
        of = [cells for cells in kept if cells[0] == query.query_id]
        best = np.sort(scores[row])[::-1][: len(of)]
        assert len(of) == 100
        assert np.allclose([float(cells[4]) for cells in of], best, atol=2e-6)
        assert np.allclose([scores[row, int(cells[2][1:])] for cells in of], best, atol=2e-6)


@pytest.mark.slow
def test_a_rank_that_was_stopped_goes_on(corpus: Path, out: Path, tmp_path: Path) -> None:
    def stop(_: str, done: int, __: int, ___: str = "") -> None:
        if done > BLOCK:
            raise KeyboardInterrupt

    place = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        encode_share(corpus, [MODEL], Rank(0, 1), out=place, progress=stop)
    assert list(blocks_of(place)) == ["block@0"]
    with pytest.raises(RanksMissing, match="is shared by 1 ranks, and not finished by 0/1: start"):
        results(place, corpus)
    assert encode_share(corpus, [MODEL], Rank(0, 1), out=place).kept == BLOCK
    assert blocks_of(place) == blocks_of(out)


@pytest.mark.slow  # a process of its own, twice
def test_a_rank_that_was_killed_goes_on(
    corpus: Path, tmp_path: Path, models: dict[str, Path]
) -> None:
    model, a, b = str(models["dense"]), tmp_path / "a", tmp_path / "b"
    words = ["eval", str(corpus), "--model", model, "--rank", "0/2", "--out", str(a), "--quiet"]
    command = [sys.executable, "-m", "retgen.cli", *words]
    process = subprocess.Popen(command)
    block = a / "embeddings" / slug(model) / "block@0"
    until = time.monotonic() + 300
    while not block.exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(blocks_of(a, slug(model))) == ["block@0"]
    written = block.stat().st_mtime_ns
    encode_share(corpus, [model], Rank(1, 2), out=a)
    with pytest.raises(RanksMissing, match="not finished by 0/2: start"):
        results(a, corpus, model)
    assert subprocess.run(command, check=True).returncode == 0
    assert block.stat().st_mtime_ns == written
    encode_share(corpus, [model], Rank(0, 1), out=b)
    assert results(a, corpus, model) == results(b, corpus, model)


@pytest.mark.slow  # a transformer
def test_a_transformer_and_how_many_texts_it_cuts(dataset: Write, tmp_path: Path) -> None:
    texts = {f"d{i}": f"a {COLOURS[i % 7]} {THINGS[i % 5]} " * (1 + i % 4) for i in range(80)}
    path = dataset(texts, {"q": "a red kettle"}, [("q", "d0", 1)], "texts")
    options, folder = Options(max_length=12), tmp_path / "out"
    for i in range(2):  # the second has no document
        encode_share(path, ["minilm"], Rank(i, 2), out=folder, options=options)
    scored = [
        evaluate(path, models=["minilm"], metrics=["nDCG@10"], out=place, options=options)
        for place in (folder, tmp_path / "plain")
    ]
    first, second = (one.to_json()["results"][0] for one in scored)
    assert first["metrics"] == second["metrics"]
    assert first["details"]["truncated"] == {"documents": 20, "queries": 0}
    assert second["details"]["truncated"] == {"documents": 20, "queries": 0}


def test_the_command_names_ranks_that_never_came(dataset: Write, gen: Gen) -> None:
    path = dataset({"a": "red apples", "b": "pears"}, {"q": "apples"}, [("q", "a", 1)], "few")
    place = Path("outputs/eval_few/embeddings/static--minilm")
    done = gen("eval", path, "--model", MODEL, "--rank", "0/3")
    assert done.stdout == (
        f"{place}: rank 0/3 has encoded its 2 documents. When all 3 ranks have ended, score "
        f"them with\n  gen eval {path} --model static:minilm\n"
    )
    done = gen("eval", path, "--model", MODEL)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"gen: {place} is shared by 3 ranks, and not finished by 1/3, 2/3: start what is missing "
        f"with --rank, or remove {place} to encode all here"
    )
    shown = gen("eval", path, "--model", MODEL, "--rank", "0/3", "--json")
    assert json.loads(shown.stdout) == {
        "path": str(place), "rank": "0/3", "documents": 2, "kept": 2,
    }  # fmt: skip


def test_ranks_of_something_else_are_refused(own: Path, out: Path) -> None:
    place = shared_folder(out) / "static--minilm"
    again = f"or remove {place} to begin again"
    with pytest.raises(RunDirectoryError) as refused:
        encode_share(own, [MODEL], Rank(1, 4), out=out)
    assert str(refused.value) == (
        f"{place} is shared by 3 ranks, and this is rank 1/4: give the same number, {again}"
    )
    prompt = Options(document_prompt="passage: ")
    others = (
        f"{place}: ranks encoded with other weights of the model or other options (--dtype, "
        f"--max-length, prompts, --attn-implementation): give the same, {again}"
    )
    with pytest.raises(RunDirectoryError) as refused:
        encode_share(own, [MODEL], Rank(1, 3), out=out, options=prompt)
    assert str(refused.value) == others
    with pytest.raises(RunDirectoryError) as refused:
        evaluate(own, models=[MODEL], out=out, options=prompt)
    assert str(refused.value) == others
    stated = json.loads((place / "ranks.json").read_text())
    (place / "ranks.json").write_text(json.dumps(stated | {"retgen": "0.0.1"}))
    with pytest.raises(RunDirectoryError, match=r"other ranks have retgen 0\.0\.1, this one has"):
        encode_share(own, [MODEL], Rank(1, 3), out=out)
    (place / "ranks.json").write_text(json.dumps(stated))
    rows = (own / "corpus.jsonl").read_text().splitlines(keepends=True)
    (own / "corpus.jsonl").write_text("".join(rows[:-1]))
    with pytest.raises(RunDirectoryError, match=r"encode a corpus of 8,992 documents and .* 8,991"):
        encode_share(own, [MODEL], Rank(1, 3), out=out)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["damaged", "gone", "changed"])
def test_a_block_that_does_not_fit_names_its_rank(own: Path, out: Path, harm: str) -> None:
    place = shared_folder(out) / "static--minilm"
    if harm == "damaged":
        data = bytearray((place / "block@2").read_bytes())
        data[-1] ^= 1
        (place / "block@2").write_bytes(data)
    elif harm == "gone":
        (place / "block@2").unlink()
    else:
        rows = (own / "corpus.jsonl").read_bytes().splitlines(keepends=True)
        rows[-1] = rows[-1].replace(b"text", b"TEXT").replace(b'"title": ""', b'"text": "x"')
        (own / "corpus.jsonl").write_bytes(b"".join(rows))
    with pytest.raises(RanksMissing) as refused:
        results(out, own)
    assert str(refused.value) == (
        f"{place} is shared by 3 ranks, and block 2 is gone, damaged, or of documents that have "
        "changed since; it is encoded by 2/3: start what is missing with --rank, or remove "
        f"{place} to encode all here"
    )
    if harm != "changed":
        assert encode_share(own, [MODEL], Rank(2, 3), out=out).kept == 0
        results(out, own)


@pytest.mark.slow
def test_mining_reads_what_ranks_have_encoded(corpus: Path, out: Path) -> None:
    shared = shared_folder(out)
    texts = [text for _, block in text_blocks(open_dataset(corpus), 1000) for text in block]
    options = Options(shared=shared)
    mined = mine(texts, ["the red kettle number 0", "x"], [[0], []], by=MODEL, options=options)
    assert mined == mine(texts, ["the red kettle number 0", "x"], [[0], []], by=MODEL)
    pairs = read_pairs(corpus)
    trained = with_mined_negatives(pairs, corpus, 2, MODEL, options, no_progress)
    alone = with_mined_negatives(pairs, corpus, 2, MODEL, Options(), no_progress)
    assert trained == alone
    assert [len(row) for row in trained.negatives] == [2] * 15
    (shared / "static--minilm" / "rank@1@of@3").unlink()
    with pytest.raises(RanksMissing, match="not finished by 1/3: start"):
        mine(texts, ["x"], [[]], by=MODEL, options=options)
    with pytest.raises(RanksMissing, match="not finished by 1/3: start"):
        with_mined_negatives(pairs, corpus, 2, MODEL, options, no_progress)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", MODEL, "--rank", "3/3"], "ranks count from 0, so of 3 they are 0/3 to 2/3"),
        (["--model", MODEL, "--rank", "3"], "--rank 3: must be I/N, e.g. 3/64"),
        (["--rank", "0/2"], "--rank: encodes by one model, and none is named; give one"),
        (
            ["--model", MODEL, "--model", "minilm", "--rank", "0/2"],
            "--rank: encodes by one model, and 2 are named; give one embedder, as --model minilm",
        ),
        (
            ["--model", "bm25", "--rank", "0/2"],
            "--rank: --model bm25 gives no vector of a document, so no share can be encoded; leave "
            "--rank out, or name an embedder, as --model minilm",
        ),
        (["--model", "minilmm", "--rank", "0/2"], "--model minilmm: there is no such model"),
        (["--model", MODEL, "--rank", "0/2", "--seeds", "2"], "--rank: encodes one data set"),
    ],
)
def test_bad_input_is_one_line(
    dataset: Write, tmp_path: Path, words: list[str], message: str
) -> None:
    path = dataset({"a": "red apples"}, {"q": "apples"}, [("q", "a", 1)])
    done = in_process("eval", path, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "outputs").exists()
