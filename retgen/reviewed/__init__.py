"""Labels that people settled in a review, applied to the records of a recipe.

A recipe that names files of decisions (`review:`) makes another data set: its labels are those
that people settled, everything else is what the recipe makes without them.

| module | idea |
|---|---|
| `decisions` | the file: what was decided of which pair, by whom, on which texts |
| `labels` | the qrels of a split with decisions |
| `apply` | the records with these changes |
"""
