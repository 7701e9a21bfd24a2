"""The parts of a counterfactual turn: which goal, said how, and whether the words say it."""
