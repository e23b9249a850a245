"""Near-duplicates: what is found, against a comparison of all pairs, and what other data sets hold."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from retgen import validate
from retgen.validators import prefixes, similar
from retgen.validators.corpus import normalised
from retgen.validators.wordsets import WordSets, word_sets
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
    monkeypatch.setattr(prefixes, "_PAIRS_A_WORD", -1)
    labels, exact = similar.groups(word_sets(made))
    assert (labels.tolist(), exact) == (expected, False)
    pairs, exact = similar.matches(word_sets(made), 250)
    assert (pairs[:, 0].tolist(), exact) == (with_others, False)


def test_the_threshold_is_exact() -> None:
    nine = [f"x{i}" for i in range(9)]
    at, below = [*nine[:8], "a", "b"], [*nine[:7], "c", "d"]
    labels, _ = similar.groups(word_sets([nine[:8], at, nine, below]))
    assert labels.tolist() == [0, 0, 0, 3]  # 8 of 10, 8 of 9; 7 of 11


def test_parts_merge_to_the_whole(tmp_path: Path) -> None:
    made = texts(3)
    whole, parts = WordSets(str(tmp_path)), [WordSets(str(tmp_path)) for _ in range(3)]
    whole.add(made)
    for part, low in zip(parts, (0, 1, 450), strict=True):
        part.add(made[low : {0: 1, 1: 450, 450: 600}[low]])
    parts[0].merge(parts[1], 1)
    parts[0].merge(parts[2], 450)
    one, other = whole.sets(), parts[0].sets()
    assert np.array_equal(one.words, other.words)
    assert np.array_equal(one.starts, other.starts)
    assert np.array_equal(whole.order(), parts[0].order())
    # those of the parts stay, for a run that is killed from here on
    assert len(list(tmp_path.iterdir())) == len([*whole.files(), *parts[0].files()]) + 1 == 5
    assert one.starts[-1] == sum(len(set(words)) for words in made)


LIST = " ".join(f"thing{i}" for i in range(30))


def test_distractors_that_are_equal_but_for_the_name(dataset: Write) -> None:
    corpus = {f"d{i}": f"Name{i} likes {LIST}" for i in range(300)}
    corpus |= {f"r{i}": " ".join(f"word{i * 7 + j}" for j in range(7)) for i in range(50)}
    folder = dataset(corpus, {"q": "word0"}, [("q", "r0", 1)])
    found = [f for f in validate(folder).findings if f.rule == "near-duplicate"]
    assert [(f.severity, f.ids, f.message) for f in found] == [
        (
            "warning",
            [f"d{i}" for i in range(300)],
            "300 of 350 documents share at least 80% of their words with another, in 1 group: "
            "d0 and d1 and 298 more",
        )
    ]


def test_case_and_punctuation_have_a_rule_of_their_own(dataset: Write) -> None:
    corpus = {"a": "One two, three.", "b": "one TWO three", "c": "Something else", "d": ""}
    found = validate(dataset(corpus, {"q": "else"}, [("q", "c", 1)])).findings
    assert [(f.rule, f.ids) for f in found] == [
        ("empty-text", ["d"]),
        ("normalised-duplicate", ["a", "b"]),
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("libflac++", "libflac", False),
        ("C# in depth", "C++ in depth", False),
        ("a loss of 5%", "a loss of $5", False),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u0928\u0926", False),  # marks are letters' parts
        ("UTF-8, (really)", "utf 8 really!", True),
        ("na\u00efve \u2014 \u201cyes\u201d", "NA\u00cfVE yes", True),
    ],
)  # fmt: skip
def test_signs_that_tell_names_apart(dataset: Write, one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same
    folder = dataset({"a": one, "b": other, "c": "else"}, {"q": "else"}, [("q", "c", 1)])
    rules = ["normalised-duplicate"] if same else []
    assert [f.rule for f in validate(folder).findings] == rules


def test_queries(dataset: Write) -> None:
    corpus = {f"d{i}": f"nothing{i}" for i in range(4)}
    queries = {
        "q0": "What is the average salary of a nurse in Ohio?",
        "q1": "what are average nurse salaries, the average salary of nurse in ohio",
        "q2": "average salary of nurses in Texas",
        "q3": "trains from Rome that do not stop",
        "q4": "trains from Rome that stop",
    }
    folder = dataset(corpus, queries, [(q, f"d{i % 4}", 1) for i, q in enumerate(queries)])
    found = [f for f in validate(folder).findings if f.rule == "near-duplicate-query"]
    assert [(f.severity, f.ids, f.message) for f in found] == [
        (
            "warning",
            ["q0", "q1"],
            "2 of 5 queries share at least 80% of their words (function words aside) with another, "
            "in 1 group: q0 and q1",
        )
    ]


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
            (["d0"], "3 documents are also in {}, apart from case, punctuation and white space (d0 is b0 there"),
            (["d1"], "3 documents are also in {}, to four fifths of their words (d1 is b1 there"),
            (["q0"], "2 queries are also in {}, apart from case, punctuation and white space (q0 is p0 there"),
        )
    ]  # fmt: skip
    done = gen("validate", own, "--against", bench, "--against", own.parent / "nowhere")
    assert done.returncode == 2
    assert "nowhere does not exist" in done.stderr
