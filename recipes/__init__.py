"""The bundled recipes: data, not code. Each opens with the command that runs it."""
