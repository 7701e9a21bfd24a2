"""What people write for us: schema elements in other words (SGD-X), and user utterances rewritten (RADDLE)."""
