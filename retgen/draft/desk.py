"""What a model that drafts a recipe can do: tools that list, look, plan and preview; none writes.

A recipe may read the documents that the user gave, and no other file: a draft is a stranger's text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from retgen.errors import RetgenError, UsageError
from retgen.generators import families, family
from retgen.generators.family import Plan
from retgen.generators.source import DocumentSource, describe_source
from retgen.messages import did_you_mean
from retgen.plan import plan, plan_lines, preview
from retgen.recipe import Recipe, load_recipe
from retgen.recipes import about, bundled
from retgen.yaml_text import parse_yaml, read_yaml

_ELSEWHERE = ("hf:", "mteb:", "http:", "https:", "s3:", "gs:")
_LONG = 300  # characters of a text that a preview shows
_MOST = 20_000  # characters of a tool's result


class Desk:
    """`sources`: what the user gave; `folder`: where the recipe will lie."""

    def __init__(self, sources: Sequence[str], folder: Path) -> None:
        self._sources, self._folder = list(sources), folder

    def tools(self) -> list[Callable[..., str]]:
        """Functions of text, each with what it is for."""
        return [
            self.list_families,
            self.scaffold,
            self.bundled_recipe,
            self.look_at_documents,
            self.plan,
            self.preview,
        ]

    def list_families(self) -> str:
        """List the families of data sets, and the bundled recipes of each."""
        of = {name: read_yaml(path)["family"] for name, path in bundled().items()}
        lines = []
        for name in families():
            one = family(name)
            takes = "; takes documents of one's own" if one.takes_source else ""
            lines.append(f"{name}: {one.summary}{takes}")
            lines += [
                f"  {recipe}: {about(path)}"
                for recipe, path in bundled().items()
                if of[recipe] == name
            ]
        return "\n".join(lines)

    def scaffold(self, family: str) -> str:
        """A commented recipe of a family to start from: its parameters and their defaults."""
        return self._told(lambda: self._scaffold(family))

    def bundled_recipe(self, name: str) -> str:
        """The text of a bundled recipe."""

        def text() -> str:
            if name not in bundled():
                hint = did_you_mean(name, bundled())
                raise UsageError(f"there is no bundled recipe {name!r}{hint or ''}")
            return bundled()[name].read_text()

        return self._told(text)

    def look_at_documents(self, path: str) -> str:
        """What documents that the user gave are: kinds, columns, languages, lengths."""

        def described() -> str:
            if path not in self._sources:
                raise UsageError(f"{path} was not given; given: {self._given()}")
            return "\n".join(describe_source(path, self._folder).lines())

        return self._told(described)

    def plan(self, recipe: str) -> str:
        """What a recipe will make and cost, or what is wrong with it. `recipe`: its YAML text."""
        return self._told(lambda: "\n".join(plan_lines(self.plan_of(recipe))))

    def preview(self, recipe: str) -> str:
        """Two queries of a recipe and what is relevant to them, where no model has to be asked."""

        def shown() -> str:
            with self._file(recipe) as path:
                self._load(path)
                made = preview(path, 2)
            texts = {row["_id"]: row["text"] for row in made["relevant"]}
            lines = []
            for query in made["queries"]:
                lines.append(f"query: {query['text'][:_LONG]}")
                lines += [
                    f"  relevant: {texts.get(qrel['corpus-id'], '(further back)')[:_LONG]}"
                    for qrel in made["qrels"]
                    if qrel["query-id"] == query["_id"] and qrel["score"] > 0
                ][:2]
            return "\n".join(lines)

        return self._told(shown)

    def plan_of(self, recipe: str) -> Plan:
        """The plan of a recipe's text. Raises `RetgenError` for what is wrong with it."""
        with self._file(recipe) as path:
            return plan(self._load(path))

    def _scaffold(self, name: str) -> str:
        if name not in families():
            raise UsageError(f"there is no family {name!r}; families: {', '.join(families())}")
        one = family(name)
        if one.takes_source and self._sources:
            return one.scaffold(describe_source(self._sources[0], self._folder))
        return one.scaffold()

    def _given(self) -> str:
        return ", ".join(self._sources) or "none"

    def _file(self, recipe: str) -> _RecipeFile:
        self._refuse_other_files(recipe)
        return _RecipeFile(recipe, self._folder)

    def _refuse_other_files(self, recipe: str) -> None:
        """Raise `UsageError` for a recipe that names a file, or a place, which was not given."""
        for text in _texts(parse_yaml(recipe, "recipe")):
            if text.startswith(_ELSEWHERE) or "/" in text or "." in text:
                self._refuse_other(text)

    def _load(self, path: Path) -> Recipe:
        """A recipe, whose parameters hold no path of another file: names without a dot too."""
        recipe = load_recipe(path)
        for one in _paths(recipe.file.params):
            self._refuse_other(str(one))
        return recipe

    def _refuse_other(self, text: str) -> None:
        if text in self._sources or len(text) > _MOST:
            return
        path = (self._folder / Path(text).expanduser()).resolve()
        allowed = {(self._folder / one).resolve() for one in self._sources}
        if text.startswith(_ELSEWHERE) or (path.exists() and path not in allowed):
            raise UsageError(
                f"{text} was not given, so a draft may not name it; given: {self._given()}"
            )

    def _told(self, work: Callable[[], str]) -> str:
        """What a tool finds, or in words what is wrong: the model can mend that."""
        try:
            result = work()
        except RetgenError as error:
            result = f"refused: {error}"
        return result if len(result) <= _MOST else result[:_MOST] + " ..."


class _RecipeFile:
    """A recipe's text as a file beside the one that it may become, so that relative paths count
    from there. Errors name it "recipe", the same in every call.
    """

    def __init__(self, text: str, folder: Path) -> None:
        self._text, self._folder = text, folder

    def __enter__(self) -> Path:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._folder, prefix=".draft-", suffix=".yaml", delete=False
        ) as file:
            file.write(self._text)
        self._path = Path(file.name)
        return self._path

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._path.unlink(missing_ok=True)
        if isinstance(error, RetgenError):
            text = str(error).replace(str(self._path), "recipe").replace(self._path.stem, "recipe")
            raise UsageError(text) from error


def _texts(tree: Any) -> Iterator[str]:
    """All texts in a tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for one in tree.values():
            yield from _texts(one)
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from _texts(one)


def _paths(value: Any) -> Iterator[Path]:
    """All paths in the values of a model."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, DocumentSource):
        yield Path(value.path)  # a folder's is text
    elif isinstance(value, BaseModel):
        for _, one in value:
            yield from _paths(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _paths(one)
