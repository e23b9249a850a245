"""The commands that list, plan, show and make data sets: what they print."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from retgen.generators import families
from retgen.recipes import about, bundled, bundled_studies
from tests.conftest import Gen


def test_run_prints_what_it_made(gen: Gen, small: Path) -> None:
    result = gen("run", small)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("small: 400 documents, 100 queries, 200 qrels in ")
    assert lines[1:] == [
        "  verdict     passed all checks",
        "  proven      200 of 200 qrels, rebuilt from the words of the documents",
        "  dimensions  4 needed and sufficient to rank each query's relevant documents first (proven)",
        lines[4],
        "  data        outputs/small/dataset",
        "  report      outputs/small/report.html",
    ]
    again = gen("run", small)
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == (
        "small: 400 documents, 100 queries, 200 qrels, finished before: nothing to do"
    )
    quiet = gen("run", small, "-q")
    assert (quiet.returncode, quiet.stdout) == (0, "")


@pytest.mark.slow
def test_a_folder_that_has_changed(gen: Gen, tmp_path: Path) -> None:
    """A finished run stays, and says that its documents are others now."""
    folder = tmp_path / "kb"
    folder.mkdir()
    for n, word in enumerate(("apples", "barley", "copper", "dates", "ebony", "flax")):
        text = f"The ship number {n} carries {word} from port to port. Its keel is of oak {n}{n}."
        (folder / f"{word}.txt").write_text(text)
    recipe = "name: kb\nfamily: capretrieval\nparams:\n  source: {path: kb}\n"
    (tmp_path / "kb.yaml").write_text(recipe)
    gen("run", "kb.yaml")
    made = (tmp_path / "outputs" / "kb" / "manifest.json").stat().st_mtime
    for one in (folder, *folder.iterdir()):
        os.utime(one, (made - 60, made - 60))
    assert "warning" not in gen("run", "kb.yaml").stdout
    (folder / "dates.txt").unlink()
    os.utime(folder, (made + 60, made + 60))
    lines = gen("run", "kb.yaml").stdout.splitlines()
    assert lines[0].endswith(", finished before: nothing to do")
    assert lines[2] == (
        f"  warning     {folder} is newer than this run; --fresh reads {folder} again"
    )
    assert "5 documents" in gen("run", "kb.yaml", "--fresh").stdout


def test_plan(gen: Gen, small: Path, tmp_path: Path) -> None:
    content = json.loads(gen("plan", small, "--json").stdout)
    size = content.pop("bytes")
    assert content == {
        "documents": 400,
        "queries": 100,
        "qrels": 200,
        "calls": {},
        "models": {},
        "tokens": {},
        "usd": {"low": 0.0, "high": 0.0},
        "seconds": {"low": 0.0, "high": 0.0},
        "notes": [],
    }
    assert 100_000 < size < 300_000
    shown = gen("plan", small).stdout
    assert "         400  documents\n         100  queries\n" in shown
    assert "       $0.00  no model calls\n" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.yaml"]  # touched nothing


def test_preview(gen: Gen, small: Path, tmp_path: Path) -> None:
    content = json.loads(gen("preview", small, "-n", "2", "--json").stdout)
    assert (len(content["queries"]), len(content["corpus"])) == (2, 2)
    assert len(content["qrels"]) == 4
    assert {row["_id"] for row in content["relevant"]} == {q["corpus-id"] for q in content["qrels"]}
    asked = content["queries"][0]["text"].removeprefix("Who likes ").removesuffix("?")
    assert asked in gen("preview", small, "-n", "1").stdout
    many = gen("preview", "capretrieval_album", "-n", "3", "--set", "params.captions=1500").stdout
    shown, _, _ = many.partition("The corpus begins:")
    assert len([line for line in shown.splitlines() if line.startswith("    d")]) <= 9
    assert "    and 1 more: 4 are relevant\n" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.yaml"]


def test_recipes(gen: Gen) -> None:
    shown = gen("recipes").stdout
    lines = shown.splitlines()
    about = [line.split(maxsplit=1) for line in lines]  # the names stand in a column of their own
    assert any(
        one[0] == "limit_dense" and one[1].startswith("The paper's LIMIT: every pair")
        for one in about
        if len(one) == 2
    )
    assert lines[:2] == ["All run without a key and without a GPU.", ""]
    family = lines.index(
        "capretrieval: training and test queries over your own documents: keywords and summaries"
    )
    assert lines[family + 1] == (
        "  Optional: --model NAME, a chat model (`gen plan` counts its calls); your documents, with "
        "gen new capretrieval --source PATH."
    )
    assert about[family + 2][0] == "capretrieval"
    assert about[family + 2][1].startswith("Queries over documents")
    studies = lines.index("Studies, for gen eval (they score or train embedders: a GPU saves time)")
    assert [
        "limit_density",
        "Denser qrels against scores: six patterns over 2,000 documents (LIMIT, Table 2).",
    ] in about[studies + 1 :]
    names = [row["name"] for row in json.loads(gen("recipes", "--json").stdout)]
    assert names == sorted(bundled())


@pytest.mark.slow
def test_schema_accepts_and_refuses(gen: Gen) -> None:
    schema = json.loads(gen("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"name": "x", "family": "limit", "params": {"pattern": "dense"}}
    jsonschema.validate(good, schema)
    for bad in (
        {**good, "sed": 1},
        {**good, "params": {"pattern": "dense", "n": 5}},
        {**good, "family": "limits"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_new_writes_a_recipe_that_runs(gen: Gen, tmp_path: Path) -> None:
    result = gen("new", "limit")
    assert result.stdout == ("wrote my_limit.yaml; look at it, then: gen plan my_limit.yaml\n")
    assert (tmp_path / "my_limit.yaml").read_text().startswith("# gen run my_limit.yaml\n")
    again = gen("new", "limit")
    assert (again.returncode, again.stderr) == (
        2,
        "gen: my_limit.yaml is there already; choose another file with --out\n",
    )
    wrong = gen("new", "limits")
    assert wrong.stderr == (
        f"gen: there is no family 'limits'; did you mean limit? Families: {', '.join(families())}\n"
    )
    ran = gen("run", "my_limit.yaml", "--set", "params.docs=200", "--set", "params.queries=50")
    assert ran.returncode == 0, ran.stderr


def test_what_recipes_say_of_themselves_is_whole(gen: Gen, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "# gen run two.yaml\n# A sentence that goes on\n# in a second line. And\n# another.\nname: two\n"
    )
    assert about(path) == "A sentence that goes on in a second line."
    shown = gen("recipes").stdout
    for file in (*bundled().values(), *bundled_studies().values()):
        assert f"{file.stem} " in shown
        assert f"  {about(file)}\n" in shown
        assert about(file)[-1] == ".", file
