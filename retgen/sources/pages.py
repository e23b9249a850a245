"""Pages of HTML: what they show, without their navigation, and its blocks and links.

The text is inscriptis'. Elements are marked before it reads them, so that it says where the text of
each one stands; a block is text whose innermost element of structure is the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from retgen.sources.records import Block, BlockKind, Link, ShortForm
from retgen.sources.structure import (
    ParsedFile,
    has_words,
    is_boilerplate,
    is_question,
    link_target,
    trimmed,
    within_blocks,
)

# what a page shows around its text, or shows to nobody
_AROUND = (
    "//nav|//footer|//*[@role='navigation']|//*[@role='banner']|//*[@role='contentinfo']"
    "|//*[@role='search']|//*[@hidden]|//*[@aria-hidden='true']"
    "|//noscript|//template|//button|//select|//textarea|//svg|//script|//style"
)
# of which the words belong to a text: a question that opens its answer, "Press Save"
_BUTTONS = (
    "//button[ancestor::p or ancestor::summary or ancestor::h1 or ancestor::h2 or ancestor::h3"
    " or ancestor::h4 or ancestor::h5 or ancestor::h6]"
)
# classes and ids that mean navigation, and those that may mean something else
_NAVIGATION = re.compile(
    r"(?:global|site|doc|main|sub|top|page)-?(?:nav|navbar|navigation|menu)"
    r"|nav(?:bar|header|footer|links)|breadcrumbs|skip-?links?",
    re.IGNORECASE,
)
_MAYBE_NAVIGATION = re.compile(r"nav|navigation|menu|related|breadcrumb", re.IGNORECASE)
_MAIN = "//main|//*[@role='main']"
_LEADS_ON = re.compile(r"\s*[0-5](?:\.\d*)?\s*[;,]\s*url\s*=\s*\S", re.IGNORECASE)  # after seconds
_SENT = 500  # letters of a page that sends its readers elsewhere, at most
_SIGNS = {"", "¶", "#", "§", "🔗", "link"}  # of links from a heading to itself
_MARK, _SHOWN = "retgen-mark", "retgen-shown"
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_KINDS: dict[str, BlockKind] = {
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys(("li", "dt", "dd"), "item"),
    **dict.fromkeys(("caption", "figcaption"), "caption"),
    "pre": "code",
    "table": "table",
}
_BLOCKS = (
    *_KINDS,
    "p",
    "div",
    "section",
    "article",
    "blockquote",
    "summary",
    "details",
    "address",
    "figure",
    "td",
    "th",
    "dl",
    "ul",
    "ol",
    "header",
    "aside",
    "center",
    "form",
    "fieldset",
)
# lines of their own in a browser, which inscriptis would glue to what stands beside them
_BOXES = ("section", "dl", "dt", "dd", "summary", "details", "center", "form", "fieldset")
_ROWS = ".//tbody|.//thead|.//tfoot|.//tr|.//td|.//th"
_BULLET = re.compile(r"(?:[*+o•-]|\d+\.)\s+")
_BLANK = re.compile(r"\n\s*\n")
_BETWEEN = 2  # blanks between cells
_GAP = re.compile(r"(?<=\S)[ ]{3,}")
_LARGE, _INDEX = 2000, 0.5  # letters of an index, or of contents, at least; of these in links
_LABELS = 40  # letters of such words as Contents, Search, Index
_PROSE = 0.25  # letters of a block outside of links, at least


def read_page(html: str, place: str = "") -> ParsedFile:
    """A page as it is shown; without text of what is no page, or sends its readers to another one
    at once. Raises `RecursionError` where it is nested too deeply.
    """
    import lxml.etree
    import lxml.html
    from inscriptis import Inscriptis
    from inscriptis.model.config import ParserConfig

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        page: Any = lxml.html.document_fromstring(html.encode(), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return ParsedFile("", "")
    _show_variants(page)
    _show_collapsed(page)
    for element in page.xpath(_AROUND):
        if element.getparent() is not None:
            element.drop_tree()
    if _leads_on(page):
        return ParsedFile("", "")
    _drop_navigation(page)
    for element in page.xpath("//a[starts-with(@href, '#')]"):
        if element.text_content().strip() in _SIGNS and not element.get("id"):
            element.drop_tree()
    mains = page.xpath(_MAIN)
    shown = mains[0] if len(mains) == 1 and has_words(mains[0].text_content()) else page
    title = _title(page, shown)
    described = page.xpath("//meta[@name='description']/@content")
    shown.tail = None
    letters = _letters(shown.text_content())
    links_out = (one for one in shown.iter("a") if not one.get("href", "#").startswith("#"))
    linked = sum(_letters(one.text_content()) for one in links_out)
    is_index = letters >= _LARGE and linked >= _INDEX * letters
    _linearize(page)
    marked = [one for one in page.iter(*_BLOCKS, "a") if one.tag != "a" or one.get("href")]
    for number, element in enumerate(marked):
        element.set(_MARK, str(number))
    config = ParserConfig()
    config.css = config.css | dict.fromkeys(_BOXES, config.css["main"])
    mapping = config.attribute_handler.attribute_mapping
    config.attribute_handler.attribute_mapping = {**mapping, _MARK: _annotate}
    reader = Inscriptis(shown, config)
    text = reader.get_text()
    spans = [
        (one.start, min(one.end, len(text)), int(one.metadata)) for one in reader.get_annotations()
    ]
    tables = [(start, stop) for start, stop, number in spans if marked[number].tag == "table"]
    text, spans = _unpadded(text, tables, spans)
    blocks, links = _structure(text, marked, spans, place)
    if is_index:
        entries = ("item", "table")
        blocks = [
            Block("boilerplate", one.start, one.stop) if one.kind in entries else one
            for one in blocks
        ]
    short_forms = (ShortForm("description", " ".join(one.split())) for one in described[:1])
    return ParsedFile(title, text, blocks, links, tuple(one for one in short_forms if one.text))


def _leads_on(page: Any) -> bool:
    """Whether nobody reads a page, as it sends its readers to another one."""
    refresh = (
        one.get("content", "")
        for one in page.xpath("//meta[@http-equiv]")
        if one.get("http-equiv").casefold() == "refresh"
    )
    return any(map(_LEADS_ON.match, refresh)) and _letters(page.text_content()) <= _SENT


def _title(page: Any, shown: Any) -> str:
    """What a page calls itself: the part of its title that it shows as a heading, else all of it.
    Where the one of the first level is the site's, the part that another heading says.
    """
    title = " ".join("".join(page.xpath("//head/title[1]//text()")).split())
    first, others = (
        [" ".join(one.text_content().split()) for one in shown.xpath(which)]
        for which in (".//h1", ".//h2|.//h3")
    )
    for heading in reversed(first):  # the name of the site comes first
        words = re.escape(heading)
        if heading and re.match(rf"{words}\s*[—–|·:»-]+\s", title):
            return heading
        if heading and (before := re.match(rf"(.*?)\s[—–|·:»-]+\s+{words}\Z", title)):
            return before[1] if before[1] in others else heading
    return title or next(iter(first), "")


def _show_variants(page: Any) -> None:
    """Show what a script would show: of spans side by side that are all hidden (a key on one system
    and on another), the last one with words.
    """
    for first in page.xpath("//span[@hidden]"):
        variants = [first]
        while not (variants[-1].tail or "").strip():
            following = variants[-1].getnext()
            if following is None or following.tag != "span" or following.get("hidden") is None:
                break
            variants.append(following)
        told = [one for one in variants if has_words(one.text_content())]
        before = first.getprevious()
        is_first = (
            before is None
            or before.tag != "span"
            or bool((before.tail or "").strip())
            or before.get("hidden") is None
        )
        if is_first and len(variants) > 1 and told:
            told[-1].set(_SHOWN, "")
    for shown in page.xpath(f"//span[@{_SHOWN}]"):
        del shown.attrib["hidden"], shown.attrib[_SHOWN]


def _show_collapsed(page: Any) -> None:
    """Show what a reader opens: the texts of tabs, what a button behind a heading opens, and the
    words of buttons within a text.
    """
    opened = {name for one in page.xpath("//@aria-controls") for name in one.split()}
    for element in page.xpath("//*[@hidden]"):
        is_opened = (
            element.get("id") in opened
            or element.get("role") == "tabpanel"
            or element.get("hidden") == "until-found"
            or element.xpath("preceding-sibling::*[1]/descendant-or-self::*[@aria-expanded]")
        )
        linked = sum(_letters(one.text_content()) for one in element.iter("a"))
        if is_opened and _letters(element.text_content()) > 2 * linked:
            del element.attrib["hidden"]
    for element in page.xpath(_BUTTONS):
        element.drop_tag()


def _drop_navigation(page: Any) -> None:
    """Drop what its class or id calls navigation; where its name may mean something else, what is
    links for the most part; a header, and what stands aside, with several links or an input and
    hardly a word of its own. What has a heading stays, as ids are made of headings, too.
    """
    for element in page.xpath("//body//*[@class or @id or self::header or self::aside]"):
        names = f"{element.get('class', '')} {element.get('id', '')}".split()
        certain = any(map(_NAVIGATION.fullmatch, names))
        maybe = any(map(_MAYBE_NAVIGATION.fullmatch, names))
        aside = element.tag in ("header", "aside")
        if (
            (certain or maybe or aside)
            and element.getparent() is not None
            and element.tag not in _HEADINGS
            and not element.xpath(".//h1|.//h2|.//h3|.//h4|.//h5|.//h6")
        ):
            links = [_letters(one.text_content()) for one in element.iter("a")]
            letters = _letters(element.text_content())
            several = aside and (len(links) > 1 or bool(element.xpath(".//input")))
            if (
                certain
                or (maybe and 2 * sum(links) >= letters)
                or (several and letters - sum(links) <= max(_LABELS, _PROSE * letters))
            ):
                element.drop_tree()


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _annotate(number: str, element: Any) -> None:
    element.annotation += (number,)


def _unpadded(
    text: str, tables: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int, int]]
) -> tuple[str, list[tuple[int, int, int]]]:
    """A text whose tables' cells are two blanks apart, and not as wide as the widest of a column;
    and where the same spans stand in it.
    """
    gaps = sorted(
        {gap.span() for start, stop in tables for gap in _GAP.finditer(text, start, stop)}
    )
    lost = [0, *accumulate(stop - start - _BETWEEN for start, stop in gaps)]
    ends = [stop for _, stop in gaps]

    def moved(at: int) -> int:
        before = bisect_right(ends, at)  # gaps that end there or earlier
        within = max(0, at - gaps[before][0] - _BETWEEN) if before < len(gaps) else 0
        return at - lost[before] - within

    kept, at = [], 0
    for start, stop in gaps:
        kept.append(text[at : start + _BETWEEN])
        at = stop
    return "".join((*kept, text[at:])), [(moved(start), moved(stop), n) for start, stop, n in spans]


def _structure(
    text: str, marked: Sequence[Any], spans: Sequence[tuple[int, int, int]], place: str
) -> tuple[list[Block], list[Link]]:
    words, links = [], list[Link]()
    for start, stop, number in sorted(spans):
        element = marked[number]
        if element.tag == "a":
            start, stop = trimmed(text, start, stop)
            shown = " ".join(element.text_content().split())
            if (dot := _BULLET.match(text, start, stop)) and not _BULLET.match(shown):
                start = dot.end()  # which belongs to the item
            words.append((start, stop))
            target = link_target(element.get("href"), place)
            is_there = " ".join(text[start:stop].split()) == shown  # not in wrapped cells
            if target and is_there and has_words(shown):
                links.append(Link(start, stop, target))
    places = sorted((s, -e, n) for s, e, n in spans if marked[n].tag != "a")
    blocks = list[Block]()
    has_title = False
    at = 0  # in `words`
    for start, stop, element in _segments(len(text), [(s, -e, marked[n]) for s, e, n in places]):
        kind, owner = _kind(element)
        for begin, end in _pieces(text, start, stop, kind):
            if owner is not None and owner.tag == "li" and (dot := _BULLET.match(text, begin, end)):
                begin = dot.end()
            piece = text[begin:end]
            if not piece:
                continue
            while at < len(words) and words[at][1] <= begin:
                at += 1
            linked = 0
            for number in range(at, len(words)):
                if words[number][0] >= end:
                    break
                linked += sum(
                    map(
                        str.isalnum, text[max(begin, words[number][0]) : min(end, words[number][1])]
                    )
                )
            count = sum(map(str.isalnum, piece))
            if kind == "heading" and count:
                level = _HEADINGS.get(owner.tag, 6)
                is_title = owner.tag == "h1" and not has_title
                has_title |= is_title
                name: BlockKind = "title" if is_title else "heading"
                blocks.append(Block(name, begin, end, level, _anchor(owner)))
            elif kind != "code" and (count - linked <= _PROSE * count or is_boilerplate(piece)):
                blocks.append(Block("boilerplate", begin, end))
            else:
                blocks.append(Block(kind, begin, end))
    return blocks, list(within_blocks(links, blocks))


def _segments(length: int, spans: Sequence[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
    """The text cut where an element begins or ends, with the innermost one; what lies in code, in a
    heading or in a table of data is not cut.
    """
    open_: list[tuple[int, Any]] = [(length, None)]
    at = 0
    for start, stop, element in spans:
        while len(open_) > 1 and open_[-1][0] <= start:
            end, inner = open_.pop()
            if at < end:
                yield at, end, inner
                at = end
        if open_[-1][1] is not None and _is_whole(open_[-1][1]):
            continue
        if at < start:
            yield at, start, open_[-1][1]
            at = start
        open_.append((min(stop, open_[-1][0]), element))
    while open_:
        end, inner = open_.pop()
        if at < end:
            yield at, end, inner
            at = end


def _is_whole(element: Any) -> bool:
    return element.tag in _HEADINGS or element.tag in ("pre", "caption", "figcaption", "table")


def _linearize(page: Any) -> None:
    """Make tables that only arrange what stands in them plain boxes, one below the other; captions
    of the others come before them.
    """
    for caption in page.xpath("//table/caption"):
        caption.tag, caption.tail = "figcaption", None
        caption.getparent().addprevious(caption)
    for table in page.xpath("//table"):
        if (
            table.get("role") == "presentation"
            or len(table.findall(".//tr")) < 2
            or any(table.find(f".//{tag}") is not None for tag in ("table", "pre", *_HEADINGS))
        ):
            for element in table.xpath(_ROWS):
                if next(element.iterancestors("table"), None) is table:
                    element.tag = "div"
            table.tag = "div"


def _kind(element: Any) -> tuple[BlockKind, Any]:
    """What the text of an element is, and the element that makes it so."""
    inner = element
    while element is not None and isinstance(element.tag, str):
        tag = element.tag
        if tag in ("dt", "summary", "p") and _asks(element):
            return "heading", element
        if tag == "p" and (parent := element.getparent()) is not None and parent.tag == "dd":
            return "paragraph", element
        if tag in _KINDS:
            return _KINDS[tag], element
        element = element.getparent()
    return "paragraph", inner


def _asks(element: Any) -> bool:
    """Whether it is a question of a list of questions: of a paragraph, all bold."""
    words = element.text_content()
    if not is_question(words):
        return False
    bold = element if element.tag != "p" else next(iter(element), None)
    return bold is element or (
        bold is not None
        and bold.tag in ("b", "strong")
        and bold.text_content().strip() == words.strip()
    )


def _anchor(heading: Any) -> str:
    """The name of a heading: its own, of a name in it, of the section that it begins."""
    if name := heading.get("id"):
        return str(name)
    for inner in heading.iter("a", "span"):
        if name := inner.get("id") or inner.get("name"):
            return str(name)
    before = heading.getprevious()
    while before is not None and not (
        isinstance(before.tag, str) and before.text_content().strip()
    ):
        if name := before.get("id") or before.get("name"):
            return str(name)
        before = before.getprevious()
    parent = heading.getparent()
    is_first = before is None and parent is not None
    return str(parent.get("id") or "") if is_first else ""


def _pieces(text: str, start: int, stop: int, kind: BlockKind) -> Iterator[tuple[int, int]]:
    """Paragraphs are cut at blank lines, too."""
    if kind == "paragraph":
        for blank in _BLANK.finditer(text, start, stop):
            yield trimmed(text, start, blank.start())
            start = blank.end()
    yield trimmed(text, start, stop)
