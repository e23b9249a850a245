"""Texts that went through a wrong decoder, in any script, and characters that no reader sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.validators.rules.encoding import broken_characters
from tests.validators.sets import findings_in

LATIN = "UTF-8 that was read as Windows-1252"
OTHER = "which looks like UTF-8 that was read in another encoding"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cafe\ufffd", "holds U+FFFD, the mark of bytes that could not be decoded"),
        ("caf\u00c3\u00a9", f"holds 'Ã©', {LATIN}"),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚", f"holds 'Ð¿Ñ', {OTHER}"),
        ("дальше Ð¿Ñ€ по-русски", f"holds 'Ð¿Ñ', {OTHER}"),
        ("Î¼Îµ Ï„Î¿", f"holds 'Î¼', {OTHER}"),
        ("РџСЂРёРІРµС‚", f"holds 'РµС', {OTHER}"),
        ("il va lÃ  bas", f"holds 'lÃ ', {OTHER}"),
        ("\ufeffa text", "holds the invisible character U+FEFF"),
        ("po\u00adlite", "holds the invisible character U+00AD"),
        ("two\u2028lines", "holds the invisible character U+2028"),
        ("an\u200dother", "holds the invisible character U+200D"),
        ("hidden \U000e0061", "holds the invisible character U+E0061"),
        ("\x1b[1mbold", "holds the invisible character U+001B"),
        (
            "file\u202egnp.exe",
            "holds U+202E, which turns the order of reading: what is seen is not what stands there",
        ),
        (
            "plain\u200e text",
            "holds U+200E, a control of the direction of writing, and no text that needs it",
        ),
        (
            "שלום \u2067עולם",
            "holds U+2067, a control of the direction of writing, that is never closed",
        ),
        ("\ue001 icon", "holds U+E001, which stands for no character outside its own font"),
        ("e\u0301tude", "is not in Unicode normal form C, so equal words may not match"),
    ],
)
def test_what_is_broken(text: str, reason: str) -> None:
    assert broken_characters(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "naïve café, Ångström, “quoted” – and so on…",
        "tab\tand\nline",
        "Příliš žluťoučký kůň úpěl ďábelské ódy",
        "ÂME et ÎLE, À LA CARTE",
        "שלום\u200e (C)",
        "\u2067שלום\u2069 hello",
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧 and 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "你好世界，再见。",
        "Привет, мир! Це речення українською.",
        "10 µm, 5 €, § 3, © 2020, Ω",
    ],
)
def test_what_is_not(text: str) -> None:
    assert broken_characters(text) is None


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text",
    [
        "Größe über alles",
        "déjà vu à la carte",
        "пример текста",
        "日本語の文章",
        "한국어 문장",
        "zażółć gęślą",
        "שלום עולם",
        "ไทยภาษา",
    ],
)
def test_mojibake_of_any_script(text: str, encoding: str) -> None:
    broken = text.encode().decode(encoding, "ignore")
    assert broken_characters(f"some words {broken} and more") is not None
    assert broken_characters(text) is None


def test_documents_and_queries_are_named(tmp_path: Path) -> None:
    texts = {"d0": "a plain text", "d1": "Ð¿Ñ€Ð¸Ð²ÐµÑ‚"}
    message = "document d1 holds 'Ð¿Ñ', which looks like UTF-8 that was read in another encoding"
    assert findings_in(tmp_path, "encoding", texts) == [(["d1"], message)]
    messages = findings_in(tmp_path, "query-encoding", {"d0": "a"}, {"q0": "who\u2066 is"})
    message = (
        "query q0 holds U+2066, a control of the direction of writing, and no text that needs it"
    )
    assert messages == [(["q0"], message)]
