"""Tests of the judging room."""
