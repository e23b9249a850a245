"""What rules on personal data and on secrets share: a finding that never repeats the datum."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retgen.validators.rule import Batch, Finding, JudgedRule, Judgements, RuleState

_SHOWN = 3  # masked forms in a message


class Leak(NamedTuple):
    """Something found: its kind in words (one, many), its masked form, "" for none, and what it is,
    so that it is counted once a text; that is kept nowhere.
    """

    kind: tuple[str, str]
    masked: str
    datum: str


@dataclass
class _Leaks(RuleState):
    """Kind to (document id, how many it holds, masked forms), in order, a document once."""

    leaks: dict[tuple[str, str], list[tuple[str, int, list[str]]]] = field(default_factory=dict)

    def add(self, text_id: str, leaks: Sequence[Leak]) -> None:
        kinds: dict[tuple[str, str], dict[str, str]] = {}
        for leak in leaks:
            kinds.setdefault(leak.kind, {})[leak.datum] = leak.masked
        for kind, forms in kinds.items():
            shown = list(dict.fromkeys(filter(None, forms.values())))[: _SHOWN + 1]
            self.leaks.setdefault(kind, []).append((text_id, len(forms), shown))


class Leaks(JudgedRule):
    """A rule over texts that hold what should not go out; `look` says what one text holds."""

    def __init__(self, judgements: Judgements) -> None:
        self.queries = [(query.query_id, query.text) for query in judgements.queries]
        super().__init__(judgements)

    def marks(self) -> tuple[str, ...] | None:
        """A batch that holds none of these is not looked at; None: every one is."""
        return None

    @abstractmethod
    def look(self, text: str) -> list[Leak]:
        """All that a text holds."""

    def start(self) -> None:
        self.state: _Leaks = _Leaks()

    def scan(self, batch: Batch) -> None:
        if (marks := self.marks()) is not None:
            everything = "\n".join((*batch.titles, *batch.texts))
            if not any(mark in everything for mark in marks):
                return
        for doc_id, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            if leaks := self.look(f"{title}\n{text}" if title else text):
                self.state.add(doc_id, leaks)

    def findings(self) -> Iterator[Finding]:
        queries = _Leaks()
        for query_id, text in self.queries:
            if leaks := self.look(text):
                queries.add(query_id, leaks)
        for one, many, state in (
            ("document", "documents", self.state),
            ("query", "queries", queries),
        ):
            for kind, members in sorted(state.leaks.items()):
                ids = [text_id for text_id, *_ in members]
                total = sum(count for _, count, _ in members)
                shown = list(dict.fromkeys(form for *_, forms in members for form in forms))
                more = ", ..." if len(shown) > _SHOWN else ""
                who = f"{one} {ids[0]} holds" if len(ids) == 1 else f"{len(ids):,} {many} hold"
                what = kind[0] if total == 1 else f"{total:,} {kind[1]}"
                forms = f" ({', '.join(shown[:_SHOWN])}{more})" if shown else ""
                yield self.finding(ids, f"{who} {what}{forms}")


def mask(datum: str) -> str:
    """The first two letters or digits of a datum, and its length."""
    plain = re.sub(r"\W", "", datum)
    return f"{plain[:2]}… of {len(plain)} characters"
