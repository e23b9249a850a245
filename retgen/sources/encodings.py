"""Bytes as text: UTF-8, what a byte order mark or a page says, else by charset-normalizer."""

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
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])")
_IN_WORDS = "’‘·–—"
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_HEAD = 4096  # bytes of a page that may name its encoding
_DECLARED = re.compile(rb"""<meta[^>]{1,200}?charset\s*=\s*["']?\s*([\w:-]{1,40})""", re.IGNORECASE)
_LABELS = {  # that mean more than they say (encoding.spec.whatwg.org)
    **dict.fromkeys(("ascii", "us-ascii", "iso-8859-1", "latin1"), _WESTERN),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "shift_jis": "cp932",
    "euc-kr": "cp949",
}
_CUT = 3  # bytes of a sign that is cut off, at most
# the beginning of such a sign at the end, as surrogates; no other bytes there are taken away
_CUT_OFF = re.compile("(?:[\udce0-\udcef][\udc80-\udcbf]|[\udcf0-\udcf4][\udc80-\udcbf]{1,2})\\Z")


class NotText(DatasetError):
    """Bytes in no encoding."""


def encoding_of(content: bytes) -> str:
    """The encoding of a text by its first bytes: `UTF_8`, or another one that Python knows.

    What is UTF-8 but for a few bytes is UTF-8. Raises `NotText` with the reason for bytes that are
    no text.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    if b"\0" in content[:LOOKED_AT]:
        raise NotText("holds bytes that are no text")
    at_end = _CUT if len(content) == LOOKED_AT else 0  # a sign that is cut off
    return UTF_8 if _is_utf_8(content, at_end) else _told(content)


def decoded(content: bytes, is_page: bool) -> tuple[str, str]:
    """A text, and what it is in, "" for UTF-8. In a text in UTF-8 a few other bytes are Western
    ones. `is_page`: it may name its encoding.
    """
    encoding = (_declared(content) if is_page else "") or encoding_of(content)
    try:
        return content.decode(encoding), "" if encoding == UTF_8 else encoding
    except UnicodeDecodeError as error:
        if encoding == UTF_8:
            text = _CUT_OFF.sub("", content.decode(UTF_8, "surrogateescape"))
            return BROKEN.sub(_as_western, text), f"UTF-8 and {_WESTERN}"
        message = f"is not {encoding}, as it begins: byte {error.start:,}"
        raise NotText(message) from error


def _is_utf_8(content: bytes, spared: int) -> bool:
    """Whether bytes are UTF-8 but for a few: so many, or half as many as signs beyond ASCII."""
    text = content.decode(UTF_8, "surrogateescape")
    broken = len(BROKEN.findall(text))
    return broken <= spared or sum(sign > "\x7f" for sign in text) > 2 * broken


def _declared(html: bytes) -> str:
    """The encoding that a page names for itself, where its bytes are in it and not in UTF-8."""
    found = _DECLARED.search(html[:_HEAD])
    label = found[1].decode("ascii").lower() if found else ""
    try:
        name = codecs.lookup(_LABELS.get(label, label)).name
        html.decode(name)
    except (LookupError, UnicodeError):
        return ""
    is_utf_8 = name == "utf-8" or (not name.startswith("iso2022") and _is_utf_8(html, 0))
    return "" if is_utf_8 else name


def _told(content: bytes) -> str:
    """The likeliest encoding of bytes, about the first one beyond ASCII: letters as frequent as in
    a language, no signs within words, and what py3langid recognizes best. The Western one where
    nothing speaks for another, as for a few letters among code.
    """
    import py3langid
    from charset_normalizer import from_bytes

    first = _BEYOND_ASCII.search(content)
    begin = max(0, first.start() - LOOKED_AT // 2) if first else 0
    content = content[begin : begin + LOOKED_AT]
    matches = list(from_bytes(content, cp_isolation=_USUAL))
    best = max((one.coherence for one in matches), default=0)
    near = [one for one in matches if one.coherence >= best - _COHERENCE]
    names = [_WESTERN if _WESTERN in one.could_be_from_charset else one.encoding for one in near]
    if not names and _CONTROL.search(content):
        raise NotText("holds bytes that are no text")
    if not best:
        return _WESTERN if not names or _WESTERN in names else names[0]

    def odds(name: str) -> tuple[int, float]:
        text = content.decode(name, "ignore")
        score = float(py3langid.classify(text)[1])  # a logarithm
        odd = sum(not one.isalpha() and one not in _IN_WORDS for one in _IN_WORD.findall(text))
        return -odd, score - (name != _WESTERN) * _MARGIN * abs(score)

    return max(names, key=odds)


def _as_western(surrogate: re.Match[str]) -> str:
    """A byte that is not UTF-8, which was decoded as a surrogate."""
    return surrogate[0].encode("utf-8", "surrogateescape").decode(_WESTERN, "replace")
