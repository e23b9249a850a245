"""The review page: one person at a time judges a pair, and is answered once that is on disk.

| module | idea |
|---|---|
| `serve` | the server, from its address to Ctrl-C |
| `app` | pages and forms: which request does what |
| `security` | host and origin of requests; headers of answers |
| `views` | values of the templates |
| `drawing` | a record drawn for its family; hidden characters shown |
"""
