"""Retrievers beyond those of `retgen.search`: fusion, re-rankers, chat models, models of MTEB."""
