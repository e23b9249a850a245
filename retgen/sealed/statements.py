"""The two statements about a sealed set: a reveal, and the commitment that follows from its bytes.

Nothing is in a commitment that does not follow from its reveal, so one compared byte by byte with
what follows cannot have been altered anywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import stat
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from retgen.errors import DatasetMissing, SealBroken, SealUnchecked
from retgen.version import __version__
from retgen.write import file_info

FORMAT_VERSION: Literal[2] = 2
COMMITMENT, REVEAL, PRIVATE, PUBLIC = "commitment.json", "reveal.json", "private", "public"
RUN = "run"  # in private/, beside reveal.json
# in a checkout they lie beside retgen/, in a wheel within it
_BESIDE = ("evaluation", "generators", "prompts", "recipes", "validators")
_LARGEST = 64 << 20  # bytes of a statement; a recipe's own files are the most of it


def _input_name(value: str) -> str:
    if not re.fullmatch(r"inputs/[^/\\\x00]+", value) or value in ("inputs/.", "inputs/.."):
        raise ValueError(f"{value!r} is no file in inputs/")
    return value


def _named(recipe: dict[str, Any]) -> dict[str, Any]:
    if not re.fullmatch("[a-z0-9][a-z0-9_.-]{0,99}", str(recipe.get("name"))):
        raise ValueError("has no name")
    return recipe


# whoever wrote a reveal, what is shown of it cannot move the cursor, nor a path leave its folder
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Word = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
_FileName = Annotated[str, Field(pattern=r"^((dataset|tables)/)?[A-Za-z0-9_][A-Za-z0-9_.-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FileDigest(_Strict):
    """Hex SHA-256 and size of a file."""

    sha256: Digest
    bytes: int = Field(ge=0)


class Package(_Strict):
    """The code that makes the set: see `package_digest`. `commit`: of git, where it is known."""

    name: Literal["retgen"] = "retgen"
    version: _Word
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None
    sha256: Digest


class Reveal(_Strict):
    """All that makes the set, and what it is.

    `nonce`: 256 random bits, without which nothing can be tried out against the commitment.
    `versions`: of what should not matter. `recipe`: every default and override written out, with
    its seed. `inputs`: the texts of files that it names. `word_lists`: SHA-256 by name. `files`:
    the tables, by path below the run. `public`: what submitters get.
    """

    format_version: Literal[2] = FORMAT_VERSION
    nonce: Digest
    round: int = Field(ge=1)
    package: Package
    versions: dict[_Word, _Word]
    recipe: Annotated[dict[str, Any], AfterValidator(_named)]
    inputs: dict[Annotated[str, AfterValidator(_input_name)], str]
    word_lists: dict[_Word, Digest]
    files: dict[_FileName, FileDigest] = Field(min_length=1)
    public: dict[_FileName, FileDigest] = Field(min_length=1)

    @property
    def name(self) -> str:
        """What the data set is called."""
        return str(self.recipe["name"])

    def raw(self) -> bytes:
        """The bytes of reveal.json: sorted keys, two spaces a level, a newline at the end."""
        return _dump(self.model_dump())

    @property
    def commitment(self) -> str:
        """Hex SHA-256 of these bytes."""
        return hashlib.sha256(self.raw()).hexdigest()

    def commitment_file(self) -> bytes:
        """The bytes of commitment.json: nothing but `commitment` depends on seed or nonce."""
        return _dump(
            {
                "format_version": self.format_version,
                "commitment": self.commitment,
                "hash": "SHA-256 of the bytes of reveal.json",
                "round": self.round,
                "package": self.package.model_dump(),
                "family": self.recipe.get("family"),
                "recipe": {key: value for key, value in self.recipe.items() if key != "seed"},
            }
        )


def _dump(value: Mapping[str, Any]) -> bytes:
    # not orjson: Python promises how it writes a float, and others can repeat it
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def check_pair(commitment: Path, reveal: Path) -> Reveal:
    """The reveal, if it and the commitment are what they were, to the byte.

    Raises `SealBroken` by the name of what is wrong. Nothing of the reveal is believed before its
    hash is right.
    """
    public, raw = _bytes_of(commitment), _bytes_of(reveal)
    committed = str(_parsed(commitment, "commitment", public).get("commitment"))
    found = hashlib.sha256(raw).hexdigest()
    if found != committed:
        cut = "" if raw.endswith(b"}\n") else ". It has no end: it was cut off, or saved otherwise"
        raise SealBroken(
            "sealed/hash",
            f"{reveal} is not what {commitment} commits to: its SHA-256 is {found}, committed is "
            f"{committed[:64]!r}{cut}",
        )
    try:
        result = Reveal.model_validate(_parsed(reveal, "reveal", raw))
        stated = result.commitment_file()
    except RecursionError as error:
        raise SealBroken("sealed/reveal", f"{reveal} is nested too deeply") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SealBroken("sealed/reveal", f"{reveal}: {where!r}: {first['msg'].lower()}") from error
    # nor is a reveal believed that is not written as reveals are: a key that stands twice is one
    # value here, another elsewhere
    if public != stated:
        raise SealBroken("sealed/commitment", f"{commitment} is not that of {reveal}")
    return result


def check_package(stated: Package) -> None:
    """Raise `SealUnchecked` where other code is installed than made the set."""
    if stated.version != __version__:
        raise SealUnchecked(
            "sealed/version",
            f"the set was made by retgen {stated.version}, this is retgen {__version__}: install "
            f"retgen {stated.version}, and run the same command again",
        )
    if (found := package_digest()) != stated.sha256:
        commit = f"commit {stated.commit}" if stated.commit else "the commit that made it"
        raise SealUnchecked(
            "sealed/code",
            f"the set was made by other code of retgen {stated.version}: SHA-256 of all its files "
            f"is {stated.sha256}, of those installed here {found}. Install {commit}, with no file "
            "changed or added",
        )


def package_digest() -> str:
    """SHA-256 over a line "DIGEST  PATH" for every file of the package, as `sha256sum` prints them.

    Lines are sorted by path, which begins with retgen/. A wheel and a checkout of the same commit
    agree; `__pycache__` and hidden files do not count.
    """
    files: dict[str, Path] = {}
    for name in ("retgen", *(f"retgen.{one}" for one in _BESIDE)):
        spec = find_spec(name)
        for place in map(Path, (spec.submodule_search_locations if spec else None) or ()):
            for path in place.rglob("*"):  # links within retgen/ are not followed
                parts = path.relative_to(place).parts
                hidden = any(one.startswith(".") or one == "__pycache__" for one in parts)
                if path.is_file() and not hidden and path.suffix != ".pyc":
                    files["/".join([*name.split("."), *parts])] = path
    lines = (f"{file_info(files[key]).sha256}  {key}\n" for key in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def package_commit() -> str | None:
    """The commit of the checkout that the package lies in; None where it lies in none.

    It helps to find the code again; what vouches for the code is `package_digest`.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    # no commit of another repository, which holds a virtual environment
    ours = [*git, "ls-files", "--error-unmatch", Path(__file__).name]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(ours, check=True, capture_output=True, timeout=10)
        head = [*git, "rev-parse", "HEAD"]
        found = subprocess.run(head, check=True, capture_output=True, text=True, timeout=10)
        return found.stdout.strip()
    return None


def digest_of(path: Path) -> FileDigest:
    """Hash and size of a regular file. Raises `SealBroken` for a device or a pipe, without end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise SealBroken("sealed/file", f"{path} is no regular file")
    return FileDigest(**file_info(path)._asdict())


def _parsed(path: Path, what: str, raw: bytes) -> dict[str, Any]:
    """What the bytes of a statement say in this format."""
    try:
        content = orjson.loads(raw)
    except ValueError as error:
        raise SealBroken(f"sealed/{what}", f"{path} is no JSON: {error}") from error
    version = content.get("format_version") if isinstance(content, dict) else None
    if type(version) is not int:
        raise SealBroken(f"sealed/{what}", f"{path} is no {what} of a sealed set")
    if version != FORMAT_VERSION:
        raise SealUnchecked(
            "sealed/format",
            f"{path} is in format {version}, this version of retgen reads {FORMAT_VERSION}: "
            "install the version that wrote it",
        )
    return dict(content)


def _bytes_of(path: Path) -> bytes:
    try:
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            raise SealBroken("sealed/file", f"{path} is no regular file")
        if there.st_size > _LARGEST:
            raise SealBroken("sealed/size", f"{path} has more than 64 MB")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetMissing(f"{path}: there is no such file", str(path)) from error
    except OSError as error:
        raise SealUnchecked("sealed/file", f"{path}: cannot be read: {error.strerror}") from error
