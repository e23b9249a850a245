def asks(job, records): return {}
