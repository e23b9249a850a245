"""Argilla 2: a data set as `Dataset.to_disk` writes it (settings.json, records.json), and back.

    {"id": "9f..", "fields": {"query": "..", "title": "..", "text": ".."},
     "metadata": {"shown": "c1..", "review": ".."}, "suggestions": {}, "vectors": {},
     "responses": {"verdict": [{"value": "1", "user_id": "5c.."}]}}

Argilla knows people by an id; ours are made of their names, so what goes out comes back as theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from retgen.review.exchange.rows import (
    TEXTS,
    ImportedRow,
    answers,
    check_review,
    claim,
    export_items,
    imported_row,
    words,
)
from retgen.review.review import Review
from retgen.write import dump_json, make_folder, write_file


def user_id(annotator: str) -> str:
    """The id of an annotator, the same in every file."""
    return str(uuid5(NAMESPACE_URL, f"retgen:annotator:{annotator}"))


def write(review: Review, folder: Path) -> None:
    """records.json and the settings of the data set beside it.

    First looks and adjudications go out; a blind second look has no place in a data set whose
    users answer once.
    """
    records = []
    for item, shown, verdicts in export_items(review):
        responses: dict[str, list[dict[str, str]]] = {}
        for verdict in verdicts:
            if verdict.part == "first":
                user = user_id(verdict.annotator)
                for name, value in answers(verdict).items():
                    responses.setdefault(name, []).append({"value": value, "user_id": user})
        records.append(
            {
                "id": item.item_id,
                "fields": {
                    "query": shown.query,
                    "title": shown.title,
                    "text": shown.text,
                    **({"label": label} if (label := claim(review, item)) else {}),
                },
                "metadata": {"shown": item.shown, "review": review.settings.dataset},
                "suggestions": {},
                "responses": responses,
                "vectors": {},
                "_server_id": None,
            }
        )
    make_folder(folder)
    write_file(folder / "settings.json", dump_json(settings_of(review)))
    write_file(folder / "records.json", dump_json(records))


def settings_of(review: Review) -> dict[str, Any]:
    """The data set's settings: three texts, a verdict, and what may be said beside it."""
    checks = review.settings.mode == "check"
    fields = [
        {
            "name": name,
            "title": name.capitalize(),
            "required": name != "title",
            "settings": {"type": "text", "use_markdown": False},
        }
        for name in ("query", "title", "text", *(["label"] if checks else []))
    ]
    options = [
        {"value": word, "text": word, "description": None} for word in words(review.settings)
    ]
    questions: list[dict[str, Any]] = [
        {
            "name": "verdict",
            "title": "Is the document relevant to the query?",
            "required": True,
            "description": None,
            "settings": {
                "type": "label_selection",
                "options": options,
                "visible_options": max(3, len(options)),
            },
        },
        *(
            {
                "name": name,
                "title": name.replace("_", " ").capitalize(),
                "required": False,
                "description": None,
                "settings": {"type": "text", "use_markdown": False},
            }
            for name in TEXTS
        ),
    ]
    metadata = [
        {
            "name": name,
            "title": name,
            "visible_for_annotators": False,
            "settings": {"type": "terms", "values": None},
        }
        for name in ("shown", "review")
    ]
    return {
        "guidelines": review.guideline,
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": len(review.settings.annotators)},
        "fields": fields,
        "questions": questions,
        "metadata": metadata,
        "vectors": [],
    }


def is_record(row: Any) -> bool:
    """Whether a row is one of Argilla's."""
    return isinstance(row, dict) and "fields" in row and "responses" in row


def read(review: Review, path: Path, rows: Sequence[Any]) -> list[ImportedRow]:
    """What every user answered of every record."""
    people = {user_id(name): name for name in review.settings.annotators}
    result = []
    for number, row in enumerate(rows, start=1):
        if not is_record(row):
            result.append(
                ImportedRow(number, problem="is no record: it has no fields and responses")
            )
            continue
        metadata, responses = row.get("metadata") or {}, row["responses"] or {}
        if not isinstance(metadata, dict) or not isinstance(responses, dict):
            result.append(ImportedRow(number, problem="its metadata and responses are no objects"))
            continue
        check_review(review, path, metadata.get("review"))
        by: dict[str, dict[str, str]] = {}
        for question, given in responses.items():
            for one in given if isinstance(given, list) else ():
                by.setdefault(_user(one), {})[question] = _value(one)
        for user, said in by.items():
            name = people.get(user, user if user in review.settings.annotators else "")
            item_id, shown = str(row.get("id", "")), str(metadata.get("shown", ""))
            result.append(imported_row(number, item_id, shown, name, "first", said))
    return result


def _user(answer: Any) -> str:
    return str(answer.get("user_id", "")) if isinstance(answer, Mapping) else ""


def _value(answer: Any) -> str:
    value = answer.get("value") if isinstance(answer, Mapping) else ""
    return "" if value is None else str(value)
