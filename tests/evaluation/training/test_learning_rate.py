"""`gen train --lr auto`: what is tried, on what it is scored, resumed, refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.errors import UsageError
from retgen.evaluation.training import Pairs, make_config
from retgen.evaluation.training.kinds import resolve
from retgen.evaluation.training.learning_rate import Sweep, Trial, sweep
from retgen.evaluation.training.page import text as text_of
from retgen.progress import no_progress
from tests.conftest import Gen, read_jsonl

pytestmark = pytest.mark.usefixtures("one_torch_thread")
SETTINGS: dict[str, Any] = {"max_steps": 8, "batch_size": 16, "learning_rate": 0.02}


def trials(
    short: str, pairs: Pairs, run: Path, folder: Path, progress: Any = no_progress, **more: Any
) -> Sweep:
    config = resolve(make_config(None, SETTINGS | more), short)
    return sweep(short, pairs, config, run, folder, "cpu", progress)


@pytest.mark.slow
def test_five_rates_scored_on_queries_that_are_kept(
    short: str, pairs: Pairs, run: Path, tmp_path: Path
) -> None:
    result = trials(short, pairs, run, tmp_path / "lr")
    assert [one.rate for one in result.trials] == [0.002, 0.006, 0.02, 0.06, 0.2]
    assert (result.steps, result.dev) == (8, "20 queries that were kept for it")
    scores = [one.score for one in result.trials]
    assert all(score is not None and 0 < score < 1 for score in scores)
    assert len(set(scores)) > 1
    assert next(one.score for one in result.trials if one.rate == result.best) == max(
        score for score in scores if score is not None
    )
    # a query that is scored is not trained on; its documents are searched with all others
    folder = tmp_path / "lr"
    assert sorted(path.name for path in folder.iterdir()) == ["dev", "sweep.json"]
    queries, qrels = (
        read_jsonl(folder / "dev/queries.jsonl"),
        read_jsonl(folder / "dev/qrels.jsonl"),
    )
    assert (len(queries), len(qrels)) == (20, 40)
    assert len(read_jsonl(folder / "dev/corpus.jsonl")) == len(set(pairs.positives))
    # with the same seed the same comes out, from scratch as well
    assert trials(short, pairs, run, tmp_path / "again") == result


@pytest.mark.slow
def test_it_is_resumed_and_kept(short: str, pairs: Pairs, run: Path, tmp_path: Path) -> None:
    """Killed after two of five; what is finished is not trained again."""
    whole = trials(short, pairs, run, tmp_path / "whole")

    def kill(stage: str, done: int, total: int, note: str = "") -> None:
        if (stage, done) == ("learning rates", 2):
            raise KeyboardInterrupt

    folder = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        trials(short, pairs, run, folder, kill)
    finished = [folder / name / "training.json" for name in ("0.02", "0.006")]
    before = [file.stat().st_mtime_ns for file in finished]
    seen = []

    def look(stage: str, done: int, total: int, note: str = "") -> None:
        seen.append([file.stat().st_mtime_ns for file in finished])

    assert trials(short, pairs, run, folder, look) == whole
    assert seen[-1] == before
    assert not finished[0].exists()
    stored = (folder / "sweep.json").stat().st_mtime_ns
    assert trials(short, pairs, run, folder) == whole
    assert (folder / "sweep.json").stat().st_mtime_ns == stored
    # of other pairs it is another one
    other = trials(short, replace(pairs, origin="x", anchors=[*pairs.anchors[::-1]]), run, folder)
    assert other.dev == whole.dev
    assert (folder / "sweep.json").stat().st_mtime_ns != stored


@pytest.mark.slow
def test_a_dev_split_is_scored_where_there_is_one(
    short: str, pairs: Pairs, run: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("corpus", "queries"):
        shutil.copy(run / f"dataset/{name}.jsonl", data)
    qrels = (run / "dataset/qrels.jsonl").read_text().splitlines()
    (data / "qrels").mkdir()
    for split, rows in (("dev", qrels[:60]), ("train", qrels[60:])):
        lines = [json.loads(row) for row in rows]
        (data / f"qrels/{split}.tsv").write_text(
            "query-id\tcorpus-id\tscore\n"
            + "".join(f"{r['query-id']}\t{r['corpus-id']}\t{r['score']}\n" for r in lines)
        )
    result = trials(short, pairs, data, tmp_path / "lr")
    assert result.dev == "the 30 queries of the split dev"
    assert not (tmp_path / "lr/dev").exists()


def test_too_few_queries(short: str, pairs: Pairs, run: Path, tmp_path: Path) -> None:
    few = replace(
        pairs,
        **{
            name: getattr(pairs, name)[:30]
            for name in ("anchors", "positives", "negatives", "query_ids", "positive_ids")
        },
    )
    with pytest.raises(UsageError) as caught:
        trials(short, few, run, tmp_path / "lr")
    assert str(caught.value) == (
        f"--lr auto keeps 20 queries to be scored on, and the pairs have "
        f"{len(set(few.query_ids))}. Name a learning rate"
    )


@pytest.mark.slow
def test_a_rate_at_which_training_fails(
    short: str, pairs: Pairs, run: Path, tmp_path: Path
) -> None:
    result = trials(short, pairs, run, tmp_path / "lr", learning_rate=1e36)
    failed = [one for one in result.trials if one.score is None]
    assert failed
    assert failed[-1].failure.startswith("the training loss is nan at step ")
    assert result.best not in [one.rate for one in failed]


def test_of_equal_scores_the_rate_nearest_to_the_usual_one() -> None:
    rates = [
        Trial(0.1, 0.5),
        Trial(0.3, 0.6),
        Trial(1.0, None, "x"),
        Trial(3.0, 0.6),
        Trial(10, 0.6),
    ]
    assert Sweep(rates, 5, "dev").best == 0.3
    assert Sweep([Trial(r, 0.5) for r in (1.0, 2.0, 3.0)], 5, "dev").best == 2.0
    section = Sweep([*rates[:2], Trial(1.0, 0.9)], 5, "10 queries").section()
    assert section.text == ["Trainings of 5 steps, scored on 10 queries; 1 is taken."]
    assert section.notes == ["1 is the end of what was tried: a better one may lie beyond"]


@pytest.mark.slow
def test_on_the_page_and_shown_again(run: Path, short: str, tmp_path: Path) -> None:
    call: dict[str, Any] = {
        "settings": {"max_steps": 4, "batch_size": 16},
        "metrics": ["recall@2"],
        "out": tmp_path / "out",
        "lr_auto": True,
    }
    result = retgen.train(run, short, **call)
    assert result.rates is not None
    assert [one.rate for one in result.rates.trials] == [0.0002, 0.0006, 0.002, 0.006, 0.02]
    assert result.config.learning_rate == result.rates.best
    shown = result.to_json()
    assert shown["learning_rates"]["best"] == result.rates.best
    lines = text_of(result).splitlines()
    head = lines.index("Which learning rate: 4 steps, 20 queries that were kept for it")
    assert [line.split()[0] for line in lines[head + 2 : head + 7]] == [
        "0.0002",
        "0.0006",
        "0.002",
        "0.006",
        "0.02",
    ]
    assert "Which learning rate" in (tmp_path / "out/train.html").read_text()
    again = retgen.train(run, short, **call)
    assert again.trained.repeated
    assert again.to_json() == shown


@pytest.mark.slow
def test_given_by_name(gen: Gen, run: Path, short: str, tmp_path: Path) -> None:
    done = gen(
        "train",
        run,
        "--model",
        short,
        "--lr",
        "0.01",
        "--set",
        "max_steps=1",
        "--metric",
        "recall@2",
        "--out",
        tmp_path / "out",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["config"]["learning_rate"], shown["learning_rates"]) == (0.01, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--lr", "auto", "--set", "learning_rate=0.1"),
            "--lr and --set learning_rate both give the learning rate; leave one out",
        ),
        (
            ("--lr", "fast"),
            "the training configuration is wrong\n  learning_rate: must be a valid number, unable to parse string as a number, not 'fast'",
        ),
    ],
)
def test_what_cannot_be(
    gen: Gen, run: Path, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = gen("train", run, "--model", "static:minilm", "--out", tmp_path / "out", *options)
    assert (done.returncode, done.stderr) == (2, f"gen: {message}\n")
    assert not (tmp_path / "out").exists()
