"""YAML, read and written in one place.

Whoever wrote it: what is read is no deeper than `DEEPEST`, and an error names its file and line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.errors import RecipeError, RetgenError

DEEPEST = 50  # lists and mappings inside one another; the time of deeper brackets is quadratic
LARGEST = 1_000_000  # characters


def read_yaml(path: Path, *, lines: bool = False, error: type[RetgenError] = RecipeError) -> Any:
    """The value in a file; `lines`: with its line numbers. Raises `error`."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise error(f"{path}: is not a UTF-8 text file: byte {fault.start}") from fault
    except OSError as fault:
        raise error(f"{path}: cannot be read: {fault.strerror}") from fault
    return parse_yaml(text, path, lines=lines, error=error)


def parse_yaml(
    text: str, where: object, *, lines: bool = False, error: type[RetgenError] = RecipeError
) -> Any:
    """The value of a text. `where`: it stands, for errors. Raises `error`.

    Aliases are refused: they can stand for far more, and far deeper, than the text has room for.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer, MaxDepthExceededError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.events import AliasEvent

    class WithoutAliases(Composer):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if isinstance(event := self.parser.peek_event(), AliasEvent):
                raise error(
                    f"{where}, line {event.start_mark.line + 1}: aliases are not read: write the "
                    f"value that *{event.anchor} stands for"
                )
            return super().compose_node(parent, index)

    if len(text) > LARGEST:
        raise error(f"{where}: has {len(text):,} characters, of which a file may have {LARGEST:,}")
    yaml = YAML(typ="rt" if lines else "safe", pure=True)
    yaml.max_depth, yaml.Composer = DEEPEST, WithoutAliases
    try:
        return yaml.load(text)
    except MarkedYAMLError as fault:
        line = f", line {fault.problem_mark.line + 1}" if fault.problem_mark else ""
        if isinstance(fault, MaxDepthExceededError):
            message = f"{where}{line}: is nested more than {DEEPEST} levels deep"
            raise error(message) from fault
        problem = (fault.problem or "").split(" with value")[0].strip()
        problem = problem.replace("'<stream end>'", "the end of the file")
        if fault.context_mark and problem.startswith(("expected", "found unexpected")):
            problem += f", {fault.context} that begins in line {fault.context_mark.line + 1}"
        raise error(f"{where}{line}: is not YAML: {problem}") from fault
    except (YAMLError, ValueError) as fault:  # ValueError: a day such as 1990-02-30
        raise error(f"{where}: is not YAML: {str(fault).splitlines()[0]}") from fault


_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # which YAML 1.1 folds into blanks


def to_yaml(tree: Mapping[str, Any], width: int | None = 100) -> str:
    """A mapping as YAML, keys in their order; readers of YAML 1.1 and 1.2 find the same texts."""
    from ruamel.yaml import YAML
    from ruamel.yaml.resolver import implicit_resolvers

    def text_node(representer: Any, text: str) -> Any:
        # the rules of both versions: 1.1, which the Hub reads, takes no for False, 1:30 for 90
        guessed = any(rule.match(text) for _, _, rule, _ in implicit_resolvers)
        style = '"' if _LINE_ENDS.search(text) else "'" if guessed else None
        return representer.represent_scalar("tag:yaml.org,2002:str", text, style)

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = width
    representer: Any = yaml.representer
    representer.yaml_representers = representer.yaml_representers | {str: text_node}
    out = io.StringIO()
    yaml.dump(dict(tree), out)
    return out.getvalue()
