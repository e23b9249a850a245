"""Training pairs of an album: captions that are not in its corpus, asked for in two ways.

The two kinds of training queries of CapRetrieval (arXiv 2506.08592, section 4.1): keywords (KW) are
any name of what a caption holds, in passing too, or two of its facts; summaries (SM) are its whole
scene. With each stands a caption that shares a fact with it and does not have what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.facts.captions import Facts
from retgen.facts.expressions import Is, execute
from retgen.generators.album.queries import Scenes, expression, together
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids
from retgen.streams import Stream

_EACH = 2  # queries of each kind a caption
_UNSHARED = ("number", "colour", "passing_colour", "further_colour")


def training_tables(
    scenes: Scenes,
    captions: Sequence[str],
    seed: int,
    say: Callable[[Facts, Callable[[int], int]], str],
    kept_out: frozenset[str],
) -> dict[str, Rows]:
    """Pairs, each with one negative, by the names of their files, kw and sm.

    `say` words what is asked for; `kept_out`: queries of the test set, of which none is trained on.
    """
    return {name: _table(name, scenes, captions, seed, say, kept_out) for name in ("kw", "sm")}


def _table(
    name: str,
    scenes: Scenes,
    captions: Sequence[str],
    seed: int,
    say: Callable[[Facts, Callable[[int], int]], str],
    kept_out: frozenset[str],
) -> Rows:
    stream = Stream(seed, f"album/training/{name}")
    # words have a stream of their own, so that both languages ask the same
    words = Stream(seed, f"album/training words/{name}")
    found: list[Mapping[str, Any]] = []
    for i, facts in enumerate(scenes.facts):
        several = _keywords(scenes, facts) if name == "kw" else together("complex condition", facts)
        choices = {expression(asked): asked for asked in several}
        left = _EACH
        for key in stream.shuffled([one for one in choices if one not in kept_out]):
            negative = _negative(scenes, choices[key], facts, stream)
            if left and negative is not None:
                left -= 1
                found.append(
                    {
                        "anchor": say(choices[key], words.below),
                        "positive": captions[i],
                        "negative_1": captions[negative],
                    }
                )
    rows = stream.shuffled(found)
    ids = Ids(seed, f"album/training/{name}", "t", max(1, len(rows)))
    names = ids.texts(np.arange(len(rows)))
    return rows_of(lambda i: {**rows[i], "query-id": names[i]}, len(rows))


def _keywords(scenes: Scenes, facts: Facts) -> Iterator[Facts]:
    concepts = scenes.known.concepts
    for key in ("subject", "object", "place", "topic", "passing", "further", "mention"):
        for name in concepts[facts[key]].value.above if key in facts else ():
            if concepts[name].asked:
                yield {"thing": name}
    for keys in (("moment",), ("action", "object"), ("state",)):
        if keys[0] in facts:
            yield {key: facts[key] for key in keys if key in facts}
    yield from together("simple condition", facts)


def _negative(scenes: Scenes, asked: Facts, facts: Facts, stream: Stream) -> int | None:
    """A scene that shares a fact, and which does not have what is asked for, nor likely."""
    without = ~scenes.has(asked, likely=True)
    for key in stream.shuffled([key for key in facts if key not in _UNSHARED]):
        others = np.flatnonzero(without & execute(Is(key, facts[key]), scenes.table))
        if len(others):
            return int(others[stream.below(len(others))])
    return None
