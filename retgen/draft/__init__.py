"""`gen draft`: a model with tools writes a recipe from a sentence."""
