"""The same in other words: in other sentences, or only by back-translation."""
