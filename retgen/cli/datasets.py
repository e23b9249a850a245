"""What commands that take data sets share: looking before importing, lists of numbers."""

from __future__ import annotations

from pathlib import Path


def look_at(*paths: str | Path | None) -> None:
    """Raise `DatasetError` for what is no data set before what scores one is imported."""
    from retgen.data import open_dataset

    for path in paths:
        if path is not None and not str(path).startswith("mteb:"):
            open_dataset(path)


def numbers(option: str, text: str | None) -> list[int]:
    """Numbers and ranges, both ends included: 4,8,16 or 4-12."""
    from retgen.errors import UsageError

    try:
        result: list[int] = []
        for part in text.split(",") if text else ():
            low, dash, high = part.strip().partition("-")
            if dash and low:
                if int(high) - int(low) > 100_000:
                    raise UsageError(f"{option} {text}: the range is too long")
                result += range(int(low), int(high) + 1)
            else:
                result.append(int(part))
    except ValueError:
        raise UsageError(f"{option} {text}: write numbers, for example 32,64,128") from None
    if text and not result:
        raise UsageError(f"{option} {text}: holds no number")
    return result
