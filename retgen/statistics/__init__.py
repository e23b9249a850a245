"""Statistics of human review: what a sample of verdicts says of a whole data set.

Pure functions of arrays; they know no data set and no page. `sequences`: what is
looked at next, and intervals that hold at every look. `plans`: acceptance sampling.
`rates`: error rates, corrected by reviewers' measured ones and powered by a judge's labels.
`agreement`: of several reviewers. `clustered`: intervals of means over resampling units.
"""
