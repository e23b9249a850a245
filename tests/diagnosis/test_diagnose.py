"""`gen diagnose`: from a model's name to a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from retgen.diagnosis.abilities import DATA
from retgen.diagnosis.diagnose import diagnose
from retgen.errors import OutputError, UsageError
from retgen.recipe import load_recipe
from tests.conftest import Gen

pytestmark = pytest.mark.usefixtures("one_torch_thread")

QUICK = ("--quick", "--alone", "--ability", "combinations", "--no-cache")


@pytest.mark.parametrize("name", sorted(DATA))
def test_every_data_set_has_a_smaller_one(name: str) -> None:
    data = DATA[name]
    large = load_recipe(data.recipe, data.changes)
    small = load_recipe(data.recipe, {**data.changes, **data.quick})
    assert large.family.name == small.family.name
    assert large.job.params != small.job.params


@pytest.mark.slow
def test_what_is_printed_and_written(gen: Gen, tmp_path: Path) -> None:
    done = gen("diagnose", "bm25", *QUICK, "--seed", "7")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "What it can do\n  Combinations. Where every pair of 46 documents is the answer to some "
        "query, the right document ranks higher in 100 of 100 choices; where no document answers "
        "two queries, in 100.\n"
    )
    assert done.stdout.endswith("page: outputs/diagnose_bm25/diagnosis.html\n")
    folder = tmp_path / "outputs" / "diagnose_bm25"
    value = json.loads((folder / "diagnosis.json").read_text())
    (one,) = value["abilities"]
    assert (value["system"], value["seed"], value["quick"]) == ("bm25", 7, True)
    assert (one["name"], one["verdict"], one["value"]) == ("combinations", "yes", 1.0)
    assert (one["chance"], one["best"], one["n"], value["against"]) == (0.5, 1.0, 400, {})
    html = (folder / "diagnosis.html").read_text()
    assert "What bm25 can do" in html
    assert (folder / "figures" / "abilities.svg").is_file()


@pytest.mark.slow
def test_it_goes_on_and_stays_the_same(gen: Gen, tmp_path: Path) -> None:
    """What is there is not scored again; without a seed, the folder's own."""
    first = gen("diagnose", "bm25", *QUICK)
    folder = tmp_path / "outputs" / "diagnose_bm25"
    kept = folder / "systems" / "bm25" / "combinations.json"
    value = json.loads(kept.read_text())
    value["won"] = [0.0] * len(value["won"])
    kept.write_text(json.dumps(value))
    again = gen("diagnose", "bm25", *QUICK)
    assert "in 0 of 100 choices" in again.stdout
    kept.write_text("{")  # half of a file
    assert gen("diagnose", "bm25", *QUICK).stdout == first.stdout
    seed = json.loads((folder / "data.json").read_text())["seed"]
    assert gen("diagnose", "bm25", *QUICK, "--seed", str(seed)).stdout == first.stdout


@pytest.mark.slow
def test_another_diagnosis_in_the_folder(gen: Gen, tmp_path: Path) -> None:
    gen("diagnose", "bm25", *QUICK, "--seed", "7")
    done = gen("diagnose", "bm25", *QUICK, "--seed", "8")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: outputs/diagnose_bm25 holds a diagnosis with seed 7 (asked: 8). Choose another "
        "--out, or remove the folder\n",
    )
    (tmp_path / "outputs" / "diagnose_bm25" / "data.json").write_text("[]")
    done = gen("diagnose", "bm25", *QUICK)
    assert done.returncode == 2
    assert "data.json: is damaged" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bm26",), "--model bm26: there is no such model; did you mean bm25?"),
        (("llm:openai:gpt-5-mini",), "gives no score to a pair"),
        (("bm25", "--ability", "ranges!"), "--ability ranges!: there is none"),
        (("hybrid:bm25+tfidf", *QUICK), "gives no score to a single pair"),
    ],
)
def test_bad_input(gen: Gen, arguments: tuple[str, ...], message: str) -> None:
    done = gen("diagnose", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_model_that_gives_no_numbers(gen: Gen, tmp_path: Path, models: dict[str, Path]) -> None:
    """Beside another system: the page is made of what is there."""
    import torch
    from sentence_transformers import SentenceTransformer

    broken = SentenceTransformer(str(models["dense"]), device="cpu")
    with torch.no_grad():
        for weights in broken.parameters():
            weights.fill_(float("nan"))
    broken.save_pretrained(str(tmp_path / "broken"))
    done = gen("diagnose", "bm25", "--against", "./broken", *QUICK)
    assert done.returncode == 2
    assert re.fullmatch(
        r"gen: --model \./broken: gives a vector that is not finite for the text that begins 'Who "
        r"likes [^?]+\?'; try --dtype float32\n",
        done.stderr,
    )
    assert "What it can do\n  Combinations." in done.stdout
    assert "not scored: ./broken" in done.stdout
    assert gen("diagnose", "./broken", *QUICK).returncode == 2


@pytest.mark.slow
def test_before_and_after(tmp_path: Path) -> None:
    """Two systems: differences on the same choices, in JSON order of the call."""
    result = diagnose(
        "bm25",
        against=["tfidf"],
        references=(),
        abilities=["exclusions"],
        quick=True,
        seed=1,
        out=tmp_path / "out",
    )
    assert list(result.scores) == ["bm25", "tfidf"]
    one, other = (of["exclusions"] for of in result.scores.values())
    assert one.verdict == other.verdict == "no"
    assert one.control.value > 0.9
    with pytest.raises(OutputError, match="asked: 2"):
        diagnose("bm25", references=(), seed=2, quick=True, out=tmp_path / "out")
    with pytest.raises(UsageError, match="--ability x: there is none"):
        diagnose("bm25", abilities=["x"], out=tmp_path / "other")
