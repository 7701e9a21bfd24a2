"""Stress tests for dialogue state trackers."""
