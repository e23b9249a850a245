"""`gen audit`: what is printed and written, labels that people fill, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from retgen.audits.benchmark import audit
from tests.audits.conftest import QUERIES
from tests.audits.people import fill
from tests.conftest import Gen, Write


@pytest.mark.slow
def test_from_runs_to_corrected_scores(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str]
) -> None:
    first = gen("audit", made, *runs, "-q")
    assert (first.returncode, first.stderr) == (0, "")
    folder = tmp_path / "outputs" / "audit_made"
    value = json.loads((folder / "audit.json").read_text())
    assert value["pool"] == {"pairs": 120, "depth": 20, "positives": 30}
    assert (value["labelled"], value["missing"], value["labels_needed"]) == (0, None, None)
    assert [one["P@10"] for one in value["runs"]] == pytest.approx([0.1, 0.1])
    assert value["runs"][0]["judged"]["Judged@10"] == pytest.approx(1 / 3)
    assert "nobody has looked" in (folder / "audit.html").read_text()

    fill(folder / "to_judge.tsv", 80, tmp_path / "some.tsv")
    some = gen("audit", made, *runs, "--labels", "some.tsv", "--json")
    value = json.loads(some.stdout)
    assert value["labelled"] == 80
    assert value["missing"]["low"] <= 0.5 <= value["missing"]["high"]
    assert value["wrong"]["low"] == 0
    good, poor = (one["corrected P@10"] for one in value["runs"])
    assert good["low"] <= 0.2 <= good["high"]
    assert poor["low"] <= 0.1 <= poor["high"]

    fill(folder / "to_judge.tsv", 120, tmp_path / "all.tsv")
    done = gen("audit", made, *runs, "--labels", "all.tsv", "--patch", "patch.tsv")
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads((folder / "audit.json").read_text())
    assert value["missing"]["value"] == pytest.approx(0.5)
    assert value["runs"][0]["corrected P@10"]["value"] == pytest.approx(0.2)
    assert value["differences"][0]["value"] == pytest.approx(0.1)
    patch = (tmp_path / "patch.tsv").read_text().splitlines()
    assert patch[0] == "query-id\tcorpus-id\tscore\tbefore"
    assert sorted(patch[1:]) == sorted(f"q{i}\td{i}-1\t1\t" for i in range(QUERIES))


@pytest.mark.slow
def test_what_somebody_filled_is_kept(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str]
) -> None:
    gen("audit", made, *runs, "-q")
    file = tmp_path / "outputs" / "audit_made" / "to_judge.tsv"
    fill(file, 5, file)
    before = file.read_text()
    assert gen("audit", made, *runs, "-q").returncode == 0
    assert file.read_text() == before
    assert gen("audit", made, *runs, "-q", "--labels", file).returncode == 0
    after = file.with_name("to_judge_next.tsv").read_text()
    assert after.splitlines()[2:7] == before.splitlines()[2:7]


@pytest.mark.slow
def test_what_is_refused(gen: Gen, tmp_path: Path, made: Path, runs: list[str]) -> None:
    gen("audit", made, *runs, "-q")
    file = tmp_path / "outputs" / "audit_made" / "to_judge.tsv"
    fill(file, 3, tmp_path / "x.tsv")
    other = gen("audit", made, *runs[:2], "--labels", "x.tsv")
    assert other.returncode == 2
    assert "--labels x.tsv: its first line does not name this pool (" in other.stderr
    text = (tmp_path / "x.tsv").read_text()
    (tmp_path / "x.tsv").write_text(
        text.replace("\n1\t", "\nyes\t", 1).replace("\n0\t", "\nyes\t", 1)
    )
    wrong = gen("audit", made, *runs, "--labels", "x.tsv")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "gen: --labels x.tsv, line 3: 'yes' is no label; write 1, 0 or ?\n",
    )
    alone = gen("audit", made, *runs, "--patch", "p.tsv")
    assert (alone.returncode, alone.stderr) == (
        2,
        "gen: --patch: takes what people labelled; name the file with --labels\n",
    )
    (tmp_path / "foreign.trec").write_text("z1 Q0 d1-1 1 1.0 x\n")
    foreign = gen("audit", made, "--run", "foreign.trec")
    assert foreign.returncode == 2
    assert "ranks no query of" in foreign.stderr


@pytest.mark.slow
def test_a_complete_set_has_no_unjudged_pair(gen: Gen, tmp_path: Path, limit_run: Path) -> None:
    done = gen("audit", limit_run, "--model", "bm25", "--out", "audit")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "Labels: the set says that it is complete, so no pair is unjudged; not known" in done.stdout
    )
    assert "Judged@10" not in done.stdout
    value = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert (value["complete"], value["pool"]) == (
        True,
        {"pairs": 200, "depth": 20, "positives": 200},
    )
    shown = (tmp_path / "audit" / "audit.html").read_text()
    assert "a pair without a qrel is not relevant" in shown
    assert "<code>--labels audit/to_judge.tsv</code>" in shown
    assert "`" not in shown

    lines = (tmp_path / "audit" / "to_judge.tsv").read_text().splitlines()
    assert len(lines) == 202
    filled = [*lines[:2], *("1" + line for line in lines[2:])]
    (tmp_path / "all.tsv").write_text("\n".join(filled) + "\n")
    gen("audit", limit_run, "--model", "bm25", "--out", "audit", "--labels", "all.tsv", "-q")
    value = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert value["missing"] is None
    assert value["wrong"]["value"] == pytest.approx(0, abs=1e-9)


def test_ids_with_ends_of_lines(tmp_path: Path, dataset: Write) -> None:
    """A table of labels goes out and comes back, whatever white space ids hold."""
    ids = [f"a{space}b" for space in "\t\n\r\x0b\x0c\x1c\x85\u2028\u3000"]
    texts = {name: f"word{i}" for i, name in enumerate(ids)}
    queries = {f"q{name}": text for name, text in texts.items()}
    path = dataset(texts, queries, [(f"q{ids[i]}", ids[i - 1], 1) for i in range(len(ids))])
    run = tmp_path / "mine.trec"
    run.write_text("".join(f"q{quote(i)} Q0 {quote(i)} 1 1 x\n" for i in ids[:2]))
    first = audit(path, models=["bm25"], runs=[run], out=tmp_path / "out")
    lines = (tmp_path / "out" / "to_judge.tsv").read_text("utf-8").split("\n")
    assert len(lines) == 3 + len(first.pool)
    filled = [line if at < 2 or not line else f"1{line}" for at, line in enumerate(lines)]
    (tmp_path / "filled.tsv").write_text("\n".join(filled))
    again = audit(
        path, models=["bm25"], runs=[run], labels=tmp_path / "filled.tsv", out=tmp_path / "out"
    )
    assert again.labelled == len(first.pool)
