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
| `ledger` | the operations: reserve, record_answer, ...; many callers, one transaction |
| `schema` | the tables and their version, the records of operations, requests in pieces, sums |
| `address` | where it is: a file, or a server whose password is never shown |
| `database` | what the operations need of either: transactions, leases, turns |
| `file` | opening and closing the file, one transaction; what to do about a damaged file |
| `server` | PostgreSQL: connections, signs of life, what is done again after one broke |
| `sidecar` | the state file, which tells when the database went back in time; network drives |
| `owners` | which process sent a request, whether it still runs, how long to wait for it |
| `care` | `gen ledger check`, `forget`, `prune` and `copy` |
"""

from retgen.agents.ledger.file import LostAnswers
from retgen.agents.ledger.ledger import Ledger, Writer
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

__all__ = [
    "Busy", "LearnedBudget", "Ledger", "LedgerAnswer", "LostAnswers", "OverCap", "PartSums",
    "Refusal", "Send", "Spent", "StoredAnswer", "Writer",
]  # fmt: skip
