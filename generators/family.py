"""What a family of data sets is: parameters, a plan, the records, and a proof.

A family never sees the command line. It says what will be made (`plan`), asks its agents for what
only a model can write (`generate_with_agents`), makes tables whose rows can be asked for in any
order (`generate`), and hands out the rules that prove the structural labels from the written files
(`checks`).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple

from retgen.agents.agent import Agent
from retgen.generators.params import Job, P
from retgen.generators.records import Records
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:  # it brings the ledger's library, which most runs do not need
    from retgen.agents.context import Context
    from retgen.generators.source import SourceDescription


class CallEstimate(NamedTuple):
    """What a job will ask one agent: of so many records, each with so many calls.

    `calls`: the fewest and the most that are to be expected a record; `prompt`: bytes of a prompt;
    `answer`: tokens of an answer.
    """

    records: int
    calls: tuple[float, float]
    prompt: int
    answer: int


@dataclass(frozen=True)
class Plan:
    """What a job will make and cost. `bytes` is an estimate of dataset/ on disk (as JSON Lines).

    A family says what it will ask its live agents (`call_estimates`); the calls, the tokens (in and
    out), the dollars (None: a model has no known price) and the seconds follow from the recipe's
    models. `unknown`: how many records there will be is not known, and all counts are 0.
    `about`: queries and qrels are estimated, from what was seen of such documents.
    `source_documents`: those that `documents` are passages of, None where they are whole.
    """

    documents: int
    queries: int
    qrels: int
    bytes: int
    call_estimates: dict[str, CallEstimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    calls: dict[str, int] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    usd: tuple[float, float] | None = (0.0, 0.0)
    seconds: tuple[float, float] = (0.0, 0.0)
    unknown: bool = False
    about: bool = False
    source_documents: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The keys that `gen plan --json` prints; null is what is not known."""
        usd, seconds = self.usd or (None, None), self.seconds
        known = {
            "documents": self.documents,
            "queries": self.queries,
            "qrels": self.qrels,
            "calls": self.calls,
            "models": self.models,
            "tokens": self.tokens,
            "usd": {"low": usd[0], "high": usd[1]},
            "seconds": {"low": seconds[0], "high": seconds[1]},
            "bytes": self.bytes,
            "notes": list(self.notes),
        }
        for key in known.keys() - {"models", "notes"} if self.unknown else ():
            value = known[key]
            known[key] = dict.fromkeys(value) if isinstance(value, dict) else None
        return known


Evidence = Literal["structural", "judged", "human"]


class Family(ABC, Generic[P]):
    """A family of data sets, in a package of its own whose name is the family's.

    `params` is a type that pydantic can validate (a `Params` model, or a union of them with a
    discriminator). `covers` names generic rules that the family's own proof makes superfluous,
    `proofs` the rules of that proof, which cannot be switched off.
    `fixed_records`: the number of records follows from the parameters, so `--limit` is refused;
    `why_no_limit` says why, and what to set instead.
    `agents`: the typed tasks that a recipe's models do for it. `label_source`: of judged labels,
    what they rest on; `structure`: what is proven all the same. `proof`: what is proven of each
    label where all are. All end a sentence. `traces_labels`: that shows where each label comes
    from, as the text that a query was cut from, and not that people would call it relevant.
    `candidate_sets`: a query has a candidate set of its own, so rankings of the whole corpus say
    nothing; the query-blind baselines are then those of a rule of its proof. `tests`: what a score
    tests where that is no ranking of the whole corpus, a sentence: then nothing is said of the
    dimensions that one needs, and without `candidate_sets` of no query-blind ranking either.
    `main_measure`: what its paper scores rankings by, in ir-measures' words; `measure` is of a job.
    `takes_source`: its parameters have a block `source`, of documents to write from. `sheet`: what
    `gen new` writes beside such a recipe for questions of people, "" where these make no test set.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    params: ClassVar[Any]
    covers: ClassVar[frozenset[str]] = frozenset()
    proofs: ClassVar[frozenset[str]] = frozenset()
    fixed_records: ClassVar[bool] = True
    why_no_limit: ClassVar[str] = "the parameters fix the number of records; change these instead"
    agents: ClassVar[tuple[Agent[Any, Any], ...]] = ()
    label_source: ClassVar[str] = "labels of a judge"
    structure: ClassVar[str] = ""
    proof: ClassVar[str] = "rebuilt from the words of the documents"
    traces_labels: ClassVar[bool] = False
    candidate_sets: ClassVar[bool] = False
    tests: ClassVar[str] = ""
    main_measure: ClassVar[str] = "nDCG@10"
    takes_source: ClassVar[bool] = False
    sheet: ClassVar[str] = ""

    @abstractmethod
    def plan(self, job: Job[P]) -> Plan:
        """What will be made, at what cost. Pure; raises `RecipeError` for the impossible."""

    def required_agents(self, job: Job[P]) -> frozenset[str]:
        """Names of the agents that this job asks, offline or not."""
        return frozenset()

    def prepares(self, job: Job[P]) -> bool:
        """Whether `generate_with_agents` has work to do: by default where agents are required."""
        return bool(self.required_agents(job))

    async def generate_with_agents(self, job: Job[P], context: Context) -> None:
        """Ask the agents, and leave what they said in `context.folder` for the other methods.

        What is asked depends on the job and on earlier answers only, never on which came first.
        """

    def repeatable(self, job: Job[P]) -> bool:
        """Whether offline agents read nothing but the recipe's files, so that all can be repeated.

        Only asked where no agent is live.
        """
        return True

    def evidence(self, job: Job[P]) -> Evidence:
        """What the labels rest on: a model-free proof, judged labels, or people's."""
        return "structural"

    def about(self, job: Job[P]) -> str:
        """What a data set of this job is, in a few words; `summary` is that of the family."""
        return self.summary

    def measure(self, job: Job[P]) -> str:
        """The main measure of a data set of this job: that of `gen eval` and of MTEB's task."""
        return self.main_measure

    def from_user(self, job: Job[P]) -> Literal["nothing", "sentences", "documents", "queries"]:
        """What comes from the user: sentences of the documents, the documents, the queries as well.

        Where both do, retgen answers for no order of theirs.
        """
        return "nothing"

    def judges(self, job: Job[P]) -> Mapping[str, Mapping[str, Any]]:
        """How good the judges were found to be, by agent, where labels are judged.

        "measured" says it in words, "by" where grades are from that nobody gave in this run; any
        other key is a number for scripts.
        """
        return {}

    @abstractmethod
    def generate(self, job: Job[P]) -> Records:
        """The records. Same job, same records, whoever asks and in whatever order."""

    def word_lists(self, job: Job[P]) -> Mapping[str, str]:
        """Lists that the proof reads again, name -> SHA-256, as `Records.word_lists` names them.

        Where a finished run's manifest states another hash, the proof cannot be repeated.
        """
        return {}

    @abstractmethod
    def checks(self, job: Job[P], judgements: Judgements) -> Sequence[CorpusRule]:
        """Rules that prove the structural labels from the written files, without the generator."""

    def scaffold(self, source: SourceDescription | None = None) -> str:
        """A commented recipe to start from, as `gen new` writes it: `scaffold.yaml` of the family.

        `source`: of documents that it is for; only families that take a source are given one.
        """
        return Path(inspect.getfile(type(self))).with_name("scaffold.yaml").read_text("utf-8")

    def with_queries(self, scaffold: str, path: str) -> str:
        """The scaffold for questions that people asked, which stand in the file `path`.

        Only families with a `sheet` are asked.
        """
        raise NotImplementedError
