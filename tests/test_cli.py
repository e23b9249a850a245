"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import ast
import errno
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import typer

import retgen
from retgen.cli import app
from retgen.cli.base import report_errors
from retgen.cli.train import training_settings
from retgen.errors import DatasetError, OutputError
from retgen.generators import families
from retgen.recipes import about, bundled, bundled_studies
from retgen.write import size_text

Gen = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_commands_of_this_version() -> None:
    named = typer.main.get_command(app)
    assert named.list_commands(typer.Context(named)) == [  # type: ignore[attr-defined]
        "recipes", "new", "draft", "plan", "preview", "run", "world", "schema", "validate", "audit", "report", "diff",
        "diagnose", "eval", "train", "capacity", "review", "export", "publish", "sealed", "ledger",
        "doctor",
    ]  # fmt: skip
    assert set(COMMANDS) == set(named.list_commands(typer.Context(named)))  # type: ignore[attr-defined]


def test_help_groups_commands_by_use(gen: Gen) -> None:
    panels = re.findall(r"^╭─ ([\w ]+) ─+╮$", gen("--help").stdout, re.MULTILINE)
    assert panels == [
        "Options", "Make", "Check", "Score and train", "People", "Share", "Keep",
    ]  # fmt: skip


def test_every_help_has_an_example(gen: Gen) -> None:
    for command in COMMANDS:
        result = gen(command, "--help")
        assert result.returncode == 0
        assert f"gen {command}" in result.stdout
        assert "Example" in result.stdout


def test_version(gen: Gen) -> None:
    assert gen("--version").stdout == f"gen {retgen.__version__}\n"


HELP = """
import sys
from retgen.cli import main
sys.argv = ["gen", "--help"]
try:
    main()
finally:
    packages = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    print(*sorted(packages), file=sys.stderr)
"""


def test_help_loads_what_it_shows_alone() -> None:
    """So it starts at once: what takes long to import is imported by the command that needs it."""
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if not name.startswith("_")}
    of_typer = {"annotated_doc", "attr", "markdown_it", "mdurl", "pygments", "rich", "shellingham"}
    assert loaded - of_typer == {"retgen", "typer"}


ORDERS = [
    "from retgen import run",
    "import retgen.run; from retgen import run",
    "from retgen.run import RunResult; from retgen import run",
    "import retgen.studies.run; from retgen import run",  # imports retgen.run itself
    "import importlib; importlib.import_module('retgen.run'); from retgen import run",
    "import retgen; run = retgen.run",
    "import retgen.run as run",
]
# each in a process that has imported nothing of retgen, but what retgen stands on
EACH = """
import os, sys
import numpy, orjson, pydantic, ruamel.yaml
for code in sys.argv[1:]:
    assert not any(name.partition(".")[0] == "retgen" for name in sys.modules)
    if not (child := os.fork()):
        exec(code, {})
        sys.exit()
    os.waitpid(child, 0)
"""


@pytest.mark.slow
def test_a_command_is_the_function_and_not_its_module() -> None:
    then = (
        "; import retgen, sys, pickle; "
        "assert run is retgen.run is sys.modules['retgen.run'].run; "
        "assert pickle.loads(pickle.dumps(run)) is run; print(run.__module__, run.__name__)"
    )
    result = subprocess.run(
        [sys.executable, "-c", EACH, *(code + then for code in ORDERS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.stdout, result.stderr) == ("retgen.run run\n" * len(ORDERS), "")


def test_checkers_see_what_is_imported_late() -> None:
    """Type checkers read the imports under TYPE_CHECKING: each is what the package gives."""
    tree = ast.parse(Path(retgen.__file__).read_text())
    under = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in under.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert ast.unparse(under.test) == "TYPE_CHECKING"
    assert sorted([*seen, "__version__"]) == retgen.__all__
    assert {*seen} <= {*dir(retgen)}
    for name, module in seen.items():
        assert getattr(retgen, name).__module__ == module, name
    with pytest.raises(AttributeError, match="no attribute 'evaluation_of'"):
        _ = retgen.evaluation_of


def test_the_main_job_imports_nothing_heavy(small: Path, tmp_path: Path) -> None:
    code = (
        f"import sys, retgen; retgen.run({str(small)!r}, out={str(tmp_path / 'out')!r}); "
        "print([m for m in ('torch', 'scipy', 'pyarrow', 'datasets', 'pandas', 'langchain', 'openai') "
        "if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_run_prints_what_it_made(gen: Gen, small: Path) -> None:
    result = gen("run", small)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("small: 400 documents, 100 queries, 200 qrels in ")
    assert lines[1:] == [
        "  verdict     passed all checks",
        "  proven      200 of 200 qrels, rebuilt from the words of the documents",
        "  dimensions  4 needed and sufficient to rank each query's relevant documents first (proven)",
        lines[4],
        "  data        outputs/small/dataset",
        "  report      outputs/small/report.html",
    ]
    again = gen("run", small)
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == (
        "small: 400 documents, 100 queries, 200 qrels, finished before: nothing to do"
    )
    quiet = gen("run", small, "-q")
    assert (quiet.returncode, quiet.stdout) == (0, "")


def test_plan(gen: Gen, small: Path, tmp_path: Path) -> None:
    content = json.loads(gen("plan", small, "--json").stdout)
    size = content.pop("bytes")
    assert content == {
        "documents": 400, "queries": 100, "qrels": 200, "calls": {}, "models": {}, "tokens": {},
        "usd": {"low": 0.0, "high": 0.0}, "seconds": {"low": 0.0, "high": 0.0}, "notes": [],
    }  # fmt: skip
    assert 100_000 < size < 300_000
    shown = gen("plan", small).stdout
    assert "         400  documents\n         100  queries\n" in shown
    assert "       $0.00  no model calls\n" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.yaml"]  # touched nothing


def test_preview(gen: Gen, small: Path, tmp_path: Path) -> None:
    content = json.loads(gen("preview", small, "-n", "2", "--json").stdout)
    assert (len(content["queries"]), len(content["corpus"])) == (2, 2)
    assert len(content["qrels"]) == 4
    assert {row["_id"] for row in content["relevant"]} == {q["corpus-id"] for q in content["qrels"]}
    asked = content["queries"][0]["text"].removeprefix("Who likes ").removesuffix("?")
    assert asked in gen("preview", small, "-n", "1").stdout
    many = gen("preview", "capretrieval_album", "-n", "3", "--set", "params.captions=1500").stdout
    shown, _, _ = many.partition("The corpus begins:")
    assert len([line for line in shown.splitlines() if line.startswith("    d")]) <= 9
    assert "    and 1 more: 4 are relevant\n" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.yaml"]


def test_recipes(gen: Gen) -> None:
    shown = gen("recipes").stdout
    lines = shown.splitlines()
    about = [line.split(maxsplit=1) for line in lines]  # the names stand in a column of their own
    assert any(
        one[0] == "limit_dense" and one[1].startswith("The paper's LIMIT: every pair")
        for one in about
        if len(one) == 2
    )
    assert lines[:2] == ["All run without a key and without a GPU.", ""]
    family = lines.index(
        "capretrieval: training and test queries over your own documents: keywords and summaries"
    )
    assert lines[family + 1] == (
        "  Optional: --model NAME, a chat model (`gen plan` counts its calls); your documents, with "
        "gen new capretrieval --source PATH."
    )
    assert about[family + 2][0] == "capretrieval"
    assert about[family + 2][1].startswith("Queries over documents")
    studies = lines.index("Studies, for gen eval (they score or train embedders: a GPU saves time)")
    assert [
        "limit_density",
        "Denser qrels against scores: six patterns over 2,000 documents (LIMIT, Table 2).",
    ] in about[studies + 1 :]
    names = [row["name"] for row in json.loads(gen("recipes", "--json").stdout)]
    assert names == sorted(bundled())


def test_a_recipe_where_a_data_set_is_wanted(gen: Gen) -> None:
    missing = "does not exist. Give the folder of a run or of a data set."
    result = gen("eval", "limit_small")
    assert (result.returncode, result.stderr) == (
        2,
        f"gen: limit_small {missing} limit_small is a recipe: `gen run limit_small` makes "
        "outputs/limit_small.\n",
    )
    assert gen("capacity", "outputs/limit_smal").stderr == (
        f"gen: outputs/limit_smal {missing} `gen recipes` lists what `gen run` makes; did you mean "
        "limit_small?\n"
    )
    assert gen("train", "elsewhere").stderr == f"gen: elsewhere {missing}\n"


def test_schema_accepts_and_refuses(gen: Gen) -> None:
    schema = json.loads(gen("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"name": "x", "family": "limit", "params": {"pattern": "dense"}}
    jsonschema.validate(good, schema)
    for bad in (
        {**good, "sed": 1},
        {**good, "params": {"pattern": "dense", "n": 5}},
        {**good, "family": "limits"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_new_writes_a_recipe_that_runs(gen: Gen, tmp_path: Path) -> None:
    result = gen("new", "limit")
    assert result.stdout == ("wrote my_limit.yaml; look at it, then: gen plan my_limit.yaml\n")
    assert (tmp_path / "my_limit.yaml").read_text().startswith("# gen run my_limit.yaml\n")
    again = gen("new", "limit")
    assert (again.returncode, again.stderr) == (
        2, "gen: my_limit.yaml is there already; choose another file with --out\n",
    )  # fmt: skip
    wrong = gen("new", "limits")
    assert wrong.stderr == f"gen: there is no family 'limits'. Families: {', '.join(families())}\n"
    ran = gen("run", "my_limit.yaml", "--set", "params.docs=200", "--set", "params.queries=50")
    assert ran.returncode == 0, ran.stderr


def test_validate_exit_codes_and_json(gen: Gen, small: Path, tmp_path: Path) -> None:
    gen("run", small)
    good = gen("validate", "outputs/small")
    assert good.returncode == 0
    assert good.stdout == (
        "outputs/small: 400 documents, 100 queries, 200 qrels\n"
        "  proven: 200 qrels, rebuilt from the words of the documents\n"
        "ok: 0 errors, 0 warnings\n"
    )
    qrels = tmp_path / "outputs" / "small" / "dataset" / "qrels.jsonl"
    lines = qrels.read_text().splitlines()
    qrels.write_text("\n".join(lines[1:]) + "\n")
    bad = gen("validate", "outputs/small", "--json")
    assert bad.returncode == 1
    content = json.loads(bad.stdout)
    assert (content["ok"], content["errors"], content["warnings"]) == (False, 4, 0)
    assert sorted(content["findings"][0]) == ["ids", "message", "rule", "severity"]
    rules = [finding["rule"] for finding in content["findings"]]
    assert rules == [
        "limit-proof/qrels", "limit-proof/row-sum", "manifest", "regenerated", "derived"
    ]  # fmt: skip
    lost = json.loads(lines[0])
    assert content["findings"][0]["ids"] == [lost["query-id"], lost["corpus-id"]]


def test_rules_of_a_recipe_that_are_switched_off_and_regraded(
    gen: Gen, small: Path, tmp_path: Path
) -> None:
    asked = "{off: {order-leak: trying something}, severity: {encoding: error}}"
    small.write_text(small.read_text() + f"validate: {asked}\n")
    content = json.loads(gen("run", small, "--json").stdout)
    assert content["checks"]["switched_off"] == {"order-leak": "trying something"}
    assert content["checks"]["severities"] == {"encoding": "error"}
    shown = gen("validate", "outputs/small").stdout
    assert "  off     order-leak: trying something\n" in shown
    assert "  level   encoding: error, as asked for\n" in shown
    page = (tmp_path / "outputs" / "small" / "report.html").read_text()
    assert "Switched off by the recipe" in page
    assert "Severities that the recipe gives" in page


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "off: {order-leek: no reason}",
            "validate.off: there is no rule 'order-leek'; did you mean order-leak? Rules: answer-leak, ",
        ),
        (
            "off: {limit-proof: trying something}",
            "validate.off: limit-proof vouches for this data set, so it can be neither switched off "
            "nor lowered. That holds for derived, limit-names, limit-proof, manifest, ",
        ),
        (
            "severity: {word-lists: info}",
            "validate.severity: word-lists vouches for this data set, so it can be neither switched "
            "off nor lowered. That holds for derived, limit-names, limit-proof, manifest, ",
        ),
    ],
)
def test_rules_that_a_recipe_cannot_change(gen: Gen, small: Path, asked: str, message: str) -> None:
    small.write_text(small.read_text() + f"validate: {{{asked}}}\n")
    result = gen("run", small)
    assert result.returncode == 2
    assert result.stderr.startswith(f"gen: {message}")


def test_report_again(gen: Gen, small: Path, tmp_path: Path) -> None:
    gen("run", small)
    page = tmp_path / "outputs" / "small" / "report.html"
    before = page.read_text()
    page.unlink()
    assert gen("report", "outputs/small").stdout == "outputs/small/report.html\n"
    assert page.read_text() == before
    wrong = gen("report", ".")
    assert (wrong.returncode, wrong.stderr) == (
        2, "gen: . holds no readable report.json; `gen validate .` checks it anew\n",
    )  # fmt: skip


def test_doctor(gen: Gen) -> None:
    result = gen("doctor", "--json", env={"PATH": "", "OPENAI_API_KEY": "sk-secret-value"})
    checks = {check["what"]: check for check in json.loads(result.stdout)}
    assert checks["retgen"]["note"] == retgen.__version__
    assert checks["families"]["note"] == ", ".join(families())
    assert (checks["OPENAI_API_KEY"]["state"], checks["HF_TOKEN"]["state"]) == ("ok", "absent")
    assert checks["numpy"]["state"] == "ok"
    assert checks["accelerator"]["state"] in ("ok", "absent")
    assert "sk-secret-value" not in result.stdout
    assert result.returncode == 0


def test_doctor_fails_where_a_package_is_missing(tmp_path: Path) -> None:
    """In an installation without two packages: one of the core, one of an extra."""
    gone = {"faker": "pip install --upgrade retgen", "torch": "pip install 'retgen[eval]'"}
    for entry in Path(importlib.import_module("numpy").__file__ or "").parent.parent.iterdir():
        if not entry.name.casefold().startswith(tuple(gone)) and entry.suffix != ".pth":
            (tmp_path / entry.name).symlink_to(entry)
    root = Path(retgen.__file__).parent.parent
    result = subprocess.run(
        [sys.executable, "-S", "-m", "retgen.cli", "doctor", "--json"], capture_output=True,
        text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{root}:{tmp_path}"},
    )  # fmt: skip
    assert result.returncode == 1, result.stderr
    missing = {
        one["what"]: one["note"] for one in json.loads(result.stdout) if one["state"] == "missing"
    }
    assert missing == {name: f"not installed: {remedy}" for name, remedy in gone.items()}


def test_errors_have_no_traceback_unless_asked(gen: Gen) -> None:
    result = gen("run", "nothing.yaml")
    assert result.returncode == 2
    assert result.stderr == (
        "gen: nothing.yaml: there is no such file, and no bundled recipe of that name. "
        "`gen recipes` lists them.\n"
    )
    assert "Traceback" in gen("run", "nothing.yaml", "-v").stderr


def test_usage_errors(gen: Gen) -> None:
    assert gen("run").returncode == 2
    assert gen("nothing").returncode == 2
    assert gen("run", "limit_dense", "--workers", "0").returncode == 2


def test_a_signal_while_an_error_is_told_is_an_interruption() -> None:
    """As of a terminal that goes away: a write to it fails, and then its signal comes."""

    class Gone(OSError):
        @property
        def errno(self) -> int:  # type: ignore[override]
            raise KeyboardInterrupt

    @report_errors
    def command() -> None:
        raise Gone

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130


def test_output_into_a_closed_pipe(small: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m retgen.cli schema | head -c 10"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout == '{\n  "$sche'
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ("run", ""),
            "the name of the recipe is empty: give a recipe file or the name of a bundled recipe. "
            "`gen recipes` lists them.",
        ),
        (
            ("plan", " "),
            "the name of the recipe is empty: give a recipe file or the name of a bundled recipe. "
            "`gen recipes` lists them.",
        ),
        (
            ("plan", "limit_dense", "--set", "params.docs=10"),
            "params.docs: 10 documents of 45 attributes have 450 places; 1,000 queries with 2 relevant "
            "documents each need 2,000. Ask for at least 46 documents, or for fewer queries",
        ),
        (
            ("run", "limit_dense", "--model", "gpt5"),
            "--model: 'gpt5' is neither 'offline' nor 'provider:name', as in openai:gpt-5-mini",
        ),
        (("report", "nothere"), "nothere does not exist. Give the folder of a run."),
        (
            ("report", "limit_dense"),
            "limit_dense does not exist. Give the folder of a run. limit_dense is a recipe: "
            "`gen run limit_dense` makes outputs/limit_dense.",
        ),
    ],
)
def test_messages(gen: Gen, tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    result = gen(*command)
    assert (result.returncode, result.stderr) == (2, f"gen: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("validate", ""),
        ("validate", "x", "--against", ""),
        ("eval", ""),
        ("eval", "x", "--out", " "),
        ("eval", "x", "--run", ""),
        ("train", "x", "--out", ""),
        ("capacity", ""),
        ("report", ""),
        ("export", "", "--to", "beir"),
        ("publish", "", "file:x"),
        ("run", "limit_small", "--out", ""),
    ],
)
def test_an_empty_path_is_not_this_folder(
    gen: Gen, tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = gen(*command)
    assert result.returncode == 2
    assert "it is empty: give a path" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("torch", "pip install 'retgen[eval]'"),
        ("sentence_transformers.util", "pip install 'retgen[eval]'"),
        ("sklearn", "pip install --upgrade retgen"),
        ("lxml.html", "pip install 'retgen[documents]'"),
        ("botocore", "pip install 'retgen[publish]'"),
        ("starlette", "pip install 'retgen[review]'"),
        ("dotenv", "pip install --upgrade retgen"),
        ("ruamel.yaml", "pip install --upgrade retgen"),
    ],
)
def test_a_missing_package_is_of_the_core_or_of_an_extra(
    module: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @report_errors
    def needs() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    with pytest.raises(typer.Exit):
        needs()
    assert capsys.readouterr().err == f"gen: this needs the package {module}: {command}\n"


def test_a_prompt_that_ends_in_a_colon() -> None:
    settings = ["query_prompt=search: ", "epochs=3", "document_prompt=", 'lora={"r": 4}']
    assert training_settings(settings) == {
        "query_prompt": "search: ", "epochs": 3, "document_prompt": None, "lora": {"r": 4},
    }  # fmt: skip


def test_an_empty_path_in_a_notebook() -> None:
    for function in (retgen.validate, retgen.report):
        with pytest.raises(DatasetError, match="the path is empty: give the folder of a run"):
            function("")


def test_a_file_where_a_folder_belongs(gen: Gen, tmp_path: Path, small: Path) -> None:
    run = tmp_path / "x"
    (run / "dataset").mkdir(parents=True)
    for name in ("recipe.yaml", "manifest.json", "dataset/corpus.jsonl"):
        (run / name).touch()
    assert gen("report", "x/manifest.json").stderr == (
        "gen: x/manifest.json is a file. Give the folder of a run: x.\n"
    )
    assert gen("validate", "x/dataset/corpus.jsonl").stderr == (
        "gen: x/dataset/corpus.jsonl is a file. Give the folder of a run or of a data set: "
        "x/dataset.\n"
    )
    assert gen("export", str(small), "--to", "beir").stderr == (
        f"gen: {small} is a file. Give the folder of a run or of a data set.\n"
    )


def test_a_folder_that_cannot_be_made(gen: Gen, tmp_path: Path, small: Path) -> None:
    (tmp_path / "file").touch()
    for out, why in (("file", "it is"), ("file/a/b", "file is")):
        result = gen("run", str(small), "--out", out)
        assert (result.returncode, result.stderr) == (
            2, f"gen: cannot write {out}: {why} a file, not a folder. What was finished before is "
            "kept: choose another folder with --out and run the same command again.\n",
        )  # fmt: skip


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(
    small: Path, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    # reason: a test cannot mount a file system that has no locks
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OutputError) as error:
        retgen.run(small, out=tmp_path / "out")
    assert str(error.value) == (
        f"cannot write {tmp_path}/out/.lock: its file system has no file locks (some network drives), "
        "which keep two runs apart. What was finished before is kept: choose another folder with "
        "--out and run the same command again."
    )


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (999_960, "1.0 MB"), (4.2e6, "4.2 MB"),
     (12e9, "12.0 GB"), (10**18, "1,000,000.0 TB")],
)  # fmt: skip
def test_sizes_have_the_unit_that_shows_them(number: float, shown: str) -> None:
    assert size_text(number) == shown


def test_what_recipes_say_of_themselves_is_whole(gen: Gen, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "# gen run two.yaml\n# A sentence that goes on\n# in a second line. And\n# another.\nname: two\n"
    )
    assert about(path) == "A sentence that goes on in a second line."
    shown = gen("recipes").stdout
    for file in (*bundled().values(), *bundled_studies().values()):
        assert f"{file.stem} " in shown
        assert f"  {about(file)}\n" in shown
        assert about(file)[-1] == ".", file


BOATS = Path(__file__).parent / "world" / "boats.yaml"


def test_a_domain_is_checked_and_shown(gen: Gen) -> None:
    result = gen("world", "check", BOATS, "--documents", "1")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"{BOATS} is sound: domain boats",
        "  slots   7; 5 that every boat has; 5 that can be asked one step up",
        "  names   240,000",
    ]
    assert [line.split(":")[0] for line in lines if ": " in line][1:] == [
        "eq, literal", "and, paraphrase", "or, entailed", "and-not, literal", "k-of-n, paraphrase",
        "range, entailed", "superlative, literal", "two-hop, paraphrase",
    ]  # fmt: skip
    assert lines[-2:] == [
        "Among 10,000 boats, 72 of 72 combinations of operator, number of answers and wording can "
        "be asked.",
        "The proof reads 200 of 200 documents and 72 of 72 queries.",
    ]
    shown = json.loads(gen("world", "check", BOATS, "--json").stdout)
    assert shown["slots"]["model"] == "relation"
    assert (len(shown["documents"]), len(shown["queries"]), shown["cannot_be_asked"]) == (2, 8, [])
    assert shown["proof"] == {"documents": [200, 200], "queries": [72, 72], "problems": []}


def test_a_domain_with_too_few_values_says_what_cannot_be_asked(gen: Gen, tmp_path: Path) -> None:
    text = BOATS.read_text("utf-8").replace("range: [5, 90]", "range: [5, 6]")
    text = text.replace("range: [1950-01-01, 1999-12-31]", "range: [1999-12-01, 1999-12-03]")
    path = tmp_path / "few.yaml"
    path.write_text(text.replace("domain: boats", "domain: few"))
    result = gen("world", "check", path)
    assert (result.returncode, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{path} is not all read: domain few"
    assert "  not: eq, 1 answers, entailed" in lines
    assert lines[-2:] == [
        "  domain few has no phrases for launch, home, hull, length, refit, owner, model: the proof "
        "cannot read them. They belong into few.lexicon.yaml; `gen world lexicon` writes one to "
        "start from",
        "Phrases in which every word stands belong into few.lexicon.yaml beside it.",
    ]


def test_a_lexicon_to_start_from(gen: Gen, tmp_path: Path) -> None:
    path = tmp_path / "few.yaml"
    path.write_text(BOATS.read_text("utf-8").replace("domain: boats", "domain: few"))
    result = gen("world", "lexicon", path)
    assert (result.returncode, result.stderr) == (0, "")
    assert (
        "  length:  # number, in metres: length of the boat\n    nouns: [length]" in result.stdout
    )
    path.with_suffix(".lexicon.yaml").write_text(result.stdout)
    checked = gen("world", "check", path).stdout
    assert "no phrase holds 'built'" in checked
    assert "has no phrases" not in checked


def test_a_domain_file_that_is_none(gen: Gen, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(BOATS.read_text("utf-8").replace("type: place", "type: plaice"))
    result = gen("world", "check", path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"gen: {path}, line ")
    assert "slots.home.type" in result.stderr
    assert gen("world", "check", "filmz").stderr == (
        "gen: there is no domain 'filmz'; did you mean films? Bundled: books, films, legal, "
        "medical, people. One of your own is named by its .yaml file\n"
    )
