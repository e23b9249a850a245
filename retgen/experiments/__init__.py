"""Experiments with models on data sets: scoring, fine-tuning, capacity. A command of `gen` each."""
