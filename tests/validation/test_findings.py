"""What becomes of findings: rules switched off and regraded for a call, equal findings folded."""

from __future__ import annotations

import subprocess
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest

from retgen import run, validate
from retgen.errors import RecipeError, UsageError
from retgen.validation.findings import fold_findings
from retgen.validators.rule import Finding
from tests.conftest import Write

Gen = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def foreign(dataset: Write) -> Path:
    """Six documents, of which four are two pairs of the same text; one query."""
    texts = ["one text", "two text", "one text", "two text", "third", "fourth"]
    corpus = {f"d{number}": text for number, text in enumerate(texts)}
    return dataset(corpus, {"q0": "fifth?"}, [("q0", "d5", 1)])


def test_equal_findings_are_one_with_all_ids(foreign: Path) -> None:
    validation = validate(foreign)
    assert (validation.ok, validation.errors, validation.warnings) == (False, 1, 0)
    assert validation.findings[0][:4] == (
        "duplicate-text",
        "error",
        ["d0", "d2", "d1", "d3"],
        "2 documents have the same title and text (rows 1, 3) (1 more of this kind: d1 and d3)",
    )
    assert validation.to_json()["findings"][0]["folded"] == (
        {"ids": ["d0", "d2"], "message": "2 documents have the same title and text (rows 1, 3)"},
        {"ids": ["d1", "d3"], "message": "2 documents have the same title and text (rows 2, 4)"},
    )


def test_what_differs_stays_apart() -> None:
    def of(one: str, message: str) -> Finding:
        return Finding("encoding", "warning", [one], message)

    findings = [
        of("a", "document a holds the invisible character U+200B"),
        of("b", "document b holds the invisible character U+2060"),
        of("c.", "document c. holds the invisible character U+200B"),
        of("d", "document d has 7 words"),
        of("17", "document 17 has 12,000.5 words"),
        Finding("encoding", "error", ["e"], "document e has 9 words"),
    ]
    assert [(f.ids, f.message) for f in fold_findings(findings)] == [
        (["a", "c."], "document a holds the invisible character U+200B (1 more of this kind: c.)"),
        (["b"], "document b holds the invisible character U+2060"),
        (["d", "17"], "document d has 7 words (1 more of this kind: 17)"),
        (["e"], "document e has 9 words"),
    ]


def test_a_rule_switched_off_for_a_call(gen: Gen, foreign: Path) -> None:
    bad = gen("validate", foreign)
    assert bad.returncode == 1
    good = gen("validate", foreign, "--off", "duplicate-text=as it was published")
    assert good.returncode == 0
    assert good.stdout == (
        f"{foreign}: 6 documents, 1 queries, 1 qrels\n"
        "  off     duplicate-text: as it was published\n"
        "ok: 0 errors, 0 warnings\n"
    )
    validation = validate(foreign, off={"duplicate-text": "as it was published"}).to_json()
    assert validation["findings"] == []
    assert validation["switched_off"] == {"duplicate-text": "as it was published"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--off", "duplicate-text"],
            "--off duplicate-text: write --off RULE=REASON, with the reason: --off "
            'duplicate-text="kept as it is"',
        ),
        (
            ["--off", "duplicate-text= "],
            "--off duplicate-text= : write --off RULE=REASON, with the reason: "
            '--off duplicate-text="kept as it is"',
        ),
        (
            ["--off", "duplicate_text=known"],
            "--off: there is no rule 'duplicate_text'; did you mean duplicate-text? Rules: "
            "answer-leak, boilerplate, dangling-qrel, duplicate-id, "
            "duplicate-qrel, duplicate-query, duplicate-query-id, duplicate-text, "
            "empty-query, empty-text, encoding, graded-qrels, language, length-outlier, "
            "lexical-ambiguity, near-duplicate, near-duplicate-query, normalised-duplicate, "
            "normalised-duplicate-query, order-leak, origin, overlap, personal-data, "
            "query-encoding, query-without-qrels, schema, score-range, secrets, "
            "split-overlap",
        ),
    ],
)
def test_what_cannot_be_asked_for(
    gen: Gen, foreign: Path, options: list[str], message: str
) -> None:
    result = gen("validate", foreign, *options)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"gen: {message}\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limit-proof", "limit-proof/names", "manifest", "word-lists"])
def test_what_vouches_for_a_run_stays(limit_run: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} vouches for this data set"):
        validate(limit_run, off={name: "no time"})


def test_a_recipe_changed_after_the_run_switches_no_proof_off(small: Path, tmp_path: Path) -> None:
    folder = run(small, out=tmp_path / "out").path
    recipe = folder / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("'off': {}", "off: {limit-proof: not needed}"))
    with pytest.raises(RecipeError, match=r"validate\.off: limit-proof vouches for this data set"):
        validate(folder)


# --- one broken file ----------------------------------------------------------------------------


def test_a_byte_order_mark_is_read_past(dataset: Write) -> None:
    corpus = {f"d{number}": f"text {number:04}" for number in range(90)}
    root = dataset(corpus, {"q0": "which?"}, [("q0", "d0", 1)])
    tsv = root / "qrels" / "test.tsv"
    tsv.parent.mkdir()
    (root / "qrels.jsonl").unlink()
    tsv.write_bytes(BOM_UTF8 + b"query-id\tcorpus-id\tscore\nq0\td0\t1\nq0\td1\t1\n")
    for name in ("corpus", "queries"):
        path = root / f"{name}.jsonl"
        path.write_bytes(BOM_UTF8 + path.read_bytes())
    validation = validate(root)
    assert (validation.statistics["documents"], validation.statistics["queries"]) == (90, 1)
    assert validation.statistics["qrels"] == 2
    assert validation.findings == []


@pytest.mark.parametrize("broken", [b"no Parquet at all", None], ids=["other", "cut"])
def test_a_broken_parquet_file(gen: Gen, small: Path, tmp_path: Path, broken: bytes | None) -> None:
    folder = run(small, out=tmp_path / "out", overrides={"output.format": "parquet"}).path
    path = folder / "dataset" / "corpus.parquet"
    path.write_bytes(broken or path.read_bytes()[:-100])
    result = gen("validate", "out/dataset")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("gen: out/dataset/corpus.parquet cannot be read as Parquet: ")
    assert result.stderr.endswith(". Put a whole file in its place, or take it away\n")
