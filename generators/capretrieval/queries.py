"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from retgen.agents.agent import Rejection
from retgen.generators.capretrieval.agents import Keyword, Summary
from retgen.generators.capretrieval.checks import SETS, Kind, fault
from retgen.generators.capretrieval.corpus import Held, Phrase, holders
from retgen.generators.capretrieval.language import folded
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import Passage


@dataclass
class Query:
    """A query, as sources/queries.jsonl has it.

    `passage`: number of the one it was written for. `span`: characters of the source document that
    it rests on. `written_for`: numbers of all passages that this text was written for. `positives`:
    these and others that hold the keyword; `negatives`: mined ones.
    """

    text: str
    kind: Kind
    passage: int
    span: tuple[int, int]
    split: str = "train"
    written_for: list[int] = field(default_factory=list)
    positives: list[int] = field(default_factory=list)
    negatives: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """A row of sources/queries.jsonl."""
        return asdict(self)


def written(
    number: int,
    passage: Passage,
    keywords: Sequence[Keyword],
    summaries: Sequence[Summary],
    rejected: list[Rejection],
) -> Iterator[Query]:
    """The queries of a passage that can be used, its title among them, without repetitions."""
    seen: set[str] = set()
    whole = passage.start, passage.stop
    every: list[Keyword | Summary] = [*keywords, *summaries]
    given: list[tuple[Kind, str, str]] = [(one.kind, one.text, one.rests_on) for one in every]
    if passage.title:
        given.insert(0, ("title", passage.title, ""))
    for kind, text, rests_on in given:
        text = " ".join(text.split())
        reason = fault(kind, text, rests_on, passage.text, passage.language)
        if reason is None:
            key = folded(text, passage.language)
            if key in seen:
                continue
            seen.add(key)
            place = _placed(passage, rests_on)
            yield Query(text, kind, number, place or whole)
        elif kind != "title":
            record = {"passage": passage.id, "kind": kind, "text": text, "rests_on": rests_on}
            rejected.append(Rejection("query/fault", reason, record))


def _placed(passage: Passage, words: str) -> tuple[int, int] | None:
    """Where words stand, in characters of the source document."""
    if not words.strip():
        return None
    at = passage.text.find(words)
    if at < 0:
        pattern = r"\s+".join(map(re.escape, words.split()))
        match = re.search(pattern, passage.text, re.IGNORECASE)
        if match is None:  # the same but for width or script
            return None
        at, end = match.span()
    else:
        end = at + len(words)
    return passage.start + at, passage.start + end


def selected(
    queries: Sequence[Query],
    passages: Sequence[Passage],
    split: Sequence[str],
    counts: QueryCounts,
    rejected: list[Rejection],
) -> tuple[list[Query], dict[Phrase, Held]]:
    """The queries that are kept, with positives and split; and who holds which keyword.

    `split`: of each passage. A text is one query, whoever it was written for first. Every passage
    of the same split that holds a keyword is a positive of it. Dropped are: keywords of too many
    passages; queries of a held-out split whose text was written for a document of another one, or
    whose keyword stands there, since documents of two splits would share a query.
    """
    phrase_of = {
        i: Phrase.of(one.text, passages[one.passage].language)
        for i, one in enumerate(queries)
        if one.kind in ("keyword", "phrase")
    }
    held = holders(passages, set(phrase_of.values()))
    most = max(1, int(counts.common * len(passages)))
    texts: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(queries):
        texts[folded(one.text, passages[one.passage].language)].append(i)
    kept: list[Query] = []
    taken: Counter[tuple[int, str]] = Counter()
    room = {"KW": counts.keywords, "SM": counts.summaries}
    for i, one in enumerate(queries):
        same = texts[folded(one.text, passages[one.passage].language)]
        if same[0] != i:
            continue
        passage, kind_set = passages[one.passage], SETS[one.kind]
        holding = held[phrase_of[i]].words if i in phrase_of else []
        one.written_for = sorted({queries[j].passage for j in same})
        everyone = {*holding, *one.written_for}
        if len(everyone) > most and len(everyone) > 1:
            reason = f"{len(everyone):,} passages hold it, more than {most:,}"
            rejected.append(_dropped("query/common", reason, one, passage))
            continue
        one.split = split[one.passage]
        elsewhere = {split[j] for j in everyone} - {one.split}
        if elsewhere and one.split != "train":
            reason = f"it belongs to documents of {', '.join(sorted(elsewhere))} too"
            rejected.append(_dropped("query/split", reason, one, passage))
            continue
        if taken[one.passage, kind_set] == room[kind_set]:
            continue
        taken[one.passage, kind_set] += 1
        one.positives = sorted(j for j in everyone if split[j] == one.split)
        kept.append(one)
    return kept, held


def _dropped(rule: str, reason: str, one: Query, passage: Passage) -> Rejection:
    return Rejection(rule, reason, {"passage": passage.id, "kind": one.kind, "text": one.text})
