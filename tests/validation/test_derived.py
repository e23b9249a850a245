"""Whatever is altered in a finished run is found and named, although all hashes are made to fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from retgen import run, validate
from retgen.engines import Local
from retgen.progress import no_progress
from retgen.recipe import load_recipe
from retgen.validation.validate import prove
from retgen.validators.validation import Validation
from retgen.write import dump_json, file_info
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.command import in_process
from tests.generators.multiconir.stories import stories
from tests.shared import sample
from tests.with_agents.conftest import environment

Change = Callable[[Path], Any]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A test set, a training set with hard negatives, and ladders in two breaking orders."""
    folder = tmp_path_factory.mktemp("finished")
    small = {"params.docs": 300, "params.attributes_per_doc": 20}
    conditions = {
        "params.relevant_docs": 20, "params.queries": 60, "params.catalogue.split": "train",
        "params.form.hard_negatives": 2,
    }  # fmt: skip
    (folder / "ships.jsonl").write_text("".join(json.dumps(d) + "\n" for d in stories(4)))
    ships = {"path": str(folder / "ships.jsonl")}
    made = {
        "test": ("limit_dense", {**small, "params.queries": 60}, None),
        "train": ("limit_conditions", {**small, **conditions}, None),
        "ladders": ("multiconir_legal", {"params.orders": 2, "params.source": ships}, 3),
    }
    return {
        name: run(recipe, out=folder / name, overrides=changes, limit=limit).path
        for name, (recipe, changes, limit) in made.items()
    }


def forged(path: Path, folder: Path, change: Change) -> Path:
    """A copy with a change, whose manifest has the hashes of the files that are there now."""
    copy = folder / "run"
    folder.mkdir(exist_ok=True)
    shutil.copytree(path, copy)
    change(copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    there = {
        file.relative_to(copy).as_posix()
        for part in ("dataset", "training", "tables", "sources", "inputs")
        for file in (copy / part).rglob("*")
    } | {"recipe.yaml", "rejected.jsonl"}
    named = {name: info for name, info in manifest["files"].items() if name in there}
    for name in there:
        if named.get(name, {}).get("bytes") != -1:  # which a change has put there
            named[name] = file_info(copy / name)._asdict()
    manifest["files"] = dict(sorted(named.items()))
    (copy / "manifest.json").write_text(dump_json(manifest))
    return copy


def findings(validation: Validation) -> list[tuple[str, str]]:
    """All but that LIMIT's hard negatives are distractors, of whom words tell."""
    return [(one.rule, one.message) for one in validation.findings if one.rule != "origin"]


# --- changes ------------------------------------------------------------------------------------


def in_json(name: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    def work(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(dump_json(content))

    return work


def manifest(change: Callable[[dict[str, Any]], Any]) -> Change:
    return in_json("manifest.json", change)


def report(change: Callable[[dict[str, Any]], Any]) -> Change:
    return in_json("report.json", change)


def stating(dotted: str, value: Any, name: str = "manifest.json") -> Change:
    """One key of the manifest, with another value."""

    def change(content: dict[str, Any]) -> None:
        *parents, last = dotted.split(".")
        for key in parents:
            content = content[key]
        assert content[last] != value
        content[last] = value

    return in_json(name, change)


def jsonl(name: str, change: Callable[[Rows], Any]) -> Change:
    """Rows changed, and written as the run writes them."""

    def work(folder: Path) -> None:
        rows = [orjson.loads(line) for line in (folder / name).read_bytes().splitlines()]
        change(rows)
        option = orjson.OPT_APPEND_NEWLINE
        (folder / name).write_bytes(b"".join(orjson.dumps(row, option=option) for row in rows))

    return work


def parquet(name: str, change: Callable[[Rows], Any], column: str | None = None) -> Change:
    """The same of Parquet, under the schema of the run, with another column of texts perhaps."""

    def work(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(folder / name)
        rows = table.to_pylist()
        change(rows)
        schema = (
            table.schema if column is None else table.schema.append(pa.field(column, pa.string()))
        )
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / name)

    return work


def text(name: str, old: str, new: str) -> Change:
    def work(folder: Path) -> None:
        content = (folder / name).read_text("utf-8")
        assert old in content
        (folder / name).write_text(content.replace(old, new, 1), "utf-8")

    return work


def file(name: str, content: str) -> Change:
    def work(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)

    return work


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def rotated(key: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        values = [row[key] for row in rows]
        for row, value in zip(rows, values[1:] + values[:1], strict=True):
            row[key] = value

    return change


def swapped(one: int, other: int, key: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        assert rows[one][key] != rows[other][key]
        rows[one][key], rows[other][key] = rows[other][key], rows[one][key]

    return change


def moved(one: int, other: int) -> Callable[[Rows], None]:
    return lambda rows: rows.insert(other, rows.pop(one))


def negatives_swapped(rows: Rows) -> None:
    for row in rows:
        row["negative_1"], row["negative_2"] = row["negative_2"], row["negative_1"]


def alike(rows: Rows) -> None:
    """All distractors list what the first of them does."""
    first = next(row for row in rows if row["metadata"]["column"] < 0)
    listed = first["text"].partition(" likes ")[2]
    for row in rows:
        if row["metadata"]["column"] < 0:
            row["text"] = row["text"].partition(" likes ")[0] + " likes " + listed
            row["metadata"]["attributes"] = first["metadata"]["attributes"]


PAIRS = "training/pairs.parquet"
TRIPLETS, LISTS = "training/triplets.parquet", "training/ladders.parquet"
CORPUS, QUERIES, QRELS = (f"dataset/{name}.jsonl" for name in ("corpus", "queries", "qrels"))
GRADED = "dataset/qrels_graded.jsonl"
CARD = "dataset/README.md"
PROOF, EXPORTED = "limit-proof/training", "ladder-proof/exported"

TABLES: list[tuple[str, Change, str, str]] = [
    # training pairs of a LIMIT set
    ("train", parquet(PAIRS, rotated("positive")), PROOF,
     f"{PAIRS}, row 2: its positive is no document that is relevant to query "),
    ("train", parquet(PAIRS, negatives_swapped), PROOF,
     f"{PAIRS}, row 1: its negative_1 is not the text of d"),
    ("train", parquet(PAIRS, swapped(0, 2, "negative_1")), PROOF,
     f"{PAIRS}, row 1: its negative_1 is not the text of d"),
    ("train", parquet(PAIRS, swapped(0, 2, "query-id")), PROOF,
     f"{PAIRS}, row 1: its anchor is not the text of query q"),
    ("train", parquet(PAIRS, lambda rows: rows[4].update(anchor="Who likes rain?")), PROOF,
     f"{PAIRS}, row 5: its anchor is not the text of query q"),
    ("train", parquet(PAIRS, lambda rows: rows[4].update({"query-id": "q0"})), PROOF,
     f"{PAIRS}, row 5: there is no query q0"),
    ("train", parquet(PAIRS, lambda rows: rows.append(rows[7])), "regenerated",
     f"{PAIRS} is not what the recipe makes (121 rows, must be 120): row 121 must not be there"),
    ("train", parquet(PAIRS, lambda rows: rows.pop(7)), "regenerated",
     f"{PAIRS} is not what the recipe makes (119 rows, must be 120): row 8 "),
    ("train", parquet(PAIRS, moved(3, 50)), "regenerated",
     f"{PAIRS} is not what the recipe makes: row 4 "),
    ("train", parquet(PAIRS, lambda rows: [row.update(answer="d1") for row in rows], "answer"), "regenerated",
     f"{PAIRS}: its columns are anchor (string), positive (string), negative_1 (string), "),
    ("train", parquet(PAIRS, lambda rows: rows[0].update(negative_4=None)), PROOF,
     f"{PAIRS}, row 1: its negative_4 is not the text of d"),
    ("train", file(PAIRS, "PAR1"), PROOF, f"{PAIRS}, it cannot be read: "),
    ("train", gone(PAIRS), PROOF, f"{PAIRS}, it cannot be read: "),
    ("train", gone(PAIRS), "manifest",
     f"{PAIRS} is missing in the manifest: the recipe makes this file"),
    ("test", file(PAIRS, "PAR1"), "manifest",
     f"{PAIRS} is in the manifest, but the recipe makes no such file"),
    ("test", file("tables/notes.jsonl", "{}\n"), "manifest",
     "tables/notes.jsonl is in the manifest, but the recipe makes no such file"),
    # training data of ladders
    ("ladders", parquet(LISTS, lambda rows: [row["labels"].reverse() for row in rows]), EXPORTED,
     f"{LISTS}, row 1: labels is [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], the words say [10, 9, 8, 7, 6, 5, "),
    ("ladders", parquet(LISTS, lambda rows: rows[1]["docs"].reverse()), EXPORTED,
     f"{LISTS}, row 2: labels is "),
    ("ladders", parquet(TRIPLETS, rotated("positive")), EXPORTED,
     f"{TRIPLETS}, row 20: positive is no document of ladder ship-"),
    ("ladders", parquet(TRIPLETS, lambda rows: [
        row.update(positive=row["negative"], negative=row["positive"]) for row in rows
    ]), EXPORTED, f"{TRIPLETS}, row 1: positive breaks a condition of its query"),
    ("ladders", parquet(TRIPLETS, swapped(0, 1, "query-id")), EXPORTED,
     f"{TRIPLETS}, row 1: its query is not that of q"),
    ("ladders", parquet(TRIPLETS, lambda rows: rows.pop()), "regenerated",
     f"{TRIPLETS} is not what the recipe makes (59 rows, must be 60): row 60 is missing"),
    ("ladders", parquet("training/pairs.parquet", lambda rows: rows.append(rows[0])), "regenerated",
     "training/pairs.parquet is not what the recipe makes (61 rows, must be 60): row 61 must not "),
    ("ladders", parquet("training/pairs.parquet", moved(0, 30)), "regenerated",
     "training/pairs.parquet is not what the recipe makes: row 1 "),
    ("ladders", parquet("training/pairs.parquet", lambda rows: rows[0].update(
        better=rows[0]["worse"], worse=rows[0]["better"])), EXPORTED,
     "training/pairs.parquet, row 1: better breaks 1 conditions of its query, worse 0"),
    ("ladders", parquet(TRIPLETS, lambda rows: None, "score"), "regenerated",
     f"{TRIPLETS}: its columns are anchor (string), "),
    ("ladders", file("training/more.parquet", "PAR1"), "manifest",
     "training/more.parquet is in the manifest, but the recipe makes no such file"),
    # the paper's tables
    ("ladders", jsonl("tables/task1.jsonl", swapped(0, 2, "HN1")), EXPORTED,
     "tables/task1.jsonl, row 1: HN1 is no document of ladder ship-"),
    ("ladders", jsonl("tables/task2_3.jsonl", lambda rows: rows[3].update(HN4=rows[3]["HN5"])), EXPORTED,
     "tables/task2_3.jsonl, row 4: HN4 does not break the first 4 conditions"),
    ("ladders", jsonl("tables/task2_3.jsonl", lambda rows: rows[3].update(answer=1)), "regenerated",
     "tables/task2_3.jsonl is not what the recipe makes: row 4 answer is 1; must not be there"),
    ("ladders", jsonl("tables/task4_512.jsonl", swapped(0, 2, "HN3")), EXPORTED,
     "tables/task4_512.jsonl, row 1: HN3 is no document of ladder ship-"),
    ("ladders", jsonl("tables/task4_1024.jsonl", lambda rows: rows[0].update(
        HN3=rows[0]["HN3"].replace(" The grass is green.", "", 1))), EXPORTED,
     "tables/task4_1024.jsonl, row 1: HN3 has 1020 words, must have 1024"),
    ("ladders", jsonl("tables/task4_1024.jsonl", swapped(0, 2, "Query3")), EXPORTED,
     "tables/task4_1024.jsonl, row 1: Query3 is not that of ladder ship-"),
    ("ladders", jsonl("tables/position.jsonl", swapped(0, 1, "Query4")), EXPORTED,
     "tables/position.jsonl, row 1: Query4 is not that of ladder ship-"),
    ("ladders", jsonl("tables/verdicts.jsonl", swapped(0, 2, "query-ids")), EXPORTED,
     "tables/verdicts.jsonl, row 1: ladder ship-"),
    ("ladders", jsonl("tables/verdicts.jsonl", lambda rows: rows[0].update(model="gpt")), "regenerated",
     'tables/verdicts.jsonl is not what the recipe makes: row 1 model is "gpt", must be ""'),
    ("ladders", jsonl("tables/review_queries.jsonl", swapped(0, 1, "query")), EXPORTED,
     "tables/review_queries.jsonl, row 1: its query is not that of q"),
    ("ladders", jsonl("tables/review_labels.jsonl", lambda rows: rows[4].update(label=1)), EXPORTED,
     "tables/review_labels.jsonl, row 5: label is 1 of 10, the words say 8 of 10"),
    ("ladders", jsonl("tables/review_labels.jsonl", lambda rows: rows.pop()), "regenerated",
     "tables/review_labels.jsonl is not what the recipe makes (65 rows, must be 66): row 66 is "),
    ("ladders", jsonl("tables/review_labels.jsonl", swapped(0, 4, "document")), EXPORTED,
     "tables/review_labels.jsonl, row 1: document is no document of ladder ship-"),
    # what the proof cannot see, and the recipe does
    ("test", jsonl(CORPUS, alike), "limit-proof/twins", "have the attributes of another one"),
    ("test", jsonl(CORPUS, moved(0, 5)), "regenerated",
     f"{CORPUS} is not what the recipe makes: row 1 _id is "),
    ("test", jsonl(QUERIES, lambda rows: rows[0].update(answer=rows[1]["_id"])), "regenerated",
     f"{QUERIES} is not what the recipe makes: row 1 answer is "),
    ("test", text(QRELS, '"score":1}', '"score":"1"}'), "regenerated",
     f'{QRELS} is not what the recipe makes: row 1 score is "1", must be 1'),
    ("test", text(CORPUS, '"title":""', '"title":"x","title":""'), "regenerated",
     f"{CORPUS} is not what the recipe makes: row 1: the values are right, but written in another "),
    ("ladders", jsonl(GRADED, moved(0, 1)), "regenerated", f"{GRADED} is not what the recipe makes: row 1 "),
    ("ladders", jsonl("sources/documents.jsonl", moved(0, 1)), "regenerated",
     "sources/documents.jsonl is not what the recipe makes"),
    # rejected records
    ("ladders", jsonl("rejected.jsonl", lambda rows: rows.append(
        {"rule": "none", "reason": "none", "record": {}})), "sources",
     "rejected.jsonl: is damaged"),
    ("test", file("rejected.jsonl", "none\n"), "derived", "rejected.jsonl: it is damaged"),
    # the recipe
    ("test", text("recipe.yaml", "off: {}", "off: {order-leak: tired of it}"), "manifest",
     "manifest.json: checks.switched_off.order-leak is missing; must be \"tired of it\""),
    ("test", text("recipe.yaml", "off: {}", "off: {manifest: tired of it}"), "manifest",
     "recipe.yaml switches off or lowers manifest, which vouches"),
    ("test", text("recipe.yaml", "order_leak_p: 1e-06", "order_leak_p: 1e-09"), "derived",
     "report.json: recipe.validate.order_leak_p is 1e-6, must be 1e-9"),
    ("test", text("recipe.yaml", "seed: 42", "seed: 43"), "manifest",
     "manifest.json: seed is 42, must be 43"),
    ("ladders", text("recipe.yaml", "kept: 0.6", "kept: 0.5"), "derived",
     "report.json: recipe.params.negatives.kept is 0.6, must be 0.5"),
]  # fmt: skip

BESIDE: list[tuple[str, Change, str]] = [
    ("test", stating("name", "other"), 'name is "other", must be "limit_dense"'),
    ("test", stating("family", "multiconir"), 'family is "multiconir", must be "limit"'),
    ("test", stating("seed", 7), "seed is 7, must be 42"),
    ("test", stating("created", "today"), 'created is "today", which is no time'),
    ("test", stating("created", 1999), "created is 1999, which is no time"),
    ("test", stating("created", "1999-01-01T00:00:00"),
     'created is "1999-01-01T00:00:00", which says no time zone'),
    ("test", stating("created", "1999-01-01 00:00:00+00:00"),
     'created is "1999-01-01 00:00:00+00:00", must be written as 1999-01-01T00:00:00+00:00'),
    ("test", stating("versions", {"retgen": "0.1.0"}), 'versions is {"retgen":"0.1.0"}, must name retgen, python, numpy'),
    ("test", stating("counts.documents", 301), "counts.documents is 301, must be 300"),
    ("test", stating("counts.rejected", 3), "counts.rejected is 3, must be 0"),
    ("train", stating("counts.qrels", 121), "counts.qrels is 121, must be 120"),
    ("test", stating("complete", False), "complete is false, must be true"),
    ("ladders", stating("complete", True), "complete is true, must be false"),
    ("test", stating("evidence.structural", 121), "evidence.structural is 121, must be 120"),
    ("test", stating("evidence.human", 120), "evidence.human is 120, must be 0"),
    ("ladders", stating("evidence", {"structural": 0, "judged": 1680, "human": 0}),
     "evidence.structural is 0, must be 1680; evidence.judged is 1680, must be 0"),
    ("ladders", stating("judges", {"x": "never wrong"}), 'judges.x is "never wrong"; must not be'),
    ("ladders", stating("structure", "everything"), 'structure is "everything", must be "which sent'),
    ("ladders", stating("tests", ""), 'tests is "", must be "Whether a retriever orders'),
    ("test", stating("judged", "a judge"), 'judged is "a judge", must be ""'),
    ("ladders", stating("models.verify_conditions.model", "openai:gpt-5"),
     'models.verify_conditions.model is "openai:gpt-5", must be "offline"'),
    ("ladders", stating("prompts", {"x": "y"}), 'prompts.x is "y"; must not be there'),
    ("ladders", stating("calls", 5), "calls is 5, must be 0"),
    ("ladders", stating("usd", 0.01), "usd is 0.01, must be 0.0"),
    ("test", stating("tokens.in", 1), "tokens.in is 1, must be 0"),
    ("test", stating("word_lists", {}), "word_lists.attributes is missing"),
    ("test", stating("word_lists.names (Faker)", "00"), 'word_lists.names (Faker) is "00", must be "'),
    ("test", stating("timings", {}), "timings is {}, must name latent, generate and write, prove "),
    ("test", stating("timings.latent", -1.0), "timings.latent is -1.0, which is no time"),
    ("test", stating("licences.names", "CC0"), 'licences.names is "CC0", must be "MIT (Faker)"'),
    ("test", stating("languages", ["deu-Latn"]), 'languages[0] is "deu-Latn", must be "eng-Latn"'),
    ("test", stating("checks.warnings", 1), "checks.warnings is 1, must be 0"),
    ("test", stating("checks.switched_off", {"order-leak": "no"}),
     'checks.switched_off.order-leak is "no"; must not be there'),
    ("test", stating("card", []), "card is 0 entries, must be 2 entries"),
    ("ladders", stating("facts.Number", "24"), 'facts.Number is "24", must be "3"'),
    ("ladders", manifest(lambda m: m["example"]["rows"].reverse()), "example.rows[0][0] is "),
    ("test", stating("floors.best.ranking", "none"), 'floors.best.ranking is "none", must be "'),
    ("ladders", manifest(lambda m: m["floors"]["random"].update({"win rate, task 1": 0.25})),
     "floors.random.win rate, task 1 is 0.25, must be 0.5"),
    ("test", stating("certificate.lower", 40), "certificate.lower is 40, must be 4"),
    ("train", stating("certificate", {}), "certificate.documents is missing; must be 20"),
    ("ladders", stating("certificate", {"lower": 1}), "certificate.lower is 1; must not be there"),
    ("test", manifest(lambda m: m.update(proven_by="us")), 'proven_by is "us"; must not be there'),
    ("test", manifest(lambda m: m.pop("licences")), "licences is missing; must be "),
]  # fmt: skip

PAGES: list[tuple[str, Change, str]] = [
    ("test", text(CARD, "120 of 120 qrels are proven", "121 of 121 qrels are proven"),
     f'{CARD}: line '),
    ("test", text(CARD, "license: apache-2.0", "license: mit"), f"{CARD}: line "),
    ("test", text(CARD, "| random |", "| random order |"), f"{CARD}: line "),
    ("test", file(CARD, ""), f"{CARD}: line 1 is "),
    ("test", file("report.json", "{}\n"), "report.json: name is missing; must be "),
    ("test", file("report.json", "[]\n"), "report.json: it is [], not an object"),
    ("test", file("report.json", "no\n"), "report.json: it cannot be read: "),
    ("test", gone("report.json"), "report.json: it cannot be read: "),
    ("test", report(lambda r: r["findings"].append({"rule": "x"})),
     "report.json: findings is 1 entries, must be 0 entries"),
    ("ladders", report(lambda r: r["statistics"].update(documents=1)),
     "report.json: statistics.documents is 1, must be "),
    ("ladders", stating("manifest.evidence.judged", 5, "report.json"),
     "report.json: manifest.evidence.judged is 5, must be 0"),
    ("test", report(lambda r: r["picture"].update(shared=[])), "report.json: picture.shared is "),
    ("test", stating("seconds.scan", -1, "report.json"), "report.json: seconds.scan is -1, must be null"),
    ("test", text("report.html", "<title>", "<title>Perfect: "),
     "report.html: it is not the page of report.json; `gen report` makes it again"),
    ("test", gone("report.html"), "report.html: it cannot be read: "),
]  # fmt: skip


@pytest.mark.parametrize("name", ["test", "train", "ladders"])
def test_a_finished_run_is_silent(finished: dict[str, Path], name: str, tmp_path: Path) -> None:
    assert findings(validate(finished[name])) == []
    untouched = forged(finished[name], tmp_path, lambda folder: None)
    assert findings(validate(untouched)) == []
    files = json.loads((untouched / "manifest.json").read_text())["files"]
    assert "recipe.yaml" in files


@pytest.mark.parametrize(("name", "change", "rule", "message"), sample(TABLES))
def test_altered_tables_are_named(
    finished: dict[str, Path], name: str, change: Change, rule: str, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    assert not validation.ok
    assert (validation.proven, validation.judged) == (0, 0)
    named = [one for one in validation.findings if one.rule == rule and message in one.message]
    assert named, validation.findings


@pytest.mark.parametrize("name", ["test", "train", "ladders"])
def test_many_altered_figures_are_all_named(
    finished: dict[str, Path], name: str, tmp_path: Path
) -> None:
    """A fault in every key of the manifest at once: each has its finding."""
    cases = {message.partition(" ")[0].partition(".")[0]: (change, message)
             for which, change, message in BESIDE if which == name}  # fmt: skip
    copy = forged(finished[name], tmp_path, both(*(change for change, _ in cases.values())))
    messages = [one.message for one in validate(copy).findings if one.rule == "manifest"]
    for _, message in cases.values():
        assert [one for one in messages if one.startswith(f"manifest.json: {message}")], (
            message,
            messages,
        )
    assert len(messages) == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "message"), BESIDE)
def test_altered_figures_are_named(
    finished: dict[str, Path], name: str, change: Change, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    (named,) = [
        one for one in validation.findings if one.message.startswith(f"manifest.json: {message}")
    ]
    assert (named.rule, named.severity) == ("manifest", "error")
    assert named.ids[0].startswith(f"manifest.json:{message.partition(' ')[0]}"[:20])


@pytest.mark.parametrize(("name", "change", "message"), sample(PAGES))
def test_altered_pages_are_named(
    finished: dict[str, Path], name: str, change: Change, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    first = next(one for one in validation.findings if one.message.startswith(message))
    assert (first.rule, first.severity) == ("derived", "error")
    assert first.ids[0].partition(":")[0] == message.partition(":")[0]


# --- what cannot be derived again is said -------------------------------------------------------


def test_of_another_version_the_rules_stand_alone(
    finished: dict[str, Path], tmp_path: Path
) -> None:
    change = both(stating("versions.retgen", "0.0.9"), parquet(PAIRS, rotated("positive")))
    validation = validate(forged(finished["train"], tmp_path, change))
    message = "the tables are not made again: it was made with retgen 0.0.9, this is "
    *faults, again, derived = [one for one in validation.findings if one.rule != "origin"]
    assert {(one.rule, one.severity) for one in faults} == {(PROOF, "error")}
    assert (again.rule, again.severity) == ("regenerated", "warning")
    assert again.message.startswith(message)
    assert (derived.rule, derived.severity) == ("derived", "info")
    assert derived.message == (
        "the tables have errors: their figures in manifest, card and report are not compared"
    )


def test_figures_of_another_version_may_differ(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(
        stating("versions.retgen", "0.0.9"), stating("certificate.lower", 3),
        stating("counts.queries", 61), report(lambda r: r["manifest"]["versions"].update(retgen="0.0.9")),
    )  # fmt: skip
    validation = validate(forged(finished["test"], tmp_path, change))
    assert [
        (one.severity, one.message) for one in validation.findings if one.rule == "manifest"
    ] == [
        ("error", "manifest.json: counts.queries is 61, must be 60"),
        ("warning", "manifest.json: certificate.lower is 3, must be 4"),
    ]


@pytest.mark.parametrize(
    ("stated", "severity", "end"),
    [
        (1, "warning", ""),
        (4, "error", "; check it with the version that made it"),
        (None, "error", "; check it with the version that made it"),
    ],
)
def test_of_another_format_it_is_said_once(
    finished: dict[str, Path], tmp_path: Path, stated: int | None, severity: str, end: str
) -> None:
    change = both(
        stating("format_version", stated), manifest(lambda m: m.pop("languages")),
        manifest(lambda m: m["counts"].pop("rejected")), report(lambda r: r.pop("split")),
    )  # fmt: skip
    validation = validate(forged(finished["test"], tmp_path, change))
    assert [(one.rule, one.severity, one.message) for one in validation.findings] == [
        (
            "manifest",
            severity,
            f"manifest.json: the run is in format {stated}, this version of retgen writes format 3: "
            "the tables are not made again, and of what stands beside them only name, seed, counts, "
            f"evidence and hashes are compared{end}",
        )
    ]
    assert validation.proven == (120 if severity == "warning" else 0)


def test_another_format_excuses_no_wrong_count(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(stating("format_version", 1), stating("evidence.structural", 900))
    validation = validate(forged(finished["test"], tmp_path, change))
    assert not validation.ok
    assert [one.message for one in validation.findings if one.severity == "error"] == [
        "manifest.json: evidence.structural is 900, must be 120"
    ]


def test_a_link_out_of_the_run_is_named(finished: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(finished["test"], tmp_path / "run")
    elsewhere = tmp_path / "elsewhere.jsonl"
    (tmp_path / "run" / QUERIES).rename(elsewhere)
    (tmp_path / "run" / QUERIES).symlink_to(elsewhere)
    (tmp_path / "run" / "report.html").rename(tmp_path / "run" / "page.html")
    (tmp_path / "run" / "report.html").symlink_to("page.html")  # stays inside
    (tmp_path / "link").symlink_to(tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "link"):
        assert [(one.severity, one.ids, one.message) for one in validate(path).findings] == [
            (
                "warning",
                [QUERIES],
                f"{QUERIES} is a link out of the run directory, to {elsewhere}: put the file itself "
                "here",
            )
        ]


def test_a_list_of_names_that_has_changed(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(stating("word_lists.names (Faker)", "00"), jsonl(CORPUS, moved(0, 5)))
    validation = validate(forged(finished["test"], tmp_path, change))
    assert (
        "regenerated",
        "the tables are not made again: the list of names (Faker) has changed since, and with it "
        "the rows it gives",
    ) in findings(validation)


def test_without_a_manifest_a_run_is_not_finished(
    finished: dict[str, Path], tmp_path: Path
) -> None:
    copy = forged(finished["test"], tmp_path, lambda folder: None)
    (copy / "manifest.json").unlink()
    message = (
        f"{copy} is unfinished: it has no manifest.json, which is written last. The run was stopped, "
        f"or did not pass its checks; `gen run {copy}/recipe.yaml --out {copy}` ends it"
    )
    validation = validate(copy)
    assert (validation.ok, validation.proven) == (False, 0)
    assert [(one.rule, one.severity, one.message) for one in validation.findings] == [
        ("manifest", "error", message)
    ]
    assert prove(copy, load_recipe(copy).at(copy), {}, Local(1), no_progress).findings == []


@pytest.mark.parametrize("content", ["{}", "[]", '{"files": {"x": 1}}', '{"files": []}', "no"])
def test_what_is_no_manifest(finished: dict[str, Path], tmp_path: Path, content: str) -> None:
    shutil.copytree(finished["test"], tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_text(content)
    message = f"{tmp_path / 'run' / 'manifest.json'} is not a manifest"
    assert findings(validate(tmp_path / "run")) == [("manifest", message)]


@pytest.mark.slow
def test_every_document_of_the_source_is_accounted_for(
    finished: dict[str, Path], tmp_path: Path
) -> None:
    """As where a model was asked, whose rejections nobody else knows."""
    (tmp_path / "ships.jsonl").write_text("".join(json.dumps(d) + "\n" for d in stories(4)))
    source = {"params.source": {"path": str(tmp_path / "ships.jsonl")}}
    path = run("multiconir_legal", out=tmp_path / "all", overrides=source).path
    sources = (path / "sources" / "documents.jsonl").read_text("utf-8").splitlines()
    more = json.loads(sources[0]) | {"id": "more"}
    rejected = {
        "rule": "x",
        "reason": "x",
        "record": {"record": json.loads(sources[1]), "history": []},
    }
    change = both(
        jsonl("sources/documents.jsonl", lambda rows: rows.append(more)),
        jsonl("rejected.jsonl", lambda rows: rows.append(rejected)),
    )
    validation = validate(forged(path, tmp_path, change))
    assert [one.message for one in validation.findings if one.rule == "ladder-proof"] == [
        f"document {rejected['record']['record']['id']} of the source: it is a ladder, and rejected, too",
        "document more of the source: it is neither a ladder nor in rejected.jsonl",
    ]  # fmt: skip
    enough = validate(forged(finished["ladders"], tmp_path / "some", lambda folder: None))
    # three of four documents are enough
    assert [one for one in enough.findings if one.rule != "origin"] == []


# --- nothing is said of what is right -----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_shards_are_compared_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    import retgen.engines.engine

    changes = {
        "params.docs": 300,
        "params.queries": 60,
        "output.shards": 3,
        "output.format": suffix,
    }
    path = run("limit_dense", out=tmp_path / "run", overrides=changes).path
    shard = f"dataset/corpus-00001-of-00003.{suffix}"
    rows = parquet if suffix == "parquet" else jsonl
    other = forged(path, tmp_path / "forged", rows(shard, moved(0, 5)))
    alone = validate(other, workers=1).findings
    # reason: starting processes pays from seconds of work on; the threshold is no behaviour
    monkeypatch.setattr(retgen.engines.engine, "START", 0.0)
    assert validate(path, workers=2).findings == []
    assert validate(other, workers=2).findings == alone
    assert [
        (one.rule, one.message.partition(":")[0]) for one in alone if one.severity == "error"
    ] == [("regenerated", f"{shard} is not what the recipe makes")]


def test_ladders_of_documents_of_ones_own(tmp_path: Path) -> None:
    """A file is copied into the run, so it is read again; a folder may have changed since."""
    rows = [*stories(3), {"id": "short", "text": "Too short."}]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine").mkdir()
    for row in rows:
        (tmp_path / "mine" / f"{row.get('title', 'short')}.txt").write_text(row["text"])
    for source in ("mine.jsonl", "mine"):
        recipe = tmp_path / "mine.yaml"
        recipe.write_text(
            "name: mine\nfamily: multiconir\n"
            f"params: {{domain: legal, source: {{path: {source}}}}}\n"
        )
        path = run(recipe, out=tmp_path / f"run {len(source)}").path
        assert findings(validate(path)) == []
        assert (path / "rejected.jsonl").read_bytes().count(b"\n") == 1
        copy = forged(path, tmp_path / f"forged {len(source)}", file("rejected.jsonl", ""))
        messages = [message for _, message in findings(validate(copy))]
        if source == "mine":
            assert messages[0] == "manifest.json: counts.rejected is 1, must be 0"
        else:
            start = (
                "rejected.jsonl is not what the recipe makes (0 rows, must be 1): row 1 is missing"
            )
            assert messages[0] == start


# --- a run that a model judged ------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ladders written and judged through the protocol of a model's server."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "ships.jsonl").write_text("".join(json.dumps(d) + "\n" for d in stories(2)))
    (folder / "ships.yaml").write_text(
        "name: ships\nfamily: multiconir\nparams: {domain: legal, source: {path: ships.jsonl}}\n"
    )
    with serving(ladder_mind) as server:
        model = ("--model", "openai:gpt-5-mini", "--max-usd", "5")
        done = in_process(
            "run", "ships.yaml", *model, "--out", "run", cwd=folder, env=environment(server)
        )
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_a_judged_run_is_silent(judged: Path) -> None:
    validation = validate(judged)
    assert findings(validation) == []
    assert (validation.proven, validation.judged) == (0, 800)


JUDGED: list[tuple[Change, str]] = [
    (stating("evidence", {"structural": 800, "judged": 0, "human": 0}),
     "evidence.structural is 800, must be 0; evidence.judged is 0, must be 800"),
    (stating("judges.verify_conditions.accuracy", 1.0),
     "judges.verify_conditions.accuracy is 1.0, must be 0.3625"),
    (stating("judged", "everything"), 'judged is "everything", must be "that a sentence meets'),
    (stating("models.verify_conditions.model", "openai:gpt-5"),
     'models.verify_conditions.model is "openai:gpt-5", must be "openai:gpt-5-mini"'),
    (manifest(lambda m: m["prompts"].update({"multiconir/verify_conditions": "00"})),
     'prompts.multiconir/verify_conditions is "00", must be "'),
    (manifest(lambda m: m["licences"].update({"queries and rewrites": "CC0"})),
     'licences.queries and rewrites is "CC0", must be "as the terms of the model'),
    (stating("calls", -1), "calls is -1"),
    (stating("usd", -0.5), "usd is -0.5"),
]  # fmt: skip


def test_altered_figures_of_a_judge_are_named(judged: Path, tmp_path: Path) -> None:
    copy = forged(judged, tmp_path, both(*(change for change, _ in JUDGED)))
    messages = [one.message for one in validate(copy).findings if one.rule == "manifest"]
    for _, message in JUDGED:
        assert [one for one in messages if one.startswith(f"manifest.json: {message}")], message
    assert len(messages) == len(JUDGED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (text(CARD, "wrong in 153 of 240", "wrong in 3 of 240"), f"{CARD}: line "),
        (jsonl("tables/verdicts.jsonl", lambda rows: rows[0].update(model="openai:gpt-5")),
         "tables/verdicts.jsonl is not what the recipe makes: row 1 model is "
         '"openai:gpt-5", must be "openai:gpt-5-mini"'),
        (gone("sources/calibration.json"),
         "sources/calibration.json cannot be read: No such file or directory; without it "),
    ],
    ids=["card", "verdict", "calibration"],
)  # fmt: skip
def test_what_a_judge_said_cannot_be_altered(
    judged: Path, change: Change, message: str, tmp_path: Path
) -> None:
    found = [one.message for one in validate(forged(judged, tmp_path, change)).findings]
    assert [one for one in found if one.startswith(message)], found
