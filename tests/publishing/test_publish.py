"""What is published, what is refused, and the folder it is put into."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from retgen import publish
from retgen.dataset_files import card_header
from retgen.errors import ChecksFailed, DatasetError, UsageError
from retgen.publishing.destinations import FileChange, destinations
from retgen.review import open_review
from tests.conftest import Gen

FILES = [
    "README.md",
    "corpus/corpus.parquet",
    "manifest.json",
    "mteb/task.py",
    "published.json",
    "qrels/test.parquet",
    "queries/queries.parquet",
    "recipe.yaml",
]


def files(folder: Path) -> dict[str, bytes]:
    found = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def state(manifest: dict[str, Any], run: Path) -> None:
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_a_published_folder_is_loaded_and_lists_its_files(kb: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    out = tmp_path / "out"
    result = publish(kb, f"file:{out}")
    assert [(one.path, one.kind) for one in result.changes] == [(p, "added") for p in FILES]
    assert result.where == str(out)
    sizes = {
        (name, split): len(load_dataset(str(out), name, split=split, cache_dir=str(tmp_path / "c")))
        for name, split in [("corpus", "corpus"), ("queries", "queries"), ("default", "test")]
    }
    assert list(sizes.values()) == [15, 100, 200]
    listing = json.loads((out / "published.json").read_text())
    assert listing["name"] == "limit_small"
    assert {path: one["sha256"] for path, one in listing["files"].items()} == {
        path: hashlib.sha256(data).hexdigest()
        for path, data in files(out).items()
        if path != "published.json"
    }
    assert (out / "manifest.json").read_bytes() == (kb / "manifest.json").read_bytes()
    # nothing there says where on this machine the run stands
    assert not [path for path, data in files(out).items() if str(tmp_path).encode() in data]


def test_the_card_says_what_the_run_says(kb_tree: Path) -> None:
    header = card_header(kb_tree)
    assert header["license"] == "apache-2.0"
    assert header["language"] == ["en"]
    assert header["tags"] == ["synthetic", "retgen", "limit"]
    text = (kb_tree / "README.md").read_text()
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Loading",
        "## What this set tests",
        "## What it does not test",
        "## What it holds",
        "## Query-blind baselines: rankings that never read the query",
        "## Agents, licences and method",
        "## How it was made",
        "## Citation",
    ]
    assert "**PROVEN**: 200 of 200 qrels" in text
    assert "| default | test | query-id, corpus-id, score | 200 |\n" in text
    assert "| corpus | corpus | &#95;id, title, text | 15 |\n" in text


def test_the_same_run_is_the_same_bytes(kb: Path, kb_tree: Path, tmp_path: Path) -> None:
    other = shutil.copytree(kb, tmp_path / "elsewhere" / "kb")
    publish(other, f"file:{tmp_path / 'b'}")
    assert files(kb_tree) == files(tmp_path / "b")


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    kb: Path, tmp_path: Path, gen: Gen
) -> None:
    out = tmp_path / "out"
    done = gen("publish", kb, f"file:{out}", "--dry-run")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[: len(FILES)]] == [["added", p] for p in FILES]
    (size,) = lines[len(FILES) :]
    assert size.startswith(f"in all: {len(FILES)} files, ")
    assert not out.exists()
    publish(kb, f"file:{out}")
    manifest = json.loads((kb / "manifest.json").read_text())
    state({**manifest, "usd": 1.0}, kb)
    listing = json.loads((out / "published.json").read_text())
    (out / "old.txt").write_text("of an earlier version")
    listing["files"]["old.txt"] = {}
    (out / "published.json").write_text(json.dumps(listing))
    before = files(out)
    done = gen("publish", kb, f"file:{out}", "--dry-run", "--json")
    shown = json.loads(done.stdout)
    kinds = {one["path"]: one["kind"] for one in shown["files"]}
    assert kinds == {
        **dict.fromkeys(FILES, "unchanged"),
        "manifest.json": "changed",
        "old.txt": "removed",
        "published.json": "changed",
    }
    assert files(out) == before
    assert FileChange("old.txt", "removed", 0) in publish(kb, f"file:{out}").changes
    assert list(files(out)) == FILES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"mine.txt": "x"}, "is taken: it holds mine.txt, which gen publish did not put there"),
        ({"published.json": "{"}, "holds a published.json that gen publish did not write"),
        (
            {"published.json": '{"name": "other", "files": {}}'},
            "holds the data set 'other', not 'limit_small'",
        ),
    ],
)
def test_what_others_put_there_is_not_lost(
    kb: Path, tmp_path: Path, content: dict[str, str], message: str
) -> None:
    out = tmp_path / "out"
    for name, text in content.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)
    before = files(out)
    with pytest.raises(UsageError, match=message):
        publish(kb, f"file:{out}")
    assert files(out) == before


def test_files_of_others_stay_beside_what_is_published(kb: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(kb, f"file:{out}")
    before = files(out)
    for name in ("a/mine.txt", ".notes.partial"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("x")
    state({**json.loads((kb / "manifest.json").read_text()), "usd": 1.0}, kb)
    publish(kb, f"file:{out}")
    assert files(out).keys() == {*before, "a/mine.txt", ".notes.partial"}


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("outputs/kb", "'outputs/kb' needs file:, hub: or s3: in front. Examples: file:PATH, "),
        ("fil:x", "'fil:x' needs file:, hub: or s3: in front; did you mean file?"),
        ("file: ", "'file: ' names nothing: write file:PATH"),
        ("file:/", "file:/: is the root of a disk; name a folder"),
    ],
)
def test_destinations_that_cannot_be(kb: Path, gen: Gen, to: str, message: str) -> None:
    done = gen("publish", kb, to)
    assert done.returncode == 2
    assert done.stderr.startswith(f"gen: {message}")


def test_what_is_no_finished_run(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone does not exist\. Give the folder of a run$"):
        publish(tmp_path / "gone", f"file:{tmp_path / 'out'}")
    with pytest.raises(UsageError, match=r"dataset is not a run directory: it has no recipe\.yaml"):
        publish(kb / "dataset", f"file:{tmp_path / 'out'}")
    (kb / "manifest.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"manifest\.json is damaged"):
        publish(kb, f"file:{tmp_path / 'out'}", force=True)
    (kb / "manifest.json").unlink()
    with pytest.raises(DatasetError) as error:
        publish(kb, f"file:{tmp_path / 'out'}", force=True)
    assert str(error.value) == (
        f"{kb} has no manifest.json, which is written last: the run is unfinished. `gen run "
        f"{kb}/recipe.yaml --out {kb}` ends it. Nothing was published"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_whose_checks_failed_and_the_same_with_the_check_switched_off(
    tmp_path: Path, gen: Gen
) -> None:
    (tmp_path / "texts").mkdir()
    for i in range(1, 9):
        for kind in "abcd":
            text = (
                f"The {kind} harbour number {i} of Aveiro was dredged in 190{i}, when ships "
                f"carried salt and granite {kind}{i}.\n"
            )
            (tmp_path / "texts" / f"{kind}{i}.txt").write_text(text)
    recipe = tmp_path / "near.yaml"
    own = (
        "name: near\nfamily: capretrieval\nparams:\n  source: {path: texts, licence: CC0-1.0}\n"
        "  queries: {quality: 0}\n"
    )
    recipe.write_text(own)
    assert gen("run", recipe, "--out", "run").returncode == 0
    # as it would stand there if near-duplicates were errors
    (tmp_path / "run" / "manifest.json").unlink()
    report = tmp_path / "run" / "report.json"
    report.write_text(report.read_text().replace('"warning"', '"error"'))
    done = gen("publish", "run", "file:out", "--force")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "gen: run: the data did not pass its checks, so the run has no manifest.json, and nothing "
        "gives the evidence for its labels. Not even --force publishes it:\n  near-duplicate: "
    )
    assert done.stderr.endswith(
        "\nChange the recipe, and run it again with --fresh. A check that is no proof can be "
        "switched off there, by its name and with a reason (`validate: {off: {RULE: why}}`): the "
        "card then says so. Nothing was published\n"
    )
    assert not (tmp_path / "out").exists()
    recipe.write_text(own + "validate: {off: {near-duplicate: filled-in forms}}\n")
    assert gen("run", recipe, "--out", "run", "--fresh").returncode == 0
    assert gen("publish", "run", "file:out").returncode == 0
    said = "- **Switched off.** The check near-duplicate did not run: filled-in forms."
    assert said in (tmp_path / "out" / "README.md").read_text()
    recipe.write_text(own)
    assert gen("run", recipe, "--out", "run", "--fresh").returncode == 0
    assert gen("publish", "run", "file:out").returncode == 0
    text = (tmp_path / "out" / "README.md").read_text()
    assert "- **A warning of the checks.** near-duplicate: 32 of 32 documents share" in text


def test_private_is_for_the_hub(kb: Path, tmp_path: Path, gen: Gen) -> None:
    done = gen("publish", kb, f"file:{tmp_path / 'out'}", "--private")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: --private is for hub:, where a repository is made; who may read file: is for its own "
        "settings to say\n",
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(kb: Path, tmp_path: Path, gen: Gen) -> None:
    (tmp_path / "file").write_text("")
    done = gen("publish", kb, f"file:{tmp_path / 'file'}")
    assert (done.returncode, done.stderr) == (
        2,
        f"gen: {tmp_path / 'file'} is a file; name a folder\n",
    )
    done = gen("publish", kb, f"file:{tmp_path / 'file' / 'out'}")
    assert (done.returncode, done.stderr) == (
        2,
        f"gen: cannot write {tmp_path / 'file' / 'out'}: Not a directory. What was finished "
        "before is kept: choose another folder and run the same command again.\n",
    )


def test_a_changed_run_is_refused_and_force_says_so_in_the_card(
    kb: Path, tmp_path: Path, gen: Gen
) -> None:
    qrels = kb / "dataset" / "qrels.jsonl"
    lines = qrels.read_text().splitlines(keepends=True)
    qrels.write_text("".join(lines[1:]))
    reason = (
        "dataset/qrels.jsonl changed since the run was proven, so nothing is proven of it any more"
    )
    out = tmp_path / "out"
    done = gen("publish", kb, f"file:{out}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"gen: {kb} is not published:\n  {reason}\n--force publishes it nevertheless, and its card "
        "says so\n"
    )
    done = gen("publish", kb, f"file:{out}", "--dry-run")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"refused: {reason}")
    assert not out.exists()
    done = gen("publish", kb, f"file:{out}", "--force")
    assert done.returncode == 0
    assert f"in spite of this: {reason}\n" in done.stdout
    assert (
        f"> [!WARNING]\n> This data set was published against the checks of its maker:\n> - {reason}"
        in (out / "README.md").read_text()
    )
    assert re.search(r"(?m)^# .+\n\n> \[!WARNING\]", (out / "README.md").read_text())  # on top


@pytest.mark.slow
@pytest.mark.parametrize(
    ("licence", "reason"),
    [
        ("not stated", "the licence of the documents (not stated) does not say that others may"),
        ("", "the licence of the documents (none) does not say that others may have it"),
        ("CC BY-NC-ND 4.0", "the licence of the documents (CC BY-NC-ND 4.0) lets nobody pass on"),
        ("All rights reserved", "the licence of the documents (All rights reserved) lets nobody"),
        ("ours, not for distribution", "the licence of the documents (ours, not for distribution)"),
        ("CC BY-NC-SA 4.0", None),
        ("CC BY 4.0", None),
        ("your own", None),
        ("CC BY 4.0 International", None),
        ("CC0, no copyright, public domain", None),
        ("ODC-By 1.0 (indexed)", None),
    ],
)
def test_a_licence_that_forbids(kb: Path, tmp_path: Path, licence: str, reason: str | None) -> None:
    manifest = json.loads((kb / "manifest.json").read_text())
    state({**manifest, "licences": {"documents": licence}}, kb)
    if reason is None:
        publish(kb, f"file:{tmp_path / 'out'}")
        return
    with pytest.raises(ChecksFailed) as error:
        publish(kb, f"file:{tmp_path / 'out'}")
    assert reason in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_review_is_published_without_names(kb: Path, tmp_path: Path) -> None:
    review = open_review(kb, annotators=["zoltan_q"], size=60)
    for item in review.items[:40]:
        review.record("zoltan_q", item.item_id, int(item.positive), shown=item.shown, seconds=1)
    publish(kb, f"file:{tmp_path / 'out'}")
    made = files(tmp_path / "out")
    assert list(made) == [*FILES[:-1], "recipe.yaml", "review.json"]
    published = json.loads(made["review.json"])
    assert sum(one["settled"] for one in published["labels"]) == 40
    assert published["annotators"] == 1
    assert b"- Label relevant (1): 0 of " in made["README.md"]
    assert not [path for path, data in made.items() if b"zoltan_q" in data]


def test_every_destination_says_what_it_is() -> None:
    found = destinations()
    assert [(name, one.example.partition(":")[0]) for name, one in found.items()] == [
        (name, name) for name in found
    ]
    assert all(one.about for one in found.values())


def test_personal_data_and_secrets_need_consent(kb: Path, tmp_path: Path, gen: Gen) -> None:
    report = json.loads((kb / "report.json").read_text())
    report["findings"] = [
        {
            "rule": "personal-data",
            "severity": "warning",
            "ids": ["a"],
            "message": "document a holds an e-mail address",
        },
        {"rule": "near-duplicate", "severity": "warning", "ids": ["a"], "message": "no matter"},
    ]
    (kb / "report.json").write_text(json.dumps(report))
    said = "document a holds an e-mail address: publish it only with the consent of those concerned"
    done = gen("publish", kb, f"file:{tmp_path / 'out'}")
    assert (done.returncode, done.stderr) == (
        1,
        f"gen: {kb} is not published:\n  {said}\n--force publishes it nevertheless, and its card "
        "says so\n",
    )
    assert not (tmp_path / "out").exists()
    assert gen("publish", kb, f"file:{tmp_path / 'out'}", "--force").returncode == 0
    assert said in (tmp_path / "out" / "README.md").read_text()
