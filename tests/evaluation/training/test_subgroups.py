"""`gen train --compare kw+sm,kw,sm --by set`: what each variant is trained on, either side's scores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import retgen
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.analyses import Analyses
from retgen.evaluation.scoring.significance import compare
from retgen.evaluation.training.page import text as text_of
from retgen.evaluation.training.result import Training
from retgen.evaluation.training.subgroups import Subgroup, Subgroups
from retgen.statistics.clustered import Units

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_torch_thread")]  # it trains

ARMS = ["kw+sm", "kw", "sm"]
CALL: dict[str, Any] = {
    "settings": {"learning_rate": 0.02, "epochs": 2, "batch_size": 8},
    "compare": ARMS,
    "by": "set",
    "metrics": ["recall@1", "nDCG@10"],
}
ANIMALS = "owl cat dog fox bee ant cow pig hen rat elk eel yak emu".split()
PLACES = (
    "river garden kitchen harbour station market forest library mountain bakery "
    "theatre museum prison castle"
).split()


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_pairs(path: Path, rows: list[tuple[str, ...]]) -> None:
    """Rows (query, document, negative, ...)."""
    path.parent.mkdir(exist_ok=True)
    names = ["anchor", "positive", "negative_1", "negative_2"][: len(rows[0]) if rows else 2]
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))]
    pq.write_table(pa.table(columns, names), path)


def write_two_sided(folder: Path) -> Path:
    """28 documents; the first 14 are asked for by a word (KW) and by a sentence (SM).

    Three queries of a third kind, one without any. Training is on the other 14 documents.
    """
    folder.mkdir()
    words = [(animal, place) for animal, place in zip(ANIMALS * 2, PLACES * 2, strict=True)]
    texts = [
        f"the {animal} sleeps near the {place}" if i < 14 else f"a {place} has its own {animal}"
        for i, (animal, place) in enumerate(words)
    ]
    corpus = [{"_id": f"d{i}", "title": "", "text": text} for i, text in enumerate(texts)]
    queries = (
        [
            {
                "_id": f"k{i}",
                "text": animal,
                "metadata": {"set": "KW", "kind": "word", "place": f"p{i}"},
            }
            for i, animal in enumerate(ANIMALS)
        ]
        + [
            {"_id": f"s{i}", "text": f"an animal at rest by a {place}", "metadata": {"set": "SM"}}
            for i, place in enumerate(PLACES[:12])
        ]
        + [{"_id": "n0", "text": "asleep in the woods"}]
    )
    for row in queries:
        row.setdefault("metadata", {}).setdefault("number", row["_id"])  # type: ignore[attr-defined]
    write_rows(folder / "corpus.jsonl", corpus)
    write_rows(folder / "queries.jsonl", queries)
    write_rows(
        folder / "qrels.jsonl",
        [
            {
                "query-id": row["_id"],
                "corpus-id": "d6" if row["_id"] == "n0" else f"d{row['_id'][1:]}",
                "score": 1,
            }
            for row in queries
        ],
    )
    there = words[14:]
    write_pairs(
        folder / "training/kw.parquet",
        [
            (f"{animal}s", texts[14 + i], texts[14 + (i + 1) % 14], texts[14 + (i + 2) % 14])
            for i, (animal, _) in enumerate(there)
        ],
    )
    write_pairs(
        folder / "training/sm.parquet",
        [
            (f"what a {place} has", texts[14 + i], texts[14 + (i + 3) % 14])
            for i, (_, place) in enumerate(there[:6])
        ],
    )
    return folder


@pytest.fixture(scope="module")
def two_sided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_sided(tmp_path_factory.mktemp("sides") / "zoo")


@pytest.fixture(scope="module")
def outside(two_sided: Path) -> Path:
    """The documents trained on, with a query that is trained on and one that is not."""
    folder = two_sided.parent / "there"
    folder.mkdir()
    (folder / "corpus.jsonl").write_bytes((two_sided / "corpus.jsonl").read_bytes())
    write_rows(
        folder / "queries.jsonl",
        [
            {"_id": "a", "text": "owls", "metadata": {"sett": "KW"}},
            {"_id": "b", "text": "a hen"},
        ],
    )
    write_rows(
        folder / "qrels.jsonl",
        [
            {"query-id": "a", "corpus-id": "d14", "score": 1},
            {"query-id": "b", "corpus-id": "d22", "score": 1},
        ],
    )
    return folder


@pytest.fixture(scope="module")
def split(
    two_sided: Path, outside: Path, short: str, tmp_path_factory: pytest.TempPathFactory
) -> Training:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RETGEN_CACHE", str(tmp_path_factory.mktemp("cache")))
        return retgen.train(two_sided, short, outside=outside, out=two_sided.parent / "out", **CALL)


@pytest.mark.slow
def test_arms_differ_in_their_pairs_alone(split: Training) -> None:
    """sm has one negative a pair, so all variants have; steps are those of the first."""
    result = split.to_json()
    assert [variant.name for variant in split.variants] == list(result["arms"]) == ARMS
    assert [(a["pairs"], a["hard_negatives"], a["steps"]) for a in result["arms"].values()] == [
        (20, 1, [8]),
        (14, 1, [8]),
        (6, 1, [8]),
    ]
    out = split.folder
    assert [Path(a["models"][0]) for a in result["arms"].values()] == [
        out / "model",
        out / "pairs-kw/model",
        out / "pairs-sm/model",
    ]
    of = [
        json.loads((out / name / "identity.json").read_text())["config"]
        for name in ("", "pairs-kw", "pairs-sm")
    ]
    assert of[1] == of[2] == of[0] | {"max_steps": 8}
    assert split.variants[2].pairs.anchors == [f"what a {place} has" for place in PLACES[:6]]
    assert split.variants[0].pairs.anchors[:14] == split.variants[1].pairs.anchors


def test_sides_are_scored_as_sets_of_their_own(split: Training, two_sided: Path) -> None:
    result = split.to_json()
    test = result["test"]
    stored = json.loads((split.folder / "train.json").read_text())
    assert {**stored, **json.loads(json.dumps(result))} == stored
    assert (test["sides"]["column"], test["sides"]["measure"]) == ("set", "nDCG@10")
    subgroups = {subgroup["value"]: subgroup for subgroup in test["sides"]["results"]}
    assert {value: subgroup["queries"] for value, subgroup in subgroups.items()} == {
        "KW": 14,
        "SM": 12,
        "(none)": 1,
        "all queries": 27,
    }
    rows = {"KW": range(14), "SM": range(14, 26), "(none)": [26], "all queries": range(27)}
    folders = {"kw+sm": "", "kw": "pairs-kw", "sm": "pairs-sm"}
    values = {
        name: np.load(split.folder / place / "scores/test_after.npy")
        for name, place in folders.items()
    } | {when: np.load(split.folder / f"scores/test_{when}.npy") for when in ("idf", "before")}
    names = [*ARMS, "idf", "before"]
    for value, at in rows.items():
        assert list(subgroups[value]["scores"]) == [
            *names,
            "bm25",
            *(f"minmax:bm25+{name}" for name in names),
        ]
        for name, of in values.items():
            assert list(subgroups[value]["scores"][name].values()) == pytest.approx(
                of[list(at)].mean(axis=0).tolist(), abs=1e-12
            )
    assert subgroups["all queries"]["scores"]["kw"] == pytest.approx(test["arms"]["kw"], abs=1e-12)
    assert subgroups["all queries"]["comparisons"] == test["comparisons"]
    assert (subgroups["(none)"]["comparisons"], subgroups["(none)"]["intervals"]) == ([], {})
    assert subgroups["SM"]["note"] is None
    assert subgroups["(none)"]["note"] == (
        "no intervals: too few independent units: 1 groups of queries that share relevant "
        "documents, 12 needed"
    )


def test_they_are_as_gen_eval_has_them(split: Training, two_sided: Path, tmp_path: Path) -> None:
    scored = retgen.evaluate(
        two_sided,
        models=["bm25", split.model, str(split.folder / "pairs-kw/model")],
        metrics=["recall@1", "nDCG@10"],
        analyses=Analyses(by=("set",)),
        out=tmp_path,
        cache=False,
    ).to_json()
    names = dict(zip(["bm25", split.model], ["bm25", "before"], strict=True))
    rows = {
        (row["value"], names.get(row["model"], "kw")): row["metrics"]
        for row in scored["by"]["set"]["results"]
    }
    subgroups = {
        subgroup["value"]: subgroup for subgroup in split.to_json()["test"]["sides"]["results"]
    }
    assert len(rows) == 12
    for (value, name), metrics in rows.items():
        assert subgroups[value]["scores"][name] == pytest.approx(metrics, abs=1e-12)


def test_what_is_shown(split: Training) -> None:
    lines = text_of(split).splitlines()
    head = lines.index(next(line for line in lines if line.startswith("test: set ")))
    assert re.split(r"\s{2,}", lines[head]) == [
        "test: set",
        "queries",
        "model",
        "nDCG@10",
        "against untrained",
        "against idf alone",
        "against kw+sm",
    ]
    table = [re.split(r"\s{2,}", line) for line in lines[head + 1 : head + 25]]
    assert [row[:3] for row in table] == [
        [subgroup, queries, model]
        for subgroup, queries in (
            ("KW", "14"),
            ("SM", "12"),
            ("(none)", "1"),
            ("all queries", "27"),
        )
        for model in ("untrained", "idf alone", *ARMS, "BM25")
    ]
    assert [len(row) for row in table[:6]] == [4, 5, 6, 7, 7, 4]
    assert split.to_json()["dilemma"] in lines[:head]
    assert [line for line in lines if line.startswith("note: there: ")] == [
        "note: there: 14 of its 28 documents and 1 of its 2 queries stand in the training pairs",
        "note: there: its queries have no column set, so it is scored whole",
    ]
    assert split.to_json()["outside"]["there"]["sides"] is None
    assert "note: no training pair is a pair of the test set zoo" in lines
    page = (split.folder / "train.html").read_text()
    assert page.count("<svg") == 4
    assert "What each subgroup gains and loses, by set" in page
    assert "Which pairs win" in page
    assert "kw+sm: 20, kw: 14, sm: 6" in page
    assert (split.folder / "figures/sides_test.svg").is_file()
    assert "| SM | 12 | untrained |" in (split.folder / "train.md").read_text()


def test_a_repeated_call_trains_nothing_and_takes_any_column(
    split: Training, two_sided: Path, outside: Path
) -> None:
    def again(**changes: Any) -> Training:
        call = CALL | {"outside": outside, "out": split.folder} | changes
        result = retgen.train(two_sided, split.model, **call)
        assert all(run.repeated for variant in result.variants for run in variant.runs)
        return result

    assert again().to_json() == split.to_json()
    whole = again(by=None).to_json()
    assert (whole["test"]["sides"], whole["dilemma"]) == (None, None)
    kinds = again(by="kind").to_json()
    assert [
        (subgroup["value"], subgroup["queries"]) for subgroup in kinds["test"]["sides"]["results"]
    ] == [
        ("word", 14),
        ("(none)", 13),
        ("all queries", 27),
    ]
    assert kinds["dilemma"] == (
        "On the test set zoo there is no dilemma to be seen: fewer than two values of kind have "
        "queries enough for intervals."
    )
    scores = split.folder / "pairs-sm/scores/test_after.npy"
    kept = scores.read_bytes()
    scores.unlink()
    with pytest.raises(UsageError) as error:
        again()
    scores.write_bytes(kept)
    assert str(error.value) == (
        f"{split.folder}/pairs-sm is a finished training, but not as it was written: "
        "scores/test_after.npy (missing). Put the files back as they were, or train again with "
        "--fresh."
    )


def test_pairs_of_the_test_set_are_counted_by_variant(short: str, tmp_path: Path) -> None:
    path = write_two_sided(tmp_path / "zoo")
    write_pairs(
        path / "training/sm.parquet",
        [
            (animal, f"the {animal} sleeps near the {place}")
            for animal, place in zip(ANIMALS[:4], PLACES[:4], strict=True)
        ],
    )
    result = retgen.train(
        path, short, settings={"max_steps": 1}, compare=["kw", "sm"], out=tmp_path / "out"
    )
    assert result.notes()[0] == (
        "4 of the 4 sm pairs are pairs of the test set zoo: its scores measure memory, not "
        "retrieval"
    )
    variants = result.to_json()["arms"]
    assert [variant["pairs_of_the_test_view"] for variant in variants.values()] == [0, 4]
    # sm has no negatives, so neither does kw
    assert [variant["hard_negatives"] for variant in variants.values()] == [0, 0]


# what is found


def found(kw: dict[str, list[float]], sm: dict[str, list[float]]) -> str:
    """Where the 60 queries of each subgroup are answered so by the models."""
    units = Units(np.arange(60), np.arange(60), "60 queries")
    subgroups = []
    for value, columns in (("KW", kw), ("SM", sm)):
        values = {name: np.array(column)[:, None] for name, column in columns.items()}
        comparisons = compare(units, values, ["recall@1"])
        subgroups.append(Subgroup(value, 60, {}, {}, comparisons))
    variants = {name: f"{name} pairs" for name in kw if name != "before"}
    return Subgroups("set", "recall@1", subgroups).found("on the test set zoo", variants)


NONE, SOME, ALL = [0.0] * 60, [0.0, 1.0] * 30, [1.0] * 60


def test_a_dilemma() -> None:
    assert found(
        {"kw": ALL, "sm": NONE, "before": NONE}, {"kw": NONE, "sm": ALL, "before": ALL}
    ) == (
        "On the test set zoo there is a dilemma by recall@1: trained with kw pairs the model "
        "changes by +1.0000 (+0.875 to +1.000) on KW queries and -1.0000 (-1.000 to -0.875) on SM "
        "queries, against the untrained model. What is better to train with depends on the subgroup: "
        "kw against sm +1.0000 (+0.875 to +1.000) on KW queries and -1.0000 (-1.000 to -0.875) on "
        "SM queries."
    )


def test_no_dilemma() -> None:
    text = found(
        {"kw+sm": ALL, "kw": ALL, "before": NONE}, {"kw+sm": ALL, "kw": SOME, "before": SOME}
    )
    assert text == (
        "On the test set zoo no dilemma was found by recall@1: no training gains on one subgroup and "
        "loses on another, against the untrained model. The lowest change is that with kw pairs on "
        "SM queries, +0.0000 (no query differs), which includes 0."
    )
    text = found(
        {"kw+sm": ALL, "kw": ALL, "sm": SOME, "before": NONE},
        {"kw+sm": ALL, "kw": SOME, "sm": ALL, "before": NONE},
    )
    assert "0.5000" in text.partition(" What ")[0]
    assert "includes 0" not in text
    assert re.search(
        r" What is better to train with depends on the subgroup: kw against sm \+0\.5000 \(.*\) on KW "
        r"queries and -0\.5000 \(.*\) on SM queries\. kw\+sm is below no other on any subgroup for "
        r"sure\.$",
        text,
    )
    text = found({"kw": NONE, "before": ALL}, {"kw": SOME, "before": SOME})
    assert text.endswith("-1.0000 (-1.000 to -0.875): a loss that no other subgroup makes up for.")


# what cannot be


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"by": "sets"},
            "--by sets: no query of {path} has such a column; did you mean set? Columns: kind, number, place, set",
        ),
        (
            {"compare": ["kw+smm"]},
            "--compare: there is no 'smm'; did you mean sm? Possible: own, mined, in-batch; or training files, joined by + where a variant takes several: kw, sm",
        ),
        (
            {"compare": ["kw", "own"]},
            "--compare kw,own: kinds of negatives (own, mined, in-batch) and training files are compared one at a time, so that variants differ in one thing",
        ),
        ({"compare": ["kw+sm", "kw", "sm+kw"]}, "--compare: sm+kw is named twice"),
        ({"compare": ["kw+kw"]}, "--compare: kw+kw is named twice"),
        (
            {"data": ["kw"]},
            "--compare kw+sm,kw,sm: names the training files of each variant, so --data has no place beside it",
        ),
        (
            {"split": "test"},
            "--compare kw+sm,kw,sm: names the training files of each variant, so --split has no place beside it",
        ),
    ],
)
def test_what_cannot_be_compared(
    two_sided: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        retgen.train(two_sided, "static:minilm", out=tmp_path / "none", **CALL | changes)
    assert str(error.value) == message.format(path=two_sided)
    assert not (tmp_path / "none").exists()


def test_files_that_cannot_be_variants(tmp_path: Path, other: Path) -> None:
    path, out = write_two_sided(tmp_path / "zoo"), tmp_path / "none"
    write_pairs(path / "training/empty.parquet", [])
    write_pairs(path / "training/before.parquet", [("a", "b")])
    pq.write_table(pa.table({"query": ["a"]}), path / "training/lists.parquet")
    with pytest.raises(UsageError) as error:
        retgen.train(path, "static:minilm", out=out, **CALL | {"compare": ["before"]})
    assert str(error.value) == (
        "--compare before: scores go by the names of the variants, and this one stands for another "
        "model there. Rename the training file"
    )
    with pytest.raises(
        DatasetError, match=r"zoo: its training files hold no pair \(empty.parquet\)"
    ):
        retgen.train(path, "static:minilm", out=out, **CALL | {"compare": ["kw", "empty"]})
    with pytest.raises(DatasetError, match=r"lists.parquet has no column anchor and no column pos"):
        retgen.train(path, "static:minilm", out=out, **CALL | {"compare": ["lists"]})
    with pytest.raises(
        UsageError, match=f"joined by .+ where a variant takes several: {other} has no"
    ):
        retgen.train(other, "static:minilm", out=out, compare=["kw"])
    assert not out.exists()


def test_a_training_by_itself_has_sides_too(two_sided: Path, short: str, tmp_path: Path) -> None:
    call = CALL | {"compare": (), "data": ["kw"], "out": tmp_path / "out"}
    result = retgen.train(two_sided, short, **call)
    lines = text_of(result).splitlines()
    head = next(line for line in lines if line.startswith("test: set "))
    assert re.split(r"\s{2,}", head) == [
        "test: set",
        "queries",
        "model",
        "nDCG@10",
        "against untrained",
        "against idf alone",
    ]
    assert result.dilemma() in lines
    assert result.conclusion() is None
    (subgroup, *_) = result.to_json()["test"]["sides"]["results"]
    assert list(subgroup["scores"])[:4] == ["after", "idf", "before", "bm25"]
