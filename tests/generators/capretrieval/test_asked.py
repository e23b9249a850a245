"""Questions that people asked: read, refused, judged by people or a model, scored by pages."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.errors import RecipeError
from retgen.generators.capretrieval.asked import GivenQuery, read_questions
from tests.agents.server import Server, error, serving
from tests.command import Done, in_process
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS
from tests.review.judge_mind import mind
from tests.with_agents.conftest import Gen, gen_at

ASKED = "# hint\nold windmill\n\nTram depot brakes\ntram  depot BRAKES\nchess for beginners\n"
NAMES = ("mill", "light", "copper", "owls", "tram", "bees", "glass", "chess")


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder of eight pages and a file of three questions."""
    (tmp_path / "kb").mkdir()
    for name, text in zip(NAMES, TEXTS, strict=True):
        (tmp_path / "kb" / f"{name}.md").write_text(f"{text}\n", "utf-8")
    (tmp_path / "asked.txt").write_text(ASKED, "utf-8")
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


@pytest.fixture
def ask(kb: Path, server: Server) -> Gen:
    return gen_at(server, kb)


def new(folder: Path, name: str, *options: str) -> Done:
    """`gen new` for questions in a file of the folder, with passages of 16 words."""
    given = ("--source", "kb", "--queries", name, "--out", "q.yaml", *options)
    done = in_process("new", "capretrieval", *given, cwd=folder)
    recipe = folder / "q.yaml"
    if recipe.exists():
        size = "  passages: {tokens: 16, overlap: 0}\n  asked:"
        recipe.write_text(recipe.read_text().replace("  asked:", size))
    return done


def qrels(run: Path) -> dict[tuple[str, str], int]:
    return {(r["query-id"], r["corpus-id"]): r["score"] for r in read_jsonl(run)}


# --- files ----------------------------------------------------------------------------------------


def test_a_line_a_question_and_tables(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"\ufeff{ASKED}", "utf-8")
    queries, refused = read_questions(tmp_path / "q.txt")
    assert [(q.id, q.text, q.where) for q in queries] == [
        ("q1", "old windmill", "q.txt, line 2"),
        ("q2", "Tram depot brakes", "q.txt, line 4"),
        ("q3", "chess for beginners", "q.txt, line 6"),
    ]
    assert [(one.where, one.rule, one.reason) for one in refused] == [
        ("q.txt, line 5", "questions/twice", "asks what q.txt, line 4 asks")
    ]
    (tmp_path / "q.csv").write_text('question,document\n"what, now?",a\nwho,b\nwho,c.md\n,x\n')
    queries, refused = read_questions(tmp_path / "q.csv")
    assert [(q.text, q.answers) for q in queries] == [
        ("what, now?", ("a",)),
        ("who", ("b", "c.md")),
    ]
    assert [(one.where, one.reason) for one in refused] == [("q.csv, line 5", "holds no question")]
    (tmp_path / "q.tsv").write_text("text\tid\nwho\t7\nwhat\t7\n")
    queries, refused = read_questions(tmp_path / "q.tsv")
    assert queries == [GivenQuery("7", "who", where="q.tsv, line 2")]
    assert refused[0].reason == "has the id '7', as q.tsv, line 2 has"
    (tmp_path / "q.jsonl").write_text('{"_id": "a", "query": "who"}\n\n[]\n')
    queries, refused = read_questions(tmp_path / "q.jsonl")
    assert queries == [GivenQuery("a", "who", where="q.jsonl, line 1")]
    assert (refused[0].where, refused[0].reason) == ("q.jsonl, line 3", "is not a JSON object")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "Question,Document\nwho,b\n"),
        ("q.csv", "ID;QUESTION;Document\n7;who;b\n"),
        ("q.tsv", " Query \tDocument\nwho\tb\n"),
        ("q.jsonl", '{"Question": "who", "Document": "b"}\n'),
    ],
)
def test_columns_in_capitals_and_cells_between_semicolons(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    queries, refused = read_questions(tmp_path / name)
    assert [(q.text, q.answers) for q in queries] == [("who", ("b",))]
    assert refused == []


def test_no_question_is_cut_or_loses_its_id(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question\nhow do I print, copy, and scan\nwhere\n")
    queries, refused = read_questions(tmp_path / "q.csv")
    assert [q.text for q in queries] == ["where"]
    assert [(one.where, one.reason) for one in refused] == [
        ("q.csv, line 2", "has more cells than the header: put a text with commas in quotes")
    ]
    (tmp_path / "q.csv").write_text("id,question\nq2,first\n,second\n")
    assert [(q.id, q.text) for q in read_questions(tmp_path / "q.csv")[0]] == [
        ("q2", "first"),
        ("q3", "second"),
    ]
    (tmp_path / "q.jsonl").write_text('{"question": "a\u2028b line"}\n', "utf-8")
    assert [q.text for q in read_questions(tmp_path / "q.jsonl")[0]] == ["a b line"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("q.txt", b"# only a hint\n", "holds no question: write about forty, one a line."),
        ("q.csv", b"", "holds no question: write about forty, one a line."),
        ("q.txt", "a\nW\u00e4rme".encode("latin-1"), "line 2: is not UTF-8: convert the file"),
        ("q.txt", "a".encode("utf-16"), "line 1: is not UTF-8: convert the file"),
        ("q.csv", b'question\n"who\nwhat\n', "unexpected end of data: is a quote left open?"),
        (
            "q.csv",
            b"frage,seite\nwas,a\n",
            "has no column of questions: call it question, and the one with ids of documents that "
            "answer document. Its columns: frage, seite",
        ),
    ],
)
def test_a_file_without_questions(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RecipeError) as error:
        read_questions(tmp_path / name)
    assert str(error.value).startswith(f"params.asked.queries: {tmp_path / name}")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.txt", "--queries: there is no none.txt. Write about forty questions into it, one a"),
        (
            "kb",
            "/kb is a folder: give a file of questions, as in asked.txt (a question a line), or",
        ),
        (
            "wrong.csv",
            "ids of documents that the source does not have (its ids are such as 'bees', 'chess', "
            "'copper'):\nwrong.csv, line 2: there is no document 'owl'; did you mean owls?",
        ),
        ("a.pdf", "a.pdf: give a file of questions, as in a.txt (a question a line), or .csv,"),
    ],
)
def test_what_gen_new_refuses(kb: Path, name: str, message: str) -> None:
    (kb / "wrong.csv").write_text("question,document\nmice,owl\nold,mill.md\n")
    (kb / "a.pdf").write_bytes(b"%PDF")
    done = new(kb, name)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (kb / "q.yaml").exists()


def test_without_questions_there_is_a_sheet_and_advice(kb: Path) -> None:
    (kb / "asked.txt").unlink()
    done = in_process("new", "capretrieval", "--source", "kb", "--out", "kb.yaml", cwd=kb)
    assert done.stdout.splitlines()[-4:-1] == [
        "no questions of people: the test set will hold lookup queries (titles, headings, names), "
        "which favour word match",
        "  write about forty questions into asked.txt before you look at anything generated, then:",
        "  gen new capretrieval --source kb --queries asked.txt --out asked.yaml",
    ]
    sheet = (kb / "asked.txt").read_text()
    assert all(line.startswith("#") for line in sheet.splitlines())
    assert "holds no question" in new(kb, "asked.txt").stderr
    (kb / "asked.txt").write_text("mine\n")  # never written over
    in_process("new", "capretrieval", "--source", "kb", "--out", "kb2.yaml", cwd=kb)
    assert (kb / "asked.txt").read_text() == "mine\n"


def test_the_plan_names_what_is_left_out_or_foreign(kb: Path) -> None:
    with open(kb / "asked.txt", "a", encoding="utf-8") as file:
        file.write("哪里有西瓜\n")
    lines = new(kb, "asked.txt").stdout.splitlines()
    assert lines[-6:-2] == [
        "questions: 4",
        "note: people judge which documents answer: `gen review` after the run",
        "note: 1 of 4 questions are in a script that no document is written in; the first: "
        "asked.txt, line 7, '哪里有西瓜' (Han). Only retrievers that know both languages can answer "
        "them: leave them out if these are not meant to be found",
        "note: questions left out: Refused are 1 by questions/twice, the first at asked.txt, line "
        "5: asks what asked.txt, line 4 asks.",
    ]


# --- judged ---------------------------------------------------------------------------------------


def filled(sheet: Path, grade: Callable[[dict[str, str]], int | None]) -> None:
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        given = grade(row)
        row["verdict"] = "" if given is None else str(given)
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def people(row: dict[str, str]) -> int | None:
    """Everything of two questions: a page is relevant that holds the question's last word."""
    if "chess" in row["query"]:
        return None
    return 2 * (row["query"].split()[-1].casefold() in row["text"].casefold())


def test_people_and_a_model_judge_the_candidates(kb: Path, ask: Gen, server: Server) -> None:
    assert new(kb, "asked.txt").returncode == 0
    done = ask("run", "q.yaml")
    assert "questions   3; `gen review` judges them" in done.stdout
    assert qrels(kb / "outputs/q/dataset/qrels.jsonl") == {}
    done = ask("eval", "outputs/q")
    assert done.stderr.endswith(
        "there are no qrels (test); people judge its questions with `gen review outputs/q`\n"
    )
    judge = ("review", "outputs/q", "--model", "openai:gpt-5-mini", "--pool", "bm25")
    judge = (*judge, "--max-usd", "3")
    done = ask(*judge)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"gen: openai:gpt-5-mini judges \d pairs in 3 requests, which cost \$0\.0\d\d\d at most at the "
        r"list prices of genai-prices [\d.]+; repairs of answers cost more\n",
        done.stderr,
    )
    # the first answer about chess lacks a grade; of each page the best passage is a candidate
    assert len(server.requests) == 4
    assert done.stdout.startswith(
        "openai:gpt-5-mini: agreement with people is not known, as nobody judged a pair that it "
        "judged.\n"
    )
    assert ask("review", "outputs/q", "--export", "csv", "--to", "judge.csv").returncode == 0
    filled(kb / "judge.csv", people)
    assert "kept 3 verdicts" in ask("review", "outputs/q", "--import", "judge.csv").stdout
    report = json.loads(ask("review", "outputs/q", "--report", "--json").stdout)
    assert report["questions"] == {"questions": 3, "judged": 3, "answered": 3}
    model = report["models"]["openai:gpt-5-mini"]
    assert model["measured"] == (
        "accuracy 66.7% on 3 pairs that people judged (95% interval 20.8% to 93.8%; precision and "
        "recall: 0 - and 0%, 2 67% and 100%)"
    )
    done = ask("run", "q.yaml", "--apply-review")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((kb / "outputs/q_v2/manifest.json").read_text())
    assert manifest["evidence"] == {"structural": 0, "judged": 1, "human": 3}
    assert manifest["judges"]["judge_relevance 1"]["by"] == "openai:gpt-5-mini"
    reviewed = (kb / "outputs/q_v2/dataset/README.md").read_text()
    assert "**REVIEWED**: of 4 qrels 1 judged, 3 given by people" in reviewed
    card = (kb / "outputs/q/dataset/README.md").read_text()
    assert "**NOT JUDGED**: nobody has judged a pair yet (gen review)" in card
    assert ask("validate", "outputs/q_v2").returncode == 0
    again = len(server.requests)
    assert "requests" not in ask(*judge).stderr
    assert len(server.requests) == again
    unlisted = "openai:nobody-lists-this"
    said = ask("review", "outputs/q", "--model", unlisted).stderr
    assert f"in 3 requests; its price is not known: add --price {unlisted}=IN,OUT\n" in said


def test_verdicts_stay_when_a_question_is_added(kb: Path) -> None:
    """Its number moves the ids of the others: a pair is known by question and document."""
    assert new(kb, "asked.txt").returncode == 0
    assert in_process("run", "q.yaml", cwd=kb).returncode == 0
    review = ("review", "outputs/q", "--pool", "bm25")
    assert in_process(*review, "--export", "csv", "--to", "judge.csv", cwd=kb).returncode == 0
    filled(kb / "judge.csv", people)
    imported = ("review", "outputs/q", "--import", "judge.csv")
    assert "kept 3 verdicts" in in_process(*imported, cwd=kb).stdout
    (kb / "asked.txt").write_text(f"which owls hunt mice\n{ASKED}", "utf-8")
    assert in_process("run", "q.yaml", "--fresh", cwd=kb).returncode == 0
    assert "no verdict in it that is not kept already" in in_process(*imported, cwd=kb).stdout
    done = in_process("review", "outputs/q", "--report", "--json", cwd=kb)
    assert json.loads(done.stdout)["questions"] == {"questions": 4, "judged": 2, "answered": 2}
    assert in_process(*review, "--export", "csv", "--to", "more.csv", cwd=kb).returncode == 0
    with open(kb / "more.csv", encoding="utf-8-sig", newline="") as file:
        judged = {row["query"] for row in csv.DictReader(file) if row["verdict"]}
    assert judged == {"old windmill", "Tram depot brakes"}
    page = kb / "kb" / "mill.md"
    page.write_text(page.read_text("utf-8").replace("old", "ancient"), "utf-8")
    assert in_process("run", "q.yaml", "--fresh", cwd=kb).returncode == 0
    done = in_process(*review, "--export", "csv", "--to", "changed.csv", cwd=kb)
    assert "1 judged pairs count no longer; of the first the text was changed" in done.stderr
    assert in_process("run", "q.yaml", "--apply-review", cwd=kb).returncode == 0
    labels = qrels(kb / "outputs/q_v2/dataset/qrels.jsonl")
    assert {pair for pair, score in labels.items() if score} == {("q3", "tram#1")}
    # judged again as before, on the new text
    filled(kb / "changed.csv", people)
    again = in_process("review", "outputs/q", "--import", "changed.csv", cwd=kb)
    assert "kept 2 verdicts" in again.stdout  # that, and what was asked about owls


def test_what_a_model_refused_is_asked_again_when_told_to(
    kb: Path, ask: Gen, server: Server
) -> None:
    assert new(kb, "asked.txt").returncode == 0
    assert ask("run", "q.yaml").returncode == 0
    judge = ("review", "outputs/q", "--model", "openai:gpt-5-mini", "--pool", "bm25")
    server.fault = lambda worked: error(400, "no") if "chess" in str(worked.asked) else None
    assert "1 pages failed: outputs/q/rejected_judge.jsonl\n" in ask(*judge).stdout
    server.fault = lambda worked: None
    before = len(server.requests)
    done = ask(*judge)  # nothing is left but what was refused
    assert (done.returncode, "see rejected_judge.jsonl" in done.stderr) == (1, True)
    assert len(server.requests) == before
    assert "pages failed" not in ask(*judge, "--retry-refused").stdout
    assert len(server.requests) > before


def test_named_documents_are_labels_of_pages(kb: Path) -> None:
    (kb / "asked.csv").write_text(
        "question,document\nbread on sunday,mill.md\nbread on sunday,light\nold carriage,tram\n"
    )
    assert new(kb, "asked.csv").returncode == 0
    assert in_process("run", "q.yaml", "--out", "q", cwd=kb).returncode == 0
    labels = qrels(kb / "q/dataset/qrels.jsonl")
    assert {doc.partition("#")[0] for query, doc in labels if query == "q1"} == {"mill", "light"}
    assert set(labels.values()) == {2}
    manifest = json.loads((kb / "q/manifest.json").read_text())
    assert manifest["evidence"] == {"structural": 0, "judged": 0, "human": len(labels)}
    done = in_process("eval", "q", "--model", "bm25", "--metric", "nDCG@2", "--json", cwd=kb)
    result = json.loads(done.stdout)
    # q1: of two pages one, q2: its page, in whichever passage
    assert result["results"][0]["metrics"] == {"nDCG@2": pytest.approx((1 / 1.63093 + 1) / 2)}
    assert result["results"][0]["judged"] == {"Judged@2": 0.5}
    assert result["ceiling"]["nDCG@2"] == 1
    assert result["floors"]["random"]["nDCG@2"] == pytest.approx(0.22693, abs=1e-4)
    note = "labels are of 8 pages, each ranked by the best of its passages; a page has the highest"
    assert any(one.startswith(note) for one in result["notes"])
    assert in_process("validate", "q", cwd=kb).returncode == 0


def test_the_page_shows_a_question_with_all_its_candidates(kb: Path) -> None:
    from retgen.review import open_review
    from retgen.review.web.app import create_app
    from tests.review.web.conftest import Browser

    new(kb, "asked.txt")
    assert in_process("run", "q.yaml", "--out", "q", cwd=kb).returncode == 0
    review = open_review(kb / "q", pool=["bm25"])
    (first, second), *_ = [review.items_of(name) for name in ("q1", "q2", "q3")]
    browser: Any = Browser(create_app(review))
    page = browser.get("/judge/me").text
    assert "1 more candidates of this query" in page
    assert second.pair.text in page
    assert [f'data-key="{key}"' in page for key in "012xn"] == [True] * 5
    page = browser.submit(page, decision="none").text
    said = [(one.item_id, one.relevance) for one in review.standing()]
    assert said == [(first.item_id, 0), (second.item_id, 0)]
    assert "Data set:" not in page  # there is no label to compare with
    page = browser.submit(page, decision="2").text
    assert review.standing()[-1].relevance == 2
