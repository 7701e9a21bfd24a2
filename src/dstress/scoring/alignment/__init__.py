"""Gold and predictions side by side: paired, in columns, judged cell by cell."""
