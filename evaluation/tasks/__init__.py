"""Evaluation tasks of families whose queries have candidate sets of their own."""
