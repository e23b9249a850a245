"""Decontamination of captions against a test set, by ROUGE-L F1 above 0.6, against rouge-score.

Captions are made of bundled words, 8 to 75 each; a tenth of them are ones of the test set with up
to four fifths of the words changed. A sample, half of it dropped, is compared with the whole test
set by rouge-score too, in the same run: its speed, and whether it drops the same ones for the same
pairs. With --others FILE the test set is a file of JSON Lines (`text`), and captions are put
together of two of its texts. Nothing here is a test: machines differ.

    .venv/bin/python benchmarks/decontamination.py [--texts 40000] [--test 3024] [--sample 20]
        [--others candidates.jsonl]
"""

from __future__ import annotations

import random
import statistics
from functools import cache
from itertools import chain
from pathlib import Path

import orjson
from common import measured, options
from validate import texts, vocabulary

from retgen.tokenizer import sequence
from retgen.validators.decontamination import THRESHOLD, overlapping


class Tokens:
    """Given to rouge-score, whose own keeps [a-z0-9] only. Cuts each text once, not once a pair."""

    tokenize = staticmethod(cache(sequence))


def main() -> None:
    given = options(__doc__, texts=40_000, test=3024, sample=20, others="")
    draw = random.Random(1)
    if given.others:
        lines = Path(given.others).read_bytes().splitlines()
        others = [orjson.loads(line)["text"] for line in lines]
        own = [joined(draw, others) for _ in range(given.texts)]
    else:
        made = list(chain.from_iterable(texts(given.texts + given.test, least=8, most=75)))
        own, others = made[: given.texts], made[given.texts :]
        known = vocabulary()
        for place in draw.sample(range(given.texts), given.texts // 10):
            own[place] = changed(draw, draw.choice(others), known)
    pairs = len(own) * len(others)
    mean = statistics.mean(len(sequence(other)) for other in others)
    print(f"{len(own):,} captions x {len(others):,} of the test set, {mean:.1f} tokens on average")
    seconds, cpu, found = measured(lambda: overlapping(own, others))
    dropped = [(text, other, f1) for text, (other, f1) in found.items() if f1 is not None]
    print(
        f"retgen: {seconds:.2f} s, {cpu:.2f} s of CPU, {pairs / cpu / 1e6:.1f} million pairs a "
        f"second of CPU; {len(dropped):,} alike, {len(found) - len(dropped):,} contained"
    )
    gone = [text for text, *_ in dropped]
    left = sorted({*range(len(own))}.difference(gone))
    half = given.sample // 2
    sample = sorted([*draw.sample(gone, half), *draw.sample(left, given.sample - half)])
    reference(own, others, dropped, sample, pairs / cpu)


def reference(
    own: list[str],
    others: list[str],
    dropped: list[tuple[int, int, float]],
    sample: list[int],
    ours: float,
) -> None:
    """rouge-score on a sample of the texts, with every text of the test set. `ours`: pairs/s."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        print("rouge-score is not installed: `pip install rouge-score` for the comparison")
        return
    scorer = RougeScorer(["rougeL"], tokenizer=Tokens())

    def theirs() -> list[tuple[int, int, float]]:
        result = []
        for place in sample:
            f1 = [scorer.score(other, own[place])["rougeL"].fmeasure for other in others]
            best = max(range(len(others)), key=f1.__getitem__)
            if f1[best] > THRESHOLD:
                result.append((place, best, f1[best]))
        return result

    _, cpu, expected = measured(theirs)
    rate = len(sample) * len(others) / cpu
    chosen = set(sample)
    same = [pair for pair in dropped if pair[0] in chosen] == expected
    print(
        f"rouge-score, {len(sample) * len(others):,} of the pairs: {cpu:.2f} s of CPU, {rate:,.0f} "
        f"pairs a second; {len(expected):,} of {len(sample):,} dropped, "
        f"{'the same' if same else 'NOT the same'} with the same pairs and F1"
    )
    print(f"ratio: {ours / rate:,.0f}")


def changed(draw: random.Random, text: str, known: list[str]) -> str:
    """Up to four fifths of the words are others."""
    share = 0.8 * draw.random()
    return " ".join(draw.choice(known) if draw.random() < share else word for word in text.split())


def joined(draw: random.Random, texts: list[str]) -> str:
    """The beginning of a text and the end of another one."""
    one, two = draw.choice(texts), draw.choice(texts)
    return one[: draw.randrange(len(one) + 1)] + two[draw.randrange(len(two) + 1) :]


if __name__ == "__main__":
    main()
