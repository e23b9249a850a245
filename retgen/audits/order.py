"""The order of systems on two data sets: Kendall's tau with its interval, pairs that are certain.

The interval is over queries of both sets, for the systems as they are. Its lower end is of a
bootstrap: means of each set by itself from the Gaussian multiplier bootstrap over resampling units
(Chernozhukov, Chetverikov and Kato, Annals of Statistics 41 (2013)), `DRAWS` times. Noise turns
pairs around, so drawn orders agree less than the true ones, and the bootstrap's upper end is too
low: with equal orders of systems that are close it held the true tau twice in 100. So the upper end
counts only pairs whose order differs on the two sets by intervals of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.scoring.scores import at_largest
from retgen.evaluation.scoring.significance import PairedDifference, compare
from retgen.statistics.clustered import CHANGE, Estimate, Floats, Units, estimate

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import DatasetScores

DRAWS, _SEED = 2000, 42
LEVEL = 0.05  # of p after Holm's correction


@dataclass(frozen=True)
class SystemScores:
    """Systems on one data set: `values` (queries, systems) of one measure, columns as `systems`."""

    name: str
    systems: Sequence[str]
    values: Floats
    units: Units

    @classmethod
    def of(cls, scored: DatasetScores, systems: Sequence[str], measure: str) -> SystemScores:
        """Of some systems, by label; of each at its largest dimension."""
        at = scored.measures.names.index(measure)
        columns = {score.label: score.values[:, at] for score in at_largest(scored.scores)}
        values = np.stack([columns[name] for name in systems], axis=1)
        return cls(scored.name, systems, values, scored.units)

    @property
    def means(self) -> Floats:
        """(systems,)"""
        return np.asarray(self.values.mean(axis=0))

    def drawn_means(self, draws: NDArray[np.float64]) -> Floats:
        """(draws, systems) of standard normal draws (draws, systems)."""
        parts = self.units.parts(self.values)
        variances, axes = np.linalg.eigh(parts.T @ parts)
        return np.asarray(self.means + draws * np.sqrt(np.maximum(variances, 0)) @ axes.T)

    def differences(self) -> dict[tuple[str, str], PairedDifference]:
        """Of all pairs of systems, in both directions."""
        columns = {name: self.values[:, [i]] for i, name in enumerate(self.systems)}
        result = {}
        for one in compare(self.units, columns, ["score"]):
            low, high = (None if end is None else -end for end in (one.low, one.high))
            result[one.first, one.second] = one
            result[one.second, one.first] = one._replace(
                first=one.second, second=one.first, difference=-one.difference, low=high, high=low
            )
        return result


class SystemPair(NamedTuple):
    """`first` is better on the real set, or equal. Differences are first - second."""

    first: str
    second: str
    real: PairedDifference
    synthetic: PairedDifference

    @property
    def certain(self) -> bool:
        """Whether the order is certain on the real set."""
        return is_certain(self.real)

    @property
    def same(self) -> bool:
        """Whether the synthetic set has `first` ahead too."""
        return self.synthetic.difference > 0

    @property
    def differs(self) -> bool:
        """Whether each set by itself has the two apart, and not in the same order."""
        p = (1.0 if one.p is None else one.p for one in (self.real, self.synthetic))
        return max(p) < LEVEL and self.real.difference * self.synthetic.difference < 0

    @property
    def reversed_for_certain(self) -> bool:
        """Whether the order is certain on both sets, and not the same."""
        return self.certain and self.synthetic.difference < 0 and is_certain(self.synthetic)


def is_certain(one: PairedDifference) -> bool:
    """Whether a difference holds after Holm's correction over all pairs."""
    return one.adjusted is not None and one.adjusted < LEVEL


class Agreement(NamedTuple):
    """Kendall's tau-b of the order of `systems` systems; `tau` None: all tie on a set.

    `chance`: of random orders, the share that agrees at least as well; None without a tau.
    `pairs`: all, those with the largest difference on the real set first.
    """

    systems: int
    tau: Estimate | None
    chance: float | None
    pairs: list[SystemPair]


def agreement(synthetic: SystemScores, real: SystemScores) -> Agreement:
    """How far two sets order the same systems alike."""
    pairs = []
    on_real, on_synthetic = real.differences(), synthetic.differences()
    for names in combinations(real.systems, 2):
        first, second = names if on_real[names].difference >= 0 else names[::-1]
        at = (first, second)
        pairs.append(SystemPair(first, second, on_real[at], on_synthetic[at]))
    pairs.sort(key=lambda one: -one.real.difference)
    count = len(real.systems)
    value = float(_taus(synthetic.means[None], real.means[None])[0])
    if np.isnan(value):
        return Agreement(count, None, None, pairs)
    tau = Estimate(value)
    if not (synthetic.units.note or real.units.note):
        drawn = np.random.default_rng(_SEED).standard_normal((2, DRAWS, count))
        taus = _taus(synthetic.drawn_means(drawn[0]), real.drawn_means(drawn[1]))
        low = float(np.nanquantile(taus, 0.025, method="closest_observation"))
        apart = sum(one.differs for one in pairs)
        tau = Estimate(value, min(low, value), max(1 - 2 * apart / len(pairs), value))
    return Agreement(count, tau, share_of_orders(count, value), pairs)


def _taus(some: Floats, others: Floats) -> Floats:
    """Tau-b of rows (n, systems), (n,); NaN where all systems of a row tie."""
    first, second = np.triu_indices(some.shape[1], 1)
    signs = [np.sign(np.round(one[:, first] - one[:, second], 12)) for one in (some, others)]
    untied = [np.abs(one).sum(axis=1) for one in signs]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied[0] * untied[1]))


def share_of_orders(systems: int, tau: float) -> float:
    """Of all orders of some systems, the share whose tau with a given one is at least `tau`."""
    pairs = systems * (systems - 1) // 2
    counts = np.ones(1)  # of orders, by discordant pairs
    for size in range(2, systems + 1):
        counts = np.convolve(counts, np.ones(size) / size)
    discordant = int(np.floor((1 - tau) / 2 * pairs + 1e-9))
    return float(counts[: discordant + 1].sum())


# --- bias by family of writer ---------------------------------------------------------------------

# parts of models' names, by who makes them
_MAKERS: Mapping[str, tuple[str, ...]] = {
    "OpenAI": ("openai:", "gpt", "text-embedding-3", "text-embedding-ada", "o3-", "o4-"),
    "Google": ("google", "gemini", "gemma", "gecko"),
    "Alibaba": ("qwen", "gte-"),
    "Meta": ("llama", "contriever", "facebook/"),
    "Mistral": ("mistral", "mixtral"),
    "Anthropic": ("anthropic", "claude"),
    "Cohere": ("cohere", "embed-english-v", "embed-multilingual-v", "command-r"),
    "Microsoft": ("microsoft/", "phi-", "intfloat/", "e5-"),
}


def maker(model: str) -> str:
    """Who makes a model, by its name; "" where that does not tell. Base models come first, as in
    e5-mistral.
    """
    name = model.lower().removeprefix("llm:")
    if name.startswith("openai:") and "gpt" not in name and "embedding" not in name:
        name = name.removeprefix("openai:")  # another server of the same protocol
    order = ("Mistral", "Alibaba", "Meta", *_MAKERS)
    return next((who for who in order if any(part in name for part in _MAKERS[who])), "")


class WriterBias(NamedTuple):
    """How much more the synthetic set favours systems of its writer's maker than the real one does.

    `bias`: of the mean score of these systems minus that of the others, synthetic minus real.
    """

    writer: str
    maker: str
    own: list[str]
    bias: Estimate


def writer_bias(
    writers: Sequence[str], synthetic: SystemScores, real: SystemScores
) -> WriterBias | None:
    """None where no writer is known, or no system or every system shares its maker.

    The interaction of set and family, as in Rahmani et al., "Towards understanding bias in
    synthetic data for evaluation" (arXiv 2506.10301), for systems as they are.
    """
    for writer in writers:
        own = np.array([maker(name) == maker(writer) for name in real.systems])
        if maker(writer) and own.any() and not own.all():
            weights = np.where(own, 1 / own.sum(), -1 / (~own).sum())
            values = [(one.values @ weights)[:, None] for one in (synthetic, real)]
            names = [name for name, mine in zip(real.systems, own, strict=True) if mine]
            return WriterBias(
                writer,
                maker(writer),
                names,
                difference(values[0], synthetic.units, values[1], real.units),
            )
    return None


def difference(values: Floats, units: Units, others: Floats, their_units: Units) -> Estimate:
    """Of the means of two independent sets of values (n, 1), with its interval."""
    value = float(values.mean() - others.mean())
    if units.note or their_units.note:
        return Estimate(value)
    parts = np.concatenate([units.parts(values)[:, 0], -their_units.parts(others)[:, 0]])
    return estimate(value, parts, int(min(units.effective, their_units.effective)), CHANGE)
