"""What is said of a run: its page, and the cards of its folders."""
