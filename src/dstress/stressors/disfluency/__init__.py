"""Spoken disfluencies and repairs."""
