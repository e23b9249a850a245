"""The two statements about a sealed set: a reveal, and the commitment that follows from its bytes.

Nothing is in a commitment that does not follow from its reveal, so one compared byte by byte with
what follows cannot have been altered anywhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retgen.errors import DatasetMissing, SealBroken, SealUnchecked
from retgen.sealed.package import package_digest
from retgen.version import __version__

FORMAT_VERSION = 1
COMMITMENT, REVEAL, PRIVATE, PUBLIC = "commitment.json", "reveal.json", "private", "public"
_FORM = "keys once and sorted, two spaces a level, a newline at the end"
_LARGEST = 64 << 20  # bytes of a statement; a recipe's own files are the most of it

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FileDigest(_Strict):
    """Hex SHA-256 and size of a file."""

    sha256: Digest
    bytes: int = Field(ge=0)


class Package(_Strict):
    """The code that makes the set: see `package_digest`."""

    name: str
    version: str
    sha256: Digest


class RevealFile(_Strict):
    """What a reveal holds.

    `nonce`: 256 random bits, without which nothing can be tried out against the commitment.
    `previous`: SHA-256 of the commitment.json of the round before. `recipe`: every default and
    override written out, with its seed. `inputs`: the texts of files that it names. `word_lists`:
    SHA-256 by name. `files`: the tables, by path below the run; `public`: what submitters get.
    """

    format_version: int
    nonce: Digest
    round: int = Field(ge=1)
    previous: Digest | None
    package: Package
    versions: dict[str, str]
    recipe: dict[str, Any]
    inputs: dict[str, str]
    word_lists: dict[str, Digest]
    files: dict[str, FileDigest] = Field(min_length=1)
    public: dict[str, FileDigest] = Field(min_length=1)


@dataclass(frozen=True)
class Reveal:
    """A reveal as its bytes, which are what is committed to, and what they say."""

    raw: bytes
    says: RevealFile

    @classmethod
    def of(cls, says: RevealFile) -> Reveal:
        """Sorted keys, two spaces a level, a newline at the end."""
        return cls(_dump(says.model_dump()), says)

    @property
    def commitment(self) -> str:
        """Hex SHA-256 of the bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def name(self) -> str:
        """What the data set is called."""
        return str(self.says.recipe.get("name", "set"))

    def commitment_file(self) -> bytes:
        """The bytes of commitment.json: nothing but `commitment` depends on seed or nonce."""
        says = self.says
        recipe = {key: value for key, value in says.recipe.items() if key != "seed"}
        return _dump({
            "format_version": says.format_version,
            "commitment": self.commitment,
            "hash": "SHA-256 of the bytes of reveal.json",
            "round": says.round,
            "previous": says.previous,
            "package": says.package.model_dump(),
            "family": says.recipe.get("family"),
            "recipe": recipe,
        })  # fmt: skip


def _dump(value: Mapping[str, Any]) -> bytes:
    # not orjson: Python promises how it writes a float, and others can repeat it
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def read_commitment(path: Path) -> tuple[bytes, str]:
    """(the bytes of a commitment.json, the SHA-256 that it states). Raises `SealBroken`."""
    raw = _bytes_of(path, "a commitment")
    try:
        stated = orjson.loads(raw)
        version, digest = stated["format_version"], stated["commitment"]
    except (ValueError, KeyError, TypeError):
        version, digest = None, None
    if version != FORMAT_VERSION or type(version) is not int:
        _refuse_format(path, version, "commitment")
    if not isinstance(digest, str) or len(digest) != 64:
        raise SealBroken("sealed/commitment", f"{path} states no SHA-256 as its commitment")
    return raw, digest


def read_reveal(path: Path) -> Reveal:
    """A reveal.json by itself. Raises `SealBroken` for what is none."""
    return _parsed(path, _bytes_of(path, "a reveal"))


def check_pair(commitment: Path, reveal: Path) -> Reveal:
    """The reveal, if it and the commitment are what they were, to the byte.

    Raises `SealBroken` by the name of what is wrong. Nothing of the reveal is believed before its
    hash is right.
    """
    public, committed = read_commitment(commitment)
    raw = _bytes_of(reveal, "a reveal")
    found = hashlib.sha256(raw).hexdigest()
    if not hmac.compare_digest(found.encode(), committed.encode()):
        cut = "" if raw.endswith(b"}\n") else ". It has no end: it was cut off, or saved otherwise"
        raise SealBroken(
            "sealed/hash",
            f"{reveal} is not what {commitment} commits to: its SHA-256 is {found}, committed is "
            f"{committed}{cut}",
        )
    result = _parsed(reveal, raw)
    expected = result.commitment_file()
    if not hmac.compare_digest(public, expected):
        raise SealBroken(
            "sealed/commitment",
            f"{commitment} is not the one of {reveal}: {_differences(public, expected)}",
        )
    return result


def check_package(reveal: Reveal) -> None:
    """Raise `SealUnchecked` where other code is installed than made the set."""
    stated = reveal.says.package
    if (stated.name, stated.version) != ("retgen", __version__):
        raise SealUnchecked(
            "sealed/version",
            f"the set was made by {stated.name} {stated.version}, this is retgen {__version__}: "
            f"install {stated.name} {stated.version}, and run the same command again",
        )
    found = package_digest()
    if not hmac.compare_digest(found, stated.sha256):
        raise SealUnchecked(
            "sealed/code",
            f"the set was made by other code of version {stated.version}: the digest of its files "
            f"is {stated.sha256}, of those installed here {found}. Install the commit that made it,"
            " without changes or files of your own among its",
        )


def check_previous(reveal: Reveal, previous: Path) -> None:
    """Raise `SealBroken` where a reveal is not of the round after a commitment."""
    raw, _ = read_commitment(previous)
    found = hashlib.sha256(raw).hexdigest()
    if found != reveal.says.previous or orjson.loads(raw).get("round") != reveal.says.round - 1:
        raise SealBroken(
            "sealed/round",
            f"round {reveal.says.round} does not follow on {previous}: its SHA-256 is {found}, "
            f"the round names {reveal.says.previous or 'none'} as the one before",
        )


def _bytes_of(path: Path, what: str) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise SealBroken("sealed/size", f"{path} has more than 64 MB, too much for {what}")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetMissing(f"{path}: there is no such file; give {what}", str(path)) from error
    except OSError as error:
        raise SealUnchecked("sealed/file", f"{path}: cannot be read: {error.strerror}") from error


def _parsed(path: Path, raw: bytes) -> Reveal:
    try:
        content = orjson.loads(raw)
    except ValueError as error:
        raise SealBroken(
            "sealed/reveal", f"{path} is not whole: it is no JSON ({error}); was it cut off?"
        ) from error
    version = content.get("format_version") if isinstance(content, dict) else None
    if version != FORMAT_VERSION or type(version) is not int:
        _refuse_format(path, version, "reveal")
    try:
        result = Reveal.of(RevealFile.model_validate(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SealBroken("sealed/reveal", f"{path}, {where}: {first['msg'].lower()}") from error
    if result.raw != raw:  # a key that stands twice is read in one way here, in another elsewhere
        raise SealBroken("sealed/reveal", f"{path} is not written as a reveal is: {_FORM}")
    return result


def _refuse_format(path: Path, version: object, what: str) -> NoReturn:
    if type(version) is int and version > 0:
        raise SealUnchecked(
            "sealed/format",
            f"{path} is in format {version}, this version of retgen reads {FORMAT_VERSION}: "
            "install the version that wrote it",
        )
    raise SealBroken(f"sealed/{what}", f"{path} is no {what} of a sealed set, or not a whole one")


def _differences(given: bytes, expected: bytes) -> str:
    """Which keys of two commitments differ."""
    one, other = orjson.loads(given), orjson.loads(expected)
    keys = [key for key in {**other, **one} if one.get(key) != other.get(key)]
    return f"other {', '.join(sorted(keys))}" if keys else "its bytes are others for the same values"
