"""Files of other formats as Markdown, by kept converters.

| format | converter |
|---|---|
| HTML | html-to-markdown, of what a page shows without its navigation |
| Mallard | the same, its elements renamed to those of HTML |
| PDF, DOCX | kreuzberg |
| reStructuredText, AsciiDoc | pandoc |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple
from unicodedata import normalize

from retgen.errors import DatasetError
from retgen.sources.markdown import front_matter, front_title
from retgen.sources.plain import has_words
from retgen.sources.records import ShortForm

HTML, MALLARD = (".html", ".htm"), ".page"
_OFFICE = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_PANDOC = {".rst": "rst", ".adoc": "asciidoc"}
BYTES = tuple(_OFFICE)  # formats that are no text
CONVERTED = (*HTML, MALLARD, *_PANDOC, *_OFFICE)
_MODULES = {
    **dict.fromkeys((*HTML, MALLARD), ("lxml.html", "html_to_markdown")),
    **dict.fromkeys(_OFFICE, ("kreuzberg",)),
    **dict.fromkeys(_PANDOC, ("pypandoc",)),
}
# what a page shows around its text, or shows to nobody
_AROUND = (
    "//nav|//footer|//*[@role='navigation']|//*[@role='banner']|//*[@role='contentinfo']"
    "|//*[@role='search']|//*[@hidden]|//*[@aria-hidden='true']|//noscript|//template|//select"
    "|//textarea|//svg|//script|//style|//head|//button[not(ancestor::p|ancestor::summary)]"
)
_NAVIGATION = re.compile(
    r"(?:global|site|doc|main|sub|top|page)-?(?:nav|navbar|navigation|menu)|navigation"
    r"|nav-?(?:bar|header|footer|links|panel)|breadcrumbs?|skip-?links?|(?:sphinx)?sidebar"
    r"|related|header|headerlink|toc|table-of-contents|nav",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"\s*[0-5](?:\.\d*)?\s*[;,]\s*url\s*=\s*\S", re.IGNORECASE)  # after seconds
_SIGNS = ("", "¶", "#", "§", "🔗", "link")  # of links from a heading to itself
_TITLE_PARTS = re.compile(r"\s+[—–|·»-]+\s+")
# titles that programs fill in, such as the name of the file that was printed
_UNSAID = re.compile(r"\(\w+\)|untitled|Word Document|Microsoft Word - .*|\S+\.\w{2,5}", re.I)
_CONTENTS = re.compile(r"^.*(?:\.\s?){4,}\s*\w+\s*$\n?", re.M)  # lines of a table of contents
_MALLARD_TAGS = {
    "steps": "ol",
    "list": "ul",
    "item": "li",
    "terms": "ul",
    "screen": "pre",
    "code": "pre",
    "link": "a",
}


class Converted(NamedTuple):
    """A file as Markdown. `anchors`: names of headings by their words, where a page names them."""

    title: str
    text: str
    short_forms: tuple[ShortForm, ...] = ()
    anchors: Mapping[str, str] = {}


def import_readers(kinds: Iterable[str]) -> None:
    """Import the converters of some formats, so that a missing one is named before any file is
    read. Raises `ModuleNotFoundError`.
    """
    for kind in sorted({*kinds}):
        for module in _MODULES.get(kind, ()):
            import_module(module)


def converted(content: bytes | str, kind: str) -> Converted:
    """Convert a file. Raises `DatasetError` with the reason why it cannot be read."""
    if kind in _OFFICE:
        assert isinstance(content, bytes)
        return _office(content, kind)
    assert isinstance(content, str)
    if kind == MALLARD:
        return html_page(_mallard(content))
    return html_page(content) if kind in HTML else _by_pandoc(content, kind)


def _by_pandoc(text: str, kind: str) -> Converted:
    import pypandoc

    try:
        options = ["--wrap=none", "--sandbox", "--standalone"]
        to = "gfm-raw_html+yaml_metadata_block"
        made = str(pypandoc.convert_text(text, to, _PANDOC[kind], extra_args=options))
    except (RuntimeError, OSError) as error:  # what pandoc says, or that there is no pandoc
        raise DatasetError(f"pandoc cannot read it: {_last_line(error)}") from error
    begin, header = front_matter(made)
    return Converted(front_title(header), made[begin:])


def _office(content: bytes, kind: str) -> Converted:
    import kreuzberg

    settings = kreuzberg.ExtractionConfig(output_format="markdown", use_cache=False)
    try:
        made = kreuzberg.extract_bytes_sync(content, _OFFICE[kind], settings)
    except kreuzberg.KreuzbergError as error:
        advice = "save it without its password" if "password" in str(error) else "save it again"
        raise DatasetError(
            f"is no {kind[1:].upper()} that can be read; open it in a program and {advice} "
            f"(kreuzberg: {_last_line(error)})"
        ) from error
    if not has_words(made.content):
        raise DatasetError("holds no text, only pictures of it; recognize its text first")
    metadata: dict[str, Any] = dict(made.metadata)
    said = metadata | (metadata.get("core_properties") or {})
    title, subject = (
        "" if _UNSAID.fullmatch(one) else one
        for one in (" ".join(str(said.get(key) or "").split()) for key in ("title", "subject"))
    )
    short_forms = (ShortForm("subject", subject),) if subject else ()
    text = normalize("NFC", _CONTENTS.sub("", made.content))
    return Converted(title, text, short_forms)


def _last_line(error: Exception) -> str:
    return str(error).strip().rpartition("\n")[2] or type(error).__name__


# --- pages ----------------------------------------------------------------------------------------


def html_page(html: str) -> Converted:
    """Convert a page of HTML; without text where it shows none, or sends its readers to another
    page at once.
    """
    import html_to_markdown
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        page: Any = lxml.html.document_fromstring(html.encode(), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return Converted("", "")
    refresh = page.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']/@content")
    if any(map(_LEADS_ON.match, refresh)) and len(page.text_content()) <= 1000:
        return Converted("", "")
    title = " ".join("".join(page.xpath("//head/title[1]//text()")).split())
    described = page.xpath("//meta[@name='description']/@content")
    headings = page.xpath("//h1|//h2|//h3|//h4|//h5|//h6")
    named = [(one, name) for one in headings if (name := _anchor(one))]
    _drop_navigation(page)
    mains = page.xpath("//main|//*[@role='main']")
    shown = mains[0] if len(mains) == 1 and has_words(mains[0].text_content()) else page
    anchors = {bare(one.text_content()): name for one, name in named}
    own = [one for one in headings if shown in (page, *one.iterancestors())]
    first = [" ".join(one.text_content().split()) for one in own]
    options = html_to_markdown.ConversionOptions(
        extract_metadata=False, escape_misc=False, compact_tables=True
    )
    made = html_to_markdown.convert(lxml.html.tostring(shown, encoding="unicode"), options)
    if not made.content and has_words(shown.text_content()):
        raise DatasetError("its elements are nested too deeply to be read")
    said = (" ".join(one.split()) for one in described[:1])
    short_forms = tuple(ShortForm("description", one) for one in said if one)
    return Converted(_title(title, first), made.content or "", short_forms, anchors)


def bare(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def _title(title: str, headings: list[str]) -> str:
    """The part of a page's title that one of its headings says, else the whole title."""
    said = {bare(one) for one in headings}
    parts = (one for one in _TITLE_PARTS.split(title) if bare(one) in said)
    return next(parts, "") or title or next(iter(headings), "")


def _drop_navigation(page: Any) -> None:
    """Drop what surrounds the text of a page, and links that are signs beside headings."""
    for element in page.xpath(_AROUND):
        if element.getparent() is not None:
            element.drop_tree()
    for element in page.xpath("//body//*[@class or @id][not(self::a or self::span)]"):
        names = f"{element.get('class', '')} {element.get('id', '')}".split()
        is_named = any(map(_NAVIGATION.fullmatch, names))
        inside = element.xpath("self::*[starts-with(name(), 'h')]|.//h1|.//h2|.//h3")
        if is_named and not inside and element.getparent() is not None:
            element.drop_tree()
    for element in page.xpath("//a[starts-with(@href, '#')]"):
        if element.text_content().strip() in _SIGNS:
            element.drop_tree()


def _anchor(heading: Any) -> str:
    """The name of a heading: its own, of an element in it, of the section that it begins."""
    named = heading.xpath("@id|.//@id|.//a/@name|parent::section/@id|parent::div/@id")
    named += heading.xpath("preceding-sibling::*[1][self::a or self::span]/@*[name() != 'href']")
    return str(named[0]) if named else ""


def _mallard(text: str) -> str:
    """A page of Mallard as HTML: sections' titles are headings, the depth their level."""
    import lxml.etree

    try:
        page: Any = lxml.etree.fromstring(text.encode(), lxml.etree.XMLParser(recover=True))
    except lxml.etree.XMLSyntaxError as error:
        raise DatasetError(f"is no XML: {error}") from error
    if page is None:
        raise DatasetError("is no XML")
    for element in [*page.iter()]:
        if not isinstance(element.tag, str):
            continue
        name = lxml.etree.QName(element).localname
        depth = sum(lxml.etree.QName(one).localname == "section" for one in element.iterancestors())
        if name == "info":
            for one in [*element]:
                element.remove(one)
        if name == "link" and (target := element.get("xref")):
            element.set("href", re.sub(r"^([^#]+)", r"\1.page", target))
        is_heading = name == "title" and depth == len([*element.iterancestors()]) - 1
        element.tag = f"h{min(depth + 1, 6)}" if is_heading else _MALLARD_TAGS.get(name, name)
    return str(lxml.etree.tostring(page, encoding="unicode"))
