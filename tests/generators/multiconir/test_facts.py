"""Ladders drawn from a world: as many as asked, each seed others, and nothing tells which is which."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from retgen.errors import RecipeError
from retgen.facts import load_domain
from retgen.generators.multiconir.facts import LadderSampler, entailed_pair
from retgen.generators.multiconir.ladders import Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.tokenizer import tokens

DOMAINS = ("people", "books", "movies", "medical", "legal")


def drawn(seed: int = 42, **params: object) -> list[Ladder]:
    return list(LadderSampler(MultiConIRParams.model_validate(params), seed).ladders())


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_gives_ladders(domain: str) -> None:
    ladders = drawn(domain=domain, ladders=40)
    assert [one.id for one in ladders] == [f"{domain}-{n:05}" for n in range(1, 41)]
    assert len({one.conditions[0] for one in ladders}) == 40
    for one in ladders:
        assert len({*one.sentences, *one.rewrites}) == 20
        assert Counter(one.strategies) == {"modify": 5, "reassign": 5}
        assert len({json.loads(text)[1] for text in one.expressions}) == 10  # slots
        first = one.sentences[places(42, one.id)[0]]
        assert one.title in first
        for strategy, sentence, rewrite in zip(
            one.strategies, one.sentences, one.rewrites, strict=True
        ):
            if strategy == "reassign":  # the same words, in another order
                assert Counter(tokens(sentence)) == Counter(tokens(rewrite))
            else:
                assert set(tokens(sentence)) != set(tokens(rewrite))


def test_a_seed_draws_its_own_and_always_the_same() -> None:
    one, again, other = (drawn(seed, domain="books", ladders=30) for seed in (1, 1, 2))
    assert one == again
    assert not {ladder.title for ladder in one} & {ladder.title for ladder in other}


@pytest.mark.parametrize("wording", ["literal", "paraphrase", "entailed"])
def test_conditions_of_one_wording(wording: str) -> None:
    for one in drawn(domain="movies", ladders=20, wordings=[wording]):
        assert set(one.wordings) == {wording}
        for text, condition, sentence in zip(
            one.expressions, one.conditions, one.sentences, strict=True
        ):
            kind, _, *values = json.loads(text)
            assert (kind in ("within", "between")) == (wording == "entailed")
            if kind == "is" and isinstance(values[0], str) and "-" not in values[0]:
                assert values[0].casefold() in condition.casefold()
                assert values[0].casefold() in sentence.casefold()


def test_nothing_is_its_own_sequel() -> None:
    """The other entity of a pair may be the sequel of the first: there a rewrite has another slot."""
    ladders = drawn(
        101, domain="movies", ladders=80, wordings=["literal"], negatives={"strategy": "modify"}
    )
    assert "The Tired Thunder of Lorimere" in {one.title for one in ladders}
    for one in ladders:  # only its first sentence, and the rewrite of that, name it
        for texts in (one.sentences, one.rewrites):
            assert sum(text.count(one.title) for text in texts) == 1


def test_what_is_entailed_excludes_the_other() -> None:
    slot = load_domain("films").slots["release"]
    assert entailed_pair(slot, [1957, 1958], lambda bound: 0) is None
    found = entailed_pair(slot, [1957, 1964], lambda bound: 0)
    assert found is not None
    assert [(one.low, one.high) for one in found] == [(1950, 1959), (1960, 1969)]  # type: ignore[union-attr]


def test_more_than_a_domain_has_names_for() -> None:
    with pytest.raises(RecipeError, match="names for"):
        LadderSampler(MultiConIRParams(domain="movies", ladders=1_000_000), 42)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["modify", "reassign", "mixed"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_document_tells_its_origin(domain: str, strategy: str) -> None:
    """A classifier that sees no query: within 0.45 and 0.55 at 1,000 ladders, HN1 and HN10."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold

    ladders = drawn(domain=domain, ladders=1000, negatives={"strategy": strategy})
    for rungs in (1, 10):
        texts, of = [], np.repeat(np.arange(1000), 2)
        for one in ladders:
            order = places(42, one.id)
            texts += [one.text(order), one.text(order, frozenset(range(rungs)))]
        labels = np.tile([1, 0], 1000)
        features = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit_transform(texts)
        scores = np.zeros(2000)
        for train, test in GroupKFold(5).split(features, labels, of):
            model = LogisticRegression(max_iter=200, C=10).fit(features[train], labels[train])
            scores[test] = model.decision_function(features[test])
        pooled = roc_auc_score(labels, scores)
        paired = np.mean(scores[::2] > scores[1::2]) + np.mean(scores[::2] == scores[1::2]) / 2
        assert 0.45 < pooled < 0.55
        assert 0.45 < paired < 0.55


def test_rewrites_in_other_words_and_sentences_between() -> None:
    """Positives and rewrites state what they did before, and no length tells which is which."""
    plain = drawn(domain="books", ladders=100, negatives={"strategy": "modify"})
    given = {"strategy": "modify", "reword": True}
    made = drawn(domain="books", ladders=100, context=3, negatives=given)
    fillers, longer = set(), []
    for before, one in zip(plain, made, strict=True):
        assert (one.conditions, one.expressions) == (before.conditions, before.expressions)
        for c, (sentence, rewrite) in enumerate(zip(one.sentences, one.rewrites, strict=True)):
            own, *said = sentence.removesuffix(".").split(". ")
            other, *again = rewrite.removesuffix(".").split(". ")
            assert f"{own}." == before.sentences[c]
            assert f"{other}." != before.rewrites[c]
            assert said == again
            assert len(said) == 3
            fillers.update(said)
            longer.append(len(own) - len(other))
        assert len({sentence.split(". ")[1] for sentence in one.sentences}) == 10
    assert len(fillers) == 40
    assert abs(np.mean(longer)) < 3 * np.std(longer) / len(longer) ** 0.5
    assert np.mean(np.array(longer) != 0) > 0.9


def test_more_context_than_a_domain_has() -> None:
    with pytest.raises(RecipeError) as error:
        drawn(domain="legal", ladders=1, context=5)
    assert str(error.value) == (
        "params.context: domain legal has 40 sentences that state nothing, which are 4 for each "
        "condition"
    )
