"""What models cost: a dated table that users may extend, or what the command line says.

Prices are dollars per million tokens. A file of the table's form named by RETGEN_PRICES comes
first, then ~/.config/retgen/prices.yaml, then the table that is bundled. What a table does not know
has no price: a cap then needs `--price`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.agents.chat import part
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Request
from retgen.errors import UsageError
from retgen.yaml_text import read_yaml

BYTES_A_TOKEN = (3.4, 4.8)  # of English and JSON; four in the middle
_BUNDLED = Path(__file__).parent / "prices.yaml"
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


class Price(NamedTuple):
    """Nano-dollars a token; zeros for a model that costs nothing."""

    token_in: int = 0
    token_out: int = 0

    def of(self, tokens_in: int, tokens_out: int) -> int:
        """What so many tokens cost."""
        return self.token_in * tokens_in + self.token_out * tokens_out

    def times(self, part: float) -> Price:
        """A part of it, rounded up so that a cap holds."""
        return Price(*(math.ceil(round(one * part, 6)) for one in self))

    def worst(self, request: Request, room: int, more: int = 0) -> int:
        """The most that a request can cost with `room` tokens for its answer.

        No tokenizer makes more tokens than there are bytes; `more`: what a server adds to them.
        """
        return self.of(len(request.body) + more, room)


class Prices:
    """Prices by model. `given`: as `--price` has them, IN,OUT or MODEL=IN,OUT; they stand as they
    are. `batch`: of requests in batches, which tables have as a part of the others.
    """

    def __init__(self, given: Sequence[str] = (), *, batch: bool = False) -> None:
        self._given, self.given, self.batch = dict(map(_given, given)), bool(given), batch
        self._files = price_files()

    def of(self, model: ModelSettings) -> Price | None:
        """The price of a model; None where nobody says."""
        for name in (model.full_name, model.name, ""):
            if name in self._given:
                return self._given[name]
        if model.base_url:
            return None  # a server of one's own does not charge what the provider of a name does
        for path in self._files:
            table = _read(path).prices.get(model.provider, {})
            # a dated name costs what the plain one does, unless it is listed
            for name in (model.name, _DATED.sub("", model.name)):
                if name in table:
                    return table[name].times(self._part(model.provider))
        return None

    def _part(self, provider: str) -> float:
        """Of the prices of a table, what a request costs."""
        parts = (_read(path).batch.get(provider) for path in self._files)
        return next((part for part in parts if part is not None), 1.0) if self.batch else 1.0

    def reasoning(self, model: ModelSettings) -> tuple[int, int]:
        """Hidden tokens to reckon with for an answer, at the least and at the most."""
        extra = model.extra
        effort = extra.get("reasoning_effort") or part(extra, "reasoning").get("effort")
        budget = part(extra, "thinkingConfig").get("thinkingBudget")
        asked = budget or "thinking" in extra
        if effort in ("none", "minimal") or budget == 0:
            return 0, 0
        for path in self._files:
            table = _read(path)
            if table.hidden is None:
                continue
            # a server of one's own may have any provider's model
            own = table.patterns
            patterns = own.values() if model.base_url else [own.get(model.provider)]
            if asked or any(one and re.search(one, model.name) for one in patterns):
                low, high = table.hidden
                return (low, high // 4) if effort == "low" else (low, high)
        return 0, 0

    def models(self) -> list[str]:
        """All models that a table has, as recipes name them."""
        result = (f"{provider}:{name}" for path in self._files
                 for provider, table in _read(path).prices.items() for name in table)  # fmt: skip
        return sorted(set(result))


def price_files() -> list[Path]:
    """The tables that are there, the first to look into first."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = os.environ.get("RETGEN_PRICES")
    if named and not Path(named).is_file():
        raise UsageError(f"RETGEN_PRICES names {named}, which is no file")
    paths = [Path(named)] if named else []
    own = home / "retgen" / "prices.yaml"
    return [*paths, *([own] if own.is_file() else []), _BUNDLED]


def _given(text: str) -> tuple[str, Price]:
    model, equals, numbers = text.rpartition("=")
    cells = numbers.split(",")
    try:
        if len(cells) != 2 or (equals and not model):
            raise ValueError
        return model, _price(float(cells[0]), float(cells[1]))
    except ValueError as error:
        raise UsageError(
            f"--price {text}: write the dollars per million tokens as IN,OUT, for example "
            "--price 0.25,2.00; for one of several models as MODEL=IN,OUT"
        ) from error


def _price(dollars_in: float, dollars_out: float) -> Price:
    """Whole nano-dollars a token, rounded up so that a cap holds."""
    if not (0 <= dollars_in < 1e6 and 0 <= dollars_out < 1e6):
        raise ValueError
    # what a decimal fraction misses in binary is no reason to round up
    return Price(*(math.ceil(round(one * 1000, 6)) for one in (dollars_in, dollars_out)))


class _Table(NamedTuple):
    """A file: prices by provider and model; what a batch costs of them, by provider;
    hidden tokens to reckon with (None: it says nothing) and, by provider, a pattern of the models
    that have them."""

    prices: Mapping[str, Mapping[str, Price]]
    batch: Mapping[str, float]
    hidden: tuple[int, int] | None
    patterns: Mapping[str, str]


@cache
def _read(path: Path) -> _Table:
    try:
        tree: Any = read_yaml(path, error=UsageError)
        prices = {
            str(provider): {
                str(name): _price(float(one["in"]), float(one["out"]))
                for name, one in table.items()
            }
            for provider, table in tree["prices"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}: is no price table. It says, in dollars per million tokens: "
            "prices: {openai: {gpt-5-mini: {in: 0.25, out: 2.00}}}"
        ) from error
    try:
        batch = {str(name): float(part) for name, part in tree.get("batch", {}).items()}
        if not all(0 < part <= 1 for part in batch.values()):
            raise ValueError
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}: its part `batch` says what batches cost of these prices, more than 0 and at "
            "most 1, as `batch: {openai: 0.5}`"
        ) from error
    if (stated := tree.get("reasoning")) is None:
        return _Table(prices, batch, None, {})
    try:
        low, high = map(int, stated["tokens"])
        patterns = {str(name): str(pattern) for name, pattern in stated["models"].items()}
        for pattern in patterns.values():
            re.compile(pattern)
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        raise UsageError(
            f"{path}: its part `reasoning` says `tokens: [LEAST, MOST]` and `models: {{PROVIDER: "
            "PATTERN OF NAMES}`"
        ) from error
    return _Table(prices, batch, (low, high), patterns)


@cache
def table_date() -> str:
    """The day that the bundled table was put together."""
    result = re.search(r"^checked: (\S+)", _BUNDLED.read_text("utf-8"), re.MULTILINE)
    return result[1] if result else "unknown"
