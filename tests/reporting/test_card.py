"""The data set card of a run whose titles, licence, ids and model are hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from retgen import run
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.generators.multiconir.stories import stories
from tests.pages import Read, rendered

TITLE = "<script>alert('t')</script> | [Salt](https://evil.example) ![](x)\n\n# Clerk\n---\n| x |"
LICENCE = "MIT\n---\nlicense: mit\n---\n<img src=x onerror=alert(1)> [terms](javascript:x) `a` |"
MODEL = "gpt\n\n## <b onclick=x>five</b> | `m` <!-- \n- [x](y)"
HEADER = [
    "pretty_name", "language", "license", "task_categories", "tags", "configs", "dataset_info",
]  # fmt: skip


def made(folder: Path, title: str, licence: str, model: str) -> Path:
    """A run of two ladders whose model says what the baselines would."""
    folder.mkdir()
    rows = [{"_id": f"{title} {i}", "title": title, "text": d["text"]}
            for i, d in enumerate(stories(2))]  # fmt: skip
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(ladder_mind) as server:
        recipe: dict[str, Any] = {
            "name": "own",
            "family": "multiconir",
            "model": {"provider": "openai", "name": model, "base_url": server.url},
            "params": {
                "domain": "movies",
                "singles": False,
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
    assert result.tags == other.tags
    assert result.attributes == other.attributes
    assert {name for name, _ in result.attributes} == {"style"}
    assert {*result.tags} == {
        "h1", "h2", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "code",
    } - ({"strong"} if "strong" not in other.tags else set())  # fmt: skip
    text = shown(result.text)
    assert text.count(shown(TITLE)) == 1  # the example of the table
    assert text.count(shown(LICENCE)) == 2  # in the table and under the licences
    assert text.count(f"by openai:{shown(MODEL)}:") == 5  # agents


def test_its_header_is_the_one_that_was_meant(hostile: Path) -> None:
    card = (hostile / "dataset" / "README.md").read_text()
    header = YAML(typ="safe").load(card.removeprefix("---\n").partition("\n---\n")[0])
    assert list(header) == HEADER
    assert (header["pretty_name"], header["license"]) == ("own", "other")


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_it_loads(hostile: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    for name, split, rows in (("corpus", "corpus", 22), ("queries", "queries", 40)):
        dataset = load_dataset(str(hostile / "dataset"), name, split=split, cache_dir=str(tmp_path))
        assert len(dataset) == rows


def test_the_report_of_the_same_run(hostile: Path) -> None:
    page = Read((hostile / "report.html").read_text())
    assert not {"script", "img", "b onclick", "!--"} & {*page.tags}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert shown(LICENCE) in shown(page.text)
    assert f"openai:{shown(MODEL)}" in shown(page.text)


@pytest.mark.parametrize(
    ("licence", "stated"),
    [
        ("MIT", "apache-2.0"),
        ("CC0-1.0 (own)", "apache-2.0"),
        ("MITRE terms", "other"),
        ("MIT, not for sale", "other"),
        ("Apache-2.0 WITH Commons-Clause", "other"),
    ],
)
def test_only_a_free_licence_is_taken_for_one(tmp_path: Path, licence: str, stated: str) -> None:
    (tmp_path / "ships.jsonl").write_text("".join(json.dumps(d) + "\n" for d in stories(2)))
    overrides = {"params.source": {"path": str(tmp_path / "ships.jsonl"), "licence": licence}}
    path = run("multiconir_movies", out=tmp_path / "out", overrides=overrides).path
    card = (path / "dataset" / "README.md").read_text()
    header = YAML(typ="safe").load(card.removeprefix("---\n").partition("\n---\n")[0])
    assert header["license"] == stated
