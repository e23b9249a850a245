"""Origin: a set without marks has AUC 0.5 within its interval, a planted mark is found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from retgen import run, validate
from retgen.validators.rules.origin import (
    Pair,
    clustered_area,
    is_separable,
    measure,
)
from tests.validators.sets import findings_of, write_set

WORDS = [
    f"{a}{b}"
    for a in "ba ke li mo nu ra se ti vo zu".split()
    for b in "bel dor fin gam hol kar lin mer nas pol rut sam tor vik wen".split()
]
Texts = dict[str, str]
Spoil = Callable[[str, np.random.Generator], str]


def _same(text: str, random: np.random.Generator) -> str:
    return text


def _denied(text: str, random: np.random.Generator) -> str:
    """Nine of ten texts with "not" or "never" somewhere in them."""
    words = text.split()
    if random.random() < 0.1:
        return text
    words.insert(int(random.integers(len(words))), ("not", "never")[int(random.integers(2))])
    return " ".join(words)


def _longer(text: str, random: np.random.Generator) -> str:
    return text + " " + " ".join(random.choice(WORDS, 25))


def made(count: int, seed: int, spoil: Spoil = _same) -> tuple[list[Pair], Texts]:
    """A query a pair: two versions of one text on a topic, of which one is spoilt."""
    random = np.random.Generator(np.random.Philox(seed))
    pairs, texts = [], {}
    for number in range(count):
        base = list(random.choice(WORDS, 60))
        pair = (f"q{number}", f"p{number}", f"n{number}")
        for key in pair[1:]:
            words = list(base)
            words[int(random.integers(60))] = str(random.choice(WORDS))
            texts[key] = " ".join(words)
        texts[pair[2]] = spoil(texts[pair[2]], random)
        pairs.append(pair)
    return pairs, texts


@pytest.mark.slow
def test_no_mark() -> None:
    results = [measure(*made(200, seed)) for seed in range(8)]
    assert all(0.45 < one["auc"] < 0.55 for one in results)
    inside = [one["low"] <= 0.5 <= one["high"] for one in results]
    assert sum(inside) >= 7
    assert not any(is_separable(one) for one in results)
    assert {one["pairs"] for one in results} == {200}


@pytest.mark.parametrize("spoil", [_denied, _longer])
def test_a_planted_mark(spoil: Spoil) -> None:
    result = measure(*made(300, 1, spoil))
    assert result["auc"] > 0.9
    assert 0.85 < result["low"] <= result["auc"] <= result["high"] <= 1
    assert is_separable(result)
    if spoil is _denied:
        assert sorted(result["words"][:2]) == ["never", "not"]


def test_a_document_on_both_sides_cancels_out() -> None:
    pairs, texts = made(200, 2, _denied)
    turned = [(f"r{i}", n, p) for i, (_, p, n) in enumerate(pairs)]
    result = measure([*pairs, *turned], texts)
    assert result["pairs"] == 400
    assert result["low"] <= 0.5 <= result["high"]
    assert not is_separable(result)


def test_the_area_and_its_error() -> None:
    """The area is scikit-learn's, the error that of sets drawn again."""
    from sklearn.metrics import roc_auc_score

    random = np.random.Generator(np.random.Philox(4))
    areas, errors = [], []
    for _ in range(200):
        shift = np.repeat(random.normal(size=40), 5)  # groups of five that have something in common
        scores = np.round(random.normal(size=(200, 2)) + np.stack([0.5 + shift, -shift], 1), 1)
        area, error = clustered_area(scores, np.repeat(np.arange(40), 5))
        labels = np.repeat([1, 0], 200)
        assert area == pytest.approx(roc_auc_score(labels, scores.T.ravel()), abs=1e-12)
        areas.append(area)
        errors.append(error)
    assert 0.9 < np.mean(errors) / np.std(areas) < 1.1


@pytest.mark.slow
def test_the_main_job_imports_no_learner(tmp_path: Path) -> None:
    code = (
        "import sys, retgen; retgen.run('limit_small', out=sys.argv[1]); "
        "print([m for m in ('sklearn', 'scipy', 'ftfy', 'py3langid', 'phonenumbers', 'stdnum', "
        "'detect_secrets') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def judged(folder: Path, spoil: Spoil = _denied, count: int = 120) -> Path:
    pairs, texts = made(count, 5, spoil)
    qrels = [row for q, p, n in pairs for row in ((q, p, 1), (q, n, 0))]
    return write_set(folder, texts, {q: f"what of {q}" for q, _, _ in pairs}, qrels)


@pytest.mark.slow
def test_judged_negatives(tmp_path: Path) -> None:
    validation = validate(judged(tmp_path / "marked"), workers=1)
    origin = validation.to_json()["origin"]
    assert origin["pairs"] == 120
    assert origin["auc"] > 0.9
    [(ids, message)] = findings_of(validation, "origin")
    assert ids == []
    assert message.startswith(
        "positives can be told from their hard negatives without the query: AUC "
        f"{origin['auc']:.3f} (95% interval {origin['low']:.3f} to {origin['high']:.3f}, 120 pairs) "
        "from words and length alone, where 0.5 is chance; most telling: "
    )
    clean = validate(judged(tmp_path / "clean", _same), workers=1)
    assert findings_of(clean, "origin") == []
    assert clean.origin["low"] <= 0.5 <= clean.origin["high"]


def test_triplets_of_a_run(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    recipe = "name: s\nfamily: limit\nparams: {pattern: dense, docs: 60, queries: 20, attributes_per_doc: 10}\n"
    (tmp_path / "s.yaml").write_text(recipe)
    folder = run(tmp_path / "s.yaml", out=tmp_path / "run").path
    assert validate(folder).to_json()["origin"] is None
    pairs, texts = made(120, 5, _denied)
    (folder / "training").mkdir(exist_ok=True)
    rows = [{"anchor": q, "positive": texts[p], "negative": texts[n]} for q, p, n in pairs]
    pq.write_table(pa.Table.from_pylist(rows), folder / "training" / "triplets.parquet")
    validation = validate(folder).origin
    assert (validation["pairs"], validation["auc"] > 0.9) == (120, True)


def test_too_few_pairs_tell_nothing(tmp_path: Path) -> None:
    validation = validate(judged(tmp_path, count=40), workers=1)
    assert (
        validation.origin,
        validation.to_json()["origin"],
        findings_of(validation, "origin"),
    ) == ({}, None, [])
