"""A part of any kind is a new file or folder: nothing of the project is edited by hand for it.

In a copy of the whole project with one more of each of the seven kinds, commands know them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.test_register import ECHO
from tests.evaluation.retrievers.test_register import LONGEST
from tests.evaluation.tasks.test_tasks import TASK
from tests.project import Project
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
