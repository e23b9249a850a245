"""How documents are found and candidates scored: rankings, and what computes them."""
