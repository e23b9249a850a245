"""What the scores of a training say: of idf, of BM25, and of what a data set cannot show."""

from __future__ import annotations

from collections.abc import Iterator

from retgen.evaluation.scoring.significance import change_text, difference_between
from retgen.evaluation.training.scored_set import ScoredSet
from retgen.evaluation.training.subgroups import NONLEXICAL, Subgroup
from retgen.evaluation.training.variants import BEFORE, BM25, IDF, fused

CEILING = 0.9  # of the best reachable: BM25 leaves too little room above it


def findings(scored: ScoredSet, first: str) -> Iterator[str]:
    """What training adds over idf, what is deployed, and whether shared words decide.

    `first`: the name of the reference variant.
    """
    yield from _gain(scored, first)
    yield from _fusion(scored, first)
    yield from _ceiling(scored, first)
    for subgroup in scored.subgroups.subgroups if scored.subgroups else ():
        if subgroup.value == NONLEXICAL:
            yield _nonlexical(subgroup, scored, first)


def _gain(scored: ScoredSet, first: str) -> Iterator[str]:
    """What training adds, over idf alone where there is that, with its interval."""
    untrained = scored.difference(IDF, BEFORE, scored.primary)
    over = scored.difference(first, IDF if untrained else BEFORE, scored.primary)
    if over is None:
        return
    if over[1] > 0:
        verdict = "Training adds"
    elif over[2] < 0:
        verdict = "Training loses"
    else:
        verdict = "Training adds nothing sure:"
    start, rest = "the untrained model", ""
    if untrained:
        start = "idf alone"
        rest = (
            f"; idf alone, without training, has {change_text(untrained)} over the untrained model"
        )
    yield f"{verdict} {change_text(over)} {scored.primary} over {start} {_where(scored)}{rest}."


def _fusion(scored: ScoredSet, first: str) -> Iterator[str]:
    """What is deployed: BM25 and the model, before and after."""
    names = [name for name in (BEFORE, IDF, first) if fused(name) in scored.beside]
    over = scored.difference(fused(first), BM25, scored.primary)
    changed = scored.difference(fused(first), fused(BEFORE), scored.primary)
    if len(names) < 2 or over is None or changed is None:
        return
    yield (
        f"Fused with BM25 (min-max, one half each) {scored.where} it has "
        f"{scored.beside[fused(first)][scored.primary]:.4f}, {change_text(over)} over BM25 alone "
        f"and {change_text(changed)} over the fusion with the untrained model."
    )


def _ceiling(scored: ScoredSet, first: str) -> Iterator[str]:
    """Whether BM25 leaves no room: it has `CEILING` of what can be reached, or is above all."""
    if BM25 not in scored.beside:
        return
    measure = scored.primary
    value, best = scored.beside[BM25][measure], scored.ceiling.get(measure)
    rules = []
    if best and value >= CEILING * best:
        rules.append(f"at least {CEILING:g} of the best that can be reached ({best:.4f})")
    changes = [scored.difference(BM25, name, measure) for name in (first, IDF, BEFORE)]
    compared = [change for change in changes if change is not None]
    if compared and all(change[1] > 0 for change in compared):
        rules.append("above the model, trained and untrained, by 95% intervals")
    if rules:
        instead = "; queries that people wrote may (--outside)" if scored.role == "test" else ""
        yield (
            f"BM25 has {value:.4f} {_where(scored)}, {' and '.join(rules)}: its queries share "
            "words with their documents. This set cannot show what a model finds beyond shared "
            f"words, nor which of two good models is better{instead}."
        )


def _nonlexical(subgroup: Subgroup, scored: ScoredSet, first: str) -> str:
    """The queries that share no content word with their document."""
    means, measure, where = subgroup.means, scored.primary, _where(scored)
    start = IDF if IDF in means else BEFORE
    shown = {BEFORE: "untrained", IDF: "idf alone", first: "trained", BM25: "BM25"}
    values = ", ".join(
        f"{words} {means[name][measure]:.4f}" for name, words in shown.items() if name in means
    )
    change = difference_between(subgroup.comparisons, first, start, measure)
    over = f"; training adds {change_text(change)} over {shown[start]}" if change else ""
    return (
        f"{where[0].upper()}{where[1:]}, {subgroup.queries:,} queries share no content word with "
        f"their document ({measure}): {values}{over}."
    )


def _where(scored: ScoredSet) -> str:
    """The place of a data set before a comma or a full stop."""
    return scored.where.removesuffix(",")
