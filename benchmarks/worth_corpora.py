"""Four corpora of documents with short forms that people wrote and that a run is not shown.

Debian's package descriptions (the synopsis is the query), manual pages (the NAME line), lintian's
tags (the tag's name), and Python's HTML documentation (synopses of modules, questions of the FAQ).
In each, `source/` is what `gen run` reads, `test/` a data set over other documents (Debian: of
other source packages), and `human/` pairs that people wrote for the documents of `source/`. Needs
Debian's packages manpages, manpages-dev, perl-doc, lintian, python3-doc, man-db and lz4, and its
English package lists:

    apt-get -o Acquire::Languages=en update
    .venv/bin/python benchmarks/worth_corpora.py FOLDER
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import lxml.html

LISTS = Path("/var/lib/apt/lists")
MANUAL, TAGS = Path("/usr/share/man"), Path("/usr/share/lintian/tags")
PYTHON = Path("/usr/share/doc/python3.11/html")
PAGES = 2600  # of the manual, drawn with a fixed seed


class Document(NamedTuple):
    """A document without its short form. `group`: documents of one group stay on one side."""

    id: str
    text: str
    short_form: str
    group: str


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name, (documents, trained, tested, asked) in CORPORA.items():
        write_split(folder / name, list(documents()), trained, tested, asked)
    write_python(folder / "python")


# --- documents that are rows or plain text ------------------------------------------------------


def package_descriptions() -> Iterator[Document]:
    """Packages of the main archive: the extended description without its synopsis."""
    source_of = {
        one["Package"]: one.get("Source", one["Package"]).split(" ")[0]
        for one in stanzas("*_main_binary-*_Packages.lz4")
    }
    for one in stanzas("*_main_i18n_Translation-en.lz4"):
        synopsis, _, rest = one.get("Description-en", "").partition("\n")
        lines = ("" if line.strip() == "." else line.removeprefix(" ") for line in rest.split("\n"))
        text = "\n".join(lines).strip()
        if len(text) > 200 and one["Package"] in source_of:
            yield Document(one["Package"], text, synopsis, source_of[one["Package"]])


def stanzas(pattern: str) -> Iterator[dict[str, str]]:
    """Paragraphs of apt's largest list of a kind, field to value."""
    path = max(LISTS.glob(pattern), key=lambda one: one.stat().st_size)
    text = subprocess.run(["lz4", "-dc", path], capture_output=True, check=True).stdout.decode()
    for paragraph in text.split("\n\n"):
        fields = re.findall(r"^([\w-]+):[ ]?(.*(?:\n[ \t].*)*)", paragraph, re.MULTILINE)
        if fields:
            yield dict(fields)


def manual_pages() -> Iterator[Document]:
    """Rendered pages of sections 1 to 8 without their NAME, which is "names - short form"."""
    seen = set()
    paths = [
        path
        for path in sorted(MANUAL.glob("man[1-8]/*.gz"))
        if not path.is_symlink() and not path.name.startswith("gcloud")  # 16,000 made by a program
    ]
    random.Random(0).shuffle(paths)
    for path in paths[:PAGES]:
        with gzip.open(path) as file:
            if b"\n.so " in b"\n" + file.read(300):
                continue
        page = subprocess.run(
            ["man", "-P", "cat", "-l", path],
            capture_output=True,
            check=False,
            env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        ).stdout.decode("utf-8", "replace")
        page = re.sub(r".\x08|\x1b\[[0-9;]*m", "", page)
        name = re.search(r"^NAME\n((?:[ \t]+.*\n|\n)+?)(?=\S)", page, re.MULTILINE)
        if name is None:
            continue
        words = " ".join(name[1].split())
        _, dash, short_form = re.sub(r"\s[-\u2010-\u2014\u2212]+\s", " - ", words).partition(" - ")
        lines = (page[: name.start()] + page[name.end() :]).strip().split("\n")[1:-1]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
        if dash and len(text) > 400 and short_form.casefold() not in seen:
            seen.add(short_form.casefold())
            yield Document(path.name.removesuffix(".gz"), text, short_form, path.name[:5])


def lintian_tags() -> Iterator[Document]:
    """Tags with their explanations; the tag's name is the short form."""
    for path in sorted(TAGS.rglob("*.tag")):
        fields = dict(
            re.findall(r"^([\w-]+):[ ]?(.*(?:\n[ \t].*)*)", path.read_text(), re.MULTILINE)
        )
        lines = fields.get("Explanation", "").split("\n")
        text = "\n".join("" if line.strip() == "." else line.strip() for line in lines).strip()
        name = fields.get("Tag", "").strip()
        if len(text) > 80 and "/" not in name:
            yield Document(name, text, name.replace("-", " "), name)


CORPORA: dict[str, tuple[Callable[[], Iterable[Document]], int, int, int]] = {
    # how many documents are the source's, the test's, and how many of these are asked for
    "debian": (package_descriptions, 2000, 4000, 500),
    "manual": (manual_pages, 1000, 803, 400),
    "lintian": (lintian_tags, 800, 648, 400),
}


def write_split(
    folder: Path, documents: list[Document], trained: int, tested: int, asked: int
) -> None:
    """Groups drawn with a fixed seed to one of both sides."""
    draw = random.Random(0)
    groups: dict[str, list[Document]] = {}
    for one in {one.id: one for one in documents}.values():
        groups.setdefault(one.group, []).append(one)
    order = sorted(groups)
    draw.shuffle(order)
    test: list[Document] = []
    source: list[Document] = []
    for name in order:
        (test if len(test) < tested else source).extend(groups[name])
    test, source = test[:tested], source[:trained]
    seen = {" ".join(one.text.split()) for one in test}
    source = [one for one in source if " ".join(one.text.split()) not in seen]
    write_rows(
        folder / "source" / "documents.jsonl", ({"id": d.id, "text": d.text} for d in source)
    )
    write_pairs(folder / "human", source, source, "train")
    write_pairs(folder / "test", test, draw.sample(test, asked), "test")


def write_pairs(folder: Path, documents: list[Document], asked: list[Document], split: str) -> None:
    """A data set in BEIR's layout: the short form of each of `asked` finds its text."""
    write_rows(
        folder / "corpus.jsonl", ({"_id": d.id, "title": "", "text": d.text} for d in documents)
    )
    write_rows(
        folder / "queries.jsonl", ({"_id": f"q-{d.id}", "text": d.short_form} for d in asked)
    )
    path = folder / "qrels" / f"{split}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q-{d.id}\t{d.id}\t1\n" for d in asked)
    )


def write_rows(path: Path, rows: Iterable[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


# --- Python's documentation ---------------------------------------------------------------------


def write_python(folder: Path) -> None:
    """Pages outside the library and the FAQ are the source, as HTML. People's pairs for them are
    entries of the index. The test finds a module's page, less its synopsis, and answers of the FAQ.
    """
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    for path in sorted(PYTHON.rglob("*.html")):
        name = path.relative_to(PYTHON)
        if len(name.parts) > 1 and name.parts[0] not in ("library", "faq", "_static"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, source / name)
    test = [*module_pages(), *answers()]
    write_pairs(folder / "test", test, [one for one in test if one.short_form], "test")
    entries = list(index_entries())
    sections = list({one.id: one for one in entries}.values())
    write_pairs(folder / "human", sections, sections, "train")


def body(path: Path) -> lxml.html.HtmlElement:
    """The text of a page, without its marks of links to headings."""
    page = lxml.html.fromstring(path.read_bytes())
    for mark in page.xpath("//a[@class='headerlink']"):
        mark.drop_tree()
    return page.xpath("//div[@role='main']")[0]


def words(element: lxml.html.HtmlElement) -> str:
    return re.sub(r"\n\s*\n+", "\n\n", element.text_content()).strip()


def module_pages() -> Iterator[Document]:
    """Pages of the library's modules, without their synopsis; the first of them asks."""
    index = lxml.html.fromstring((PYTHON / "py-modindex.html").read_bytes())
    synopses: dict[str, str] = {}
    for row in index.xpath("//tr[.//em]"):
        for link in row.xpath(".//a/@href"):
            synopsis = " ".join(row.xpath(".//em")[0].text_content().split())
            synopses.setdefault(link.partition("#")[0], synopsis)
    for path in sorted((PYTHON / "library").glob("*.html")):
        name = path.relative_to(PYTHON).as_posix()
        page = body(path)
        for heading in page.xpath(".//h1"):  # which repeats the synopsis
            heading.drop_tree()
        synopsis = synopses.get(name, "")
        text = words(page).replace(synopsis, "") if synopsis else words(page)
        yield Document(name, text[:6000], synopsis.rstrip("."), name)


def answers() -> Iterator[Document]:
    """Answers of the FAQ to their questions."""
    for path in sorted((PYTHON / "faq").glob("*.html")):
        for section in body(path).xpath(".//section[not(.//section)]"):
            heading = section.xpath("./h2|./h3")
            question = words(heading[0]) if heading else ""
            if question.endswith("?"):
                heading[0].drop_tree()
                yield Document(
                    f"{path.stem}#{section.get('id')}", words(section)[:6000], question, path.stem
                )


def index_entries() -> Iterator[Document]:
    """Entries of the index that point into pages of the source, with their sections."""
    index = lxml.html.fromstring((PYTHON / "genindex-all.html").read_bytes())
    pages: dict[str, lxml.html.HtmlElement] = {}
    for link in index.xpath("//table[contains(@class, 'indextable')]//a[@href]"):
        name, _, anchor = link.get("href").partition("#")
        outside = name.split("/")[0] in ("library", "faq") or "/" not in name
        if outside or not anchor or not (PYTHON / name).is_file():
            continue
        if name not in pages:
            pages[name] = body(PYTHON / name)
        page = pages[name]
        places = page.xpath(".//*[@id=$anchor]", anchor=anchor)
        parts = places[0].xpath("ancestor-or-self::section[1]") if places else []
        text = words(parts[0])[:6000] if parts else ""
        entry = " ".join(link.text_content().split())
        if len(text) > 200 and not entry.startswith("["):
            yield Document(f"{name}#{anchor}", text, entry, name)


if __name__ == "__main__":
    main()
