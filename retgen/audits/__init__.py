"""`gen audit`: what can be known of labels that others made; whether one set stands for another."""
