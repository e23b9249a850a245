"""What the templates are given: items, buttons and labels in words, the verdict before, progress.

A blind page is made of the texts alone. Neither the label nor anything that follows from it (the
population, the suspicion, the ids, the metadata) reaches its template.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from retgen.review.consensus import by_item, standing
from retgen.review.records import Item, Mode, Part, Verdict
from retgen.review.review import Review, labels_proven
from retgen.review.web.drawing import draw, package_of, plain, visible
from retgen.search.collection import manifest_of

FOLDER = Path(__file__).parent / "templates"
NOTICES = {
    "again": "That verdict was kept before: the form was sent twice, and counts once.",
    "changed": "Your earlier verdict on that item was replaced by the one you sent now.",
    "undone": "Your last verdict is taken back; here is its item again.",
    "nothing": "There is no verdict of yours to take back.",
    "settled": "The item is settled.",
}
REASONS = (
    "holds the words, not the answer",
    "answers in part",
    "is about something else",
    "the query is unclear",
    "the document is damaged",
    "needs knowledge from elsewhere",
    "other (see comment)",
)


@dataclass(frozen=True)
class FormValues:
    """What a person had put into a form that comes back to them; `wrong`: why it comes back."""

    wrong: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@cache
def environment() -> jinja2.Environment:
    """Templates of the page, and below families/NAME/ those that families bring."""
    result = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.FileSystemLoader(FOLDER), jinja2.FunctionLoader(_of_family)]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    result.filters |= {"visible": visible, "plain": plain}
    return result


def _of_family(name: str) -> str | None:
    """The source of families/NAME/review.html."""
    from importlib import resources

    parts = name.split("/")
    if len(parts) != 3 or parts[0] != "families" or parts[2] != "review.html":
        return None
    package = package_of(parts[1])
    return resources.files(package).joinpath(parts[2]).read_text("utf-8") if package else None


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page."""
    return environment().get_template(template).render(values)


def base(review: Review, annotator: str = "") -> dict[str, Any]:
    """What every page is given."""
    settings = review.settings
    return {
        "name": name_of(review),
        "annotator": annotator,
        "annotators": settings.annotators,
        "blind": settings.mode == "grade",
        "open_count": len(review.open_items(annotator)),
        "notice": "",
        "wrong": "",
    }


def item_view(
    review: Review,
    item: Item,
    *,
    revealed: bool,
    filled: FormValues | None = None,
    one_of_many: bool = False,
) -> dict[str, Any]:
    """An item to judge; `revealed`: with the label, and what its family draws of the metadata.

    `one_of_many`: on a page of several, whose ids and headings must be told apart.
    """
    shown = review.shown_pair(item)
    settings = review.settings
    drawn = draw(
        settings.family,
        shown,
        revealed=revealed,
        label=item.label,
        positives=_positives(review, item) if revealed else (),
    )
    picture = (
        environment()
        .get_template(drawn.template)
        .render(
            {
                **drawn.values,
                "prefix": f"{item.item_id}-" if one_of_many else "",
                "level": 3 if one_of_many else 2,
            }
        )
    )
    values = (filled or FormValues()).values
    return {
        "item_id": item.item_id,
        "digest": item.shown,
        "picture": Markup(picture),  # rendered above, escaped there
        "question": question(settings.mode if revealed else "grade", settings.grades),
        "label": label(item.label, settings.grades) if revealed else "",
        "label_source": label_source(review) if revealed and item.label is not None else "",
        "choices": choices(settings.mode, settings.grades),
        "grades": list(enumerate(grades(settings.grades))),
        "reasons": REASONS,
        "filled": {"reason": "", "comment": "", **values},
        "wrong": filled.wrong if filled else "",
        "since": f"{time.time():.3f}",
        "shown": shown,
    }


def question(mode: str, number: int) -> str:
    """What is asked of an item."""
    if mode == "check":
        return "Is this label right?"
    return (
        "How relevant is the document to the query?"
        if number > 2
        else "Is the document relevant to the query?"
    )


def guideline(review: Review) -> Markup:
    """The guideline as HTML; what is HTML in it is text."""
    from markdown_it import MarkdownIt

    settings = review.settings
    text = f"{review.guideline}\n\n{scale(settings.mode, settings.grades)}"
    # "js-default" takes no HTML, and no link but to ordinary addresses
    return Markup(MarkdownIt("js-default").render(text))


def _positives(review: Review, item: Item) -> tuple[str, ...]:
    """Texts of documents that the data set calls relevant to the item's query, among the items."""
    found = (
        review.shown_pair(other)
        for other in review.items
        if other.query_id == item.query_id
        and other.population == "positives"
        and other.planted is None
        and other.item_id != item.item_id
    )
    return tuple(shown.text for shown in found)


def strip(review: Review, annotator: str) -> dict[str, Any] | None:
    """The annotator's last verdict, and what the data set says of its item."""
    mine = standing(review.store.verdicts(annotator=annotator)).values()
    if not mine:
        return None
    last = max(mine, key=lambda verdict: verdict.number)
    number = review.settings.grades
    agrees = None
    if last.relevance is not None and last.label is not None:
        agrees = (last.relevance > 0) == (last.label > 0)
    return {
        "item_id": last.item_id,
        "said": verdict_words(last, number),
        "label": label(last.label, number),
        "label_source": label_source(review) if last.label is not None else "",
        "agrees": agrees,
        "settled": last.part == "adjudication",
    }


def said_of(review: Review, item: Item) -> list[dict[str, Any]]:
    """The verdicts that stand on an item, for whoever settles it."""
    verdicts = by_item(review.store.verdicts(item.item_id)).get(item.item_id, [])
    return [
        {
            "annotator": verdict.annotator,
            "part": verdict.part,
            "said": verdict_words(verdict, review.settings.grades),
            "reason": verdict.reason,
            "comment": verdict.comment,
            "edits": verdict.edits,
        }
        for verdict in sorted(verdicts, key=lambda verdict: verdict.number)
    ]


def current(review: Review, annotator: str, item_id: str, part: Part) -> Verdict | None:
    """What the annotator said of an item, where that stands."""
    key = (item_id, annotator, part)
    return standing(review.store.verdicts(item_id)).get(key)


def name_of(review: Review) -> str:
    """The name of the data set, as its folder has it."""
    return review.path.resolve().name


def label_source(review: Review) -> str:
    """Who gave the labels of a data set, in a few words; "" where nobody says it."""
    from retgen.reporting.evidence import OFFLINE, worker_name

    manifest = manifest_of(review.dataset)
    if labels_proven(manifest):
        return "proven from the texts"
    models, judges = manifest.get("models", {}), manifest.get("judges", {})
    names = {worker_name(models[agent]["model"]) for agent in judges if agent in models}
    return f"judged by {' and '.join(sorted(names)) or OFFLINE}" if judges else ""


# --- grades, decisions and labels in words --------------------------------------------------------


class DecisionButton(NamedTuple):
    """A button: the decision it sends, its key, and what stands on it."""

    value: str
    key: str
    text: str


def grades(number: int) -> list[str]:
    """The scale in words, from 0."""
    return (
        ["not relevant", "partly relevant", "relevant"]
        if number > 2
        else [
            "not relevant",
            "relevant",
        ]
    )


def choices(mode: Mode, number: int) -> list[DecisionButton]:
    """The buttons of an item."""
    if mode == "check":
        first = [DecisionButton("accept", "a", "Accept"), DecisionButton("reject", "r", "Reject")]
    else:
        first = [
            DecisionButton(str(grade), str(grade), text.capitalize())
            for grade, text in enumerate(grades(number))
        ]
    return [*first, DecisionButton("fix", "f", "Fix"), DecisionButton("unsure", "x", "Can't tell")]


def relevance(value: float | None, number: int) -> str:
    """A relevance in words."""
    names = grades(number)
    if value is None:
        return "can't tell"
    if value == int(value) and 0 <= value < len(names):
        return f"{names[int(value)]} ({int(value)})"
    return f"{'relevant' if value > 0 else 'not relevant'} ({value:g})"


def label(value: float | None, number: int) -> str:
    """What a data set says of a pair; None: nothing."""
    return "not judged, so taken as not relevant" if value is None else relevance(value, number)


def verdict_words(verdict: Verdict, number: int) -> str:
    """What a verdict says."""
    if verdict.decision == "unsure":
        return "can't tell"
    text = relevance(verdict.relevance, number)
    if verdict.decision == "fix":
        fields = list(verdict.edits)
        return (
            f"{text}, with a fix of the {' and the '.join(fields)}" if fields else f"{text}, fixed"
        )
    return {"accept": f"accepted: {text}", "reject": f"rejected: {text}"}.get(
        verdict.decision, text
    )


def scale(mode: Mode, number: int) -> str:
    """What the buttons stand for, below every guideline. Markdown."""
    not_relevant = "- **0, not relevant**: it does not answer the query, whatever words it shares."
    above = [
        "- **1, relevant**: it answers the query; all of its conditions, if there are several."
    ]
    if number > 2:
        above = [
            "- **1, partly relevant**: it answers a part of the query, or all but a detail.",
            "- **2, relevant**: it answers the whole query.",
        ]
    lines = "\n".join([not_relevant, *above])
    claim = (
        "**Accept** a label that is right, **reject** one that is not.\n\n"
        if mode == "check"
        else ""
    )
    return f"""{claim}{lines}

**Can't tell** is an answer: use it where the query can be read in several ways, or where the
document does not say enough. **Fix** where a text or the label should be another one.
"""
