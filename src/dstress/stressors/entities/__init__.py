"""Named entities, scrambled or replaced by unseen ones."""
