"""Embedders: models loaded, texts encoded in batches on devices, embeddings kept on disk."""
