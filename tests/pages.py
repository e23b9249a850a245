"""Pages read back as a browser and the Hub read them: Markdown rendered, HTML parsed."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt


class Read(HTMLParser):
    """The elements of a page in order, their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.append("!--")

    def unknown_decl(self, data: str) -> None:
        self.tags.append("![")


def rendered(markdown: str) -> Read:
    """Markdown as GitHub and the Hub have it, with whatever HTML stands in it."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return Read(parser.render(markdown))
