"""Recipe files: YAML read, and checked against their family.

All errors are reported at once, each with file, line and key, what is allowed, and the nearest
spelling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
)

from retgen.agents.models import Model
from retgen.errors import RecipeError
from retgen.generators import families, family
from retgen.generators.params import InputFile
from retgen.messages import SourceMap, did_you_mean, validation_messages
from retgen.recipes import bundled
from retgen.yaml_text import DEEPEST, parse_yaml, read_yaml

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_HEX = re.compile("[0-9a-f]{64}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Output(_Strict):
    """How dataset/ is written."""

    format: Literal["jsonl", "parquet"] = "jsonl"
    shards: Literal["auto"] | Annotated[int, Field(ge=1, le=100_000)] = Field(
        "auto", description="corpus files; auto: one up to 1,000,000 documents"
    )


class RuleSettings(_Strict):
    """Thresholds of the rules. A rule is switched off only by name and with a reason.

    Whatever vouches for a run (its proof, its manifest) is not switched off.
    """

    order_leak_p: float = Field(1e-6, gt=0, lt=1, description="level of the order-leak tests")
    off: dict[str, Annotated[str, Field(min_length=3)]] = Field(
        default_factory=dict, description="rule name -> why it is switched off"
    )


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("a name is lower-case letters, digits, '_', '-' and '.'")
    return value


def _hex_seed(value: str) -> str:
    if not _HEX.fullmatch(value):
        raise ValueError(
            "a seed is a whole number from 0, or a text of 64 hexadecimal digits (0-9, a-f), not "
            f"{value[:70]!r}"
        )
    return value


# 63 bits can be searched, 256 cannot: sealed sets need the latter, and JSON has no such numbers
Seed = Annotated[
    Annotated[int, Field(ge=0, lt=2**63), Tag("number")]
    | Annotated[str, AfterValidator(_hex_seed), Tag("digits")],
    Discriminator(lambda value: "digits" if isinstance(value, str) else "number"),
]


def seed_number(seed: int | str) -> int:
    """The number that a seed stands for, below 2**256. Raises ValueError for other texts."""
    return seed if isinstance(seed, int) else int(seed, 16)


class RecipeFile(_Strict):
    """A recipe as it is written, `params` checked by its family."""

    name: Annotated[str, AfterValidator(_name), Field(max_length=100)]
    family: str
    seed: Seed = Field(42, description="a whole number, or 64 hexadecimal digits")
    model: Model = Field("offline", description="who does the agents' work")
    models: dict[str, Model] = Field(
        default_factory=dict, description="another model for an agent, or for a role (write, judge)"
    )
    limit: int | None = Field(None, ge=1, description="at most so many records")
    params: Any
    rules: RuleSettings = Field(RuleSettings(), alias="validate")
    output: Output = Output()
    review: tuple[InputFile, ...] = Field(
        (), description="what people decided, as gen run --apply-review writes it; the first first"
    )


def read_recipe(
    source: str | Path, overrides: Mapping[str, Any] | None = None, *, finished: bool = False
) -> RecipeFile:
    """Read a recipe from a path, else from the bundled ones by name.

    `overrides`: dotted keys ("params.k") to values, as `--set` gives them. `finished`: it is that
    of a finished run, whose documents stand in sources/, wherever they came from. Raises
    `RecipeError` with one line for every error.
    """
    path = _find(source)
    tree = _parse(path)
    if "study" in tree:
        raise RecipeError(f"{path}: is a study, which `gen eval` runs, and no recipe")
    origin = SourceMap(path, tree, tuple(overrides or ()))
    for key, value in (overrides or {}).items():
        _set(tree, key, value)
    typed = {str(Path(text)) for text in _texts(list((overrides or {}).values()))}
    return _check(tree, origin, {"finished": finished, "typed": typed})


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` as (key, value), the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RecipeError(f"--set {text}: write key=value, for example --set params.k=3")
    if key.count(".") > DEEPEST:
        raise RecipeError(f"--set {key[:60]}...: a key has at most {DEEPEST} parts")
    return key.strip(), parse_yaml(value, f"--set {key.strip()}")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of recipes, for editors: one branch a family."""
    branches = []
    definitions: dict[str, Any] = {}
    for name in families():
        base = RecipeFile.model_json_schema(ref_template="#/$defs/{model}")
        params = TypeAdapter(family(name).params).json_schema(
            ref_template=f"#/$defs/{name}.{{model}}"
        )
        definitions |= base.pop("$defs", {})
        definitions |= {f"{name}.{key}": value for key, value in params.pop("$defs", {}).items()}
        base["properties"]["family"] = {"const": name}
        base["properties"]["params"] = params
        base["title"] = f"A recipe of the family {name}"
        branches.append(base)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "retgen recipe",
        "oneOf": branches,
        "$defs": definitions,
    }


# --- reading ------------------------------------------------------------------------------------


def _find(source: str | Path) -> Path:
    if not str(source).strip():
        raise RecipeError(
            "the name of the recipe is empty: give a recipe file or the name of a bundled recipe. "
            "`gen recipes` lists them."
        )
    path = Path(source)
    for file in (path, path / "recipe.yaml"):
        if file.is_file():
            return file
    names = bundled()
    if str(source) in names:
        return names[str(source)]
    if path.exists():
        raise RecipeError(f"{path} is a folder without recipe.yaml; give a recipe file")
    hint = did_you_mean(path.name.removesuffix(".yaml"), names)
    raise RecipeError(
        f"{source}: there is no such file, and no bundled recipe of that name{hint or '.'} "
        "`gen recipes` lists them."
    )


def read_mapping(path: Path) -> tuple[Any, dict[str, Any]]:
    """A YAML mapping as (the tree with its line numbers, plain values). Raises `RecipeError`."""
    tree = _parse(path)
    return tree, _plain(tree)


def _parse(path: Path) -> Any:
    tree = read_yaml(path, lines=True)
    if not isinstance(tree, dict):
        raise RecipeError(
            f"{path}: a recipe is a mapping with name, family and params, this is not one"
        )
    return tree


def _set(tree: Any, dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    node = tree
    for key in parents:
        if not isinstance(node.get(key), dict):
            node[key] = {}
        node = node[key]
    node[last] = value


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value that `--set` gave, which may be paths."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


# --- checking -----------------------------------------------------------------------------------


def _check(tree: Any, origin: SourceMap, context: dict[str, Any]) -> RecipeFile:
    """Validate in two steps, the frame and the family's parameters; all errors are collected."""
    errors: list[str] = []
    frame: RecipeFile | None = None
    plain = _plain(tree)
    context["folder"] = origin.path.resolve().parent
    try:
        frame = RecipeFile.model_validate_json(orjson.dumps(plain), strict=True, context=context)
    except ValidationError as error:
        errors += validation_messages(error, RecipeFile.model_json_schema(), plain, origin, ())
    name = plain.get("family")
    params = None
    if isinstance(name, str) and name not in families():
        hint = did_you_mean(name, families())
        errors.append(
            f"{origin.where(['family'])}: there is no family {name!r}{hint or '.'} "
            f"Families: {', '.join(families())}"
        )
    elif isinstance(name, str) and "params" in plain:
        adapter: TypeAdapter[Any] = TypeAdapter(family(name).params)
        try:
            data = orjson.dumps(plain["params"])
            params = adapter.validate_json(data, strict=True, context=context)
        except ValidationError as error:
            schema = adapter.json_schema()
            errors += validation_messages(error, schema, plain["params"], origin, ("params",))
    if frame is not None and name in families():
        errors += _unknown_agents(frame, origin)
    if errors or frame is None:
        raise RecipeError("\n".join(errors))
    return frame.model_copy(update={"params": params})


def _unknown_agents(frame: RecipeFile, origin: SourceMap) -> list[str]:
    """Keys of `models` that name neither a role nor an agent of the family."""
    agents = family(frame.family).agents
    known = list(dict.fromkeys([agent.role for agent in agents] + [a.name for a in agents]))
    return [
        f"{origin.where(['models', name])}: the family {frame.family} has no agent and no role "
        f"{name!r}{did_you_mean(name, known) or '.'} It has: {', '.join(known) or 'none'}"
        for name in frame.models
        if name not in known
    ]


def _plain(value: Any) -> Any:
    """YAML's values as JSON has them."""
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        # JSON ends at 64 bits; whatever is larger is out of every range here
        return int(value) if abs(value) < 2**63 else float(min(abs(value), 10**300))
    if isinstance(value, float):
        # JSON has neither infinity nor "not a number"; as a text each is refused where it stands
        return float(value) if math.isfinite(value) else str(value)
    return _text(value)


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()
