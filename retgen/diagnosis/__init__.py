"""`gen diagnose`: what a retriever can and cannot do, ability by ability, on fresh proven data."""
