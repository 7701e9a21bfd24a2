"""The parts of the `rules` tracker: words -> evidence -> candidates -> slots -> state."""
