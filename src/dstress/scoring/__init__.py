"""From aligned cells to scores: tallies, slices, resampling, tests, scorecards."""
