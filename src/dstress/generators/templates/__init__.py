"""The parts of the `templates` generator: learning templates from a corpus, choosing, joining and filling them."""
