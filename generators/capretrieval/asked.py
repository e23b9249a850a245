"""Questions that people asked: read from a file, checked against the documents, kept for review.

    # a line of a text file is a question; lines that begin with # and blank lines are skipped
    wifi keeps dropping

    question,document
    wifi keeps dropping,help/network

A table may name the document that answers. Such a label is of the whole document, a *page*: each of
its passages gets it, and a page is scored by its best passage. All other pairs of these questions
wait for `gen review`; what nobody judged has no row in the qrels.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.dataset_files import file_format
from retgen.errors import RecipeError
from retgen.generators.capretrieval.passages import bundled_queries
from retgen.messages import did_you_mean
from retgen.rows import NOT_UTF8, Problem, json_rows
from retgen.sources import RefusedRow, refusals
from retgen.sources.read import stem
from retgen.validators.languages import script_of

if TYPE_CHECKING:
    from retgen.generators.capretrieval.params import Asked

SHEET = """\
# Questions for your own test set: one a line, as your users type them.
# Write about forty before you look at anything generated: queries made from documents repeat their
# words, and questions that you write after reading them do so too.
# - Take them from search logs, tickets, mail and chats where there are any; else ask colleagues.
# - Keep typing errors, missing words and everyday words ("wifi keeps dropping").
# - Mix kinds: how to do something, a fact, why something happens, a problem in the user's words.
# - Some may have no answer in the documents.
# To name the document that answers, save a table instead (asked.csv: question,document).
# Lines that begin with # are left out.
"""

_LINES, _TABLES = (".txt", ".md"), (".csv", ".tsv", ".jsonl")
_QUESTION = ("question", "query", "text")
_ID = ("id", "_id", "query_id", "query-id")
_ANSWER = ("document", "doc_id", "document_id", "corpus-id")
_KEY = "params.asked.queries"
_LISTED = 5  # unknown ids that an error names


class GivenQuery(NamedTuple):
    """A query that somebody asked. `type` (one of the paper's eight) and `language`: bundled.

    `answers`: ids of documents that people named. `where`: its place in the file.
    """

    id: str
    text: str
    type: str = ""
    language: str = ""
    answers: tuple[str, ...] = ()
    where: str = ""

    def row(self, language: str) -> dict[str, str]:
        """A row of sources/given.jsonl."""
        names = {"id": self.id, "text": self.text, "type": self.type}
        return names | {"language": self.language or language}


def given_queries(asked: Asked) -> tuple[list[GivenQuery], list[RefusedRow]]:
    """The queries of a recipe in their order, and what is none with its reason.

    Raises `RecipeError` for a file without any question.
    """
    source = asked.queries
    if source is None:
        bundled = bundled_queries()
        return [GivenQuery(o["id"], o["text"], o["type"], o["language"]) for o in bundled], []
    path = Path(source.path)
    if path.is_dir():
        raise RecipeError(
            f"{_KEY}: {path} is a folder: give a file of questions, {_known(path / 'asked.txt')}"
        )
    if not path.is_file() or file_format(path) not in (*_LINES, *_TABLES):
        raise RecipeError(f"{_KEY}: {source.path}: give a file of questions, {_known(path)}")
    return read_questions(path)


def _known(path: Path) -> str:
    name = path.with_suffix(".txt").name
    return f"as in {name} (a question a line), or .csv, .tsv or .jsonl with a column question"


def read_questions(path: Path) -> tuple[list[GivenQuery], list[RefusedRow]]:
    """The questions of a file, and the rows that are none; both say where they stand.

    Rows of a table with one question name several documents that answer it. Raises `RecipeError`
    for a file without any question.
    """
    queries: dict[str, GivenQuery] = {}
    refused: list[RefusedRow] = []
    ids: dict[str, str] = {}
    for line, row in _rows(path):
        where = f"{path.name}, line {line}"
        if isinstance(row, Problem):
            refused.append(RefusedRow(where, "questions/row", row.reason))
            continue
        text = " ".join(_cell(row, _QUESTION).split())
        answer = _cell(row, _ANSWER)
        before = queries.get(text.casefold())
        name = _cell(row, _ID) or _free(ids, len(queries) + 1)
        if not text:
            refused.append(RefusedRow(where, "questions/empty", "holds no question"))
        elif before is not None and answer and answer not in before.answers:
            answers = (*before.answers, answer)
            queries[text.casefold()] = before._replace(answers=answers)
        elif before is not None:
            why = f"asks what {before.where} asks"
            refused.append(RefusedRow(where, "questions/twice", why))
        elif name in ids:
            why = f"has the id {name!r}, as {ids[name]} has"
            refused.append(RefusedRow(where, "questions/duplicate-id", why))
        else:
            ids[name] = where
            answers = (answer,) if answer else ()
            queries[text.casefold()] = GivenQuery(name, text, answers=answers, where=where)
    if not queries:
        message = f"{_KEY}: {path} holds no question: write about forty, one a line. "
        raise RecipeError((message + refusals(refused)).rstrip())
    return list(queries.values()), refused


def _free(taken: Container[str], number: int) -> str:
    """The first of `q{number}`, `q{number + 1}`, ... that no question has."""
    return next(name for n in itertools.count(number) if (name := f"q{n}") not in taken)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | Problem]]:
    """The rows of a file with their lines; of a text file those that are no comment."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecipeError(f"{_KEY}: {path}, line {line}: {NOT_UTF8}") from error
    kind = file_format(path)
    if kind in _LINES:
        for number, line_text in enumerate(text.split("\n"), start=1):
            if line_text.strip() and not line_text.lstrip().startswith("#"):
                yield number, {"question": line_text}
        return
    if kind == ".jsonl":
        lines = [(n, one) for n, one in enumerate(text.split("\n"), start=1) if one.strip()]
        rows = json_rows([one.encode() for _, one in lines])
        parsed = [(n, row) for (n, _), row in zip(lines, rows, strict=True)]
    else:
        reader = csv.DictReader(
            io.StringIO(text, newline=""), delimiter="\t" if kind == ".tsv" else ",", strict=True
        )
        try:
            parsed = [(reader.line_num, _whole(row, reader.line_num)) for row in reader]
        except csv.Error as error:
            raise RecipeError(
                f"{_KEY}: {path}, line {reader.line_num}: {error}: is a quote left open?"
            ) from error
    columns = {str(name) for _, row in parsed if not isinstance(row, Problem) for name in row}
    if columns and not columns & {*_QUESTION}:
        raise RecipeError(
            f"{_KEY}: {path} has no column of questions: call it {_QUESTION[0]}, and the one with "
            f"ids of documents that answer {_ANSWER[0]}. Its columns: {', '.join(sorted(columns))}"
        )
    yield from parsed


def _whole(row: dict[str | Any, Any], line: int) -> Mapping[str, Any] | Problem:
    """A row of a table, unless it has more cells than the header: its text was cut at a comma."""
    if None in row:
        return Problem(line, "has more cells than the header: put a text with commas in quotes")
    return row


def _cell(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """What stands in the first of some columns that is there and not empty."""
    values = (row.get(name) for name in names)
    return next((str(value).strip() for value in values if value not in (None, "")), "")


# --- against the documents ------------------------------------------------------------------------


def known_answers(queries: Sequence[GivenQuery], sources: Sequence[str]) -> list[tuple[int, int]]:
    """(query, passage) by number, of the passages of documents that people named.

    `sources`: the document of each passage. Raises `RecipeError` for ids that no document has.
    """
    of: dict[str, list[int]] = {}
    for number, source in enumerate(sources if any(one.answers for one in queries) else ()):
        for name in {source, source.partition("#")[0]}:  # all chapters of "manual#begin"
            of.setdefault(name, []).append(number)
    pairs, unknown = list[tuple[int, int]](), list[str]()
    for query, one in enumerate(queries):
        for answer in one.answers:
            # a file may be named with its ending
            names = answer, stem(answer)
            found = next((of[name] for name in names if name in of), None)
            if found is None:
                hint = did_you_mean(answer, of)
                unknown.append(f"{one.where}: there is no document {answer!r}{hint}")
            pairs += [(query, number) for number in found or ()]
    if unknown:
        more = f"\n... and {len(unknown) - _LISTED:,} more" if len(unknown) > _LISTED else ""
        such = ", ".join(repr(name) for name in list(of)[:3])
        raise RecipeError(
            f"{_KEY}: ids of documents that the source does not have (its ids are such as {such}):"
            f"\n{chr(10).join(unknown[:_LISTED])}{more}"
        )
    return sorted(set(pairs))


def foreign_scripts(queries: Sequence[GivenQuery], texts: Iterable[str]) -> str:
    """That questions are in a script that no document has; "" where none is. `texts`: documents."""
    scripts = {script_of(text[:2000])[0] for text in texts}
    strange = [one for one in queries if script_of(one.text)[0] not in {*scripts, ""}]
    if not strange:
        return ""
    first = strange[0]
    return (
        f"{len(strange):,} of {len(queries):,} questions are in a script that no document is "
        f"written in; the first: {first.where}, {first.text!r} ({script_of(first.text)[0]}). Only "
        "retrievers that know both languages can answer them: leave them out if these are not "
        "meant to be found"
    )
