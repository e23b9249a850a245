"""The order of systems on two sets: tau, its interval, pairs, bias by family of writer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retgen.audits.order import SystemScores, agreement, maker, share_of_orders, writer_bias
from retgen.statistics.clustered import Units


def scores(name: str, means: dict[str, float], queries: int = 200, seed: int = 0) -> SystemScores:
    """Systems whose scores vary by query, with exactly these means."""
    values = np.random.default_rng(seed).normal(0, 0.1, (queries, len(means)))
    values += np.array([*means.values()]) - values.mean(axis=0)
    rows = np.arange(queries)
    return SystemScores(name, [*means], values, Units(rows, rows, f"{queries} queries"))


def test_the_same_order() -> None:
    real = scores("real", {"a": 0.8, "b": 0.6, "c": 0.45, "d": 0.2})
    found = agreement(scores("made", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, seed=1), real)
    assert (found.tau, found.systems) == ((1.0, 1.0, 1.0), 4)
    assert found.chance == pytest.approx(1 / 24)
    assert [(one.first, one.second) for one in found.pairs] == [
        ("a", "d"),
        ("b", "d"),
        ("a", "c"),
        ("c", "d"),
        ("a", "b"),
        ("b", "c"),
    ]
    assert all(one.certain and one.same for one in found.pairs)


def test_two_systems_turned_around() -> None:
    real = scores("real", {"a": 0.8, "b": 0.6, "c": 0.4})
    found = agreement(scores("made", {"a": 0.6, "b": 0.8, "c": 0.2}, seed=1), real)
    assert found.tau is not None
    assert found.chance is not None
    assert found.tau == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert found.chance == pytest.approx(3 / 6)
    turned = [one for one in found.pairs if one.reversed_for_certain]
    assert [(one.first, one.second, one.differs, one.same) for one in turned] == [
        ("a", "b", True, False)
    ]
    assert turned[0].real.difference == pytest.approx(0.2)
    assert turned[0].synthetic.difference == pytest.approx(-0.2)
    assert turned[0].synthetic.low is not None
    assert turned[0].synthetic.low < -0.2


def test_close_systems_have_a_wide_interval() -> None:
    """Nothing is certain, so the two orders may be equal, or opposite."""
    real = scores("real", {"a": 0.501, "b": 0.5, "c": 0.499})
    found = agreement(scores("made", {"a": 0.499, "b": 0.5, "c": 0.501}, seed=1), real)
    assert found.tau == (-1.0, -1.0, 1.0)
    assert not any(one.certain or one.differs for one in found.pairs)


def test_no_order_and_no_interval() -> None:
    real = scores("real", {"a": 0.5, "b": 0.4})
    level = SystemScores("made", ["a", "b"], np.ones((20, 2)), Units(range(20), range(20), "20 q"))
    found = agreement(level, real)
    assert (found.tau, found.chance, len(found.pairs)) == (None, None, 1)
    few = agreement(scores("made", {"a": 0.5, "b": 0.4}, queries=5), real)
    assert few.tau == (1.0, None, None)


@pytest.mark.parametrize(
    ("systems", "tau", "orders", "of"),
    [(2, 1, 1, 2), (3, 1 / 3, 3, 6), (4, 1, 1, 24), (4, 2 / 3, 4, 24), (5, -1, 120, 120)],
)
def test_share_of_random_orders(systems: int, tau: float, orders: int, of: int) -> None:
    assert share_of_orders(systems, tau) == pytest.approx(orders / of)
    assert of == math.factorial(systems)


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("openai:text-embedding-3-large", "OpenAI"),
        ("llm:openai:gpt-5-mini", "OpenAI"),
        ("openai:qwen3-8b", "Alibaba"),
        ("Qwen/Qwen3-Embedding-0.6B", "Alibaba"),
        ("google_genai:gemini-2.5-flash", "Google"),
        ("intfloat/e5-mistral-7b-instruct", "Mistral"),
        ("intfloat/e5-base-v2", "Microsoft"),
        ("bm25", ""),
    ],
)
def test_maker(name: str, who: str) -> None:
    assert maker(name) == who


def test_bias_by_family_of_writer() -> None:
    real = scores("real", {"openai:text-embedding-3-small": 0.5, "bm25": 0.5, "minilm": 0.5})
    means = {"openai:text-embedding-3-small": 0.7, "bm25": 0.5, "minilm": 0.6}
    made = scores("made", means, seed=1)
    found = writer_bias(["offline", "openai:gpt-5-mini"], made, real)
    assert found is not None
    assert (found.writer, found.maker, found.own) == (
        "openai:gpt-5-mini",
        "OpenAI",
        ["openai:text-embedding-3-small"],
    )
    assert found.bias.value == pytest.approx(0.15)
    assert found.bias.above(0.1)
    assert found.bias.below(0.2)
    assert writer_bias(["offline"], made, real) is None
    assert writer_bias(["anthropic:claude-4"], made, real) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "agree"), [(0.05, 0.9), (0.1, 0.5), (0.02, 0.9), (0.03, 1.0)], ids=str
)
def test_the_interval_of_tau_holds(spread: float, agree: float) -> None:
    """Of 100 pairs of sets with 150 queries and 6 systems, also where orders are the same."""
    draws, held = np.random.default_rng(1), 0
    rows = np.arange(150)
    units = Units(rows, rows, "150 queries")
    for _ in range(100):
        ability = draws.normal(0, 1, 6)
        other = agree * ability + math.sqrt(1 - agree**2) * draws.normal(0, 1, 6)
        sets = [
            SystemScores(
                "set",
                list("abcdef"),
                0.5
                + spread * means
                + draws.normal(0, 0.2, (150, 1))
                + draws.normal(0, 0.25, (150, 6)),
                units,
            )
            for means in (other, ability)
        ]
        truth = agreement(
            *(scores("t", dict(zip("abcdef", m, strict=True)), 20) for m in (other, ability))
        ).tau
        found = agreement(*sets).tau
        assert found is not None
        assert truth is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low - 1e-9 <= truth.value <= found.high + 1e-9
    assert held >= 93
