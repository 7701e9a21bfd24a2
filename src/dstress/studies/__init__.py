"""Studies of corpora, schemas, metrics and people: built on runs, and nothing that a run needs."""
