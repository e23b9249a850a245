"""YAML, read and written in one place.

Whoever wrote it: what is read is no deeper than `DEEPEST`, and an error names its file and line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from retgen.errors import RecipeError, RetgenError

DEEPEST = 50  # lists and mappings inside one another; the time of deeper brackets is quadratic
LARGEST = 1_000_000  # characters, and values with those that aliases repeat
_TOO_DEEP = f"is nested more than {DEEPEST} levels deep"


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
    """The value of a text. `where`: it stands, for errors. Raises `error`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import MaxDepthExceededError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(text) > LARGEST:
        raise error(f"{where}: has {len(text):,} characters, of which a file may have {LARGEST:,}")
    kind = "rt" if lines else "safe"
    yaml = YAML(typ=kind, pure=True)
    yaml.max_depth, yaml.Scanner = DEEPEST, _scanners()[kind]
    try:
        if "*" in text and (name := _recursive_alias(yaml.parse(text))):
            raise error(f"{where}: *{name} stands within what it stands for")
        value = yaml.load(text)
    except MarkedYAMLError as fault:
        line = f", line {fault.problem_mark.line + 1}" if fault.problem_mark else ""
        problem = (fault.problem or "").split(" with value")[0].strip()
        if isinstance(fault, MaxDepthExceededError):
            raise error(f"{where}{line}: {_TOO_DEEP}") from fault
        problem = _SIGN.sub(lambda one: _SIGNS.get(one[1], one[1]), problem)
        raise error(f"{where}{line}: is not YAML: {problem}{_beginning(fault, text)}") from fault
    except (YAMLError, ValueError) as fault:  # ValueError: a day such as 1990-02-30
        raise error(f"{where}: is not YAML: {str(fault).splitlines()[0]}") from fault
    levels, values = _measure(value, {})
    if levels > DEEPEST:
        raise error(f"{where}: {_TOO_DEEP}")
    if values > LARGEST:
        raise error(f"{where}: its aliases (*name) stand for more than {LARGEST:,} values")
    return value


_SIGN = re.compile(r"'<([a-z ]+)>'")  # what the parser met, in its own words
_SIGNS = {"stream end": "the end of the file", "scalar": "more words"}


def _beginning(fault: Any, text: str) -> str:
    """The line where what cannot be read begins, and what to look for."""
    mark = fault.context_mark or fault.problem_mark
    if not (fault.problem or "").startswith("expected"):
        return ""
    if mark is None or mark.line >= len(lines := text.splitlines()):
        return ""
    return (
        f". It begins in line {mark.line + 1}: {lines[mark.line].strip()[:80]!r}. Look for a "
        "comma, a bracket or a quote that is missing"
    )


def _recursive_alias(events: Iterable[Any]) -> str:
    """The alias that stands within its own anchor, as in `&a [*a]`; "" where there is none."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    inside: list[str | None] = []
    for event in events:
        if isinstance(event, CollectionStartEvent):
            inside.append(event.anchor)
        elif isinstance(event, CollectionEndEvent):
            inside.pop()
        elif isinstance(event, AliasEvent) and event.anchor in inside:
            return str(event.anchor)
    return ""


def _measure(value: Any, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """How deep a value is and how many it holds: aliases make it more than its text."""
    if not isinstance(value, Mapping | list):
        return 0, 1
    if id(value) not in known:
        items = value.values() if isinstance(value, Mapping) else value
        inside = [_measure(item, known) for item in items]
        levels, values = zip((0, 1), *inside, strict=True)
        known[id(value)] = 1 + max(levels), sum(values)
    return known[id(value)]


@cache
def _scanners() -> dict[str, Any]:
    """Scanners that count brackets: ruamel's composer sees them a thousand characters later."""
    from ruamel.yaml.composer import MaxDepthExceededError
    from ruamel.yaml.scanner import RoundTripScanner, Scanner

    def depth_limited(kind: Any) -> Any:
        class Limited(kind):  # type: ignore[misc]
            def fetch_flow_collection_start(self, *args: Any, **options: Any) -> None:
                if len(self.flow_context) >= DEEPEST:
                    raise MaxDepthExceededError(problem_mark=self.reader.get_mark())
                super().fetch_flow_collection_start(*args, **options)

        return Limited

    return {"rt": depth_limited(RoundTripScanner), "safe": depth_limited(Scanner)}


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
