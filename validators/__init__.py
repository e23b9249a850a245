"""Rules over any retrieval data set, and a folder for the structural proof of each family."""
