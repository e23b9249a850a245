"""Scoring, training and capacity of embedding models; the only place that imports torch.

It never sees a generator, only a data set directory.
"""
