"""`gen train --compare`: what each variant trains on, and what is said of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import retgen
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.significance import compare
from retgen.evaluation.training import Pairs, TrainConfig, read_pairs
from retgen.evaluation.training.config import TrainingRun
from retgen.evaluation.training.page import text as text_of
from retgen.evaluation.training.result import Training, TrainingVariant
from retgen.evaluation.training.variants import (
    PairSource,
    check_variants,
    plans,
    with_mined_negatives,
)
from retgen.progress import no_progress
from retgen.search.embedders.options import Options
from retgen.statistics.clustered import Units
from tests.conftest import Gen, Write

pytestmark = pytest.mark.usefixtures("one_torch_thread")

FAST = {"learning_rate": 0.01, "epochs": 2, "batch_size": "full"}
ARMS = ["own", "mined", "in-batch"]


@pytest.fixture
def kettles(dataset: Write) -> Path:
    """d1 and d5 answer q1, d5 in another split's words; d2 is d1 but for a word."""
    corpus = {
        "d1": "the old copper kettle boils two litres of water in three short minutes flat",
        "d2": "the old copper kettle boils two litres of water in four short minutes flat",
        "d3": "copper kettle lids",
        "d4": "copper pans and pots",
        "d5": "copper kettle repairs",
        "d6": "trains arrive late",
        "d7": "copper kettle",
    }
    queries = {"q1": "copper kettle", "q2": "late trains", "q3": "copper kettle"}
    return dataset(
        corpus,
        queries,
        [("q1", "d1", 1), ("q1", "d5", 2), ("q1", "d4", 0), ("q2", "d6", 1), ("q3", "d7", 1)],
    )


def test_mined_leaves_out_what_is_relevant_and_its_near_duplicates(kettles: Path) -> None:
    """q1 and q3 are one question, so what either asks for is relevant to both."""
    pairs = read_pairs(kettles)
    result = with_mined_negatives(pairs, kettles, 2, "bm25", Options(), no_progress)
    assert (result.anchors, result.positives) == (pairs.anchors, pairs.positives)
    copper = ["copper kettle lids", "copper pans and pots"]
    assert result.query_ids == ["q1", "q1", "q2", "q3"]
    assert [result.negatives[i] for i in (0, 1, 3)] == [copper] * 3
    # bm25 ranks nothing else for the trains: the others are taken at random
    assert len(set(result.negatives[2])) == 2
    assert not any("trains" in text for text in result.negatives[2])
    assert result.origin == (
        f"{pairs.origin}, with 2 negatives a query mined by bm25 (2 of 4 taken at random, where "
        "bm25 ranks too few)"
    )
    assert with_mined_negatives(pairs, kettles, 2, "bm25", Options(), no_progress) == result


def test_positives_are_known_by_document_and_by_text(kettles: Path, dataset: Write) -> None:
    """A positive in training may be the document without a span; its id or its words tell."""
    alone = dataset({"d4": "pans"}, {"y": "copper pots"}, [("y", "d4", 1)], "alone")
    by_text = Pairs(
        ["litres of water"],
        ["the old copper kettle boils two litres of water in three short minutes"],
        [[]],
        ["x"],
        "a test",
    )
    by_id = Pairs(["copper pots"], ["pans"], [[]], ["y"], "a test", ["d4"])
    of = [
        with_mined_negatives(pairs, kettles, 1, "bm25", Options(), no_progress)
        for pairs in (by_text, by_id)
    ]
    assert not {"in three short", "in four short"} & {of[0].negatives[0][0][50:64]}
    assert of[0].negatives[0][0] not in (
        "the old copper kettle boils two litres of water in three short minutes flat",
        "the old copper kettle boils two litres of water in four short minutes flat",
    )
    assert of[1].negatives == [["copper kettle"]]
    with pytest.raises(DatasetError, match="relevant to 1 of the queries, such as 'copper pots'"):
        with_mined_negatives(by_id, alone, 1, "bm25", Options(), no_progress)


def test_plans_take_as_many_negatives_as_the_pairs_have(other: Path) -> None:
    pairs, config = read_pairs(other), TrainConfig()
    source = PairSource(other)
    of = plans(["in-batch", "mined", "own"], source, config, "bm25", Options(), no_progress)
    assert list(of) == ["in-batch", "mined", "own"]
    assert of["own"] == (pairs, config, "the pairs' own negatives")
    assert of["in-batch"] == (pairs, TrainConfig(hard_negatives=0), "in-batch negatives only")
    assert of["mined"].config == TrainConfig(hard_negatives=1)
    assert set(map(len, of["mined"].pairs.negatives)) == {1}
    alone = plans(["mined"], source, TrainConfig(hard_negatives=0), "bm25", Options(), no_progress)
    assert alone["mined"].config.hard_negatives == 4


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (
            ["own", "mind"],
            "--compare: there is no 'mind'; did you mean mined? Possible: own, mined, in-batch; or training files, joined by + where a variant takes several: {path} has none",
        ),
        (
            [""],
            "--compare: there is no ''. Possible: own, mined, in-batch; or training files, joined by + where a variant takes several: {path} has none",
        ),
        (["own", "own"], "--compare: own is named twice"),
    ],
)
def test_arms_that_cannot_be(names: list[str], text: str, other: Path) -> None:
    with pytest.raises(UsageError) as error:
        check_variants(names, PairSource(other))
    assert str(error.value) == text.format(path=other)


@pytest.fixture(scope="module")
def compared(
    other: Path,
    limit_run: Path,
    static: SentenceTransformer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Training:
    """All variants under two seeds, scored on the training data and on two other data sets."""
    folder = tmp_path_factory.mktemp("compared")
    static.save_pretrained(str(folder / "words"))
    twin = folder / "twin"
    twin.mkdir()
    for name in ("corpus", "queries", "qrels"):
        (twin / f"{name}.jsonl").write_bytes((other / f"{name}.jsonl").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RETGEN_CACHE", str(folder / "cache"))
        return retgen.train(
            other,
            str(folder / "words"),
            outside=[limit_run, twin],
            settings=FAST,
            metrics=["recall@1", "nDCG@10"],
            compare=ARMS,
            seeds=2,
            out=folder / "out",
        )


@pytest.mark.slow
def test_arms_differ_in_their_negatives_alone(compared: Training) -> None:
    result = compared.to_json()
    stored = json.loads((compared.folder / "train.json").read_text())
    assert {**stored, **json.loads(json.dumps(result))} == stored
    assert [variant.name for variant in compared.variants] == list(result["arms"]) == ARMS
    assert result["seeds"] == [42, 43]
    assert [(a["pairs"], a["hard_negatives"]) for a in result["arms"].values()] == [
        (6, 1),
        (6, 1),
        (6, 0),
    ]
    assert len({tuple(a["steps"]) for a in result["arms"].values()}) == 1
    out = compared.folder
    assert [[Path(model) for model in a["models"]] for a in result["arms"].values()] == [
        [out / "model", out / "seed-43/model"],
        [out / "mined/model", out / "mined/seed-43/model"],
        [out / "in-batch/model", out / "in-batch/seed-43/model"],
    ]
    identities = [
        json.loads((out / name / "identity.json").read_text())["config"]
        for name in ("", "mined", "in-batch", "seed-43")
    ]
    same = [
        {k: v for k, v in one.items() if k not in ("hard_negatives", "max_steps")}
        for one in identities
    ]
    assert same[0] == same[1] == same[2]
    assert same[3] == same[0] | {"seed": 43}


@pytest.mark.slow
def test_all_arms_are_scored_on_all_data_sets(compared: Training) -> None:
    result = compared.to_json()
    assert list(result["outside"]) == ["limit", "twin"]
    for scores, label in ((result["test"], "test"), (result["outside"]["limit"], "outside--limit")):
        for variant, place in zip(ARMS, ("", "mined", "in-batch"), strict=True):
            stored = [
                np.load(compared.folder / place / seed / "scores" / f"{label}_after.npy")
                for seed in ("", "seed-43")
            ]
            mean = np.mean(stored, axis=0).mean(axis=0)
            assert list(scores["arms"][variant].values()) == pytest.approx(mean.tolist(), abs=1e-12)
        assert scores["after"] == scores["arms"]["own"]
    # six queries are too few for intervals
    assert (result["test"]["comparisons"], result["test"]["intervals"]) == ([], {})
    why = "no intervals: too few independent units: 6 groups of queries that share relevant documents, 12 needed"
    assert [note for note in result["notes"] if "no intervals" in note] == [
        f"test: {why}",
        f"outside twin: {why}",
    ]
    limit = result["outside"]["limit"]
    assert {(c["first"], c["second"]) for c in limit["comparisons"]} == {
        ("own", "mined"),
        ("own", "in-batch"),
        ("own", "before"),
        ("own", "idf"),
        ("mined", "in-batch"),
        ("mined", "before"),
        ("mined", "idf"),
        ("idf", "before"),
        ("in-batch", "before"),
        ("in-batch", "idf"),
    }
    beside = ["bm25", *(f"minmax:bm25+{name}" for name in (*ARMS, "idf", "before"))]
    assert list(limit["intervals"]) == [*ARMS, "idf", "before", *beside]
    assert list(limit["beside"]) == beside
    assert result["test"]["arms"] == result["outside"]["twin"]["arms"]


@pytest.mark.slow
def test_what_is_said_of_the_variants(compared: Training) -> None:
    lines = text_of(compared).splitlines()
    head = lines.index(next(line for line in lines if line.startswith("data set ")))
    assert lines[head].split("  ")[-1].strip() == "against untrained"
    assert [line.split("  ")[0] for line in lines[head + 1 : head + 10]] == (
        ["test"] * 3 + ["outside limit"] * 3 + ["outside twin"] * 3
    )
    assert compared.to_json()["conclusion"] in lines[:head]
    assert (
        "note: scores after training are means over 2 seeds (42 to 43); intervals are over queries"
        in lines
    )
    page = (compared.folder / "train.html").read_text()
    assert page.count("<svg") == 3
    assert "Which negatives win" in page
    assert (compared.folder / "figures" / "compared.svg").is_file()


def answered(variants: dict[str, list[float]], before: list[float], at: Training) -> str | None:
    """The conclusion where each of the 100 queries of `limit` was answered so by the models."""
    (scored,) = (scored for scored in at.scored_sets if scored.label == "outside limit")
    only = Measures(["recall@1"])
    values = {
        name: np.array(column)[:, None] for name, column in (variants | {"before": before}).items()
    }
    comparisons = compare(Units(np.arange(100), np.arange(100), "100 queries"), values, only.names)

    def run(column: list[float]) -> TrainingRun:
        score = {"outside limit recall@1": float(np.mean(column))}
        entries = [{"when": "before", "scores": {}}, {"when": "after", "scores": score}]
        return TrainingRun(Path(), entries)

    made = [
        TrainingVariant(name, name, at.pairs, at.config, [run(column)])
        for name, column in variants.items()
    ]
    scored_sets = [replace(scored, measures=only, comparisons=comparisons)]
    return replace(at, variants=made, scored_sets=scored_sets).conclusion()


@pytest.mark.slow
def test_who_won(compared: Training) -> None:
    """Won: above each of the others for sure; and whether that is better than not to train."""
    none, half, most = [0.0] * 100, [0.0, 1.0] * 50, [0.0, 1.0, 1.0, 1.0] * 25
    conclusion = answered({"own": most, "mined": half, "in-batch": none}, half, compared)
    assert conclusion is not None
    assert re.fullmatch(
        r"On limit, outside, own wins by recall@1: over mined by \+0\.2500 \(\+0\.\d+ to \+0\.\d+\) "
        r"and in-batch by \+0\.7500 \(.*\); it is above the untrained model\.",
        conclusion,
    )
    conclusion = answered({"own": none, "mined": half}, most, compared)
    assert conclusion is not None
    assert conclusion.startswith(
        "On limit, outside, mined wins by recall@1: over own by +0.5000 (+0."
    )
    assert conclusion.endswith("; it is not surely above the untrained model.")
    assert answered({"own": half, "mined": half, "in-batch": none}, none, compared) == (
        "On limit, outside, no negatives win by recall@1 (own and mined rank alike)."
    )
    assert answered({"mined": half}, none, compared) == (
        "On limit, outside, there is nothing beside mined; it is above the untrained model by "
        "recall@1."
    )


@pytest.mark.slow
def test_a_finished_comparison_is_shown_again(
    compared: Training, other: Path, limit_run: Path
) -> None:
    call = {
        "outside": [limit_run, compared.folder.parent / "twin"],
        "settings": FAST,
        "metrics": ["recall@1", "nDCG@10"],
        "compare": ARMS,
        "seeds": 2,
        "out": compared.folder,
    }
    again = retgen.train(other, compared.model, **call)  # type: ignore[arg-type]
    assert all(run.repeated for variant in again.variants for run in variant.runs)
    assert again.to_json() == compared.to_json()
    with pytest.raises(UsageError, match="holds another training; what differs: hard_negatives"):
        retgen.train(other, compared.model, **call | {"compare": ["in-batch"]})  # type: ignore[arg-type]


@pytest.mark.slow
def test_fresh_throws_away_the_arms_too(other: Path, tmp_path: Path, short: str) -> None:
    out = tmp_path / "out"

    def train(measure: str, **options: Any) -> Training:
        return retgen.train(
            other, short, settings={"max_steps": 1}, metrics=[measure], out=out, **options
        )

    variants = ["own", "in-batch"]
    train("recall@1", compare=variants, seeds=2)
    places = [out / "seed-43", out / "in-batch", out / "in-batch/seed-43"]
    kept = ("training.json", "model", "scores")
    assert all((place / name).exists() for place in places for name in kept)
    train("recall@2", fresh=True)
    assert not any((place / name).exists() for place in places for name in kept)
    anew = train("recall@2", compare=variants)
    assert [[run.repeated for run in variant.runs] for variant in anew.variants] == [
        [True],
        [False],
    ]
    assert [list(scores) for scores in anew.to_json()["test"]["arms"].values()] == [
        ["recall@2"],
        ["recall@2"],
    ]


def test_data_sets_and_arms_that_do_not_go_together(
    gen: Gen, limit_run: Path, other: Path, tmp_path: Path
) -> None:
    out = tmp_path / "none"
    with pytest.raises(UsageError) as error:
        retgen.train(limit_run, "static:minilm", compare=["own"], out=out)
    assert str(error.value) == (
        "--compare own: there is nothing to compare with: no hard negatives (the pairs have none)"
    )
    with pytest.raises(UsageError, match=r"^loss triplet has no in-batch negatives"):
        retgen.train(
            other, "static:minilm", compare=["in-batch"], settings={"loss": "triplet"}, out=out
        )
    with pytest.raises(UsageError, match="another data set outside is called animals too"):
        retgen.train(limit_run, "static:minilm", outside=[other, other], out=out)
    assert not out.exists()
    done = gen("train", other, "--model", "static:minilm", "--compare", "own", "--mine-by", "bm25")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: --mine-by: says what --compare mined ranks by; nothing is mined here\n",
    )
