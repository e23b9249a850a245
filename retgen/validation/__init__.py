"""What `gen validate` does: all rules over the files, and what was written is derived again."""
