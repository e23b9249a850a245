"""The ledger: every request that was sent, what it may cost, and its answer as it came.

A request is *sent* only after that was written down with the most that it can cost; an answer is
written down before anybody reads it. So a process that is killed at any instant has paid for no
answer that the next one does not find, and what it had sent and not heard of stays charged at its
worst case. While a request is out, another process that wants it waits: its lease ends with the
answer, with the process that sent it, or with time.

Money is counted in whole nano-dollars. Operations of many callers share a transaction (`Writer`),
and none is reported done before its transaction is.

| module | idea |
|---|---|
| `ledger` | the operations: reserve, record_answer, ... |
| `records` | what they take and return |
| `tables` | the tables and their version |
| `file` | opening and closing the file, one transaction |
| `sidecar` | the state file, which tells when the database went back in time |
| `damage` | what to do about a file that SQLite cannot read |
| `owners` | which process sent a request, whether it still runs, how long to wait for it |
| `texts` | messages stored once |
| `sums` | calls, tokens and money by run, agent and model, kept as they change |
| `statements` | the statements of a call |
| `writer` | many callers, one transaction |
| `check` `forget` `prune` | `gen ledger check`, `forget`, `prune` and `copy` |
| `drives` | network drives, which a ledger should not lie on |
"""

from retgen.agents.ledger.file import LostAnswers
from retgen.agents.ledger.ledger import Ledger
from retgen.agents.ledger.schema import (
    Busy,
    LearnedBudget,
    LedgerAnswer,
    OverCap,
    PartSums,
    Refusal,
    Send,
    Spent,
    StoredAnswer,
)
from retgen.agents.ledger.writer import Writer

__all__ = [
    "Busy", "LearnedBudget", "Ledger", "LedgerAnswer", "LostAnswers", "OverCap", "PartSums",
    "Refusal", "Send", "Spent", "StoredAnswer", "Writer",
]  # fmt: skip
