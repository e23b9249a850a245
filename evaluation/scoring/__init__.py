"""Retrievers and TREC runs scored: measures <- scores <- result <- page <- evaluate."""
