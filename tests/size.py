"""The size of the project against its budget: `make size`.

A line of Python counts if it holds code: no blank line, no comment, no docstring, so that nobody
gains by deleting an explanation. Of other files every line counts. `size.toml` has the parts and
the limits, which only go down.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
_TRIPLE = re.compile(r"'''|\"\"\"")
_HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """A row of the table: what is there, and at most how much may be."""

    part: str
    unit: str
    count: int
    limit: int


def code_lines(source: str) -> int:
    """Count the lines of a Python module that hold code."""
    lines = source.split("\n")
    texts, documentation = set[int](), set[int]()
    for node in ast.walk(ast.parse(source)):
        # of a text in triple quotes blank lines and those that begin with # are code as well
        if isinstance(node, ast.Constant | ast.JoinedStr) and _TRIPLE.search(
            lines[node.lineno - 1]
        ):
            texts.update(_lines(node))
        if isinstance(node, _HAVE_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            documentation.update(_lines(node.body[0]))
    code = {i for i, line in enumerate(lines, 1) if (text := line.strip()) and text[0] != "#"}
    return len((code | texts) - documentation)


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def tracked_files() -> list[str]:
    """List the files of the project that git knows, without links and what is deleted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in sorted(set(filter(None, listed.split("\0"))))]
    there = [path for path in paths if path.is_file() and not path.is_symlink()]
    return [path.relative_to(ROOT).as_posix() for path in there]


def is_within(name: str, places: Sequence[str]) -> bool:
    """Whether a file lies in a folder ("a/b/") or fits a pattern ("a/*" has no subfolders)."""
    for place in places:
        if place.endswith("/") and name.startswith(place):
            return True
        if fnmatch(name, place) and name.count("/") == place.count("/"):
            return True
    return False


def sizes(files: Sequence[str], root: Path = ROOT) -> list[Size]:
    """Measure every part. Raises `ValueError` for Python that belongs to no part."""
    budget = tomllib.loads((ROOT / "tests/size.toml").read_text("utf-8"))
    parts: Mapping[str, Mapping[str, Any]] = budget["parts"]
    python = [name for name in files if name.endswith(".py")]
    counted = {name: code_lines((root / name).read_text("utf-8")) for name in python}
    result, outside = [], 0
    for part, row in parts.items():
        own = [name for name in counted if is_within(name, row["files"])]
        count = sum(counted.pop(name) for name in own)
        outside += count
        if part == "tests":
            outside -= count
        result.append(Size(part, "code lines", count, row["limit"]))
    if counted:
        raise ValueError(f"no part of tests/size.toml holds {', '.join(counted)}")
    modules = sum(not name.startswith("tests/") for name in python)
    result.append(Size("all outside tests", "code lines", outside, budget["outside_tests"]))
    result.append(Size("modules outside tests", "files", modules, budget["modules"]))
    for part, row in budget["texts"].items():
        own = [name for name in files if name.endswith(tuple(row["endings"]))]
        own = [name for name in own if not name.startswith(tuple(row["without"]))]
        count = sum((root / name).read_bytes().count(b"\n") for name in own)
        result.append(Size(part, "lines", count, row["limit"]))
    return result


def main(rows: Sequence[Size]) -> int:
    """Print the table; exit code 1 where something is above its limit."""
    width = max(len(row.part) for row in rows)
    for row in rows:
        over = f"  {row.count - row.limit:,} too many" if row.count > row.limit else ""
        print(f"{row.part:<{width}}  {row.count:>7,} of {row.limit:>7,} {row.unit}{over}")
    return int(any(row.count > row.limit for row in rows))


if __name__ == "__main__":
    sys.exit(main(sizes(tracked_files())))
