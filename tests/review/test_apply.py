"""A new version of a run with what people settled: labels, texts, rejections, proof and lineage."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from retgen.data import open_dataset
from retgen.errors import DatasetError, RunDirectoryError, UsageError
from retgen.review.apply import apply_review
from retgen.review.records import Item, Settings, ShownPair, Verdict, item_id
from retgen.review.store import Store
from retgen.run import run
from retgen.validation.validate import validate

SMALL = """name: small
family: limit
seed: 42
params: {pattern: dense, docs: 60, queries: 20, k: 2, attributes_per_doc: 8}
"""
Said = Mapping[tuple[str, str], list[tuple[str, int | None]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 20 queries with two relevant documents each."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(SMALL)
    return run(folder / "small.yaml", out=folder / "small").path


@pytest.fixture
def parent(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "small"))


def pairs_of(parent: Path) -> list[tuple[str, str]]:
    return [(q, d) for q, d, _ in open_dataset(parent).qrels["test"].read()[0]]


def reviewed_by(parent: Path, said: Said, people: tuple[str, ...] = ("ann", "bob")) -> Path:
    """A review of these pairs, as `gen review` leaves it."""
    dataset = open_dataset(parent)
    queries = {one.query_id: one.text for one in dataset.queries.read()[0]}
    documents = {one.doc_id: one for one in dataset.documents()}
    labels = {(q, d): r for q, d, r in dataset.qrels["test"].read()[0]}
    items, verdicts = [], []
    for (query_id, doc_id), given in said.items():
        pair = ShownPair(queries[query_id], documents[doc_id].title, documents[doc_id].text)
        label = labels.get((query_id, doc_id))
        name = item_id(query_id, doc_id)
        items.append(Item(name, "labels" if label else "missing", query_id, doc_id, label, pair))
        for who, relevance in given:
            reason = "off topic" if relevance == 0 else ""
            given_now = Verdict(0, name, who, relevance, pair.digest(), label, reason=reason)
            verdicts.append(given_now)
    store = Store(parent / "verdicts.sqlite")
    store.plan(Settings(people), items)
    store.add(verdicts)
    return parent / "verdicts.sqlite"


def both(relevance: int | None) -> list[tuple[str, int | None]]:
    return [("ann", relevance), ("bob", relevance)]


def qrels(run: Path) -> dict[tuple[str, str], float]:
    return {(q, d): r for q, d, r in open_dataset(run).qrels["test"].read()[0]}


def rejected(run: Path) -> list[Any]:
    return [json.loads(line) for line in (run / "rejected.jsonl").read_text().splitlines()]


def a_review(parent: Path) -> dict[str, Any]:
    """One of everything: the pairs of the first queries, and what is said of them."""
    pairs = pairs_of(parent)
    (q0, right), (_, wrong) = pairs[:2]
    other = next(d for _, d in pairs if d not in (right, wrong))
    said = {
        (q0, right): both(1),
        (q0, wrong): both(0),
        (q0, other): both(1),
        (pairs[2][0], other if (pairs[2][0], other) not in pairs else wrong): both(0),
        pairs[4]: [("ann", 1), ("bob", 0)],
        pairs[6]: [("ann", 0)],
        pairs[8]: both(None),
    }
    reviewed_by(parent, said)
    return {"query": q0, "right": right, "wrong": wrong, "missed": other}


def test_what_was_settled_holds_and_nothing_else_changes(parent: Path) -> None:
    pair = a_review(parent)
    before = qrels(parent)
    held = {p: p.read_bytes() for p in parent.rglob("*") if p.is_file() and "sqlite" not in p.name}
    result = apply_review(parent)
    assert result.path == parent.with_name("small_v2")
    after = qrels(result.path)
    turned = {p: r for p, r in after.items() if before.get(p) != r}
    q0 = pair["query"]
    assert turned[q0, pair["wrong"]] == 0
    assert turned[q0, pair["missed"]] == 1
    assert sorted(turned.values()) == [0, 1]  # a complete set has no row for what is not relevant
    assert before.keys() <= after.keys()
    rows = rejected(result.path)
    assert [row["rule"] for row in rows] == ["review"]
    assert rows[0]["reason"] == "people say it is not relevant: off topic"
    assert rows[0]["record"]["by"] == ["ann", "bob"]
    assert rows[0]["record"]["corpus-id"] == pair["wrong"]
    manifest = result.manifest
    assert manifest["evidence"] == {"structural": 38, "judged": 0, "human": 3}
    lineage = manifest["lineage"]
    assert len(lineage) == 1
    assert lineage[0]["name"] == "small"
    assert lineage[0]["review"]["annotators"] == ["ann", "bob"]
    assert lineage[0]["review"]["left"] == {"open": 1, "waiting": 1, "undecided": 1, "stale": 0}
    counts = {k: n for k, n in lineage[0]["changes"].items() if n}
    assert counts == {"confirmed": 2, "rejected": 1, "missed": 1}
    human = (result.path / "tables" / "human.jsonl").read_text().splitlines()
    assert len(human) == 3
    card = (result.path / "dataset" / "README.md").read_text()
    assert "**REVIEWED**: of 41 qrels 38 proven, 3 given by people" in card
    assert all(path.read_bytes() == data for path, data in held.items())


def test_validate_says_what_is_proven_and_where_people_disagree(parent: Path) -> None:
    pair = a_review(parent)
    version = apply_review(parent).path
    result = validate(version)
    assert result.ok
    assert (result.proven, result.human) == (38, 3)
    (finding,) = result.findings
    assert (finding.rule, finding.severity) == ("review", "warning")
    assert finding.message.startswith("people disagree with the proof on 2 pairs (")
    assert {pair["wrong"], pair["missed"], pair["query"]} == set(finding.ids)


def test_a_second_call_says_finished_and_later_verdicts_make_another_version(parent: Path) -> None:
    a_review(parent)
    first = apply_review(parent)
    assert not first.repeated
    again = apply_review(parent)
    assert (again.repeated, again.path) == (True, first.path)
    assert run(parent / "recipe.yaml", out=parent).repeated
    store = Store(parent / "verdicts.sqlite")
    waiting = store.items()[5]
    store.add([Verdict(0, waiting.item_id, "bob", 0, waiting.shown, 1.0)])
    later = apply_review(parent)
    assert later.path == parent.with_name("small_v3")
    assert later.manifest["lineage"][0]["changes"]["rejected"] == 2
    with pytest.raises(RunDirectoryError, match="holds something else than this version"):
        apply_review(parent, out=first.path)
    with pytest.raises(UsageError, match="never takes its place"):
        apply_review(parent, out=parent)


def test_the_recipe_of_a_version_makes_the_same_bytes(parent: Path, tmp_path: Path) -> None:
    a_review(parent)
    version = apply_review(parent).path
    again = run(version / "recipe.yaml", out=tmp_path / "again").path
    for path in sorted((version / "dataset").iterdir()):
        assert (again / "dataset" / path.name).read_bytes() == path.read_bytes()


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    def tamper(version: Path) -> None:
        text = (version / name).read_text()
        assert old in text
        (version / name).write_text(text.replace(old, new, 1))

    return tamper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tamper", "rules"),
    [
        (change("dataset/qrels.jsonl", '"score":0', '"score":1'), {"manifest", "regenerated"}),
        (change("tables/human.jsonl", '"score":0', '"score":1'), {"manifest", "regenerated"}),
        (
            change("inputs/decisions-1.jsonl", '"relevance":0', '"relevance":1'),
            {"manifest", "regenerated", "review"},
        ),
        (change("rejected.jsonl", "off topic", "on topic"), {"manifest", "regenerated"}),
        (change("manifest.json", '"human": 3', '"human": 9'), {"manifest"}),
    ],
)
def test_a_tampered_human_label_is_an_error(
    parent: Path, tamper: Callable[[Path], None], rules: set[str]
) -> None:
    a_review(parent)
    version = apply_review(parent).path
    tamper(version)
    result = validate(version)
    assert {one.rule for one in result.findings if one.severity == "error"} == rules
    assert (result.proven, result.human) == (0, 0)


def test_a_query_without_any_positive_left_is_taken_out(parent: Path) -> None:
    pairs = pairs_of(parent)
    reviewed_by(parent, {pairs[0]: both(0), pairs[1]: both(0)})
    result = apply_review(parent)
    query_id = pairs[0][0]
    assert result.manifest["counts"] == {
        "documents": 60,
        "queries": 19,
        "qrels": 38,
        "rejected": 3,
    }
    assert query_id not in {q for q, _ in qrels(result.path)}
    last = rejected(result.path)[-1]
    assert last["reason"] == "no relevant document is left: people rejected what it had"
    assert last["record"]["_id"] == query_id
    assert validate(result.path).ok


@pytest.mark.slow
def test_a_version_is_reviewed_again(parent: Path) -> None:
    pairs = pairs_of(parent)
    reviewed_by(parent, {pairs[0]: both(0)})
    second = apply_review(parent).path
    reviewed_by(second, {pairs[0]: both(1), pairs[2]: both(1)})
    third = apply_review(second)
    assert third.path == parent.with_name("small_v3")
    assert qrels(third.path) == qrels(parent)
    assert [one["name"] for one in third.manifest["lineage"]] == ["small", "small_v2"]
    assert third.manifest["evidence"]["human"] == 2
    assert validate(third.path).ok


def test_what_cannot_be_applied_is_refused(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nobody has reviewed"):
        apply_review(parent)
    pairs = pairs_of(parent)
    reviewed_by(parent, {pairs[0]: [("ann", 1)]})
    with pytest.raises(UsageError, match=r"nothing is settled yet \(0 open, 1 waiting"):
        apply_review(parent)
    (tmp_path / "other.yaml").write_text(SMALL.replace("seed: 42", "seed: 7"))
    other = run(tmp_path / "other.yaml", out=tmp_path / "other").path
    theirs = reviewed_by(other, {pairs_of(other)[0]: both(1)})
    with pytest.raises(DatasetError, match="none of the 1 decisions is on a text and label"):
        apply_review(parent, verdicts=theirs)
    (parent / "rejected.jsonl").write_text("{}\n")
    with pytest.raises(DatasetError, match=r"rejected\.jsonl is not the file"):
        apply_review(parent)
    (parent / "manifest.json").write_text('{"name": "small", "created": "now"}')
    with pytest.raises(DatasetError, match=r"manifest\.json is damaged; make the run again"):
        apply_review(parent)


def test_fresh_never_removes_what_people_said(parent: Path) -> None:
    path = reviewed_by(parent, {pairs_of(parent)[0]: both(1)})
    for seed in (42, 7):
        run(parent / "recipe.yaml", out=parent, overrides={"seed": seed}, fresh=True)
        assert len(Store(path).verdicts()) == 2


@pytest.mark.slow
def test_the_command_writes_the_version_and_refuses_what_does_not_fit(
    parent: Path, gen: Callable[..., Any]
) -> None:
    a_review(parent)
    done = gen("run", parent / "recipe.yaml", "--apply-review", "--set", "seed=3")
    assert done.returncode == 2
    assert "people decided: leave out --set" in done.stderr
    done = gen("run", parent, "--apply-review")
    assert done.returncode == 0, done.stderr
    assert "human       3 of 41 qrels, given by people" in done.stdout
    assert "review      2 people: 2 labels confirmed, 1 positives rejected" in done.stdout
    assert "finished before: nothing to do" in gen("run", parent, "--apply-review").stdout
