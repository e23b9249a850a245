"""Statistics as pure functions of arrays; they know no data set and no page.

`agreement`: of several reviewers. `clustered`: intervals of means over resampling units.
"""
