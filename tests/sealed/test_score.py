"""`gen eval --sealed`: two people who share a commitment score a system alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from retgen import evaluate_sealed, make_sealed, reveal_sealed
from retgen.errors import DatasetError, SealBroken
from tests.conftest import Gen, read_jsonl
from tests.sealed.conftest import submission


@pytest.mark.slow
def test_holder_and_stranger_agree(sealed: Path, tmp_path: Path, gen: Gen) -> None:
    """Before the reveal by the holder, afterwards by whoever has two files and the submission."""
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    shutil.copy(sealed / "commitment.json", stranger)
    run = submission(sealed / "public", stranger / "mine.trec")
    words = ("--sealed", "--model", "bm25", "--run", run, "--json")
    first = gen("eval", sealed, *words)
    assert first.returncode == 0, first.stderr
    shutil.copy(Path(reveal_sealed(sealed).path) / "reveal.json", stranger)
    shutil.rmtree(sealed)
    second = gen("eval", "reveal.json", *words, cwd=stranger)
    assert second.returncode == 0, second.stderr
    holder, other = json.loads(first.stdout), json.loads(second.stdout)
    assert (holder.pop("revealed"), other.pop("revealed")) == (False, True)
    assert holder == other
    assert sorted(holder) == [
        "commitment",
        "dataset",
        "documents",
        "floors",
        "queries",
        "results",
        "round",
        "split",
    ]
    assert (
        holder["commitment"] == json.loads((stranger / "commitment.json").read_text())["commitment"]
    )
    assert [(one["model"], one["metrics"]["recall@2"]) for one in holder["results"]] == [
        ("bm25", 1.0),
        ("mine", 1.0),
    ]
    assert not (stranger / "outputs" / "eval_tiny").exists()
    name = f"eval_tiny-{holder['commitment'][:16]}"
    assert (stranger / "outputs" / name / "eval.json").is_file()


@pytest.mark.slow
def test_what_is_printed_tells_no_qrel(sealed: Path, gen: Gen) -> None:
    run = submission(sealed / "public", sealed.parent / "mine.trec")
    ids = {
        row["_id"]
        for name in ("corpus", "queries")
        for row in read_jsonl(sealed / "public" / f"{name}.jsonl")
    }
    for more in ((), ("--json",)):
        shown = gen("eval", sealed, "--sealed", "--run", run, *more)
        assert shown.returncode == 0, shown.stderr
        assert not any(one in shown.stdout for one in ids)
    lines = gen("eval", sealed, "--sealed", "--run", run).stdout.splitlines()
    assert lines[1].split()[:3] == ["system", "dim", "recall@1"]
    assert lines[2].split() == ["mine", "0.5000", *["1.0000"] * 4]
    assert lines[-1] == (
        f"keep {sealed / 'private' / 'run' / 'tiny' / 'eval'} to yourself: scores by query tell of the "
        "qrels"
    )
    assert sorted(path.name for path in sealed.iterdir()) == [
        "commitment.json",
        "private",
        "public",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: ["q1 Q0 d1 1 1.0 x", *lines], ", line 1: there is no query 'q1' in the set"),
        (
            lambda lines: [*lines, lines[0].replace(" d", " x")],
            ", line 1001: there is no document 'x",
        ),
        (lambda lines: lines[10:], ": ranks nothing for 1 of 100 queries, for example "),
        (lambda lines: [*lines, lines[0]], ": query "),
        (lambda lines: [*lines, "q1"], ", line 1001: a line of a TREC run is: query id, Q0, "),
        (lambda lines: [], ": ranks nothing for 100 of 100 queries, for example "),
        (lambda lines: [lines[0].replace(" 1 ", " 1 nan "), *lines[1:]], ": ranks "),
    ],
)
def test_submissions_that_are_refused(
    sealed: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    run = submission(sealed / "public", sealed.parent / "mine.trec")
    lines = change(run.read_text().splitlines())
    run.write_text("".join(f"{line}\n" for line in lines))
    if message == ": ranks ":  # a line of seven cells is none
        message = ", line 1: a line of a TREC run is: query id, Q0, "
    with pytest.raises(DatasetError) as error:
        evaluate_sealed(sealed, runs=[run])
    assert str(error.value).startswith(f"{run}{message}")


def test_a_submission_that_is_no_text(sealed: Path) -> None:
    run = sealed.parent / "mine.trec"
    run.write_bytes(b"\xff\xfe")
    with pytest.raises(DatasetError, match="is not a UTF-8 text file"):
        evaluate_sealed(sealed, runs=[run])


def test_options_that_would_tell(sealed: Path, gen: Gen) -> None:
    shown = gen("eval", sealed, "--sealed", "--worst", "--by", "kind")
    assert (shown.returncode, shown.stderr) == (
        2,
        (
            "gen: --sealed prints the measures of one set, and nothing that tells of its qrels: leave "
            "out --by, --worst\n"
        ),
    )


def test_a_holder_who_changes_the_set(sealed: Path) -> None:
    qrels = sealed / "private" / "run" / "tiny" / "dataset" / "qrels.jsonl"
    text = qrels.read_text()
    first = text.splitlines()[0]
    qrels.write_text(text.replace(first, first.replace('"score":1', '"score":0')))
    with pytest.raises(SealBroken) as error:
        evaluate_sealed(sealed)
    assert str(error.value).splitlines()[0] == (
        f"sealed/bytes: {sealed / 'private' / 'run' / 'tiny'} was changed since it was sealed:"
    )
    assert str(error.value).splitlines()[1].startswith("  dataset/qrels.jsonl: ")


def test_without_the_private_part(sealed: Path, gen: Gen) -> None:
    shutil.rmtree(sealed / "private")
    shown = gen("eval", "holder", "--sealed", cwd=sealed.parent.parent)
    assert (shown.returncode, shown.stderr) == (
        2,
        (
            "gen: holder/round-1 holds neither private/ nor reveal.json: until it is revealed, its "
            "holder alone can score\n"
        ),
    )
    shown = gen("eval", "nowhere", "--sealed")
    assert (shown.returncode, shown.stderr) == (
        2,
        (
            "gen: nowhere is no sealed set: it holds no commitment.json. `gen sealed make` makes one\n"
        ),
    )


@pytest.mark.slow
def test_candidate_sets_are_scored_as_gen_eval_does(tmp_path: Path, gen: Gen) -> None:
    overrides = {"params.triples_per_cell": 2}
    made = Path(make_sealed("world_twins", out=tmp_path / "out", overrides=overrides).path)
    shown = gen("eval", made, "--sealed", "--model", "bm25", "--json")
    assert shown.returncode == 0, shown.stderr
    sealed = json.loads(shown.stdout)
    plain = json.loads(
        gen("eval", made / "private" / "run" / "world_twins", "--model", "bm25", "--json").stdout
    )
    for one in plain["results"]:
        one.pop("details", None)
    assert sealed["results"] == plain["results"]
    assert len(sealed["results"]) == 1
