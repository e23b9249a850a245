"""A patch of qrels: what people settled, as changes, as whole tables, and how sure it all is.

For data sets that retgen did not write: nothing is written into them. `patch.tsv` lists what to
add, to change and to take out; qrels.SPLIT.tsv (BEIR) and qrels.SPLIT.txt (TREC, where no id holds
white space) are the qrels with that done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import Qrel
from retgen.errors import DatasetError, UsageError
from retgen.markdown import markdown_table
from retgen.review.certificates import as_percent
from retgen.review.report import report
from retgen.review.review import Review
from retgen.write import make_folder, write_file

_HEAD = "action\tquery-id\tcorpus-id\tscore\tbefore\tby\n"


class QrelChange(NamedTuple):
    """What is to be done about a pair: "add", "change" or "remove"."""

    action: str
    query_id: str
    doc_id: str
    after: int
    before: int | None
    by: tuple[str, ...]


def write(review: Review, folder: Path) -> None:
    """The patch, the qrels with it, and README.md. Raises where the data set is another by now."""
    if (why := review.change_message()) is not None:
        raise DatasetError(why)
    split = review.settings.split
    if split not in review.dataset.qrels:
        raise UsageError(f"{review.path} has no qrels of split {split}, so there is none to patch")
    qrels = review.dataset.qrels[split].read()[0]
    zeros = any(one.relevance == 0 for one in qrels)
    graded = any(one.relevance > 1 for one in qrels)
    changes = list(_changes(review, zeros, graded))
    if not changes and not _settled(review):
        raise UsageError(f"{review.store.path}: nothing is settled yet, so there is no patch")
    patched = list(_patched(qrels, changes))
    pairs = [(q, d) for q, d, _ in patched] + [(one.query_id, one.doc_id) for one in changes]
    for name in chain.from_iterable(pairs):
        if re.search(r"[\t\r\n]", name):
            raise DatasetError(
                f"{review.path}: the id {name!r} cannot stand in a patch, where tabs and ends of "
                "lines end an id: give it another id"
            )
    make_folder(folder)
    lines = [
        f"{c.action}\t{c.query_id}\t{c.doc_id}\t{c.after if c.action != 'remove' else ''}\t"
        f"{'' if c.before is None else c.before}\t{', '.join(c.by)}\n"
        for c in changes
    ]
    write_file(folder / "patch.tsv", _HEAD + "".join(lines))
    beir = "".join(f"{q}\t{d}\t{int(r)}\n" for q, d, r in patched)
    write_file(folder / f"qrels.{split}.tsv", f"query-id\tcorpus-id\tscore\n{beir}")
    if not any(re.search(r"\s", q + d) for q, d, _ in patched):
        trec = "".join(f"{q} 0 {d} {int(r)}\n" for q, d, r in patched)
        write_file(folder / f"qrels.{split}.txt", trec)
    write_file(folder / "README.md", _readme(review, changes, zeros, report(review)))


def _settled(review: Review) -> int:
    by = review.by_item()
    return sum(
        review.consensus(item, by.get(item.item_id, ())).state == "settled"
        for item in review.items
        if item.planted is None
    )


def _changes(review: Review, zeros: bool, graded: bool) -> Iterator[QrelChange]:
    """What was settled otherwise than the qrels say, in the order of the pairs' names.

    `zeros`: the qrels hold pairs that are judged not relevant, so that is what a rejected positive
    becomes; else it is taken out. `graded`: they hold grades above 1.
    """
    by = review.by_item()
    for item in sorted(review.items, key=lambda one: (one.query_id, one.doc_id)):
        verdicts = by.get(item.item_id, ())
        state = review.consensus(item, verdicts)
        if item.planted is not None or state.state != "settled" or state.relevance is None:
            continue
        before = None if item.label is None else int(item.label)
        after = state.relevance if graded else min(state.relevance, 1)
        kept = all(v.decision == "accept" for v in verdicts)
        fits = before is not None and (before > 0) == (after > 0)
        if before == after or (fits and (kept or review.settings.grades < 3)):
            continue
        if before is None and not after and not zeros:
            continue  # which is what a pair without a qrel counts as there
        action = "add" if before is None else "change" if after or zeros else "remove"
        yield QrelChange(action, item.query_id, item.doc_id, after, before, state.by)


def _patched(qrels: list[Qrel], changes: list[QrelChange]) -> Iterator[Qrel]:
    """The qrels in their order, what is added behind the other pairs of its query."""
    of = {(one.query_id, one.doc_id): one for one in changes}
    new: dict[str, list[Qrel]] = {}
    for one in changes:
        if one.action == "add":
            new.setdefault(one.query_id, []).append(Qrel(one.query_id, one.doc_id, one.after))
    last = {one.query_id: number for number, one in enumerate(qrels)}
    for number, qrel in enumerate(qrels):
        change = of.get((qrel.query_id, qrel.doc_id))
        if change is None:
            yield qrel
        elif change.action != "remove":
            yield qrel._replace(relevance=change.after)
        if last[qrel.query_id] == number:
            yield from new.pop(qrel.query_id, ())
    for some in new.values():
        yield from some


# --- how sure it is -----------------------------------------------------------------------------


def _readme(review: Review, changes: list[QrelChange], zeros: bool, said: Mapping[str, Any]) -> str:
    counts = {
        action: sum(one.action == action for one in changes)
        for action in ("add", "change", "remove")
    }
    name, split = review.path.resolve().name, review.settings.split
    lines = [
        f"# A patch of the qrels of {name} ({split})",
        "",
        f"{counts['add']:,} pairs to add, {counts['change']:,} to change, {counts['remove']:,} to "
        f"take out, by {', '.join(review.settings.annotators)}. Pairs that people disagree on, or "
        "could not tell, stay as they are.",
        "",
        "A rejected positive becomes a judged 0."
        if zeros
        else "The qrels hold no judged zeros, so a rejected positive is taken out.",
        "",
        f"Missing positives were looked for among {said['pool']['depth']} documents a query of "
        f"{', '.join(said['pool']['retrievers'])}; of pairs outside this pool nothing is known.",
        "",
        markdown_table(
            ["population", "pairs", "settled", "error rate", "95% interval"],
            [_row(said, name) for name in said["populations"]],
        ),
    ]
    for one in said["certificates"]:
        looked = sum(one["looked_at"].values())
        holds = {True: "holds", False: "does not hold", None: "is not settled"}[one["holds"]]
        upper = "not known" if one.get("upper") is None else as_percent(one["upper"])
        lines += [f"- `{one['goal']}` {holds}: at most {upper}, {looked:,} settled"]
    return "\n".join([*lines, ""])


_ASKED = {"positives": "positives that are none", "others": "positives that are missing"}


def _row(said: Mapping[str, Any], name: str) -> list[str]:
    population, rate = said["populations"][name], said["rates"][name]
    estimate = None if rate is None else rate["estimate"]
    return [
        _ASKED[name],
        f"{population['size']:,}",
        f"{population['looked_at']:,}",
        "not known" if estimate is None else f"{estimate:.2%}",
        "not known" if rate is None else f"{rate['low']:.2%} to {rate['high']:.2%}",
    ]
