"""`gen diff`: what changed between two data sets."""
