"""The worst queries of a system, and what was ranked first."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from retgen.evaluation.scoring.analyses import Analyses
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from tests.conftest import Write

CORPUS = {f"d{i:02}": f"document {i} " + "long " * (60 if i == 3 else 0) for i in range(15)}
QUERIES = {
    "right": "all right",
    "late": "found late",
    "lost": "not found",
    "two": "one of two",
    "none": "nothing ranked",
}
QRELS = [
    ("right", "d00", 1),
    ("late", "d01", 1),
    ("lost", "d02", 1),
    ("two", "d03", 1),
    ("two", "d04", 1),
    ("none", "d05", 1),
    ("lost", "d06", 0),
]
RANKED = {
    "right": "d00 d01 d02",
    "late": "d00 d01 d02",
    "lost": "d06 d07 d08 d09 d10 d11 d12 d13 d14 d00 d02",
    "two": "d04 d00 d01 d02 d03",
}
Trec = Callable[[str, Mapping[str, str]], Path]


def test_the_worst_first(dataset: Write, trec: Trec, tmp_path: Path) -> None:
    path = dataset(CORPUS, QUERIES, QRELS)
    result = evaluate(
        path,
        runs=[trec("mine", RANKED)],
        metrics=["MRR@10"],
        out=tmp_path / "out",
        analyses=Analyses(worst=True),
    )
    (of_mine,) = result.to_json()["worst"]
    assert (of_mine["model"], of_mine["failures"]) == ("mine", 4)
    assert of_mine["worst"] == [
        {
            "query-id": "lost",
            "MRR@10": 0.0,
            "relevant": {"d02": None},
            "first": {"d06": 1, "d07": 2, "d08": 3},
        },
        {"query-id": "none", "MRR@10": 0.0, "relevant": {"d05": None}, "first": {}},
        {"query-id": "late", "MRR@10": 0.5, "relevant": {"d01": 2}, "first": {"d00": 1, "d02": 3}},
        {
            "query-id": "two",
            "MRR@10": 1.0,
            "relevant": {"d03": 5, "d04": 1},
            "first": {"d00": 2, "d01": 3, "d02": 4},
        },
    ]
    stored = json.loads((tmp_path / "out/eval.json").read_text())
    assert stored["worst"] == [of_mine]
    page = (tmp_path / "out/eval.html").read_text()
    text = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))
    assert "mine: 4 of 5 queries, the 4 worst" in text
    assert "not found 0.0000 11+ relevant document 2 1 document 6" in text
    (cut,) = re.findall("document 3 [a-z ]+…", text)
    assert len(cut) == 160
    lines = (tmp_path / "out/eval.md").read_text().splitlines()
    assert "| one of two | 1.0000 | 5 | relevant | " in "\n".join(lines)
    assert "Worst queries" not in text_of(result)
