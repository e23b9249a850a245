"""A recipe from a sentence: a model calls tools until it has one that parses and plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retgen.agents.chat import Unusable
from retgen.agents.context import Context
from retgen.agents.models import DEFAULT_OPTIONS, ModelOptions, ModelSettings, chat_model_of
from retgen.agents.report import CallReport
from retgen.agents.session import call_models, check_model
from retgen.draft.tools import Tools
from retgen.errors import ChecksFailed, OutputError, RetgenError, UsageError
from retgen.generators.family import Plan
from retgen.progress import Progress, no_progress
from retgen.prompts import bundled
from retgen.write import make_folder, scratch_folder, write_file

AGENT = "draft_recipe"
STEPS = 20  # calls of tools
_CHOICES = 3  # sentences about what was chosen


@dataclass
class Draft:
    """A recipe that was written to `path`, why it is as it is, and what it will make and cost."""

    path: Path
    recipe: str
    choices: list[str]
    plan: Plan
    costs: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "path": str(self.path),
            "choices": self.choices,
            "plan": self.plan.to_json(),
            "costs": self.costs,
        }


def draft(
    wish: str,
    model: str,
    *,
    sources: Sequence[str] = (),
    out: str | Path = "draft.yaml",
    model_options: ModelOptions = DEFAULT_OPTIONS,
    progress: Progress = no_progress,
) -> Draft:
    """Have `model` (PROVIDER:NAME) write a recipe for `wish` to `out`, which must not be there.

    `sources`: documents that the recipe may use. Nothing else is written but the ledger; a repeated
    call takes the answers of the first from there. Raises `ChecksFailed` where the model comes to
    no recipe that parses and plans.
    """
    path, report = Path(out), CallReport()
    settings = _settings(wish, model, path, sources, model_options)
    tools, done = Tools(sources, path.parent), list[Any]()
    folder = Path("outputs") / f"draft_{path.stem}"  # what the ledger calls it
    make_folder(folder.parent)

    async def work(context: Context) -> None:
        stage = context.stage("draft", 1)
        done.append(await _converse(wish, settings, tools, context))
        stage.done = 1

    with scratch_folder("retgen-draft-") as scratch:
        agents = {AGENT: settings}
        call_models(work, folder, agents, model_options, report, sources=scratch, progress=progress)
    recipe, choices = done[0]
    head = [f"# gen run {path}", f"# Drafted by {settings.full_name} for: {' '.join(wish.split())}"]
    head += [f"# - {' '.join(one.split())}" for one in choices]
    text = "\n".join([*head, recipe.strip(), ""])
    write_file(path, text)
    return Draft(path, text, choices, tools.plan_of(recipe), report.costs())


def _settings(
    wish: str, model: str, path: Path, sources: Sequence[str], options: ModelOptions
) -> ModelSettings:
    """Raise `UsageError` or `OutputError` for what cannot be, before anything is paid for."""
    if not wish.strip():
        raise UsageError("say in a sentence which data set is wanted")
    settings = chat_model_of("--model", model, "drafts the recipe")
    check_model(settings, options)
    if path.exists():
        raise OutputError(f"{path} is there already; choose another file with --out")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent} to write {path.name} in; make it")
    for source in sources:
        if ":" not in source and not (path.parent / source).exists():
            raise UsageError(
                f"--source {source}: is not there (paths count from the folder of --out)"
            )
    return settings


async def _converse(
    wish: str, settings: ModelSettings, tools: Tools, context: Context
) -> tuple[str, list[str]]:
    """The recipe's text and the reasons of the choices. Raises `ChecksFailed`."""
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ToolStrategy
    from langchain_core.tools import StructuredTool
    from langgraph.errors import GraphRecursionError
    from langsmith import tracing_context
    from pydantic import BaseModel, Field, field_validator

    from retgen.draft.model import LedgerChat

    class Draft(BaseModel):
        text: str
        choices: list[str] = Field(min_length=_CHOICES, max_length=_CHOICES)

        @field_validator("text")
        @classmethod
        def plans(cls, text: str) -> str:
            """What neither parses nor plans goes back to the model with the reason."""
            try:
                tools.plan_of(text)
            except RetgenError as error:
                raise ValueError(str(error)) from None
            return text

    system, user = bundled("draft/draft_recipe").render({"wish": wish, **tools.known()})
    agent: Any = create_agent(
        LedgerChat(settings=settings, request=lambda request: context.request(AGENT, request)),
        [StructuredTool.from_function(one) for one in (tools.schema, tools.examples, tools.plan)],
        system_prompt=system.content,
        response_format=ToolStrategy(Draft),
    )
    asked = {"messages": [{"role": "user", "content": user.content}]}
    try:
        with tracing_context(enabled=False):  # whatever the environment says
            state = await agent.ainvoke(asked, {"recursion_limit": 2 * STEPS + 1})
    except GraphRecursionError as error:
        raise ChecksFailed(
            f"{settings.full_name} came to no recipe in {STEPS} calls of tools; say more exactly "
            "what is wanted, or try another model"
        ) from error
    except (Unusable, ValueError) as error:
        raise ChecksFailed(f"{settings.full_name} came to no recipe: {error}") from error
    answer = state["structured_response"]
    return answer.text, answer.choices
