"""The reader and the structural proof of the family `world`, from the written files alone."""
