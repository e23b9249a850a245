"""What the code imports is what pyproject.toml asks for, and the other way round."""

from __future__ import annotations

import ast
import sys
from functools import cache

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from retgen.cli.base import install_command
from tests.dependencies import comments, extras, modules, packages, project
from tests.project import ROOT

SHIPPED = ("retgen", "generators", "prompts", "validators", "evaluation", "recipes")


@cache
def imported() -> dict[str, set[str]]:
    """Packages that shipped files import, each with these files."""
    result: dict[str, set[str]] = {}
    for folder in SHIPPED:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = []
                if isinstance(node, ast.Import):
                    names = [one.name for one in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                for name in names:
                    top = name.partition(".")[0]
                    if top not in sys.stdlib_module_names and top != "retgen":
                        result.setdefault(top, set()).add(str(path.relative_to(ROOT)))
    return result


@pytest.mark.slow
def test_what_is_imported_comes_with_the_core_or_with_one_extra_that_a_message_names() -> None:
    core = modules(packages(project()["dependencies"]))
    brought = {extra: modules(packages(asked)) for extra, asked in extras().items()}
    named = {
        extra: modules(frozenset(canonicalize_name(Requirement(one).name) for one in asked))
        for extra, asked in extras().items()
    }
    assert len(imported()) > 40
    for module, files in imported().items():
        if module not in core:
            of = [extra for extra, some in named.items() if module in some]
            of = of or [extra for extra, some in brought.items() if module in some]
            assert len(of) == 1, (module, of, files)
            assert install_command(module) == f"pip install 'retgen[{of[0]}]'", files
        else:
            assert install_command(module) == "pip install --upgrade retgen", files


@pytest.mark.parametrize("asked", ["core", *extras()])
def test_a_dependency_is_imported_or_loaded_by_somebody_and_says_what_it_is_for(asked: str) -> None:
    beside = comments()
    for text in project()["dependencies"] if asked == "core" else extras()[asked]:
        name = canonicalize_name(Requirement(text).name)
        assert beside[name], f"{name}: say in pyproject.toml what it is for"
        if "loaded by" not in beside[name]:
            mine = modules(frozenset({name}))
            assert not mine.isdisjoint(imported()), f"{name}: nobody imports {sorted(mine)}"


def test_all_is_the_sum_of_the_extras() -> None:
    (asked,) = map(Requirement, project()["optional-dependencies"]["all"])
    assert (asked.name, asked.extras) == ("retgen", {*extras()})
