"""`gen eval` on haystacks: what is measured, what is truncated and what is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from retgen.evaluation.tasks.niah.haystacks import load_haystacks
from retgen.search.collection import load
from retgen.search.embedders.loading import load_model
from tests.conftest import read_jsonl
from tests.evaluation.tasks.niah.made import GROUPS, MANY, write_haystacks

READ = 40  # tokens that minilm reads here


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_haystacks(
        tmp_path_factory.mktemp("niah") / "made",
        (40, 80, 160),
        needles=("one_hop", "literal"),
        expanded=True,
    )


@pytest.fixture(scope="module")
def scored(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return evaluate(
        made,
        models=["static:minilm", "bm25"],
        out=tmp_path_factory.mktemp("out") / "eval",
        metrics=["recall@10"],
    )


@pytest.fixture(scope="module")
def short(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return evaluate(
        made,
        models=["minilm"],
        options=Options(max_length=READ),
        metrics=["recall@10"],
        out=tmp_path_factory.mktemp("out") / "short",
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Enough questions for intervals."""
    folder = tmp_path_factory.mktemp("niah")
    made = write_haystacks(
        folder / "many",
        (40, 80),
        needles=("one_hop", "literal"),
        groups=tuple(MANY),
        controls=("none", "neutral"),
    )
    return evaluate(made, models=["bm25"], metrics=["recall@10"], out=folder / "eval")


def measured(result: Any) -> dict[str, dict[str, Any]]:
    """The first make of haystacks of each system, as the question is asked."""
    rows = result.to_json()["results"]
    return {row["model"]: row["haystacks"]["arms"][0] for row in rows}


def test_measures_are_those_of_the_scores(made: Path, scored: Any) -> None:
    """All of one length again, from the model's own vectors."""
    model = load_model("static:minilm", "cpu")
    haystacks = load_haystacks(load(made))
    of = measured(scored)["static:minilm"]["by_length"]["80"]
    values = []
    for group in haystacks.groups:
        own = [t for t in group.haystacks if t.length == 80 and t.variant.needle == "one_hop"]
        without = [t for t in haystacks.controls if t.length == 80]
        mine = next(t for t in without if t.group == group.name)
        asked = model.encode_query(group.queries["question"])
        scores = model.encode_document([t.text for t in own]) @ asked
        controls = model.encode_document([t.text for t in without]) @ asked
        paired = model.encode_document(mine.text) @ asked
        bare = model.encode_document(group.needles["one_hop", "default"]) @ asked
        values.append(
            [
                scores.mean(),
                (scores / bare).mean(),
                (scores > paired).mean(),
                scores.mean() - controls.mean(),
                (scores[:, None] > controls[None]).mean(),
            ]
        )
    got = [of[m]["value"] for m in ("similarity", "normalised", "ratio", "difference", "auc")]
    assert got == pytest.approx(np.mean(values, axis=0), abs=1e-5)


def test_what_the_controls_are_is_said_and_that_questions_are_few(many: Any, scored: Any) -> None:
    """Sentences of the control are of the data sets at hand."""
    warning = "no intervals: too few independent units: 4 questions, 12 needed"
    assert f"note: {warning}" in text_of(scored)
    page = (many.folder / "eval.html").read_text()
    assert "Comparative ratio: a haystack above its filler with a neutral sentence" in page
    assert "so these controls are the closer ones and stand first" in page
    of_one = (scored.folder / "eval.html").read_text()
    assert "neutral" not in of_one


def test_what_is_not_read_is_said_beside_each_length(short: Any) -> None:
    of = measured(short)
    assert list(of) == ["minilm"]
    by = of["minilm"]["by_length"]
    assert [by[n]["truncated"] for n in ("40", "80", "160")] == [0.0, 1.0, 1.0]
    assert by["40"]["seen"] == 1.0
    # of four places the first is read; of 80 tokens the second begins a third into the text
    assert 0.25 <= by["80"]["seen"] <= 0.5
    assert by["160"]["seen"] == 0.25
    assert (
        f"minilm: reads {READ} tokens, so of 220 documents that it was given for the questions 136 "
        "are cut"
    ) in short.to_json()["notes"]


def test_tables_and_page(short: Any, scored: Any) -> None:
    lines = text_of(short).splitlines()
    start = lines.index("AUC within the question, by tokens of the haystack (* not read whole)")
    table = [re.split(r"  +", line.strip()) for line in lines[start + 1 : lines.index("", start)]]
    assert table[0] == ["AUC", "40", "80", "160"]
    assert [row[0] for row in table[1:]] == [
        "minilm · one-hop",
        "minilm · literal",
        "chance",
    ]
    assert [cell.endswith("*") for cell in table[1][1:4]] == [False, True, True]
    for title, shares in (
        ("Haystacks that are not read whole", ["0%", "100%*", "100%*"]),
        ("Haystacks whose needle is read", ["100%", "50%*", "25%*"]),
    ):
        start = lines.index(title)
        rows = [re.split(r"  +", line.strip()) for line in lines[start + 1 : start + 3]]
        assert rows[0][1:] == ["40", "80", "160"]
        assert rows[1] == ["minilm · one-hop", *shares]
    page = (short.folder / "eval.html").read_text()
    for title in (
        "Needles in haystacks: by length",
        "Similarity, comparative ratio, separation",
        "The place of the needle",
        "Query expansion",
        "Order and category",
    ):
        assert page.count(f"<h2>{title}</h2>") == 1
    assert "100% cut" in page
    names = {path.name for path in (short.folder / "figures").glob("*.svg")}
    assert {
        "haystacks_auc.svg",
        "haystacks_ratio.svg",
        "haystacks_normalised.svg",
        "haystacks_categories.svg",
        "haystacks_expansion.svg",
    } <= names
    expansion = (scored.folder / "eval.html").read_text().partition("<h2>Query expansion")[2]
    assert "Not drawn, for want of room: " in expansion
    summary = page[: page.index("<section>")]
    assert "From 80 tokens on minilm · one-hop does not read haystacks whole: at 160" in summary
    assert "so a fall there is one of what is cut off" in summary
    assert (
        "bm25 · one-hop: the AUC within the question is 0.500"
        in (scored.folder / "eval.md").read_text()
    )


def test_a_row_a_question(scored: Any) -> None:
    rows = read_jsonl(scored.folder / "per_question" / "static--minilm-384.jsonl")
    assert [(row["group"], row["category"]) for row in rows] == [
        (name, of[0]) for name, of in GROUPS.items()
    ]
    auc = [
        value["value"]
        for row in rows
        for value in row["values"]
        if (value["measure"], value["query"], value["needle"], value["length"])
        == ("auc", "question", "one_hop", 160)
    ]
    mean = measured(scored)["static:minilm"]["by_length"]["160"]["auc"]["value"]
    assert (len(auc), np.mean(auc)) == (4, pytest.approx(mean))


def test_the_command_and_its_limit_for_all_systems(gen, made: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = gen("eval", made, "--limit", "2", "--metric", "recall@10", "--out", "out", "--json")
    assert done.returncode == 0
    content = json.loads(done.stdout)
    (row,) = content["results"]
    assert (row["model"], row["haystacks"]["questions"]) == ("bm25", 2)
    assert "--limit: measured on 2 of 4 questions" in content["notes"]
    assert len(read_jsonl(tmp_path / "out" / "per_question" / "bm25.jsonl")) == 2
