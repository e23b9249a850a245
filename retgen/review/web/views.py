"""Values of the templates: items, buttons and labels in words, earlier verdicts, progress.

A blind page is made of the texts alone. Neither the label nor anything that follows from it (the
metadata, the positives of the query) reaches its template.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from retgen.review.records import Item, Verdict
from retgen.review.report import grade_words, scale_words
from retgen.review.review import GUIDELINE, Review, grade_meanings
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
    "nobody would ask this",
    "the document is damaged",
    "needs knowledge from elsewhere",
    "other (see comment)",
)


@cache
def environment() -> jinja2.Environment:
    """Templates of the page, and below families/NAME/ those of families."""
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

    package = package_of(name.removeprefix("families/").removesuffix("/review.html"))
    if not package:
        return None
    return resources.files(package).joinpath("review.html").read_text("utf-8")


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page."""
    return environment().get_template(template).render(values)


def base(review: Review, annotator: str = "") -> dict[str, Any]:
    """Values of every page."""
    return {
        "name": name_of(review),
        "annotator": annotator,
        "open_count": len(review.open_items(annotator)),
        "wrong": "",
    }


def item_view(review: Review, item: Item, *, revealed: bool) -> dict[str, Any]:
    """Values of an item. `revealed`: with the label, and the family's drawing of the metadata."""
    settings = review.settings
    positives: tuple[str, ...] = ()
    if revealed:
        positives = tuple(
            other.pair.text
            for other in review.items
            if other.query_id == item.query_id and other.positive and other != item
        )
    drawn = draw(
        settings.family, item.pair, revealed=revealed, label=item.label, positives=positives
    )
    return {
        "item_id": item.item_id,
        "digest": item.shown,
        # rendered, and so escaped, on its own
        "picture": Markup(render(drawn.template, drawn.values)),
        "question": (
            "How relevant is the document to the query?"
            if settings.grades > 2
            else "Is the document relevant to the query?"
        ),
        "label": label(item.label, settings.grades) if revealed else "",
        "label_source": label_source(review) if revealed and item.label is not None else "",
        "choices": choices(settings.grades),
        "question_of": None,
        "reasons": REASONS,
        "filled": {"reason": "", "comment": ""},
        "since": f"{time.time():.3f}",
    }


def question(review: Review, item: Item, annotator: str) -> dict[str, Any] | None:
    """The other candidates of an item's question, with what the annotator said of them; None where
    pairs are judged one by one.
    """
    if not review.settings.by_question:
        return None
    said = {
        one.item_id: grade_words(one.relevance, review.settings.grades)
        for one in review.standing()
        if one.annotator == annotator and not one.settles
    }
    others = [one for one in review.items_of(item.query_id) if one != item]
    return {
        "judged": [(one.pair, said[one.item_id]) for one in others if one.item_id in said],
        "left": [one.pair for one in others if one.item_id not in said],
    }


def guideline(review: Review) -> Markup:
    """The guideline as HTML; HTML inside it is shown as text."""
    from markdown_it import MarkdownIt

    words = scale_words(review.settings.grades)
    meanings = enumerate(zip(words, grade_meanings(review.settings.grades), strict=True))
    lines = [GUIDELINE, "", *(f"- **{n}, {word}**: {text}." for n, (word, text) in meanings)]
    lines += [
        "",
        "**Can't tell** is an answer: use it where the query can be read in several ways, or where "
        "the document does not say enough.",
    ]
    # "js-default" takes no HTML, and no link but to ordinary addresses
    return Markup(MarkdownIt("js-default").render("\n".join(lines)))


def strip(review: Review, annotator: str) -> dict[str, Any] | None:
    """The annotator's last verdict, and the label of its item."""
    mine = [verdict for verdict in review.standing() if verdict.annotator == annotator]
    if not mine:
        return None
    last = max(mine, key=lambda verdict: verdict.number)
    agrees = None
    if last.relevance is not None and not review.settings.by_question:
        agrees = (last.relevance > 0) == ((last.label or 0) > 0)
    return {
        "item_id": last.item_id,
        "said": grade_words(last.relevance, review.settings.grades),
        # of a question's candidates none has a label before people give one
        "label": "" if review.settings.by_question else label(last.label, review.settings.grades),
        "label_source": label_source(review) if last.label is not None else "",
        "agrees": agrees,
    }


def verdicts(review: Review, item: Item) -> list[dict[str, Any]]:
    """The verdicts that stand on an item, for whoever settles it."""

    def row(verdict: Verdict) -> dict[str, Any]:
        said = grade_words(verdict.relevance, review.settings.grades)
        return {**verdict._asdict(), "said": said}

    return [row(verdict) for verdict in review.by_item().get(item.item_id, [])]


def name_of(review: Review) -> str:
    """The name of the data set: that of its folder."""
    return review.path.resolve().name


def label_source(review: Review) -> str:
    """The evidence of a data set's labels in a few words; "" where its manifest has none."""
    evidence = manifest_of(review.dataset).get("evidence")
    words = {"structural": "proven", "judged": "judged by a model", "human": "judged by people"}
    kinds = evidence if isinstance(evidence, dict) else {}
    return " or ".join(text for kind, text in words.items() if kinds.get(kind))


def choices(grades: int) -> list[tuple[str, str, str]]:
    """The buttons of an item: (decision, key, text)."""
    scale = [(str(i), str(i), text.capitalize()) for i, text in enumerate(scale_words(grades))]
    return [*scale, ("unsure", "x", "Can't tell")]


def label(value: float | None, grades: int) -> str:
    """The data set's label of a pair in words."""
    return "no label, so taken as not relevant" if value is None else grade_words(value, grades)
