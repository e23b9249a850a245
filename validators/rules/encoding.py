"""What may be wrong with the characters of a text: wrong decoders, and what no reader sees."""

from __future__ import annotations

import re
import unicodedata

from retgen.validators.rule import Batch
from retgen.validators.rules.documents import NotedTexts

# controls; soft hyphen, fillers, line and paragraph separators, invisible operators, interlinear
# marks; joiners, which are letters' business in Persian and in Indian scripts, and make emoji, in
# Latin words; letters of tags, which flags of countries' parts use behind a black flag and nothing
# else does
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff]|"
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2028\u2029\u2061-\u2064\ufff9-\ufffb]|"
    "(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])|"
    "(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]"
)
_OVERRIDE = re.compile("[\u202d\u202e]")
_BIDI = re.compile("[\u200e\u200f\u061c\u202a-\u202c\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff]")
_OPENED, _CLOSED = re.compile("[\u202a\u202b\u2066-\u2068]"), re.compile("[\u202c\u2069]")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd\ufdd0-\ufdef\ufffe\uffff]")
# UTF-8 read as Windows-1252: a lead byte's letter followed by what a continuation byte became
_MOJIBAKE = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac[\u0153\u009d\u2122\u02dc\u201c\u201d\u00a6]"
)
# bytes of one character were read as several: beside a letter stands a sign, or one of the few
# letters that Windows-1252 has where continuation bytes are, or all letters are of other alphabets
_TOGETHER = re.compile(
    "\u00c3 |[^\x00-\x7f][\u0080-\u00bf\u02c6\u02dc\u2013-\u203a\u20ac\u2122]|"
    "[\u00c2-\u00df][\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192]|[\u0370-\uffff]{2}"
)
# ASCII and the letters of Latin-1, less the two that begin most UTF-8 read as Windows-1252
_WESTERN = bytes([*range(0x80), *(set(range(0xC0, 0x100)) - {0xC2, 0xC3, 0xD7, 0xF7})])
_MANY = 3  # unlikely sequences that make a text broken even where it cannot be restored


class Encoding(NotedTexts):
    """Texts that went through a wrong decoder, or hold characters no reader sees."""

    name = "encoding"
    query_name = "query-encoding"
    severity = "warning"
    finds = (
        "U+FFFD; characters that no reader sees (controls, U+FEFF, soft hyphens, joiners "
        "between Latin letters, tags) or no font shows (private use); controls of the direction "
        "of writing that override it, are never closed, or stand where nothing runs from right "
        "to left; UTF-8 of any script that was read in a Western encoding; no normal form C"
    )
    query_finds = "queries with what `encoding` finds in documents"
    order = 60

    def scan(self, batch: Batch) -> None:
        for column in (batch.texts, batch.titles, batch.ids):
            for text_id, text in zip(batch.ids, column, strict=True):
                if reason := broken_characters(text):
                    self.state.documents.append((text_id, reason))


def broken_characters(text: str) -> str | None:
    """What is wrong with the characters of a text, as the end of a sentence; None if nothing."""
    if text.isprintable() and (text.isascii() or _western(text)):
        return None  # nearly every English text, without a regular expression
    if "\ufffd" in text:
        return "holds U+FFFD, the mark of bytes that could not be decoded"
    if not text.isprintable():
        if match := _INVISIBLE.search(text):
            return f"holds the invisible character {_code(match)}"
        if not text.isascii() and (reason := _misleading(text)):
            return reason
    if text.isascii():
        return None
    if match := _MOJIBAKE.search(text):
        return f"holds {match[0]!r}, UTF-8 that was read as Windows-1252"
    if reason := _mojibake(text):
        return reason
    if not unicodedata.is_normalized("NFC", text):
        return "is not in Unicode normal form C, so equal words may not match"
    return None


def _western(text: str) -> bool:
    """Whether all is ASCII and letters that no decoder leaves behind: none of the rest applies."""
    try:
        return not text.encode("latin-1").translate(None, _WESTERN)
    except UnicodeEncodeError:
        return False


def _code(match: re.Match[str]) -> str:
    return f"U+{ord(match[0]):04X}"


def _misleading(text: str) -> str | None:
    """What turns the direction of writing, or has no meaning outside a font."""
    if match := _OVERRIDE.search(text):
        seen = "what is seen is not what stands there"
        return f"holds {_code(match)}, which turns the order of reading: {seen}"
    if match := _BIDI.search(text):
        holds = f"holds {_code(match)}, a control of the direction of writing,"
        if not _RIGHT_TO_LEFT.search(text):
            return f"{holds} and no text that needs it"
        if len(_OPENED.findall(text)) > len(_CLOSED.findall(text)):
            return f"{holds} that is never closed"
    if match := _PRIVATE.search(text):
        return f"holds {_code(match)}, which stands for no character outside its own font"
    return None


def _mojibake(text: str) -> str | None:
    """UTF-8 read as any other encoding: ftfy's heuristic, confirmed by what it restores."""
    if not _TOGETHER.search(text):
        return None  # accented letters, without loading the library
    from ftfy import fix_encoding
    from ftfy.badness import BADNESS_RE, badness

    if not (match := BADNESS_RE.search(text)):
        return None
    start = max(0, match.start() - 40)
    around = text[start : match.end() + 40]
    if fix_encoding(around) == around and badness(text) < _MANY:
        return None
    return f"holds {match[0]!r}, which looks like UTF-8 that was read in another encoding"
