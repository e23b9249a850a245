"""The run that is published: what it states, what its review showed, what keeps it from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from retgen.data import read_manifest
from retgen.errors import ChecksFailed, DatasetError, UsageError
from retgen.recipe import Recipe, load_recipe
from retgen.reporting.card import check_licence
from retgen.review import open_review
from retgen.review.report import report
from retgen.review.review import FILE
from retgen.write import file_info

LICENCE = "licence_stated_at_publishing"  # of a manifest that is published
_SENSITIVE = ("personal-data", "secrets")  # rules
# of a review's report
_KEPT = (
    *("split", "grades", "pool", "labels", "missing", "questions", "models", "agreement"),
    *("left_out", "changed"),
)
# a licence that is none
_UNSTATED = re.compile(r"^\s*(not stated|unknown|none)?\s*$", re.IGNORECASE)
# words of a licence that does not let others have what was made from the source
_FORBIDS = (
    (re.compile(r"\bND\b|no.?deriv", re.IGNORECASE), "lets nobody pass on what is made from it"),
    (
        re.compile(
            r"all rights reserved|proprietary|confidential|\binternal\b|"
            r"\b(no|not|never|without)\b.{0,20}(distribut|shared|publish)",
            re.IGNORECASE,
        ),
        "lets nobody pass it on",
    ),
    (_UNSTATED, "does not say that others may have it: --licence states it"),
)


@dataclass(frozen=True)
class PublishedRun:
    """A finished run. `manifest`: as it is published; `findings`: of its rules, empty where
    report.json cannot be read; `review`: None without settled labels.
    """

    path: Path
    manifest: Mapping[str, Any]
    findings: list[dict[str, Any]]
    review: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """Of the data set."""
        return str(self.manifest["name"])

    @cached_property
    def recipe(self) -> Recipe:
        """Its recipe."""
        return load_recipe(self.path / "recipe.yaml", finished=True)

    @property
    def licences(self) -> Mapping[str, str]:
        """Of each part."""
        return self.manifest.get("licences") or {}

    @cached_property
    def refused(self) -> list[str]:
        """Why it is not published, a sentence each; with --force it is, and its card says so."""
        result = []
        changed = [
            name
            for name, stated in self.manifest["files"].items()
            if not (self.path / name).is_file()
            or file_info(self.path / name).sha256 != stated["sha256"]
        ]
        if changed:
            result.append(
                f"{', '.join(changed[:3])}{' and others' * (len(changed) > 3)} changed since the "
                "run was proven, so nothing is proven of it any more"
            )
        for one in self.findings:
            if one["rule"] in _SENSITIVE:
                consent = "publish it only with the consent of those concerned"
                result.append(f"{one['message']}: {consent}")
        return [*result, *forbidden_licences(self.licences)]


def forbidden_licences(licences: Mapping[str, str]) -> Iterator[str]:
    """Of each part whose licence does not let others have what was made from it, why."""
    for what, licence in licences.items():
        if forbids := next((why for words, why in _FORBIDS if words.search(licence)), ""):
            yield f"the licence of the {what} ({licence.strip() or 'none'}) {forbids}"


def completed_licences(stated: Mapping[str, str], licence: str | None) -> dict[str, str]:
    """The licence of each part, `licence` of those that state none.

    Raises `UsageError` for a licence that cannot be given, or that no part lacks.
    """
    if licence is None:
        return dict(stated)
    name = check_licence(licence)
    missing = [part for part, text in stated.items() if _UNSTATED.match(text)]
    if not missing:
        parts = ", ".join(f"{part}: {text}" for part, text in stated.items())
        raise UsageError(f"--licence: the licence of all parts is stated already ({parts})")
    return {**stated, **dict.fromkeys(missing, name)}


def published_run(path: Path, licence: str | None) -> PublishedRun:
    """A run to publish. `licence`: of the parts whose licence it does not state.

    Raises `UsageError` for what is no run, or a licence that cannot be given; `DatasetError` for a
    run that is unfinished or damaged, `ChecksFailed` for one whose data did not pass its checks.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist. Give the folder of a run")
    if not (path / "recipe.yaml").is_file():
        raise UsageError(
            f"{path} is not a run directory: it has no recipe.yaml, nor a training: it has no "
            "identity.json. What `gen run` and `gen train` made is published; another data set is "
            "written with `gen export --to parquet`"
        )
    manifest, findings = read_manifest(path), _findings(path)
    if manifest is None:
        failed = [one for one in findings if one.get("severity") == "error"]
        if not failed:
            raise DatasetError(
                f"{path} has no manifest.json, which is written last: the run is unfinished. "
                f"`gen run {path}/recipe.yaml --out {path}` ends it. Nothing was published"
            )
        raise ChecksFailed(
            f"{path}: the data did not pass its checks, so the run has no manifest.json, and "
            "nothing gives the evidence for its labels. Not even --force publishes it:"
            + "".join(f"\n  {one['rule']}: {one['message']}" for one in failed[:3])
            + "\nChange the recipe, and run it again with --fresh. A check that is no proof "
            "can be switched off there, by its name and with a reason (`validate: {off: {RULE: "
            "why}}`): the card then says so. Nothing was published"
        )
    if licence is not None:
        licences = completed_licences(manifest.get("licences") or {}, licence)
        manifest |= {"licences": licences, LICENCE: check_licence(licence)}
    return PublishedRun(path, manifest, findings, _review_summary(path))


def _findings(run: Path) -> list[dict[str, Any]]:
    """The findings of report.json; none where it cannot be read."""
    try:
        found = orjson.loads((run / "report.json").read_bytes())["findings"]
        return [one for one in found if {"rule", "message"} <= one.keys()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _review_summary(run: Path) -> dict[str, Any] | None:
    """The review's report of a run without the names of people; None without settled labels."""
    if not (run / FILE).is_file():
        return None
    found = report(open_review(run))
    if not any(one["settled"] for one in (*found["labels"], found["missing"])):
        return None
    return {**{key: found[key] for key in _KEPT}, "annotators": len(found["annotators"])}
