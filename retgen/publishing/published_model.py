"""A trained model that is published: the folder of `gen train`, its scores, its card.

model.safetensors, ...    the files of TRAINED/model, as they are
README.md                 the card: what the training changed; then what gen train and
                          sentence-transformers say of the model
published.json            the listing
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retgen.dataset_files import card_header
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.significance import change_text
from retgen.evaluation.training.config import read_own, read_result
from retgen.export.facts import licence_header
from retgen.markdown import escape_markdown, front_matter, markdown_table
from retgen.plan import NOT_STATED
from retgen.publishing.card import refusal_note
from retgen.publishing.destinations import Tree, listed_tree
from retgen.publishing.published_run import completed_licences, forbidden_licences
from retgen.write import FileInfo, file_info, write_file

_CARD, _MODEL = "README.md", "model"
_PLACEHOLDER = "sentence_transformers_model_id"  # in the card that sentence-transformers writes
_NAMED = {"before": "before", "idf": "idf alone", "after": "after"}


@dataclass(frozen=True)
class PublishedModel:
    """A finished training. `facts`: its train.json; `files`: of the training, with their digests;
    `licences`: of each part of the training data.

    `refused`: why it is not published, a sentence each; with --force it is, and its card says so.
    """

    path: Path
    facts: Mapping[str, Any]
    files: Mapping[str, Any]
    licences: Mapping[str, str]

    @property
    def name(self) -> str:
        """What its listing is called: the training's folder."""
        return self.path.resolve().name

    @property
    def refused(self) -> list[str]:
        """Of its training, and of the licences of what it was trained on."""
        failed = [one for one in self.facts["warnings"] if "collapsed" in one]
        return [*failed, *forbidden_licences(self.licences)]

    def write(self, folder: Path, loaded_as: str) -> Tree:
        """Write what is published. `loaded_as`: what a loader is given."""
        files = {}
        for name, info in self.files.items():
            part, _, path = name.partition("/")
            if part == _MODEL and path != _CARD:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to((self.path / name).resolve())  # weights may be large
                files[path] = FileInfo(**info)
        text = self._card().replace(_PLACEHOLDER, loaded_as)
        files[_CARD] = write_file(folder / _CARD, text)
        return listed_tree(self.name, folder, files)

    def _card(self) -> str:
        """The card: ours behind its title, then that of sentence-transformers."""
        source = self.path / _MODEL
        header = card_header(source)
        text = (source / _CARD).read_text("utf-8") if (source / _CARD).is_file() else ""
        body = text[text.index("\n---", 3) + 4 :].lstrip("\n") if header else text
        title, _, rest = body.partition("\n")
        tags = dict.fromkeys([*header.get("tags", ()), "retgen"])
        header |= {"tags": list(tags), **licence_header(self.licences)}
        lines = [title or f"# {self.name}", ""]
        if self.refused:
            lines += [*refusal_note("model", self.refused), ""]
        lines += ["## Licence", ""]
        lines += [f"- of the {p}: {escape_markdown(text)}" for p, text in self.licences.items()]
        lines += ["", "## What that changed", ""]
        test, outside = self.facts["test"], self.facts["outside"].values()
        for role, scored in [("Test set", test), *(("Outside", one) for one in outside)]:
            lines += [f"{role} {escape_markdown(Path(scored['dataset']).name)}:", ""]
            lines += [_scores(scored)]
        lines += ["## What to know", ""]
        for text in (*self.facts["warnings"], *self.facts["findings"], *self.facts["notes"]):
            lines += [f"- {escape_markdown(text[0].upper() + text[1:].rstrip('.'))}."]
        return front_matter(header) + "\n".join([*lines, "", rest.lstrip("\n")])


def is_training(path: Path) -> bool:
    """Whether a folder is one of `gen train`, or the model in it."""
    return any((place / "identity.json").is_file() for place in _places(path))


def _places(path: Path) -> list[Path]:
    return [path, path.resolve().parent] if path.resolve().name == _MODEL else [path]


def published_model(path: Path, licence: str | None) -> PublishedModel:
    """A training to publish, by its folder or the model's in it.

    Raises `UsageError` for a licence that cannot be given, or files that are not as the training
    wrote them, `DatasetError` for a training that is unfinished.
    """
    folder = next(place for place in _places(path) if (place / "identity.json").is_file())
    for name, why in {
        "training.json": ", which is written last: the training is unfinished",
        "train.json": ": its scores are unfinished",
    }.items():
        if not (folder / name).is_file():
            raise DatasetError(
                f"{folder} has no {name}{why}. The same `gen train` ends it. Nothing was published"
            )
    files = read_result(folder)["files"]
    try:
        facts = read_own(folder / "train.json", "checksum", "training")
        whole = facts["training"] == file_info(folder / "training.json").sha256
    except UsageError:
        whole = False
    if not whole:
        raise DatasetError(
            f"{folder}/train.json is damaged, or of another training; the same `gen train` writes "
            "it anew. Nothing was published"
        )
    stated = facts["data"]["licences"] or {"training data": NOT_STATED}
    return PublishedModel(folder, facts, files, completed_licences(stated, licence))


def _scores(scored: Mapping[str, Any]) -> str:
    """A row a measure: before, idf alone, after, each with its interval, and the change."""
    changes = {
        one["measure"]: change_text((one["difference"], one["low"], one["high"]))
        for one in scored["comparisons"]
        if (one["first"], one["second"]) == ("after", "before")
    }
    whens = [when for when in _NAMED if scored[when]]
    rows = []
    for measure, after in scored["after"].items():
        row = [measure]
        for when in whens:
            span = scored["intervals"].get(when, {}).get(measure)
            between = "" if span is None else f" ({span[0]:.3f} to {span[1]:.3f})"
            row.append(f"{scored[when][measure]:.4f}{between}")
        change = f"{after - scored['before'][measure]:+.4f}"
        rows.append([*row, changes.get(measure, change)])
    return markdown_table(["measure", *(_NAMED[when] for when in whens), "change"], rows)
