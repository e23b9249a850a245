"""Scoring, training and capacity of embedding models; imports torch, as `gen doctor` does.

It never sees a generator, only a data set directory.
"""

import logging

# it warns where sentence-transformers imports it that some kernel could be faster
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
