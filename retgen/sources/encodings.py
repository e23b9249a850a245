"""Bytes as text: UTF-8, what a byte order mark says, else what charset-normalizer tells."""

from __future__ import annotations

import codecs
import re

from retgen.errors import DatasetError

UTF_8 = "utf-8-sig"
BROKEN = re.compile("[\ud800-\udfff]")  # what bytes that are not UTF-8 become, and half signs
LOOKED_AT = 100_000  # bytes whose encoding is told
_MARKS = (  # the longer ones first: that of UTF-16 begins that of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, UTF_8),
)
_WESTERN = "cp1252"
# on the web (encoding.spec.whatwg.org), one of those that differ in few signs
_USUAL = [_WESTERN, *(f"cp125{number}" for number in (0, 1, 3, 4, 5, 6, 7))]
_USUAL += ["iso8859_2", "koi8_r", "koi8_u", "gb18030", "big5", "cp932", "euc_jis_2004", "cp949"]
_COHERENCE = 0.1  # by which letters of a language may be as frequent in another encoding
_MARGIN = 0.06  # by which another encoding has to be likelier than the Western one
_FEW = 0.1  # of the bytes of a Western text that are not ASCII
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HEAD = 4096  # bytes of a page that may name its encoding
_DECLARED = re.compile(rb"""<meta[^>]{1,200}?charset\s*=\s*["']?\s*([\w:-]{1,40})""", re.IGNORECASE)
_LABELS = {  # that mean more than they say (encoding.spec.whatwg.org)
    **dict.fromkeys(("ascii", "us-ascii", "iso-8859-1", "latin1"), _WESTERN),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "tis-620": "cp874",
}
_CUT = 3  # bytes of a sign that is cut off, at most
_MIXED = f"UTF-8 with bytes of {_WESTERN}"
_AS_WESTERN = "retgen-as-western"
_AT_WORDS = "¿¡“”„«»‘…"  # signs that begin or end words
_IN_WORDS = "’‘·–—"


def encoding_of(content: bytes) -> str:
    """The encoding of a text by its first bytes: `UTF_8`, or another one that Python knows.

    What is UTF-8 but for a few bytes is UTF-8. Raises `DatasetError` with the reason for bytes that
    are no text.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    content = content[:LOOKED_AT]
    if b"\0" in content:
        raise DatasetError("holds bytes that are no text")
    at_end = _CUT if len(content) == LOOKED_AT else 0  # a sign that is cut off
    return UTF_8 if _is_utf_8(content, at_end) else _told(content)


def _is_utf_8(content: bytes, spared: int) -> bool:
    """Whether bytes are UTF-8 but for a few: so many, or half as many as signs beyond ASCII."""
    text = content.decode(UTF_8, "surrogateescape")
    broken = len(BROKEN.findall(text))
    return broken <= spared or sum(sign > "\x7f" for sign in text) > 2 * broken


def decoded(content: bytes, encoding: str) -> tuple[str, str]:
    """A text, and what it is in: a few bytes that are not UTF-8 in a text that is are Western ones;
    what begins in ASCII may go on in any encoding.

    Raises `UnicodeDecodeError` where the encoding does not fit.
    """
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        if encoding == UTF_8 and _is_utf_8(content, _CUT):
            return content.decode(UTF_8, _AS_WESTERN), _MIXED
        if encoding != UTF_8 or not content[: error.start].isascii():
            raise
        begin = max(0, error.start - LOOKED_AT // 2)
        try:
            encoding = _told(content[begin : begin + LOOKED_AT])
        except DatasetError:
            raise error from None
    return content.decode(encoding), encoding


def declared_encoding(html: bytes) -> str | None:
    """The encoding that a page names for itself, where its bytes are in it and not in UTF-8."""
    found = _DECLARED.search(html[:_HEAD])
    if found is None:
        return None
    label = found[1].decode("ascii").lower()
    try:
        name = codecs.lookup(_LABELS.get(label, label)).name
        if name == "utf-8" or (not name.startswith("iso2022") and _is_utf_8(html, 0)):
            return None
        html.decode(name)
    except (LookupError, UnicodeError):
        return None
    return name


def _as_western(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    if error.reason == "unexpected end of data" and error.end - error.start > 1:
        return "", error.end  # of a file that was cut off
    return error.object[error.start : error.end].decode(_WESTERN, "replace"), error.end


def _told(content: bytes) -> str:
    """The likeliest encoding: letters as frequent as in a language, no signs within words, and
    what py3langid recognizes best. The Western one where nothing speaks for another.
    """
    import py3langid
    from charset_normalizer import from_bytes

    matches = list(from_bytes(content, cp_isolation=_USUAL))
    if not matches and _is_western(content):  # prose among code and tables looks like none
        return _WESTERN
    if not matches:
        raise DatasetError("holds bytes that are no text")
    best = max(one.coherence for one in matches)
    names = [
        _WESTERN if _WESTERN in one.could_be_from_charset else one.encoding  # the same text
        for one in matches
        if one.coherence >= best - _COHERENCE
    ]
    if not best:
        return _WESTERN if _WESTERN in names else names[0]

    def odds(name: str) -> tuple[int, float]:
        text = content.decode(name, "ignore")
        score = float(py3langid.classify(text)[1])  # a logarithm
        return _odd_signs(text), score - (name != _WESTERN) * _MARGIN * abs(score)

    scores = {name: odds(name) for name in names}
    return min(names, key=lambda name: (scores[name][0], -scores[name][1]))


def _is_western(content: bytes) -> bool:
    """Whether bytes are ASCII without control signs, but for a few that are Western letters."""
    beyond = [byte for byte in content if byte > 0x7E]
    letters = sum(chr(byte).isalpha() for byte in beyond if byte >= 0xC0)
    few = len(beyond) <= _FEW * len(content) and 2 * letters >= len(beyond)
    return few and not _CONTROL.search(content)


def _odd_signs(text: str) -> int:
    """Signs at or in words that do not belong there, as another encoding shows letters."""
    text = f" {text} "
    count = 0
    for at, sign in enumerate(text):
        if sign > "\x7f" and not sign.isalpha() and sign not in _IN_WORDS:
            beside = text[at - 1].isalpha() + text[at + 1].isalpha()
            count += beside > (sign in _AT_WORDS)
    return count


codecs.register_error(_AS_WESTERN, _as_western)
