"""One frame for whatever is measured: measurements, panels that describe a table, pictures, pages.

A *measurement* is a row (system, measure, by, value, low, high, n, note). A *panel* says which of
them stand in which rows and columns, against which chance level, and which is best. The terminal,
Markdown, HTML and measurements.jsonl come from panels; pictures are descriptions too, drawn when
a page is written.
"""
