"""Base of the rules over texts that hold what should not go out.

A finding names the documents, the kind and a masked form, never the datum.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
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
    """Something found: its kind, as in "card number" or "secret (JWT)", its masked form, "" for
    none, and what it is, so that it is counted once a text; that is kept nowhere.
    """

    kind: str
    masked: str
    datum: str


@dataclass
class _Exposed(RuleState):
    """Kind to (document id, how many it holds, masked forms), in order, a document once."""

    by_kind: dict[str, list[tuple[str, int, list[str]]]] = field(default_factory=dict)


class ExposedRule(TextRule):
    """A rule whose `look` says what a text holds."""

    @abstractmethod
    def look(self, text: str) -> Iterable[ExposedData]:
        """All that a text holds."""

    def start(self) -> None:
        self.state: _Exposed = _Exposed()

    def scan(self, batch: Batch) -> None:
        for doc_id, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            kinds: dict[str, dict[str, str]] = defaultdict(dict)
            for kind, masked, datum in self.look(f"{title}\n{text}" if title else text):
                kinds[kind][datum] = masked
            for kind, forms in kinds.items():
                shown = list(dict.fromkeys(filter(None, forms.values())))[: _SHOWN + 1]
                self.state.by_kind.setdefault(kind, []).append((doc_id, len(forms), shown))

    def findings(self) -> Iterator[Finding]:
        for kind, members in sorted(self.state.by_kind.items()):
            ids = [text_id for text_id, *_ in members]
            what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
            if (total := sum(count for _, count, _ in members)) > 1:
                noun, *note = kind.split(" (")
                plural = f"{noun}{'es' if noun.endswith('s') else 's'}"
                what = f"{total:,} {' ('.join([plural, *note])}"
            shown = list(dict.fromkeys(form for *_, forms in members for form in forms))
            more = ", ..." if len(shown) > _SHOWN else ""
            forms = f" ({', '.join(shown[:_SHOWN])}{more})" if shown else ""
            yield self.finding(ids, f"{self.which(ids, 'holds', 'hold')} {what}{forms}")
