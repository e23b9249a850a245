"""Prices of models: `--price` from the command line, else the list in the package genai-prices.

The list lies in the installed package; nothing is downloaded. A model that neither names has no
price, and a cap then needs `--price`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from typing import NamedTuple

from retgen.agents.chat import part
from retgen.agents.models import ModelSettings
from retgen.agents.prompt import Request
from retgen.errors import UsageError

BYTES_A_TOKEN = (3.4, 4.8)  # of English and JSON; four in the middle

# Providers that charge by their own list: the list's name, then ours. Routers such as OpenRouter
# are left out: the host that answers may charge more than is listed.
_PROVIDERS = {
    **{name: name for name in "anthropic cohere deepseek fireworks groq openai together".split()},
    "google": "google_genai",
    "mistral": "mistralai",
    "voyageai": "voyage",
    "x-ai": "xai",
}
_BATCH = {"processing": "batch"}  # the list's mark of prices for batches
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")

# Models that reason unless told not to. The list does not mark them.
_REASONS = re.compile(
    r"(?i)gpt-5(?!.*chat)|gpt-[6-9]|^o[134]\b|gemini-(2\.5-pro|2\.5-flash$|[3-9])|deepseek"
    r"|gpt-oss|qwen3|qwq|kimi|glm|grok-[4-9](?!.*non-reasoning)"
)


class Price(NamedTuple):
    """Nano-dollars a token; zeros for a model that costs nothing.

    `long_prompts`: (tokens, price in, price out) of requests whose prompt has more tokens.
    """

    token_in: int = 0
    token_out: int = 0
    long_prompts: tuple[tuple[int, int, int], ...] = ()

    def of(self, tokens_in: int, tokens_out: int) -> int:
        """Price of one request."""
        rates = [(self.token_in, self.token_out)]
        rates += [(cost_in, out) for start, cost_in, out in self.long_prompts if tokens_in > start]
        return max(cost_in * tokens_in + out * tokens_out for cost_in, out in rates)

    def worst(self, request: Request, max_tokens: int) -> int:
        """The most that a request can cost; no tokenizer makes more tokens than there are bytes."""
        return self.of(len(request.body), max_tokens)


class Prices:
    """Prices by model. `given`: the values of `--price`, IN,OUT or MODEL=IN,OUT, taken as they are.
    `batch`: look up prices of batch APIs; without one in the list, it is the usual price.
    """

    def __init__(self, given: Sequence[str] = (), *, batch: bool = False) -> None:
        self._given, self.given, self.batch = dict(map(_given, given)), bool(given), batch

    def of(self, model: ModelSettings) -> Price | None:
        """The price of a model, or None if it is not known."""
        for name in (model.full_name, model.name, ""):
            if name in self._given:
                return self._given[name]
        if model.base_url:
            return None  # a server of one's own does not charge what the provider of a name does
        return _listed(model, batch=self.batch)

    def reasoning(self, model: ModelSettings) -> tuple[int, int]:
        """Hidden tokens to reckon with for an answer: the fewest and the most."""
        extra = model.extra
        effort = extra.get("reasoning_effort") or part(extra, "reasoning").get("effort")
        budget = part(extra, "thinkingConfig").get("thinkingBudget")
        if effort in ("none", "minimal") or budget == 0:
            return 0, 0
        reasons = budget or "thinking" in extra or _REASONS.search(model.name)
        return (100, 1500) if reasons else (0, 0)


def price_list() -> str:
    """The list of prices and its version, as messages name it."""
    return f"genai-prices {version('genai-prices')}"


def _given(text: str) -> tuple[str, Price]:
    model, _, numbers = text.rpartition("=")
    try:
        dollars_in, dollars_out = map(Decimal, numbers.split(","))
        if not (0 <= dollars_in < 1e6 and 0 <= dollars_out < 1e6) or text.startswith("="):
            raise ValueError
        return model, Price(_nano(dollars_in), _nano(dollars_out))
    except (ValueError, ArithmeticError) as error:
        raise UsageError(
            f"--price {text}: write the dollars per million tokens as IN,OUT, for example "
            "--price 0.25,2.00; for one of several models as MODEL=IN,OUT"
        ) from error


def _nano(dollars: Decimal) -> int:
    """Nano-dollars a token from dollars per million, rounded up so that a cap holds."""
    return math.ceil(dollars * 1000)


def _listed(model: ModelSettings, *, batch: bool) -> Price | None:
    """The highest list price of the coming week: a run may go on into peak hours or past a change
    that has been announced.
    """
    from genai_prices.data import providers  # takes .3 s, so only where a model is used
    from genai_prices.types import TieredPrices, calc_unit_price

    provider = next((one for one in providers if _PROVIDERS.get(one.id) == model.provider), None)
    # a dated name costs what the plain one does, unless it is listed
    names = (model.name, _DATED.sub("", model.name))
    found = provider and (provider.find_model(names[0]) or provider.find_model(names[1]))
    if not found:
        return None
    now, context = datetime.now(UTC), _BATCH if batch else None
    hours = [found.get_prices(now + timedelta(hours=n), context) for n in range(7 * 24)]
    if hours[0].input_mtok is None:
        return None  # charged by the page, image or hour

    def highest(tokens: int, *units: str) -> int:
        """Nano-dollars a token, for a prompt of so many tokens."""
        prices = [getattr(hour, unit) for hour in hours for unit in units]
        return _nano(max(calc_unit_price(price, 1, tokens, 1) for price in prices))

    # OpenAI writes prompts into its cache unasked, which can cost more than to read them
    prompt = ("input_mtok", "cache_write_mtok") if model.provider == "openai" else ("input_mtok",)
    tiers = [hour.input_mtok.tiers for hour in hours if isinstance(hour.input_mtok, TieredPrices)]
    starts = sorted({tier.start for each in tiers for tier in each})
    longer = [(n, highest(n + 1, *prompt), highest(n + 1, "output_mtok")) for n in starts]
    return Price(highest(0, *prompt), highest(0, "output_mtok"), tuple(longer))
