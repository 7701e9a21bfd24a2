"""Answers that teams submit, and the systems that they are of."""
