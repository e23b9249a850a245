"""Scores of the few documents of a candidate set, by all that can score a pair."""
