"""Scoring, training and capacity of embedding models; imports torch, as `gen doctor` does.

It never sees a generator, only a data set directory.
"""
