"""The judging room: what judges are given, and the verdict on what they give back."""
