"""The parts of the `seq2seq` generator."""

FAMILY = "utterances"
"""What recipes and checkpoints call its network."""
