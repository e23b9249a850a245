"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from retgen import data
from retgen.agents.agent import Rejection
from retgen.generators.capretrieval.agents import SETS, Keyword, Kind, Summary, fault
from retgen.generators.capretrieval.language import fold_text
from retgen.generators.capretrieval.offline import without_markup
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import (
    Holders,
    Passage,
    PassageLabels,
    PhraseTerms,
    Span,
)
from retgen.validators.similar import matches
from retgen.validators.wordsets import query_sets


@dataclass
class PassageQuery:
    """A query, as sources/queries.jsonl has it.

    `passage`: number of the one it was written for. `span`: characters of the source document that
    it rests on. `rests_on`: (document, start, stop) of all queries of this text, its own first.
    `positives`: numbers of passages; `negatives`: mined ones.
    """

    text: str
    kind: Kind
    passage: int
    span: tuple[int, int]
    split: str = "train"
    rests_on: list[Span] = field(default_factory=list)
    positives: list[int] = field(default_factory=list)
    negatives: list[int] = field(default_factory=list)

    def phrase(self, passages: Sequence[Passage]) -> PhraseTerms | None:
        """What a passage has to hold to be relevant, where that is enough."""
        if self.kind not in ("keyword", "phrase"):
            return None
        return PhraseTerms.of(self.text, passages[self.passage].language)

    def to_json(self) -> dict[str, Any]:
        """A row of sources/queries.jsonl."""
        return asdict(self)


def usable_queries(
    number: int,
    passage: Passage,
    keywords: Sequence[Keyword],
    summaries: Sequence[Summary],
    rejected: list[Rejection],
) -> Iterator[PassageQuery]:
    """The queries of a passage that can be used, its title among them, without repetitions."""
    seen: set[str] = set()
    whole = passage.start, passage.stop
    every: list[Keyword | Summary] = [*keywords, *summaries]
    given: list[tuple[Kind, str, str]] = [(one.kind, one.text, one.rests_on) for one in every]
    if title := without_markup(passage.title).strip():
        given.insert(0, ("title", title, ""))
    for kind, text, rests_on in given:
        text = " ".join(text.split())
        reason = fault(kind, text, rests_on, passage.text, passage.language)
        if reason is None:
            key = fold_text(text, passage.language)
            if key in seen:
                continue
            seen.add(key)
            place = _placed(passage, rests_on)
            yield PassageQuery(text, kind, number, place or whole)
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


def select_queries(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    split: Sequence[str],
    counts: QueryCounts,
    rejected: list[Rejection],
) -> tuple[list[PassageQuery], dict[PhraseTerms, Holders]]:
    """The queries that are kept, with positives and split; and who holds which keyword.

    `split`: of each passage. A text is one query, whoever it was written for first. Positives are
    the passages of the same split that `Labels` calls relevant. Dropped are: keywords of too many
    passages; queries of a held-out split whose text was written for a document of another one, or
    whose keyword stands there, since documents of two splits would share a query; and those that
    say nearly the same as one of another split.
    """
    phrases = [one.phrase(passages) for one in queries]
    labels = PassageLabels(passages, {phrase for phrase in phrases if phrase is not None})
    spans: list[Span] = [(passages[one.passage].source, *one.span) for one in queries]
    most = max(1, int(counts.common * len(passages)))
    texts: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(queries):
        texts[fold_text(one.text, passages[one.passage].language)].append(i)
    kept: list[PassageQuery] = []
    taken: Counter[tuple[int, str]] = Counter()
    room = {"KW": counts.keywords, "SM": counts.summaries}
    for i, one in enumerate(queries):
        same = texts[fold_text(one.text, passages[one.passage].language)]
        if same[0] != i:
            continue
        passage, kind_set = passages[one.passage], SETS[one.kind]
        one.rests_on = list(dict.fromkeys(spans[j] for j in same))
        everyone = labels.relevant(phrases[i], one.rests_on)
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
    return _apart(kept, passages, rejected), labels.held


def _apart(
    kept: list[PassageQuery], passages: Sequence[Passage], rejected: list[Rejection]
) -> list[PassageQuery]:
    """Without held-out queries that say nearly the same as one of another split."""
    for own, other in (("test", "dev"), ("test", "train"), ("dev", "train")):
        near = [0]
        while near:  # fewer queries weigh their words differently
            sides = [
                [i for i, one in enumerate(kept) if one.split == name] for name in (own, other)
            ]
            asked = [data.Query(str(i), kept[i].text, None) for side in sides for i in side]
            pairs, _ = matches(query_sets(asked), len(sides[0]))
            near = [sides[0][place] for place, _ in pairs.tolist()]
            for i, (_, like) in zip(near, pairs.tolist(), strict=True):
                reason = f"it says nearly the same as {asked[like].text!r} of split {other}"
                rejected.append(_dropped("query/split", reason, kept[i], passages[kept[i].passage]))
            gone = set(near)
            kept = [one for i, one in enumerate(kept) if i not in gone]
    return kept


def _dropped(rule: str, reason: str, one: PassageQuery, passage: Passage) -> Rejection:
    return Rejection(rule, reason, {"passage": passage.id, "kind": one.kind, "text": one.text})
