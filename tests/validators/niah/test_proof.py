"""The proof of haystacks: a sound set passes, and each thing that is broken in it is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import run
from retgen.data import open_dataset
from retgen.generators.niah.groups import read_groups
from retgen.generators.niah.params import NiahParams
from retgen.on_disk import pack, unpacked_on_disk
from retgen.recipe import load_recipe
from retgen.validation.scan import load_judgements
from retgen.validators.niah import proof_rules
from retgen.validators.rule import Batch, Finding
from tests.conftest import read_jsonl

Row = dict[str, Any]
SETTINGS = {
    "params.lengths": [128, 200],
    "params.places": 3,
    "params.orders": ["default", "inverted"],
    "params.controls": ["nothing", "neutral"],
    "params.fillers": 2,
    "params.tokenizer": "words",
    "params.training": True,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two bundled groups, about Krakow and about the blind."""
    folder = tmp_path_factory.mktemp("sound")
    groups = [group.model_dump() for group in read_groups(NiahParams())[:2]]
    (folder / "table.yaml").write_text(json.dumps(groups))
    table = {"params.table": str(folder / "table.yaml")}
    return run("niah", overrides=SETTINGS | table, out=folder / "run").path


class Set:
    """The tables of the run, to be spoilt."""

    def __init__(self, sound: Path, folder: Path) -> None:
        self.path = shutil.copytree(sound, folder / "run")
        self.groups = read_jsonl(self.path / "sources" / "groups.jsonl")
        data = self.path / "dataset"
        self.files = {one.name: read_jsonl(one) for one in data.glob("*.jsonl")}
        self.corpus, self.queries = self.files["corpus.jsonl"], self.files["queries.jsonl"]
        self.beside = {
            name: read_jsonl(self.path / "tables" / f"{name}.jsonl") for name in ("pairs", "chat")
        }
        triplets = self.path / "training" / "needles.parquet"
        self.beside["needles"] = pq.read_table(triplets).to_pylist()
        job = load_recipe(self.path).at(self.path).job
        self.settings = job.params.model_dump(mode="json")
        self.held = self.one(needle="one_hop", order="default", place=1)
        self.none = self.one(needle="none")
        self.group = self.groups[0]

    def one(self, **wanted: Any) -> Row:
        """A row of the first group, of the first length and filler unless others are wanted."""
        wanted = {"group": self.groups[0]["group"], "length": 128, "number": 0} | wanted
        return next(
            row
            for row in self.corpus
            if all(row["metadata"][key] == value for key, value in wanted.items())
        )

    def needle(self, key: str = "one_hop") -> str:
        return str(self.group[key].replace("{name}", self.group["name"]))

    def put(self, row: Row, text: str) -> None:
        """Put something behind a text, or before the last stop of one."""
        row["text"] = f"{row['text'][:-1]} {text}."

    def write(self) -> None:
        def lines(path: Path, rows: list[Row]) -> None:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        lines(self.path / "sources" / "groups.jsonl", self.groups)
        for name, rows in self.files.items():
            lines(self.path / "dataset" / name, rows)
        for name in ("pairs", "chat"):
            lines(self.path / "tables" / f"{name}.jsonl", self.beside[name])
        table = pa.Table.from_pylist(self.beside["needles"])
        pq.write_table(table, self.path / "training" / "needles.parquet")

    def findings(self, parts: int = 1, beside: bool = False) -> list[Finding]:
        """What the proof finds, reading the corpus in so many parts."""
        self.write()
        dataset = open_dataset(self.path / "dataset")
        groups = self.path / "sources" / "groups.jsonl"
        rule, tables = proof_rules(groups, self.settings, load_judgements(dataset, None, None))
        states = []
        size = max(1, -(-len(self.corpus) // parts))
        for first in range(0, max(1, len(self.corpus)), size):
            batch = Batch(first)
            for row in self.corpus[first : first + size]:
                batch.ids.append(row["_id"])
                batch.titles.append(row["title"])
                batch.texts.append(row["text"])
                batch.metadata.append(row["metadata"])
            rule.start()
            rule.scan(batch)
            states.append(unpacked_on_disk(pack(rule.state)))  # as from a process
        rule.state, *later = states
        for number, state in enumerate(later, start=1):
            rule.state.merge(state, number * size)
        if beside:
            tables.read_qrels(replace(dataset, run=self.path), "test")
        return [*rule.findings(), *tables.findings()]

    def messages(self, beside: bool = False) -> list[str]:
        """What is found, the record's id and the needle taken out."""
        result = []
        for finding in self.findings(beside=beside):
            message = finding.message.replace(self.held["_id"], "HELD")
            message = message.replace(self.none["_id"], "NONE")
            result.append(message.replace(repr(self.needle()), "NEEDLE"))
        return result


@pytest.fixture
def made(sound: Path, tmp_path: Path) -> Set:
    return Set(sound, tmp_path)


@pytest.mark.parametrize("parts", [1, 5])
def test_a_sound_set(made: Set, parts: int) -> None:
    assert len(made.corpus) == 2 * 2 * 2 * (2 * 3 + 1 + 3)
    assert made.findings(parts, beside=True) == []


def test_a_set_of_no_documents_lacks_everything(made: Set) -> None:
    made.corpus.clear()
    found = made.messages()
    assert found[0].endswith(
        ": lacks the one-hop needle default at place 0 (128 tokens, shuffled filler 0)"
    )
    assert sum(": lacks the " in message for message in found) == len(found) == 80


# --- one thing broken ---------------------------------------------------------------------------


def moved(made: Set) -> None:
    """The needle to the end."""
    row, needle = made.held, made.needle()
    row["text"] = f"{row['text'].replace(needle, '').replace('  ', ' ')} {needle}"
    row["metadata"]["span"] = [len(row["text"]) - len(needle), len(row["text"])]


def within(made: Set) -> None:
    row = made.held
    start = row["metadata"]["span"][0]
    row["text"] = f"{row['text'][: start - 2]}, {row['text'][start:]}"


def another_filler(made: Set) -> None:
    other = made.one(needle="none", group=made.groups[1]["group"])
    made.none["text"] = other["text"]


def exchanged(made: Set) -> None:
    other = made.one(needle="one_hop", order="default", place=2)
    made.held["metadata"]["place"], other["metadata"]["place"] = 2, 1


def noted(**notes: Any) -> Callable[[Set], None]:
    return lambda made: made.held["metadata"].update(notes)


def held_beside(text: Callable[[Set], str]) -> Callable[[Set], None]:
    return lambda made: made.put(made.held, text(made))


def neutral(text: Callable[[Set], str]) -> Callable[[Set], None]:
    """Another sentence in place of a neutral one."""

    def change(made: Set) -> None:
        row = made.one(needle="neutral", place=1)
        start, stop = row["metadata"]["span"]
        row["text"] = row["text"][:start] + text(made) + row["text"][stop:]
        row["metadata"]["span"] = [start, start + len(text(made))]

    return change


def negative(text: str) -> Callable[[Set], None]:
    return lambda made: made.beside["needles"][0].update(negative_1=text)


def appended(name: str) -> Callable[[Set], None]:
    def change(made: Set) -> None:
        doc_id = {"control": made.none, "longer": made.one(needle="one_hop", length=200)}[name]
        made.files["qrels.test_128.jsonl"].append(
            {"query-id": made.queries[0]["_id"], "corpus-id": doc_id["_id"], "score": 1}
        )

    return change


# what is changed, and what is said of it among other things
CASES: dict[str, tuple[Callable[[Set], Any], str]] = {
    "a token more": (lambda m: m.put(m.none, "and"), "NONE: it has 129 tokens, not 128"),
    "a span that is not the needle's": (
        lambda m: m.held["metadata"].update(span=[at + 1 for at in m.held["metadata"]["span"]]),
        "HELD: its span holds ",
    ),
    "a needle at another place": (moved, "HELD: its needle stands at depth 1.0000, not "),
    "a needle within a sentence": (
        within,
        "HELD: its needle does not follow the end of a sentence, but ",
    ),
    "places in another order": (exchanged, "HELD: its needle has place 2 and "),
    "a word of the question": (
        held_beside(lambda m: "Krakow"),
        "HELD: 'krakow' stands in it, and is a word of its question or related to one",
    ),
    "a word of the question in disguise": (
        held_beside(lambda m: "Kr\u00e1\u00adkow_town"),
        "HELD: 'krakow' stands in it, and is a word of its question or related to one",
    ),
    "the name twice": (held_beside(lambda m: m.group["name"].lower()), "HELD: it names "),
    "a control with the needle": (
        lambda m: m.none.update(text=m.held["text"]),
        "NONE: it holds NEEDLE beside its needle",
    ),
    "the needle of another group": (
        held_beside(lambda m: m.groups[1]["one_hop"].replace("{name}", "Zed")),
        "HELD: it holds ",
    ),
    "a needle in a neutral sentence": (
        neutral(lambda m: m.needle()),
        "its neutral sentence is NEEDLE",
    ),
    "the name in a neutral sentence": (
        neutral(lambda m: f"{m.group['name'].upper()} slept."),
        "its neutral sentence names ",
    ),
    "another filler": (another_filler, "its filler is not that of "),
    "a row that is missing": (
        lambda m: m.corpus.remove(m.held),
        "lacks the one-hop needle default at place 1 (128 tokens, shuffled filler 0)",
    ),
    "a row that nobody asked for": (
        noted(number=7),
        "HELD: the settings ask for no such: the one-hop needle default at place 1 (128 tokens, "
        "shuffled filler 7)",
    ),
    "another name": (noted(name="Zed"), "HELD: its character is 'Zed', that of its group "),
    "a needle of the table with a word of its question": (
        lambda m: m.group.update(one_hop="Once {name} saw Krakow."),
        "landmark-01: NEEDLE shares 'krakow' with its question",
    ),
    "a literal needle that is none": (
        lambda m: m.group.update(literal="Once {name} sang."),
        " has no word of its question",
    ),
    "one name for two": (
        lambda m: m.groups[1].update(name=m.group["name"].lower()),
        ": have one character's name",
    ),
    "another question": (
        lambda m: m.queries[0].update(text="Who has been to Norway?"),
        ": is not the question of its group ",
    ),
    "a query that is missing": (lambda m: m.queries.pop(), ": has no query"),
    "a qrel that is missing": (
        lambda m: m.files["qrels.test_128.jsonl"].pop(),
        "1 of its 12 haystacks are no qrels of split test_128, ",
    ),
    "a control as a qrel": (appended("control"), " is a qrel of split test_128, and is "),
    "a qrel of another length": (appended("longer"), " is a qrel of split test_128, and "),
    "another control of a pair": (
        lambda m: m.beside["pairs"][0].update(control="d1"),
        "tables/pairs.jsonl, row 1: d1 is no control of ",
    ),
    "another answer": (
        lambda m: m.beside["chat"][0].update(expected="Zed"),
        "tables/chat.jsonl, row 1: 'Zed' is not the answer of ",
    ),
    "another anchor": (
        lambda m: m.beside["needles"][0].update(anchor="Who?"),
        "training/needles.parquet, row 1: the anchor is not the question of ",
    ),
    "a first negative without a near-answer": (
        negative("It."),
        "training/needles.parquet, row 1: it holds 0 near-answers of its group, not 1, in the first ",
    ),
    "another second negative": (
        lambda m: m.beside["needles"][0].update(negative_2="It."),
        "training/needles.parquet, row 1: the second negative is no control of ",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_broken_is_named(made: Set, case: str) -> None:
    change, expected = CASES[case]
    change(made)
    found = made.messages(beside=True)
    assert any(expected in message for message in found), found


def test_words_of_another_question_are_no_fault(made: Set) -> None:
    for row in made.corpus:
        if row["metadata"]["group"] != made.group["group"]:
            row["text"] = row["text"].replace(" the ", " Krakow ", 1)
    assert not any("stands in it" in message for message in made.messages())


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_tokenizer_that_is_none(made: Set, content: str | None) -> None:
    file = made.path / "tokenizer.json"
    if content:
        file.write_text(content)
    made.settings["tokenizer"] = str(file)
    (finding,) = made.findings()
    assert (finding.severity, finding.ids) == ("warning", [])
    why = "cannot be loaded (" if content else "is not there)"
    assert finding.message.startswith(
        f"the lengths are not proven: no tokenizer {str(file)!r} to count with ({file} {why}"
    )
