"""What people decided in a review, applied to the records of a recipe.

A recipe that names files of decisions (`review:`) makes another data set: labels and texts are
those that people settled on, all else is what the recipe makes without them.

| module | idea |
|---|---|
| `decisions` | the file: what was decided of which pair, by whom, on what texts |
| `tables` | qrels with decisions, tables with edited rows |
| `apply` | the records with these changes |
"""
