"""What a model that drafts a recipe can do: tools that show schemas and examples, and plan.

None writes. A recipe may read the documents that the user gave, and no other file: a draft is a
stranger's text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retgen.errors import RetgenError, UsageError
from retgen.generators import families, family
from retgen.generators.family import Plan
from retgen.generators.source import describe_source
from retgen.plan import plan, plan_lines
from retgen.recipes import about, bundled
from retgen.yaml_text import parse_yaml, read_yaml

_ELSEWHERE = ("hf:", "mteb:", "http:", "https:", "s3:", "gs:")
_NAMES = ("name", "family", "domain", "model")  # keys of texts that are no file's, without a dot
_MOST = 20_000  # characters of a tool's result


class Tools:
    """`sources`: what the user gave; `folder`: where the recipe will lie."""

    def __init__(self, sources: Sequence[str], folder: Path) -> None:
        self._sources, self._folder = list(sources), folder

    def schema(self, text: str) -> str:
        """A commented recipe of a family to start from: its parameters and their defaults."""
        return self._told(lambda: self._scaffold(text))

    def examples(self, text: str) -> str:
        """The texts of the bundled recipes of a family."""
        texts = [path.read_text("utf-8") for _, path in _bundled_of(text)]
        return self._told(lambda: "\n---\n".join(texts) or f"there are none of {text!r}")

    def plan(self, text: str) -> str:
        """What a recipe will make and cost, or what is wrong with it."""
        return self._told(lambda: "\n".join(plan_lines(self.plan_of(text))))

    def plan_of(self, recipe: str) -> Plan:
        """The plan of a recipe's text. Raises `RetgenError` for what is wrong with it."""
        for key, text in _texts(parse_yaml(recipe, "recipe")):
            if key not in _NAMES or "/" in text or "." in text:
                self._refuse_other(text)
        with _written(recipe, self._folder) as path:
            return plan(path)

    def known(self) -> dict[str, str]:
        """What the first message tells: families with their recipes, and the user's documents."""
        lines = []
        for name in families():
            one = family(name)
            takes = "; takes documents of one's own" if one.takes_source else ""
            lines.append(f"{name}: {one.summary}{takes}")
            lines += [f"  {recipe}: {about(path)}" for recipe, path in _bundled_of(name)]
        given = ["\n".join(describe_source(one, self._folder).lines()) for one in self._sources]
        return {"families": "\n".join(lines), "sources": "\n".join(given) or "(none)"}

    def _scaffold(self, name: str) -> str:
        if name not in families():
            raise UsageError(f"there is no family {name!r}; families: {', '.join(families())}")
        one = family(name)
        if one.takes_source and self._sources:
            return one.scaffold(describe_source(self._sources[0], self._folder))
        return one.scaffold()

    def _refuse_other(self, text: str) -> None:
        """Raise `UsageError` for a file, or a place, which was not given."""
        if text in self._sources or len(text) > _MOST:
            return
        path = (self._folder / Path(text).expanduser()).resolve()
        allowed = {(self._folder / one).resolve() for one in self._sources}
        if text.startswith(_ELSEWHERE) or (path.exists() and path not in allowed):
            given = ", ".join(self._sources) or "none"
            raise UsageError(f"{text} was not given, so a draft may not name it; given: {given}")

    def _told(self, work: Callable[[], str]) -> str:
        """What a tool finds, or in words what is wrong: the model can mend that."""
        try:
            return work()[:_MOST]
        except RetgenError as error:
            return f"refused: {error}"


def _bundled_of(family: str) -> list[tuple[str, Path]]:
    return [(name, path) for name, path in bundled().items() if read_yaml(path)["family"] == family]


@contextmanager
def _written(text: str, folder: Path) -> Iterator[Path]:
    """A recipe's text as a file beside the one that it may become, so that relative paths count
    from there. Errors name it "recipe", the same in every call.
    """
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix=".draft-", suffix=".yaml"
    ) as file:
        file.write(text)
        file.flush()
        path = Path(file.name)
        try:
            yield path
        except RetgenError as error:
            said = str(error).replace(str(path), "recipe").replace(path.stem, "recipe")
            raise UsageError(said) from error


def _texts(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts in a tree, each with the key that it stands under."""
    if isinstance(tree, str):
        yield key, tree
    elif isinstance(tree, dict):
        for name, one in tree.items():
            yield from _texts(one, str(name))
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from _texts(one, key)
