"""Markdown as blocks and links, by markdown-it; front matter parsed off.

Blocks are read from the parser's lines; what stands within a line is parsed only where a sign says
that it holds markup, since that takes most of the time.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from retgen.errors import DatasetError
from retgen.sources.plain import has_words, is_boilerplate, is_question
from retgen.sources.records import Block, BlockKind, Link, ShortForm
from retgen.tokenizer import MARKS
from retgen.yaml_text import parse_yaml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<body>.*?\r?\n)?"
    r"(?:(?P=fence)|\.\.\.)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
_KEY = re.compile(r"\s*(?:#.*\n\s*)*[\w\"'][\w\"' -]*\s*[:=]")  # what a header begins with
_HEADER = 100_000  # characters of front matter at most
_SHORT_FORMS = ("description", "summary", "subtitle", "abstract")
_TITLE_WITHIN = 50_000  # characters
_PROSE = 0.25  # letters of a block outside of links, at least
_MAYBE_TITLE = re.compile(r"^[ >]*(?:#(?:[ \t].*|$)|=+[ \t]*$)", re.M)
_LINE = re.compile(r"\r\n?|\n")
_MARKUP = re.compile(r"[\[<`*_&\\!]")
_BOLD = re.compile(r"(\*\*|__)(?P<words>.+?)\1:?\Z", re.DOTALL)
_IDENTIFIER = re.compile(r"\s*\{#(?P<name>[^\s}]+)[^}]*\}\Z")
_NOT_IN_ANCHOR = re.compile(rf"[^\w{MARKS}\- ]")
# headings of pages and of questions that are written as HTML
_HTML_HEADING = re.compile(r"<(h[1-6]|summary|dt)\b[^>]*>(?P<words>.*?)</\1>", re.DOTALL | re.I)
_TAG = re.compile(r"<[^>]*>")
# lines that generators of sites read: of templates, containers, imports
_DIRECTIVE = re.compile(r"(?::::|\{[%{:]|import .* from |\[\[?_?toc_?\]?\]\Z|<!--)", re.I)
# what only Markdown has at the beginning of a line, or as a link
_MARKDOWN = re.compile(r"^(?:```|~~~|\|.*\|$)|\]\([^)\s]+\)", re.M)
_HASHED = re.compile(r"^#.*(?:\n#.*)*(?:\n(?P<below>.*))?", re.M)  # lines with # side by side
_HEADING = re.compile(r"(?P<marks>#{1,6}) \S.*\Z")


def looks_like_markdown(text: str) -> bool:
    """Whether a text has fences, tables or links of Markdown, or headings, and more of them than
    lines of comments: with # side by side, or a single # right above a line of code.
    """
    if _MARKDOWN.search(text):
        return True
    headings = comments = 0
    for match in _HASHED.finditer(text):
        below = match["below"] or ""
        heading = _HEADING.match(match.group().removesuffix(f"\n{below}"))
        if heading and (not below.strip() or len(heading["marks"]) > 1 or not match.start()):
            headings += 1
        else:
            comments += 1 + match.group().count("\n#")
    return headings > comments


def shown_words(text: str) -> str:
    """The words that a piece of Markdown shows, without marks, tags and targets of links."""
    return _words(_inline(text, {}))


def front_matter(text: str) -> tuple[int, dict[str, Any]]:
    """Where the text begins behind its front matter (YAML between ---, TOML between +++), and what
    that says; (0, {}) without one.
    """
    if not text.startswith(("---", "+++")):
        return 0, {}
    match = _FRONT.match(text[:_HEADER])
    body = (match["body"] or "") if match else ""
    if match is None or (body.strip() and not _KEY.match(body)):
        return 0, {}
    try:
        if match["fence"] == "+++":
            header: Any = tomllib.loads(body.replace("\r\n", "\n"))
        else:
            header = parse_yaml(body, "front matter", error=DatasetError)
    except (DatasetError, tomllib.TOMLDecodeError):
        header = {}
    return match.end(), header if isinstance(header, dict) else {}


def front_title(header: dict[str, Any]) -> str:
    """The title that front matter gives, "" without one."""
    return " ".join(str(header.get("title") or "").split())


def front_short_forms(header: dict[str, Any]) -> tuple[ShortForm, ...]:
    """Description, summary, ... that front matter gives."""
    values = ((name, header.get(name)) for name in _SHORT_FORMS)
    texts = ((name, " ".join(one.split())) for name, one in values if isinstance(one, str))
    return tuple(ShortForm(name, words) for name, words in texts if words)


def markdown_title(text: str) -> str:
    """The first heading of level 1, "" without one. Only the beginning of a text is read."""
    text = text[:_TITLE_WITHIN]
    stop = max((one.end() for one in _MAYBE_TITLE.finditer(text)), default=0)
    env: dict[str, Any] = {}
    for opening, token in pairwise(_parser().parse(text[:stop], env)):
        is_title = opening.type == "heading_open" and opening.tag == "h1"
        if is_title and (words := _words(_inline(token.content, env))):
            return words
    return ""


def markdown_blocks(
    text: str, place: str, anchors: Mapping[str, str] | None = None
) -> tuple[list[Block], list[Link]]:
    """Blocks and links of a text, in order. `place`: from where links lead on. `anchors`: names of
    headings by their letters and digits, where they have others than their words.

    Front matter that is left in it is boilerplate.
    """
    begin, _ = front_matter(text)
    reading = _Reading(text, begin, place, anchors or {})
    blocks = reading.blocks()
    if begin:
        blocks.insert(0, Block("boilerplate", *_trimmed(text, 0, begin)))
    return blocks, reading.links


def _link_target(href: str, place: str) -> str:
    """The place in the source that a document at `place` links to; "" if that lies elsewhere, or
    is the document itself. A folder stays a folder, "index" of the source's own.
    """
    try:
        parts = urlsplit(href.strip())
    except ValueError:  # brackets that are no IPv6 address
        return ""
    if not place or parts.scheme or parts.netloc or not parts.path:
        return ""
    path = unquote(parts.path)
    base = "" if path.startswith("/") else posixpath.dirname(place)
    target = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    if target == place or target.split("/")[0] == "..":
        return ""
    target = "index" if target == "." else target
    return f"{target}#{unquote(parts.fragment)}" if parts.fragment else target


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """The place without white space at its ends."""
    piece = text[start:stop]
    stop -= len(piece) - len(piece.rstrip())
    return min(stop, start + len(piece) - len(piece.lstrip())), stop


@cache
def _parser() -> MarkdownIt:
    """Markdown into blocks; what stands in a line is left to `_inline`."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


def _inline(content: str, env: dict[str, Any], is_parsed: bool = True) -> list[Token]:
    if not is_parsed or not _MARKUP.search(content):
        from markdown_it.token import Token

        return [Token("text", "", 0, content=content)]
    parser = _parser()
    return parser.inline.parse(content, parser, env, [])


def _words(tokens: Sequence[Token]) -> str:
    """What is shown of a line's tokens."""
    parts = (
        " " if one.type.endswith("break") else "" if one.type == "html_inline" else one.content
        for one in tokens
    )
    return " ".join("".join(parts).split())


def _is_prose(tokens: Sequence[Token]) -> bool:
    """Whether a good part of the letters is outside of links, images and tags."""
    depth, linked, outside = 0, 0, 0
    for one in tokens:
        depth += one.nesting if one.type.startswith("link_") else 0
        if one.type in ("text", "code_inline"):
            letters = sum(map(str.isalnum, one.content))
            linked += letters if depth else 0
            outside += 0 if depth else letters
    return outside > _PROSE * (linked + outside)


class _Reading:
    """A text while it is read."""

    def __init__(self, text: str, begin: int, place: str, names: Mapping[str, str]) -> None:
        self.text, self.place, self.names = text, place, names
        self.starts = [begin, *(one.end() for one in _LINE.finditer(text, begin)), len(text)]
        self.env: dict[str, Any] = {}
        self.tokens = _parser().parse(text[begin:], self.env)
        self.links: list[Link] = []
        self.anchors = Counter[str]()
        self.level = 0  # of the heading above
        self.has_title = False

    def blocks(self) -> list[Block]:
        """All blocks, and `links` filled."""
        result: list[Block] = []
        items = table = 0
        for number, token in enumerate(self.tokens):
            kind = token.type
            if kind.startswith("list_item_"):
                items += token.nesting
            elif kind.startswith("table_"):
                table += token.nesting
                if token.nesting > 0:
                    result.append(self._lines(token, "table"))
            elif kind in ("fence", "code_block"):
                result.append(self._lines(token, "code"))
            elif kind == "html_block":
                result += self._html(token)
            elif kind == "inline" and table:
                if "](" in token.content:
                    self._note_links(_inline(token.content, self.env))
            elif kind == "inline":
                opening = self.tokens[number - 1]
                result += self._inline(token, opening, "item" if items else "paragraph")
        return [one for one in result if one.start < one.stop]

    def _lines(self, token: Token, kind: BlockKind) -> Block:
        first, last = token.map or (0, 0)
        return Block(kind, *_trimmed(self.text, self.starts[first], self.starts[last]))

    def _inline(self, token: Token, opening: Token, kind: BlockKind) -> Iterator[Block]:
        content = token.content
        if not content.strip():
            return
        first, lines = (token.map or (0,))[0], content.split("\n")
        start = self._place(first, lines[0])[0]
        stop = self._place(first + len(lines) - 1, lines[-1])[1]
        is_heading = opening.type == "heading_open" or content.startswith(("**", "__"))
        tokens = _inline(content, self.env, is_heading or "[" in content or "<" in content)
        self._note_links(tokens)
        if opening.type == "heading_open":
            yield self._heading(start, stop, int(opening.tag[1]), _words(tokens))
        elif (bold := _BOLD.match(content)) and is_question(bold["words"]):
            yield self._heading(
                start + 2, start + bold.end("words"), self.level + 1, _words(tokens)
            )
        elif not _is_prose(tokens) or is_boilerplate(content) or _DIRECTIVE.match(content):
            yield Block("boilerplate", start, stop)
        else:
            yield Block(kind, start, stop)

    def _place(self, line: int, content: str) -> tuple[int, int]:
        """Where what a line holds stands in the text."""
        begin, end = self.starts[line], self.starts[line + 1]
        at = self.text.rfind(content, begin, end)
        return _trimmed(self.text, *((at, at + len(content)) if at >= 0 else (begin, end)))

    def _heading(self, start: int, stop: int, level: int, words: str) -> Block:
        level = min(level, 6)
        if named := _IDENTIFIER.search(self.text, start, stop):
            stop, anchor = named.start(), named["name"]
        elif anchor := self.names.get("".join(filter(str.isalnum, words.casefold())), ""):
            pass
        else:
            anchor = _NOT_IN_ANCHOR.sub("", words.lower()).replace(" ", "-")
            self.anchors[anchor] += 1
            if self.anchors[anchor] > 1:
                anchor = f"{anchor}-{self.anchors[anchor] - 1}"
        title = level == 1 and not self.has_title
        self.has_title |= title
        if self.text[start - 2 : start] not in ("**", "__"):
            self.level = level
        return Block("title" if title else "heading", start, stop, level, anchor)

    def _note_links(self, tokens: Sequence[Token]) -> None:
        for number, one in enumerate(tokens):
            if one.type != "link_open":
                continue
            target = _link_target(str(one.attrs.get("href", "")), self.place)
            words = takewhile(lambda other: other.type != "link_close", tokens[number + 1 :])
            shown = _words([other for other in words if other.type != "image"])
            if target and has_words(shown):
                self.links.append(Link(shown, target))

    def _html(self, token: Token) -> Iterator[Block]:
        """Headings of a piece of HTML; the rest of it is no prose."""
        whole = self._lines(token, "boilerplate")
        at = whole.start
        for match in _HTML_HEADING.finditer(self.text, whole.start, whole.stop):
            words = " ".join(_TAG.sub("", match["words"]).split())
            tag = match[1].lower()
            if not has_words(words) or not (tag.startswith("h") or is_question(words)):
                continue
            begin, end = _trimmed(self.text, *match.span("words"))
            yield Block("boilerplate", *_trimmed(self.text, at, begin))
            level = int(tag[1]) if tag.startswith("h") else self.level + 1
            yield self._heading(begin, end, level, words)
            at = end
        yield Block("boilerplate", *_trimmed(self.text, at, whole.stop))
