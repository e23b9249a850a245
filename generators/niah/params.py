"""Parameters of the NIAH family: which needles, where, in what filler, counted by what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from retgen.generators.params import Distinct, InputFile, Params, resolved_path
from retgen.generators.source import DocumentSource

BUNDLED = ("minilm", "words")
FILE = "tokenizer.json"

Needle = Literal["one_hop", "literal"]
Order = Literal["default", "inverted"]
FillerKind = Literal["shuffled", "coherent"]
Control = Literal["nothing", "neutral"]


def _tokenizer(value: Path | str, info: ValidationInfo) -> Path | str:
    """A name, or the file tokenizer.json of a path; a run keeps a copy of the file."""
    if str(value) in BUNDLED:
        return str(value)
    path = resolved_path(Path(value), info)
    if path is None:
        return Path(value)
    if path.is_dir():
        path = path / FILE
    if not path.is_file():
        raise ValueError(
            f"there is no tokenizer {path}: give {', '.join(BUNDLED)}, a {FILE}, or a folder that "
            "holds one"
        )
    return path


def _books(value: Any) -> Any:
    """A path alone is a source with nothing else said."""
    return {"path": value} if isinstance(value, str | Path) else value


Length = Annotated[int, Field(ge=16, le=10_000_000)]


class NiahParams(Params):
    """Needles in haystacks of exact lengths."""

    groups: Literal["test", "train", "all"] = Field(
        "test", description="rows of the table: for testing, for training, or both"
    )
    table: InputFile | None = Field(None, description="needles of your own; default: bundled")
    lengths: Annotated[tuple[Length, ...], Distinct] = Field(
        (128, 256, 512, 1024, 2048, 4096, 8192),
        min_length=1,
        description="tokens of a haystack, those that the tokenizer adds included",
    )
    places: int = Field(10, ge=2, le=1000, description="from the very beginning to the very end")
    orders: Annotated[tuple[Order, ...], Distinct] = Field(("default", "inverted"), min_length=1)
    needles: Annotated[tuple[Needle, ...], Distinct] = Field(("one_hop",), min_length=1)
    filler: Annotated[tuple[FillerKind, ...], Distinct] = Field(("shuffled",), min_length=1)
    filtered: Annotated[tuple[bool, ...], Distinct] = Field(
        (True,), min_length=1, description="false: filler that shares words with questions, too"
    )
    distractors: Annotated[tuple[Annotated[int, Field(ge=0, le=20)], ...], Distinct] = Field(
        (0,), min_length=1, description="near-answers in the filler"
    )
    controls: Annotated[tuple[Control, ...], Distinct] = Field(("nothing",), min_length=1)
    fillers: int = Field(1, ge=1, le=10_000, description="of each group and length")
    tokenizer: Annotated[Path | str, AfterValidator(_tokenizer)] = Field(
        "minilm", description=f"{', '.join(BUNDLED)}, a {FILE} or a folder that holds one"
    )
    books: Annotated[DocumentSource | None, BeforeValidator(_books)] = Field(
        None, description="texts of your own for the filler; default: bundled prose"
    )
    training: bool = Field(False, description="also training/needles.parquet")

    @model_validator(mode="after")
    def _check_order(self) -> NiahParams:
        if list(self.lengths) != sorted(self.lengths):
            raise ValueError("lengths must ascend")
        return self
