"""The command line and the package: the commands, their help, and what each imports."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import retgen
from retgen.cli import app
from retgen.cli.base import command, report_errors
from retgen.cli.options import Spending
from tests.conftest import Gen

COMMANDS = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_commands_of_this_version() -> None:
    named = typer.main.get_command(app)
    assert named.list_commands(typer.Context(named)) == [  # type: ignore[attr-defined]
        "recipes",
        "new",
        "draft",
        "plan",
        "preview",
        "run",
        "world",
        "schema",
        "validate",
        "report",
        "diff",
        "diagnose",
        "eval",
        "train",
        "capacity",
        "review",
        "export",
        "publish",
        "sealed",
        "ledger",
        "doctor",
    ]
    assert set(COMMANDS) == set(named.list_commands(typer.Context(named)))  # type: ignore[attr-defined]


def test_help_groups_commands_by_use(gen: Gen) -> None:
    panels = re.findall(r"^╭─ ([\w ]+) ─+╮$", gen("--help").stdout, re.MULTILINE)
    assert panels == [
        "Options",
        "Make",
        "Check",
        "Score and train",
        "People",
        "Share",
        "Keep",
    ]


def test_every_help_has_an_example(gen: Gen) -> None:
    for name in COMMANDS:
        result = gen(name, "--help")
        assert result.returncode == 0
        assert f"gen {name}" in result.stdout
        assert "Example" in result.stdout


def test_options_are_a_table_and_groups_are_declared_once() -> None:
    """A row a parameter; what a metavar says; what does not go together."""
    group = typer.Typer()
    seen: list[dict[str, Any]] = []

    @command(
        "toy",
        "gen toy here --limit 3",
        options="""
            PATH           Where it is.
            --limit N      At most so many,
                           or fewer.
            --set KEY=VALUE  A setting. Repeatable.
            --on/--off     A switch.
            """,
        apart={"--limit": ("--max-usd --set", "takes what is there")},
        group=group,
    )
    def toy(
        path: Path,
        spending: Spending,
        limit: int | None = None,
        set_: list[str] | None = None,
        on: bool | None = None,
    ) -> None:
        seen.append({"path": path, "limit": limit, "set": set_, "on": on, "usd": spending.max_usd})

    def called(*words: str) -> Any:
        return CliRunner().invoke(group, words)

    assert called("here", "--set", "a=1", "--off", "--max-usd", "2").exit_code == 0
    assert seen == [{"path": Path("here"), "limit": None, "set": ["a=1"], "on": False, "usd": 2.0}]
    assert called("here", "--limit", "0").exit_code == 2
    done = called("here", "--limit", "1", "--set", "a=1", "--max-usd", "1")
    assert (done.exit_code, done.stderr) == (
        2,
        "gen: --limit takes what is there: leave out --max-usd, --set\n",
    )
    with pytest.raises(KeyError):  # a parameter without a row
        report_errors(toy, "PATH  Where it is.")


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
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout, result.stderr) == ("retgen.run run\n" * len(ORDERS), "")


def test_a_function_is_none_of_the_package_that_has_its_name() -> None:
    importlib.import_module("retgen.draft.draft")
    assert retgen.draft is sys.modules["retgen.draft.draft"].draft


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


@pytest.mark.slow
def test_the_main_job_imports_nothing_heavy(small: Path, tmp_path: Path) -> None:
    code = (
        f"import sys, retgen; retgen.run({str(small)!r}, out={str(tmp_path / 'out')!r}); "
        "print([m for m in ('torch', 'scipy', 'pyarrow', 'datasets', 'pandas', 'langchain', 'openai', "
        "'genai_prices') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
