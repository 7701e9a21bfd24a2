"""What every network shares."""
