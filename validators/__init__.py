"""Rules over any retrieval data set, and a module a family for its structural proof."""
