"""How many documents fit in d dimensions: optimised, constructed, and proven."""
