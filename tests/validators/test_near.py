"""Near-duplicates: what is found, against a comparison of all pairs, and what other data sets hold."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from retgen.data import Query
from retgen.validation.validate import validate
from retgen.validators import similar
from retgen.validators.rule import Judgements
from retgen.validators.rules.near import NearDuplicateQueries
from retgen.validators.similar import normalise_text, query_sets, word_sets
from tests.conftest import Write

Texts = list[list[str]]
WORDS = [f"w{i}" for i in range(400)]


def texts(seed: int) -> Texts:
    """600 texts, a third of them an earlier one with up to four words changed, some empty."""
    draw = random.Random(seed)
    made: Texts = []
    for _ in range(600):
        if made and draw.random() < 0.35:
            words = list(draw.choice(made))
            for place in draw.sample(range(len(words)), min(len(words), draw.randrange(5))):
                words[place] = draw.choice(WORDS)
        else:
            words = draw.choices(WORDS, k=draw.randrange(25))
        made.append(words)
    return made


def alike(a: list[str], b: list[str]) -> bool:
    return bool(a and b) and 5 * len({*a} & {*b}) >= 4 * len({*a} | {*b})


def all_groups(made: Texts) -> list[int]:
    """The first text of each text's group, by looking at all pairs."""
    first = list(range(len(made)))
    for i, text in enumerate(made):
        for j in range(i):
            if first[i] != first[j] and alike(text, made[j]):
                low, high = sorted((first[i], first[j]))
                first = [low if one == high else one for one in first]
    return first


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_all_pairs_are_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = texts(seed)
    expected = all_groups(made)
    labels, exact = similar.groups(word_sets(made))
    assert (labels.tolist(), exact) == (expected, True)
    assert 450 < len(set(expected)) < 550
    with_others = [i for i in range(250) if any(alike(made[i], other) for other in made[250:])]
    pairs, exact = similar.matches(word_sets(made), 250)
    assert (pairs[:, 0].tolist(), exact) == (with_others, True)
    assert all(j >= 250 and alike(made[i], made[j]) for i, j in pairs.tolist())
    # beyond what the join can take, MinHash: of these it misses none
    monkeypatch.setattr(similar, "PAIRS_A_WORD", -1)
    labels, exact = similar.groups(word_sets(made))
    assert (labels.tolist(), exact) == (expected, False)
    pairs, exact = similar.matches(word_sets(made), 250)
    assert (pairs[:, 0].tolist(), exact) == (with_others, False)


def zipf(draw: random.Random) -> list[str]:
    return [f"w{int(draw.paretovariate(0.7)) % 1000}" for _ in range(draw.randrange(60))]


def ties(draw: random.Random) -> list[str]:
    """Sets of 4, 5, 8, 9 and 10 of twelve words: many pairs share exactly four fifths."""
    return draw.sample([f"w{i}" for i in range(12)], draw.choice([4, 5, 8, 9, 10]))


@pytest.mark.slow
@pytest.mark.parametrize("make", [zipf, ties])
@pytest.mark.parametrize("bits", [2, 22])
def test_the_join_leaves_no_pair_out(
    make: Callable[[random.Random], list[str]], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In small steps, and with many words in a bucket."""
    for name, value in (
        ("CHUNK", 7),
        ("BLOCK", 32),
        ("PAIRS_A_WORD", 1 << 20),
        ("BUCKET_BITS", bits),
        ("BUCKETS", (1 << bits) - 1),
    ):
        monkeypatch.setattr(similar, name, value)
    draw = random.Random(7)
    made = [make(draw) for _ in range(70)]
    made += [[*draw.choice(made)[:-1], "another"] for _ in range(20)]
    expected = all_groups(made)
    assert len(set(expected)) < 80
    assert similar.groups(word_sets(made))[0].tolist() == expected
    with_others = [i for i in range(60) if any(alike(made[i], other) for other in made[60:])]
    assert similar.matches(word_sets(made), 60)[0][:, 0].tolist() == with_others


def test_many_equal_sets() -> None:
    """Each of 6,000 with each other is too much for the join."""
    same = [f"w{i}" for i in range(10)]
    made = [same] * 6000 + [[]] * 3 + [["else", f"x{i}"] for i in range(5)]
    made += [[*same, "one"], [*same[:7], "far"]]
    assert similar.groups(word_sets(made))[0].tolist() == [0] * 6000 + [*range(6000, 6008), 0, 6009]
    pairs, exact = similar.matches(word_sets(made), 6000)
    assert (pairs[:, 0].tolist(), {*pairs[:, 1].tolist()}) == ([*range(6000)], {6008})
    assert not exact


def test_words_of_a_megabyte_are_told_apart() -> None:
    long = "a" * 1_000_000
    sets = word_sets([[long + "b"], [long + "c"], [long + "b"], [long]])
    assert [int(sets[i][0] == sets[0][0]) for i in range(4)] == [1, 0, 1, 0]


def test_nothing_to_compare() -> None:
    for made in ([], [[]], [[], []], [["one"]]):
        labels, exact = similar.groups(word_sets(made))
        assert (labels.tolist(), exact) == (list(range(len(made))), True)
        assert similar.matches(word_sets(made), 0)[0].shape == (0, 2)


LIST = " ".join(f"thing{i}" for i in range(30))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("libflac++", "libflac", False),
        ("C# in depth", "C++ in depth", False),
        ("a loss of 5%", "a loss of $5", False),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940",
            "\u0939\u0928\u0926",
            False,
        ),  # marks are letters' parts
        ("UTF-8, (really)", "utf 8 really!", True),
        ("na\u00efve \u2014 \u201cyes\u201d", "NA\u00cfVE yes", True),
    ],
)
def test_signs_that_tell_names_apart(dataset: Write, one: str, other: str, same: bool) -> None:
    assert (normalise_text(one) == normalise_text(other)) is same
    folder = dataset({"a": one, "b": other, "c": "else"}, {"q": "else"}, [("q", "c", 1)])
    rules = ["normalised-duplicate"] if same else []
    assert [f.rule for f in validate(folder).findings] == rules


def test_queries(dataset: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = {f"d{i}": f"nothing{i}" for i in range(4)}
    queries = {
        "q0": "What is the average salary of a nurse in Ohio?",
        "q1": "what are average nurse salaries, the average salary of nurse in ohio",
        "q2": "average salary of nurses in Texas",
        "q3": "trains from Rome that do not stop",
        "q4": "trains from Rome that stop",
    }
    folder = dataset(corpus, queries, [(q, f"d{i % 4}", 1) for i, q in enumerate(queries)])
    findings = [f for f in validate(folder).findings if f.rule == "near-duplicate-query"]
    assert [(f.severity, f.ids, f.message) for f in findings] == [
        (
            "warning",
            ["q0", "q1"],
            "2 of 5 queries share at least 80% of their words (function words aside) with another, "
            "in 1 group: q0 and q1",
        )
    ]
    monkeypatch.setattr(similar, "PAIRS_A_WORD", -1)  # beyond what the join can take
    (finding,) = [f for f in validate(folder).findings if f.rule == "near-duplicate-query"]
    assert finding.message.endswith(
        "in 1 group: q0 and q1; a few more may have been missed among so many"
    )


def near_queries(*texts: str) -> list[list[str]]:
    queries = [Query(f"q{i}", text) for i, text in enumerate(texts)]
    return [finding.ids for finding in NearDuplicateQueries(Judgements(queries, [])).findings()]


OTHERS = [
    "rivers in Peru",
    "old maps",
    "\u5982\u4f55\u70f9\u996a",
    "\u6771\u4eac\u306e\u5929\u6c17",
]
TEMPLATES = {
    "en": (
        "authors, homepage, origin, version, licence, priority and maintainer of package {}",
        ["libalpha", "libbeta", "zlib", "tar"],
    ),
    "zh": (
        "\u8bf7\u95ee\u8f6f\u4ef6\u5305{}\u7684\u8bb8\u53ef\u8bc1\u548c\u7248\u6743\u6240\u6709\u8005\u4ee5\u53ca\u4e3b\u9875\u5730\u5740\u548c\u7ef4\u62a4\u4eba\u5458\u540d\u5355\u5728\u54ea\u91cc",
        ["\u706b\u72d0", "\u96f7\u9e1f", "\u6d77\u8c5a", "\u5929\u7a7a"],
    ),
}


@pytest.mark.parametrize("language", TEMPLATES)
def test_queries_of_one_template_ask_for_different_things(language: str) -> None:
    template, names = TEMPLATES[language]
    made = [template.format(name) for name in names]
    sets = query_sets([Query(text, text) for text in [*made, *OTHERS]])
    # by their numbers of words alone they are one group
    assert similar.groups(replace(sets, weights=None))[0].tolist() == [0, 0, 0, 0, 4, 5, 6, 7]
    assert near_queries(*made, *OTHERS) == []


@pytest.mark.parametrize(
    "pair",
    [
        ("how do I install the package", "How do I install the packages?"),
        (
            "tall painted wooden church towers built before 1700 beside northern lakes",
            "tall wooden church towers built before 1700 beside the northern lakes",
        ),
        (
            "\u5317\u4eac\u5927\u5b66\u56fe\u4e66\u9986\u5468\u672b\u7684\u5f00\u653e\u65f6\u95f4\u662f\u51e0\u70b9\u5230\u51e0\u70b9",
            "\u5317\u4eac\u5927\u5b66\u56fe\u4e66\u9986\u5468\u672b\u5f00\u653e\u65f6\u95f4\u662f\u51e0\u70b9\u5230\u51e0\u70b9\uff1f",
        ),
    ],
)
def test_the_same_in_other_words_is_found_beside_a_template(pair: tuple[str, str]) -> None:
    template, names = TEMPLATES["en"]
    made = [template.format(name) for name in names]
    assert near_queries(*made, *pair) == [["q4", "q5"]]
    assert near_queries(*pair, *OTHERS) == [["q0", "q1"]]
    assert near_queries(*pair) == [["q0", "q1"]]


def test_against_another_data_set(
    dataset: Write, gen: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    text = "a text of some ten words that both data sets hold"
    bench = dataset(
        {"b0": text, "b1": LIST, "b2": "entirely other words"},
        {"p0": "who wrote the fugue in G minor", "p1": "unrelated"},
        [("p0", "b0", 1)],
        "bench",
    )
    own = dataset(
        {"d0": text.upper() + "!", "d1": LIST + " more", "d2": "nothing of that"},
        {"q0": "Who wrote the Fugue in G minor?", "q1": "what is nothing"},
        [("q0", "d0", 1), ("q1", "d2", 1)],
    )
    done = gen("validate", own, "--against", bench, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["findings"] == [
        {
            "rule": "overlap",
            "severity": "warning",
            "ids": ids,
            "message": f"1 of {message.format(bench)}, for one)",
        }
        for ids, message in (
            (
                ["d0"],
                "3 documents are also in {}, apart from case, punctuation and white space (d0 is b0 there",
            ),
            (["d1"], "3 documents are also in {}, to four fifths of their words (d1 is b1 there"),
            (
                ["q0"],
                "2 queries are also in {}, apart from case, punctuation and white space (q0 is p0 there",
            ),
        )
    ]
    done = gen("validate", own, "--against", bench, "--against", own.parent / "nowhere")
    assert done.returncode == 2
    assert "nowhere does not exist" in done.stderr
