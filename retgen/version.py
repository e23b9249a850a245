"""The version of this package, in one place for the manifest and `--version`."""

__version__ = "0.1.0"
