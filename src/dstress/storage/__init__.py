"""Files of the house: the data home, atomic writes, locks, sources of any kind, caches."""
