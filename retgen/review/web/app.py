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
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException as NotServed

from retgen.errors import OutputError, RetgenError, UsageError
from retgen.review.records import Item
from retgen.review.web import views
from retgen.review.web.security import FILE_POLICY, Guard, RequestRefused, read_form
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.review.review import Review

_LONGEST = 4 * 3600  # seconds; a page that stood open for longer measures nothing
_HERE = Path(__file__).parent
# all files that are served, by their names in addresses
_FILES = {
    "page.css": (_HERE.parent.parent / "page.css", "text/css; charset=utf-8"),
    "review.css": (_HERE / "review.css", "text/css; charset=utf-8"),
    "keys.js": (_HERE / "keys.js", "text/javascript; charset=utf-8"),
}
Form = Annotated[dict[str, str], Depends(read_form)]


def create_app(review: Review) -> Any:
    """The application of a review."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = _Pages(review)
    app.add_api_route("/", pages.start)
    app.add_api_route("/judge/{annotator}", pages.judge)
    app.add_api_route("/judge/{annotator}/{item_id}", pages.answer, methods=["POST"])
    app.add_api_route("/undo/{annotator}", pages.undo, methods=["POST"])
    app.add_api_route("/seen/{annotator}/{item_id}", pages.seen)
    app.add_api_route("/adjudicate/{annotator}", pages.adjudicate)
    app.add_api_route("/report", pages.report)
    app.add_api_route("/files/{name}", _file)
    for kind in (RequestRefused, RetgenError, NotServed):
        app.add_exception_handler(kind, pages.failed)
    return Guard(app)


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
        """Choose who judges; shows how far everybody is, and the guideline."""
        review = self.review
        people = [(name, review.progress(name)) for name in review.settings.annotators]
        values = {"people": people, "guideline": views.guideline(review)}
        return self._page(request, "start.html", values)

    def judge(self, request: Request, annotator: str) -> Response:
        """The next item of an annotator."""
        self.review.check_annotator(annotator)
        if changed := self.review.change_message():
            return self._page(request, "changed.html", {"what": changed}, annotator, 409)
        left = self.review.left(annotator)
        if left:
            return self._item(request, annotator, left[0], False)
        values = {"strip": views.strip(self.review, annotator)}
        return self._page(request, "done.html", values, annotator)

    def seen(self, request: Request, annotator: str, item_id: str) -> Response:
        """An item that the annotator has judged, drawn with its label and metadata."""
        self.review.check_annotator(annotator)
        item = self.review.item(item_id)
        mine = [one for one in views.verdicts(self.review, item) if one["annotator"] == annotator]
        if not mine:
            raise RequestRefused(
                403,
                "What the data set says of an item is shown after your verdict on it.",
                "Judge it first.",
            )
        values = views.item_view(self.review, item, revealed=True) | {"verdicts": mine}
        return self._page(request, "seen.html", values, annotator)

    def adjudicate(self, request: Request, annotator: str, item_id: str = "") -> Response:
        """The items on which people disagree: the first one, or the one that is asked for."""
        self.review.check_annotator(annotator)
        if changed := self.review.change_message():
            return self._page(request, "changed.html", {"what": changed}, annotator, 409)
        waiting = self.review.open_items(annotator)
        if not waiting:
            return self._page(request, "adjudicated.html", {}, annotator)
        chosen = next((item for item in waiting if item.item_id == item_id), waiting[0])
        return self._item(request, annotator, chosen, True)

    def report(self, request: Request) -> Response:
        """The report so far."""
        from retgen.review.report import PAGE, report, report_page

        page = report_page(views.name_of(self.review), report(self.review)).html()
        write_file(self.review.folder / PAGE, page)
        return HTMLResponse(page, headers={"content-security-policy": FILE_POLICY})

    # --- forms ------------------------------------------------------------------------------------

    def answer(self, request: Request, annotator: str, item_id: str, form: Form) -> Response:
        """Keep a verdict, and go on."""
        settles = form.get("settles") == "yes"
        self.review.check_annotator(annotator)
        item = self.review.item(item_id)
        none = form.get("decision") == "none"
        relevance = 0 if none else _relevance(form.get("decision", ""))
        try:
            notice = self._keep(annotator, item, settles, relevance, form)
            if none:  # of its question the page shows every candidate
                self.review.none_of_the_rest(annotator, item.query_id)
        except RetgenError as error:
            try:
                values = {"wrong": str(error), "filled": {"reason": "", "comment": "", **form}}
                return self._item(request, annotator, item, settles, values, _status(error))
            except RetgenError:  # on a full disk not even reading works, where it needs a file
                return self._wrong(
                    _status(error),
                    f"Not kept. {error}",
                    "Send it again once that is mended.",
                    form=form,
                    action=request.url.path,
                )
        return _go("adjudicate" if settles else "judge", annotator, notice)

    def _keep(
        self,
        annotator: str,
        item: Item,
        settles: bool,
        relevance: int | None,
        form: Mapping[str, str],
    ) -> str:
        """Record an answer, and return the notice about it."""
        about = {name: _line_ends(form.get(name, "")).strip() for name in ("reason", "comment")}
        key = (item.item_id, annotator, settles)
        with self._one_at_a_time:
            stands = [
                v for v in self.review.standing() if (v.item_id, v.annotator, v.settles) == key
            ]
            same = (relevance, about["reason"], about["comment"], form.get("shown", ""))
            if [(v.relevance, v.reason, v.comment, v.shown) for v in stands] == [same]:
                return "again"
            self.review.record(
                annotator,
                item.item_id,
                relevance,
                shown=form.get("shown", ""),
                settles=settles,
                seconds=_seconds(form.get("since", "")),
                **about,
            )
        return "changed" if stands else "settled" if settles else ""

    def undo(self, request: Request, annotator: str, form: Form) -> Response:
        """Take the annotator's last verdict back."""
        self.review.check_annotator(annotator)
        with self._one_at_a_time:
            taken = self.review.undo(annotator)
        page = "adjudicate" if taken and taken.settles else "judge"
        return _go(page, annotator, "undone" if taken else "nothing")

    # --- parts ------------------------------------------------------------------------------------

    def _item(
        self,
        request: Request,
        annotator: str,
        item: Item,
        settles: bool,
        more: Mapping[str, Any] = {},
        status: int = 200,
    ) -> Response:
        """The page on which an item is judged. `more`: a form that comes back, and why."""
        review = self.review
        values = views.item_view(review, item, revealed=False) | {
            "settles": settles,
            "progress": review.progress(annotator),
            "strip": views.strip(review, annotator),
            "guideline": views.guideline(review),
            "verdicts": views.verdicts(review, item) if settles else [],
            "queue": review.open_items(annotator) if settles else [],
            "question_of": None if settles else views.question(review, item, annotator),
            **more,
        }
        return self._page(request, "judge.html", values, annotator, status)

    def _page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        annotator: str = "",
        status: int = 200,
    ) -> Response:
        notice = views.NOTICES.get(request.query_params.get("notice", ""), "")
        shared = {**views.base(self.review, annotator), "notice": notice}
        return HTMLResponse(views.render(template, {**shared, **values}), status)

    # --- errors -----------------------------------------------------------------------------------

    def failed(self, request: Request, error: Exception) -> Response:
        """A request that is not answered as asked."""
        if isinstance(error, RequestRefused):
            return self._wrong(error.status, error.what, error.do)
        if isinstance(error, NotServed):
            what, do = "There is no such page.", "Start from the first one."
            return self._wrong(error.status_code, what, do)
        status = 404 if isinstance(error, UsageError) else _status(error)
        do = "Start from the first page. Every verdict that was confirmed is kept."
        return self._wrong(status, str(error), do)

    def _wrong(self, status: int, what: str, do: str, **form: Any) -> Response:
        # nothing of the review is read: that may be what fails
        values = {"name": views.name_of(self.review), "what": what, "do": do, **form}
        return HTMLResponse(views.render("wrong.html", values), status)


def _status(error: Exception) -> int:
    return 507 if isinstance(error, OutputError) else 409


def _go(page: str, annotator: str, notice: str) -> Response:
    # 303: what was a form becomes a page, which can be loaded again without sending anything
    path = f"/{page}/{quote(annotator, safe='')}"
    return RedirectResponse(f"{path}?notice={notice}" if notice else path, status_code=303)


def _relevance(decision: str) -> int | None:
    """The relevance that a button stands for. Raises `RequestRefused` for anything else."""
    if decision not in ("0", "1", "2", "unsure"):
        raise RequestRefused(
            400, "The form says nothing of the item.", "Go back and choose a button."
        )
    return None if decision == "unsure" else int(decision)


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _seconds(since: str) -> float | None:
    """Seconds from the page being shown to now."""
    try:
        passed = time.time() - float(since)
    except ValueError:
        return None
    # the page rounds its time, so an answer at once may come a little before it
    return round(max(passed, 0), 1) if math.isfinite(passed) and -1 < passed <= _LONGEST else None
