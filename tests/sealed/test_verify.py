"""`gen sealed verify`: the set made again, and every attack refused by its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen import run, verify_sealed
from retgen.errors import SealBroken, SealUnchecked
from retgen.sealed.statements import check_pair
from retgen.version import __version__
from tests.conftest import Gen
from tests.sealed.conftest import RECIPE, sha256, submission

Forged = Callable[[Callable[[dict[str, Any]], object]], tuple[Path, Path]]


@pytest.mark.slow
def test_yes(pair: Path, sealed: Path, gen: Gen) -> None:
    stated = json.loads((pair / "reveal.json").read_text())
    size = sum(info["bytes"] for info in stated["files"].values())
    words = ["sealed", "verify", "commitment.json", "reveal.json", "--public", sealed / "public"]
    shown = gen(*words, "--out", "kept", cwd=pair)
    assert (shown.returncode, shown.stdout) == (
        0,
        (
            f"yes: tiny, round 1, is what was committed to: 4 files made again, {size:,} bytes, all "
            "the same\nThe set is in kept\n"
        ),
    )
    for name in stated["files"]:
        made = (sealed / "private" / "run" / "tiny" / name).read_bytes()
        assert (pair / "kept" / name).read_bytes() == made
    shown = gen(*words, "--json", cwd=pair)
    assert json.loads(shown.stdout) == {
        "ok": True,
        "name": "tiny",
        "round": 1,
        "files": 4,
        "bytes": size,
        "path": None,
        "commitment": sha256((pair / "reveal.json").read_bytes()),
    }
    shown = gen(*words, "--out", "kept", cwd=pair)
    assert (shown.returncode, shown.stderr) == (
        2,
        "gen: --out kept: is not empty, and the set must be made anew; name another\n",
    )


# --- another byte -------------------------------------------------------------------------------


STEPS = [97, pytest.param(1, marks=pytest.mark.slow)]  # one byte in so many


@pytest.mark.parametrize("step", STEPS)
def test_any_other_byte_of_a_reveal_is_seen(pair: Path, step: int) -> None:
    original = (pair / "reveal.json").read_bytes()
    for at in range(0, len(original), step):
        changed = original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]
        (pair / "reveal.json").write_bytes(changed)
        with pytest.raises(SealBroken) as error:
            check_pair(pair / "commitment.json", pair / "reveal.json")
        assert error.value.name == "sealed/hash"


@pytest.mark.parametrize("step", STEPS)
def test_any_other_byte_of_a_commitment_is_seen(pair: Path, step: int) -> None:
    original = (pair / "commitment.json").read_bytes()
    names = set()
    for at in range(0, len(original), step):
        changed = original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]
        (pair / "commitment.json").write_bytes(changed)
        with pytest.raises((SealBroken, SealUnchecked)) as error:
            check_pair(pair / "commitment.json", pair / "reveal.json")
        names.add(error.value.name)
    assert names <= {"sealed/hash", "sealed/commitment", "sealed/format"}
    assert step > 1 or len(names) == 3


def test_a_cut_reveal(pair: Path) -> None:
    original = (pair / "reveal.json").read_bytes()
    for length in (0, 1, len(original) // 2, len(original) - 3):
        (pair / "reveal.json").write_bytes(original[:length])
        with pytest.raises(SealBroken) as error:
            verify_sealed(pair / "commitment.json", pair / "reveal.json")
        assert str(error.value) == (
            f"sealed/hash: {pair / 'reveal.json'} is not what {pair / 'commitment.json'} commits "
            f"to: its SHA-256 is {sha256(original[:length])}, committed is "
            f"'{sha256(original)}'. It has no end: it was cut off, or saved otherwise"
        )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("commitment.json", "{", "sealed/commitment: {path} is no JSON: "),
        ("commitment.json", "[1]", "sealed/commitment: {path} is no commitment of a sealed set"),
        ("commitment.json", "{}", "sealed/commitment: {path} is no commitment of a sealed set"),
        (
            "commitment.json",
            '{"format_version": 1}',
            "sealed/format: {path} is in format 1, this version of retgen reads 2: install the "
            "version that wrote it",
        ),
        ("commitment.json", '{"format_version": 2}', "sealed/hash: "),
        ("commitment.json", '{"format_version": true}', "sealed/commitment: "),
    ],
)
def test_what_is_no_statement(pair: Path, name: str, text: str, message: str) -> None:
    (pair / name).write_text(text)
    with pytest.raises((SealBroken, SealUnchecked)) as error:
        verify_sealed(pair / "commitment.json", pair / "reveal.json")
    assert str(error.value).startswith(message.format(path=pair / name))


def test_exit_codes_and_names_for_scripts(pair: Path, gen: Gen) -> None:
    words = ("sealed", "verify", "commitment.json", "reveal.json", "--json")
    (pair / "reveal.json").write_bytes(b"{}\n")
    shown = gen(*words, cwd=pair)
    content = json.loads(shown.stdout)
    assert (shown.returncode, content["ok"], content["rule"]) == (1, False, "sealed/hash")
    assert shown.stderr == f"gen: {content['message']}\n"
    (pair / "reveal.json").unlink()
    shown = gen(*words, cwd=pair)
    assert (shown.returncode, shown.stderr) == (2, "gen: reveal.json: there is no such file\n")


# --- another version ----------------------------------------------------------------------------


def test_another_version(forged: Forged) -> None:
    def other(content: dict[str, Any]) -> None:
        content["package"]["version"] = "0.0.9"

    with pytest.raises(SealUnchecked) as error:
        verify_sealed(*forged(other))
    assert str(error.value) == (
        f"sealed/version: the set was made by retgen 0.0.9, this is retgen {__version__}: install "
        "retgen 0.0.9, and run the same command again"
    )
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("commit", "shown"), [("12ab" * 10, f"commit {'12ab' * 10}"), (None, "the commit that made it")]
)
def test_other_code_of_the_same_version(
    forged: Forged, sealed_once: Path, commit: str | None, shown: str
) -> None:
    here = json.loads((sealed_once / "commitment.json").read_text())["package"]["sha256"]

    def other(content: dict[str, Any]) -> None:
        content["package"] |= {"sha256": "0" * 64, "commit": commit}

    with pytest.raises(SealUnchecked) as error:
        verify_sealed(*forged(other))
    assert str(error.value) == (
        f"sealed/code: the set was made by other code of retgen {__version__}: SHA-256 of all its "
        f"files is {'0' * 64}, of those installed here {here}. Install {shown}, with no file changed "
        "or added"
    )


@pytest.mark.slow
def test_a_changed_line_of_code_is_seen(tmp_path: Path, pair: Path) -> None:
    """Another installation of the same code agrees; with one word changed it does not."""
    root = Path(retgen.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(root, tmp_path / "site" / "retgen", ignore=ignored)  # links become folders
    code = "from retgen.cli import main; main()"
    words = [sys.executable, "-c", code, "sealed", "verify", "commitment.json", "reveal.json"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    options: dict[str, Any] = {"capture_output": True, "text": True, "cwd": pair, "env": env}
    first = subprocess.run(words, **options, check=False)
    assert (first.returncode, first.stdout[:26]) == (0, "yes: tiny, round 1, is wha"), first.stderr
    code = "from retgen.sealed.statements import package_commit; print(package_commit())"
    alone = subprocess.run([sys.executable, "-c", code], **options, check=False)
    assert (alone.stdout, alone.stderr) == ("None\n", "")
    path = tmp_path / "site" / "retgen" / "generators" / "limit" / "tables.py"
    path.write_text(path.read_text().replace("limit/query order", "limit/order of queries"))
    second = subprocess.run(words, **options, check=False)
    assert second.returncode == 2
    assert second.stderr.startswith("gen: sealed/code: the set was made by other code of retgen")


# --- a holder who commits to what is not so -----------------------------------------------------


def test_labels_that_do_not_follow_from_the_seed(forged: Forged) -> None:
    def other(content: dict[str, Any]) -> None:
        content["files"]["dataset/qrels.jsonl"]["sha256"] = "0" * 64

    with pytest.raises(SealBroken) as error:
        verify_sealed(*forged(other))
    lines = str(error.value).splitlines()
    assert lines[0] == "sealed/bytes: made again, the set is another:"
    assert len(lines) == 2
    assert lines[1].startswith("  dataset/qrels.jsonl: ")
    assert lines[1].endswith(f", committed 11,400 bytes of SHA-256 {'0' * 64}")


def test_another_seed_than_that_of_the_data(forged: Forged) -> None:
    def other(content: dict[str, Any]) -> None:
        content["recipe"]["seed"] = "1" * 64

    with pytest.raises(SealBroken) as error:
        verify_sealed(*forged(other))
    assert [line.split(":")[0].strip() for line in str(error.value).splitlines()[1:]] == [
        "dataset/README.md",
        "dataset/corpus.jsonl",
        "dataset/qrels.jsonl",
        "dataset/queries.jsonl",
    ]


def test_submitters_were_given_something_else(forged: Forged, pair: Path, sealed: Path) -> None:
    public = shutil.copytree(sealed / "public", pair / "public")
    text = (public / "queries.jsonl").read_text()
    (public / "queries.jsonl").write_text(text.replace("Who likes", "Who loves", 1))
    with pytest.raises(SealBroken) as error:
        verify_sealed(pair / "commitment.json", pair / "reveal.json", public=public)
    assert str(error.value).startswith(
        f"sealed/public: {public} is not what was committed to:\n  queries.jsonl: "
    )

    def other(content: dict[str, Any]) -> None:
        data = (public / "queries.jsonl").read_bytes()
        content["public"]["queries.jsonl"] = {"bytes": len(data), "sha256": sha256(data)}

    with pytest.raises(SealBroken, match=r"^sealed/public: what was committed to as public does"):
        verify_sealed(*forged(other), public=public)


# --- a reveal that would do harm ----------------------------------------------------------------


def _set(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        *parents, last = key.split("/")
        node = content
        for one in parents:
            node = node[one]
        node[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _set("inputs", {"inputs/../../x": "text"}),
            "sealed/reveal: {path}: 'inputs.inputs/../../x.[key]': value error, 'inputs/../../x' is no "
            "file in inputs/",
        ),
        (_set("inputs", {"inputs/..": "text"}), "sealed/reveal: "),
        (
            _set("recipe/name", "../../home"),
            "sealed/reveal: {path}: 'recipe': value error, has no name",
        ),
        (
            _set("files", {"dataset/../../secret": {"bytes": 1, "sha256": "0" * 64}}),
            "sealed/reveal: ",
        ),
        (_set("package/version", "1\x1b[2J"), "sealed/reveal: "),
        (_set("package/name", "other"), "sealed/reveal: "),
        (_set("further", 1), "sealed/reveal: {path}: 'further': extra inputs are not permitted"),
        (_set("nonce", "1"), "sealed/reveal: "),
        (_set("round", 0), "sealed/reveal: {path}: 'round': "),
        (
            _set("recipe/model", "openai:gpt-5-mini"),
            "sealed/recipe: no set follows from the reveal: a model is asked (",
        ),
        (
            _set("recipe/review", ["/etc/hostname"]),
            "sealed/recipe: no set follows from the reveal: it names files that the reveal does not "
            "hold",
        ),
        (
            _set("recipe/review", ["inputs/none.txt"]),
            "sealed/recipe: no set follows from the reveal: ",
        ),
        (
            _set("recipe/output/format", "parquet"),
            "sealed/recipe: no set follows from the reveal: the bytes of Parquet",
        ),
        (_set("recipe/family", "nobody"), "sealed/recipe: no set follows from the reveal: "),
        (_set("recipe/params/queries", 10**6), "sealed/recipe: no set follows from the reveal: "),
    ],
)
def test_harmful_reveals(
    forged: Forged, change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    paths = forged(change)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(SealBroken) as error:
        verify_sealed(*paths)
    assert str(error.value).startswith(message.format(path=paths[1])), str(error.value)
    assert "\x1b" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_reveal_that_is_nested_deeply(forged: Forged) -> None:
    deep: dict[str, Any] = {}
    for _ in range(600):
        deep = {"a": deep}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        paths = forged(_set("recipe/params", deep))
    finally:
        sys.setrecursionlimit(limit)
    with pytest.raises(SealBroken, match=r"^sealed/(reveal|recipe): "):
        verify_sealed(*paths)


def test_a_key_that_stands_twice(pair: Path) -> None:
    """One program would read the first seed, another the last."""
    text = (pair / "reveal.json").read_text()
    seed = json.loads(text)["recipe"]["seed"]
    twice = text.replace(f'"seed": "{seed}"', f'"seed": "{"0" * 64}",\n    "seed": "{seed}"')
    assert twice != text
    (pair / "reveal.json").write_text(twice)
    stated = json.loads((pair / "commitment.json").read_text())
    stated["commitment"] = sha256(twice.encode())
    (pair / "commitment.json").write_text(json.dumps(stated, sort_keys=True, indent=2) + "\n")
    with pytest.raises(SealBroken) as error:
        verify_sealed(pair / "commitment.json", pair / "reveal.json")
    assert str(error.value) == (
        f"sealed/commitment: {pair / 'commitment.json'} is not that of {pair / 'reveal.json'}"
    )


# --- what is no file, and files too many -----------------------------------------------------


@pytest.mark.parametrize("which", ["commitment.json", "reveal.json", "public/corpus.jsonl"])
def test_a_device_or_a_pipe_is_not_read(pair: Path, sealed: Path, which: str) -> None:
    shutil.copytree(sealed / "public", pair / "public")
    (pair / which).unlink()
    if which == "reveal.json":
        (pair / which).symlink_to("/dev/zero")
    else:
        os.mkfifo(pair / which)
    words = pair / "commitment.json", pair / "reveal.json"
    with pytest.raises(SealBroken) as error:
        verify_sealed(*words, public=pair / "public")
    assert str(error.value) == f"sealed/file: {pair / which} is no regular file"


def test_a_file_too_many_among_what_was_given(pair: Path, sealed: Path) -> None:
    shutil.copytree(sealed / "public", pair / "public")
    (pair / "public" / "qrels.jsonl").write_text("{}\n")
    with pytest.raises(SealBroken) as error:
        verify_sealed(pair / "commitment.json", pair / "reveal.json", public=pair / "public")
    assert str(error.value).splitlines()[1:] == [
        f"  qrels.jsonl: 3 bytes of SHA-256 {sha256(b'{}' + bytes([10]))}, committed no file"
    ]


# --- seeds --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1" * 64, "0" * 64, "1e" + "2" * 62, "f" * 64, "0" * 63 + "a"])
def test_seeds_that_look_like_numbers(seed: str, tmp_path: Path) -> None:
    """A recipe is YAML, where 1e22 is a number: a seed stays a text of 64 digits."""
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    first = run(tmp_path / "tiny.yaml", out=tmp_path / "a", overrides={"seed": seed})
    assert first.manifest["seed"] == seed
    second = run(tmp_path / "a", out=tmp_path / "b")
    assert (
        second.manifest["files"]["dataset/corpus.jsonl"]
        == (first.manifest["files"]["dataset/corpus.jsonl"])
    )


@pytest.mark.slow
def test_holder_and_stranger_score_alike(pair: Path, sealed: Path, gen: Gen) -> None:
    """Before the reveal by the holder, afterwards by whoever has two files and the submission."""
    run_file = submission(sealed / "public", pair / "mine.trec")
    words = ("--run", run_file, "--model", "bm25", "--json")
    holder = gen("eval", sealed / "private" / "run" / "tiny", *words, cwd=pair)
    assert holder.returncode == 0, holder.stderr
    verify_sealed(pair / "commitment.json", pair / "reveal.json", out=pair / "kept")
    stranger = gen("eval", "kept", *words, cwd=pair)
    results = [json.loads(one.stdout)["results"] for one in (holder, stranger)]
    scores = [[(one["model"], one["metrics"]) for one in listed] for listed in results]
    assert scores[0] == scores[1]
    assert [(name, metrics["recall@2"]) for name, metrics in scores[0]] == [
        ("bm25", 1.0),
        ("mine", 1.0),
    ]
