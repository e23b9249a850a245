"""Label Studio: a list of tasks, the labelling configuration beside it, and its JSON export back.

{"data": {"item_id": "9f..", "shown": "c1..", "query": "..", "title": "..", "text": ".."},
 "annotations": [{"completed_by": {"email": "ann"}, "result": [{"from_name": "verdict",
   "to_name": "text", "type": "choices", "value": {"choices": ["1"]}}]}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import orjson

from retgen.errors import DatasetError
from retgen.review.exchange.row import UNSURE, ImportedRow, verdict_word
from retgen.review.records import MODEL, Verdict
from retgen.review.review import GUIDELINE, Review
from retgen.write import dump_json, make_folder, write_file

_CONFIG = """<View>
  <Header value={guideline} size="5"/>
  <Text name="query" value="$query"/>
  <Text name="title" value="$title"/>
  <Text name="text" value="$text"/>
  <Choices name="verdict" toName="text" choice="single" required="true">
{choices}
  </Choices>
  <TextArea name="reason" toName="text" editable="true" maxSubmissions="1" placeholder="reason"/>
  <TextArea name="comment" toName="text" editable="true" maxSubmissions="1" placeholder="comment"/>
</View>
"""


def write(review: Review, folder: Path) -> None:
    """Write tasks.json, and config.xml for the project's labelling interface."""
    by = review.by_item()
    tasks = [
        {
            "data": {
                "item_id": item.item_id,
                "shown": item.shown,
                "query": item.pair.query,
                "title": item.pair.title,
                "text": item.pair.text,
                "review": review.settings.dataset,
            },
            "annotations": [
                _annotation(one) for one in by.get(item.item_id, ()) if one.source != MODEL
            ],
        }
        for item in review.items
    ]
    words = [str(grade) for grade in range(review.settings.grades)]
    keys = [*zip(words, words, strict=True), (UNSURE, "x")]
    choices = [f'    <Choice value="{word}" hotkey="{key}"/>' for word, key in keys]
    config = _CONFIG.format(guideline=quoteattr(GUIDELINE), choices="\n".join(choices))
    make_folder(folder)
    write_file(folder / "config.xml", config)
    write_file(folder / "tasks.json", dump_json(tasks))


def _annotation(verdict: Verdict) -> dict[str, Any]:
    said = {"verdict": verdict_word(verdict), "reason": verdict.reason, "comment": verdict.comment}
    result = []
    for name, text in said.items():
        kind, key = ("choices", "choices") if name == "verdict" else ("textarea", "text")
        if text:
            given = {"from_name": name, "to_name": "text", "type": kind, "value": {key: [text]}}
            result.append(given)
    return {
        "completed_by": {"email": verdict.annotator},
        "was_cancelled": False,
        "lead_time": verdict.seconds,
        "meta": {"settles": verdict.settles},
        "result": result,
    }


def read(review: Review, path: Path, data: bytes) -> list[ImportedRow]:
    """Every annotation of every task."""
    try:
        tree = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise DatasetError(f"{path} is no JSON that can be read: {error}") from error
    result = []
    for number, task in enumerate(tree if isinstance(tree, list) else [tree], start=1):
        about = task.get("data") if isinstance(task, dict) else None
        if not isinstance(about, dict) or not isinstance(about.get("item_id"), str):
            why = "has no data.item_id: export as JSON, not JSON-MIN"
            result.append(ImportedRow(number, problem=why))
            continue
        if about.get("review") not in (None, "", review.settings.dataset):
            raise DatasetError(
                f"{path} is of a review of other data than {review.path} had when its review "
                "began. Nothing was kept"
            )
        annotations = task.get("annotations")
        for one in annotations if isinstance(annotations, list) else ():
            if isinstance(one, dict) and not one.get("was_cancelled"):
                result.append(_row(review, number, about, one))
    return result


def _row(
    review: Review, number: int, about: Mapping[str, Any], one: Mapping[str, Any]
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
    known = [n for n in (name, name.partition("@")[0]) if n in review.settings.annotators]
    meta = one.get("meta")
    return ImportedRow(
        number,
        about["item_id"],
        str(about.get("shown", "")),
        known[0] if known else "",
        isinstance(meta, dict) and meta.get("settles") is True,
        *(said.get(part, "") for part in ("verdict", "reason", "comment")),
    )
