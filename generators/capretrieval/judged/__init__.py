"""Given queries, judged: which passages of the user's documents are relevant to what people ask.

Nothing is written and nothing is split: every pair of a query and a candidate is graded 0, 1 or 2
in two passes, and conflicts are settled (paper, Appendix B.3, with a model for its annotators).

| module | idea |
|---|---|
| `agents` | the judge: pages of passages in, grades out; a conflict in, a grade out |
| `given` | the queries, and the pairs that are judged |
| `judging` | two passes, conflicts, calibration |
| `agreement` | how far two passes agree |
| `tables` | queries and qrels |
"""
