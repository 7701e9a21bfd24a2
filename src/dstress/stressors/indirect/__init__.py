"""Requests by implication: "I do not eat meat" instead of "vegetarian"."""
