"""The cards of dataset/ and training/, with hostile titles, licences, ids and models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from retgen import run, validate
from retgen.reporting.card import hub_type, is_free_licence
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.generators.multiconir.stories import stories
from tests.pages import Read, rendered

TITLE = "<script>alert('t')</script> | [Salt](https://evil.example) ![](x)\n\n# Clerk\n---\n| x |"
LICENCE = "MIT\n---\nlicense: mit\n---\n<img src=x onerror=alert(1)> [terms](javascript:x) `a` |"
MODEL = "gpt\n\n## <b onclick=x>five</b> | `m` <!-- \n- [x](y)"
HEADER = [
    "pretty_name",
    "language",
    "license",
    "task_categories",
    "tags",
    "configs",
    "dataset_info",
]


def made(folder: Path, title: str, licence: str, model: str) -> Path:
    """A run of two ladders that a model on loopback writes."""
    folder.mkdir()
    rows = [
        {"_id": f"{title} {i}", "title": title, "text": d["text"]} for i, d in enumerate(stories(2))
    ]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(ladder_mind) as server:
        recipe: dict[str, Any] = {
            "name": "own",
            "family": "multiconir",
            "model": {"provider": "openai", "name": model, "base_url": server.url},
            "params": {
                "domain": "movies",
                "source": {"path": "own.jsonl", "licence": licence},
            },
        }
        (folder / "own.yaml").write_text(json.dumps(recipe))  # which is YAML
        return run(folder / "own.yaml", out=folder / "run").path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("hostile") / "made", TITLE, LICENCE, MODEL)


def shown(text: str) -> str:
    return " ".join(text.split())


def test_a_card_has_no_markup_but_its_own(hostile: Path, tmp_path: Path) -> None:
    tame = made(tmp_path / "tame", "Salt", "CC BY 4.0", "gpt-5-mini")
    cards = [(run / "dataset" / "README.md").read_text() for run in (hostile, tame)]
    result, other = (rendered(card.split("\n---\n\n", 1)[1]) for card in cards)
    # what stands out in bold is the rate of a baseline, which depends on the texts
    assert [t for t in result.tags if t != "strong"] == [t for t in other.tags if t != "strong"]
    assert result.attributes == other.attributes
    assert {name for name, _ in result.attributes} == {"style"}
    plain = "h1 h2 p ul li table thead tbody tr th td code".split()
    assert {*result.tags} - {"strong"} == {*plain}
    text = shown(result.text)
    assert text.count(shown(TITLE)) == 1  # the example of the table
    assert text.count(shown(LICENCE)) == 2  # in the table and under the licences
    assert text.count(f"by openai:{shown(MODEL)}") == 5  # agents


def test_its_header_is_the_one_that_was_meant(hostile: Path) -> None:
    card = (hostile / "dataset" / "README.md").read_text()
    header = YAML(typ="safe").load(card.removeprefix("---\n").partition("\n---\n")[0])
    assert list(header) == HEADER
    assert (header["pretty_name"], header["license"]) == ("own", "other")


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_it_loads(hostile: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    for name, split, rows in (("corpus", "corpus", 40), ("queries", "queries", 40)):
        dataset = load_dataset(str(hostile / "dataset"), name, split=split, cache_dir=str(tmp_path))
        assert len(dataset) == rows


def test_nested_types_are_written_as_datasets_writes_them() -> None:
    from datasets import DatasetInfo, Features, List, Value
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData

    text, number = Value("string"), Value("int32")
    declared = {
        "_id": "string",
        "metadata": {
            "span": ["int32"],
            "deeper": [[["string"]]],
            "of": {"one": "int32", "many": [[{"name": "string"}]]},
        },
    }
    features = Features(
        {
            "_id": text,
            "metadata": {
                "span": List(number),
                "deeper": List(List(List(text))),
                "of": {"one": number, "many": List(List({"name": text}))},
            },
        }
    )
    header = DatasetCardData()
    infos = DatasetInfosDict({"default": DatasetInfo(features=features)})
    infos.to_dataset_card_data(header)
    assert header["dataset_info"] == {"features": hub_type(declared)["struct"]}
    (read,) = DatasetInfosDict.from_dataset_card_data(header).values()
    assert read.features == features


def test_the_report_of_the_same_run(hostile: Path) -> None:
    page = Read((hostile / "report.html").read_text())
    assert not {"script", "img", "b onclick", "!--"} & {*page.tags}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert shown(LICENCE) in shown(page.text)
    assert f"openai:{shown(MODEL)}" in shown(page.text)


def test_only_a_free_licence_is_taken_for_one() -> None:
    free = ("MIT", "CC0-1.0 (own)", "Apache-2.0")
    others = ("MITRE terms", "MIT, not for sale", "Apache-2.0 WITH Commons-Clause")
    each = {licence: is_free_licence({"documents": licence}) for licence in (*free, *others)}
    assert [licence for licence, is_free in each.items() if is_free] == [*free]
    assert not is_free_licence({"names": "MIT", "documents": "other"})


pytestmark = pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run("multiconir_legal", out=tmp_path_factory.mktemp("runs") / "ladders", limit=3).path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(
        "limit_train",
        out=tmp_path_factory.mktemp("runs") / "pairs",
        overrides={
            "params.docs": 300,
            "params.queries": 20,
            "params.form": {"type": "conditions", "hard_negatives": 1},
        },
    ).path


def load(folder: Path, name: str, cache: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder / "training"), name, cache_dir=str(cache))["train"]


LADDERS = {
    "singles": ["anchor", "positive", "negative"],
    "triplets": ["anchor", "positive", "negative"],
    "ladders": ["query", "docs", "labels"],
    "pairs": ["query", "better", "worse"],
}


def test_each_file_is_a_configuration(ladders: Path, pairs: Path, tmp_path: Path) -> None:
    for folder, wanted in (
        (ladders, LADDERS),
        (pairs, {"pairs": ["anchor", "positive", "negative_1", "negative_2"]}),
    ):
        files = sorted(path.stem for path in (folder / "training").glob("*.parquet"))
        assert files == sorted(wanted)
        for name, columns in wanted.items():
            loaded = load(folder, name, tmp_path)
            assert loaded.column_names == columns
            table = pq.read_table(folder / "training" / f"{name}.parquet")
            assert loaded.to_list() == table.select(columns).to_pylist()
            assert table.column_names == [*columns, "query-id"]


def test_the_card_is_a_file_of_the_run(ladders: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ladders, copy)
    (copy / "training" / "README.md").write_text("changed")
    findings = [one.message for one in validate(copy).findings if one.rule == "manifest"]
    assert findings == ["training/README.md is not the file that the manifest describes"]
