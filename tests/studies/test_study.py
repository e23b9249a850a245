"""Studies: the bundled ones are read and planned, small ones are run, wrong ones are explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import retgen
from retgen.errors import RecipeError
from retgen.evaluation.scoring.result import Evaluation
from retgen.recipes import bundled_studies, find_study
from retgen.studies import load_study, plan_study
from retgen.studies.page import Trainings, page_of
from retgen.studies.run import run_study
from tests.conftest import Gen

pytestmark = pytest.mark.usefixtures("one_torch_thread")

Write = Callable[..., Path]

TINY = "set: {params.docs: 12, params.queries: 60}"


@pytest.mark.parametrize("name", bundled_studies())
def test_bundled_study(name: str) -> None:
    path = bundled_studies()[name]
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == f"# gen eval recipes/studies/{name}.yaml"
    assert lines[1].startswith("# ")
    study = load_study(path)
    assert study.study == name
    made = {label for label, of in study.datasets.items() if of.recipe}
    planned = plan_study(study)
    assert planned.keys() == made
    assert all(one.documents and one.queries for one in planned.values())


def test_what_is_a_study(small: Path, tmp_path: Path) -> None:
    assert find_study("limit_table3") == bundled_studies()["limit_table3"]
    assert find_study(bundled_studies()["limit_table3"]) == bundled_studies()["limit_table3"]
    assert find_study(small) is None
    assert find_study(tmp_path) is None
    assert find_study("limit_small") is None
    with pytest.raises(RecipeError) as error:
        retgen.plan(bundled_studies()["limit_table3"])
    assert str(error.value) == (
        f"{bundled_studies()['limit_table3']}: is a study, which `gen eval` runs, and no recipe"
    )


@pytest.mark.slow
def test_data_sets_are_made_and_scored(recipe_file: Write, tmp_path: Path) -> None:
    path = recipe_file(
        "study: two\ndatasets:\n"
        f"  dense: {{recipe: limit_small, {TINY}}}\n"
        f"  other: {{recipe: limit_small, set: {{params.docs: 12, params.queries: 60, seed: 7}}}}\n"
        "models: [bm25, 'static:minilm']\ndims: [8, 16]\nmetrics: [recall@2]\n"
    )
    result = run_study(path, out=tmp_path / "out")
    assert isinstance(result, Evaluation)
    shown = result.to_json()["datasets"]
    assert [Path(one["dataset"]).name for one in shown] == ["dense", "other"]
    systems = [(row["model"], row["dim"]) for row in shown[0]["results"]]
    assert systems == [("bm25", None), ("static:minilm", 8), ("static:minilm", 16)]
    assert (tmp_path / "out" / "eval.html").is_file()
    again = run_study(path, models=["tfidf"], out=tmp_path / "out")
    assert isinstance(again, Evaluation)
    assert [row["model"] for row in again.to_json()["datasets"][0]["results"]] == ["tfidf"]


@pytest.mark.slow
def test_training_by_split_and_dimension(recipe_file: Write, tmp_path: Path) -> None:
    path = recipe_file(
        "study: splits\ndatasets:\n"
        f"  test: {{recipe: limit_small, {TINY}}}\n"
        f"  train: {{recipe: limit_train, {TINY}}}\n"
        "models: [bm25]\nmetrics: [recall@1, recall@2]\n"
        "train: {model: 'static:minilm', on: [test, train], test: test, dims: [16, 8],\n"
        "        preset: limit, set: {learning_rate: 0.003, epochs: 3}}\n"
    )
    result = run_study(path, out=tmp_path / "out")
    assert isinstance(result, Trainings)
    assert list(result.trained) == [("test", 8), ("test", 16), ("train", 8), ("train", 16)]
    after = {
        key: one.scored_sets[0].scores(one.trained, "after")["recall@2"]
        for key, one in result.trained.items()
    }
    # the paper's contrast: the test pairs are memorised, training on other words is not that
    assert min(after["test", d] for d in (8, 16)) > max(after["train", d] for d in (8, 16)) + 0.1
    shared = {key: one.shared for key, one in result.trained.items()}
    assert shared == {("test", 8): 120, ("test", 16): 120, ("train", 8): 0, ("train", 16): 0}
    assert all(one.config.dimension == dim for (_, dim), one in result.trained.items())
    content = json.loads((tmp_path / "out" / "study.json").read_text())
    assert [(one["on"], one["dim"]) for one in content["trained"]] == list(result.trained)
    assert content["beside"]["results"][0]["model"] == "bm25"
    lines = page_of(result).terminal(result.folder / "study.html").splitlines()
    assert lines[1].split() == ["trained", "on", "dim", "recall@1", "recall@2"]
    assert [line.split()[:2] for line in lines[2:6]][::3] == [["test", "16"], ["train", "8"]]
    assert lines[6].startswith("static:minilm, not trained")
    assert lines[7].startswith("bm25")
    page = (tmp_path / "out" / "study.html").read_text()
    assert page.count("<svg") == 2
    assert "recall@2 of static:minilm after training, at the best dimension: " in page
    assert "its scores measure memory, not retrieval" in page
    assert "trained on train: no training pair is a pair of the test set test" in page
    again = run_study(path, out=tmp_path / "out")
    assert isinstance(again, Trainings)
    assert all(one.trained.repeated for one in again.trained.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "study: x\ndatasets:\n  a: {recipe: limit_small}\nmodls: [bm25]\n",
            "{path}, line 4, modls: unknown key; did you mean models? Allowed: study, datasets, "
            "models, dims, metrics, train",
        ),
        (
            "study: x\ndatasets:\n  a: {recipe: limit_smal}\nmodels: [bm25]\n",
            "{path}, line 3, datasets.a: limit_smal: there is no such file, and no bundled recipe "
            "of that name; did you mean limit_small? `gen recipes` lists them.",
        ),
        (
            "study: x\ndatasets:\n  a: {recipe: limit_small, set: {params.k: 0}}\nmodels: [bm25]\n",
            "{path}, line 3, datasets.a: --set params.k: must be greater than or equal to 1, not 0",
        ),
        (
            "study: x\ndatasets:\n  a: {path: gone/a}\nmodels: [bm25]\n",
            "{path}, line 3, datasets.a: {folder}/gone/a: there is no such data set",
        ),
        (
            "study: x\ndatasets:\n  a: {path: 'mteb:NFCorpus'}\nmodels: [bm25]\n",
            "{path}: datasets, a: mteb:NFCorpus keeps its name, NFCorpus",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(recipe_file: Write, text: str, expected: str) -> None:
    path = recipe_file(text)
    with pytest.raises(RecipeError) as error:
        load_study(path)
    named = expected.replace("{path}", str(path)).replace("{folder}", str(path.parent))
    assert str(error.value) == named


def test_a_set_that_is_there_beside_one_that_is_made(
    gen: Gen, recipe_file: Write, tmp_path: Path
) -> None:
    there = retgen.run(
        "limit_small", out=tmp_path / "there", overrides={"params.docs": 12, "params.queries": 60}
    ).path
    path = recipe_file(
        f"study: both\ndatasets:\n  made: {{recipe: limit_small, {TINY}}}\n"
        f"  there: {{path: {there}}}\nmodels: [bm25, bm25-capretrieval-characters]\n"
        "metrics: [recall@1, nDCG@10]\n",
        "both.yaml",
    )
    assert gen("plan", path).stdout.splitlines()[:2] == [
        "made          12 documents       60 queries",
        f"there  as it is: {there}",
    ]
    result = run_study(path, out=tmp_path / "out", overrides={"seed": 5})
    assert isinstance(result, Evaluation)
    assert [one.name for one in result.datasets] == ["made", "there"]
    assert sorted(one.name for one in (tmp_path / "out" / "datasets").iterdir()) == ["made"]


def test_names_must_be_data_sets(recipe_file: Write) -> None:
    head = "study: x\ndatasets: {tests: {recipe: limit_small}}\n"
    path = recipe_file(head)
    with pytest.raises(RecipeError, match=r"a study names models, or has train$"):
        load_study(path)
    path = recipe_file(head + "train: {model: minilm, on: [tests], test: test, dims: [8]}\n")
    with pytest.raises(RecipeError) as error:
        load_study(path)
    assert str(error.value).endswith(
        "train names test, which is none of the datasets; did you mean tests? Datasets: tests"
    )


@pytest.mark.slow
def test_the_commands(gen, recipe_file: Write) -> None:  # type: ignore[no-untyped-def]
    path = recipe_file(
        f"study: one\ndatasets:\n  dense: {{recipe: limit_small, {TINY}}}\nmodels: [bm25]\n"
        "metrics: [recall@2]\n",
        "one.yaml",
    )
    assert gen("plan", path).stdout.splitlines() == [
        "dense         12 documents       60 queries",
        "models: bm25",
        f"measured by: gen eval {path}",
    ]
    result = gen("eval", path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "page: outputs/one/eval.html"
    path.write_text(path.read_text().replace("60", "50"))
    changed = gen("eval", path)
    assert changed.returncode == 2
    assert changed.stderr.startswith(
        "gen: outputs/one/datasets/dense: the study has changed since it was made there, or "
        "something else stands there. Give another --out, or remove outputs/one. ("
    )
