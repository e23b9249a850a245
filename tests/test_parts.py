"""A part of any kind is a new file or folder: nothing of the project is edited by hand for it.

In a copy of the whole project with one more of each of the seven kinds, commands know them, and the
tests that look at what there is pass as they stand. Generated pages are written again by `make docs`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.test_register import ECHO
from tests.evaluation.retrievers.test_register import LONGEST
from tests.evaluation.tasks.test_tasks import TASK
from tests.project import ROOT, Project
from tests.validators.rules.test_register import SHOUTING

FAMILY = '''
"""Choices: which of two documents names the colour that is asked for?"""

from pydantic import Field

from retgen.generators import Family, Params, Plan, Records, rows_of

COLOURS = ("red", "green", "blue", "grey", "pink", "white")


class ChoiceParams(Params):
    choices: int = Field(6, ge=1, le=6)


class Choices(Family[ChoiceParams]):
    name = "choices"
    summary = "one of two"
    paper = "none"
    params = ChoiceParams

    def plan(self, job):
        n = job.params.choices
        return Plan(documents=2 * n, queries=n, qrels=n, bytes=250 * n)

    def generate(self, job):
        n = job.params.choices

        def document(i):
            colour = COLOURS[i % n]
            what = colour if i < n else f"of any other colour, never {colour}"
            return {"_id": f"d{i}", "title": "", "text": f"Ball number {i} is {what}."}

        def query(i):
            rival = [f"d{i}", f"d{i + n}"]
            return {"_id": f"q{i}", "text": f"Ball is {COLOURS[i]}", "metadata": {"choice": rival}}

        return Records(
            corpus=rows_of(document, 2 * n),
            queries=rows_of(query, n),
            qrels={"test": rows_of(
                lambda i: {"query-id": f"q{i}", "corpus-id": f"d{i}", "score": 1}, n)},
            features={"queries": {"choice": ["string"]}},
        )

    def checks(self, job, judgements):
        return []

    def scaffold(self):
        return "name: my_choices\\nfamily: choices\\nparams: {choices: 6}\\n"
'''
LAYOUT = '''
"""A text a line."""

from retgen.export.layouts import Layout, Table


class Lines(Layout):
    about = "lines.txt"
    readers = "grep"
    usage = "grep WORD lines.txt"
    tables = (Table("lines.txt", lambda job: (f"{one.text}\\n" for one in job.documents())),)
'''
DESTINATION = '''
"""A shelf: a folder, under another name."""

from retgen.publishing.destinations import file


class Shelf(file.File):
    about = "a folder on a shelf"
    example = "shelf:PATH"
'''
PARTS = {
    "generators/choices/__init__.py": FAMILY,
    "evaluation/tasks/choices/__init__.py": TASK,
    "evaluation/retrievers/longest.py": LONGEST,
    "retgen/agents/backends/echo.py": ECHO,
    "retgen/export/layouts/lines.py": LAYOUT,
    "retgen/publishing/destinations/shelf.py": DESTINATION,
    "validators/rules/shouting.py": SHOUTING,
}
NAMES = """
from retgen.agents.backends import backends
from retgen.evaluation.retrievers import names
from retgen.evaluation.tasks import tasks
from retgen.export.layouts import layouts
from retgen.generators import families
from retgen.publishing.destinations import destinations
from retgen.validators.rules import listed
found = {
    "choices": families(), "longest": names(), "echo": backends(), "lines": layouts(),
    "shelf": destinations(), "shouting": [one.name for one in listed()],
}
print([name for name, known in found.items() if name not in known])
print([one.name for one in tasks() if one.name == "choices"])
"""
# what looks at all parts of a kind
TESTS = (
    "tests/validators/rules/test_register.py",
    "tests/agents/test_register.py",
    "tests/evaluation/retrievers/test_register.py",
    "tests/test_recipe.py",
    "tests/evaluation/tasks/test_tasks.py::test_bundled_tasks_and_who_has_one",
    "tests/publishing/test_publish.py::test_every_destination_says_what_it_is",
    "tests/test_docs.py::test_every_rule_is_documented",
    "tests/test_doctor.py::test_doctor",
    "tests/test_export.py::test_default_folder_and_refusals",
    *(
        f"tests/test_families.py::test_{name}[choices]"
        for name in (
            "name_is_the_folder",
            "params_forbid_unknown_keys",
            "plan_agrees_with_records",
            "the_rules_of_the_proof_can_be_named",
            "every_family_has_a_recipe",
        )
    ),
)


@pytest.mark.slow
def test_each_kind_of_part_is_found_where_it_lies(tmp_path: Path) -> None:
    assert Project(tmp_path, PARTS).python(NAMES) == "[]\n['choices']\n"


@pytest.mark.slow
def test_commands_know_them(tmp_path: Path) -> None:
    project = Project(tmp_path, PARTS)
    run = "outputs/my_choices"
    new, made, checked, scored, exported, published = project.gen(
        ("new", "choices"),
        ("run", "my_choices.yaml", "-q"),
        ("validate", run, "--off", "shouting=as found", "--json"),
        ("eval", run, "--model", "longest", "--json"),
        ("export", run, "--to", "lines", "--out", "lines"),
        ("publish", run, "shelv:top"),
    )
    assert (new.returncode, made.returncode, checked.returncode) == (0, 0, 0)
    assert json.loads(checked.stdout)["switched_off"] == {"shouting": "as found"}
    assert json.loads(scored.stdout)["results"][0]["choices"]["accuracy"] == 0.0  # the longer one
    assert (exported.returncode, exported.stderr) == (0, "")
    assert len((tmp_path / "lines" / "lines.txt").read_text().splitlines()) == 12
    assert published.stderr.startswith(
        "gen: 'shelv:top' needs file:, hub:, s3: or shelf: in front; did you mean shelf?"
    )


@pytest.mark.slow
def test_no_test_pins_a_list_of_all_parts(tmp_path: Path) -> None:
    kept = ("outputs", "shared", ".*", "__pycache__", "build", "*.egg-info")
    copy = tmp_path / "project"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*kept))
    (copy / "outputs").mkdir()
    for name, text in PARTS.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text)
    # a family has a recipe, whose first line is the command that runs it
    (copy / "recipes" / "choices.yaml").write_text(
        "# gen run recipes/choices.yaml\n# Choices of two.\nname: choices\nfamily: choices\n"
        "params: {choices: 6}\n"
    )
    env = {**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200"}
    env.pop("PYTEST_XDIST_WORKER", None)

    def python(*args: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, *args], cwd=copy, env=env, capture_output=True, text=True, check=False
        )
        return "" if done.returncode == 0 else (done.stdout + done.stderr)[-8000:]

    assert python("docs/generate.py") == ""
    assert "`shouting`" in (copy / "docs" / "rules.md").read_text("utf-8")
    fast = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow")
    assert python(*fast, *TESTS) == ""
