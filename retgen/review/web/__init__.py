"""The review page: one person at a time judges a pair, and is answered once that is on disk.

| module | idea |
|---|---|
| `serve` | the server, from its address to Ctrl-C |
| `app` | pages and forms: which request does what |
| `security` | who may ask, and what every answer says |
| `views` | what the templates are given; grades, decisions and labels in words |
| `drawing` | a record drawn for its family; hidden characters shown |
| `static_page` | the same to judge without a server: a page and a table to fill in |
"""

from __future__ import annotations

from retgen.review.web.serve import serve

__all__ = ["serve"]
