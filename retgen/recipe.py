"""Recipes: read, checked against their family, resolved, compared.

A recipe is YAML. All its errors are reported at once, each with file, line and key, what is
allowed, and the nearest spelling. Resolving writes every default and override out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from retgen.errors import RecipeError
from retgen.generators import Family, families, family
from retgen.generators.family import Job

__all__ = [
    "Output",
    "Recipe",
    "RuleSettings",
    "bundled",
    "compare",
    "json_schema",
    "load_recipe",
    "parse_override",
    "resolved",
    "to_yaml",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Output(_Strict):
    """How dataset/ is written."""

    format: Literal["jsonl", "parquet"] = "jsonl"
    shards: Literal["auto"] | Annotated[int, Field(ge=1, le=100_000)] = Field(
        "auto", description="corpus files; auto: one up to 1,000,000 documents"
    )


class RuleSettings(_Strict):
    """Thresholds of the rules. A rule is switched off only by name and with a reason."""

    order_leak_p: float = Field(1e-6, gt=0, lt=1, description="level of the order-leak tests")
    off: dict[str, Annotated[str, Field(min_length=3)]] = Field(
        default_factory=dict, description="rule name -> why it is switched off"
    )


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("a name is lower-case letters, digits, '_', '-' and '.'")
    return value


class Recipe(_Strict):
    """A recipe whose `params` have been checked by its family."""

    name: Annotated[str, AfterValidator(_name), Field(max_length=100)]
    family: str
    seed: int = Field(42, ge=0, lt=2**63)
    model: Literal["offline"] = "offline"
    limit: int | None = Field(None, ge=1, description="at most so many records")
    params: Any
    rules: RuleSettings = Field(RuleSettings(), alias="validate")
    output: Output = Output()

    def the_family(self) -> Family[Any]:
        """The family that the recipe names."""
        return family(self.family)

    def job(self) -> Job[Any]:
        """The recipe as its family sees it."""
        return Job(self.name, self.seed, self.params, self.limit)


def bundled() -> dict[str, Path]:
    """Name to path of the bundled recipes, sorted by name."""
    import retgen.recipes as package

    folder = Path(next(iter(package.__path__)))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_recipe(source: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe from a path, else from the bundled ones by name.

    `overrides`: dotted keys ("params.k") to values, as `--set` gives them. Raises `RecipeError`
    with one line for every error.
    """
    path = _find(source)
    tree = _parse(path)
    origin = _Origin(path, tree, tuple(overrides or ()))
    for key, value in (overrides or {}).items():
        _set(tree, key, value)
    return _check(tree, origin)


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` as (key, value), the value read as YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RecipeError(f"--set {text}: write key=value, for example --set params.k=3")
    try:
        return key.strip(), YAML(typ="safe", pure=True).load(value)
    except YAMLError as error:
        raise RecipeError(f"--set {text}: the value is not YAML") from error


def resolved(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Path]]:
    """(the recipe with every default written out, the files to copy beside it by relative path)."""
    copies: dict[str, Path] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            name = f"inputs/{value.name}"
            copies[name] = value
            return name
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return value

    tree = recipe.model_dump(by_alias=True)
    tree["params"] = recipe.params.model_dump(by_alias=True)
    return plain(tree), copies


def to_yaml(tree: Mapping[str, Any]) -> str:
    """A resolved recipe as YAML, keys in their order."""
    import io

    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    out = io.StringIO()
    yaml.dump(dict(tree), out)
    return out.getvalue()


def compare(old: Any, new: Any, key: str = "") -> list[str]:
    """The dotted keys in which two resolved recipes differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            found
            for name in dict.fromkeys([*old, *new])
            for found in compare(old.get(name), new.get(name), f"{key}.{name}" if key else name)
        ]
    return [] if old == new else [key]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of recipes, for editors: one branch a family."""
    branches = []
    definitions: dict[str, Any] = {}
    for name in families():
        base = Recipe.model_json_schema(ref_template="#/$defs/{model}")
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
    path = Path(source)
    if path.is_file():
        return path
    if path.is_dir() and (path / "recipe.yaml").is_file():
        return path / "recipe.yaml"
    names = bundled()
    if str(source) in names:
        return names[str(source)]
    if path.exists():
        raise RecipeError(f"{path} is a folder without recipe.yaml; give a recipe file")
    wanted = path.stem if path.suffix in (".yaml", ".yml") else str(source)
    hint = _did_you_mean(wanted, names)
    raise RecipeError(
        f"{source}: there is no such file, and no bundled recipe of that name{hint or '.'} "
        "`gen recipes` lists them."
    )


def _parse(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: is not a UTF-8 text file") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = (error.problem or "").split(" with value")[0].strip()
        raise RecipeError(f"{path}{line}: is not YAML: {problem}") from error
    except YAMLError as error:
        raise RecipeError(f"{path}: is not YAML: {error}") from error
    if not isinstance(tree, dict):
        raise RecipeError(
            f"{path}: a recipe is a mapping with name, family and params, this is not one"
        )
    return tree


@dataclass(frozen=True)
class _Origin:
    """Where the values of a recipe stand."""

    path: Path
    tree: Any
    overridden: tuple[str, ...]

    def where(self, keys: Sequence[str | int]) -> str:
        """ "FILE, line N, key" of a value, or the `--set` that gave it."""
        dotted = ".".join(map(str, keys))
        for given in self.overridden:
            if dotted == given or dotted.startswith(f"{given}."):
                return f"--set {dotted}"
        line, node = None, self.tree
        for key in keys:
            marks: Any = getattr(node, "lc", None)
            with contextlib.suppress(AttributeError, KeyError, TypeError, IndexError):
                line = (marks.key(key) if isinstance(node, dict) else marks.item(key))[0] + 1
            try:
                node = node[key]
            except (KeyError, IndexError, TypeError):
                break
        return f"{self.path}{f', line {line}' if line else ''}, {dotted}"


def _set(tree: Any, dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    node = tree
    for key in parents:
        if not isinstance(node.get(key), dict):
            node[key] = {}
        node = node[key]
    node[last] = value


# --- checking -----------------------------------------------------------------------------------


def _check(tree: Any, origin: _Origin) -> Recipe:
    """Validate in two steps, the frame and the family's parameters; all errors are collected."""
    errors: list[str] = []
    frame: Recipe | None = None
    plain = _plain(tree)
    try:
        frame = Recipe.model_validate_json(orjson.dumps(plain), strict=True)
    except ValidationError as error:
        errors += _messages(error, Recipe.model_json_schema(), plain, origin, ())
    name = plain.get("family")
    params = None
    if isinstance(name, str) and name not in families():
        hint = _did_you_mean(name, families())
        errors.append(
            f"{origin.where(['family'])}: there is no family {name!r}{hint or '.'} "
            f"Families: {', '.join(families())}"
        )
    elif isinstance(name, str) and "params" in plain:
        adapter: TypeAdapter[Any] = TypeAdapter(family(name).params)
        try:
            params = adapter.validate_json(
                orjson.dumps(plain["params"]),
                strict=True,
                context={"folder": origin.path.resolve().parent},
            )
        except ValidationError as error:
            schema = adapter.json_schema()
            errors += _messages(error, schema, plain["params"], origin, ("params",))
    if errors or frame is None:
        raise RecipeError("\n".join(errors))
    return frame.model_copy(update={"params": params})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return str(value)


def _messages(
    error: ValidationError, schema: Any, data: Any, origin: _Origin, prefix: tuple[str, ...]
) -> Iterator[str]:
    found = error.errors(include_url=False)
    for item in found:
        # a list whose items were refused is also reported as too short
        if item["type"] == "too_short" and any(
            other["loc"][: len(item["loc"])] == item["loc"] != other["loc"] for other in found
        ):
            continue
        keys = _keys(item["loc"], data, item["type"])
        where = origin.where([*prefix, *keys])
        yield f"{where}: {_explain(item, keys, schema, data)}"


def _keys(loc: Sequence[str | int], data: Any, kind: str) -> list[str | int]:
    """The path in the recipe; pydantic's also holds the tags of unions, which are no keys."""
    keys: list[str | int] = []
    node = data
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        if isinstance(node, dict) and (part in node or (last and kind == "missing")):
            keys.append(part)
            node = node.get(str(part))
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            keys.append(part)
            node = node[part]
    return keys


def _explain(item: Any, keys: Sequence[str | int], schema: Any, data: Any) -> str:
    kind, given, context = item["type"], item.get("input"), item.get("ctx", {})
    got = f", not {_show(given)}"
    match kind:
        case "extra_forbidden":
            allowed = _allowed(schema, data, keys[:-1])
            hint = _did_you_mean(str(keys[-1]), allowed)
            return f"unknown key{hint or '.'} Allowed: {', '.join(allowed)}"
        case "missing":
            return "is missing"
        case "union_tag_not_found":
            tag = str(context["discriminator"]).strip("'")
            choices = _choices(schema, data, keys)
            return f"needs {tag}, one of {', '.join(choices)}"
        case "union_tag_invalid":
            tag = str(context["discriminator"]).strip("'")
            choices = [choice.strip("' ") for choice in str(context["expected_tags"]).split(",")]
            hint = _did_you_mean(str(context["tag"]), choices)
            return (
                f"there is no {tag} {context['tag']!r}{hint or '.'} Possible: {', '.join(choices)}"
            )
        case "literal_error":
            hint = _did_you_mean(str(given), re.findall(r"'([^']*)'", str(context["expected"])))
            return f"must be {context['expected']}{got}{hint}"
        case "int_type" | "int_from_float" | "int_parsing":
            return f"must be a whole number{got}"
        case "float_type" | "float_parsing":
            return f"must be a number{got}"
        case "string_type":
            return f"must be a text{got}"
        case "bool_type":
            return f"must be true or false{got}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"must be a mapping{got}"
        case "tuple_type" | "list_type":
            return f"must be a list{got}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}{got}"
        case "greater_than":
            return f"must be above {context['gt']}{got}"
        case "less_than_equal":
            return f"must be at most {context['le']}{got}"
        case "less_than":
            return f"must be below {context['lt']}{got}"
        case "value_error":
            return str(context["error"])
        case _:
            text = str(item["msg"])
            return text[:1].lower() + text[1:] + got


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _did_you_mean(given: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A question to append, or nothing where no known word is near."""
    from rapidfuzz import fuzz, process

    found = process.extractOne(given, list(known), scorer=fuzz.ratio, score_cutoff=60)
    return f"; did you mean {found[0]}?" if found and found[0] != given else ""


def _node(schema: Any, data: Any, keys: Sequence[str | int]) -> tuple[Any, Any]:
    """The part of a JSON Schema, and of the data, that a path leads to."""
    node, value = _object(schema, schema, data), data
    for key in keys:
        value = value[key] if isinstance(value, dict | list) else None  # type: ignore[index]
        inner = node.get("properties", {}).get(key) if isinstance(key, str) else node.get("items")
        node = _object(schema, inner or {}, value)
    return node, value


def _object(schema: Any, node: Any, value: Any) -> Any:
    """Follow references, and the branch of a union that the data chose."""
    while True:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        elif "discriminator" in node:
            tag = node["discriminator"]["propertyName"]
            chosen = value.get(tag) if isinstance(value, dict) else None
            mapping = node["discriminator"]["mapping"]
            if chosen not in mapping:
                return node
            node = {"$ref": mapping[chosen]}
        elif "anyOf" in node:
            node = next((branch for branch in node["anyOf"] if branch.get("type") != "null"), {})
        else:
            return node


def _allowed(schema: Any, data: Any, keys: Sequence[str | int]) -> list[str]:
    return list(_node(schema, data, keys)[0].get("properties", {}))


def _choices(schema: Any, data: Any, keys: Sequence[str | int]) -> list[str]:
    return sorted(_node(schema, data, keys)[0].get("discriminator", {}).get("mapping", {}))
