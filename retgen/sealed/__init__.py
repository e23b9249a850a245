"""Sealed sets: committed to before a round, opened after it, made again from the seed by anybody.

    outputs/sealed_NAME/round-1/
      commitment.json    published first: a SHA-256, the round, the recipe without its seed
      public/            what submitters get: corpus.jsonl and queries.jsonl, no qrels
      private/           mode 0700: reveal.json (mode 0600), and the run with its qrels
      reveal.json        published last, by `gen sealed reveal`

The commitment is the SHA-256 of the bytes of reveal.json, which hold a nonce of 256 bits, the
resolved recipe with its seed of 256 bits, versions, and digests of the package and of all tables.
`sha256sum reveal.json` is all that it takes to check it.
"""
