"""A recipe with a domain of one's own: ships, whose documents come from a file."""

from __future__ import annotations

from pathlib import Path

SHIPS = """name: ships
family: multiconir
model: openai:gpt-5-mini
params:
  domain:
    name: ships
    noun: ship
    features: [builder, launch, voyages]
    instruction: "Find a ship that meets the following conditions:"
    examples:
      instruction: ["Find a ship that meets the following conditions:\\n1. Launched in 1902"]
      descriptive: [I am looking for a ship that was launched in 1902.]
    rewrites:
      - {condition: Launched in 1902, sentence: It was launched in 1902 at Kiel., rewrite: It was launched in 1931 at Kiel.}
  source: {path: SOURCE, columns: {text: story, id: nr}, licence: CC BY 4.0}
"""


def recipe(folder: Path, source: str, more: str = "") -> Path:
    path = folder / "ships.yaml"
    path.write_text(SHIPS.replace("SOURCE", source) + more)
    return path
