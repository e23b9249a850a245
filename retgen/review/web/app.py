"""The pages of a review and what their forms do.

A form is answered once its verdict is on disk. One that is sent twice counts once; one that comes
from an older page (the back button, a second tab) replaces the verdict, and says so.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast, get_args
from urllib.parse import quote

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException as NotServed

from retgen.errors import OutputError, RetgenError, UsageError
from retgen.review.consensus import FIELDS
from retgen.review.records import Decision, Item, Part, ShownPair, Verdict
from retgen.review.web import views
from retgen.review.web.security import FILE_POLICY, Guard, RequestRefused, form_token, read_form
from retgen.review.web.views import FormValues

if TYPE_CHECKING:
    from retgen.review.review import Review

_LONGEST = 4 * 3600  # seconds; a page that stood open for longer measures nothing
_DIGITS = 9  # of a grade; Python reads no number of thousands of them, SQLite none of twenty
_HERE = Path(__file__).parent
# all files that are served, by the name under which
_FILES = {
    "page.css": (_HERE.parent.parent / "page.css", "text/css; charset=utf-8"),
    "review.css": (_HERE / "review.css", "text/css; charset=utf-8"),
    "keys.js": (_HERE / "keys.js", "text/javascript; charset=utf-8"),
}
Form = Annotated[dict[str, str], Depends(read_form)]


def create_app(
    review: Review, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None
) -> Any:
    """The application of a review. `token`: what whoever asks must know; None: nothing."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = _Pages(review)
    app.add_api_route("/", pages.start)
    app.add_api_route("/judge/{annotator}", pages.judge)
    app.add_api_route("/judge/{annotator}/{item_id}/{part}", pages.answer, methods=["POST"])
    app.add_api_route("/undo/{annotator}", pages.undo, methods=["POST"])
    app.add_api_route("/seen/{annotator}/{item_id}", pages.seen)
    app.add_api_route("/adjudicate/{annotator}", pages.adjudicate)
    app.add_api_route("/report", pages.report)
    app.add_api_route("/help", pages.help)
    app.add_api_route("/files/{name}", _file)
    app.add_exception_handler(RequestRefused, pages.refused)
    app.add_exception_handler(RetgenError, pages.failed)
    app.add_exception_handler(NotServed, pages.not_served)
    return Guard(app, host, port, token)


def _file(name: str) -> Response:
    if name not in _FILES:
        raise HTTPException(404)
    path, kind = _FILES[name]
    return Response(path.read_bytes(), headers={"content-type": kind})


class _Pages:
    """Every page; plain functions, which the server runs in threads of their own."""

    def __init__(self, review: Review) -> None:
        self.review = review
        self._one_at_a_time = threading.Lock()  # a form that is sent twice at once counts once

    # --- pages ------------------------------------------------------------------------------------

    def start(self, request: Request) -> Response:
        """Who judges, how far they are, and by which guideline."""
        review = self.review
        people = [(name, review.progress(name)) for name in review.settings.annotators]
        values = {"people": people, "guideline": views.guideline(review)}
        return self._page(request, "start.html", values)

    def judge(self, request: Request, annotator: str, notice: str = "") -> Response:
        """The next item of an annotator."""
        self._known(annotator)
        if changed := self.review.change_message():
            return self._changed(request, annotator, changed)
        with self._one_at_a_time:  # items are added where they run out
            following = self.review.next_item(annotator)
        if following is None:
            values = {
                "progress": self.review.progress(annotator),
                "looks": self.review.settings.looks,
                "notice": _notice(notice),
                "strip": views.strip(self.review, annotator),
            }
            return self._page(request, "done.html", values, annotator)
        return self._item(request, annotator, *following, notice=notice)

    def seen(self, request: Request, annotator: str, item_id: str) -> Response:
        """An item that the annotator has judged, drawn with all that is known of it."""
        self._known(annotator)
        item = self._item_of(item_id)
        said = [v for v in views.said_of(self.review, item) if v["annotator"] == annotator]
        if not said:
            raise RequestRefused(
                403,
                "What the data set says of an item is shown after your verdict on it.",
                "Judge it first.",
            )
        values = views.item_view(self.review, item, revealed=True) | {"verdicts": said}
        return self._page(request, "seen.html", values, annotator)

    def adjudicate(
        self, request: Request, annotator: str, notice: str = "", item_id: str = ""
    ) -> Response:
        """The items on which people disagree: the first of them, or the one that is asked for."""
        self._known(annotator)
        if changed := self.review.change_message():
            return self._changed(request, annotator, changed)
        waiting = self.review.open_items(annotator)
        chosen = next((item for item in waiting if item.item_id == item_id), None)
        if chosen is None and not waiting:
            values: dict[str, Any] = {"queue": [], "notice": _notice(notice)}
            return self._page(request, "adjudicated.html", values, annotator)
        chosen = chosen or waiting[0]
        return self._item(request, annotator, chosen, "adjudication", notice=notice)

    def report(self, request: Request) -> Response:
        """The report so far."""
        from retgen.review.report import report
        from retgen.review.report_page import write_page

        path = write_page(self.review.folder, views.name_of(self.review), report(self.review))
        headers = {"content-security-policy": FILE_POLICY}
        return HTMLResponse(path.read_text("utf-8"), headers=headers)

    def help(self, request: Request) -> Response:
        """Keys, and what becomes of a verdict."""
        settings = self.review.settings
        values = {"choices": views.choices(settings.mode, settings.grades), "settings": settings}
        return self._page(request, "help.html", values)

    # --- forms ------------------------------------------------------------------------------------

    def answer(
        self, request: Request, annotator: str, item_id: str, part: str, form: Form
    ) -> Response:
        """Keep a verdict, and go on; or show the form of a fix."""
        self._known(annotator)
        item, where = self._item_of(item_id), part_of(part)
        try:
            answer = answer_of(form, self.review.shown_pair(item))
            if answer.decision == "fix" and form.get("step") != "keep":
                return self._fix(request, annotator, item, where, FormValues("", form))
            notice = self._keep(annotator, item, where, answer)
        except RetgenError as error:
            status = 507 if isinstance(error, OutputError) else 409
            try:
                return self._again(
                    request, annotator, item, where, FormValues(str(error), form), status
                )
            except RetgenError:  # on a full disk not even reading works, where it needs a file
                return self._wrong(
                    status,
                    f"Not kept. {error}",
                    "Send it again once that is mended.",
                    form={"form": form_token(request), **form},
                    action=request.url.path,
                )
        to = "adjudicate" if where == "adjudication" else "judge"
        return _go(f"/{to}/{_quoted(annotator)}", notice)

    def _keep(self, annotator: str, item: Item, part: Part, answer: FormAnswer) -> str:
        """Record an answer; the notice that goes with it."""
        with self._one_at_a_time:
            before = views.current(self.review, annotator, item.item_id, part)
            if before is not None and answer.same(before):
                return "again"
            self.review.record(
                annotator,
                item.item_id,
                part,
                answer.decision,
                shown=answer.shown,
                relevance=answer.relevance,
                reason=answer.reason,
                comment=answer.comment,
                edits=answer.edits,
                seconds=answer.seconds,
            )
        if before is not None:
            return "changed"
        return "settled" if part == "adjudication" else ""

    def undo(self, request: Request, annotator: str, form: Form) -> Response:
        """Take the annotator's last verdict back."""
        self._known(annotator)
        with self._one_at_a_time:
            taken = self.review.undo(annotator)
        to = "adjudicate" if taken and taken.part == "adjudication" else "judge"
        return _go(f"/{to}/{_quoted(annotator)}", "undone" if taken else "nothing")

    # --- parts ------------------------------------------------------------------------------------

    def _item(
        self,
        request: Request,
        annotator: str,
        item: Item,
        part: Part,
        *,
        notice: str = "",
        filled: FormValues | None = None,
        status: int = 200,
    ) -> Response:
        revealed = self.review.settings.mode == "check"
        values = views.item_view(self.review, item, revealed=revealed, filled=filled)
        values |= {
            "part": part,
            "notice": _notice(notice),
            "progress": self.review.progress(annotator),
            "strip": views.strip(self.review, annotator),
            "guideline": views.guideline(self.review),
            "verdicts": [],
            "queue": [],
        }
        if part == "adjudication":
            values["verdicts"] = views.said_of(self.review, item)
            values["queue"] = [
                (other.item_id, self.review.shown_pair(other).query)
                for other in self.review.open_items(annotator)
            ]
        return self._page(request, "judge.html", values, annotator, status)

    def _fix(
        self,
        request: Request,
        annotator: str,
        item: Item,
        part: Part,
        filled: FormValues,
        status: int = 200,
    ) -> Response:
        revealed = self.review.settings.mode == "check"
        values = views.item_view(self.review, item, revealed=revealed, filled=filled)
        texts = {
            name: filled.values.get(f"new_{name}", getattr(values["shown"], name))
            for name in FIELDS
        }
        values |= {"part": part, "texts": texts, "grade": filled.values.get("grade", "")}
        return self._page(request, "fix.html", values, annotator, status)

    def _again(
        self,
        request: Request,
        annotator: str,
        item: Item,
        part: Part,
        filled: FormValues,
        status: int,
    ) -> Response:
        """The form as it was sent, with what went wrong."""
        if filled.values.get("decision") == "fix":
            return self._fix(request, annotator, item, part, filled, status)
        return self._item(request, annotator, item, part, filled=filled, status=status)

    def _changed(self, request: Request, annotator: str, what: str) -> Response:
        return self._page(request, "changed.html", {"what": what}, annotator, 409)

    def _page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        annotator: str = "",
        status: int = 200,
    ) -> Response:
        shared = views.base(self.review, annotator) | {"form_token": form_token(request)}
        return HTMLResponse(views.render(template, {**shared, **values}), status)

    def _known(self, annotator: str) -> None:
        try:
            self.review.check_annotator(annotator)
        except UsageError as error:
            raise RequestRefused(
                404, str(error), "Choose who you are on the first page."
            ) from error

    def _item_of(self, item_id: str) -> Item:
        try:
            return self.review.item(item_id)
        except UsageError as error:
            raise RequestRefused(404, str(error), "Judge the next one.") from error

    # --- what goes wrong --------------------------------------------------------------------------

    def refused(self, request: Request, error: Exception) -> Response:
        """A request that is not answered as asked."""
        assert isinstance(error, RequestRefused)
        return self._wrong(error.status, error.what, error.do)

    def failed(self, request: Request, error: Exception) -> Response:
        """An expected failure outside a form that could come back."""
        status = 507 if isinstance(error, OutputError) else 409
        return self._wrong(status, str(error), "Every verdict that was confirmed is kept.")

    def not_served(self, request: Request, error: Exception) -> Response:
        """An address at which there is nothing."""
        assert isinstance(error, NotServed)
        return self._wrong(error.status_code, "There is no such page.", "Start from the first one.")

    def _wrong(self, status: int, what: str, do: str, **form: Any) -> Response:
        # nothing of the review is read: that may be what fails
        values = {"name": views.name_of(self.review), "what": what, "do": do, **form}
        return HTMLResponse(views.render("wrong.html", values), status)


def _notice(name: str) -> str:
    return views.NOTICES.get(name, "")


def _quoted(annotator: str) -> str:
    return quote(annotator, safe="")


def _go(path: str, notice: str) -> Response:
    # 303: what was a form becomes a page, which can be loaded again without sending anything
    return RedirectResponse(f"{path}?notice={notice}" if notice else path, status_code=303)


# --- a form that was sent, as what `Review.record` takes ------------------------------------------


class FormAnswer(NamedTuple):
    """What a person said of an item; of a fix also its grade and changed texts."""

    decision: Decision
    relevance: int | None
    reason: str
    comment: str
    edits: Mapping[str, str]
    seconds: float | None
    shown: str

    def same(self, verdict: Verdict) -> bool:
        """Whether a verdict says this already."""
        said = (verdict.decision, verdict.reason, verdict.comment, verdict.shown)
        if said != (self.decision, self.reason, self.comment, self.shown):
            return False
        return self.decision != "fix" or (verdict.relevance, dict(verdict.edits)) == (
            self.relevance,
            dict(self.edits),
        )


def answer_of(form: Mapping[str, str], shown: ShownPair) -> FormAnswer:
    """The answer of a form. Raises `Refused` where it is none of our page's."""
    decision = form.get("decision", "")
    if decision not in get_args(Decision) or decision == "undo":
        raise RequestRefused(
            400, "The form says nothing of the item.", "Go back and choose a button."
        )
    edits: dict[str, str] = {}
    if decision == "fix":
        edits = {
            field: new
            for field in FIELDS
            if (new := _line_ends(form.get(f"new_{field}", getattr(shown, field))))
            != as_submitted(getattr(shown, field))
        }
    return FormAnswer(
        cast("Decision", decision),
        _grade(form.get("grade", "")) if decision == "fix" else None,
        _line_ends(form.get("reason", "")).strip(),
        _line_ends(form.get("comment", "")).strip(),
        edits,
        _seconds(form.get("since", "")),
        form.get("shown", ""),
    )


def part_of(name: str) -> Part:
    """The part of a review that an address names. Raises `Refused`."""
    if name not in get_args(Part):
        raise RequestRefused(404, f"A review has no part {name!r}.", "Start from the first page.")
    return cast("Part", name)


def as_submitted(text: str) -> str:
    """A text as a browser sends it back unchanged: line ends are one, NUL is no character."""
    return _line_ends(text).replace("\x00", "\ufffd")


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _grade(text: str) -> int | None:
    """The grade of a fix; None: with this text it cannot be told."""
    if text and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise RequestRefused(400, f"{text[:20]!r} is no grade.", "Go back and choose one.")
    return int(text) if text else None


def _seconds(since: str) -> float | None:
    """From the page being shown to now."""
    try:
        passed = time.time() - float(since)
    except ValueError:
        return None
    # the page rounds its time, so an answer at once may come a little before it
    return round(max(passed, 0), 1) if math.isfinite(passed) and -1 < passed <= _LONGEST else None
