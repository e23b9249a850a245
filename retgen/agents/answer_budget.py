"""The answer budget (`max_tokens`) of each agent of a model, learned from the first answers.

A model that reasons spends tokens that nobody sees, and nothing says beforehand how many. So an
agent begins with the room that its answers need by themselves; what is cut off is asked again with
four times as much, and all that is sent after it has that room too. What was learned stands in the
ledger, so the next run begins with it. Room that is not used costs nothing; it is only reserved
under a cap.

Two cases are apart. An answer whose visible text alone fills its room is no sign of reasoning: it
gets twice as much once, or nothing where it repeats itself, and the others get nothing. And where a
server states no usage, all the room is charged: after some whole answers it falls to what their
texts can take, and an answer that is cut off there (the model reasons, or writes more) ends that
for its agent. A whole answer has stayed within its room, seen or not, so what is charged for it
holds all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from retgen.agents.ledger import LearnedBudget

LARGEST = 32_768  # tokens that are learned; a recipe may ask for more
HIDDEN = "(reasoning)"  # in place of an agent: most reasoning tokens of one answer of the model
PROMPT = "(prompt)"  # the same: most tokens of a prompt beyond its bytes
_SPARE = 1.5  # room, as a multiple of the most that was ever needed
_STEP = 4  # times as much room, until an answer is whole
_ROUND = 256  # tokens
_ENOUGH = 8  # whole answers without usage, after which the room falls


class AnswerBudgets:
    """Of one model. `known`: what the ledger has learned of it, by agent."""

    def __init__(self, known: Mapping[str, LearnedBudget]) -> None:
        self._room = {agent: one.room for agent, one in known.items()}
        self._most = {agent: one.most for agent, one in known.items()}
        self._limit: float = math.inf  # of the model, once it has refused more
        self._visible: dict[str, list[int]] = {}  # bytes of whole answers without usage
        self._steady: set[str] = set()  # agents whose room does not fall

    def agents(self) -> list[str]:
        """Agents that ever had a whole answer."""
        return [agent for agent in self._most if self.whole(agent)]

    def whole(self, agent: str) -> bool:
        """Whether an answer for this agent was ever whole."""
        return self._most.get(agent, 0) > 0 or agent in self._visible

    def of(self, agent: str, need: int, least: int = 0) -> int:
        """Tokens of room for the next request of an agent whose answers need so many.

        `least`: what it should have, after an answer was cut off.
        """
        hidden = _SPARE * self._most.get(HIDDEN, 0)
        most = _SPARE * self._most.get(agent, 0)
        wanted = max(need + hidden, most, self._room.get(agent, 0), least)
        if wanted > need:
            wanted = _ROUND * math.ceil(wanted / _ROUND)
        seen = self._visible.get(agent, ())
        if len(seen) >= _ENOUGH and not least and agent not in self._steady:
            wanted = min(wanted, math.ceil(_SPARE * max(seen)))  # a token has a byte or more
        return int(max(1, min(wanted, max(need, LARGEST), self._limit)))

    def prompt(self) -> int:
        """Tokens of a prompt beyond its bytes that have to be reckoned with."""
        return math.ceil(_SPARE * self._most.get(PROMPT, 0))

    def more(self, agent: str, room: int, need: int, *, rambles: bool) -> int:
        """The room after an answer was cut off at `room`; as much as it was where none is left.

        While no answer of the agent was whole, the others are to have it too, unless this one
        `rambles`: its visible text alone has filled the room.
        """
        self._steady.add(agent)
        if room < (usual := self.of(agent, need)):
            return usual
        step = 2 if rambles or self.whole(agent) else _STEP
        grown = int(min(room * step, max(room, LARGEST), self._limit))
        if not self.whole(agent) and not rambles:
            self._room[agent] = max(grown, self._room.get(agent, 0))
        return grown

    def less(self, room: int) -> int:
        """The room after the model had not as much as `room`; 0 where it cannot be less."""
        left = int(min(self._limit, room // 2))
        self._limit = left
        return left if left >= 16 else 0

    def note(self, agent: str, tokens: int) -> bool:
        """Note how many tokens were needed once; whether that is more than was known."""
        if tokens <= self._most.get(agent, 0):
            return False
        self._most[agent] = tokens
        return True

    def note_silent(self, agent: str, visible: int) -> None:
        """Note a whole answer that says nothing of its tokens: the bytes of its text."""
        self._visible.setdefault(agent, []).append(visible)

    def to_keep(self, agent: str) -> LearnedBudget:
        """What the ledger is to keep of an agent."""
        return LearnedBudget(self._room.get(agent, 0), self._most.get(agent, 0))
