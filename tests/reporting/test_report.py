"""The report page: what it says of a good, a failed and an empty run, escaped and bounded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from retgen.errors import DatasetError
from retgen.reporting.report import report, run_page, write_report
from retgen.results.page import Section

EVIL = "<script>alert('x')</script>\"&"


class Page(HTMLParser):
    """A page as text, tags counted; fails where tags do not nest."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.pieces: list[str] = []
        self.marked: list[str] = []
        self.feed(html)
        assert self.open == []
        self.text = " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.pieces.append(data)
        if self.open and self.open[-1] == "mark":
            self.marked.append(data)


def render(folder: Path, content: dict[str, Any]) -> str:
    write_report(folder, content)
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture
def content() -> dict[str, Any]:
    """A run over 1,200 documents with all six pairs of four of them as queries."""
    baselines = {
        "random": {"recall@2": 0.001667, "recall@4": 0.003333},
        "rankings": {
            "summed IDF": {"recall@2": 0.1667, "recall@4": 1.0},
            "longest first": {"recall@2": 0.25, "recall@4": 0.25},
        },
        "best": {"ranking": "longest first", "recall@2": 0.25, "recall@4": 0.25},
    }
    return {
        "name": "limit_tiny",
        "family": "limit",
        "summary": "attribute corpora from a latent qrel matrix",
        "paper": "LIMIT (arXiv 2508.21038)",
        "recipe": {"name": "limit_tiny", "seed": 7, "params": {"pattern": "dense", "k": 2}},
        "folder": "limit tiny",
        "manifest": {
            "created": "2025-11-20T20:33:11+00:00",
            "versions": {"retgen": "0.1.0", "python": "3.11.7"},
            "counts": {"documents": 1200, "queries": 6, "qrels": 12, "rejected": 3},
            "complete": True,
            "evidence": {"structural": 12, "judged": 0, "human": 0},
            "timings": {"latent": 0.01, "prove and measure": 1.234},
            "licences": {"names": "MIT (Faker)"},
            "word_lists": {"attributes": "ab" * 32},
            "files": {"dataset/corpus.jsonl": {"sha256": "0f" * 32, "bytes": 52133123}},
        },
        "card": ["A `dense` matrix."],
        "solved_blindly": "summed IDF reaches recall@4 = 1.000",
        "ok": True,
        "errors": 0,
        "warnings": 0,
        "findings": [],
        "switched_off": {},
        "proven_qrels": 12,
        "statistics": {
            "documents": 1200,
            "queries": 6,
            "qrels": 12,
            "positives": 12,
            "relevant_documents": 4,
            "words_per_document": {
                "min": 9,
                "mean": 9.5,
                "max": 10,
                "histogram": {"9": 600, "10": 600},
            },
            "relevant_per_query": {"min": 2, "mean": 2.0, "max": 2, "histogram": {"2": 6}},
            "queries_per_relevant_document": {
                "min": 3,
                "mean": 3.0,
                "max": 3,
                "histogram": {"3": 4},
            },
        },
        "floors": baselines,
        "certificate": {
            "documents": 4,
            "queries": 6,
            "document_graph_density": 1.0,
            "query_graph_density": 0.8,
            "average_query_strength": 1.333333,
            "lower": 2,
            "upper": 3,
            "lower_bounds": [
                {
                    "dimension": 2,
                    "notion": "row order",
                    "theorem": "T1",
                    "reference": "R1",
                }
            ],
            "upper_bounds": [
                {"dimension": 4, "notion": "row order", "theorem": "T2", "reference": "R2"},
                {"dimension": 3, "notion": "row order", "theorem": "T3", "reference": "R3"},
            ],
            "skipped": [{"theorem": "T4", "reason": "the matrix is not square"}],
        },
        "samples": {
            "queries": [
                {
                    "query": "Who likes Walks in the Park?",
                    "relevant": [
                        "Jo Li likes Tea, walks in the park and Parks.",
                        "Al Po likes Jam and Walks in the Park.",
                    ],
                }
            ],
            "documents": ["Di Ng likes Tea and Jam."],
            "positions": [4] + [0] * 49,
        },
    }


def test_a_proven_run(tmp_path: Path, content: dict[str, Any]) -> None:
    html = render(tmp_path, content)
    page = Page(html)
    for text in (
        "A synthetic retrieval data set: attribute corpora from a latent qrel matrix, pattern "
        "dense , seed 7.",
        "retgen report · 2025-11-20 20:33:11 UTC limit_tiny",
        "PROVEN 12 of 12 qrels, rebuilt from the words of the documents, by a check that shares no "
        "code with the generator",
        "0 errors · 0 warnings · 0 rules off",
        "1,200 documents 4 relevant 6 queries 2 relevant each 12 qrels 12 proven 9.5 words per "
        "document 9–10 3 rejected see rejected.jsonl",
        "Whether a retriever puts the 2 relevant documents of each of 6 queries before the rest of "
        "1,200.",
        "Reading the query. This set can be solved without it: summed IDF reaches recall@4 = 1.000.",
        "Needs at least 2 and at most 3 dimensions: the qrel matrix excludes no embedder of 3 or more "
        "dimensions.",
        "at least 2 row order T1 R1 at most 3 row order T3 R3 at most 4 row order "
        "T2 R2 skipped – T4 the matrix is not square",
        "query graph density 0.8 share of the query pairs",
        "document graph density 1 share of the pairs of relevant documents",
        "average query strength 1.333333 mean over the queries",
        "ranking recall@2 recall@4 random order 0.0017 0.0033 summed IDF 0.1667 1.0000 longest first 0.2500 "
        "0.2500",
        "summed IDF solves recall@4.",
        "Relevant documents per query: 2 in each of the 6 queries.",
        "by chance 0.08 each",
        "Every rule passed; nothing was found.",
        "names: MIT (Faker) method: LIMIT (arXiv 2508.21038)",
        "name: limit_tiny seed: 7 params: pattern: dense k: 2",
        "gen validate 'limit tiny' #",
        "gen export 'limit tiny' --to beir",
        "gen run 'limit tiny'/recipe.yaml --out again",
        'load_dataset(\'limit tiny/dataset\', "corpus", split="corpus")',
    ):
        assert text in page.text, text
    assert page.tags["svg"] == 2  # words, positions
    # "likes" stands in every document, so it is no part of what the query asks for
    assert page.marked == ["Walks", "Park", "walks", "park", "Parks", "Walks", "Park"]
    assert "In every example below words of the query stand literally" in page.text
    content["samples"]["queries"][0]["relevant"].append("Ed Fu likes strolling.")
    assert "stand literally" not in Page(render(tmp_path, content)).text


def test_the_page_asks_for_nothing(tmp_path: Path, content: dict[str, Any]) -> None:
    html = render(tmp_path, content)
    assert Page(html).tags.keys().isdisjoint({"script", "link", "img", "iframe", "image", "use"})
    assert not re.search(r"https?://|url\(|@import|\bsrc=", html)
    assert "default-src 'none'" in html


def section(content: dict[str, Any], title: str) -> Section:
    return next(one for one in run_page(content).sections if one.title == title)


def test_everything_is_escaped(tmp_path: Path, content: dict[str, Any]) -> None:
    content |= {
        "name": EVIL,
        "summary": EVIL,
        "paper": EVIL,
        "folder": EVIL,
        "card": [EVIL, f"`{EVIL}`"],
        "findings": [{"rule": EVIL, "severity": EVIL, "ids": [EVIL] * 20, "message": EVIL}],
        "switched_off": {EVIL: EVIL},
        "solved_blindly": EVIL,
        "recipe": {EVIL: EVIL, "seed": EVIL, "params": {"pattern": EVIL}},
    }
    content["manifest"] |= {
        "created": EVIL,
        "versions": {"retgen": EVIL},
        "evidence": {EVIL: 1},
        "timings": {EVIL: 1.0},
        "licences": {EVIL: EVIL},
        "word_lists": {EVIL: EVIL},
        "files": {EVIL: {"sha256": EVIL, "bytes": 1}},
    }
    for bound in content["certificate"]["lower_bounds"] + content["certificate"]["upper_bounds"]:
        bound |= {"notion": EVIL, "theorem": EVIL, "reference": EVIL, EVIL: EVIL}
    content["certificate"]["skipped"] = [{"theorem": EVIL, "reason": EVIL}]
    content["floors"]["rankings"][EVIL] = {"recall@2": 1.0, "recall@4": 1.0}
    content["samples"] |= {
        "queries": [{"query": f"Who likes {EVIL}?", "relevant": [f"{EVIL} likes {EVIL}."]}],
        "documents": ["B likes plain text."],
    }
    html = render(tmp_path, content)
    page = Page(html)
    assert "<script" not in html.lower()
    assert "script" not in page.tags
    assert page.text.count("<script>") > 50
    assert page.marked == ["script", "alert", "x", "script"] * 3


def test_a_failed_run_claims_nothing(tmp_path: Path, content: dict[str, Any]) -> None:
    content |= {
        "ok": False,
        "errors": 2,
        "warnings": 1,
        "proven_qrels": 0,
        "certificate": {},
        "floors": {"random": {}, "rankings": {}, "best": None},
        "solved_blindly": None,
        "samples": {"queries": [], "documents": [], "positions": [0] * 50},
        "switched_off": {"encoding": "Latin-1 on purpose"},
        "findings": [
            {"rule": "order-leak", "severity": "warning", "ids": [], "message": "leaks"},
            {"rule": "schema", "severity": "error", "ids": ["corpus:17"], "message": "is not JSON"},
            {"rule": "schema", "severity": "error", "ids": ["corpus:19"], "message": "is blank"},
        ],
    }
    page = Page(render(tmp_path, content))
    for text in (
        "NOT OK 2 errors. The data did not pass its checks: do not use it.",
        "2 errors · 1 warning · 1 rule off",
        "What failed schema 2 errors: is not JSON",
        "No query with a relevant document was found.",
        "No certificate: there are no positive qrels, or the run stopped before.",
        "No baselines were computed.",
        "error: schema (2) finding ids is not JSON corpus:17 is blank corpus:19 warning: order-leak "
        "(1) finding ids leaks Switched off by the recipe rule reason encoding Latin-1 on purpose",
    ):
        assert text in page.text, text
    assert "PROVEN" not in page.text
    assert "What this set tests" not in page.text
    assert "Complete labels" not in page.text


def test_any_key_may_be_missing(tmp_path: Path, content: dict[str, Any]) -> None:
    assert "NOT OK 0 errors" in Page(render(tmp_path, {})).text
    for key in content:
        Page(render(tmp_path, {name: one for name, one in content.items() if name != key}))


def test_no_error_without_a_proof(tmp_path: Path, content: dict[str, Any]) -> None:
    content["proven_qrels"] = 0
    page = Page(render(tmp_path, content))
    assert "NOT PROVEN no rule found an error, but no qrel is proven" in page.text
    content["proven_qrels"] = 5
    page = Page(render(tmp_path, content))
    proof = "PARTLY PROVEN 5 of 12 qrels, rebuilt from the words of the documents; no errors"
    assert proof in page.text


def test_labels_that_are_traced_are_not_called_proven(content: dict[str, Any]) -> None:
    content["family"] = "capretrieval"
    content["manifest"]["files"] |= {
        f"dataset/qrels{split}.jsonl": {"bytes": 1, "sha256": ""} for split in ("", ".train")
    }
    page = run_page(content)
    assert page.verdicts[0][:3] == (
        "good",
        "Every label traced to its text",
        "12 of 12 test qrels: rebuilt from the words of the documents, as a check by other code "
        "found; whether people would call it relevant, a review (gen review) shows",
    )
    assert page.tiles[2] == ("12", "test qrels", "12 traced")


def test_a_record_that_is_changed_is_marked(tmp_path: Path, content: dict[str, Any]) -> None:
    example = {"title": "A pair", "head": ["what", "text", "twin"], "rows": [["one", "a b", "a c"]]}
    content["manifest"]["example"] = example
    html = render(tmp_path, content)
    assert "A record A pair one text a b twin a c" in Page(html).text
    assert "<del>b</del>" in html
    assert "<mark>c</mark>" in html
    content["manifest"]["example"] = example | {"changed": False}
    assert "A record A pair what text twin one a b a c" in Page(render(tmp_path, content)).text


def test_ten_thousand_findings_stay_small_and_add_up(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    content |= {"ok": False, "errors": 10_000}
    content["findings"] = [
        {
            "rule": "limit-proof/missing" if i % 2 else "limit-proof/extra",
            "severity": "error",
            "ids": [f"q{i:07}", f"d{i:07}"],
            "message": f"query q{i:07} asks for <Quokkas> & 'Tea' " * 3,
        }
        for i in range(10_000)
    ]
    assert len(render(tmp_path, content).encode()) < 400_000
    assert [(one.title, len(one.table().rows)) for one in section(content, "Findings").tables] == [
        (f"error: limit-proof/{name} (5,000, the first 20; all are in report.json)", 20)
        for name in ("extra", "missing")
    ]


# --- collecting, and making the page again ------------------------------------------------------


def test_report_makes_the_same_page_again(tmp_path: Path, content: dict[str, Any]) -> None:
    html = render(tmp_path, content)
    (tmp_path / "report.html").unlink()
    assert report(tmp_path) == tmp_path / "report.html"
    assert (tmp_path / "report.html").read_text("utf-8") == html


@pytest.mark.parametrize("held", [None, "{", "[]"])
def test_report_without_a_readable_report_json(tmp_path: Path, held: str | None) -> None:
    if held is not None:
        (tmp_path / "report.json").write_text(held)
    with pytest.raises(DatasetError) as raised:
        report(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} holds no readable report.json; `gen validate {tmp_path}` checks it anew"
    )
