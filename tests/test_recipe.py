from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from retgen import plan
from retgen.errors import RecipeError
from retgen.generators import families
from retgen.recipe import compare, load_recipe, written_out
from retgen.recipe_file import json_schema, parse_override
from retgen.recipes import bundled
from retgen.yaml_text import to_yaml

HEAD = "name: x\nfamily: limit\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + "params: {pattern: dense, dosc: 5}\n",
            "{path}, line 3, params.dosc: unknown key; did you mean docs? Allowed: pattern, docs, "
            "attributes_per_doc, form, catalogue, queries, k",
        ),
        (
            HEAD + "sed: 7\nparams:\n  pattern: dense\n  docs: many\n",
            "{path}, line 3, sed: unknown key; did you mean seed? Allowed: name, family, seed, "
            "model, models, limit, params, validate, output, review\n"
            "{path}, line 6, params.docs: must be a valid integer, not 'many'",
        ),
        (
            HEAD + "params: {docs: 5}\n",
            "{path}, line 3, params: needs pattern, one of cycle, dense, disjoint, "
            "factorial, hadamard, projective, random, regular",
        ),
        (
            HEAD + "params: {pattern: dens}\n",
            "{path}, line 3, params: there is no pattern 'dens'; did you mean dense? Possible: "
            "dense, random, cycle, disjoint, regular, hadamard, projective, factorial",
        ),
        (
            HEAD + "params: {pattern: dense, k: 0, docs: true, queries: 1.5}\n",
            "{path}, line 3, params.docs: must be a valid integer, not True\n"
            "{path}, line 3, params.queries: must be a valid integer, not 1.5\n"
            "{path}, line 3, params.k: must be greater than or equal to 1, not 0",
        ),
        (
            "name: x\nfamily: limits\nparams: {}\n",
            "{path}, line 2, family: there is no family 'limits'; did you mean limit? "
            f"Families: {', '.join(families())}",
        ),
        (
            HEAD + "model: gpt-5-mini\nmodels: {wirte: openai:x}\nparams: {pattern: dense}\n",
            "{path}, line 3, model: 'gpt-5-mini' is neither 'offline' nor 'provider:name', as in "
            "openai:gpt-5-mini",
        ),
        (
            HEAD + "models: {wirte: openai:x}\nparams: {pattern: dense}\n",
            "{path}, line 3, models.wirte: the family limit has no agent and no role 'wirte'; did "
            "you mean write? It has: write, judge, propose_attributes, remove_overlaps, "
            "paraphrase_query, identify_attribute",
        ),
        (
            "name: My Set\nfamily: limit\nparams: {pattern: dense}\n",
            "{path}, line 1, name: a name is lower-case letters, digits, '_', '-' and '.'",
        ),
        (
            "name: x\nfamily: niah\nparams:\n  table: mine.yaml\n",
            "{path}, line 4, params.table: there is no file {folder}/mine.yaml",
        ),
        (
            HEAD + "params: [1, 2\n",
            "{path}, line 4: is not YAML: expected ',' or ']', but got the end of the file, "
            "while parsing a flow sequence that begins in line 3",
        ),
        ("name: a\nname: b\n", '{path}, line 2: is not YAML: found duplicate key "name"'),
    ],
)
def test_bad_recipes(recipe_file: Callable[[str], Path], text: str, expected: str) -> None:
    path = recipe_file(text)
    with pytest.raises(RecipeError) as error:
        load_recipe(path)
    assert str(error.value) == expected.format(path=path, folder=path.parent)


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(RecipeError) as error:
        load_recipe(path)
    assert str(error.value) == f"{path}: is not a UTF-8 text file: byte 0"


def test_unknown_recipe() -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe("limit_dens")
    assert str(error.value) == (
        "limit_dens: there is no such file, and no bundled recipe of that name; did you mean "
        "limit_dense? `gen recipes` lists them."
    )


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("params.k", "two", "--set params.k: must be a valid integer, not 'two'"),
        ("params.k", float("nan"), "--set params.k: must be a valid integer, not 'nan'"),
        ("validate", float("-inf"), "--set validate: must be a mapping, not '-inf'"),
        (
            "params.kk",
            2,
            "--set params.kk: unknown key; did you mean k? Allowed: pattern, docs, "
            "attributes_per_doc, form, catalogue, queries, k",
        ),
        ("seed", -1, "--set seed: must be greater than or equal to 0, not -1"),
    ],
)
def test_bad_override(small: Path, key: str, value: Any, expected: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe(small, {key: value})
    assert str(error.value) == expected


def test_overrides() -> None:
    assert parse_override("params.k=3") == ("params.k", 3)
    assert parse_override("params.form={type: single}") == ("params.form", {"type": "single"})
    with pytest.raises(RecipeError) as error:
        parse_override("params.k")
    assert str(error.value) == "--set params.k: write key=value, for example --set params.k=3"


_LARGE = ("capretrieval_album_zh", "world_operators")  # some seconds each


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in _LARGE else ()) for n in bundled()]
)
def test_bundled_recipe(name: str) -> None:
    path = bundled()[name]
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == f"# gen run recipes/{name}.yaml"
    assert lines[1].startswith("# ")
    recipe = load_recipe(name)
    assert recipe.name == name
    planned = (lambda p: (p.documents, p.queries, p.qrels))(plan(recipe))
    assert planned == PLANNED.get(name, planned)  # a new recipe may be planned as it likes
    jsonschema.validate(written_out(recipe)[0], json_schema())


PLANNED = {
    "capretrieval": (500, 3_264, 3_264),
    "capretrieval_album": (3_024, 404, 5_839),
    "capretrieval_album_zh": (3_024, 404, 5_839),
    "capretrieval_judged": (500, 120, 30_000),
    "limit_5m": (5_000_000, 1000, 2000),
    "limit_balanced": (200, 1000, 2000),
    "limit_boolean": (10_000, 400, 12_600),
    "limit_conditions": (50_000, 500, 1000),
    "limit_cycle": (50_000, 1000, 2000),
    "limit_dense": (50_000, 1000, 2000),
    "limit_disjoint": (50_000, 1000, 2000),
    "limit_hadamard": (50_000, 64, 1792),
    "limit_k3": (50_000, 165, 495),
    "limit_projective": (50_000, 1893, 83_292),
    "limit_random": (50_000, 1000, 2000),
    "limit_semantic": (10_000, 400, 800),
    "limit_small": (46, 1000, 2000),
    "limit_train": (50_000, 1000, 2000),
    **{
        f"multiconir_{domain}": (4000, 4000, 80_000)
        for domain in ("books", "legal", "medical", "movies", "people")
    },
    "niah": (3_234, 22, 6_160),
    "niah_arms": (5_632, 22, 7_040),
    "niah_long": (396, 22, 660),
    "niah_train": (4_284, 34, 8_160),
    "world_operators": (100_000, 480, 173_985),
    "world_small": (10_000, 144, 16_379),
    "world_twins": (1_890, 1_710, 7_242),
}


def test_no_recipe_is_lost() -> None:
    assert {*PLANNED} <= {*bundled()}


def test_resolved_recipe_reads_back_the_same(small: Path, tmp_path: Path) -> None:
    tree, copies = written_out(load_recipe(small))
    assert copies == {}
    again = tmp_path / "again.yaml"
    again.write_text(to_yaml(tree))
    assert written_out(load_recipe(again))[0] == tree
    assert tree["params"]["catalogue"]["split"] == "test"


def test_compare_names_the_keys() -> None:
    old = {"seed": 1, "params": {"k": 2, "docs": 5}}
    new = {"seed": 2, "params": {"k": 2, "docs": 6, "extra": 1}}
    assert compare(old, new) == ["seed", "params.docs", "params.extra"]


def test_a_path_of_an_override_was_typed_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a bundled recipe lies nothing of the user's; what lies beside a recipe comes first."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "notes.txt").write_text("One note.\n")
    monkeypatch.chdir(tmp_path / "here")
    given = {"params.source.path": "notes.txt"}
    assert load_recipe("capretrieval", given).job.params.source.path == Path.cwd() / "notes.txt"

    (tmp_path / "mine.yaml").write_text(
        "name: mine\nfamily: capretrieval\nparams: {source: {path: others.txt}}\n"
    )
    (tmp_path / "notes.txt").write_text("Another note.\n")
    assert load_recipe("../mine.yaml", given).job.params.source.path == tmp_path / "notes.txt"
    with pytest.raises(RecipeError, match=rf"there is no source {tmp_path}/others.txt"):
        load_recipe("../mine.yaml")
    with pytest.raises(RecipeError, match=rf"there is no source {tmp_path}/here/nowhere"):
        load_recipe("../mine.yaml", {"params.source.path": "nowhere/"})
    for path, why in (
        ("a" * 5000, "File name too long"),
        ("~noone/x", "Could not determine home directory."),
    ):
        with pytest.raises(RecipeError, match=f"no path can be {path[:60]}: {why}"):
            load_recipe("../mine.yaml", {"params.source.path": path})
