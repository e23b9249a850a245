"""Questions that people asked: read from a file, checked against the documents, kept for review.

    # a line of a text file is a question; lines that begin with # and blank lines are skipped
    wifi keeps dropping

    question,document
    wifi keeps dropping,help/network

A table may name the document that answers. Such a label is of the whole document, a *page*: each of
its passages gets it, and a page is scored by its best passage. All other pairs of these questions
wait for `gen review`; what nobody judged has no row in the qrels.

Leaves in the run's sources/ `documents.jsonl` and `passages.jsonl` as `with_agents` does, an empty
`queries.jsonl` (none is written), `given.jsonl` (the queries) and `judgements.jsonl` (the pairs
whose grade is known). Without a file the queries are the bundled ones, with their grades.
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
from retgen.generators.capretrieval import card
from retgen.generators.capretrieval.language import language_of
from retgen.generators.capretrieval.params import Asked, CapRetrievalParams
from retgen.generators.capretrieval.passages import bundled_grades, bundled_queries, cut_passages
from retgen.generators.capretrieval.reading import (
    PASSAGES,
    QUERIES,
    passage_row,
    read_documents,
    reject_rows,
    text_of,
)
from retgen.generators.capretrieval.tables import CORPUS_COLUMNS, QueryTables
from retgen.generators.params import Job
from retgen.generators.records import Records, Rows, rows_of
from retgen.generators.tables import read_rows
from retgen.messages import did_you_mean
from retgen.on_disk import MappedList
from retgen.rows import NOT_UTF8, Problem, json_rows
from retgen.search.collection import PAGES
from retgen.sources import RefusedRow, refusals
from retgen.sources.formats import delimiter_of
from retgen.sources.read import stem
from retgen.streams import Stream
from retgen.validators.languages import script_of
from retgen.write import write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

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
GIVEN, JUDGEMENTS = "given.jsonl", "judgements.jsonl"
# of bundled queries without a relevant passage: a ranking measure cannot say anything of them
# (paper, Appendix B.2), a classifier can
NONE = "no_positives"
_RELEVANT = 2  # the grade of a document that people named as the answer


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


def given_queries(asked: Asked) -> tuple[list[GivenQuery], list[RefusedRow]]:
    """The queries of a recipe in their order, and what is none with its reason.

    Raises `RecipeError` for a file without any question.
    """
    source = asked.queries
    if source is None:
        bundled = bundled_queries()
        return [GivenQuery(o["id"], o["text"], o["type"], o["language"]) for o in bundled], []
    path = Path(source.path)
    is_folder = path.is_dir()
    if not path.is_file() or file_format(path) not in (*_LINES, *_TABLES):
        what = f"{path} is a folder" if is_folder else str(source.path)
        name = "asked.txt" if is_folder else path.with_suffix(".txt").name
        raise RecipeError(
            f"{_KEY}: {what}: give a file of questions, as in {name} (a question a line), or "
            f".csv, .tsv or .jsonl with a column {_QUESTION[0]}"
        )
    return read_questions(path)


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
    """The rows of a file with their lines, columns in lower case; of a text file those that are no
    comment.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecipeError(f"{_KEY}: {path}, line {line}: {NOT_UTF8}") from error
    kind = file_format(path)
    lines = [(n, one) for n, one in enumerate(text.split("\n"), start=1) if one.strip()]
    if kind in _LINES:
        questions = ((n, one) for n, one in lines if not one.lstrip().startswith("#"))
        yield from ((number, {_QUESTION[0]: one}) for number, one in questions)
        return
    parsed: list[tuple[int, dict[str, Any] | Problem]]
    if kind == ".jsonl":
        rows = json_rows([one.encode() for _, one in lines])
        parsed = [(n, row) for (n, _), row in zip(lines, rows, strict=True)]
    else:
        delimiter = "\t" if kind == ".tsv" else delimiter_of(text.partition("\n")[0])
        file = io.StringIO(text, newline="")
        reader = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            parsed = [(reader.line_num, _whole(row, reader.line_num, delimiter)) for row in reader]
        except csv.Error as error:
            raise RecipeError(
                f"{_KEY}: {path}, line {reader.line_num}: {error}: is a quote left open?"
            ) from error
    columns = {str(name) for _, row in parsed if not isinstance(row, Problem) for name in row}
    if columns and not {_folded(name) for name in columns} & {*_QUESTION}:
        raise RecipeError(
            f"{_KEY}: {path} has no column of questions: call it {_QUESTION[0]}, and the one with "
            f"ids of documents that answer {_ANSWER[0]}. Its columns: {', '.join(sorted(columns))}"
        )
    for number, row in parsed:
        yield number, row if isinstance(row, Problem) else {_folded(k): v for k, v in row.items()}


def _folded(column: str) -> str:
    return column.strip().casefold()


def _whole(row: dict[str | Any, Any], line: int, delimiter: str) -> dict[str, Any] | Problem:
    """A row of a table, unless it has more cells than the header: its text was cut at a comma."""
    if None in row:
        what = {",": "commas", ";": "semicolons", "\t": "tabs"}[delimiter]
        return Problem(line, f"has more cells than the header: put a text with {what} in quotes")
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


# --- a run ----------------------------------------------------------------------------------------


def planned(
    asked: Asked, passages_of: Mapping[str, int], texts: Sequence[str]
) -> tuple[int, int, list[str]]:
    """How many queries and labels a run will have, and what its plan says. `passages_of`: of each
    document; `texts`: of the first of them.
    """
    queries, refused = given_queries(asked)
    if asked.queries is None:  # captions of the query's language
        return len(queries), len(queries) * sum(passages_of.values()) // 2, []
    labels = len(known_answers(queries, [*passages_of]))
    notes = ["people judge which documents answer: `gen review` after the run"]
    notes += filter(None, [foreign_scripts(queries, texts)])
    notes += [f"questions left out: {refusals(refused)}"] if refused else []
    return len(queries), labels, notes


async def keep_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read documents and queries, and keep them with the labels that are known."""
    params = job.params
    assert params.asked is not None
    documents, unread = read_documents(job, context)
    languages = language_of(MappedList(text_of, documents), params.language)
    passages = list(cut_passages(documents, languages, params.passages))
    queries, refused = given_queries(params.asked)
    if params.asked.queries is None:
        grades = bundled_grades()
        judged = {  # known within a language
            (one.id, passage.id): grades.get((one.id, passage.source), 0)
            for one in queries
            for passage in passages
            if passage.language == one.language
        }
    else:
        named = known_answers(queries, [one.source for one in passages])
        judged = {(queries[i].id, passages[j].id): _RELEVANT for i, j in named}
    reject_rows([*unread, *refused], context)
    write_rows(context.folder / PASSAGES, (passage_row(one, "test") for one in passages))
    write_rows(context.folder / QUERIES, ())
    told = language_of([one.text for one in queries], params.language)
    spoken = [one.language or code for one, code in zip(queries, told, strict=True)]
    texts = ({"id": one.id, "text": one.text, "type": one.type} for one in queries)
    rows = [row | {"language": code} for row, code in zip(texts, spoken, strict=True)]
    write_rows(context.folder / GIVEN, rows)
    labels = ({"query": q, "passage": p, "relevance": grade} for (q, p), grade in judged.items())
    write_rows(context.folder / JUDGEMENTS, labels)


def given_records(job: Job[CapRetrievalParams], tables: QueryTables) -> Records:
    """The records of a run over given queries: people's, or the bundled ones."""
    assert job.params.asked is not None
    by_people = job.params.asked.queries is not None
    given = read_rows(job.source_folder() / GIVEN)
    # another order than the documents': a place in one tells nothing of the other
    order = Stream(job.seed, "capretrieval/given").permutation(len(given))
    judged = read_rows(job.source_folder() / JUDGEMENTS)
    answered = {row["query"] for row in judged if row["relevance"]}
    queries = list[dict[str, Any]]()
    for one in (given[i] for i in order):
        kind = {"labels": PAGES} if by_people else {"type": one["type"]}
        split = "test" if by_people or one["id"] in answered else NONE
        note = {**kind, "language": one["language"], "split": split}
        queries.append({"_id": one["id"], "text": one["text"], "metadata": note})
    qrels = dict[str, list[dict[str, Any]]](test=[])
    for row in judged:
        name = "test" if row["query"] in answered else NONE
        pair = {"query-id": row["query"], "corpus-id": row["passage"], "score": row["relevance"]}
        qrels.setdefault(name, []).append(pair)
    named = f"; the documents of {len(answered):,} are named" if answered else ""
    questions = f"{len(given):,}{named}; `gen review` judges them"
    kind_column = "labels" if by_people else "type"
    return Records(
        corpus=tables.corpus(),
        queries=_listed(queries),
        qrels={name: _listed(rows) for name, rows in qrels.items()},
        apart=frozenset({NONE}),
        features={
            "corpus": CORPUS_COLUMNS,
            "queries": dict.fromkeys((kind_column, "language", "split"), "string"),
        },
        card=[card.CORPUS_CARD, *_on_the_card(by_people, judged)],
        notes={"questions": questions} if by_people else {},
        languages=card.languages(tables),
        licences=card.licences(job),
        source_documents=card.cut_from(card.passages_of(tables)),
    )


def _listed(rows: list[dict[str, Any]]) -> Rows:
    return rows_of(rows.__getitem__, len(rows))


def _on_the_card(by_people: bool, judged: Sequence[Mapping[str, Any]]) -> list[str]:
    """How the labels came about, and what is known of them."""
    unjudged = "A pair without a row was not judged, which does not mean that it is not relevant."
    if by_people:
        return [
            "People asked the queries. Their documents are judged in a review (`gen review`): "
            f"0 (not relevant), 1 (in part) or 2. {unjudged} Labels are of "
            "whole documents: a document is scored by its best passage."
        ]
    return [
        "The queries were given, not written for these documents. "
        f"{len(judged):,} pairs of a query and a passage were judged 0 (not "
        f"relevant), 1 (in part) or 2, of which {sum(row['relevance'] > 0 for row in judged):,} "
        f"are relevant; each has a row in the qrels. {unjudged} Queries without a relevant passage "
        f"are in the configuration `{NONE}`.",
        "The labels came with the captions; a language model wrote both.",
    ]
