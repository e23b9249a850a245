"""What a file of verdicts says, read with SQL and nothing of ours but who is asked for what."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from retgen.review.assign import chance

PEOPLE = ("anna", "ben")


class Counted:
    """What stands in the file, read with SQL."""

    def __init__(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as base:
            base.row_factory = sqlite3.Row
            # an undo is the last word of its item, annotator and part, and takes the verdict away
            self.verdicts = base.execute(
                "SELECT v.*, i.population, i.place, i.planted FROM verdicts v JOIN items i USING "
                "(item_id) WHERE v.number = (SELECT max(number) FROM verdicts w WHERE w.item_id = "
                "v.item_id AND w.annotator = v.annotator AND w.part = v.part) "
                "AND v.decision <> 'undo' ORDER BY v.number"
            ).fetchall()
            self.weights = {
                name: np.array(
                    base.execute(
                        "SELECT weight FROM pairs WHERE population = ? ORDER BY place", (name,)
                    ).fetchall()
                )[:, 0]
                for name in ("positives", "others")
            }
            row = base.execute("SELECT value FROM settings WHERE key = 'review'").fetchone()
        self.settings = json.loads(row[0])

    def asked(self, item: str, place: int) -> set[str]:
        if chance(self.settings["seed"], "overlap", item) < self.settings["overlap"]:
            return set(PEOPLE)
        return {PEOPLE[place % 2]}

    def values(self, population: str) -> tuple[np.ndarray[Any, Any], int, int, int]:
        """Bounds by place, and how many are settled, open, waiting."""
        of: dict[tuple[str, int], list[sqlite3.Row]] = defaultdict(list)
        for row in self.verdicts:
            if row["population"] == population and row["planted"] is None:
                of[row["item_id"], row["place"]].append(row)
        settled: dict[int, int | None] = {}
        disputed = waiting = 0
        for (item, place), rows in of.items():
            final = [r["relevance"] for r in rows if r["part"] == "adjudication"]
            first = {r["annotator"]: r["relevance"] for r in rows if r["part"] == "first"}
            if final:
                settled[place] = final[-1]
            elif len(set(first.values())) > 1:
                disputed += 1
            elif set(first) >= self.asked(item, place):
                settled[place] = next(iter(first.values()))
            else:
                waiting += 1
        bounds = np.array([[0.0, 1.0]] * (max(settled) + 1))
        for place, relevance in settled.items():
            if relevance is not None:
                wrong = (relevance == 0) if population == "positives" else (relevance > 0)
                bounds[place] = float(wrong)
        return bounds, len(settled), disputed, waiting
