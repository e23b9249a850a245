"""Questions that need two documents: written, judged three times, kept or rejected, proven."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from retgen.generators.capretrieval.two_documents import calibration_sheets
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.generators.capretrieval.mind import mind as write
from tests.generators.capretrieval.texts import TEXTS as TEXTS_APART
from tests.generators.capretrieval.texts import write_recipe, write_rows
from tests.with_agents.conftest import Gen

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
# with a word in common, or no two would be related
TEXTS = [f"{text} The handbook says more." for text in TEXTS_APART]
PARAMS = (
    "  queries: {two_documents: WANTED}\n  splits: {test: 0.4, dev: 0.05}\n  mine: {negatives: 0}\n"
)
JUDGED = "write_two_documents", "judge_two_documents"


def mind(body: dict[str, Any]) -> str:
    """Asks for a word of each passage, which the judge looks for; cases with one of them are kept.

    Of a passage with owls the first quote is none; of two with glass and trams nothing is asked;
    what has to do with chess asks for one passage alone, honey for what stands in neither.
    """
    name = body["response_format"]["json_schema"]["name"]
    messages = body["messages"]
    prompt = next(m["content"] for m in messages if m["role"] == "user")
    if name == "Answerable":
        asked = re.search(r"<question>\n(.*)\n</question>", prompt)
        assert asked is not None
        shown = "\n".join(re.findall(r'<passage number="\d+">\n(.*)', prompt))
        words = re.findall(r"<(\w+)>", asked[1])
        fits = all(word in shown for word in words) if words else prompt.count("<passage ") == 2
        return json.dumps({"answer": "as it stands", "answerable": fits})
    if name != "TwoDocumentQuestion":
        return write(body)
    first = prompt.partition("First passage:\n")[2].partition("\n\nSecond title:")[0]
    second = prompt.partition("Second passage:\n")[2]
    quotes = [one.partition(". ")[0] + "." for one in (first, second)]
    if "Barn owls" in prompt and len(messages) == 2:
        quotes[0] = "Nobody said so."
    one, other = (re.findall(r"[A-Za-z]{5,}", quote)[0] for quote in quotes)
    if "chess" in first:
        other = one
    if "Beekeepers" in prompt:
        other = "elephants"
    question = f"What do <{one}> and <{other}> have to do with each other?"
    if "Copper" in first:
        question, quotes = "", ["", ""]
    return json.dumps({"question": question, "first_quote": quotes[0], "second_quote": quotes[1]})


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


@pytest.fixture
def run(ask: Gen, tmp_path: Path) -> Callable[[int], Path]:
    def make(wanted: int) -> Path:
        source = write_rows(tmp_path / "kb.jsonl", TEXTS, name="gt")
        write_recipe(tmp_path / "kb.yaml", source, PARAMS.replace("WANTED", str(wanted)))
        done = ask("run", "kb.yaml", *MODEL, "--out", "kb")
        assert done.returncode == 0, done.stderr
        (tmp_path / "stdout").write_text(done.stdout)
        return tmp_path / "kb"

    return make


@pytest.mark.slow
def test_kept_is_what_both_answer_and_neither_alone_by_a_judge_that_is_measured(
    run: Callable[[int], Path], ask: Gen, server: Server, tmp_path: Path
) -> None:
    path = run(20)
    queries = [
        row
        for row in read_jsonl(path / "dataset" / "queries.jsonl")
        if row["metadata"]["kind"] == "two_documents"
    ]
    judged = json.loads((path / "sources" / "two_documents.json").read_text())
    assert (judged["wanted"], judged["pairs"], judged["kept"]) == (20, 5, 2)
    qrels: dict[str, set[str]] = {}
    for name in ("qrels", "qrels.train", "qrels.dev"):
        file = path / "dataset" / f"{name}.jsonl"
        for row in read_jsonl(file) if file.is_file() else ():
            qrels.setdefault(row["query-id"], set()).add(row["corpus-id"])
    for row in queries:
        note = row["metadata"]
        assert note["set"] == "two_documents"
        assert qrels[row["_id"]] == {note["source"], note["other_source"]}
        for source, span in (
            (note["source"], note["span"]),
            (note["other_source"], note["other_span"]),
        ):
            text = TEXTS[int(source[2:])]
            assert text[slice(*span)] == text.partition(". ")[0] + "."  # the quote
    assert sorted(
        (row["metadata"]["source"], row["metadata"]["other_source"]) for row in queries
    ) == [("gt3", "gt7"), ("gt6", "gt1")]
    rejected = [
        row for row in read_jsonl(path / "rejected.jsonl") if "two_documents" in row["rule"]
    ]
    assert sorted((row["rule"], row["reason"]) for row in rejected) == [
        ("two_documents/judge", "answerable from the first passage alone"),
        ("two_documents/judge", "not answerable from both passages"),
        ("two_documents/unrelated", "the writer found no question that needs both"),
    ]
    turns = [row["record"]["history"] for row in rejected if row["rule"] == "two_documents/judge"]
    assert all("What do <" in turn["answer"] for (turn,) in turns)
    # five pairs, one of them asked twice; three readings of what is kept, fewer of what fails first
    count = Counter(one["response_format"]["json_schema"]["name"] for one in server.requests)
    assert count["TwoDocumentQuestion"] == 5 + 1
    assert count["Answerable"] == 3 + 3 + 2 + 1 + len(calibration_sheets())
    assert ask("validate", str(path)).returncode == 0
    # it calls two passages enough and one not: 9 of 11 need or have both, 2 are answered by one
    known = judged["calibration"]
    assert (known["cases"], known["accuracy"], known["interval"]) == (33, 0.8788, [0.7267, 0.9518])
    assert known["kinds"] == {"both": 0.8182, "first": 0.9091, "second": 0.9091}
    line = (
        "accuracy 87.9% on 33 calibration cases (95% interval 72.7% to 95.2%; precision and "
        "recall: answerable 82% and 82%, not answerable 91% and 91%)"
    )
    assert line in (tmp_path / "stdout").read_text()
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["judges"]["judge_two_documents"]["measured"] == line
    assert line in (path / "report.html").read_text()
    rows = pq.read_table(path / "training" / "two_documents.parquet").to_pylist()
    assert len(rows) == 2
    shown: dict[str, dict[str, str]] = {}
    for row in rows:
        shown.setdefault(row["query-id"], {})[row["positive-id"]] = row["positive"]
    for texts in shown.values():
        assert {*texts} == {"gt3", "gt7"}
        for name, text in texts.items():  # less the sentence that the question rests on
            assert text == TEXTS[int(name[2:])].partition(". ")[2]
    done = ask("eval", str(path), "--model", "bm25", "--by", "set")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"other_source": None}, "rests on no characters of None"),
        ({"other_span": [0, 10_000]}, "rests on no characters of {other}"),
        ({"other_source": "{own}"}, "rests on one document, not on two"),
        ({}, "rests on {other}, which is not relevant"),
    ],
)
def test_what_does_not_rest_on_two_documents_is_found(
    run: Callable[[int], Path], ask: Gen, change: dict[str, Any], message: str
) -> None:
    """The note of a question is changed; without a change its qrels are taken away."""
    path = run(3)
    file = path / "dataset" / "queries.jsonl"
    rows = read_jsonl(file)
    query = next(row for row in rows if row["metadata"]["kind"] == "two_documents")
    own, other = query["metadata"]["source"], query["metadata"]["other_source"]
    query["metadata"] |= {k: own if v == "{own}" else v for k, v in change.items()}
    pair = (query["_id"], other)
    for table in path.glob("dataset/qrels*.jsonl") if not change else ():
        left = [r for r in read_jsonl(table) if (r["query-id"], r["corpus-id"]) != pair]
        table.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in left))
    file.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    done = ask("validate", str(path), "--json")
    assert done.returncode == 1
    assert f"{query['_id']}: {message.format(other=other)}" in done.stdout


def test_the_plan_counts_its_calls_and_rules_cannot_do_it(ask: Gen, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "kb.jsonl", TEXTS, name="gt")
    write_recipe(tmp_path / "kb.yaml", source, PARAMS.replace("WANTED", "3"))
    done = ask("plan", "kb.yaml", *MODEL[:2], "--json")
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)["calls"]
    assert {*JUDGED, "calibrate_two_documents"} <= calls.keys()
    done = ask("plan", "kb.yaml")
    assert done.returncode == 2
    assert (
        "params.queries.two_documents: judge_two_documents and write_two_documents are a "
        "model's work, which no rule can do: name one, as in --model openai:gpt-5-mini, or leave "
        "two_documents out"
    ) in " ".join(done.stderr.split())
