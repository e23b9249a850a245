"""`haystacks`: every haystack has its length, its needle at its place, and nothing else to find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any, NamedTuple, Self

from retgen.data import Qrel, Query
from retgen.validators.niah.answers import Answers, times
from retgen.validators.niah.counting import Counted, Unread, counter
from retgen.validators.niah.fillers import TAIL, differ, digests, without
from retgen.validators.niah.related import Related, words_of
from retgen.validators.niah.spec import KINDS, Group, Key, Place, Spec, keys, places, read_groups
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State

_NEAR = 0.0001  # a depth is rounded to four digits
# whose tokens of a text are those of its sentences; with others the place of a needle may change
# how many there are, and so the last sentences
_ADDITIVE = ("minilm", "words")


class _Row(NamedTuple):
    """A document as its metadata describes it, and its filler."""

    doc_id: str
    key: Key
    at: Place
    counted: Counted | None = None
    filler: bytes = b""


@dataclass
class _Read(State):
    """What the documents are."""

    rows: list[_Row] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)  # (document, what is)
    unread: str = ""  # why nothing was counted

    def merge(self, later: Self, offset: int) -> None:
        self.rows += later.rows
        self.wrong += later.wrong
        self.unread = self.unread or later.unread


class _Said(NamedTuple):
    """The metadata of a document."""

    key: Key
    at: Place
    category: str
    depth: float
    span: tuple[int, int]
    name: str


class Haystacks(CorpusRule):
    """The haystacks are those of the settings, exact in length, with one answer each."""

    name = "haystacks"
    severity = "error"
    finds = (
        "a haystack that has not its length, lacks its needle or has it elsewhere, holds a word of "
        "its question or another answer, or has not the filler of its control"
    )
    state: _Read

    def __init__(self, spec: Spec, judgements: Judgements) -> None:
        self._spec, self._judgements = spec, judgements
        self._groups = read_groups(spec.groups)
        self._related = Related({name: one.question for name, one in self._groups.items()})
        self._answers = Answers(self._groups)
        self._counter: Any = None
        super().__init__()

    def start(self) -> None:
        self.state = _Read()

    # --- documents --------------------------------------------------------------------------

    def scan(self, batch: Batch) -> None:
        said: list[tuple[str, str, _Said]] = []
        for doc_id, text, metadata in zip(batch.ids, batch.texts, batch.metadata, strict=True):
            one = _said(metadata)
            wrong = self._unlike(one, text) if one is not None else "its metadata is no haystack's"
            if wrong:
                self.state.wrong.append((doc_id, wrong))
                if one is not None:  # it is there, whatever it is
                    self.state.rows.append(_Row(doc_id, one.key, one.at))
            elif one is not None:
                said.append((doc_id, text, one))
        counts = self._count([text for _, text, _ in said], [one.span for *_, one in said])
        for (doc_id, text, one), counted in zip(said, counts, strict=True):
            found = list(self._text(text, one))
            if counted is not None:
                found += _lengths(one, counted)
            self.state.wrong += [(doc_id, wrong) for wrong in found]
            filler = digests(without(text, *one.span))
            self.state.rows.append(_Row(doc_id, one.key, one.at, counted, filler))

    def _unlike(self, said: _Said, text: str) -> str:
        """What its metadata says that cannot be, or that its text does not bear out."""
        group = self._groups.get(said.key.group)
        start, stop = said.span
        if group is None:
            return f"its group is {said.key.group!r}, which the run has not"
        if said.category != group.category:
            return f"its category is {said.category!r}, that of its group {group.category!r}"
        if said.at.needle == "none":
            if said.span != (0, 0) or said.depth != -1 or said.name:
                return "it has no needle, and its metadata names a place or a character"
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

    def _count(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> Iterable[Counted | None]:
        if self._counter is None:
            try:
                self._counter = counter(self._spec.tokenizer)
            except Unread as error:
                self._counter = error
        if isinstance(self._counter, Unread):
            self.state.unread = str(self._counter)
            return [None] * len(texts)
        counts: Iterable[Counted] = self._counter.count(texts, spans)
        return counts

    def _text(self, text: str, said: _Said) -> Iterator[str]:
        """What a text holds that it should not, or not so often."""
        group = self._groups[said.key.group]
        start, stop = said.span
        before, needle, after = text[:start], text[start:stop], text[stop:]
        if needle:
            yield from _edges(before, after)
        times_named = times(text, group.name)
        if times_named != (wanted := int(bool(said.name))):
            yield f"it names {group.name!r} {times_named:,} times, not {wanted:,}"
        beside = f"{before} {after}"
        words = set(words_of(beside))
        if said.key.filtered and (given := self._related.among(said.key.group, words)):
            yield f"{given[0]!r} stands in it, and is a word of its question or related to one"
        if said.at.needle == "neutral" and (
            given := self._related.among(said.key.group, set(words_of(needle)))
        ):
            yield f"{given[0]!r} in its neutral sentence is a word of its question"
        near = self._answers.near(said.key.group, beside, words)
        if near != said.key.distractors:
            yield f"it holds {near:,} near-answers of its group, not {said.key.distractors:,}"
        other = self._answers.other(said.key.group, beside, words)
        if not other and said.at.needle == "neutral":
            other = self._answers.any(needle)
        if other:
            yield f"it holds {other!r} beside its needle"

    # --- findings ---------------------------------------------------------------------------

    def _finding(self, ids: Iterable[str], message: str) -> Finding:
        return Finding(self.name, self.severity, list(ids), message)

    def findings(self) -> Iterable[Finding]:
        if self.state.unread:
            message = (
                f"the lengths are not proven: no tokenizer {self._spec.tokenizer!r} to count with "
                f"({self.state.unread})"
            )
            yield Finding(self.name, "warning", [], message)
        yield from self._table()
        for doc_id, wrong in self.state.wrong:
            yield self._finding([doc_id], f"{doc_id}: {wrong}")
        yield from self._counts()
        yield from self._places()
        yield from self._fillers()
        yield from self._queries()
        yield from self._qrels()

    def _table(self) -> Iterator[Finding]:
        """No needle but a literal one has a word of its question, and no two names are one."""
        named: dict[str, str] = {}
        for name, group in self._groups.items():
            other = named.setdefault(group.name.casefold(), name)
            if other != name:
                yield self._finding([other, name], f"{other} and {name}: have one character's name")
            sentences_of = [(one, kind) for (kind, _), one in group.needles.items()]
            sentences_of += [(one, "near") for one in group.near]
            for sentence, kind in sentences_of:
                given = self._related.among(name, set(words_of(sentence)))
                if kind == "literal" and not given:
                    yield self._finding([name], f"{name}: {sentence!r} has no word of its question")
                elif kind != "literal" and given:
                    message = f"{name}: {sentence!r} shares {given[0]!r} with its question"
                    yield self._finding([name], message)

    def _counts(self) -> Iterator[Finding]:
        """Each haystack and control that the settings ask for is there once."""
        there: dict[tuple[Key, Place], list[str]] = defaultdict(list)
        for row in self.state.rows:
            there[row.key, row.at].append(row.doc_id)
        wanted = dict.fromkeys(product(keys(self._spec, self._groups), places(self._spec)))
        for key, at in wanted:
            ids = there.get((key, at), [])
            if not ids:
                yield self._finding([key.group], f"{key.group}: lacks {at} ({key})")
            elif len(ids) > 1:
                yield self._finding(ids, f"{' and '.join(ids)}: are both {at} ({key})")
        for (key, at), ids in there.items():
            if (key, at) not in wanted:
                yield self._finding(ids, f"{ids[0]}: the settings ask for no such: {at} ({key})")

    def _places(self) -> Iterator[Finding]:
        """Needles of one filler stand further behind from place to place."""
        series: dict[tuple[Key, str, str], list[_Row]] = defaultdict(list)
        for row in self.state.rows:
            if row.at.place >= 0 and row.counted is not None:
                series[row.key, row.at.needle, row.at.order].append(row)
        for rows in series.values():
            rows.sort(key=lambda row: row.at.place)
            for one, other in pairwise(rows):
                if one.at.place == other.at.place or one.counted is None or other.counted is None:
                    continue
                if one.counted.before >= other.counted.before:
                    message = (
                        f"{other.doc_id}: its needle has place {other.at.place} and "
                        f"{other.counted.before:,} tokens before it, that of {one.doc_id} place "
                        f"{one.at.place} and {one.counted.before:,}"
                    )
                    yield self._finding([other.doc_id, one.doc_id], message)

    def _fillers(self) -> Iterator[Finding]:
        """What shares a filler differs in its needle, and in the last sentences of the filler."""
        shared: dict[Key, list[_Row]] = defaultdict(list)
        for row in self.state.rows:
            if row.filler:
                shared[row.key].append(row)
        first: dict[tuple[Key, bytes], _Row] = {}
        for key, rows in shared.items():
            control = next((row for row in rows if row.at.needle == "none"), rows[0])
            alike: dict[tuple[str, str], _Row] = {}
            for row in rows:
                same = alike.setdefault((row.at.needle, row.at.order), row)
                if differ(control.filler, row.filler) > TAIL:
                    message = f"{row.doc_id}: its filler is not that of {control.doc_id}"
                    yield self._finding([row.doc_id, control.doc_id], message)
                elif self._spec.tokenizer in _ADDITIVE and row.filler != same.filler:
                    message = (
                        f"{row.doc_id}: its filler is not to the word that of {same.doc_id}, whose "
                        "needle is the same"
                    )
                    yield self._finding([row.doc_id, same.doc_id], message)
            other = first.setdefault((key._replace(number=0), control.filler), control)
            if other.key != key:
                ids = [other.doc_id, control.doc_id]
                yield self._finding(ids, f"{' and '.join(ids)}: have one filler, not two")

    # --- queries and qrels ------------------------------------------------------------------

    def _queries(self) -> Iterator[Finding]:
        """Each group has one query, which is its question with its needles."""
        asked: dict[str, str] = {}
        for query in self._judgements.queries:
            name = _note(query).get("group")
            group = self._groups.get(name) if isinstance(name, str) else None
            if group is None:
                message = f"{query.query_id}: its metadata names no group of the run"
                yield self._finding([query.query_id], message)
                continue
            if query.text != group.question:
                message = f"{query.query_id}: is not the question of its group {name!r}"
                yield self._finding([query.query_id], message)
            for column, wanted in _noted(group):
                if (held := _note(query).get(column)) != wanted:
                    message = f"{query.query_id}: its {column} is {held!r}, not {wanted!r}"
                    yield self._finding([query.query_id], message)
            other = asked.setdefault(str(name), query.query_id)
            if other != query.query_id:
                message = f"{other} and {query.query_id}: ask for one group"
                yield self._finding([other, query.query_id], message)
        for name in self._groups.keys() - asked.keys():
            yield self._finding([name], f"{name}: has no query")

    def _qrels(self) -> Iterator[Finding]:
        """A query's positives are the haystacks of its group, in splits of all and of a length."""
        group_of = {query.query_id: _note(query).get("group") for query in self._judgements.queries}
        rows = {row.doc_id: row for row in self.state.rows}
        holders: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in self.state.rows:
            if row.at.needle in ("one_hop", "literal"):
                holders[row.key.group][row.key.length].add(row.doc_id)
        main = self._judgements.split
        splits = {main: self._judgements.qrels, **self._judgements.others}
        for length in self._spec.settings["lengths"]:
            if f"{main}_{length}" not in splits:
                message = f"there are no qrels of split {main}_{length}"
                yield self._finding([f"{main}_{length}"], message)
        for split, qrels in splits.items():
            only = split.removeprefix(f"{main}_")
            if split == main:
                yield from self._split(split, qrels, None, group_of, rows, holders)
            elif only in map(str, self._spec.settings["lengths"]):
                yield from self._split(split, qrels, int(only), group_of, rows, holders)
            else:
                yield self._finding([split], f"split {split} is that of no length")

    def _split(
        self,
        split: str,
        qrels: Sequence[Qrel],
        only: int | None,
        group_of: Mapping[str, Any],
        rows: Mapping[str, _Row],
        holders: Mapping[str, Mapping[int, set[str]]],
    ) -> Iterator[Finding]:
        judged: dict[str, set[str]] = defaultdict(set)
        for query_id, doc_id, relevance in qrels:
            row = rows.get(doc_id)
            judged[query_id].add(doc_id)
            if row is None:
                continue  # another rule names it, or its metadata is wrong
            why = ""
            if relevance <= 0:
                why = f"has relevance {relevance:g}"
            elif row.key.group != group_of.get(query_id):
                why = f"is of group {row.key.group!r}"
            elif row.at.needle not in ("one_hop", "literal"):
                why = "is a control"
            elif only not in (None, row.key.length):
                why = f"has {row.key.length:,} tokens"
            if why:
                message = f"{query_id}: {doc_id} is a qrel of split {split}, and {why}"
                yield self._finding([query_id, doc_id], message)
        for query_id, group in group_of.items():
            wanted = {
                doc_id
                for length, ids in holders.get(str(group), {}).items()
                if only in (None, length)
                for doc_id in ids
            }
            if missing := sorted(wanted - judged[query_id]):
                message = (
                    f"{query_id}: {len(missing):,} of its {len(wanted):,} haystacks are no qrels "
                    f"of split {split}, {missing[0]} among them"
                )
                yield self._finding([query_id, *missing], message)


def _lengths(said: _Said, counted: Counted) -> Iterator[str]:
    """Whether a text has its length, and its needle the depth that is said."""
    if counted.total != said.key.length:
        yield f"it has {counted.total:,} tokens, not {said.key.length:,}"
    elif said.at.needle != "none":
        depth = counted.before / (said.key.length - counted.needle)
        if abs(depth - said.depth) > _NEAR:
            yield f"its needle stands at depth {depth:.4f}, not {said.depth:.4f}"


def _edges(before: str, after: str) -> Iterator[str]:
    """A needle stands between sentences."""
    ahead = before.rstrip().rstrip("\"')]\u2019\u201d\u00bb")
    if before and (not before[-1].isspace() or ahead[-1:] not in _ENDS):
        yield f"its needle does not follow the end of a sentence, but {before[-20:]!r}"
    if after and not after[0].isspace():
        yield f"its needle runs on into {after[:20]!r}"


_ENDS = set(".!?\u2026\u3002\uff01\uff1f")


def _said(metadata: Any) -> _Said | None:
    """The metadata of a document; None where a part is missing or of another type."""
    match metadata:
        case {
            "group": str(group), "category": str(category), "length": int(length),
            "needle": str(needle), "order": str(order), "place": int(place),
            "depth": int() | float() as depth, "span": [int(start), int(stop)], "name": str(name),
            "filler": str(filler), "filtered": bool(filtered), "distractors": int(distractors),
            "number": int(number),
        } if needle in KINDS:  # fmt: skip
            if needle in ("one_hop", "literal") and order not in ("default", "inverted"):
                return None
            key = Key(group, length, filler, filtered, distractors, number)
            at = Place(needle, order, place)
            return _Said(key, at, category, float(depth), (start, stop), name)
    return None


def _note(query: Query) -> Mapping[str, Any]:
    return query.metadata if isinstance(query.metadata, dict) else {}


def _noted(group: Group) -> Iterator[tuple[str, str]]:
    """What the metadata of a query holds of its group."""
    yield "category", group.category
    yield "name", group.name
    yield "needle", group.needles["one_hop", "default"]
    yield "needle_inverted", group.needles["one_hop", "inverted"]
    yield "literal", group.needles["literal", "default"]
    yield "literal_inverted", group.needles["literal", "inverted"]
