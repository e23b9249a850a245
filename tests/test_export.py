from __future__ import annotations

import ast
import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from retgen import evaluate, export, run, validate
from retgen.data import open_dataset
from retgen.errors import DatasetError, OutputError, UsageError
from retgen.export.layouts import layouts
from tests.conftest import SMALL, Write
from tests.pages import rendered


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(SMALL)
    return run(folder / "small.yaml", out=folder / "small").path


def tables(path: Path) -> tuple[Any, Any, Any]:
    dataset = open_dataset(path)
    return list(dataset.documents()), dataset.queries.read(), dataset.qrels["test"].read()


@pytest.mark.slow
@pytest.mark.parametrize("to", ["beir", "mteb"])
def test_nothing_is_lost(made: Path, tmp_path: Path, to: str) -> None:
    folder = export(made, to, tmp_path / to)
    assert tables(folder) == tables(made)
    validation = validate(folder)
    assert (validation.errors, validation.statistics["qrels"]) == (0, 200)


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
@pytest.mark.slow  # mteb as a whole; its reader is tested beside `gen eval`
def test_mteb_scores_a_set_with_metadata_of_any_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ladders: binary qrels in MTEB as in `gen eval`, and lists of several lengths beside texts."""
    import mteb

    from retgen.search.embedders.loading import load_model

    path = run("multiconir_legal", out=tmp_path / "run", limit=2).path
    folder = export(path, "mteb", tmp_path / "mteb")
    names: dict[str, Any] = runpy.run_path(str(folder / "task.py"))
    model = load_model("minilm", "cpu")  # reads the order of words: hardly a tie, which MTEB breaks
    result = mteb.evaluate(model, names["RunRetrieval"](), cache=None, show_progress_bar=False)
    theirs = result.task_results[0].scores["test"][0]
    ours = evaluate(path, models=["minilm"], out=tmp_path / "eval").to_json()
    metrics = ours["results"][0]["metrics"]
    assert theirs["main_score"] == theirs["ndcg_at_10"]
    for key, name in (("recall_at_10", "recall@10"), ("ndcg_at_10", "nDCG@10")):
        assert theirs[key] == pytest.approx(metrics[name], abs=1e-5)


def stated(task: Path) -> tuple[Any, Any]:
    """(eval_langs, license) of a task.py."""
    words = {
        one.arg: one.value
        for one in ast.walk(ast.parse(task.read_text()))
        if isinstance(one, ast.keyword)
    }
    return ast.literal_eval(words["eval_langs"]), ast.literal_eval(words["license"])


@pytest.mark.parametrize(
    ("licences", "message"),
    [
        ({"a": "Apache-2.0 (retgen)", "b": "MIT (Faker)"}, "apache-2.0"),
        ({"documents": "CC BY 4.0", "queries": "Apache-2.0 (retgen)"}, "multiple"),
        ({"documents": "CC BY 4.0"}, "cc-by-4.0"),
        ({"documents": "ours"}, "not specified"),
        ({}, "not specified"),
    ],
)
def test_licence_and_languages_are_the_manifest_s(
    made: Path, tmp_path: Path, licences: dict[str, str], message: str
) -> None:
    run_folder = tmp_path / "run"
    shutil.copytree(made, run_folder)
    manifest = json.loads((run_folder / "manifest.json").read_text())
    assert manifest["languages"] == ["eng-Latn"]
    manifest |= {"licences": licences, "languages": ["deu-Latn", "eng-Latn"]}
    (run_folder / "manifest.json").write_text(json.dumps(manifest))
    folder = export(run_folder, "mteb", tmp_path / "mteb")
    assert stated(folder / "task.py") == (["deu-Latn", "eng-Latn"], message)
    (run_folder / "manifest.json").write_text("no")
    with pytest.raises(DatasetError) as error:
        export(run_folder, "mteb", tmp_path / "broken")
    assert str(error.value) == (
        f"{run_folder / 'manifest.json'} is damaged; make the run again with --fresh"
    )


def test_default_folder_and_refusals(made: Path) -> None:
    assert export(made, "beir") == made / "exports" / "beir"
    with pytest.raises(OutputError) as error:
        export(made, "beir")
    assert str(error.value) == (
        f"{made}/exports/beir is not empty; choose another folder with --out"
    )
    with pytest.raises(UsageError) as usage:
        export(made, "bier")
    assert str(usage.value) == (
        "--to bier: there is no such layout; did you mean beir? Possible: "
        + ", ".join(name.replace("_", "-") for name in layouts())
    )


def test_hostile_names_stay_names(dataset: Write, tmp_path: Path) -> None:
    """Of a folder, which task.py and the card name, and of a split, which the header names."""
    name = '""" + str(1 % 0) + "{x} <b onclick=x>|\n# [a](b) \''
    split = "dev\n- split: evil, 'x': \""
    path = dataset({"d": "text"}, {"q": "text"}, [("q", "d", 1)], name)
    (path / f"qrels.{split}.jsonl").write_bytes((path / "qrels.jsonl").read_bytes())
    folder = export(path, "mteb", tmp_path / "mteb")
    head, _, body = (folder / "README.md").read_text()[4:].partition("\n---\n")
    header = YAML(typ="safe").load(head)
    assert list(header) == [
        "pretty_name",
        "license",
        "task_categories",
        "tags",
        "configs",
        "dataset_info",
    ]
    assert header["pretty_name"] == name
    assert header["configs"][0] == {
        "config_name": "default",
        "data_files": [
            {"split": "test", "path": "qrels/test.parquet"},
            {"split": split, "path": f"qrels/{split}.parquet"},
        ],
    }
    assert len(header["configs"]) == 3
    page = rendered(body)
    table = [*["thead", "tr", *["th"] * 3], "tbody", *["tr", *["td"] * 3] * 2]
    assert page.tags == [
        "h1",
        "p",
        "code",
        "h2",
        "table",
        *table,
        "h2",
        "ul",
        "li",
        "li",
    ]
    assert page.text.startswith(" ".join(name.split()) + "\n")
    tree = ast.parse((folder / "task.py").read_text())
    results = [
        one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.keyword) and one.arg == "description"
    ]
    assert [ast.literal_eval(one) for one in results] == [f"Retrieval data set {name}"]


def load(path: Path, name: str, cache: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(path), name, cache_dir=str(cache))


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_both_forms_hold_the_same_and_load_with_datasets(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    held = []
    for form in ("jsonl", "parquet"):
        overrides = {"output.format": form, "output.shards": 3}
        made = run(tmp_path / "small.yaml", out=tmp_path / form, overrides=overrides)
        assert made.manifest["evidence"]["structural"] == 200
        held.append(tables(made.path))
        folder, cache = made.path / "dataset", tmp_path / f"cache_{form}"
        corpus = load(folder, "corpus", cache)["corpus"]
        assert (len(corpus), corpus.column_names) == (400, ["_id", "title", "text", "metadata"])
        first = held[-1][0][0]
        assert (corpus[0]["_id"], corpus[0]["metadata"]) == (first.doc_id, first.metadata)
        assert len(load(folder, "queries", cache)["queries"]) == 100
        qrels = load(folder, "default", cache)["test"]
        assert (len(qrels), qrels.column_names) == (200, ["query-id", "corpus-id", "score"])
        assert set(qrels["score"]) == {1}
    assert held[0] == held[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
@pytest.mark.parametrize("exported", [False, True])
def test_two_runs_are_two_data_sets_to_load_dataset(tmp_path: Path, exported: bool) -> None:
    """Its cache knows a local folder by its last name, "dataset" or "mteb", and by its card."""
    (tmp_path / "small.yaml").write_text(SMALL)
    for seed in (1, 2):
        path = run(tmp_path / "small.yaml", out=tmp_path / str(seed), overrides={"seed": seed}).path
        folder = export(path, "mteb") if exported else path / "dataset"
        first = next(iter(open_dataset(path).documents()))
        result = load(folder, "corpus", tmp_path / "cache")["corpus"]
        assert result[0]["_id"] == first.doc_id
        assert result[0]["text"] == first.text


def test_nothing_is_written_into_a_data_set_that_is_not_ours(
    dataset: Write, tmp_path: Path, gen: Callable[..., Any]
) -> None:
    path = dataset({"d": "text"}, {"q": "text"}, [("q", "d", 1)], "foreign")
    before = sorted(path.rglob("*"))
    result = gen("export", path, "--to", "beir")
    assert result.stdout == "outputs/export_foreign_beir\n"
    assert (tmp_path / "outputs" / "export_foreign_beir" / "qrels" / "test.tsv").is_file()
    assert sorted(path.rglob("*")) == before
