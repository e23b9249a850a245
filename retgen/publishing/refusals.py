"""What keeps a run from being published: a proof, a certificate or a licence that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import ChecksFailed, DatasetError, RetgenError, UsageError
from retgen.reporting.card import check_licence
from retgen.review.certificates import in_words
from retgen.write import file_info

LICENCE = "licence_stated_at_publishing"  # of a manifest that is published
_SENSITIVE = ("personal-data", "secrets")  # rules
# a licence that is none
UNSTATED = re.compile(r"^\s*(not stated|unknown|none)?\s*$", re.IGNORECASE)
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
    (
        UNSTATED,
        "does not say that others may have it: --licence states it",
    ),
)


def read_manifest(run: Path) -> dict[str, Any]:
    """What a finished run says of itself.

    Raises `UsageError` for what is no run, `DatasetError` for one that is unfinished or damaged,
    `ChecksFailed` for one whose data did not pass its checks.
    """
    if not run.exists():
        raise UsageError(f"{run} does not exist. Give the folder of a run")
    if not (run / "recipe.yaml").is_file():
        raise UsageError(
            f"{run} is not a run directory: it has no recipe.yaml. What `gen run` made is "
            "published; another data set is written with `gen export --to parquet`"
        )
    path = run / "manifest.json"
    try:
        manifest = orjson.loads(path.read_bytes())
        if isinstance(manifest["name"], str) and isinstance(manifest["files"], dict):
            return dict(manifest)
    except FileNotFoundError as error:
        raise _without_manifest(run) from error
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise DatasetError(f"{path} is damaged; make the run again with --fresh")


def sensitive_findings(run: Path) -> list[str]:
    """What the rules found in a run that nobody may want to publish: personal data, secrets."""
    try:
        findings = orjson.loads((run / "report.json").read_bytes())["findings"]
        return [one["message"] for one in findings if one["rule"] in _SENSITIVE]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def with_licence(manifest: dict[str, Any], licence: str | None) -> dict[str, Any]:
    """A manifest in which `licence` stands for the parts whose licence the run does not state.

    Raises `UsageError` for one that is no name, or where all parts have one.
    """
    if licence is None:
        return manifest
    name, stated = check_licence(licence), manifest.get("licences") or {}
    missing = [part for part, text in stated.items() if UNSTATED.match(text)]
    if not missing:
        parts = ", ".join(f"{part}: {text}" for part, text in stated.items())
        raise UsageError(f"--licence: the run states the licence of all its parts ({parts})")
    licences = {**stated, **dict.fromkeys(missing, name)}
    return {**manifest, "licences": licences, LICENCE: name}


def _without_manifest(run: Path) -> RetgenError:
    """Why a run has none, and what to do."""
    try:
        report = orjson.loads((run / "report.json").read_bytes())
        failed = [] if report["ok"] else [f for f in report["findings"] if f["severity"] == "error"]
        shown = [f"{one['rule']}: {one['message']}" for one in failed[:3]]
    except (OSError, ValueError, KeyError, TypeError):
        shown = []
    if not shown:
        return DatasetError(
            f"{run} has no manifest.json, which is written last: the run is unfinished. "
            f"`gen run {run}/recipe.yaml --out {run}` ends it. Nothing was published"
        )
    more = f"\n  and {len(failed) - len(shown)} more" if len(failed) > len(shown) else ""
    return ChecksFailed(
        f"{run}: the data did not pass its checks, so the run has no manifest.json, and nothing "
        "gives the evidence for its labels. Not even --force publishes it:"
        + "".join(f"\n  {one}" for one in shown)
        + f"{more}\nChange the recipe, and run it again with --fresh. A check that is no proof can "
        "be switched off there, by its name and with a reason (`validate: {off: {RULE: why}}`): "
        "the card then says so. Nothing was published"
    )


def refusals(run: Path, manifest: Mapping[str, Any], review: Mapping[str, Any] | None) -> list[str]:
    """Why a run is not published, a sentence each; --force publishes it with these in its card."""
    return [
        *_proof_refusals(run, manifest),
        *_certificate_refusals(review),
        *_licence_refusals(manifest),
    ]


def _proof_refusals(run: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    changed = [
        name for name, stated in manifest["files"].items()
        if not (run / name).is_file() or file_info(run / name).sha256 != stated["sha256"]
    ]  # fmt: skip
    if changed:
        yield (
            f"{', '.join(changed[:3])}{' and others' * (len(changed) > 3)} changed since the run "
            "was proven, so nothing is proven of it any more"
        )
    errors = (manifest.get("checks") or {}).get("errors", 0)
    if errors:
        yield f"the data did not pass its checks ({errors:,} error{'s' * (errors != 1)})"


def _certificate_refusals(review: Mapping[str, Any] | None) -> Iterator[str]:
    for one in review["certificates"] if review else ():
        if one["holds"] is False:
            yield f"the certificate failed: {in_words(one).rstrip('.')}"


def _licence_refusals(manifest: Mapping[str, Any]) -> Iterator[str]:
    for what, licence in (manifest.get("licences") or {}).items():
        for words, forbids in _FORBIDS:
            if words.search(licence):
                yield f"the licence of the {what} ({licence.strip() or 'none'}) {forbids}"
                break
