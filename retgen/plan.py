"""`gen plan` and `gen preview`: what a recipe will make and cost, and a few of its records.

Neither writes files or calls a model. The family estimates the calls, from few to many; tokens are
estimated from bytes, since no tokenizer is at hand. A pilot replaces both by what it measured.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.agents.models import ModelOptions, ModelSettings
from retgen.agents.prices import BYTES_A_TOKEN, Prices, price_list
from retgen.errors import UsageError
from retgen.generators.family import CallEstimate, Plan
from retgen.generators.records import Records
from retgen.generators.source import DocumentSource
from retgen.licences import licence_fault
from retgen.recipe import Recipe, load_recipe
from retgen.results.numbers import duration
from retgen.statistics.clustered import wilson
from retgen.work import Local
from retgen.write import size_text

if TYPE_CHECKING:  # most plans ask no model
    from retgen.agents.report import CallReport, Stage

_LONG = 400  # characters of an example that are shown
NOT_STATED = DocumentSource.model_fields["licence"].default
_LENGTH = (0.7, 1.3)  # an answer's tokens, as parts of what the family expects
_SECONDS = (0.5, 2.0)  # until an answer begins
_TOKENS_A_SECOND = (150.0, 25.0)  # of one answer


# what an agent needs, (4, 2): calls, tokens in, tokens out, seconds a call, from few to many
_Range = NDArray[np.float64]


def plan(
    source: str | Path | Recipe,
    overrides: Mapping[str, Any] | None = None,
    prices: Sequence[str] = (),
    *,
    batch: bool = False,
) -> Plan:
    """The plan of a recipe: counts, calls, tokens, dollars, seconds, bytes.

    `prices`: as `--price` has them; `batch`: models are asked through batch APIs. Raises
    `RecipeError` where the recipe asks for something impossible.
    """
    recipe = source if isinstance(source, Recipe) else load_recipe(source, overrides)
    result = _with_licence_note(recipe.family.plan(recipe.job), recipe)
    if not result.call_estimates:
        return result
    table, settings = Prices(prices, batch=batch), recipe.models
    ranges, notes = {}, list(result.notes)
    for agent, estimate in result.call_estimates.items():
        hidden = table.reasoning(settings[agent])
        ranges[agent] = _range_from_estimate(estimate, hidden)
        if hidden[1]:
            notes.append(
                f"{settings[agent].full_name} reasons: {hidden[0]:,} to {hidden[1]:,} hidden "
                "tokens a call are counted; a pilot (gen run --pilot N) sees how many they are"
            )
    return _with_prices(replace(result, notes=tuple(notes)), settings, ranges, table)


def _with_licence_note(result: Plan, recipe: Recipe) -> Plan:
    """The plan, with a note where the user's documents have no licence, or one that is unknown."""
    source = getattr(recipe.job.params, "source", None)
    if not isinstance(source, DocumentSource):
        return result
    note: str | None = (
        "the licence of your documents is not stated: set `licence:` of the source, or give "
        "`gen publish --licence`"
    )
    if source.licence != NOT_STATED:
        fault = licence_fault(source.licence)
        note = fault and f"params.source.licence: {fault}"
    return replace(result, notes=(*result.notes, note)) if note else result


def plan_from(recipe: Recipe, call_report: CallReport, model_options: ModelOptions) -> Plan:
    """The plan of a recipe after a pilot: from its calls, tokens, times and rejections."""
    family, job = recipe.family, recipe.job
    result = family.plan(job)
    if result.unknown:  # it has been read since
        result = family.plan(job._replace(limit=max(stage.total for stage in call_report.stages)))
    table, notes = Prices(model_options.prices, batch=bool(model_options.batch)), [*result.notes]
    ranges = {  # what the pilot did not reach stays an estimate
        agent: _range_from_estimate(estimate, table.reasoning(recipe.models[agent]))
        for agent, estimate in result.call_estimates.items()
    }
    for stage in call_report.stages:
        tried = stage.done + stage.rejected
        low, high = wilson(stage.done, tried)
        notes.append(
            f"pilot, {stage.name}: {stage.done:,} of {tried:,} accepted "
            f"({stage.done / max(1, tried):.0%}; 95% interval {low:.0%} to {high:.0%})"
        )
        for made in stage.examples:
            shown = made._asdict() if hasattr(made, "_asdict") else made
            message = orjson.dumps(shown, default=str).decode()
            cut = message if len(message) <= _LONG else message[:_LONG] + " ..."
            notes.append(f"for example: {cut}")
        for agent in stage.agents:
            if agent in result.call_estimates and tried:
                ranges[agent] = _range_from_pilot(call_report, agent, stage, tried, low, high)
    if call_report.unstated:
        notes.append(
            f"{call_report.unstated:,} answers did not say how many tokens they took; "
            "they count, and are charged, as the most that they could be"
        )
    return _with_prices(replace(result, notes=tuple(notes)), recipe.models, ranges, table)


def _range_from_estimate(estimate: CallEstimate, hidden: tuple[int, int]) -> _Range:
    calls = np.multiply(estimate.records, estimate.calls)
    tokens_in = calls * estimate.prompt / BYTES_A_TOKEN[::-1]
    answer = np.multiply(estimate.answer, _LENGTH) + hidden
    return np.array([calls, tokens_in, calls * answer, _SECONDS + answer / _TOKENS_A_SECOND])


def _range_from_pilot(
    call_report: CallReport, agent: str, stage: Stage, tried: int, low: float, high: float
) -> _Range:
    calls = call_report.calls[agent] + call_report.cached[agent]
    seconds = call_report.milliseconds[agent] / 1e3 / max(1, call_report.calls[agent])
    most = stage.candidates or math.inf
    needed = [min(stage.total / max(rate, 1e-9), most) for rate in (high, low)]
    # as many records tried, by those of the pilot
    counts = (calls, call_report.tokens_in[agent], call_report.tokens_out[agent])
    return np.array([*np.outer(counts, np.divide(needed, tried)), (seconds, seconds)])


def _with_prices(
    result: Plan,
    settings: Mapping[str, ModelSettings],
    ranges: Mapping[str, _Range],
    table: Prices,
) -> Plan:
    notes = list(result.notes)
    dollars, seconds = np.zeros(2), np.zeros(2)
    calls, models, tokens = {}, {}, {"in": 0, "out": 0}
    for agent, one in ranges.items():
        model, (number, tokens_in, tokens_out, each) = settings[agent], one
        models[agent] = model.full_name
        calls[agent] = round(number.mean())
        tokens["in"] += round(tokens_in.mean())
        tokens["out"] += round(tokens_out.mean())
        seconds += number * each / model.concurrency
        if (price := table.of(model)) is None:
            dollars += math.nan
            name = model.full_name
            notes.append(f"the price of {name} is not known: add --price {name}=IN,OUT")
            continue
        dollars += (tokens_in * price.token_in + tokens_out * price.token_out) / 1e9
        if not table.given:
            notes.append(f"list prices of {price_list()}{', for batches' if table.batch else ''}")
    if table.batch:
        seconds = np.zeros(2)
        notes.append("every round of questions and of repairs waits for a batch: minutes to a day")
    cheap, dear = dollars.round(6).tolist()
    fast, slow = seconds.round(1).tolist()
    return replace(
        result,
        notes=tuple(dict.fromkeys(notes)),
        calls=calls,
        models=models,
        tokens=tokens,
        usd=None if math.isnan(cheap) else (cheap, dear),
        seconds=(fast, slow),
    )


def plan_lines(result: Plan) -> list[str]:
    """A plan for people."""
    notes = [f"note: {note}" for note in result.notes]
    if result.unknown:
        unknown = ["documents", "queries", "qrels"]
        unknown += [f"calls of {agent}, {who}" for agent, who in result.models.items()]
        return [*(f"{'not known':>12}  {what}" for what in unknown), *notes]
    rows = [
        (
            f"{result.documents:,}",
            "documents"
            if (n := result.source_documents) is None
            else f"passages of {n:,} documents",
        ),
        (f"{result.queries:,}", "queries, at most about" if result.about else "queries"),
        (f"{result.qrels:,}", "qrels, about" if result.about else "qrels"),
        (f"{sum(result.calls.values()):,}", "model calls"),
    ]
    if result.calls:
        rows += [
            (f"{number:,}", f"  {agent}, {result.models[agent]}")
            for agent, number in result.calls.items()
        ]
        rows.append((f"{result.tokens['in']:,}", "tokens in, about"))
        rows.append((f"{result.tokens['out']:,}", "tokens out, about"))
        usd = result.usd
        rows.append(
            ("?" if usd is None else f"{_usd(usd[0])} to {_usd(usd[1])}", "at these prices")
        )
        if any(result.seconds):  # nobody knows how long batches take
            rows.append((" to ".join(map(duration, result.seconds)), "for the calls"))
    else:
        rows.append(("$0.00", "no model calls"))
    rows.append((size_text(result.bytes), "on disk, about"))
    width = max(12, *(len(number) for number, _ in rows))
    return [*(f"{number:>{width}}  {what}" for number, what in rows), *notes]


def _usd(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def preview(
    source: str | Path, n: int = 3, overrides: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The first `n` queries, their qrels, the documents these name, and the first `n` documents.

    "example": a record as the family lays it out, None where it does not.
    """
    recipe = load_recipe(source, overrides)
    if recipe.live:
        raise UsageError(
            "a preview asks no model; try the recipe with `gen run RECIPE --pilot 5`, or with "
            "--set model=offline"
        )
    with tempfile.TemporaryDirectory() as folder:
        if recipe.needs_sources:
            from retgen.generate import generate_with_agents

            generate_with_agents(recipe, Path(folder), ModelOptions(), engine=Local(1))
        return _records(recipe.at(Path(folder)).records(), n)


_ROWS = 20_000  # of a table that are made at once
_FARTHEST = 1_000_000  # documents among which the relevant ones are looked for


def _records(records: Records, n: int) -> dict[str, Any]:
    def rows(table: Any, start: int, stop: int) -> list[dict[str, Any]]:
        lines = table.jsonl(start, min(stop, table.count)).splitlines()
        return [orjson.loads(line) for line in lines]

    queries = rows(records.queries, 0, n)
    wanted = {query["_id"] for query in queries}
    first_split = next(iter(records.qrels.values()))
    qrels = [row for row in rows(first_split, 0, _ROWS) if row["query-id"] in wanted]
    relevant = {row["corpus-id"] for row in qrels if row["score"] > 0}
    result: list[dict[str, Any]] = []
    for start in range(0, min(records.corpus.count, _FARTHEST), _ROWS):
        if len(result) == len(relevant):
            break
        documents = rows(records.corpus, start, start + _ROWS)
        result += [document for document in documents if document["_id"] in relevant]
    return {
        "example": records.example._asdict() if records.example else None,
        "queries": queries,
        "qrels": qrels,
        "relevant": result,
        "corpus": rows(records.corpus, 0, n),
    }
