"""What is to be sent to a model, said with its price before anything is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from retgen.agents.calls import ModelOptions, cap_of, missing, notice
from retgen.agents.models import ModelSettings
from retgen.agents.prices import BYTES_A_TOKEN, Prices, table_date
from retgen.agents.prompt import Request
from retgen.errors import BudgetReached

_LENGTH = (0.7, 1.3)  # an answer's tokens, as parts of what is expected


def announce_price(
    settings: ModelSettings,
    requests: Iterable[Request],
    noun: str,
    folder: Path,
    model_options: ModelOptions,
    answer: int | None = None,
) -> None:
    """Say how many requests the ledger does not answer, and at what price.

    `noun`: of what they hold; `answer`: tokens of one, None where only what is sent is charged, and
    a request holds several. Raises `BudgetReached` where the cap leaves too little for them.
    """
    result = missing(requests, folder, model_options)
    if not result.requests:
        return
    name, prices = settings.full_name, Prices(model_options.prices)
    sent = sorted(result.size / each for each in BYTES_A_TOKEN)
    answers = [0.0, 0.0]
    if answer is not None:
        hidden = prices.reasoning(settings)
        answers = [result.requests * (answer * part + more)
                   for part, more in zip(_LENGTH, hidden, strict=True)]  # fmt: skip
    count = result.texts if answer is None else result.requests
    text = (
        f"{name}: {count:,} {noun} are to be sent in {result.requests:,} requests, "
        f"{sent[0]:,.0f} to {sent[1]:,.0f} tokens"
    )
    if answer is not None:
        text += f" and {answers[0]:,.0f} to {answers[1]:,.0f} of answers"
    price = prices.of(settings)
    if price is None:
        notice(f"{text}; the price is not known: add --price {name}=IN,OUT")
        return
    least, most = (
        (price.token_in * tokens + price.token_out * more) / 1e9
        for tokens, more in zip(sent, answers, strict=True)
    )
    source = "" if model_options.prices else f" (list prices of {table_date()})"
    notice(f"{text}: ${least:.4f} to ${most:.4f}{source}")
    cap = cap_of(model_options)
    fixed = price.token_in * sent[0] / 1e9  # an answer may be shorter than is expected
    if cap is not None and fixed > (left := max(0, cap - result.nano_usd) / 1e9):
        raise BudgetReached(
            f"{name}: the {noun} to be sent cost ${fixed:.4f} at the least, and ${left:.4f} of the "
            "cap are left, so none is sent. Raise --max-usd to go on; what was answered is kept."
        )
