"""Retrievers and TREC runs scored: measures <- result <- page <- evaluate."""
