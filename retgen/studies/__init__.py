"""Studies: data sets made from recipes, models and dimensions, in one file for `gen eval`."""
