"""Statistics of human review: what a sample of verdicts says of a whole data set.

Pure functions of arrays; they know no data set and no page. `order`: what is looked at next, and
how likely that was. `sequences`: intervals that hold at every look. `plans`: acceptance sampling.
`rates`: error rates, corrected by reviewers' measured ones. `agreement`: of several reviewers.
`ppi`: a judge's labels on everything, people's on a sample.
"""
