"""Texts in another language than their set's; code, tables and names are in none."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.validators.languages import LANGUAGES, code_of
from tests.validators.sets import findings_in, plain

ENGLISH = {f"d{i}": plain(i) for i in range(40)}
WHY = "40 of 40 documents whose language can be told are in English (en)"
GERMAN = (
    "Die alte Brücke wurde von den Leuten wieder aufgebaut, die in der Nähe wohnten, und sie "
    "erzählen ihren Kindern noch heute, wie sie vor dem Brand aussah."
)
RUSSIAN = "Старый мост был восстановлен людьми, которые жили рядом с ним уже много лет подряд."


def with_one(text: str) -> dict[str, str]:
    return {**ENGLISH, "odd": text}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (GERMAN, "German (de)"),
        (RUSSIAN, "Russian (ru)"),
        (
            "古い橋は近くに住む人々によって再建され、彼らは今でも子供たちに火事の前の様子を語り続けています。",
            "Japanese (ja)",
        ),
    ],
)
def test_a_foreign_document_is_named(tmp_path: Path, text: str, what: str) -> None:
    why = f"40 of 41 documents{WHY.removeprefix('40 of 40 documents')}"
    message = f"document odd seems to be in {what}; {why}"
    assert findings_in(tmp_path, "language", with_one(text)) == [(["odd"], message)]


@pytest.mark.parametrize(
    "text",
    [
        "def merge(self, later, offset):\n    self.found += later.found\n    return self.found[offset:]",
        "SELECT d.id, count(*) FROM docs d JOIN qrels q ON d.id = q.doc GROUP BY d.id HAVING x > 3;",
        "| 12.5 | 17.25 | 0.003 |\n| 88.1 | 91.0 | 0.100 |\n| 14.5 | 17.00 | 0.052 |",
        "Wolfgang Schäfer, Jürgen Müller, Käthe Weiß, François Dupré, Zoë Núñez, Søren Ødegård",
        "https://de.wikipedia.org/wiki/Straßenbahn_in_München /usr/share/locale/de/LC_MESSAGES",
        "Straße",
        "α and β decay, see Π",
        "",
    ],
)
def test_no_alarm_for_what_is_in_no_language(tmp_path: Path, text: str) -> None:
    assert findings_in(tmp_path, "language", with_one(text)) == []


def test_queries(tmp_path: Path) -> None:
    queries = {f"q{i}": plain(i) for i in range(12)} | {"odd": GERMAN}
    why = "12 of 13 queries whose language can be told are in English (en)"
    message = f"query odd seems to be in German (de); {why}"
    assert findings_in(tmp_path, "language", ENGLISH, queries) == [(["odd"], message)]


def test_what_the_card_states_is_what_counts(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlanguage: [en, de]\n---\n# A set\n")
    texts = {**ENGLISH, "a": GERMAN, "b": RUSSIAN}
    why = "the data set is stated to be in German (de), English (en)"
    message = f"document b seems to be in Russian (ru); {why}"
    assert findings_in(tmp_path, "language", texts) == [(["b"], message)]
    (tmp_path / "README.md").write_text("---\nlanguage: [en, tlh]\n---\n# A set\n")
    messages = findings_in(
        tmp_path, "language", texts
    )  # one that nobody can tell: the texts decide
    assert [ids for ids, _ in messages] == [["a"], ["b"]]


def test_codes() -> None:
    codes = ("en", "eng", "eng-Latn", "en_GB", "zho-Hans", "nob")
    assert [code_of(code) for code in codes] == ["en", "en", "en", "en", "zh", "no"]
    assert code_of("tlh") is None
    assert len(LANGUAGES) == 83
