"""Other schemas: SGD-X's variants, corrupted ones, back-translated ones."""
