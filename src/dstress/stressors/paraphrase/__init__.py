"""The same in other words, by back-translation."""
