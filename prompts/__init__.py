"""Prompts of the agents: Markdown files, a folder a family. `bundled` reads one."""

from __future__ import annotations

from pathlib import Path

from retgen.agents.prompt import Prompt, load_prompt

__all__ = ["bundled"]


def bundled(name: str) -> Prompt:
    """The prompt of a name like `limit/propose_attributes`."""
    return load_prompt(Path(__file__).parent / f"{name}.md", name)
