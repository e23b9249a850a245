"""`haystacks`: every haystack has its length, its needle at its place, and nothing else to find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

from retgen.tokenizer import length
from retgen.validators.niah.spec import (
    HOLDS,
    FillerKey,
    Haystack,
    NeedlePlace,
    haystack_of,
    read_groups,
    wanted_haystacks,
)
from retgen.validators.niah.texts import (
    TAIL,
    AnswerFinder,
    NoTokenizer,
    RelatedWords,
    TokenCounter,
    count_differing,
    count_name,
    digest,
    digests,
    without_needle,
    words_of,
)
from retgen.validators.rule import Batch, CorpusRule, Finding, RuleState

_NEAR = 0.0001  # a depth is rounded to four digits
# whose tokens of a text are those of its sentences; with others the place of a needle may change
# how many there are, and so the last sentences
_ADDITIVE = ("minilm", "words")


@dataclass
class _ScanState(RuleState):
    """What the documents are."""

    rows: list[Haystack] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # (document, what is)


class HaystackProof(CorpusRule):
    """The haystacks are those of the settings, exact in length, with one answer each.

    `groups`: the file sources/groups.jsonl; `settings`: the recipe's parameters.
    """

    name = "haystacks"
    severity = "error"
    finds = (
        "a haystack that has not its length, lacks its needle or has it elsewhere, holds a word of "
        "its question or another answer, or has not the filler of its control"
    )
    state: _ScanState

    def __init__(self, groups: Path, settings: Mapping[str, Any]) -> None:
        self.groups, self.settings = read_groups(groups), settings
        self._related = RelatedWords({name: one.question for name, one in self.groups.items()})
        self._answers = AnswerFinder(self.groups)
        self._counter: TokenCounter | None = None
        self._uncounted = ""  # why nothing is counted
        try:
            self._counter = TokenCounter(settings["tokenizer"])
        except NoTokenizer as error:
            self._uncounted = str(error)
        super().__init__()

    def start(self) -> None:
        self.state = _ScanState()

    # --- documents --------------------------------------------------------------------------

    def scan(self, batch: Batch) -> None:
        state = self.state
        read: list[tuple[str, Haystack]] = []
        for doc_id, text, metadata in zip(batch.ids, batch.texts, batch.metadata, strict=True):
            one = haystack_of(doc_id, metadata)
            wrong = self._unlike(one, text) if one is not None else "its metadata is no haystack's"
            if wrong:
                state.wrong.append((doc_id, wrong))
                if one is not None:  # it is there, whatever it is
                    state.rows.append(one._replace(depth=-1.0))
            elif one is not None:
                read.append((text, one))
        counts: Iterable[tuple[int, float] | None] = repeat(None)
        if self._counter is not None:
            counts = self._counter.count([text for text, _ in read], [one.span for _, one in read])
        for (text, one), counted in zip(read, counts, strict=False):
            state.wrong += [(one.doc_id, wrong) for wrong in self._text(text, one)]
            if counted is not None:
                state.wrong += [(one.doc_id, wrong) for wrong in _lengths(one, *counted)]
            filler = digests(without_needle(text, *one.span))
            state.rows.append(one._replace(filler=filler, digest=digest(text), words=length(text)))

    def _unlike(self, said: Haystack, text: str) -> str:
        """What its metadata says that cannot be, or that its text does not bear out."""
        group = self.groups.get(said.key.group)
        start, stop = said.span
        if group is None:
            return f"its group is {said.key.group!r}, which the run has not"
        if said.category != group.category:
            return f"its category is {said.category!r}, that of its group {group.category!r}"
        bare = said.at.needle == "none"
        placed = bare and (said.span, said.depth) != ((0, 0), -1)
        if placed or (said.name and said.at.needle not in HOLDS):
            return "it has no needle, and its metadata names a place or a character"
        if bare:
            return ""
        if not 0 <= start < stop <= len(text):
            return f"its span {start} to {stop} is none of its {len(text):,} characters"
        held = text[start:stop]
        if said.at.needle == "neutral":
            return ""
        if said.name != group.name:
            return f"its character is {said.name!r}, that of its group {group.name!r}"
        if held != (needle := group.needles[said.at.needle, said.at.order]):
            return f"its span holds {held!r}, not {needle!r}"
        return ""

    def _text(self, text: str, said: Haystack) -> Iterator[str]:
        """What a text holds that it should not, or not so often."""
        group, (start, stop) = said.key.group, said.span
        before, needle, after = text[:start], text[start:stop], text[stop:]
        if needle:
            yield from _edges(before, after)
        named = int(said.at.needle in HOLDS)
        yield from self._beside(said.key, f"{before} {after}", named, said.key.distractors)
        if said.at.needle == "neutral":
            words = set(words_of(needle))
            if given := self._related.among(group, words):
                yield f"{given[0]!r} in its neutral sentence is a word of its question"
            if others := self._answers.others("", needle, words):
                yield f"its neutral sentence is {others[0]!r}"
            if count_name(needle, name := self.groups[group].name):
                yield f"its neutral sentence names {name!r}"

    def _beside(self, key: FillerKey, text: str, named: int, near: int) -> Iterator[str]:
        """What a text holds beside its needle. `named`: how often that names the character;
        `near`: how many near-answers the text is to hold.
        """
        group, words = key.group, set(words_of(text))
        name = self.groups[group].name
        if more := count_name(text, name):
            yield f"it names {name!r} {named + more:,} times, not {named:,}"
        if key.filtered and (given := self._related.among(group, words)):
            yield f"{given[0]!r} stands in it, and is a word of its question or related to one"
        if (held := len(self._answers.near(group, text, words))) != near:
            what = "near-answer" if held == 1 else "near-answers"
            yield f"it holds {held:,} {what} of its group, not {near:,}"
        if others := self._answers.others(group, text, words):
            yield f"it holds {others[0]!r} beside its needle"

    @cached_property
    def documents(self) -> dict[str, Haystack]:
        """What tables refer to, once all documents were read."""
        return {row.doc_id: row for row in self.state.rows if row.key.group in self.groups}

    @cached_property
    def controls(self) -> dict[int, list[Haystack]]:
        """Documents without a needle that answers, by the digests of their texts."""
        result: dict[int, list[Haystack]] = defaultdict(list)
        for one in self.documents.values():
            if one.at.needle not in HOLDS:
                result[one.digest].append(one)
        return result

    def negative_fault(self, key: FillerKey, text: str) -> str:
        """What is wrong with a haystack that holds a near-answer instead of its needle; else ""."""
        return next(self._beside(key, text, 0, key.distractors + 1), "")

    # --- findings ---------------------------------------------------------------------------

    def findings(self) -> Iterable[Finding]:
        if self._uncounted:
            message = (
                f"the lengths are not proven: no tokenizer {self.settings['tokenizer']!r} to count "
                f"with ({self._uncounted})"
            )
            yield self.finding([], message, severity="warning")
        yield from self._table()
        for doc_id, wrong in self.state.wrong:
            yield self.finding([doc_id], f"{doc_id}: {wrong}")
        yield from self._counts()
        fillers: dict[FillerKey, list[Haystack]] = defaultdict(list)
        for row in self.state.rows:
            if row.filler:
                fillers[row.key].append(row)
        for rows in fillers.values():
            yield from self._places(rows)
            yield from self._one_filler(rows)
        yield from self._distinct_fillers(fillers)
        yield from self._word_counts(fillers)

    def _table(self) -> Iterator[Finding]:
        """No needle but a literal one has a word of its question, and no two names are one."""
        named: dict[str, str] = {}
        for name, group in self.groups.items():
            other = named.setdefault(group.name.casefold(), name)
            if other != name:
                yield self.finding([other, name], f"{other} and {name}: have one character's name")
            sentences_of = [(one, kind) for (kind, _), one in group.needles.items()]
            sentences_of += [(one, "near") for one in group.near]
            for sentence, kind in sentences_of:
                given = self._related.among(name, set(words_of(sentence)))
                if kind == "literal" and not given:
                    yield self.finding([name], f"{name}: {sentence!r} has no word of its question")
                elif kind != "literal" and given:
                    message = f"{name}: {sentence!r} shares {given[0]!r} with its question"
                    yield self.finding([name], message)

    def _counts(self) -> Iterator[Finding]:
        """Each haystack and control that the settings ask for is there once."""
        there: dict[tuple[FillerKey, NeedlePlace], list[str]] = defaultdict(list)
        for row in self.state.rows:
            there[row.key, row.at].append(row.doc_id)
        wanted = dict.fromkeys(wanted_haystacks(self.settings, self.groups))
        for key, at in wanted:
            ids = there.get((key, at), [])
            if not ids:
                yield self.finding([key.group], f"{key.group}: lacks {at} ({key})")
            elif len(ids) > 1:
                yield self.finding(ids, f"{' and '.join(ids)}: are both {at} ({key})")
        for (key, at), ids in there.items():
            if (key, at) not in wanted:
                yield self.finding(ids, f"{ids[0]}: the settings ask for no such: {at} ({key})")

    def _places(self, rows: list[Haystack]) -> Iterator[Finding]:
        """Needles of one filler stand further behind from place to place."""
        for one, other in pairwise(sorted(rows, key=lambda row: row.at)):
            same_needle = one.at[:2] == other.at[:2] and one.at.place < other.at.place
            if same_needle and one.depth >= other.depth:
                message = (
                    f"{other.doc_id}: its needle has place {other.at.place} and depth "
                    f"{other.depth:.4f}, that of {one.doc_id} place {one.at.place} and "
                    f"{one.depth:.4f}"
                )
                yield self.finding([other.doc_id, one.doc_id], message)

    def _one_filler(self, rows: list[Haystack]) -> Iterator[Finding]:
        """What shares a filler differs in its needle, and in the last sentences of the filler."""
        control = _control_of(rows)
        alike: dict[tuple[str, str], Haystack] = {}
        for row in rows:
            same = alike.setdefault((row.at.needle, row.at.order), row)
            # a control has a tail, and sentences in place of a needle
            behind, own = count_differing(control.filler, row.filler)
            if own > TAIL or behind > 2 * TAIL:
                message = f"{row.doc_id}: its filler is not that of {control.doc_id}"
                yield self.finding([row.doc_id, control.doc_id], message)
            elif self.settings["tokenizer"] in _ADDITIVE and row.filler != same.filler:
                message = (
                    f"{row.doc_id}: its filler is not to the word that of {same.doc_id}, whose "
                    "needle is the same"
                )
                yield self.finding([row.doc_id, same.doc_id], message)

    def _distinct_fillers(self, fillers: Mapping[FillerKey, list[Haystack]]) -> Iterator[Finding]:
        """No two fillers of one group and length are the same."""
        first: dict[tuple[FillerKey, bytes], Haystack] = {}
        for key, rows in fillers.items():
            control = _control_of(rows)
            other = first.setdefault((key._replace(number=0), control.filler), control)
            if other.key != key:
                ids = [other.doc_id, control.doc_id]
                yield self.finding(ids, f"{' and '.join(ids)}: have one filler, not two")

    def _word_counts(self, fillers: Mapping[FillerKey, list[Haystack]]) -> Iterator[Finding]:
        """What shares a filler has as many words as its control: else they tell the two apart."""
        unlike, held, fewer = list[str](), 0, 0
        for rows in fillers.values():
            controls = {row.words for row in rows if row.at.needle not in HOLDS}
            for row in rows:
                if row.at.needle in HOLDS:
                    held += 1
                    if controls != {row.words}:
                        unlike.append(row.doc_id)
                        fewer += row.words < min(controls, default=0)
        if unlike:
            message = (
                f"{len(unlike):,} of {held:,} haystacks have not the number of words of their "
                f"controls, {fewer:,} have fewer: words alone tell them apart. Use more books, "
                "with sentences of many lengths"
            )
            yield self.finding(unlike, message, severity="warning")


def _control_of(rows: list[Haystack]) -> Haystack:
    """Of haystacks that share a filler the one without a needle, or the first one."""
    return next((row for row in rows if row.at.needle == "none"), rows[0])


def _lengths(said: Haystack, tokens: int, depth: float) -> Iterator[str]:
    """Whether a text has its length, and its needle the depth that is said."""
    if tokens != said.key.length:
        yield f"it has {tokens:,} tokens, not {said.key.length:,}"
    elif said.at.needle != "none" and abs(depth - said.depth) > _NEAR:
        yield f"its needle stands at depth {depth:.4f}, not {said.depth:.4f}"


def _edges(before: str, after: str) -> Iterator[str]:
    """A needle stands between sentences."""
    ahead = before.rstrip().rstrip("\"')]\u2019\u201d\u00bb")
    if before and (not before[-1].isspace() or ahead[-1:] not in _ENDS):
        yield f"its needle does not follow the end of a sentence, but {before[-20:]!r}"
    if after and not after[0].isspace():
        yield f"its needle runs on into {after[:20]!r}"


_ENDS = set(".!?\u2026\u3002\uff01\uff1f")
