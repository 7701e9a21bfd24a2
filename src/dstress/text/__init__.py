"""Words of users and systems: letters, numbers, times, names, and where an utterance says which value."""
