"""Retrieval that generators use too: BM25, embedders, mining, and data sets as they are scored.

torch is imported where an embedder runs.
"""
