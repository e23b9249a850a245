"""`python -m retgen.cli` is `gen`."""

from retgen.cli import main

main()
