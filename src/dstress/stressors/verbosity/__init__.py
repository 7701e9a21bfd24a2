"""More words than needed: the stressor, the clauses it finds, and its phrases."""
