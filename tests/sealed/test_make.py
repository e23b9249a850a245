"""`gen sealed make` and `reveal`: what is written, for whom, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from retgen import make_sealed, reveal_sealed, run, verify_sealed
from retgen.errors import RetgenError, RunDirectoryError, SealBroken, UsageError
from tests.conftest import Gen
from tests.generators.niah.rows import table
from tests.killed import gen_killed_at
from tests.sealed.conftest import RECIPE


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    return tmp_path / "tiny.yaml"


def test_anybody_checks_a_commitment_without_retgen(sealed_once: Path) -> None:
    """As docs/sealed.md says: nothing but hashlib and json."""
    reveal_bytes = (sealed_once / "private" / "reveal.json").read_bytes()
    reveal = json.loads(reveal_bytes)
    commitment = json.loads((sealed_once / "commitment.json").read_bytes())
    assert commitment["commitment"] == hashlib.sha256(reveal_bytes).hexdigest()
    seed = reveal["recipe"].pop("seed")
    assert commitment["recipe"] == reveal["recipe"]
    for key in ("format_version", "round", "package"):
        assert commitment[key] == reveal[key]
    assert [len(bytes.fromhex(text)) for text in (seed, reveal["nonce"])] == [32, 32]
    for name, info in reveal["files"].items():
        data = (sealed_once / "private" / "run" / "tiny" / name).read_bytes()
        assert info == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert sorted(reveal["files"]) == [
        "dataset/README.md",
        "dataset/corpus.jsonl",
        "dataset/qrels.jsonl",
        "dataset/queries.jsonl",
    ]
    for name, info in reveal["public"].items():
        data = (sealed_once / "public" / name).read_bytes()
        assert info == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.slow
def test_a_commitment_tells_nothing_of_the_seed(tiny: Path, tmp_path: Path) -> None:
    """Of two seeds everything but the hash is the same, so there is nothing to search with."""
    first, second = (
        json.loads(
            (Path(make_sealed(tiny, out=tmp_path / one).path) / "commitment.json").read_text()
        )
        for one in "ab"
    )
    assert first.pop("commitment") != second.pop("commitment")
    assert first == second


def test_the_recipes_own_seed_is_not_used(sealed_once: Path, tmp_path: Path, tiny: Path) -> None:
    seed = json.loads((sealed_once / "private" / "reveal.json").read_text())["recipe"]["seed"]
    again = run(tiny, out=tmp_path / "again", overrides={"seed": seed}).path
    of_42 = run(tiny, out=tmp_path / "of_42").path
    made = sealed_once / "private" / "run" / "tiny"
    for name in ("corpus", "queries", "qrels"):
        wanted = (made / f"dataset/{name}.jsonl").read_bytes()
        assert (again / f"dataset/{name}.jsonl").read_bytes() == wanted
        assert (of_42 / f"dataset/{name}.jsonl").read_bytes() != wanted


def test_a_second_call_does_nothing(tiny: Path, tmp_path: Path, gen: Gen) -> None:
    first = make_sealed(tiny, out=tmp_path / "out")
    before = (tmp_path / "out/round-1/commitment.json").stat().st_mtime_ns
    again = make_sealed(tiny, out=tmp_path / "out")
    assert again == first._replace(repeated=True)
    assert (tmp_path / "out/round-1/commitment.json").stat().st_mtime_ns == before
    with pytest.raises(RunDirectoryError) as error:
        make_sealed(tiny, out=tmp_path / "out", overrides={"params.queries": 90})
    assert str(error.value) == (
        f"{tmp_path / 'out/round-1'} is sealed with another recipe; it differs in params.queries. "
        "Draw the next round with --round 2, or choose another --out"
    )
    shown = gen("sealed", "make", "tiny.yaml", "--out", "out")
    assert shown.stdout == (
        f"out/round-1: was sealed before, nothing was done; commitment {first.commitment}\n"
        "  publish now         out/round-1/commitment.json\n"
        "  give to submitters  out/round-1/public\n"
        "  keep to yourself    out/round-1/private\n"
        "Score with  gen eval out/round-1/private/run/tiny --run SUBMISSION.trec\n"
        "Open with   gen sealed reveal out/round-1\n"
    )


REFUSED = [
    (
        {"seed": 7},
        "--set seed: the seed of a sealed set is drawn here, and known to nobody; leave it out",
    ),
    (
        {"output.format": "parquet"},
        "tiny cannot be sealed: the bytes of Parquet depend on Arrow's version; use --set "
        "output.format=jsonl",
    ),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED)
def test_recipes_that_are_refused(
    tiny: Path, tmp_path: Path, overrides: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        make_sealed(tiny, out=tmp_path / "out", overrides=overrides)
    assert str(error.value) == message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("recipe", "overrides", "reason"),
    [
        ("capretrieval", {}, "its documents are given, so whoever has them needs no seed"),
        ("limit_semantic", {"model": "openai:gpt-5-mini"}, "a model is asked ("),
        ("multiconir_people", {"model": "openai:gpt-5-mini"}, "a model is asked ("),
    ],
)
def test_bundled_recipes_that_are_refused(
    recipe: str, overrides: dict[str, object], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as error:
        make_sealed(recipe, out=tmp_path / "out", overrides=overrides)
    assert str(error.value).startswith(f"{recipe} cannot be sealed: {reason}")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_make_goes_on_with_the_seed_it_had(tiny: Path, tmp_path: Path) -> None:
    """Nobody draws seeds until one pleases by killing: what was drawn stays drawn."""
    recipe = tmp_path / "out/round-1/private/run/tiny/recipe.yaml"
    gen_killed_at("corpus", 1, "sealed", "make", "tiny.yaml", "--out", "out", cwd=tmp_path)
    drawn = recipe.read_text()
    assert not (tmp_path / "out/round-1/commitment.json").exists()
    made = Path(make_sealed(tiny, out=tmp_path / "out").path)
    assert recipe.read_text() == drawn
    seed = json.loads((made / "private/reveal.json").read_text())["recipe"]["seed"]
    assert seed in drawn
    assert sorted(one.name for one in (made / "private").iterdir()) == [
        ".lock",
        "reveal.json",
        "run",
    ]


def test_reveal_publishes_what_was_committed_to(sealed: Path, gen: Gen) -> None:
    shown = gen("sealed", "reveal", "holder", cwd=sealed.parent.parent)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == (
        "holder/round-1/reveal.json: publish it. Anybody checks it with\n"
        "  gen sealed verify commitment.json reveal.json --out SET, then: gen eval SET ...\n"
        "The next set: gen sealed make RECIPE --round 2\n"
    )
    kept = (sealed / "private" / "reveal.json").read_bytes()
    assert (sealed / "reveal.json").read_bytes() == kept
    assert reveal_sealed(sealed).repeated
    (sealed / "reveal.json").write_bytes(kept + b" ")
    with pytest.raises(SealBroken, match=r"^sealed/reveal: .*was changed; remove it, and reveal"):
        reveal_sealed(sealed)


def test_reveal_of_a_changed_private_file(sealed: Path) -> None:
    path = sealed / "private" / "reveal.json"
    path.write_bytes(path.read_bytes().replace(b'"round": 1', b'"round": 2'))
    with pytest.raises(SealBroken, match=r"^sealed/hash: "):
        reveal_sealed(sealed)
    assert not (sealed / "reveal.json").exists()


def test_folders_that_are_none(sealed: Path, tmp_path: Path, gen: Gen) -> None:
    (tmp_path / "empty").mkdir()
    shown = gen("sealed", "reveal", "empty")
    assert (shown.returncode, shown.stderr) == (
        2,
        ("gen: empty is no sealed set: it holds no commitment.json. `gen sealed make` makes one\n"),
    )
    shutil.copytree(sealed, sealed.with_name("round-2"))
    with pytest.raises(RetgenError) as error:
        reveal_sealed(sealed.parent)
    assert str(error.value) == f"{sealed.parent} holds 2 rounds: name one, as {sealed}"


def test_files_of_a_recipe_are_in_its_reveal(tmp_path: Path) -> None:
    """Needles of the user's own: committed to, secret until the reveal."""
    table(tmp_path / "mine.yaml")
    needles = (tmp_path / "mine.yaml").read_text()
    (tmp_path / "own.yaml").write_text(
        "name: own\nfamily: niah\nparams: {table: mine.yaml, lengths: [128], places: 2}\n"
    )
    made = Path(make_sealed(tmp_path / "own.yaml", out=tmp_path / "out").path)
    reveal = json.loads((made / "private/reveal.json").read_text())
    assert reveal["inputs"] == {"inputs/mine.yaml": needles}
    assert needles[:20] not in (made / "commitment.json").read_text()
    (tmp_path / "mine.yaml").unlink()
    reveal_sealed(made)
    done = verify_sealed(made / "commitment.json", made / "reveal.json")
    assert (done.files, done.path) == (7, None)
