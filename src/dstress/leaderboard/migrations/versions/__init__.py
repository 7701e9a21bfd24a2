"""The revisions, `rNNNN_area.py`, each upon the one before it."""
