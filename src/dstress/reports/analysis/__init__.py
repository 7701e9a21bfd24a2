"""Studies of corpora, schemas, metrics and people's judgements."""
