"""Retrievers beyond those of `retgen.search`: fusion, late interaction, re-rankers, chat models."""
