"""Reading haystacks off a data set, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.data import open_dataset
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.tasks import task_of
from retgen.evaluation.tasks.niah.haystacks import HaystackData, load_haystacks
from retgen.evaluation.tasks.niah.measures import SEEN, TRUNCATED
from retgen.evaluation.tasks.niah.sections import sentences
from retgen.progress import Progress, no_progress
from retgen.search.base import CandidateSet, System
from retgen.search.collection import load
from tests.evaluation.tasks.niah.made import GROUPS, ORDERS, PLACES, write_haystacks


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_haystacks(
        tmp_path_factory.mktemp("niah") / "made",
        (32, 64),
        needles=("literal", "one_hop"),
        controls=("neutral", "none"),
        expanded=True,
    )


def changed(made: Path, folder: Path, table: str, **metadata: object) -> Path:
    """A copy with other metadata in the first row of a table."""
    folder.mkdir()
    (folder / "qrels").symlink_to(made / "qrels")
    for name in ("corpus", "queries"):
        lines = (made / f"{name}.jsonl").read_text().splitlines()
        if name == table:
            row = json.loads(lines[0])
            row["metadata"] |= metadata
            lines[0] = json.dumps(
                {**row, "metadata": {k: v for k, v in row["metadata"].items() if v is not None}}
            )
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_questions_haystacks_and_controls(made: Path) -> None:
    assert task_of(open_dataset(made)).name == "haystacks"  # type: ignore[union-attr]
    result = load_haystacks(load(made))
    assert [group.name for group in result.groups] == list(GROUPS)
    assert result.kinds == ["none", "neutral"]
    assert len(result.controls) == 4 * 2 * (1 + PLACES)
    for group in result.groups:
        assert len(group.haystacks) == 2 * 2 * len(ORDERS) * PLACES
        assert list(group.queries) == ["question", "expansion_100"]  # the empty one is none
        assert group.haystacks[0].variant.needle == "one_hop"  # the plainest make first
        assert set(group.needles) == {(n, o) for n in ("one_hop", "literal") for o in ORDERS}
        for kind, of in group.controls.items():
            for text, at in zip(group.haystacks, of, strict=True):
                control = result.controls[at]
                assert (control.variant.needle, control.body) == (kind, text.body)
                assert control.place == (text.place if kind == "neutral" else -1)
        text = group.haystacks[0]
        assert text.text[slice(*text.span)] == group.needles[text.variant.needle, text.order]


def test_a_haystack_without_its_control_is_named(made: Path, tmp_path: Path) -> None:
    # the first row is a control of the first group at 32 tokens
    broken = changed(made, tmp_path / "broken", "corpus", number=7)
    with pytest.raises(DatasetError) as error:
        load_haystacks(load(broken))
    assert str(error.value) == (
        f"{broken}: haystack d13 (32 tokens, group landmark-1) has no control of the same filler, so "
        "nothing says what its score would be without the needle; `gen validate` says what is "
        "missing"
    )


def test_metadata_of_another_shape_is_named(made: Path, tmp_path: Path) -> None:
    broken = changed(made, tmp_path / "broken", "corpus", span=None)
    with pytest.raises(DatasetError, match="of document d0 is not that of a haystack: KeyError"):
        load_haystacks(load(broken))


def test_a_group_has_one_question(made: Path, tmp_path: Path) -> None:
    broken = changed(made, tmp_path / "broken", "queries", group="diet-1")
    with pytest.raises(DatasetError, match="group diet-1 has two questions; each has one"):
        load_haystacks(load(broken))


class Counting:
    """Scores texts by their length, and tells no more of itself than `details`."""

    noise = 0.0

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Any]:
        return [np.array([float(len(text)) for text in group.texts]) for group in groups]


@pytest.mark.parametrize(
    ("details", "truncated", "seen"),
    [
        ({}, [0.0, 0.0], [1.0, 1.0]),  # counts words, say
        ({"device": "cpu", "max_length": None}, [0.0, 0.0], [1.0, 1.0]),
        ({"device": "cpu", "max_length": 40}, [0.0, 1.0], [1.0, 0.5]),
        # two thirds of the filler lie before the third needle: it begins at 35, and ends behind 44
        ({"device": "cpu", "max_length": 44}, [0.0, 1.0], [1.0, 0.5]),
        ({"device": "cpu"}, [None, None], [None, None]),  # cuts texts, and does not say where
    ],
)
def test_what_a_system_reads_by_what_it_tells(
    made: Path, details: dict[str, Any], truncated: list[float], seen: list[float]
) -> None:
    data = HaystackData("made", load_haystacks(load(made)))
    system = System(None, Counting(), lambda: details)
    scores = system.scorer.score(data.sets, no_progress)
    (cells,) = data.measure(scores, system)[0].values()
    for measure, expected in ((TRUNCATED, truncated), (SEEN, seen)):
        variant = cells.levels("variant", "haystacks")[0]
        assert [cells.value(measure, length=n, variant=variant) for n in (32, 64)] == expected
    said = "How much of a haystack counting · one-hop reads is not known" in " ".join(
        sentences({"counting": cells})
    )
    assert said == (truncated[0] is None)


def test_chat_models_give_no_scores(made: Path) -> None:
    with pytest.raises(
        UsageError, match="a chat model orders documents, and haystacks are measured"
    ):
        HaystackData("made", load_haystacks(load(made))).first(2, paid=True)
