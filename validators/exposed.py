"""Base of the rules over texts that hold what should not go out.

A finding names the documents, the kind and a masked form, never the datum.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retgen.validators.rule import Batch, Finding, RuleState, TextRule

_SHOWN = 3  # masked forms in a message
# RFC 2606 and 6761, and domains that stand for any domain in people's examples
NOBODYS = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|internal|lan|domain|email|"
    r"(?:example|test|(?:my|your|some)?(?:domain|company|host|site|server)|somewhere|provider|foo|"
    r"bar|spam|acme|email|mail|sample|isp|[a-z])\.[a-z]{2,4}|gserviceaccount\.com)$"
)


class ExposedData(NamedTuple):
    """Something found: its kind in words, its masked form, "" for none, and what it is, so that it
    is counted once a text; that is kept nowhere.
    """

    one: str
    many: str
    masked: str
    datum: str


@dataclass
class _Exposed(RuleState):
    """Kind to (document id, how many it holds, masked forms), in order, a document once."""

    by_kind: dict[tuple[str, str], list[tuple[str, int, list[str]]]] = field(default_factory=dict)

    def add(self, text_id: str, found: Sequence[ExposedData]) -> None:
        kinds: dict[tuple[str, str], dict[str, str]] = {}
        for one, many, masked, datum in found:
            kinds.setdefault((one, many), {})[datum] = masked
        for kind, forms in kinds.items():
            shown = list(dict.fromkeys(filter(None, forms.values())))[: _SHOWN + 1]
            self.by_kind.setdefault(kind, []).append((text_id, len(forms), shown))


class ExposedRule(TextRule):
    """A rule whose `look` says what a text holds."""

    @abstractmethod
    def look(self, text: str) -> list[ExposedData]:
        """All that a text holds."""

    def start(self) -> None:
        self.state: _Exposed = _Exposed()

    def scan(self, batch: Batch) -> None:
        for doc_id, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            if found := self.look(f"{title}\n{text}" if title else text):
                self.state.add(doc_id, found)

    def findings(self) -> Iterator[Finding]:
        for kind, members in sorted(self.state.by_kind.items()):
            ids = [text_id for text_id, *_ in members]
            total = sum(count for _, count, _ in members)
            shown = list(dict.fromkeys(form for *_, forms in members for form in forms))
            more = ", ..." if len(shown) > _SHOWN else ""
            who = (
                f"{self.one} {ids[0]} holds" if len(ids) == 1 else f"{len(ids):,} {self.many} hold"
            )
            what = kind[0] if total == 1 else f"{total:,} {kind[1]}"
            forms = f" ({', '.join(shown[:_SHOWN])}{more})" if shown else ""
            yield self.finding(ids, f"{who} {what}{forms}")
