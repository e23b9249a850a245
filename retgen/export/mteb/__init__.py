"""A data set as MTEB takes it: its task, its statistics, its gates.

| module | idea |
|---|---|
| `survey` | a data set read once: MTEB's descriptive statistics, and the records at fault |
| `metadata` | what is known of `TaskMetadata`, and what only the user knows |
| `task` | task.py and eval.yaml |
| `gates` | what MTEB asks of a data set, one verdict each |
| `scores` `score` | MTEB's random baseline and minilm, kept beside the run; who scores |
| `folder` | all of it written |
"""
