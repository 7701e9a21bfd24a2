"""The state as text: trackers that read a dialogue and write what the user wants."""
