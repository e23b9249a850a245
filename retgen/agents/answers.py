"""What models' answers were worth: counts by agent, as the manifest has them, and in words.

    {"write_queries": {"taken": 2, "repaired": 1, "failed": 6, "not JSON": 15, "failed checks": 4}}

Of answers: those `taken`, and the others by their fault. Of questions: those that were `repaired`
(taken after a fault) and those that `failed` (no answer was taken).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

TAKEN, REPAIRED, FAILED = "taken", "repaired", "failed"
_POOR = 0.5  # share of unusable answers above which the texts of a model are not good


def faults(counts: Mapping[str, int]) -> dict[str, int]:
    """Unusable answers by their fault, the most frequent first."""
    found = {name: n for name, n in counts.items() if name not in (TAKEN, REPAIRED, FAILED)}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def count_unusable(agents: Iterable[Mapping[str, int]]) -> tuple[int, int]:
    """(unusable answers, all answers) of some agents."""
    every = list(agents)
    unusable = sum(sum(faults(one).values()) for one in every)
    return unusable, unusable + sum(one.get(TAKEN, 0) for one in every)


def answer_lines(answers: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A line for each agent that had an unusable answer."""
    for agent, counts in answers.items():
        unusable, total = count_unusable([counts])
        if not unusable:
            continue
        why = ", ".join(f"{n:,} {name}" for name, n in faults(counts).items())
        questions = counts.get(TAKEN, 0) + counts.get(FAILED, 0)
        yield (
            f"{agent}: {unusable:,} of {total:,} answers unusable ({why}); of {questions:,} "
            f"questions {counts.get(REPAIRED, 0):,} repaired, {counts.get(FAILED, 0):,} failed"
        )


def poor_texts(
    answers: Mapping[str, Mapping[str, int]], models: Mapping[str, Mapping[str, object]]
) -> str:
    """That the texts of a model are not good, where most of its answers were unusable; or ""."""
    by_model: dict[object, list[Mapping[str, int]]] = {}
    for agent, counts in answers.items():
        by_model.setdefault(models.get(agent, {}).get("model", agent), []).append(counts)
    said = []
    for model, held in by_model.items():
        unusable, total = count_unusable(held)
        if total and unusable > _POOR * total:
            said.append(
                f"The texts of {model} are not good: {unusable:,} of {total:,} answers were "
                "unusable. Use a stronger model."
            )
    return " ".join(said)
