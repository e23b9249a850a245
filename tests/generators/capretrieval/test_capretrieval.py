"""Whole runs of the family, offline: counts that add up, what is written, what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from retgen import evaluate, export, plan, run, validate
from retgen.errors import RecipeError, SourceRefused
from tests.conftest import Gen, Write, read_jsonl
from tests.generators.capretrieval.texts import (
    CHINESE,
    ENGLISH,
    FRENCH,
    GERMAN,
    HEBREW,
    TEXTS,
    write_recipe,
    write_rows,
)
from tests.pages import Read

Row = dict[str, Any]
BROKEN = [  # rows that are no documents
    '{"_id": "e", "text": " "}',
    json.dumps({"_id": "x", "text": TEXTS[0]}),
    '{"_id": "d1", "text": "again"}',
    "{broken",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight documents, the first with a title, and four rows that are none."""
    folder = tmp_path_factory.mktemp("capretrieval")
    source = write_rows(folder / "kb.jsonl", TEXTS, ["Windmills to visit"])
    source.write_text(source.read_text() + "\n".join(BROKEN))
    return run(write_recipe(folder / "kb.yaml", source), out=folder / "kb").path


def manifest(path: Path) -> Row:
    result: Row = json.loads((path / "manifest.json").read_text())
    return result


def rules(path: Path) -> dict[str, int]:
    return dict(Counter(row["rule"] for row in read_jsonl(path / "rejected.jsonl")))


def pairs(path: Path) -> list[Row]:
    return [
        row
        for file in sorted((path / "training").glob("*.parquet"))
        for row in pq.read_table(file).to_pylist()
    ]


def test_a_test_set_by_rules_says_what_it_favours(finished: Path, tmp_path: Path) -> None:
    tested = len({row["query-id"] for row in read_jsonl(finished / "dataset" / "qrels.jsonl")})
    caution = (
        f"{tested} of {tested} queries are taken from the documents by rules and repeat their "
        "words: scores favour word match, so do not use them to choose between BM25 and embedders"
    )
    assert manifest(finished)["notes"]["caution"] == f"test: {caution}"
    card = (finished / "dataset" / "README.md").read_text()
    assert f"\nTest: {caution}.\n" in card
    assert "A retrieval data set of a source's own documents, with queries found in them" in card
    page = (finished / "report.html").read_text()
    assert f"<b>Meaning beyond words.</b> Test: {caution}." in page
    assert "no score here is one on queries that people type" in " ".join(Read(page).text.split())
    scored = evaluate(finished, models=["bm25"], metrics=["nDCG@10"], out=tmp_path / "eval")
    assert scored.datasets[0].all_notes[0] == caution
    assert (tmp_path / "eval" / "eval.html").read_text().count(caution) == 2  # summary and notes


def test_rows_read_are_the_corpus_and_what_is_rejected(finished: Path) -> None:
    counted = rules(finished)
    assert counted.pop("query/quality") > 0
    assert counted == {
        "source/empty": 1,
        "source/duplicate-text": 1,
        "source/duplicate-id": 1,
        "source/json": 1,
        "query/ambiguous": 1,
    }
    where = [
        row["reason"].partition(":")[0] + ":" + row["reason"].split(":")[1]
        for row in read_jsonl(finished / "rejected.jsonl")[:4]
    ]
    assert where == [f"kb.jsonl:{n}" for n in (9, 10, 11, 12)]
    counts = manifest(finished)["counts"]
    assert counts["documents"] + 4 == 12
    assert counts["queries"] == len(read_jsonl(finished / "dataset" / "queries.jsonl"))
    assert counts["qrels"] == len(read_jsonl(finished / "dataset" / "qrels.jsonl"))
    assert counts["rejected"] == sum(rules(finished).values())


def test_the_corpus_is_the_source_and_every_query_names_what_it_rests_on(finished: Path) -> None:
    """That spans, splits and negatives are right is the proof's to say."""
    assert validate(finished).ok
    corpus = read_jsonl(finished / "dataset" / "corpus.jsonl")
    assert [(row["_id"], row["title"], row["text"]) for row in corpus] == [
        (f"d{n}", "Windmills to visit" if n == 0 else "", text) for n, text in enumerate(TEXTS)
    ]
    assert Counter(row["metadata"]["split"] for row in corpus) == {"train": 6, "dev": 1, "test": 1}
    queries = read_jsonl(finished / "dataset" / "queries.jsonl")
    assert len({row["text"].casefold() for row in queries}) == len(queries)
    columns = "kind set evidence score side source span found_in language split"
    assert all(list(row["metadata"]) == columns.split() for row in queries)
    kinds = {row["metadata"]["kind"] for row in queries}
    assert kinds == {"keyword", "phrase", "title", "summary"}
    (title,) = [row for row in queries if row["metadata"]["kind"] == "title"]
    note = title["metadata"]
    assert (title["text"], note["set"], note["found_in"]) == ("Windmills to visit", "found", "")


def test_a_positive_lacks_the_sentence_its_query_was_made_from(finished: Path) -> None:
    queries = {row["_id"]: row for row in read_jsonl(finished / "dataset" / "queries.jsonl")}
    rows = pairs(finished)
    trained = {row["query-id"] for row in read_jsonl(finished / "dataset" / "qrels.train.jsonl")}
    assert len(rows) >= 0.9 * len(trained)
    for row in rows:
        note = queries[row["query-id"]]["metadata"]
        source = TEXTS[int(row["positive-id"][1:])]
        assert len(set(row["negatives-id"])) == 4
        if note["kind"] == "summary":
            assert source[slice(*note["span"])] not in row["positive"]
        elif note["kind"] == "title":
            assert row["positive"] == source
        else:
            assert row["positive"].endswith(source)


def test_other_commands_of_a_run(finished: Path, tmp_path: Path, gen: Gen) -> None:
    recipe = finished.parent / "kb.yaml"
    known = plan(recipe)
    assert (known.documents, known.queries, known.unknown) == (8, 46, False)
    assert known.notes == (
        "hypernyms and questions are a model's work (--model); rules write the other queries",
        "the licence of your documents is not stated: set `licence:` of the source, or give "
        "`gen publish --licence`",
    )
    done = gen("preview", recipe)
    assert done.returncode == 0, done.stderr
    assert "Windmills to visit" in done.stdout
    for layout in ("beir", "mteb"):
        made = export(finished, layout, out=tmp_path / layout)
        assert validate(made.path if hasattr(made, "path") else tmp_path / layout).errors == 0


def test_long_documents_are_cut_into_passages(tmp_path: Path) -> None:
    texts = [" ".join(TEXTS[n:] + TEXTS[:n])[: 400 + 10 * n] for n in (0, 3, 5)]
    source = write_rows(tmp_path / "long.jsonl", texts, ["First", "Second", "Third"])
    recipe = write_recipe(tmp_path / "long.yaml", source, "  passages: {tokens: 24, overlap: 6}\n")
    path = run(recipe, out=tmp_path / "long").path
    corpus = read_jsonl(path / "dataset" / "corpus.jsonl")
    assert [row["_id"] for row in corpus][:3] == ["d0#1", "d0#2", "d0#3"]
    assert len({(row["metadata"]["source"], row["metadata"]["split"]) for row in corpus}) == 3
    assert validate(path).ok


@pytest.mark.slow
def test_languages_side_by_side(tmp_path: Path) -> None:
    source = write_rows(
        tmp_path / "mixed.jsonl", [*TEXTS[:4], GERMAN, FRENCH, CHINESE, HEBREW], 7 * [""] + ["עיר"]
    )
    recipe = write_recipe(tmp_path / "mixed.yaml", source)
    assert plan(recipe).notes[1:2] == (
        "Hebrew has no rules: without a model its documents get no query but their titles",
    )
    path = run(recipe, out=tmp_path / "mixed").path
    corpus = read_jsonl(path / "dataset" / "corpus.jsonl")
    assert [row["metadata"]["language"] for row in corpus] == [*4 * ["en"], "de", "fr", "zh", "he"]
    queries = read_jsonl(path / "dataset" / "queries.jsonl")
    counts = Counter(row["metadata"]["language"] for row in queries)
    assert counts["he"] == 1
    assert min(counts[code] for code in ("en", "de", "fr", "zh")) >= 1
    assert sorted(manifest(path)["languages"]) == [
        "deu-Latn",
        "eng-Latn",
        "fra-Latn",
        "heb-Hebr",
        "zho-Hans",
    ]


CHAPTERS = "or one file with headings, whose chapters are documents then"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [ENGLISH],
            "there is one document: none can be held out for a test split. Give 2 documents "
            f"or more that differ, {CHAPTERS}.",
        ),
        (
            1000 * [ENGLISH],
            "there is one document: none can be held out for a test split. Give 2 "
            f"documents or more that differ, {CHAPTERS}. Refused are 999 by source/duplicate-text, the first at "
            "kb.jsonl:2: its text is that of 'd0'.",
        ),
        (
            [f"{ENGLISH}{n * '!'}" for n in range(30)],
            "there are 30 documents that share their wording "
            "(near-duplicates, or filled-in templates), which have to stay on one side: none can be "
            f"held out for a test split. Give 2 documents or more that differ, {CHAPTERS}.",
        ),
    ],
)
def test_nothing_to_hold_out(tmp_path: Path, texts: list[str], message: str) -> None:
    recipe = write_recipe(tmp_path / "kb.yaml", write_rows(tmp_path / "kb.jsonl", texts))
    with pytest.raises(SourceRefused) as matched:
        run(recipe, out=tmp_path / "out")
    assert str(matched.value) == f"params.source: {message}"


def test_nothing_to_ask(tmp_path: Path) -> None:
    said = "בספרייה הישנה נמצאים כתבי יד נדירים שאיש לא קרא מאז המלחמה הגדולה בצפון."
    source = write_rows(tmp_path / "he.jsonl", [HEBREW, said])
    with pytest.raises(SourceRefused) as matched:
        run(write_recipe(tmp_path / "he.yaml", source, "  language: he\n"), out=tmp_path / "he")
    assert str(matched.value) == (
        "params.source: none of the 1 of 2 documents that are held out for the test split (Hebrew "
        "1) has a query that can be used, so nothing could be scored (0 queries of other splits; "
        "rejected: none). Hebrew has no rules: name a model that writes (--model), more documents, "
        "or a larger share (params.splits.test)."
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("  splits: {test: 0}\n", "params.splits.test: must be greater than 0, not 0"),
        ("  splits: {test: 0.6, dev: 0.4}\n", "test and dev leave no document to train on"),
        ("  mine: {negatives: 51}\n", "negatives 51 is more than depth 50"),
        ("  queries: {keywords: 0, summaries: 0}\n", "keywords and summaries are both 0"),
        ("  passages: {tokens: 20, overlap: 11}\n", "overlap 11 is more than half of tokens 20"),
        ("  decontaminate: {test_sets: [nowhere]}\n", "there is no data set"),
        ("  language: english\n", "params.language"),
    ],
)
def test_parameters_that_make_no_sense(tmp_path: Path, params: str, message: str) -> None:
    source = write_rows(tmp_path / "kb.jsonl", TEXTS)
    with pytest.raises(RecipeError) as matched:
        plan(write_recipe(tmp_path / "kb.yaml", source, params))
    assert message in str(matched.value)


def test_what_a_test_set_holds_is_left_out_and_named(tmp_path: Path, dataset: Any) -> None:
    test_set = dataset(
        {"t1": "nothing of the kind", "t2": TEXTS[2].replace("Chefs", "Cooks")},
        {"tq": "river bank"},
        [("tq", "t1", 1)],
        "others",
    )
    source = write_rows(tmp_path / "kb.jsonl", TEXTS)
    recipe = write_recipe(
        tmp_path / "kb.yaml", source, f"  decontaminate: {{test_sets: [{test_set}]}}\n"
    )
    path = run(recipe, out=tmp_path / "out").path
    assert manifest(path)["counts"]["documents"] == 7
    assert rules(path)["decontaminated/document"] == 1
    rejected = read_jsonl(path / "rejected.jsonl")
    (drop,) = [row for row in rejected if row["rule"] == "decontaminated/document"]
    assert drop["reason"] == f"ROUGE-L F1 0.96 with passage t2 of {test_set}"
    assert (drop["record"]["id"], drop["record"]["text"]) == ("d2", TEXTS[2])
    lost = [row for row in rejected if row["rule"] == "decontaminated/query"]
    assert ("river bank", f"ROUGE-L F1 1.00 with query tq of {test_set}") in [
        (row["record"]["text"], row["reason"]) for row in lost
    ]
    assert "river bank" not in {
        row["text"] for row in read_jsonl(path / "dataset" / "queries.jsonl")
    }


def test_a_test_set_that_holds_everything(tmp_path: Path, dataset: Any) -> None:
    test_set = dataset(
        {f"t{n}": text for n, text in enumerate(TEXTS[:3])}, {"q": "who"}, [("q", "t0", 1)], "all"
    )
    source = write_rows(tmp_path / "kb.jsonl", TEXTS[:3])
    recipe = write_recipe(
        tmp_path / "kb.yaml", source, f"  decontaminate: {{test_sets: [{test_set}]}}\n"
    )
    with pytest.raises(SourceRefused) as matched:
        run(recipe, out=tmp_path / "out")
    assert str(matched.value).startswith("params.decontaminate: of 3 documents none is left, since")
    assert rules(tmp_path / "out") == {"decontaminated/document": 3}


@pytest.mark.slow
def test_a_run_outlives_its_source(tmp_path: Path, dataset: Write) -> None:
    (tmp_path / "kb").mkdir()
    for n, text in enumerate(TEXTS):
        (tmp_path / "kb" / f"d{n}.txt").write_text(text)
    test_set = dataset({"t": "nothing of the kind"}, {"q": "who knows"}, [("q", "t", 1)], "others")
    recipe = write_recipe(
        tmp_path / "kb.yaml", tmp_path / "kb", f"  decontaminate: {{test_sets: [{test_set}]}}\n"
    )
    path = run(recipe, out=tmp_path / "out").path
    (tmp_path / "kb").rename(tmp_path / "gone")
    test_set.rename(tmp_path / "gone too")
    assert validate(path).ok
    moved = path.rename(tmp_path / "moved")
    result = validate(moved)
    assert (result.ok, result.proven) == (True, result.statistics["qrels"])
    # what has to be read again has to be there
    with pytest.raises(RecipeError, match=f"there is no source {tmp_path / 'kb'}: give"):
        run(moved / "recipe.yaml", out=tmp_path / "again")


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_ids_that_look_like_dates_stay_texts(tmp_path: Path) -> None:
    from datasets import load_dataset

    days = [f"2023-01-0{i}" for i in range(1, 9)]
    rows = [{"_id": day, "text": text} for day, text in zip(days, TEXTS, strict=True)]
    (tmp_path / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = write_recipe(tmp_path / "kb.yaml", tmp_path / "kb.jsonl")
    path = run(recipe, out=tmp_path / "kb").path
    assert [one for one in validate(path).findings if one.severity == "error"] == []
    assert {file.suffix for file in (path / "dataset").iterdir()} == {".md", ".parquet"}
    folder, cache = str(path / "dataset"), str(tmp_path / "hf")
    assert load_dataset(folder, "corpus", cache_dir=cache)["corpus"]["_id"][:] == days
    for queries in load_dataset(folder, "queries", cache_dir=cache).values():
        assert {one["source"] for one in queries["metadata"]} <= set(days)
    for qrels in load_dataset(folder, cache_dir=cache).values():
        assert set(qrels["corpus-id"]) <= set(days)
