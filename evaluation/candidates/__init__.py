"""Who scores candidate sets: retrievers by name, cross-encoders, chat models."""
