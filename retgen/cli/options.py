"""Options of commands, declared as tables: a row an option, its kind by its metavar.

    --model M          a model that is scored. Repeatable.
    --limit N          at most so many

Rows describe parameters of a function: `--max-usd` its `max_usd`, `--set` its `set_`, `PATH` its
`path`. A parameter whose annotation is a group (a dataclass with a table `OPTIONS`) stands for all
options of the group, which is declared once and shown in a panel of its own.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

import typer

from retgen.errors import UsageError


def complete_recipe(incomplete: str) -> list[str]:
    from retgen.recipes import bundled

    files = [str(path) for path in Path().glob(f"{incomplete}*.yaml")]
    return [name for name in bundled() if name.startswith(incomplete)] + files


def complete_family(incomplete: str) -> list[str]:
    from retgen.generators import families

    return [name for name in families() if name.startswith(incomplete)]


def complete_model(incomplete: str) -> list[str]:
    from retgen.evaluation.retrievers import names

    return [name for name in names() if name.startswith(incomplete)]


def given_path(text: str) -> Path:
    """A path as it was given; an empty one (a shell variable that is not set) is no folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty: give a path")
    if text.startswith("s3:"):
        raise typer.BadParameter(
            f"{text} is in a bucket, and this must be a path: `gen publish RUN {text}` puts a run "
            "there"
        )
    return Path(text)


def given_ledger(text: str) -> Path:
    """The file of a ledger; the address of a server is not repeated, as it may hold a password."""
    if "://" in text:
        raise typer.BadParameter("a ledger is a file, not an address")
    return given_path(text)


# what a metavar says of the values: of numbers the least, of names how they are completed
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "N": {"min": 1},
    "NUMBER": {"min": 0},
    "PORT": {"min": 0, "max": 65535},
    "USD": {"min": 0.0},
    "M": {"autocompletion": complete_model},
    "RECIPE": {"autocompletion": complete_recipe},
    "FAMILY": {"autocompletion": complete_family},
    "LEDGER": {"parser": given_ledger, "envvar": "RETGEN_LEDGER"},
}
_ROW = re.compile(r"(\S+)(?: (\S+))?  +(\S.*)")


def rows_of(table: str) -> Iterator[tuple[str, str | None, str]]:
    """(flags or metavar, metavar, help) of each row; indented lines go on with the one before."""
    text = re.sub(r"\n +", " ", textwrap.dedent(table).strip("\n"))
    for line in text.splitlines():
        match = _ROW.fullmatch(line)
        if match is None:
            raise ValueError(f"no row of options: {line}")
        yield match[1], match[2], match[3]


def _name(flags: str) -> str:
    """The parameter of a row: that of its long option, or of its argument."""
    long = max(flags.split("/")[0].split(","), key=len)
    return re.sub(r"\W+", "_", long.strip("-.[]")).lower()


def described(
    parameters: list[inspect.Parameter], table: str, panel: str | None = None
) -> list[inspect.Parameter]:
    """Parameters as typer reads them. Raises `KeyError` for one without a row."""
    rows = {_name(row[0]): row for row in rows_of(table)}
    result = []
    for one in parameters:
        if hasattr(one.annotation, "__metadata__") or one.annotation is typer.Context:
            result.append(one)  # an option that says all itself
            continue
        flags, metavar, text = rows[one.name.rstrip("_")]
        words: dict[str, Any] = {"help": text, "rich_help_panel": panel}
        if Path in _types(one.annotation):
            words["parser"] = given_path
        kind = metavar or flags
        words |= _KINDS.get(kind.strip("[].") if kind else "", {})
        if flags.startswith("-"):
            made: Any = typer.Option(*flags.split(","), metavar=metavar, **words)
        else:
            made = typer.Argument(metavar=flags, show_default=False, **words)
        result.append(one.replace(annotation=Annotated[one.annotation, made]))
    return result


def _types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for one in get_args(annotation):
        yield from _types(one)


def expanded(
    function: Callable[..., Any], table: str
) -> tuple[list[inspect.Parameter], Callable[[dict[str, Any]], dict[str, Any]]]:
    """The parameters of a command for typer; and what makes of their values the function's."""
    own: list[inspect.Parameter] = []
    grouped: dict[str, Any] = {}
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(one.annotation):
            grouped[one.name] = one.annotation
        else:
            own.append(one)
    result = described(own, table)
    for group in grouped.values():
        types = inspect.get_annotations(group, eval_str=True)
        parameters = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=types[one.name],
            )
            for one in fields(group)
        ]
        result += described(parameters, group.OPTIONS, group.PANEL)

    def collected(values: dict[str, Any]) -> dict[str, Any]:
        made = {
            name: group(**{one.name: values.pop(one.name) for one in fields(group)})
            for name, group in grouped.items()
        }
        return values | made

    return result, collected


def refuse_given(given: Mapping[str, Any], why: str) -> None:
    """Raise `UsageError` for options that do not go with what else is given. `why`: a sentence."""
    if names := [name for name, value in given.items() if value not in (None, False, [])]:
        raise UsageError(f"{', '.join(names)}: {why}")


@dataclass(frozen=True)
class Spending:
    """What calls of models may cost, and where their answers are kept."""

    max_usd: float | None = None
    price: list[str] | None = None
    ledger: Path | None = None

    PANEL: ClassVar[str] = "Models behind an API"
    OPTIONS: ClassVar[str] = """
        --max-usd USD     Hard limit on model costs, in dollars.
        --price IN,OUT    Dollars per million tokens of an unlisted model; MODEL=IN,OUT for one of
                          several.
        --ledger LEDGER   Ledger of all calls; default ledger.sqlite beside the run. One process at
                          a time.
        """

    def options(self, **more: Any) -> Any:
        """How models are called: `ModelOptions`."""
        load_keys()
        from retgen.agents.models import ModelOptions
        from retgen.agents.prices import Prices

        prices = tuple(self.price or ())
        Prices(prices)  # what is no price is refused, whether a model is asked or not
        return ModelOptions(self.ledger, self.max_usd, prices, **more)

    def check(self, names: list[str], instead: str, **others: Any) -> None:
        """Raise `UsageError` for options about models behind an API where `names` has none."""
        from retgen.evaluation.retrievers import asked_models, check_name

        for name in names:
            check_name(name)  # before an option of models is refused for a name that means nothing
        if not any(asked_models(name) for name in names):
            given = {"--max-usd": self.max_usd, "--price": self.price, **others}
            refuse_given(given, f"about models behind an API: name one, as {instead}")


def load_keys() -> None:
    """Put the keys of a file .env into the environment, where they are looked for."""
    if not Path(".env").is_file():
        return
    from dotenv import load_dotenv

    try:
        load_dotenv(Path(".env"), override=False)
    except (ValueError, OSError) as error:
        raise UsageError(".env: is not a text file of NAME=value lines") from error


@dataclass(frozen=True)
class Encoding:
    """How embedders are loaded and encode."""

    device: str | None = None
    dtype: str | None = None
    batch_size: int | None = None
    max_length: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    trust_remote_code: bool = False
    no_cache: bool = False

    PANEL: ClassVar[str] = "Models on this machine"
    OPTIONS: ClassVar[str] = """
        --device NAME           cpu, cuda, cuda:0, mps.
        --dtype NAME            float32 (default), bf16, float16; auto: as it was saved.
        --batch-size N          Texts encoded at a time.
        --max-length N          Tokens a model reads.
        --query-prompt TEXT     Put before every query.
        --document-prompt TEXT  Put before every document.
        --trust-remote-code     Run code shipped with a model.
        --no-cache              Keep no embeddings on disk.
        """

    def options(self, **more: Any) -> Any:
        """How retrievers are made: `Options`."""
        from retgen.evaluation.retrievers import Options

        given = {one.name: getattr(self, one.name) for one in fields(self)}
        del given["no_cache"]
        return Options(**{**given, **more})
