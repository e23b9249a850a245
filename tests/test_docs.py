"""What the documentation says is so."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@pytest.mark.slow
def test_generated_parts_are_up_to_date() -> None:
    """Help texts, tables, the picture of the layers, and what the cells of docs/tour.ipynb print."""
    result = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")


def _anchors(page: Path) -> set[str]:
    """What a link may name after #: headings as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere() -> None:
    dead = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            there = page.parent / path if path else page
            if not there.exists() or (anchor and anchor not in _anchors(there)):
                dead.append((page.name, target))
    assert dead == []


def test_readme_leads_to_every_page() -> None:
    named = set(re.findall(r"\]\(docs/(\w+\.md)", (ROOT / "README.md").read_text("utf-8")))
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_commands_exist(page: Path) -> None:
    import typer

    from retgen.cli import app

    names = set(typer.main.get_command(app).commands) | {  # type: ignore[attr-defined]
        "--help",
        "--version",
        "--install-completion",
    }
    for name in re.findall(r"`gen (\S+?)[ `]", page.read_text("utf-8")):
        assert name.strip("`") in names, name


def test_architecture_names_every_folder_of_the_project() -> None:
    """Its modules and layers are generated, and checked with all that is."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    tracked = {
        path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").is_file()
    }
    for folder in {*tracked, "recipes", "benchmarks", "docs", "outputs"}:
        assert f"`{folder}/" in text, folder


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module([], [])
    kinds = ast.FunctionDef, ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_promise_names_tests_that_exist() -> None:
    """Promises are the items of these sections, and the table of exit codes."""
    text = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    sections = dict(re.findall(r"^## ([^\n]+)(.*?)(?=^## |\Z)", text, re.M | re.S))
    limits = {"Limits of the cap and the ledger", "Not guaranteed"}
    promised = ["The data", "Interruptions", "Model calls and money", "Privacy and input"]
    assert set(sections) == {*promised, "Exit codes", *limits}
    promises = [item for name in promised for item in re.split("^- ", sections[name], flags=re.M)]
    promises = [item for item in [*promises, sections["Exit codes"]] if item.strip()]
    name = r"`(tests/[\w/]+\.py)::(test_\w+)`"
    named = re.findall(name, text)
    assert [item for item in promises if not re.search(rf"Tests?:\s+{name}", item)] == []
    assert [one for one in named if one[1] not in _functions(ROOT / one[0])] == []
    assert len(named) == text.count("::")  # none is written so that it is not looked for


def test_every_rule_is_documented() -> None:
    from retgen.recipe import load_recipe
    from retgen.validation.findings import rule_names

    text = (ROOT / "docs" / "rules.md").read_text("utf-8")
    for recipe in ("limit_small", "multiconir_books"):
        names, vouching = rule_names(load_recipe(recipe))
        assert vouching < names
        for name in names:
            assert f"`{name}`" in text, name


@pytest.mark.slow
def test_the_check_of_an_embedding_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code of docs/evaluation_reference.md, over what `gen capacity` stores."""
    import retgen

    monkeypatch.chdir(tmp_path)
    path = retgen.run("limit_small", overrides={"params.docs": 12, "params.queries": 60}).path
    retgen.certify(path, seeds=1, minutes=0.2)
    text = (ROOT / "docs" / "evaluation_reference.md").read_text("utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a file that the example leaves open
        exec(code, {})
    assert capsys.readouterr().out in (
        "60 queries are right in 4 dimensions\n",
        "60 queries are right in 5 dimensions\n",
    )


_SHOWN = re.compile(r"^```\n(gen [^\n]+)\n```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _shown_is_printed(commands: list[str]) -> None:
    """Run commands in the current folder; pages must show what each prints, but for seconds."""
    from typer.testing import CliRunner

    from retgen.cli import app

    shown: dict[str, set[str]] = {}
    for page in PAGES:
        for command, output in _SHOWN.findall(page.read_text("utf-8")):
            shown.setdefault(command, set()).add(re.sub(r"in [\d.]+ s$", "", output, flags=re.M))
    for command in commands:
        printed = (
            CliRunner().invoke(app, shlex.split(command)[1:]).stdout.replace(f"{Path.cwd()}/", "")
        )
        assert shown[command] == {re.sub(r"in [\d.]+ s$", "", printed, flags=re.M)}, command


def test_pages_show_what_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _shown_is_printed(["gen plan multiconir_movies --model openai:gpt-5-mini"])
    _shown_is_printed(["gen run limit_small"])


@pytest.mark.slow
def test_pages_show_what_slower_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _shown_is_printed(["gen run multiconir_movies", "gen validate outputs/multiconir_movies"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["capretrieval_album", "niah", "world_small", "world_twins"])
def test_pages_of_families_show_what_a_run_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _shown_is_printed([f"gen run {name}"])


def test_the_first_screen_is_true(tmp_path: Path) -> None:
    """What README shows of `make run` and of the data is what comes out, but for the seconds."""
    text = (ROOT / "README.md").read_text("utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "retgen.cli", "run", ROOT / "recipes" / "limit_dense.yaml"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    shown = text.partition("```\nlimit_dense: ")[2].partition("```")[0]
    assert re.sub(r"in [\d.]+ s", "", f"limit_dense: {shown}") == re.sub(
        r"in [\d.]+ s", "", result.stdout
    )
    data = tmp_path / "outputs" / "limit_dense" / "dataset"
    for table, line in zip(
        ("corpus", "queries", "qrels"),
        re.findall(r'^\{"(?:_id|query-id)".*$', text, re.MULTILINE),
        strict=True,
    ):
        with open(data / f"{table}.jsonl", encoding="utf-8") as rows:
            first = rows.readline()
        begin, _, rest = line.partition(", ...")
        assert first.startswith(begin)
        assert rest.partition(" ...")[0].strip(",} ") in first


@pytest.mark.slow
def test_the_tutorial_of_a_labelled_set_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands print what it shows, where the reviewers judge as it says."""
    from typer.testing import CliRunner

    from retgen.cli import app
    from retgen.review import open_review
    from retgen.review.report import forecast

    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "labelled_set.md").read_text("utf-8")
    blocks = re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    printed: dict[str, str] = {}
    for line in "".join(blocks).splitlines():
        command = line.partition("  #")[0]
        if not command.startswith("gen "):
            continue
        if "--annotators" in command:  # it serves the page until Ctrl-C
            review = open_review("outputs/limit_small", annotators=["anna", "ben"])
            printed[command] = forecast(review)
            continue
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)
        printed[command] = result.stdout
        if "--export" in command:
            _judge(tmp_path / "judge.csv")
    shown = [block for block in blocks if not block.startswith("gen ")]
    asked, report, applied = shown
    assert asked.partition("\nreview: ")[0] in printed.values()
    found = report.removesuffix("...\n")
    assert any(one.startswith(found) for one in printed.values())
    seconds = re.compile(r"in [\d.]+ s$", re.MULTILINE)
    assert seconds.sub("", applied) in {seconds.sub("", one) for one in printed.values()}
    code, row = page.partition("```python\n")[2].partition("```")[0].split("# ")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    assert out.getvalue() == row


def _judge(table: Path) -> None:
    """Fill in a table of verdicts: relevant is what lists the thing that is asked for."""
    with open(table, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        thing = row["query"].removeprefix("Who likes ").rstrip("?")
        liked = re.split(", | and ", row["text"].rstrip(".").partition(" likes ")[2])
        row["verdict"] = str(int(thing in liked))
    with open(table, "w", encoding="utf-8-sig", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


@pytest.fixture
def own_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that docs/own_domain.md shows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "own_domain.md").read_text("utf-8")
    domain = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "lighthouses.yaml").write_text("".join(domain))
    return tmp_path


@pytest.mark.slow
def test_the_domain_of_the_page_is_checked_as_shown(own_domain: Path) -> None:
    _shown_is_printed(["gen world check lighthouses.yaml --documents 1"])


@pytest.mark.slow
def test_the_domain_of_the_page_runs_as_shown(own_domain: Path) -> None:
    from typer.testing import CliRunner

    from retgen.cli import app

    page = (ROOT / "docs" / "own_domain.md").read_text("utf-8")
    runs = re.findall(r"^gen run \S+ --set .*$", page, re.MULTILINE)
    world, twins = runs
    _shown_is_printed([world])
    assert CliRunner().invoke(app, shlex.split(twins)[1:]).exit_code == 0
