"""`gen new` with documents: a recipe that runs, or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retgen.errors import DatasetError, OutputError, RetgenError, UsageError
from retgen.plan import plan
from retgen.recipe import load_recipe
from retgen.scaffold import describe, new_recipe
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.command import in_process as gen
from tests.generators.multiconir.stories import stories
from tests.with_agents.conftest import environment


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    folder.mkdir()
    for row in stories(3):
        (folder / f"{row['_id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n", "utf-8")
    return folder


def test_a_recipe_for_documents_runs(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kb.parent)
    Path("recipes").mkdir()
    done = gen("new", "multiconir", "--source", "kb", "--out", "recipes/kb.yaml")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "source: ../kb (3 .md), 3 documents"
    assert lines[1] == "languages: English (en) 100%"
    assert lines[2].startswith("lengths: ")
    assert lines[3] == "wrote recipes/kb.yaml; look at it, then: gen plan recipes/kb.yaml"
    assert len(lines) == 4
    assert "    path: ../kb\n" in Path("recipes/kb.yaml").read_text()
    assert plan("recipes/kb.yaml").documents == 60
    with serving(ladder_mind) as server:
        made = gen("run", "recipes/kb.yaml", "--out", "out", env=environment(server))
    assert made.returncode == 0, made.stderr


def test_the_licence_of_the_documents(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kb.parent)
    unstated = plan(new_recipe("multiconir", "a.yaml", "kb")).notes
    assert [note for note in unstated if "licence" in note] == [
        "the licence of your documents is not stated: set `licence:` of the source, or give "
        "`gen publish --licence`"
    ]
    done = gen("new", "multiconir", "--source", "kb", "--licence", "other: ours", "--out", "b.yaml")
    assert done.returncode == 0, done.stderr
    assert load_recipe("b.yaml").job.params.source.licence == "other: ours"
    assert not [note for note in plan("b.yaml").notes if "licence" in note]
    for licence in ("", "not stated", "a\nb"):
        with pytest.raises(UsageError, match="name the licence in a line"):
            new_recipe("multiconir", "c.yaml", "kb", licence)
    message = (
        "--licence: 'CC-BY-5' is no licence of SPDX's list (https://spdx.org/licenses); did you "
        "mean cc-by-2.0? Any other is given as 'other: WORDS'"
    )
    with pytest.raises(UsageError, match=re.escape(message)):
        new_recipe("multiconir", "c.yaml", "kb", "CC-BY-5")
    with pytest.raises(UsageError, match="of your documents: name them with --source"):
        new_recipe("limit", "c.yaml", licence="MIT")
    assert not Path("c.yaml").exists()


def test_a_family_that_takes_no_documents(kb: Path, tmp_path: Path) -> None:
    done = gen("new", "limit", "--source", str(kb), "--out", str(tmp_path / "a.yaml"))
    assert done.returncode == 2
    assert done.stderr.startswith("gen: limit takes no documents of yours. Families that do: ")
    assert "multiconir" in done.stderr
    assert not (tmp_path / "a.yaml").exists()


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("none", DatasetError, "there is no source "),
        ("empty", DatasetError, "{}/empty holds no document that can be used. Refused are 1 by "),
        ("short", DatasetError, "params.source: {}/short holds no document that can be used. "),
        ("", UsageError, "--source is empty: give a file, a folder, or hf:owner/name"),
    ],
)
def test_nothing_is_written_for_documents_that_cannot_be_used(
    tmp_path: Path, source: str, kind: type[RetgenError], message: str
) -> None:
    for name, text in (("empty", ""), ("short", "One line.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(text)
    out = tmp_path / "my.yaml"
    with pytest.raises(kind) as error:
        new_recipe("multiconir", out, str(tmp_path / source) if source else "")
    assert str(error.value).startswith(message.format(tmp_path))
    assert not out.exists()


def test_a_recipe_is_never_written_over(kb: Path, tmp_path: Path) -> None:
    out = tmp_path / "my.yaml"
    out.write_text("mine")
    with pytest.raises(OutputError, match="is there already; choose another file with --out"):
        describe("multiconir", kb, out)
    with pytest.raises(
        OutputError, match=r"there is no folder .*/none to write my.yaml in; make it"
    ):
        describe("multiconir", kb, tmp_path / "none" / "my.yaml")
    assert out.read_text() == "mine"
