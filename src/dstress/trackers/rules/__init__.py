"""The parts of the `rules` tracker: words -> reading -> candidates -> slots -> state."""
