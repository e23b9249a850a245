"""What is published says nothing of the machine that made it: every file of the tree is looked through."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import retgen
from retgen.dataset_files import card_header
from retgen.errors import ChecksFailed, UsageError
from retgen.export.layouts import layouts
from retgen.yaml_text import read_yaml
from tests.agents.minds import mind
from tests.agents.server import serving
from tests.with_agents.conftest import recipe_of

KEY, VARIABLE = "sk-not-for-anybody", "KEY_OF_OUR_SERVER"


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """The name and content of every file, tables as rows."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        yield name, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield name, str(pq.read_table(path).to_pylist())


def leaks(folder: Path, *private: str) -> list[tuple[str, str]]:
    """The files in which something private stands."""
    return [(name, one) for name, text in texts(folder) for one in private if one in text]


def published(run: Path, to: Path) -> Path:
    retgen.publish(run, f"file:{to}", force=True)
    return to


@pytest.mark.slow
def test_the_server_of_a_model_stays_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    recipe = tmp_path / "made.yaml"
    with serving(mind) as server:
        model = f"{{provider: openai, name: gpt-5-mini, base_url: '{server.url}', api_key_env: {VARIABLE}}}"
        recipe.write_text(recipe_of(10, 30).replace("openai:gpt-5-mini", model))
        run = retgen.run(recipe, out=tmp_path / "run").path
    private = (server.url, "127.0.0.1", "localhost", VARIABLE, KEY, str(tmp_path), str(Path.home()))
    assert leaks(run, server.url)  # the run itself keeps it: it can go on where it stopped
    tree = published(run, tmp_path / "tree")
    assert leaks(tree, *private) == []
    manifest = json.loads((tree / "manifest.json").read_text())
    assert {one["model"] for one in manifest["models"].values()} == {"openai:gpt-5-mini"}
    assert {"endpoint"} & {key for one in manifest["models"].values() for key in one} == set()
    stated = read_yaml(tree / "recipe.yaml")["model"]
    assert stated | {"provider": "openai", "name": "gpt-5-mini"} == stated
    head = (tree / "recipe.yaml").read_text().splitlines()[:2]
    assert head == [
        "# gen run recipe.yaml",
        "# Without addresses and keys of models, and folders above those of sources.",
    ]
    for name in layouts():
        out = tmp_path / "exports" / name
        retgen.export(run, name, out)
        assert leaks(out, *private) == []


@pytest.mark.slow
def test_where_sources_stood_stays_private(tmp_path: Path) -> None:
    docs = tmp_path / "our-help-pages"
    docs.mkdir()
    ends = ("burg", "ford", "holm", "mouth", "stead", "thorpe", "wick", "bridge")
    for number, town in enumerate(f"{a}{b}" for a in ("Nor", "Sud", "Ost", "Wes") for b in ends):
        text = f"The {town} harbour was repaired by {number + 3} engineers of the {town} railway."
        (docs / f"p{number}.txt").write_text(f"{text} It opened again in {1900 + number}.")
    recipe = tmp_path / "own.yaml"
    recipe.write_text(f"name: own\nfamily: capretrieval\nparams:\n  source: {{path: {docs}}}\n")
    run = retgen.run(recipe, out=tmp_path / "run").path
    assert leaks(run, str(docs))
    with pytest.raises(ChecksFailed, match="does not say that others may have it: --licence"):
        retgen.publish(run, f"file:{tmp_path / 'tree'}")
    # a licence that is stated at publishing stands in all that is published
    tree = tmp_path / "tree"
    retgen.publish(run, f"file:{tree}", licence="CC BY 4.0")
    assert leaks(tree, "not stated") == []
    manifest = json.loads((tree / "manifest.json").read_text())
    assert manifest["licences"]["documents"] == "CC BY 4.0"
    assert manifest["licence_stated_at_publishing"] == "CC BY 4.0"
    assert "\n- documents: CC BY 4.0\n" in (tree / "README.md").read_text()
    assert card_header(tree)["license"] == "cc-by-4.0"
    assert read_yaml(tree / "recipe.yaml")["params"]["source"]["licence"] == "CC BY 4.0"
    assert json.loads((run / "manifest.json").read_text())["licences"]["documents"] == "not stated"
    shutil.copy(tree / "manifest.json", run / "manifest.json")
    with pytest.raises(UsageError, match="the licence of all parts is stated already"):
        retgen.publish(run, f"file:{tree}", licence="MIT")
    assert leaks(tree, str(tmp_path), str(Path.home())) == []
    assert read_yaml(tree / "recipe.yaml")["params"]["source"]["path"] == "our-help-pages"
    found = retgen.validate(tree)  # a copy that somebody downloads
    assert found.errors == 0
    listed = json.loads((tree / "published.json").read_text())["files"]
    from retgen.write import file_info

    assert {name: file_info(tree / name)._asdict() for name in listed} == listed
