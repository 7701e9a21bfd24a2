"""What every network shares: recipes, batches, the training loop, checkpoints. Only this door can do without torch."""
