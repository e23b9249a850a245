"""Label Studio: a list of tasks, the labelling configuration beside it, and its JSON export back.

{"data": {"item_id": "9f..", "shown": "c1..", "query": "..", "title": "..", "text": ".."},
 "annotations": [{"completed_by": {"email": "ann"}, "result": [{"from_name": "verdict",
   "to_name": "text", "type": "choices", "value": {"choices": ["1"]}}]}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import orjson

from retgen.errors import DatasetError
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
from retgen.review.records import Settings, Verdict
from retgen.review.review import Review
from retgen.write import dump_json, make_folder, write_file


def write(review: Review, folder: Path) -> None:
    """tasks.json, and config.xml for the project's labelling interface."""
    tasks = []
    for item, shown, verdicts in export_items(review):
        tasks.append(
            {
                "data": {
                    "item_id": item.item_id,
                    "shown": item.shown,
                    "query": shown.query,
                    "title": shown.title,
                    "text": shown.text,
                    "review": review.settings.dataset,
                    **({"label": label} if (label := claim(review, item)) else {}),
                },
                "annotations": [_annotation(verdict) for verdict in verdicts],
            }
        )
    make_folder(folder)
    write_file(folder / "config.xml", config(review.settings, review.guideline))
    write_file(folder / "tasks.json", dump_json(tasks))


def config(settings: Settings, guideline: str) -> str:
    """The labelling configuration: a choice by key, and fields for reasons and new texts."""
    keys = {"accept": "a", "reject": "r", "fix": "f", "unsure": "x"}
    choices = []
    for word in words(settings):
        key = keys.get(word, word if word.isdigit() else "")
        hotkey = f" hotkey={quoteattr(key)}" if key else ""
        choices.append(f"    <Choice value={quoteattr(word)}{hotkey}/>")
    areas = [
        f'  <TextArea name="{name}" toName="text" editable="true" maxSubmissions="1" '
        f"placeholder={quoteattr(name.replace('_', ' '))}/>"
        for name in TEXTS
    ]
    return "\n".join(
        [
            "<View>",
            f'  <Header value={quoteattr(guideline)} size="5"/>',
            '  <Text name="query" value="$query"/>',
            '  <Text name="title" value="$title"/>',
            '  <Text name="text" value="$text"/>',
            *(['  <Text name="label" value="$label"/>'] if settings.mode == "check" else []),
            '  <Choices name="verdict" toName="text" choice="single" required="true">',
            *choices,
            "  </Choices>",
            *areas,
            "</View>",
            "",
        ]
    )


def _annotation(verdict: Verdict) -> dict[str, Any]:
    result = []
    for name, text in answers(verdict).items():
        kind, key = ("choices", "choices") if name == "verdict" else ("textarea", "text")
        result.append({"from_name": name, "to_name": "text", "type": kind, "value": {key: [text]}})
    return {
        "completed_by": {"email": verdict.annotator},
        "was_cancelled": False,
        "lead_time": verdict.seconds,
        "meta": {"part": verdict.part},
        "result": result,
    }


def rows_of(path: Path, data: bytes) -> list[Any]:
    """The objects of a JSON list, or of JSON Lines."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        tree = orjson.loads(data)
    except ValueError:
        try:
            tree = [orjson.loads(line) for line in data.splitlines() if line.strip()]
        except ValueError as error:
            raise DatasetError(f"{path} is no JSON that can be read: {error}") from error
    return tree if isinstance(tree, list) else [tree]


def read(review: Review, path: Path, rows: Sequence[Any]) -> list[ImportedRow]:
    """Every annotation of every task; what Label Studio writes beside that is passed over."""
    result = []
    for number, task in enumerate(rows, start=1):
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("item_id"), str):
            why = "is no task of this review: it has no data.item_id"
            result.append(ImportedRow(number, problem=why))
            continue
        check_review(review, path, data.get("review"))
        annotations = task.get("annotations")
        for one in annotations if isinstance(annotations, list) else ():
            if isinstance(one, dict) and not one.get("was_cancelled"):
                result.append(_given(review, number, data, one))
    if rows and all(one.problem for one in result) and result:
        raise DatasetError(
            f"{path} holds no task of this review: {result[0].problem}. Give what `gen review "
            "--export label-studio` wrote, exported again as JSON (not JSON-MIN)"
        )
    return result


def _given(
    review: Review, number: int, data: Mapping[str, Any], one: Mapping[str, Any]
) -> ImportedRow:
    said: dict[str, str] = {}
    results = one.get("result")
    for entry in results if isinstance(results, list) else ():
        value = entry.get("value") if isinstance(entry, dict) else None
        if isinstance(value, dict):
            texts = value.get("choices") or value.get("text") or ""
            text = texts[0] if isinstance(texts, list) and texts else texts
            said[str(entry.get("from_name"))] = str(text or "")
    by = one.get("completed_by")
    name = str((by.get("email") or by.get("id") or "") if isinstance(by, dict) else by or "")
    people = review.settings.annotators
    short = name.partition("@")[0]
    meta = one.get("meta")
    annotator = name if name in people else short if short in people else ""
    part = str(meta.get("part", "first")) if isinstance(meta, dict) else "first"
    return imported_row(number, data["item_id"], str(data.get("shown", "")), annotator, part, said)
